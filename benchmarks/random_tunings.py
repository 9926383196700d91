"""Random tunings that must go well: no exception, no warning, no NaN, no runaway, bounded work for a decision.

    python benchmarks/random_tunings.py --count 1000

Every case is drawn from its number: a space of one to six parameters, a surface with noise, regions that fail or
diverge, costs and prices over six orders of magnitude, and ranges that are right, unstated, or wrong by a factor of a
thousand either way.  `tests/faults/test_numbers.py` plays the first hundred, briefly but for those that can run away.
"""

from __future__ import annotations

import argparse
import math
import os
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np

import autobct
from autobct.tuning.history import Stop, Train

MOST_RUNS = 30
MOST_CANDIDATES = 2000
"""Candidates of one decision: what its work grows with."""

MOST_SPENT = 3.0
"""Price of the runs after the tenth that finished, in units of the true spread of scores, all there is to gain.

Runs that fail tell nothing of a range that is a thousand times too wide; ten failures in a row end a tuning.
"""


@dataclass(frozen=True)
class Case:
    """A tuning.

    train:  params, rng -> (score, cost), or an exception;  spread: of the true scores
    price:  of a typical run, in units of the spread
    """

    number: int
    keywords: dict[str, Any]
    space: dict[str, Any]
    train: Callable[[dict[str, Any], np.random.Generator], tuple[float, float]]
    spread: float
    price: float

    def can_run_away(self, most_runs: int) -> bool:
        """Whether so many runs, of which ten are free, could cost more than all there is to gain."""
        return self.price * (most_runs - 10) > MOST_SPENT


@dataclass(frozen=True)
class Outcome:
    """What came of it.  trouble: "" if all went well;  slowest: seconds of the slowest decision."""

    number: int
    runs: int
    reason: str
    spent: float
    slowest: float
    trouble: str


def drawn(number: int, most_runs: int = MOST_RUNS) -> Case:
    """The case of a number."""
    rng = np.random.default_rng((18, number))
    space = {f"p{k}": _parameter(rng) for k in range(int(rng.integers(1, 7)))}
    if len(space) > 2 and rng.random() < 0.25:
        space["p0"] = autobct.Categorical(["a", "b"])
        space["p1"] = autobct.Float(0.0, 1.0, when={"p0": "a"})
    where, bend = rng.uniform(0, 1, len(space)), rng.uniform(0.2, 4.0, len(space))
    wave, noise = rng.uniform(0.0, 0.3), float(rng.choice([0.0, 0.01, 0.1, 0.5]))
    fails, diverges = float(rng.choice([0.0, 0.0, 0.2, 0.6])), float(rng.choice([0.0, 0.0, 0.2]))
    level, unit = float(rng.choice([0.0, 0.5, -3.0, 1e4])), 10.0 ** rng.uniform(-3, 3)
    cost_unit, cost_slope, cost_noise = 10.0 ** rng.uniform(-3, 3), rng.normal(0, 1.5), rng.uniform(0, 0.5)
    sign = 1.0 if rng.random() < 0.7 else -1.0

    def train(params: dict[str, Any], draw: np.random.Generator) -> tuple[float, float]:
        u = np.array([_place(space[name], params[name]) if name in params else 0.5 for name in space])
        cost = cost_unit * math.exp(cost_slope * float(u.mean()) + cost_noise * draw.normal())
        if u[-1] < fails:
            raise ArithmeticError("this region fails")
        if u[0] < diverges:
            return sign * (level - unit * 10.0 ** draw.uniform(2, 12)), cost
        shape = 1.0 - float(bend @ np.square(u - where)) + wave * math.sin(9.0 * float(u.sum()))
        return sign * (level + unit * (shape + noise * draw.normal())), cost

    spread = unit * (1.0 + wave + float(bend.sum()) + 3.0 * noise)
    worth = 10.0 ** rng.uniform(-5, 1)  # price of a typical run in units of the spread: six orders of magnitude
    keywords: dict[str, Any] = {"price": worth * unit / cost_unit, "max_runs": most_runs, "seed": number}
    keywords["direction"] = "maximize" if sign > 0 else "minimize"
    if (factor := rng.choice([0.0, 1.0, 1e3, 1e-3])) > 0:
        middle, width = sign * (level + 0.5 * unit), factor * max(spread, 1e-9 * abs(level))
        keywords["score_range"] = (middle - width / 2, middle + width / 2)
    if (factor := rng.choice([0.0, 1.0, 1e3, 1e-3])) > 0:
        keywords["cost_range"] = (0.3 * factor * cost_unit, 3.0 * factor * cost_unit)
    if rng.random() < 0.2:
        keywords["recall"] = False
    return Case(number, keywords, space, train, spread, worth * unit / spread)


def _parameter(rng: np.random.Generator) -> Any:
    kind = rng.integers(6)
    low = float(rng.choice([0.0, -5.0, 1e-4, 100.0]))
    if kind == 0:
        return autobct.Categorical([f"c{k}" for k in range(int(rng.integers(2, 7)))])
    if kind == 1:
        return autobct.Float(1e-6, 10.0 ** rng.uniform(-3, 6), log=True)
    if kind == 2:
        return autobct.Int(1, int(rng.integers(2, 5000)), log=bool(rng.random() < 0.5))
    if kind == 3:
        return autobct.Int(-3, int(rng.integers(-2, 9)))
    return autobct.Float(low, low + 10.0 ** rng.uniform(-3, 6))


def _place(parameter: Any, value: Any) -> float:
    """Where a value is, between 0 and 1."""
    if isinstance(parameter, autobct.Categorical):
        return parameter.choices.index(value) / max(len(parameter.choices) - 1, 1)
    return float(parameter.to_unit(value))


def played(case: Case) -> Outcome:
    """Tune, with every warning an error."""
    rng, slowest = np.random.default_rng((81, case.number)), 0.0
    runs, spent, reason = 0, 0.0, "none"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tuner = autobct.Tuner(case.space, **case.keywords)
            decisions: list[Any] = []
            while True:
                began = time.perf_counter()
                decision = tuner.ask()
                slowest = max(slowest, time.perf_counter() - began)
                decisions.append(decision)
                _check_decision(decision, tuner)
                if isinstance(decision, Stop) or spent > MOST_SPENT:
                    break
                try:
                    score, cost = case.train(dict(decision.params), rng)
                except ArithmeticError as error:
                    tuner.tell(decision, cost=tuner.history[-1].cost if tuner.history else 1.0, error=str(error))
                else:
                    tuner.tell(decision, score, cost)
                if sum(run.score is not None for run in tuner.history) > 10:
                    spent += tuner.problem.price.per_cost * tuner.history[-1].cost / case.spread
            runs, reason = len(tuner.history), decision.reason if isinstance(decision, Stop) else "runaway"
            _check_end(tuner, decisions)
        trouble = "" if spent <= MOST_SPENT else f"runaway: runs after the tenth cost {spent:.2g} spreads"
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        trouble = f"{type(error).__name__}: {error} ({os.path.basename(last.filename)}:{last.lineno})"
    return Outcome(case.number, runs, reason, spent, slowest, trouble)


def _check_decision(decision: Any, tuner: Any) -> None:
    if isinstance(decision, Train):
        told = [decision.expected_gain, decision.expected_cost, decision.price_of_run, decision.expected_score]
        _finite([*told, decision.value, *([] if decision.stop_value is None else [decision.stop_value])], "decision")
        _finite(decision.control, "control")
    elif decision.value is not None:
        _finite([decision.value], "value of stopping")
    assert decision.why
    most = len(tuner.problem.controls)
    assert most <= MOST_CANDIDATES, f"{most} candidates"


def _check_end(tuner: Any, decisions: list[Any]) -> None:
    _finite([run.estimated_score for run in tuner.history], "estimated score")
    _finite([tuner.total_cost], "total cost")
    if tuner.best is not None:
        result = tuner.result("", decisions)
        _finite([result.score, result.expected_score, *result.importance().values()], "result")


def _finite(values: Any, what: str) -> None:
    if not np.all(np.isfinite(np.asarray(values, dtype=float))):
        raise AssertionError(f"{what} is not finite: {values}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    began, outcomes = time.perf_counter(), []
    for number in range(asked.first, asked.first + asked.count):
        outcomes.append(played(drawn(number)))
        if outcomes[-1].trouble:
            print(f"case {number}: {outcomes[-1].trouble}", flush=True)
    troubles = sum(bool(one.trouble) for one in outcomes)
    slow = np.array([one.slowest for one in outcomes])
    print(f"{len(outcomes)} tunings, {sum(one.runs for one in outcomes)} runs, {troubles} with trouble")
    print("ended by", ", ".join(f"{reason} {n}" for reason, n in Counter(o.reason for o in outcomes).most_common()))
    print(f"price of the runs after the tenth, in spreads: at most {max(one.spent for one in outcomes):.2g}")
    print(
        f"slowest decision of a tuning: median {np.median(slow):.3f} s, 99 % {np.quantile(slow, 0.99):.3f} s, ", end=""
    )
    print(f"largest {slow.max():.3f} s; {time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
