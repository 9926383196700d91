"""The result of a tuning: the model to use, its cost, why tuning stopped, and what other prices would have done."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from autobct.tuning.decide.under_way import PriceOf, Waiting, waits_of
from autobct.tuning.guard import usual_errors_in
from autobct.tuning.history import Decision, Note, Run, Stop, records_of, short
from autobct.tuning.model.alarm import Alarm
from autobct.tuning.model.estimate import importance
from autobct.tuning.model.posterior import learned
from autobct.tuning.progress import window
from autobct.tuning.statement import versions
from autobct.tuning.units.price import Price, parse_price, rounded
from autobct.tuning.units.scale import ScaledProblem
from autobct.tuning.visible import visible

if TYPE_CHECKING:
    from autobct.tuning.memory import Memory
    from autobct.tuning.statement import Plan
    from autobct.tuning.tuner import Tuner


class TuningError(RuntimeError):
    """The tuning could not continue.  `__cause__` is the original exception, if there is one, with its traceback.

    history: all runs, including failed ones
    result:  the result of the runs that finished before the error; None if none did
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

    runs:    number of runs before it would have stopped;  known: False if it would have continued after the last run
    params, score:  those of the model it would have returned;  cost: total cost of these runs, or the
             seconds on the clock until the last of them had ended if `price_of` is "waiting"
    net:     that score minus the price of that cost (plus it, for a loss), in units of score
    """

    price: Price
    runs: int
    params: dict[str, Any]
    score: float
    cost: float
    net: float
    known: bool
    price_of: PriceOf = "compute"

    def __str__(self) -> str:
        """One sentence."""
        if not self.known:
            return f"At {rounded(self.price)} it would have continued after {count(self.runs)}."
        stated = ", ".join(f"{visible(name)}={short(value)}" for name, value in self.params.items())
        cost = "cost" if self.price_of == "compute" else "wall clock"
        return (
            f"At {rounded(self.price)} it would have stopped after {count(self.runs)} with {stated}: "
            f"score {self.score:.4g}, {cost} {self.cost:.4g}."
        )


@usual_errors_in
@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """The model to use, what it cost, and why the tuning stopped.

    params:   the params of the model to use
    score:    its observed score;  expected_score: its score estimated from all runs
    cost:     total cost of all runs, including failed ones
    why:      why the tuning stopped, in one sentence
    history:  every run;  decisions: the decision before each run, and the last one
    problem:  what was tuned, with the ranges as adapted to the runs
    plan, memory:  the full state of the tuner at the end; both are frozen, so a result never changes
    settings, versions:  what is needed to reproduce the tuning
    deciding: seconds spent between runs;  charged: cost beyond the runs, i.e. those seconds if the cost is time
    elapsed:  seconds of wall clock that it took;  n_jobs: runs side by side
    price_of: what the price paid for, "compute" or "waiting"
    ended:    wall-clock seconds at which each run of the history ended; empty if other processes made some of them
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
    elapsed: float = 0.0
    n_jobs: int = 1
    price_of: PriceOf = "compute"
    ended: tuple[float, ...] = ()

    @property
    def waits(self) -> tuple[float, ...]:
        """Seconds of waiting until each run of the history had ended, where the price is one of waiting; else empty.

        Where the clock of the runs is not known: as if each had started as soon as a place was free.
        """
        if self.price_of == "compute":
            return ()
        return self.ended if len(self.ended) == len(self.history) else waits_of(self.history, self.n_jobs)

    @property
    def total_cost(self) -> float:
        """Cost of all runs and, if the cost is time, of deciding between them."""
        return self.cost + self.charged

    @property
    def alarm(self) -> Alarm | None:
        """The first time the observations became implausible under the model; None if they never did."""
        return self.memory.alarm

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes about runs outside their expected range."""
        return self.memory.notes

    @property
    def tuner(self) -> Tuner:
        """A new tuner in the state in which this tuning ended, to query it or to continue with one job."""
        from autobct.tuning.tuner import Tuner  # which makes results

        return Tuner.standing(self.plan, self.memory)

    def what_if(self, prices: Iterable[float | str | Price]) -> tuple[WhatIf, ...]:
        """When tuning at each of these prices would have stopped, and with which model.

        The runs stay as they were made; only the decision whether to stop is repeated after each of them, as with as
        many jobs.  With price_of="waiting" that decision, the cost and the net count the wall clock, as the tuning did.
        At its own price a tuning that stopped by itself did so after all of its runs, those of other jobs included.
        """
        told = [prices] if isinstance(prices, str | int | float | Price) else list(prices)
        scores = self.tuner.problem.stated.scores
        jobs = self.n_jobs
        waiting = Waiting(0.0, jobs, jobs, self.price_of) if jobs > 1 or self.price_of == "waiting" else None
        counted = _Counted(self.waits, waiting, ended=self.problem.price if self._stopped else None)
        return _what_ifs(self.tuner, [parse_price(price, scores) for price in told], counted)

    @property
    def _stopped(self) -> bool:
        """Whether it ended as no further run was worth its price, and not by a limit or an interruption."""
        last = self.decisions[-1] if self.decisions else None
        return isinstance(last, Stop) and last.reason in ("not worth it", "nothing to gain")

    def importance(self) -> dict[str, float]:
        """How much each parameter matters: its share of the variance of the estimated score over the space.

        In descending order; the shares sum to 1.  An interaction counts for each parameter in it.
        """
        return importance(learned(self.problem, self.history))

    def to_records(self) -> list[dict[str, Any]]:
        """One dict per run: score, cost, total_cost, estimated_score, error and `params_NAME`."""
        return records_of(self.history, self.problem.space.names)

    def to_dataframe(self) -> Any:
        """The records as a `pandas.DataFrame`, one row per run; ImportError if pandas is not installed."""
        return window("dataframe")(self.to_records())

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write the records to a CSV file; text that a spreadsheet would take for a formula is written as text."""
        window("csv")(self.to_records(), path)

    def report(self, path: str | PathLike[str], *, notes: Sequence[str] = ()) -> None:
        """Write a report as one HTML page: report("run.html").  notes: sentences to add to it."""
        window("report")(self, path, notes)

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
        expected_score=tuner.estimated_score(best.control),
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
        last = "only run" if len(history) == 1 else f"last of {len(history)} runs"
        return f"no run finished; the {last} failed with {history[-1].error}"
    limits = [made.why for made in decisions if isinstance(made, Stop) and made.cheapest is not None]
    return f"no run finished. {limits[-1]}" if limits else "no run finished"


@dataclass(frozen=True, slots=True)
class _Counted:
    """What a price pays for: all computing, or the seconds until each run had ended.

    waiting: with several jobs;  ended: the price at which the tuning stopped by itself after all runs; None otherwise
    """

    waits: tuple[float, ...] = ()
    waiting: Waiting | None = None
    ended: Price | None = None

    def needs_all(self, price: Price) -> bool:
        """Whether all runs were made at this price: with several jobs some are still under way when it would stop."""
        return self.ended is not None and math.isclose(price.per_cost, self.ended.per_cost, rel_tol=1e-9)

    def cost(self, game: Tuner) -> float:
        """Of the runs that were played again."""
        return game.total_cost if self.price_of == "compute" else max(self.waits[: len(game.history)])

    @property
    def price_of(self) -> PriceOf:
        return "compute" if self.waiting is None else self.waiting.price_of


def _what_ifs(tuner: Tuner, prices: Sequence[Price], counted: _Counted) -> tuple[WhatIf, ...]:
    """From the highest price down: after a run after which that one would go on, a lower one need not be asked."""
    found: dict[Price, WhatIf] = {}
    begin = 0
    for price in sorted(prices, key=lambda price: -price.per_cost):
        found[price] = _what_if(tuner, price, begin, counted)
        begin = max(found[price].runs - 1, 0)
    return tuple(found[price] for price in prices)


def _what_if(tuner: Tuner, price: Price, begin: int, counted: _Counted) -> WhatIf:
    """Play the runs again at another price until it would stop with a model.  begin: runs it goes on after."""
    game = tuner.twin(price, fresh=True)
    begin = len(tuner.history) if (known := counted.needs_all(price)) else begin
    game.replay(tuner.history[:begin])
    for run in tuner.history[begin:]:
        game.replay([run])
        if known := game.best is not None and isinstance(game.peek(waiting=counted.waiting), Stop):
            break
    best = game.best
    assert best is not None
    assert best.score is not None
    cost = counted.cost(game)
    return WhatIf(
        price=price,
        runs=len(game.history),
        params=dict(best.params),
        score=best.score,
        cost=cost,
        net=game.problem.raw_net(best.score, cost),
        known=known,
        price_of=counted.price_of,
    )
