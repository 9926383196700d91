"""The keywords of Problem, Tuner and tune: one list, checked by name, and the same however they are given."""

import inspect
from typing import Any

import numpy as np
import pytest
from tests.tuning.cases import LINE, SQUARE, hill, numbers, play

from autobct import Limits, Problem, Train, Tuner, relaxed, tune
from autobct.tuning.keywords import ProblemKeywords, TunerKeywords, all_names


def test_a_problem_and_keywords_are_the_same() -> None:
    said: dict[str, Any] = {"score_range": (0.5, 1.0), "cost_range": (0.1, 2.0), "guess": {"x": 0.3}}
    by_words = Tuner(SQUARE, price=0.01, max_runs=3, max_cost=100.0, policy=relaxed(2), seed=4, **said)
    problem, limits = Problem(SQUARE, price=0.01, **said), Limits(max_runs=3, max_cost=100.0)
    by_values = Tuner(problem, policy=relaxed(2), limits=limits, seed=4)
    one, two = play(by_words), play(by_values)
    assert [numbers(decision) for decision in one[0]] == [numbers(decision) for decision in two[0]]
    assert numbers(one[1]) == numbers(two[1])
    assert by_words.settings == by_values.settings


def test_tune_takes_a_problem_too() -> None:
    problem = Problem(LINE, price=0.003)
    assert tune(hill, problem).params == tune(hill, LINE, price=0.003).params
    assert len(tune(hill, problem, limits=Limits(max_runs=2)).history) == 2
    assert len(tune(hill, problem, max_runs=2).history) == 2


def test_a_problem_serves_many_tunings_and_says_what_it_is() -> None:
    problem = Problem(LINE, price="0.01 per 30s", direction="minimize")
    play(Tuner(problem, limits=Limits(max_runs=2)))
    play(Tuner(problem, limits=Limits(max_runs=2)))
    assert problem.direction == "minimize"
    assert problem.price.per_cost == pytest.approx(0.01 / 30)
    assert problem.space.names == ("x",)
    assert problem.stated["direction"] == "minimize"
    assert repr(problem) == f"Problem(x; price {problem.price}, minimize)"
    with pytest.raises(AttributeError):
        problem.scaled = None  # type: ignore[misc, assignment]


@pytest.mark.parametrize(
    ("call", "wrong", "meant"),
    [
        (Tuner, "max_run", "max_runs"),
        (Tuner, "score_rang", "score_range"),
        (Tuner, "prices", "price"),
        (Problem, "costrange", "cost_range"),
        (lambda space, **told: tune(hill, space, **told), "dead_line", "deadline"),
        (lambda space, **told: tune(hill, space, **told), "increase_cost", "increases_cost"),
    ],
)
def test_a_wrong_name_is_told_with_the_right_one(call: Any, wrong: str, meant: str) -> None:
    with pytest.raises(TypeError, match=rf"unexpected keyword argument '{wrong}'; did you mean '{meant}'\?"):
        call(LINE, price=0.01, **{wrong: 1})


def test_a_name_like_no_other_is_told_with_all_of_them() -> None:
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'zzzzz'; it takes price, .*max_runs"):
        Tuner(LINE, price=0.01, zzzzz=1)  # type: ignore[call-arg]


def test_what_does_not_go_together() -> None:
    problem = Problem(LINE, price=0.01)
    with pytest.raises(TypeError, match=r"Tuner\(\) needs a price.*write e.g. price="):
        Tuner(LINE)
    with pytest.raises(TypeError, match=r"price, recall must be set in the Problem; write Problem\(space, price=...\)"):
        Tuner(problem, price=0.02, recall=False)
    with pytest.raises(TypeError, match=r"max_runs cannot be combined with limits; write Limits\(max_runs=...\)"):
        Tuner(problem, limits=Limits(max_cost=3.0), max_runs=3)
    with pytest.raises(TypeError, match=r"limits must be Limits, got 20; write e.g. limits=Limits\(max_runs=20\)"):
        Tuner(problem, limits=20)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"a Tuner has no clock, so only tune\(\) takes a deadline"):
        Tuner(problem, limits=Limits(deadline="10 min"))
    with pytest.raises(ValueError, match="max_runs must be a whole number of at least 1"):
        Limits(max_runs=0)
    with pytest.raises(ValueError, match="deadline must be a time"):
        Limits(deadline="soon")


@pytest.mark.parametrize("call", [Tuner, tune])
def test_the_signature_names_every_keyword(call: Any) -> None:
    parameters = inspect.signature(call).parameters
    assert set(all_names()) <= set(parameters)
    assert not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    assert parameters["price"].default is inspect.Parameter.empty
    assert (parameters["recall"].default, parameters["direction"].default) == (True, "maximize")


def test_every_keyword_is_described_by_tune() -> None:
    text = inspect.getdoc(tune) or ""
    assert [name for name in TunerKeywords.__annotations__ if f"{name}:" not in text] == []
    assert set(ProblemKeywords.__annotations__) < set(TunerKeywords.__annotations__)


def test_keywords_may_be_any_of_the_defaults() -> None:
    told = dict.fromkeys(("score_range", "cost_range", "prior", "candidates", "overhead", "guess"))
    decision = Tuner(LINE, price=0.01, max_runs=None, policy=None, limits=None, seed=None, **told).ask()  # type: ignore[arg-type]
    assert isinstance(decision, Train)
    np.testing.assert_array_equal(decision.control, Tuner(LINE, price=0.01).peek().control)  # type: ignore[union-attr]
