"""Section 4.3: scale and code size of the autoencoder together.  Appendix D.8.

The appendix repeats the scales of the CNN example here (0.45 to 0.8, and 7.5 minutes).  Its table has F = 0.73 as 0.97
and a total of 2.868 as 62 minutes, which are those of the 1-D fraud example: 0.73 / 0.75 = 0.97, 5 + 20 x 2.868 = 62.
The prior is that of the formulas in u, as in the other 2-D example; its best score is at u = 0, where the paper ended.
"""

from __future__ import annotations

from autobct.belief.prior import paper_prior
from autobct.paper.experiment import CostScale, Experiment, Method, Published
from autobct.paper.experiments.fraud import FRAUDS
from autobct.paper.readings import Formula, read_in_u
from autobct.tuning.space.parameter import Float
from autobct.tuning.units.scale import Affine

STATED = paper_prior("fraud-2d")
SCORE = Formula(0.8, (0.0, -0.8), (0.0, -0.8))
COST = Formula(1.325, (0.75, 0.25), (0.75, 0.25))

FRAUD_2D = Experiment(
    name="fraud-2d",
    title="Credit-card fraud, scale and code of an autoencoder",
    source="section 4.3, table 12; appendix D.8",
    table="fraud-2d",
    prior=read_in_u(STATED, score=SCORE, cost=COST),
    basis="additive-quartic",
    score_noise=0.15,
    cost_noise=0.1,
    space={"scale": Float(1.0, 10.0), "code": Float(1.0, 10.0)},  # code is rounded
    fixed={},
    score=Affine(0.0, 0.75),  # of F_6
    cost=CostScale(5.0, 25.0, control=(0.0, 0.0), cost=2.868 / 8, source="table 12: a total of 2.868 in 8 runs"),
    method=Method(map=True, depth=3, damping=0.02),
    published=(
        Published(label="one run", score=0.97, cost=2.868, control=(0.0, 0.0), runs=8, believed=0.922, value=0.897),
    ),
    unlike=FRAUDS,
    readings={"weights of u - 0.5": STATED},
)
