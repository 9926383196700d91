"""What came of a tuning: the model to use, what it took, why it ended, and what another price would have done."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from autobct.tuning.alarm import Alarm
from autobct.tuning.decision import Decision, Stop, short
from autobct.tuning.fold import learned
from autobct.tuning.history import Note, Run
from autobct.tuning.importance import importance
from autobct.tuning.price import Price, parse_price
from autobct.tuning.problem import ScaledProblem
from autobct.tuning.records import records_of
from autobct.tuning.settings import versions
from autobct.tuning.windows import window

if TYPE_CHECKING:
    from autobct.tuning.memory import Memory
    from autobct.tuning.statement import Plan
    from autobct.tuning.tuner import Tuner


class TuningError(RuntimeError):
    """The tuning could not go on.  `__cause__` is the exception behind it, if there is one, with its traceback.

    history: all runs, failed ones included
    result:  of the runs that finished before; None if none did
    """

    def __init__(self, message: str, history: tuple[Run, ...], result: Result | None = None) -> None:
        super().__init__(message)
        self.history, self.result = history, result

    def __reduce__(self) -> tuple[type[TuningError], tuple[str, tuple[Run, ...], Result | None]]:
        """All of it pickles, as a process pool needs."""
        return type(self), (str(self), self.history, self.result)


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
    score:    its observed score;  expected_score: estimated from all runs
    cost:     of all runs together, failed ones included
    why:      one sentence, why the tuning stopped
    history:  every run;  decisions: what was decided before each of them, and at the end
    problem:  what was tuned, with the ranges that the runs have shown
    plan, memory:  all that the tuner knew and was told when it ended; both are frozen, so a result never changes
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
    plan: Plan
    memory: Memory
    problem: ScaledProblem
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
        """The first time that what was seen was implausible under the model; None if it never was."""
        return self.memory.alarm

    @property
    def notes(self) -> tuple[Note, ...]:
        """What there was to say of runs that left a range."""
        return self.memory.notes

    @property
    def tuner(self) -> Tuner:
        """A tuner of its own that stands where this tuning ended: to ask it more, or to go on."""
        from autobct.tuning.tuner import Tuner  # which makes results

        return Tuner.standing(self.plan, self.memory)

    def what_if(self, prices: Iterable[float | str | Price]) -> tuple[WhatIf, ...]:
        """When each of these prices would have stopped on these runs, and what it would have got.

        The runs are those that were made; only the question whether to stop is asked again after each of them.
        """
        told = [prices] if isinstance(prices, str | int | float | Price) else list(prices)
        scores = self.tuner.problem.stated.scores
        return _what_ifs(self.tuner, [parse_price(price, scores) for price in told])

    def importance(self) -> dict[str, float]:
        """How much each parameter matters: its share of the variance of the estimated score over the space.

        The largest first; all sum to 1.  What several parameters do together counts for each of them.
        """
        return importance(learned(self.problem, self.history))

    def to_records(self) -> list[dict[str, Any]]:
        """One plain record for each run: score, cost, total_cost, estimated_score, error and `params_NAME`."""
        return records_of(self.history, self.problem.space.names)

    def to_dataframe(self) -> Any:
        """The same as a `pandas.DataFrame`, one row for each run; ImportError with what to install without pandas."""
        return window("dataframe")(self.to_records())

    def report(self, path: str | PathLike[str]) -> None:
        """Write one page about all this: report("run.html")."""
        window("report")(self, path)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return str(window("result_html")(self))

    def __str__(self) -> str:
        """The answer in two lines."""
        estimated = f"{self.score:.4g} (estimated from all runs: {self.expected_score:.4g})"
        return f"{self.params} scores {estimated}; {count(len(self.history))} cost {self.cost:.4g}.\n{self.why}"


def result_of(tuner: Tuner, plan: Plan, why: str, decisions: Sequence[Decision], deciding: float = 0.0) -> Result:
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
        plan=plan,
        memory=tuner.memory,
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
