"""Section 4.3: Higgs, Intel's scenes and credit-card frauds.  Appendices D.5 to D.8.

Higgs: which share of the data should a random forest see?  The share is exp[log_15(0.00001) (1 - u)], from 1.4 % to
all, as it is written: at u = 0.125 it is the table's 2.4 %.

Intel: for how many epochs should a network look at scenes?  The score is made of the cross entropy and lies between 0
and 1; how, the paper does not say.  Here it is 1 - cross entropy / log 6: nothing for a guess among six classes, 1
for certainty of the truth.  The table has a total of 0.75 as 37 and as 39 minutes, where t_max = 12 minutes would
make it 9; the total is taken as it is printed, and the minutes are not used.

Frauds: the size of an autoencoder that finds them by their reconstruction error, then its scale and code size
together. For the latter the appendix repeats the scales of the CNN example (0.45 to 0.8, and 7.5 minutes).  Its table
has F = 0.73 as 0.97 and a total of 2.868 as 62 minutes, which are those of the 1-D fraud example: 0.73 / 0.75 = 0.97,
5 + 20 x 2.868 = 62.  The prior is that of the formulas in u, as in the other 2-D example; its best score is at u = 0,
where the paper ended.
"""

from __future__ import annotations

import math
from dataclasses import replace

from autobct.belief.prior import paper_prior
from autobct.paper.experiment import CostScale, Experiment, Formula, Method, Published, read_in_u
from autobct.tuning.space.parameter import Float, Int
from autobct.tuning.units.scale import Affine

_LEAST = math.exp(math.log(0.00001) / math.log(15.0))

HIGGS = Experiment(
    name="higgs",
    title="Higgs, share of the data for a random forest",
    source="section 4.3, table 9; appendix D.5",
    table="higgs",
    prior=paper_prior("higgs"),
    score_noise=0.05,
    space={"share": Float(_LEAST, 1.0, log=True)},
    score=Affine(0.6, 0.8),  # of accuracy
    cost=CostScale(0.035, 5.0, control=(0.13,), cost=0.96 / 7, source="table 9: a total of 0.96 in 7 runs"),
    method=Method(map=True, depth=3, damping=0.02),
    published=(Published(score=0.6, cost=0.96, control=(0.13,), runs=7, believed=0.6, value=0.58),),
    unlike=(
        "Ours is a share of 25,975 rows where the paper's is one of 11 million: at the paper's final control a forest "
        "here sees 640 rows instead of 270,000, so the same accuracy lies at a larger share.",
    ),
)

_SCENES = (
    "Images are 32 x 32 where the paper's are 150 x 150: less can be learned from them, and epochs are shorter.",
    "The paper does not say how cross entropy becomes a score; here it is 1 - cross entropy / log 6, which is far "
    "below the paper's 0.97 for a network that is right in 86 % of all cases.",
)

INTEL_PLAIN = Experiment(
    name="intel-plain",
    title="Intel scenes, epochs of the Plain network",
    source="section 4.3, table 10; appendix D.6",
    table="intel-plain",
    prior=paper_prior("intel"),
    space={"epochs": Int(1, 35)},  # floor(34 u + 1)
    fixed={"network": "plain"},
    score=Affine(0.0, 1.0),  # of 1 - cross entropy / log 6
    cost=CostScale(0.1, 12.0, control=(0.54,), cost=0.75 / 9, source="table 10: a total of 0.75 in 9 runs"),
    method=Method(map=True, depth=3, damping=0.02),
    published=(Published(score=0.97, cost=0.75, control=(0.54,), runs=9, believed=0.99, value=0.96),),
    unlike=_SCENES,
)

INTEL_RESNET50 = replace(
    INTEL_PLAIN,
    name="intel-resnet50",
    title="Intel scenes, epochs of the network on ResNet50",
    table="intel-resnet50",
    fixed={"network": "resnet50"},
    cost=CostScale(0.1, 12.0, control=(0.48,), cost=0.75 / 9, source="table 10: a total of 0.75 in 9 runs"),
    published=(Published(score=0.93, cost=0.75, control=(0.48,), runs=9, believed=0.96, value=0.93),),
    unlike=(
        "Trained from scratch, all of it: ImageNet's weights were not at hand. The paper's network had them, fixed.",
        *_SCENES,
    ),
)

_FRAUDS = (
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
    space={"scale": Float(1.0, 10.0)},
    fixed={"code": 2},
    score=Affine(0.0, 0.75),  # of F_6
    cost=CostScale(5.0, 25.0, control=(0.01,), cost=1.89 / 4, source="table 11: a total of 1.89 in 4 runs"),
    method=Method(map=True, depth=3, damping=0.02),
    published=(Published(score=0.99, cost=1.89, control=(0.01,), runs=4, believed=0.93, value=0.87),),
    unlike=_FRAUDS,
)

_FRAUD_STATED = paper_prior("fraud-2d")
_FRAUD_SCORE = Formula(0.8, (0.0, -0.8), (0.0, -0.8))
_FRAUD_COST = Formula(1.325, (0.75, 0.25), (0.75, 0.25))

FRAUD_2D = replace(
    FRAUD,
    name="fraud-2d",
    title="Credit-card fraud, scale and code of an autoencoder",
    source="section 4.3, table 12; appendix D.8",
    table="fraud-2d",
    prior=read_in_u(_FRAUD_STATED, score=_FRAUD_SCORE, cost=_FRAUD_COST),
    basis="additive-quartic",
    space={"scale": Float(1.0, 10.0), "code": Float(1.0, 10.0)},  # code is rounded
    fixed={},
    cost=CostScale(5.0, 25.0, control=(0.0, 0.0), cost=2.868 / 8, source="table 12: a total of 2.868 in 8 runs"),
    published=(Published(score=0.97, cost=2.868, control=(0.0, 0.0), runs=8, believed=0.922, value=0.897),),
    readings={"weights of u - 0.5": _FRAUD_STATED},
)
