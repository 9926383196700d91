"""Parameters in the user's vocabulary, each mapped to one coordinate u in [0, 1]: the paper's appendix D.

A parameter has `count` values (None: a continuum); `value(k)` is the k-th, `draw(u)` gives each its share.
Optuna's distributions are taken as they are by `parameter_of`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, TypeVar

from autobct.tuning.space.parameter_checks import (
    MOST,
    check_range,
    check_step,
    equal,
    inside,
    real,
    same,
    twice,
    when_of,
    whole,
)

__all__ = ["Categorical", "Float", "Int", "Parameter", "parameter_of", "tuned", "tuned_names"]

Number = TypeVar("Number", int, float)

_CHOICES = "write e.g. Categorical(['a', 'b'])"
_NAMED = 20  # choices in a sentence


@dataclass(frozen=True, slots=True)
class Float:
    """A real parameter from `low` to `high`, both included; `low == high` makes it a constant.

    log:  uniform on a log scale, exp(log low + (log high - log low) u), instead of low + (high - low) u
    step: only low, low + step, low + 2 step, ... up to `high`; not together with `log`
    when: it exists only if other parameters have these values, e.g. when={"booster": "dart"}; a list allows several
    """

    low: float
    high: float
    log: bool = field(default=False, kw_only=True)
    step: float | None = field(default=None, kw_only=True)
    when: Mapping[str, Any] | None = field(default=None, kw_only=True, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", when_of("Float", self.when))
        for name in ("low", "high") if self.step is None else ("low", "high", "step"):
            object.__setattr__(self, name, real(f"Float: {name}", getattr(self, name)))
        check_range("Float", self.low, self.high, self.log)
        check_step("Float", self.low, self.high, self.step, log=self.log and self.step is not None)

    def __repr__(self) -> str:
        return _shown(self)

    @property
    def count(self) -> int | None:
        """Number of distinct values; None if it is continuous."""
        if self.low == self.high:
            return 1
        return None if self.step is None else _floor((self.high - self.low) / self.step) + 1

    def value(self, k: int) -> float:
        """The k-th value of a constant or stepped parameter, from 0, without rounding noise: 0.3, not 3 * 0.1."""
        return min(float(Decimal(repr(self.low)) + k * Decimal(repr(self.step or 0.0))), self.high)

    def from_unit(self, u: float) -> float:
        """The value at coordinate u, clipped to [0, 1]."""
        if self.count is not None:
            return self.value(_floor(_clip(u) * (self.count - 1)))
        if u >= 1.0:
            return self.high  # to the last bit, as the formulas give `low` at 0
        u, span = _clip(u), self.high - self.low
        value = self.low * math.exp(math.log(self.high / self.low) * u) if self.log else self.low + span * u
        return _clip(value, self.low, self.high)

    def to_unit(self, value: float) -> float:
        """The coordinate of a value: exact for stepped values and grid points, otherwise up to rounding."""
        value = inside(real("value", value), self.low, self.high, slack=1e-12)
        if self.count is not None:
            return _lattice_index(value, self.low, self.step or 1.0) / max(self.count - 1, 1)
        u = (value - self.low) / (self.high - self.low)
        u = math.log(value / self.low) / math.log(self.high / self.low) if self.log else u
        # the shortest decimal that gives the value back, so that 0.07 does not return as 0.07000000000000001
        decimals = (round(u, digits) for digits in (3, 6, 9, 12))
        return next((short for short in decimals if self.from_unit(short) == value), _clip(u))

    def draw(self, u: float) -> float:
        """The value drawn by a uniform u in [0, 1]; with a step, all values are equally likely."""
        count = self.count
        return self.from_unit(u) if count is None else self.value(min(int(u * count), count - 1))


@dataclass(frozen=True, slots=True)
class Int:
    """A whole-number parameter from `low` to `high`, both included; `low == high` makes it a constant.

    log:  floor(exp(log low + (log high - log low) u)) instead of floor(low + (high - low) u)
    step: only low, low + step, low + 2 step, ... up to `high`; not together with `log`
    when: it exists only if other parameters have these values, e.g. when={"booster": "dart"}; a list allows several
    """

    low: int
    high: int
    log: bool = field(default=False, kw_only=True)
    step: int = field(default=1, kw_only=True)
    when: Mapping[str, Any] | None = field(default=None, kw_only=True, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", when_of("Int", self.when))
        for name in ("low", "high", "step"):
            object.__setattr__(self, name, whole(f"Int: {name}", getattr(self, name)))
        check_range("Int", self.low, self.high, self.log)
        if self.log and self.high > MOST:
            raise ValueError(f"Int: high is too large for log=True, got {self.high}; write at most {MOST}")
        check_step("Int", self.low, self.high, self.step, log=self.log and self.step != 1)

    def __repr__(self) -> str:
        return _shown(self)

    @property
    def count(self) -> int:
        """Number of distinct values."""
        return (self.high - self.low) // self.step + 1

    def value(self, k: int) -> int:
        """The k-th value, counted from 0."""
        return self.low + self.step * k

    def from_unit(self, u: float) -> int:
        """The value at coordinate u, clipped to [0, 1]."""
        if self.log:
            return min(_floor(self.low * math.exp(math.log(self.high / self.low) * _clip(u))), self.high)
        return self.value(_floor(_clip(u) * (self.count - 1)))

    def to_unit(self, value: int) -> float:
        """The coordinate of a value, for which `from_unit` returns exactly this value."""
        value = inside(whole("value", value), self.low, self.high)
        if self.count == 1:
            return 0.0
        if self.log:
            return _clip(math.log(value / self.low) / math.log(self.high / self.low))
        return _lattice_index(value, self.low, self.step) / (self.count - 1)

    def draw(self, u: float) -> int:
        """The value drawn by a uniform u in [0, 1]; all values, including `high`, are equally likely."""
        if self.log:
            return min(_floor(self.low * math.exp(math.log((self.high + 1) / self.low) * u)), self.high)
        return self.value(min(int(u * self.count), self.count - 1))


@dataclass(frozen=True, slots=True)
class Categorical:
    """A choice among unordered options of any type; one choice makes it a constant.

    when: it exists only if other parameters have these values, e.g. when={"booster": "dart"}; a list allows several
    """

    choices: tuple[Any, ...]
    when: Mapping[str, Any] | None = field(default=None, kw_only=True, hash=False)

    def __init__(self, choices: Sequence[Any], *, when: Mapping[str, Any] | None = None) -> None:
        if isinstance(choices, str | bytes) or not isinstance(choices, Sequence):
            raise TypeError(f"Categorical: choices must be a list or tuple, got {choices!r}; {_CHOICES}")
        object.__setattr__(self, "choices", tuple(choices))
        if not self.choices:
            raise ValueError(f"Categorical: choices is empty, got {choices!r}; {_CHOICES}")
        if (second := twice(self.choices)) is not None:
            raise ValueError(f"Categorical: choices has {second[0]!r} twice; write it once")
        object.__setattr__(self, "when", when_of("Categorical", when))

    def __repr__(self) -> str:
        return _shown(self)

    @property
    def count(self) -> int:
        """Number of choices."""
        return len(self.choices)

    def value(self, k: int) -> Any:
        """The k-th choice, from 0."""
        return self.choices[k]

    def index(self, value: object) -> int:
        """The index of a choice; 1, 1.0 and True are distinct if more than one of them is a choice."""
        for test in (same, equal):
            for k, choice in enumerate(self.choices):
                if test(choice, value):
                    return k
        some, more = list(self.choices[:_NAMED]), len(self.choices) - _NAMED
        rest = f" and {more} more" if more > 0 else ""
        raise ValueError(f"value must be one of {some!r}{rest}, got {value!r}; write one of these")

    def draw(self, u: float) -> Any:
        """The choice drawn by a uniform u in [0, 1]; all are equally likely."""
        return self.choices[min(int(u * self.count), self.count - 1)]


Parameter = Float | Int | Categorical


def tuned(parameters: Sequence[Parameter]) -> list[Parameter]:
    """Those with more than one value: each has its coordinates in a control."""
    return [parameter for parameter in parameters if parameter.count != 1]


def tuned_names(names: Sequence[str], parameters: Sequence[Parameter]) -> list[str]:
    """The names of those."""
    return [name for name, parameter in zip(names, parameters, strict=True) if parameter.count != 1]


def parameter_of(name: str, given: object) -> Parameter:
    """A parameter as it is, or made from an Optuna distribution; `name` is for the error sentence."""
    if isinstance(given, Float | Int | Categorical):
        return given
    kinds = {kind.__name__ for kind in type(given).__mro__}  # Optuna's are known by name, not imported
    try:
        if "FloatDistribution" in kinds:
            return Float(given.low, given.high, log=given.log, step=given.step)  # type: ignore[attr-defined]
        if "IntDistribution" in kinds:
            return Int(given.low, given.high, log=given.log, step=given.step)  # type: ignore[attr-defined]
        if "CategoricalDistribution" in kinds:
            return Categorical(given.choices)  # type: ignore[attr-defined]
    except (TypeError, ValueError) as error:
        raise type(error)(f"space[{name!r}]: {error}") from None
    raise TypeError(
        f"space[{name!r}]: must be an Int, Float, Categorical or Optuna distribution, got {given!r}; "
        f"write e.g. {_meant(given)}"
    )


def _meant(given: object) -> str:
    """What somebody may have meant who wrote a pair of numbers or a list of choices."""
    if isinstance(given, tuple) and len(given) == 2 and all(isinstance(end, Real) for end in given):
        return f"{'Int' if all(isinstance(end, Integral) for end in given) else 'Float'}{given!r}"
    if isinstance(given, list | tuple | range) and 0 < len(given) <= _NAMED:
        return f"Categorical({list(given)!r})"
    return "{'n_estimators': Int(1, 100)}"


def _hair(x: float) -> float:
    """How far below an integer x may be through rounding; a tenth at most, so that it stays a floor."""
    return min(1e-9 * max(1.0, abs(x)), 0.1)


def _floor(x: float) -> int:
    """Floor, forgiving float error: 99 * (29 / 99) is a hair under 29, and 29 trees must not become 28."""
    return math.floor(x + _hair(x))


def _clip(x: float, low: float = 0.0, high: float = 1.0) -> float:
    return min(max(x, low), high)


def _lattice_index(value: Number, low: Number, step: Number) -> int:
    """The k of value = low + k step."""
    k = round((value - low) / step)
    near, exact = low + k * step, isinstance(low, int)
    if abs(value - near) > (0 if exact else step * _hair(k) + 2 * math.ulp(max(abs(low), abs(value)))):
        raise ValueError(f"value must be {low!r} plus a multiple of {step!r}, got {value!r}; write {near!r}")
    return k


def _shown(parameter: Parameter) -> str:
    """As a dataclass shows itself; what is said of no condition is not shown."""
    told = {part.name: getattr(parameter, part.name) for part in fields(parameter)}
    shown = [f"{name}={value!r}" for name, value in told.items() if name != "when" or value]
    return f"{type(parameter).__name__}({', '.join(shown)})"
