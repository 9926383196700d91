"""Section 4.2.2: the learning rate of the same network, which costs nothing.  Appendix D.3."""

from __future__ import annotations

from autobct.belief.prior import paper_prior
from autobct.paper.experiment import CostScale, Experiment, Method, Published
from autobct.paper.experiments.cnn_batch import PATCHES
from autobct.tuning.space.parameter import Float
from autobct.tuning.units.scale import Affine

RATE = Experiment(
    name="cnn-r",
    title="Breast-cancer patches, learning rate",
    source="section 4.2.2, table 5; appendix D.3",
    table="cnn-r",
    prior=paper_prior("cnn-r"),
    basis="cubic",
    score_noise=0.15,
    cost_noise=0.1,
    space={"r": Float(1e-5, 0.1, log=True)},
    fixed={"batch": 66},
    score=Affine(0.45, 0.8),  # of accuracy
    cost=CostScale(0.0, 7.5, control=(0.43,), cost=0.359, source="the mean of table 5: the rate costs nothing"),
    trainings=5,
    method=Method(map=True, depth=2),
    published=(
        Published(label="one run", score=0.794, cost=1.797, control=(0.43,), runs=5, believed=0.445, value=0.389),
    ),
    published_run=(
        (0.137, 0.357, (1.0,), 0.137, 0.647),
        (0.154, 0.357, (0.21,), 0.163, 0.310),
        (0.166, 0.359, (0.72,), 0.202, 0.269),
        (0.166, 0.355, (0.0,), 0.137, 0.188),
        (0.794, 0.368, (0.43,), 0.445, 0.389),
    ),
    unlike=(PATCHES,),
)
