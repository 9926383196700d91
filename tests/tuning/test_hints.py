"""What users know beforehand, in one line: taken, or refused with a sentence."""

from typing import Any

import numpy as np
import pytest

from autobct import Categorical, Float, Int, Train, Tuner, paper_prior
from autobct.tuning.model.default_prior import growth_of
from autobct.tuning.problem import OVERHEAD, problem_of
from autobct.tuning.space.hints import hints_of
from autobct.tuning.space.space import Space
from autobct.value.state import view

SPACE = {
    "rate": Float(1e-5, 1e-1, log=True),
    "trees": Int(10, 1000, log=True),
    "share": Float(0.1, 1.0),
    "kind": Categorical(["a", "b", "c"]),
}


def first(**hints: Any) -> dict[str, Any]:
    decision = Tuner(SPACE, price=0.001, **hints).ask()
    assert isinstance(decision, Train)
    return dict(decision.params)


def test_a_guess_is_where_it_begins() -> None:
    told = first(guess={"rate": 5e-2, "kind": "c", "share": 0.2}, guess_strength=3)
    assert told["rate"] == pytest.approx(5e-2, rel=0.5)
    assert told["share"] == pytest.approx(0.2, abs=0.1)
    assert told["kind"] == "c"


def test_no_strength_is_no_guess_of_the_score() -> None:
    weak, none = (problem_of(SPACE, 0.01, **hints).prior.belief.score.mean for hints in (
        {"guess": {"kind": "c"}, "guess_strength": 0.0}, {}
    ))  # fmt: skip
    np.testing.assert_allclose(weak, none)


def test_what_is_guessed_is_believed_to_be_better() -> None:
    problem = problem_of(SPACE, 0.01, guess={"rate": 1e-5})
    low, high = (Space.of(SPACE).control({"rate": r, "trees": 100, "share": 0.5, "kind": "a"}) for r in (1e-5, 1e-1))
    means = view(problem.prior.belief, problem.prior.model, np.stack([low, high])).score.mean
    assert means[0] > means[1] + 0.02


def test_what_makes_runs_expensive_is_expected_to() -> None:
    problem = problem_of(SPACE, 0.01, increases_cost=["share"])
    low, high = (Space.of(SPACE).control({"rate": 1e-3, "trees": 100, "share": s, "kind": "a"}) for s in (0.1, 1.0))
    costs = view(problem.prior.belief, problem.prior.model, np.stack([low, high])).cost.mean
    assert costs[1] > costs[0] + 1.0


def test_nothing_usual_means_no_slopes_and_no_hill() -> None:
    belief = problem_of(SPACE, 0.01, expect_usual=False).prior.belief
    assert not belief.score.mean[1:].any()
    assert not belief.cost.mean[1:].any()


def test_a_known_growth_is_steeper_and_surer_than_a_usual_one() -> None:
    usual, known = growth_of(Int(1, 100)), growth_of(Int(1, 100), known=True)
    assert known.mean > usual.mean
    assert known.sd < usual.sd


@pytest.mark.parametrize(
    ("hints", "sentence"),
    [
        ({"guess": {"rats": 1}}, r"guess names 'rats', which is not in the space; write one of \['rate'"),
        ({"guess": {"rate": 5.0}}, r"guess\['rate'\]: value must be between"),
        ({"guess": {"kind": "z"}}, r"guess\['kind'\]: value must be one of"),
        ({"guess": 3}, "guess must be a dict of values, got 3; write e.g."),
        ({"guess": {"rate": 1e-3}, "guess_strength": -1}, "guess_strength must be at least 0"),
        ({"guess": {"rate": 1e-3}, "guess_strength": 1e6}, "guess_strength must be at most 10, got 1000000.0; 1 is"),
        ({"increases_cost": "trees"}, "increases_cost must be a list of names"),
        ({"increases_cost": ["kind"]}, "'kind' is a category, which has no order"),
        ({"increases_cost": ["tree"]}, "increases_cost names 'tree'"),
        ({"expect_usual": "no"}, "expect_usual must be True or False"),
    ],
)
def test_hints_that_cannot_be_are_refused(hints: dict[str, Any], sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        Tuner(SPACE, price=0.01, **hints)


def test_a_prior_says_it_all() -> None:
    with pytest.raises(ValueError, match="leave them out with a prior"):
        Tuner({"x": Float(0, 1)}, price=0.01, prior=paper_prior("synthetic"), guess={"x": 0.5})


def test_a_constant_may_be_guessed() -> None:
    space = Space.of({"x": Float(0, 1), "n": Int(3, 3)})
    assert hints_of(space, {"n": 3, "x": 0.25}, 1.0, ["n"], True).guess == ((0, 0.25),)


def test_hints_are_part_of_the_settings() -> None:
    told = Tuner(SPACE, price=0.01, guess={"kind": "b"}, increases_cost=["trees"]).settings
    assert told["guess"] == {"kind": 1.0}
    assert told["increases_cost"] == ["trees"]


def test_overheads() -> None:
    assert problem_of({"x": Float(0, 1)}, 0.01, prior="paper").stated.overhead == OVERHEAD
    assert problem_of({"x": Float(0, 1)}, 0.01).stated.overhead == 0.0
    assert problem_of(SPACE, 0.01).stated.overhead == 0.0
    assert problem_of(SPACE, 0.01, overhead=0.0).stated.overhead == 0.0
