"""What a user knows in advance: a good guess, which parameters increase cost, and whether usual values apply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autobct.belief.arrays import finite_number
from autobct.tuning.space.parameter import Categorical, tuned_names
from autobct.tuning.space.space import Space

_FIRMEST = 10.0
_GUESS = "write e.g. guess={'learning_rate': 1e-3}"


@dataclass(frozen=True, slots=True)
class Hints:
    """Checked at the door by `hints_of`.

    guess:     (parameter, place): its coordinate in [0, 1], or the position of its choice; parameters by position
               among those that are tuned
    strength:  how firmly the guess is held, 1 as a rule
    growing:   parameters with which the cost is known to rise, by position
    usual:     whether to expect what is usual: a centre better than corners, whole numbers that make runs expensive
    by_name:   (parameter, place) where parameters of well-known names are usually set, those that are guessed left out
    """

    guess: tuple[tuple[int, float], ...] = ()
    strength: float = 1.0
    growing: tuple[int, ...] = ()
    usual: bool = True
    by_name: tuple[tuple[int, float], ...] = ()


NOTHING = Hints()
"""Nothing was said."""


def hints_of(
    space: Space,
    guess: Mapping[str, Any] | None,
    guess_strength: float,
    increases_cost: Sequence[str],
    expect_usual: bool,
) -> Hints:
    """What was said, or one sentence that names what is wrong with it."""
    if not isinstance(expect_usual, bool):
        raise TypeError(f"expect_usual must be True or False, got {expect_usual!r}; write expect_usual=False")
    strength = finite_number(guess_strength, "guess_strength", least=0.0)
    if strength > _FIRMEST:
        raise ValueError(
            f"guess_strength must be at most {_FIRMEST:g}, got {guess_strength!r}; 1 is the default, 3 is nearly sure"
        )
    return Hints(_guess(space, guess), strength, _growing(space, increases_cost), expect_usual)


def begins_at(space: Space, hints: Hints) -> str:
    """Which parameters the first run sets to what is usual; nothing if there is none."""
    names = [tuned_names(space.names, space.parameters)[which] for which, _ in hints.by_name]
    if not names:
        return ""
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"The first run starts from usual values of {listed}; expect_usual=False starts from the centre."


def _guess(space: Space, guess: Mapping[str, Any] | None) -> tuple[tuple[int, float], ...]:
    if guess is None:
        return ()
    if not isinstance(guess, Mapping):
        raise TypeError(f"guess must be a dict of values, got {guess!r}; {_GUESS}")
    found = []
    for name, value in guess.items():
        parameter = space.parameters[space.names.index(_known(space, name, "guess"))]
        try:
            place = float(parameter.index(value) if isinstance(parameter, Categorical) else parameter.to_unit(value))
        except (TypeError, ValueError) as error:
            raise type(error)(f"guess[{name!r}]: {error}") from None
        if parameter.count != 1:
            found.append((tuned_names(space.names, space.parameters).index(name), place))
    return tuple(found)


def _growing(space: Space, names: Sequence[str]) -> tuple[int, ...]:
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise TypeError(f"increases_cost must be a list of names, got {names!r}; write e.g. ['n_estimators']")
    found = []
    for name in names:
        parameter = space.parameters[space.names.index(_known(space, name, "increases_cost"))]
        if isinstance(parameter, Categorical):
            raise ValueError(f"increases_cost: {name!r} is a category, which has no order; name numbers only")
        if parameter.count != 1:
            found.append(tuned_names(space.names, space.parameters).index(name))
    return tuple(sorted(set(found)))


def _known(space: Space, name: object, argument: str) -> str:
    if name not in space.names:
        raise ValueError(f"{argument} names {name!r}, which is not in the space; write one of {list(space.names)}")
    return str(name)
