"""Hyperparameter tuning that knows the price of training and when to stop."""

from autobct.belief.basis import Basis
from autobct.belief.gaussian import Belief, Gaussian
from autobct.belief.model import Model
from autobct.belief.prior import Prior, paper_prior
from autobct.maps.library import load_map
from autobct.tuning.decision import Stop, Train
from autobct.tuning.policy import exact, gittins, mapped, relaxed, sampled
from autobct.tuning.price import Price
from autobct.tuning.scale import Affine, AffineLog
from autobct.tuning.space import Categorical, Float, Int, Space
from autobct.tuning.tune import Result, TuningError, tune
from autobct.tuning.tuner import Run, Tuner

__version__ = "0.1.0"

__all__ = [
    "Affine",
    "AffineLog",
    "Basis",
    "Belief",
    "Categorical",
    "Float",
    "Gaussian",
    "Int",
    "Model",
    "Price",
    "Prior",
    "Result",
    "Run",
    "Space",
    "Stop",
    "Train",
    "Tuner",
    "TuningError",
    "exact",
    "gittins",
    "load_map",
    "mapped",
    "paper_prior",
    "relaxed",
    "sampled",
    "tune",
]
