"""Hyperparameter tuning that knows the price of training and when to stop."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from autobct.version import __version__ as __version__

if TYPE_CHECKING:
    from autobct import plot as plot
    from autobct.belief.basis import Basis, Model
    from autobct.belief.gaussian import Belief, Gaussian
    from autobct.belief.prior import Prior, paper_prior
    from autobct.maps.library import load_map
    from autobct.maps.ordinary import FileError
    from autobct.tuning.decide.explain import Explanation
    from autobct.tuning.decide.forecast import Forecast
    from autobct.tuning.decide.policy import ei_per_cost, exact, frugal, gittins, mapped, relaxed, sampled
    from autobct.tuning.history import Note, Run, Stop, Train
    from autobct.tuning.jobs import Isolation
    from autobct.tuning.model.alarm import Alarm
    from autobct.tuning.result import Result, TuningError, WhatIf
    from autobct.tuning.space.row_table import Table
    from autobct.tuning.space.space import Categorical, Float, Int, Space
    from autobct.tuning.statement import Problem
    from autobct.tuning.storage import Storage, StorageError
    from autobct.tuning.tune import tune
    from autobct.tuning.tuner import Tuner
    from autobct.tuning.units.limits import Limits
    from autobct.tuning.units.price import Price, price_from
    from autobct.tuning.units.scale import Affine, AffineLog
    from autobct.value.acquisition import Assessment

__all__ = [
    "Affine",
    "AffineLog",
    "Alarm",
    "Assessment",
    "Basis",
    "Belief",
    "Categorical",
    "Explanation",
    "FileError",
    "Float",
    "Forecast",
    "Gaussian",
    "Int",
    "Isolation",
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
    "Storage",
    "StorageError",
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

_HOMES = {  # module -> its public names, imported when one of them is first asked for
    "belief.basis": "Basis Model",
    "belief.gaussian": "Belief Gaussian",
    "belief.prior": "Prior paper_prior",
    "maps.library": "load_map",
    "maps.ordinary": "FileError",
    "tuning.decide.explain": "Explanation",
    "tuning.decide.forecast": "Forecast",
    "tuning.decide.policy": "ei_per_cost exact frugal gittins mapped relaxed sampled",
    "tuning.history": "Note Run Stop Train",
    "tuning.jobs": "Isolation",
    "tuning.model.alarm": "Alarm",
    "tuning.result": "Result TuningError WhatIf",
    "tuning.space.row_table": "Table",
    "tuning.space.space": "Categorical Float Int Space",
    "tuning.statement": "Problem",
    "tuning.storage": "Storage StorageError",
    "tuning.tune": "tune",
    "tuning.tuner": "Tuner",
    "tuning.units.limits": "Limits",
    "tuning.units.price": "Price price_from",
    "tuning.units.scale": "Affine AffineLog",
    "value.acquisition": "Assessment",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()} | {"plot": "plot"}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'autobct' has no attribute {name!r}")
    module = import_module(f"autobct.{home}")
    globals()[name] = found = module if name == home else getattr(module, name)
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__", "plot"]
