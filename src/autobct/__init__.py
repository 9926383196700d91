"""Hyperparameter tuning that knows the price of training and when to stop."""

from autobct import plot as plot
from autobct.belief.basis import Basis
from autobct.belief.gaussian import Belief, Gaussian
from autobct.belief.model import Model
from autobct.belief.prior import Prior, paper_prior
from autobct.maps.library import load_map
from autobct.tuning.decide.decision import Stop, Train
from autobct.tuning.decide.explain import Explanation
from autobct.tuning.decide.forecast import Forecast
from autobct.tuning.decide.policy import ei_per_cost, exact, frugal, gittins, mapped, relaxed, sampled
from autobct.tuning.history import Note, Run
from autobct.tuning.model.alarm import Alarm
from autobct.tuning.result import Result, TuningError, WhatIf
from autobct.tuning.space.row_table import Table
from autobct.tuning.space.space import Categorical, Float, Int, Space
from autobct.tuning.statement import Problem
from autobct.tuning.tune import tune
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.limits import Limits
from autobct.tuning.units.price import Price, price_from
from autobct.tuning.units.scale import Affine, AffineLog
from autobct.value.assessment import Assessment
from autobct.version import __version__ as __version__

__all__ = [
    "Affine",
    "AffineLog",
    "Alarm",
    "Assessment",
    "Basis",
    "Belief",
    "Categorical",
    "Explanation",
    "Float",
    "Forecast",
    "Gaussian",
    "Int",
    "Limits",
    "Model",
    "Note",
    "Price",
    "Prior",
    "Problem",
    "Result",
    "Run",
    "Space",
    "Stop",
    "Table",
    "Train",
    "Tuner",
    "TuningError",
    "WhatIf",
    "ei_per_cost",
    "exact",
    "frugal",
    "gittins",
    "load_map",
    "mapped",
    "paper_prior",
    "price_from",
    "relaxed",
    "sampled",
    "tune",
]
