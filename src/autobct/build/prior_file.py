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

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from autobct.belief.arrays import finite_number
from autobct.belief.basis import Model
from autobct.belief.cost import COST_MODELS
from autobct.belief.gaussian import Belief, Gaussian
from autobct.belief.prior import Prior
from autobct.maps.ordinary import FileError, decoded, read_json, read_ordinary, read_toml
from autobct.maps.signatures import Key, check_signature
from autobct.value.maps.map_spec import BASES

_KEYS = ("basis", "cost_model", "score_noise", "cost_noise", "score", "cost")
_PARTS = ("mean", "cov")
_LARGEST = 1 << 16  # bytes
_MOST_WEIGHTS = 64
_BEYOND = 1e100


class PriorFileError(FileError):
    """What is wrong with a prior file, in one sentence."""


def read_prior(path: str | Path, *, trusted_keys: Iterable[Key] | None = None) -> Prior:
    """The prior in a .toml or .json file; PriorFileError, in one sentence, if it is not one.

    trusted_keys: public keys; the file must then be signed with one of them, see `autobct sign`
    """
    label = f"prior file '{path}'"
    told = _table(_parsed(Path(path), label, trusted_keys), _KEYS, label)
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


def _parsed(path: Path, label: str, keys: Iterable[Key] | None) -> Any:
    readers: dict[str, Callable[[str], Any]] = {".toml": read_toml, ".json": read_json}
    if path.suffix not in readers:
        raise PriorFileError(f"{label} must end in .toml or .json")
    data = read_ordinary(path, _LARGEST, PriorFileError)
    if keys is not None:
        check_signature(path, data, keys)
    text = decoded(data, path, PriorFileError)
    try:
        return readers[path.suffix](text)
    except ValueError as wrong:
        raise PriorFileError(f"{label} is not valid {path.suffix[1:].upper()}: {wrong}") from None


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
    if not 0 < number <= _BEYOND:
        raise ValueError(f"{name} must be positive, at most {_BEYOND:g}, got {number!r}; it is a standard deviation")
    return number


def _belief(value: Any, name: str, label: str) -> Gaussian:
    parts = _table(value, _PARTS, f"{label}: [{name}]")
    for part in _PARTS:
        if not isinstance(parts[part], list) or not _all_numbers(parts[part]):
            raise PriorFileError(f"{label}: {name}.{part} must be a list of numbers")
        if not _is_small(parts[part]):
            raise PriorFileError(f"{label}: {name}.{part} has too many numbers, or one beyond {_BEYOND:g}")
    return Gaussian.of(parts["mean"], parts["cov"], name=name)


def _is_small(values: list[Any]) -> bool:
    """Few enough for any basis, and such that sums and products of them are numbers."""
    return len(values) <= _MOST_WEIGHTS and all(
        _is_small(one) if isinstance(one, list) else not abs(one) > _BEYOND for one in values
    )


def _all_numbers(values: list[Any]) -> bool:
    """Numbers, or rows of numbers; true is none."""
    return all(_all_numbers(one) if isinstance(one, list) else type(one) in (int, float) for one in values)
