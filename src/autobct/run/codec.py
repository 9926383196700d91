"""Decisions <-> plain data for JSON; numbers come back to the last bit."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from autobct.belief.arrays import Array
from autobct.tuning.history import REASONS, Decision, Stop, Train
from autobct.tuning.space.space import Space

ROUNDING = 1e-9
"""Controls that differ by less are the same: another processor or library rounds the last bits otherwise."""


_NUMBERS = ("expected_gain", "expected_cost", "price_of_run", "expected_score", "value", "stop_value")


class CodecError(ValueError):
    """Data that is not what was stored."""


def encoded(thing: Train | Stop) -> dict[str, Any]:
    """A decision as plain data."""
    return {field.name: _plain(getattr(thing, field.name)) for field in dataclasses.fields(thing)}


def decision_of(data: Mapping[str, Any], space: Space) -> Decision:
    """The decision that was encoded; what its params are is the space's to say."""
    return _train(data, space) if "control" in data else _stop(data, space)


def same(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether two encoded things are the same to the last bit (NaN is NaN)."""
    return repr(first) == repr(second)


def alike(first: Decision, second: Decision) -> bool:
    """Whether two decisions ask for the same: to stop, or to train with the same params but for rounding."""
    if isinstance(first, Stop) or isinstance(second, Stop):
        return isinstance(first, Stop) and isinstance(second, Stop)
    return first.control.shape == second.control.shape and bool(
        np.allclose(first.control, second.control, rtol=0.0, atol=ROUNDING)
    )


def _train(data: Mapping[str, Any], space: Space) -> Train:
    return Train(**_fields(Train, data, space))


def _stop(data: Mapping[str, Any], space: Space) -> Stop:
    fields = _fields(Stop, data, space)
    if fields.get("reason") not in REASONS:
        raise CodecError("a reason to stop is not known")
    best = fields.get("best_alternative")
    return Stop(**{**fields, "best_alternative": None if best is None else _train(best, space)})


def _fields(kind: type, data: Mapping[str, Any], space: Space) -> dict[str, Any]:
    """What another version wrote besides is left out, and a number that it did not know is NaN."""
    known = {field.name: field.default for field in dataclasses.fields(kind)}
    missing = {name: float("nan") for name in _NUMBERS if known.get(name) is dataclasses.MISSING}
    fields = {**missing, **{key: value for key, value in data.items() if key in known}}
    try:
        if "control" in fields:
            fields["control"] = _in_the_cube(np.array(fields["control"], dtype=float))
            fields["params"] = space.params(fields["control"])
    except (TypeError, ValueError) as error:
        raise CodecError(str(error)) from None
    return fields


def _in_the_cube(control: Array) -> Array:
    """A control as it is; a number that no control has would only fail later, and elsewhere."""
    if not np.all((control >= -ROUNDING) & (control <= 1.0 + ROUNDING)):
        raise CodecError("a control is not in the unit cube")
    return control


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return encoded(value)  # type: ignore[arg-type]
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)
