"""tune(): one call from a training function to a result."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from autobct.belief.arrays import Array, finite_number, whole_number
from autobct.belief.prior import Prior
from autobct.tuning.decision import Decision, Train
from autobct.tuning.policy import Policy
from autobct.tuning.price import Price
from autobct.tuning.problem import OVERHEAD
from autobct.tuning.scale import Affine, AffineLog
from autobct.tuning.space import Space
from autobct.tuning.tuner import Run, Tuner

TrainingFunction = Callable[[dict[str, Any]], Any]
"""params -> score (its wall time is the cost), or params -> (score, cost)."""


class TuningError(RuntimeError):
    """No run finished, or one failed and the user asked to hear of it.  history: all runs, failed ones included."""

    def __init__(self, message: str, history: tuple[Run, ...]) -> None:
        super().__init__(message)
        self.history = history


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """The model to use and what it took.

    params:   of the model to use
    score:    its observed score;  expected_score: what is believed of it, all runs considered
    cost:     of all runs together, failed ones included
    why:      one sentence, why the tuning stopped
    history:  every run;  decisions: what was decided before each of them, and at the end
    """

    params: dict[str, Any]
    score: float
    expected_score: float
    cost: float
    why: str
    history: tuple[Run, ...]
    decisions: tuple[Decision, ...]
    tuner: Tuner

    def __str__(self) -> str:
        """The answer in two lines."""
        believed = f"{self.score:.4g} (believed {self.expected_score:.4g}, all runs considered)"
        return f"{self.params} scores {believed}; {_runs(self.history)} cost {self.cost:.4g}.\n{self.why}"


def tune(
    train: TrainingFunction,
    space: Space | Mapping[str, Any],
    *,
    price: float | str | Price,
    score_range: Sequence[float] | Affine | AffineLog | None = None,
    cost_range: Sequence[float] | Affine | AffineLog | None = None,
    prior: Prior | None = None,
    policy: Policy | None = None,
    recall: bool = True,
    repeats: int = 1,
    max_runs: int | None = None,
    candidates: Array | int | None = None,
    overhead: float = OVERHEAD,
    on_failure: Literal["record", "raise"] = "record",
    seed: int | None = None,
) -> Result:
    """Train until further training is not worth its price; return the model to use, and why it stopped.

    train:        params -> score, higher is better; its wall time in seconds is the cost.  Or params -> (score, cost)
    space:        {"n_estimators": Int(1, 100), "learning_rate": Float(1e-4, 1, log=True)}; Optuna's distributions too
    price:        what cost is worth in score: "0.01 per 30s", "1% per 10min", or a number, score per unit of cost
    score_range:  scores expected from the worst to the best params; (0, 1) if not given
    cost_range:   costs expected from the cheapest to the dearest params; guessed from the price if not given
    recall:       return the best believed of all models trained (True), or the last one as in the paper (False)
    repeats:      trainings per run; the score is their median, the cost their sum
    overhead:     a fixed price of every run, in units of the score range: deciding and launching are never free
    on_failure:   "record" goes on after a failed run, "raise" ends the tuning with a TuningError
    """
    _check_call(train, repeats, on_failure)
    tuner = Tuner(
        space,
        price=price,
        score_range=score_range,
        cost_range=cost_range,
        prior=prior,
        policy=policy,
        recall=recall,
        max_runs=max_runs,
        candidates=candidates,
        overhead=overhead,
        seed=seed,
    )
    decisions: list[Decision] = []
    own_cost = False  # whether train has told costs of its own, in units that need not be seconds
    try:
        while isinstance(decision := tuner.ask(), Train):
            decisions.append(decision)
            outcome, cause = _trial(train, decision, repeats, own_cost)
            own_cost = outcome.pop("own_cost")
            run = _told(tuner, decision, outcome)
            if run.error is not None and on_failure == "raise":
                raise TuningError(f"run {run.trial + 1} failed: {run.error}", tuner.history) from cause
        decisions.append(decision)
        why = decision.why
    except KeyboardInterrupt:
        if tuner.best is None:
            raise
        why = f"Interrupted after {_runs(tuner.history)}."
    return _result(tuner, why, decisions)


def _told(tuner: Tuner, decision: Train, outcome: dict[str, Any]) -> Run:
    """Tell the tuner; an outcome it cannot learn from (a score of zero on a log scale) is a failed run."""
    try:
        return tuner.tell(decision, **outcome)
    except ValueError as error:
        return tuner.tell(decision, error=str(error), cost=outcome["cost"])


def _trial(
    train: TrainingFunction, decision: Train, repeats: int, own_cost: bool
) -> tuple[dict[str, Any], BaseException | None]:
    """Train `repeats` times; what to tell the tuner, score and cost or error and cost, and what raised the error.

    A training that raises is charged its wall time, or what it was expected to cost where costs are not seconds.
    If some of the repeats finish, the run has; the others are only paid for.
    """
    scores: list[float] = []
    spent, error, cause = 0.0, "", None
    for _ in range(repeats):
        started = time.perf_counter()
        try:
            returned = train(dict(decision.params))
        except (Exception, SystemExit) as raised:  # a script that exits has failed; it must not take the rest along
            took = time.perf_counter() - started
            spent += decision.expected_cost / repeats if own_cost else took
            error, cause = f"{type(raised).__name__}: {raised}", raised
            continue
        took = time.perf_counter() - started
        own_cost = own_cost or _is_pair(returned)
        cost = took
        try:
            cost = _cost(returned, took)
            scores.append(finite_number(_score(returned), "the score that train returned"))
        except (TypeError, ValueError) as wrong:
            error, cause = f"{wrong}; return a score, or (score, cost)", wrong
        spent += cost
    if scores:
        return {"score": statistics.median(scores), "cost": spent, "own_cost": own_cost}, None
    return {"error": error, "cost": spent, "own_cost": own_cost}, cause


def _is_pair(returned: object) -> bool:
    return isinstance(returned, tuple) and len(returned) == 2


def _score(returned: Any) -> object:
    if isinstance(returned, tuple) and len(returned) != 2:
        raise TypeError(f"train returned {len(returned)} values, {returned!r}")
    return returned[0] if _is_pair(returned) else returned


def _cost(returned: Any, took: float) -> float:
    """The cost that came with the score; the wall time if none did."""
    if not _is_pair(returned):
        return took
    return finite_number(returned[1], "the cost that train returned", least=0.0)


def _result(tuner: Tuner, why: str, decisions: Sequence[Decision]) -> Result:
    best = tuner.best
    if best is None or best.score is None:
        last = f"; the last of {len(tuner.history)} failed with {tuner.history[-1].error}" if tuner.history else ""
        raise TuningError(f"no run finished{last}", tuner.history)
    return Result(
        params=dict(best.params),
        score=best.score,
        expected_score=tuner.believed_score(best.control),
        cost=tuner.total_cost,
        why=why,
        history=tuner.history,
        decisions=tuple(decisions),
        tuner=tuner,
    )


def _runs(history: Sequence[Run]) -> str:
    return "1 run" if len(history) == 1 else f"{len(history)} runs"


def _check_call(train: object, repeats: object, on_failure: object) -> None:
    if not callable(train):
        raise TypeError(f"train must be a function of params, got {train!r}; write tune(train, space, price=...)")
    whole_number(repeats, "repeats", example=5)
    if on_failure not in ("record", "raise"):
        raise ValueError(f"on_failure must be 'record' or 'raise', got {on_failure!r}")
