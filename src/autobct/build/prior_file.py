"""A first belief from a file of the user's, checked strictly: TOML or JSON.

basis = "cubic"              # or "additive-quartic"
cost_model = "linear"        # or "log-linear": then the cost's numbers are about log cost
score_noise = 0.05
cost_noise = 0.1

[score]
mean = [0.4, 0.1, -0.2, 0.1]
cov = [1.0, 1.0, 1.0, 1.0]   # the variances, or the rows of the whole matrix

[cost]
mean = [1.0, 1.0, 2.0, 2.0]
cov = [0.64, 4.0, 4.0, 4.0]
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from autobct.belief.arrays import finite_number
from autobct.belief.cost import COST_MODELS
from autobct.belief.gaussian import Belief, Gaussian
from autobct.belief.model import Model
from autobct.belief.prior import Prior
from autobct.value.maps.map_spec import BASES

_KEYS = ("basis", "cost_model", "score_noise", "cost_noise", "score", "cost")
_PARTS = ("mean", "cov")
_LARGEST = 1_000_000  # bytes


class PriorFileError(ValueError):
    """What is wrong with a prior file, in one sentence."""


def read_prior(path: str | Path) -> Prior:
    """The prior in a .toml or .json file; PriorFileError, in one sentence, if it is not one."""
    label = f"prior file '{path}'"
    told = _table(_parsed(Path(path), label), _KEYS, label)
    basis = _one_of(told["basis"], BASES, f"{label}: basis")
    cost_model = _one_of(told["cost_model"], COST_MODELS, f"{label}: cost_model")
    try:
        model = Model(
            basis,
            basis,
            score_noise=_positive(told["score_noise"], "score_noise"),
            cost_noise=_positive(told["cost_noise"], "cost_noise"),
            cost_model=cost_model,
        )
        return Prior(model, Belief(_belief(told["score"], "score", label), _belief(told["cost"], "cost", label)))
    except PriorFileError:
        raise
    except (TypeError, ValueError) as wrong:
        raise PriorFileError(f"{label}: {wrong}") from None


def _parsed(path: Path, label: str) -> Any:
    readers = {".toml": tomllib.loads, ".json": lambda text: json.loads(text, object_pairs_hook=_no_repeats)}
    if path.suffix not in readers:
        raise PriorFileError(f"{label} must end in .toml or .json")
    try:
        if path.stat().st_size > _LARGEST:
            raise PriorFileError(f"{label} is larger than {_LARGEST} bytes: it is not a prior")
        return readers[path.suffix](path.read_text(encoding="utf-8"))
    except PriorFileError:
        raise
    except OSError as wrong:
        raise PriorFileError(f"{label} cannot be read ({wrong.strerror})") from None
    except (ValueError, RecursionError) as wrong:
        raise PriorFileError(f"{label} is not valid {path.suffix[1:].upper()}: {wrong}") from None


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _table(value: Any, keys: tuple[str, ...], label: str) -> dict[str, Any]:
    """A table with exactly these keys."""
    if not isinstance(value, dict):
        raise PriorFileError(f"{label} must be a table with {', '.join(keys)}")
    missing = [key for key in keys if key not in value]
    if missing:
        raise PriorFileError(f"{label} lacks {', '.join(missing)}")
    unknown = [key for key in value if key not in keys]
    if unknown:
        raise PriorFileError(f"{label} has {unknown[0]!r:.60}, which is not known; known are {', '.join(keys)}")
    return value


def _one_of(value: Any, known: dict[str, Any], label: str) -> Any:
    if not isinstance(value, str) or value not in known:
        raise PriorFileError(f"{label} must be one of {', '.join(known)}, got {value!r:.60}")
    return known[value]


def _positive(value: Any, name: str) -> float:
    number = finite_number(value, name)
    if number <= 0:
        raise ValueError(f"{name} must be positive, got {number!r}; it is a standard deviation")
    return number


def _belief(value: Any, name: str, label: str) -> Gaussian:
    parts = _table(value, _PARTS, f"{label}: [{name}]")
    for part in _PARTS:
        if not isinstance(parts[part], list) or not _all_numbers(parts[part]):
            raise PriorFileError(f"{label}: {name}.{part} must be a list of numbers")
    return Gaussian.of(parts["mean"], parts["cov"], name=name)


def _all_numbers(values: list[Any]) -> bool:
    """Numbers, or rows of numbers; true is none."""
    return all(_all_numbers(one) if isinstance(one, list) else type(one) in (int, float) for one in values)
