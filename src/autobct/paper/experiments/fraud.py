"""Section 4.3: the size of an autoencoder that finds frauds by their reconstruction error.  Appendix D.7."""

from __future__ import annotations

from autobct.belief.prior import paper_prior
from autobct.paper.experiment import CostScale, Experiment, Method, Published
from autobct.tuning.space.parameter import Float
from autobct.tuning.units.scale import Affine

FRAUDS = (
    "Of the 284,807 transactions the copy has 43,171, of which 1.1 % are frauds instead of 0.17 %: precision, and with "
    "it the F-score, comes out higher.",
    "With these data autoencoders of all sizes find the frauds about equally well, better than the paper's h = 1: "
    "there is nothing to tune, and one run is enough.",
)

FRAUD = Experiment(
    name="fraud",
    title="Credit-card fraud, scale of an autoencoder",
    source="section 4.3, table 11; appendix D.7",
    table="fraud",
    prior=paper_prior("fraud"),
    basis="cubic",
    score_noise=0.15,
    cost_noise=0.1,
    space={"scale": Float(1.0, 10.0)},
    fixed={"code": 2},
    score=Affine(0.0, 0.75),  # of F_6
    cost=CostScale(5.0, 25.0, control=(0.01,), cost=1.89 / 4, source="table 11: a total of 1.89 in 4 runs"),
    method=Method(map=True, depth=3, damping=0.02),
    published=(Published(label="one run", score=0.99, cost=1.89, control=(0.01,), runs=4, believed=0.93, value=0.87),),
    unlike=FRAUDS,
)
