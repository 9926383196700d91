"""The experiments of section 4, in the paper's order: settings of appendix D, and the rows that it published."""

from __future__ import annotations

from dataclasses import replace

from autobct.belief.prior import paper_prior
from autobct.paper.experiment import CostScale, Experiment, Formula, Method, Published, read_in_u, with_score_weight
from autobct.paper.real_data import FRAUD, FRAUD_2D, HIGGS, INTEL_PLAIN, INTEL_RESNET50
from autobct.tuning.space.parameter import Float, Int
from autobct.tuning.units.scale import Affine

# Section 4.1: how many trees should a random forest have that learns a checkerboard?  Appendix D.1.

SYNTHETIC_MAP_2 = Experiment(
    name="synthetic-map-2",
    title="Synthetic, number of trees",
    source="section 4.1.1, table 1; appendix D.1",
    table="synthetic",
    prior=paper_prior("synthetic"),
    score_noise=0.05,
    space={"n_estimators": Int(1, 100)},  # floor(99 u + 1)
    score=Affine(0.5, 1.0),  # of accuracy
    cost=CostScale(0.0, 0.6 / 60.0, control=(0.74,), cost=0.675, source="the last line of table 1"),
    method=Method(map=True, depth=2),
    published=(Published(score=0.977, cost=0.826, control=(0.74,), runs=3, believed=0.980, value=0.974),),
    published_run=(
        (0.556, 0.068, (0.0,), 0.555, 0.750),
        (0.734, 0.083, (0.06,), 0.697, 1.147),
        (0.977, 0.675, (0.74,), 0.980, 0.974),
    ),
    unlike=(
        "Data as in the paper: 30,000 points to learn from and 20,000 others. Forests are scikit-learn's, on one core.",
        "The paper's single tree is right in 78 % of all cases (0.556), scikit-learn's in far more: there is less to "
        "gain by further trees, and fewer of them are enough.",
        "The paper slowed its machine down until 0.6 s was one unit of cost; here the unit is chosen so that 74 trees "
        "cost 0.675.",
    ),
)

SYNTHETIC_MAP_4 = replace(
    SYNTHETIC_MAP_2,
    name="synthetic-map-4",
    source="section 4.1.1, table 2; appendix D.1",
    method=Method(map=True, depth=4),
    published=(Published(score=0.981, cost=0.820, control=(0.79,), runs=3, believed=0.984, value=0.974),),
    published_run=(
        (0.560, 0.074, (0.0,), 0.559, 0.803),
        (0.738, 0.093, (0.07,), 0.707, 1.129),
        (0.981, 0.653, (0.79,), 0.984, 0.974),
    ),
)

SYNTHETIC_OTF = replace(
    SYNTHETIC_MAP_2,
    name="synthetic-otf",
    source="section 4.1.2, table 3; appendix D.1",
    method=Method(map=False, depth=2),
    published=(Published(score=0.983, cost=0.892, control=(0.76,), runs=3, believed=0.991, value=0.920),),
    published_run=(
        (0.545, 0.066, (0.0,), 0.545, 0.653),
        (0.976, 0.381, (0.56,), 0.973, 0.998),
        (0.983, 0.445, (0.76,), 0.991, 0.920),
    ),
)

# Section 4.2: batch size and learning rate of a network on breast-cancer patches.  Appendices D.2 to D.4.
#
# Batch size (4.2.1).  The text divides minutes by 7.5 and the appendix "seconds" by 1.5.  Both are right if the first
# is the total of the five trainings of a run and the second the minutes of one: with batch size 66 the text has 2.7
# minutes a run and the table t = 0.357, and 2.7 / 7.5 = (2.7 / 5) / 1.5 = 0.36.  So t = total minutes / 7.5; "seconds"
# is a slip.
#
# Learning rate (4.2.2): it costs nothing.
#
# Both together (4.2.3, 4.2.4).  Appendix D.4 has formulas of H and T in u, weights of powers of u - 0.5, and +0.4 in a
# list where the formula has -0.4.  The prior here is that of the formulas, as they are written: with it the posterior
# scores of the paper's table are met to 0.03, with every other reading less closely.  Those of the five 1-D tables are
# met to 0.001, so that the table was made from a first belief that the paper does not quite state.

_PATCHES = "The paper draws from 277,524 patches; ours come from a copy that has 10,107, with no patient in both sets."

CNN_BATCH = Experiment(
    name="cnn-batch",
    title="Breast-cancer patches, batch size",
    source="section 4.2.1, table 4; appendix D.2",
    table="cnn-batch",
    prior=paper_prior("cnn-batch"),
    space={"batch": Int(10, 200)},  # floor((200 - 10) u + 10)
    fixed={"r": 0.0007},
    score=Affine(0.45, 0.8),  # of accuracy
    cost=CostScale(0.0, 7.5, control=(0.42,), cost=0.215, source="the last line of table 4"),
    trainings=5,
    method=Method(map=True, depth=2),
    published=(Published(score=0.806, cost=0.450, control=(0.42,), runs=3, believed=0.828, value=0.800),),
    published_run=(
        (0.229, 0.117, (1.0,), 0.230, 0.526),
        (0.709, 0.118, (0.79,), 0.619, 0.978),
        (0.806, 0.215, (0.42,), 0.828, 0.800),
    ),
    unlike=(_PATCHES,),
)

CNN_RATE = replace(
    CNN_BATCH,
    name="cnn-r",
    title="Breast-cancer patches, learning rate",
    source="section 4.2.2, table 5; appendix D.3",
    table="cnn-r",
    prior=paper_prior("cnn-r"),
    space={"r": Float(1e-5, 0.1, log=True)},
    fixed={"batch": 66},
    cost=CostScale(0.0, 7.5, control=(0.43,), cost=0.359, source="the mean of table 5: the rate costs nothing"),
    published=(Published(score=0.794, cost=1.797, control=(0.43,), runs=5, believed=0.445, value=0.389),),
    published_run=(
        (0.137, 0.357, (1.0,), 0.137, 0.647),
        (0.154, 0.357, (0.21,), 0.163, 0.310),
        (0.166, 0.359, (0.72,), 0.202, 0.269),
        (0.166, 0.355, (0.0,), 0.137, 0.188),
        (0.794, 0.368, (0.43,), 0.445, 0.389),
    ),
)

_CNN_2D = paper_prior("cnn-2d")
_CNN_SCORE = Formula(0.4, (0.3, -0.4), (0.2, -0.4))
_CNN_COST = Formula(3.0, (), (-3.5, 0.45, 0.0, 0.5))

CNN_MAP = replace(
    CNN_BATCH,
    name="cnn-2d-map",
    title="Breast-cancer patches, learning rate and batch size",
    source="section 4.2.3, tables 6 and 7; appendix D.4",
    table="cnn-2d",
    prior=read_in_u(_CNN_2D, score=_CNN_SCORE, cost=_CNN_COST),
    basis="additive-quartic",
    space={"r": Float(1e-5, 0.1, log=True), "batch": Int(10, 200)},
    fixed={},
    cost=CostScale(0.0, 7.5, control=(0.43, 0.295), cost=0.359, source="table 5: batch size 66, any rate"),
    method=Method(map=True, depth=3, damping=0.02),
    published=(
        Published(score=0.953, cost=1.721, control=(0.5, 0.15), runs=9, believed=0.837, value=0.776),
        Published(
            label="mean of 40",
            score=0.782,
            cost=2.021,
            control=(0.46, 0.295),
            runs=8.45,
            believed=0.784,
            value=0.748,
            spread={"score": (0.15,), "cost": (0.55,), "control": (0.06, 0.23), "runs": (1.8,)},
        ),
    ),
    published_run=(
        (0.639, 0.166, (0.47, 0.36), 0.640, 0.936),
        (0.160, 0.180, (1.0, 0.44), 0.181, 0.900),
        (0.148, 0.186, (0.0, 0.44), 0.186, 0.807),
        (0.849, 0.198, (0.46, 0.51), 0.666, 0.860),
        (0.577, 0.109, (0.5, 0.89), 0.559, 0.847),
        (0.373, 0.154, (0.24, 0.71), 0.464, 0.831),
        (0.502, 0.155, (0.71, 0.71), 0.533, 0.765),
        (0.711, 0.135, (0.63, 1.0), 0.592, 0.679),
        (0.953, 0.439, (0.5, 0.15), 0.837, 0.776),
    ),
    unlike=(
        _PATCHES,
        "The paper's own run was made from a first belief that it does not quite state, so the first steps differ.",
    ),
    readings={
        "formulas in u, +0.4": read_in_u(_CNN_2D, score=Formula(0.4, (0.3, 0.4), (0.2, -0.4)), cost=_CNN_COST),
        "weights of u - 0.5, -0.4": _CNN_2D,
        "weights of u - 0.5, +0.4 (the list)": with_score_weight(_CNN_2D, 2, 0.4),
    },
)

CNN_OTF = replace(
    CNN_MAP,
    name="cnn-2d-otf",
    source="section 4.2.4, table 8; appendix D.4",
    method=Method(map=False, depth=2),
    published=(
        Published(label="run 1", score=0.814, cost=3.729, control=(0.38, 0.0), runs=10, believed=0.879, value=0.718),
        Published(label="run 2", score=0.771, cost=0.996, control=(0.48, 0.14), runs=4, believed=0.693, value=0.692),
        Published(label="run 3", score=0.592, cost=2.844, control=(0.38, 0.28), runs=8, believed=0.579, value=0.546),
    ),
    published_run=(),
)

EXPERIMENTS: dict[str, Experiment] = {
    one.name: one
    for one in (
        *(SYNTHETIC_MAP_2, SYNTHETIC_MAP_4, SYNTHETIC_OTF),
        *(CNN_BATCH, CNN_RATE, CNN_MAP, CNN_OTF),
        *(HIGGS, INTEL_PLAIN, INTEL_RESNET50, FRAUD, FRAUD_2D),
    )
}
"""All by name, in the paper's order."""


def experiment(name: str) -> Experiment:
    """One of them; ValueError, with all names, if there is none of that name."""
    if name not in EXPERIMENTS:
        raise ValueError(f"no experiment is called {name!r}; there are: {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]
