"""The result: what another price would have done, and all it takes to do the same again."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from tests.tuning.cases import LINE, SQUARE, at, hill, play

from autobct import (
    Affine,
    AffineLog,
    Categorical,
    Float,
    Int,
    Price,
    Result,
    Stop,
    Train,
    Tuner,
    WhatIf,
    paper_prior,
    relaxed,
    tune,
)
from autobct.tuning import progress
from autobct.tuning.decide.under_way import Waiting
from autobct.tuning.problem import problem_of

PRICES = (0.0005, 0.002, 0.01, 0.05, 0.2, 1.0)


# ---- what if


def test_a_higher_price_would_have_stopped_earlier_and_a_lower_one_not_at_all() -> None:
    result = tune(hill, LINE, price=0.01, policy=relaxed(2), prior="paper")
    told = result.what_if(PRICES)
    assert [what.price for what in told] == [Price(price, 1.0, "") for price in PRICES]
    stops = [what.runs for what in told]
    assert stops == sorted(stops, reverse=True)
    assert not told[0].known
    assert told[0].runs == len(result.history)
    own = told[2]
    assert (own.known, own.runs, own.params, own.score) == (True, len(result.history), result.params, result.score)
    assert own.cost == pytest.approx(result.cost)
    assert own.net == pytest.approx(result.score - 0.01 * result.cost)
    for what in told[3:]:
        assert what.known
        assert what.runs < len(result.history)
        assert what.cost == pytest.approx(math.fsum(run.cost for run in result.history[: what.runs]))
        assert what.score in [run.score for run in result.history[: what.runs]]


@pytest.mark.parametrize("told", [{}, {"score_range": (0.6, 0.7)}], ids=str)
def test_it_is_what_a_tuner_at_that_price_says_of_the_same_runs(told: dict[str, Any]) -> None:
    """A stated cost_range, as without one the price itself is part of what is believed of costs."""
    told = {"cost_range": (0.1, 2), **told}
    result = tune(hill, LINE, price=0.01, **told)
    for what in result.what_if(PRICES):
        other, stopped = Tuner(LINE, price=what.price, **told), None
        for number, run in enumerate(result.history):
            other.replay([run])
            if isinstance(other.peek(), Stop):
                stopped = number + 1
                break
        assert (stopped is not None) == what.known
        assert what.runs == (stopped or len(result.history))


def test_the_belief_is_the_same_at_every_price() -> None:
    """Without a cost_range the guess of the cost is that of the price it was tuned with."""
    result = tune(hill, LINE, price=0.01)
    other = result.tuner.twin(Price(0.2, 1.0, ""))
    assert other.belief is result.tuner.belief
    assert other.problem.terms.price == pytest.approx(20 * result.problem.terms.price)


def test_limits_are_not_prices() -> None:
    result = tune(hill, LINE, price=1e-4, max_runs=2)
    (same,) = result.what_if([1e-4])
    assert not same.known  # but for max_runs it would have gone on


def test_failures_before_the_first_success_stop_nothing() -> None:
    tuner = Tuner(LINE, price=0.001, policy=at(0.0, 0.5), prior="paper", candidates=11)
    for score in (None, 0.5):
        decision: Any = tuner.ask()
        tuner.tell(decision, score, 1.0, error=None if score else "failed")
    (what,) = tuner.result().what_if(["5 per s"])
    assert (what.runs, what.score) == (2, 0.5)


def test_less_is_better_when_minimising() -> None:
    result = tune(lambda p: (1 - hill(p)[0], hill(p)[1]), LINE, price=0.01, direction="minimize", cost_range=(0.1, 2))
    mirrored = tune(hill, LINE, price=0.01, cost_range=(0.1, 2))
    for ours, theirs in zip(result.what_if(PRICES), mirrored.what_if(PRICES), strict=True):
        assert (ours.runs, ours.known) == (theirs.runs, theirs.known)
        assert ours.net == pytest.approx(1 - theirs.net)
        assert ours.score == pytest.approx(1 - theirs.score)


def test_in_words() -> None:
    result = tune(hill, LINE, price=0.01, policy=relaxed(2), prior="paper")
    on, off = result.what_if(["0.0001 per unit", 0.2])
    assert str(on) == f"At 0.0001 per unit of cost it would have continued after {len(result.history)} runs."
    assert str(off).startswith(f"At 0.2 per unit of cost it would have stopped after {off.runs} runs with x=")
    (single,) = result.what_if("0.3 per s")
    assert isinstance(single, WhatIf)
    assert single.price == Price(0.3, 1.0, "s")


@cache
def made_side_by_side() -> Result:
    """Three times four runs that end in another order than they began."""
    tuner = Tuner(SQUARE, price="0.01 per 1s", cost_range=(0.1, 2))
    for costs in ((1.0, 0.4, 1.5, 0.7), (0.3, 0.6, 0.5, 0.9), (1.1, 0.2, 0.8, 0.1)):
        batch = []
        for cost in costs:
            decision = tuner.peek()
            train: Any = decision if isinstance(decision, Train) else decision.best_alternative
            tuner.adopt(train)
            batch.append((cost, train))
        for cost, train in sorted(batch, key=lambda ended: ended[0]):
            tuner.tell(train, hill(train.params)[0], cost)
    return tuner.result()


def side_by_side(price_of: str) -> Result:
    return replace(made_side_by_side(), n_jobs=4, price_of=price_of)


def test_a_price_of_waiting_is_one_of_waiting_at_every_price() -> None:
    """Against tuners at these prices that are asked what they would do with four free places."""
    result, prices = side_by_side("waiting"), ("0.05 per 1s", "0.003 per 1s", "0.002 per 1s")
    computing = side_by_side("compute").what_if(prices)
    for what, compute in zip(result.what_if(prices), computing, strict=True):
        other, stopped = Tuner(SQUARE, price=what.price, cost_range=(0.1, 2)), None
        for number, run in enumerate(result.history):
            other.replay([run])
            if isinstance(other.peek(None, Waiting(0.0, 4, 4)), Stop):
                stopped = number + 1
                break
        assert (what.runs, what.known) == (stopped or len(result.history), stopped is not None)
        assert what.runs >= compute.runs
        assert what.cost == max(result.waits[: what.runs])
        assert what.net == pytest.approx(what.score - what.price.per_cost * what.cost)
        assert ("wall clock" in str(what)) == what.known
    assert sum(what.runs for what in result.what_if(prices)) > sum(what.runs for what in computing)
    assert computing[-1].cost == pytest.approx(math.fsum(run.cost for run in result.history[: computing[-1].runs]))


def test_without_a_clock_runs_start_where_a_place_is_free() -> None:
    """Worked out by hand; the fifth starts at 0.4, the sixth and the seventh at 0.7, the eighth at 1.0, ..."""
    result = side_by_side("waiting")
    ends = dict(zip([run.trial for run in result.history], result.waits, strict=True))
    by_hand = [1.0, 0.4, 1.5, 0.7, 0.7, 1.3, 1.2, 1.9, 2.3, 1.5, 2.3, 1.6]
    assert [ends[trial] for trial in range(12)] == pytest.approx(by_hand)
    clocked = replace(result, ended=tuple(range(12)))
    assert clocked.waits == tuple(range(12))
    assert side_by_side("compute").waits == ()


@pytest.mark.parametrize("price", [-1, 0, "cheap", None, math.nan])
def test_what_is_no_price_is_refused(price: Any) -> None:
    result = tune(hill, LINE, price=0.1)
    with pytest.raises((TypeError, ValueError), match=r"^price "):
        result.what_if([price])


# ---- settings


def test_settings_are_plain_and_make_the_same_problem_again() -> None:
    space = {"x": Float(0, 1), "n": Int(1, 9, log=True), "c": Categorical(["a", None, (1, 2), print])}
    tuner = Tuner(
        space,
        price="0.01 per 10min",
        direction="minimize",
        score_range=(0, 5),
        cost_range=(1, 60),
        max_cost=100,
        max_runs=7,
        seed=3,
    )
    told = json.loads(json.dumps(tuner.settings))
    assert told["space"]["x"] == {"type": "Float", "low": 0.0, "high": 1.0, "log": False, "step": None}
    assert told["space"]["n"] == {"type": "Int", "low": 1, "high": 9, "log": True, "step": 1}
    assert told["space"]["c"]["choices"] == ["a", None, [1, 2], repr(print)]
    assert (told["direction"], told["score_range"], told["cost_range"]) == ("minimize", [0, 5], [1, 60])
    assert (told["max_runs"], told["max_cost"], told["seed"], told["recall"]) == (7, 100, 3, True)
    again = problem_of(space, told["price"], score_range=told["score_range"], cost_range=told["cost_range"])
    assert again.terms == tuner.problem.terms


def test_settings_stay_as_they_were_said() -> None:
    tuner = Tuner(LINE, price=0.01)
    before = tuner.settings
    play(tuner, lambda params: (100 * hill(params)[0], 1.0))
    assert tuner.notes
    assert tuner.settings == before
    assert before["score_range"] is None
    assert before["cost_range"] is None
    own = Tuner(LINE, price=0.01, prior=paper_prior("synthetic"), cost_range=Affine(0, 2)).settings
    assert (own["prior"], own["cost_range"]) == ("own", [0.0, 2.0])
    assert Tuner(LINE, price=0.01, score_range=AffineLog(0.1, 1)).settings["score_scale"] == "log"


def test_the_result_carries_all_that_a_page_needs() -> None:
    result = tune(hill, LINE, price=0.01)
    assert result.problem is result.tuner.problem
    assert result.settings == result.tuner.settings
    assert set(result.versions) == {"autobct", "python", "numpy", "scipy"}
    assert (result.alarm, result.notes) == (result.tuner.alarm, result.tuner.notes)
    assert all(decision.why for decision in result.decisions)


def test_every_display_is_found_by_its_name() -> None:
    for name in progress._WINDOWS:
        assert callable(progress.window(name))


def test_displays_are_imported_only_when_somebody_looks() -> None:
    code = "import sys, autobct; print(sorted(name for name in sys.modules if name.startswith('autobct.report')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
