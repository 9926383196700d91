"""What came of a tuning: the model to use, what it took, why it ended, and what another price would have done."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from autobct.tuning.alarm import Alarm
from autobct.tuning.decision import Decision, Stop, short
from autobct.tuning.history import Note, Run
from autobct.tuning.price import Price, parse_price
from autobct.tuning.problem import Problem
from autobct.tuning.settings import versions
from autobct.tuning.windows import window

if TYPE_CHECKING:
    from autobct.tuning.tuner import Tuner


class TuningError(RuntimeError):
    """No run finished, or one failed and the user asked to hear of it.  history: all runs, failed ones included."""

    def __init__(self, message: str, history: tuple[Run, ...]) -> None:
        super().__init__(message)
        self.history = history


@dataclass(frozen=True, slots=True, eq=False)
class WhatIf:
    """What another price would have done with the same runs.

    runs:    after how many it would have stopped;  known: False if it would have gone on after the last one
    params, score:  of the model it would have returned;  cost: of the runs up to there
    net:     that score less the price of that cost, in units of score
    """

    price: Price
    runs: int
    params: dict[str, Any]
    score: float
    cost: float
    net: float
    known: bool

    def __str__(self) -> str:
        """One sentence."""
        if not self.known:
            return f"At {self.price} it would have gone on after {count(self.runs)}."
        stated = ", ".join(f"{name}={short(value)}" for name, value in self.params.items())
        return (
            f"At {self.price} it would have stopped after {count(self.runs)} with {stated}: "
            f"score {self.score:.4g}, cost {self.cost:.4g}."
        )


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """The model to use and what it took.

    params:   of the model to use
    score:    its observed score;  expected_score: what is believed of it, all runs considered
    cost:     of all runs together, failed ones included
    why:      one sentence, why the tuning stopped
    history:  every run;  decisions: what was decided before each of them, and at the end
    problem:  what was tuned, with the ranges that the runs have shown
    settings, versions:  what it takes to do the same again
    deciding: seconds between the runs;  charged: cost besides the runs, those seconds where the cost is time
    """

    params: dict[str, Any]
    score: float
    expected_score: float
    cost: float
    why: str
    history: tuple[Run, ...]
    decisions: tuple[Decision, ...]
    tuner: Tuner
    problem: Problem
    settings: dict[str, Any]
    versions: dict[str, str]
    deciding: float = 0.0
    charged: float = 0.0

    @property
    def total_cost(self) -> float:
        """Cost of all runs and, where the cost is time, of deciding between them."""
        return self.cost + self.charged

    @property
    def alarm(self) -> Alarm | None:
        """The first time that what was seen was implausible under what was believed; None if it never was."""
        return self.tuner.alarm

    @property
    def notes(self) -> tuple[Note, ...]:
        """What there was to say of runs that left a range."""
        return self.tuner.notes

    def what_if(self, prices: Iterable[float | str | Price]) -> tuple[WhatIf, ...]:
        """When each of these prices would have stopped on these runs, and what it would have got.

        The runs are those that were made; only the question whether to stop is asked again after each of them.
        """
        told = [prices] if isinstance(prices, str | int | float | Price) else list(prices)
        scores = self.tuner.problem.stated.scores
        return _what_ifs(self.tuner, [parse_price(price, scores) for price in told])

    def report(self, path: str | PathLike[str]) -> None:
        """Write one page about all this: report("run.html")."""
        window("report")(self, path)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return str(window("result_html")(self))

    def __str__(self) -> str:
        """The answer in two lines."""
        believed = f"{self.score:.4g} (believed {self.expected_score:.4g}, all runs considered)"
        return f"{self.params} scores {believed}; {count(len(self.history))} cost {self.cost:.4g}.\n{self.why}"


def result_of(tuner: Tuner, why: str, decisions: Sequence[Decision], deciding: float = 0.0) -> Result:
    """The result of a tuning as of now; TuningError if no run has finished."""
    best = tuner.best
    if best is None or best.score is None:
        raise TuningError(_nothing(tuner.history, decisions), tuner.history)
    return Result(
        params=dict(best.params),
        score=best.score,
        expected_score=tuner.believed_score(best.control),
        cost=math.fsum(run.cost for run in tuner.history),
        why=why,
        history=tuner.history,
        decisions=tuple(decisions),
        tuner=tuner,
        problem=tuner.problem,
        settings=tuner.settings,
        versions=versions(),
        deciding=deciding,
        charged=tuner.charged,
    )


def count(runs: int) -> str:
    """So many runs, in words."""
    return "1 run" if runs == 1 else f"{runs} runs"


def _nothing(history: Sequence[Run], decisions: Sequence[Decision]) -> str:
    if history:
        return f"no run finished; the last of {len(history)} failed with {history[-1].error}"
    limits = [made.why for made in decisions if isinstance(made, Stop) and made.cheapest is not None]
    return f"no run finished. {limits[-1]}" if limits else "no run finished"


def _what_ifs(tuner: Tuner, prices: Sequence[Price]) -> tuple[WhatIf, ...]:
    """From the highest price down: after a run after which that one would go on, a lower one need not be asked."""
    found: dict[Price, WhatIf] = {}
    begin = 0
    for price in sorted(prices, key=lambda price: -price.per_cost):
        found[price] = _what_if(tuner, price, begin)
        begin = max(found[price].runs - 1, 0)
    return tuple(found[price] for price in prices)


def _what_if(tuner: Tuner, price: Price, begin: int) -> WhatIf:
    """Play the runs again at another price until it would stop with a model in hand.  begin: runs it goes on after."""
    game, known = tuner.twin(price, fresh=True), False
    game.replay(tuner.history[:begin])
    for run in tuner.history[begin:]:
        game.replay([run])
        if known := game.best is not None and isinstance(game.peek(), Stop):
            break
    best = game.best
    assert best is not None
    assert best.score is not None
    net = game.problem.raw_net(best.score, game.total_cost)
    return WhatIf(price, len(game.history), dict(best.params), best.score, game.total_cost, net, known)
