"""From the user's words to the model."""

import math
from typing import Any

import numpy as np
import pytest
from tests.tuning.cases import LINE, SQUARE

from autobct import Affine, AffineLog, Categorical, Float, Int, Price, Space, Tuner, paper_prior
from autobct.belief.basis import Basis, additive
from autobct.belief.cost import LINEAR, LOG_LINEAR
from autobct.belief.prior import default_prior
from autobct.tuning.model.default_prior import basis_for
from autobct.tuning.problem import OVERHEAD, problem_of
from autobct.tuning.units.scale import ScaledProblem
from autobct.value.state import run_price, view

PAPER = paper_prior("synthetic")


def expected_costs(problem: ScaledProblem) -> np.ndarray:
    """The expected cost of one run at each candidate, in the user's units, without the overhead."""
    state = view(problem.prior.belief, problem.prior.model, problem.controls)
    in_score = (run_price(state, problem.terms) - OVERHEAD) * problem.score_scale.unit
    return in_score / problem.price.per_cost


# ---- scales and price


def test_scores_are_taken_to_lie_between_zero_and_one() -> None:
    assert problem_of(LINE, 0.1).score_scale == Affine(0, 1)
    assert problem_of(LINE, 0.1, score_range=(0.5, 1)).score_scale == Affine(0.5, 1)
    assert problem_of(LINE, 0.1, score_range=[-3, 2]).score_scale == Affine(-3, 2)


@pytest.mark.parametrize("scale", [Affine(0.5, 1), AffineLog(1e-4, 1)])
def test_a_scale_is_taken_as_it_is(scale: Affine | AffineLog) -> None:
    assert problem_of(LINE, 0.1, score_range=scale).score_scale is scale


@pytest.mark.parametrize("price", [1e-6, 0.01, 3.0])
@pytest.mark.parametrize("score_range", [None, (0.5, 0.7), AffineLog(0.1, 10)])
def test_without_a_cost_range_a_run_is_taken_to_be_worth_a_fiftieth_of_the_score_range(
    price: float, score_range: Any
) -> None:
    problem = problem_of(LINE, price, score_range=score_range)
    assert problem.terms.price == pytest.approx(0.02)
    assert problem.cost_scale.high * price == pytest.approx(0.02 * problem.score_scale.unit)
    assert problem.terms.cost_model is LOG_LINEAR


@pytest.mark.parametrize("cost_range", [(10, 100), Affine(10, 100)])
def test_a_cost_range_centres_the_prior_of_the_log_cost(cost_range: Any) -> None:
    problem = problem_of(LINE, 0.001, score_range=(0.5, 1), cost_range=cost_range)
    assert problem.cost_scale == Affine(0, 100)
    assert problem.terms.price == pytest.approx(0.001 * 100 / 0.5)
    middle = math.exp(problem.prior.belief.cost.mean[0]) * 100
    assert middle == pytest.approx(math.sqrt(10 * 100))
    assert np.all(expected_costs(problem) > 10)


def test_a_wider_cost_range_is_a_vaguer_prior() -> None:
    narrow, wide = (problem_of(LINE, 0.1, cost_range=told).prior.belief.cost.cov for told in ((9, 10), (1, 10)))
    assert np.all(np.diag(narrow) <= np.diag(wide))
    assert narrow[0, 0] < wide[0, 0]
    assert narrow[0, 0] >= 0.1**2  # nobody knows a cost to the last digit before the first run


@pytest.mark.parametrize("low", [0, 1e-9, 1])
def test_a_cost_range_from_zero_counts_as_one_from_a_hundredth(low: float) -> None:
    from_zero, from_hundredth = (problem_of(LINE, 0.1, cost_range=(at, 100)) for at in (low, 1))
    np.testing.assert_allclose(expected_costs(from_zero), expected_costs(from_hundredth), rtol=1e-12)
    assert np.all(np.isfinite(expected_costs(from_zero)))


def test_the_linear_model_charges_the_whole_cost() -> None:
    """Also the part that every run costs: with cost_range (10, 60) the model sees only what exceeds 10."""
    from_ten = problem_of(LINE, 0.01, cost_range=(10, 60), prior=PAPER)
    from_zero = problem_of(LINE, 0.01, cost_range=(0, 50), prior=PAPER)
    assert from_ten.cost_scale == Affine(10, 60)
    assert from_ten.terms.price == from_zero.terms.price == pytest.approx(0.01 * 50)
    np.testing.assert_allclose(expected_costs(from_ten), 10 + expected_costs(from_zero), rtol=1e-12)


def test_with_a_prior_of_ones_own_the_units_are_ones_own() -> None:
    for prior in (PAPER, default_prior(additive(1, degree=3))):
        problem = problem_of(LINE, 0.16, prior=prior)
        assert problem.cost_scale == Affine(0, 1)
        assert problem.terms.price == 0.16
        assert problem.prior is prior
        assert problem.terms.cost_model is prior.model.cost_model


@pytest.mark.parametrize("price", ["0.6 per min", "1% per 1s", 0.01, Price(36, 1, "h"), "0.01/s"])
def test_a_price_in_words_is_the_same_as_a_number(price: Any) -> None:
    problem = problem_of(LINE, price, cost_range=(1, 10))
    assert problem.terms.price == pytest.approx(0.01 * 10, rel=1e-12)


def test_terms_are_what_the_user_said() -> None:
    terms = problem_of(LINE, 0.1, recall=False, overhead=0.5).terms
    assert (terms.recall, terms.overhead) == (False, 0.5)
    assert problem_of(LINE, 0.1).terms.recall
    assert problem_of(LINE, 0.1).terms.overhead == 0.0
    assert problem_of(LINE, 0.1, prior="paper").terms.overhead == OVERHEAD
    assert problem_of(LINE, 0.1, prior=PAPER).terms.cost_model is LINEAR


# ---- what was measured


def test_a_log_cost_is_never_quite_zero() -> None:
    log, linear = problem_of(LINE, 0.1, cost_range=(1, 10)), problem_of(LINE, 0.1, cost_range=(1, 10), prior=PAPER)
    assert log.cost_observed(0.0) == 1e-4
    assert log.cost_observed(5.0) == 0.5
    assert linear.cost_observed(0.0) == pytest.approx(-1 / 9)
    assert linear.cost_observed(10.0) == 1.0


def test_scores_in_model_units() -> None:
    problem = problem_of(LINE, 0.1, score_range=(0.5, 1))
    assert problem.score_observed(0.75) == 0.5
    assert problem.score_observed(0.25) == -0.5  # a range is what is expected, not a limit
    assert problem.raw_gain(0.5) == 0.25
    log = problem_of(LINE, 0.1, score_range=AffineLog(0.1, 10))
    assert log.score_observed(1.0) == pytest.approx(0.5)
    assert log.raw_gain(0.5) == pytest.approx(math.log(10))


@pytest.mark.parametrize("score", [1e308, 1e100, 1e7])
def test_a_diverged_score_counts_as_a_million_ranges(score: float) -> None:
    problem = problem_of(LINE, 0.1, score_range=(0.5, 1))
    assert problem.score_observed(score) == 1e6
    assert problem.score_observed(-score) == -1e6


@pytest.mark.parametrize("score", [0.0, -1.0])
def test_a_log_scale_has_no_zero(score: float) -> None:
    problem = problem_of(LINE, 0.1, score_range=AffineLog(0.1, 10))
    with pytest.raises(ValueError, match=r"^score must be positive on the log scale of score_range, got"):
        problem.score_observed(score)


# ---- basis


@pytest.mark.parametrize(
    ("space", "size"),
    [
        (LINE, 1 + 3),
        (SQUARE, 1 + 2 * 4 + 1),
        ({name: Float(0, 1) for name in "xyz"}, 1 + 3 * 2 + 3),
        ({name: Float(0, 1) for name in "vwxyz"}, 1 + 5 * 2 + 10),
        ({"c": Categorical(["a", "b", "c"])}, 1 + 3),
        ({"x": Float(0, 1), "c": Categorical(["a", "b"])}, 1 + 3 + 2),
        ({"x": Float(0, 1), "y": Int(1, 9), "c": Categorical(["a", "b"]), "k": Float(1, 1)}, 1 + 2 * 4 + 1 + 2),
    ],
)
def test_a_basis_for_every_space(space: dict[str, Any], size: int) -> None:
    told = Space.of(space)
    basis = basis_for(told)
    assert (basis.dim, basis.size) == (told.dim, size)
    features = basis(told.candidates())
    assert features.shape == (len(told.candidates()), size)
    np.testing.assert_array_equal(features[:, 0], 1.0)


def test_every_choice_has_a_level_of_its_own() -> None:
    problem = problem_of({"c": Categorical(["a", "b", "c"])}, 0.1)
    belief = problem.prior.belief.score.at(problem.prior.model.score_basis(problem.controls))
    assert belief.mean == pytest.approx(belief.mean[0])
    sd = np.sqrt(np.diag(belief.cov))
    correlation = belief.cov / np.outer(sd, sd)
    assert np.all(correlation[~np.eye(3, dtype=bool)] < 0.99)


# ---- candidates


def test_candidates_are_the_spaces_own_or_as_many_as_asked_for() -> None:
    assert problem_of(LINE, 0.1).controls.shape == (101, 1)
    assert problem_of(SQUARE, 0.1).controls.shape == (121, 2)
    assert problem_of(LINE, 0.1, candidates=7).controls.tolist() == np.linspace(0, 1, 7)[:, None].round(12).tolist()
    assert problem_of(LINE, 0.1, candidates=np.int64(7)).controls.shape == (7, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [[[0.0], [0.3], [1.0]], np.array([[0.0], [0.3], [1.0]])])
def test_candidates_may_be_given(given: Any) -> None:
    controls = problem_of(LINE, 0.1, candidates=given).controls
    assert controls.tolist() == [[0.0], [0.3], [1.0]]
    assert controls is not given


# ---- bad input

TWO_D = paper_prior("cnn-2d")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"space": {}}, "space .*write e.g."),
        ({"space": "x"}, "space must be a dict .*write e.g."),
        ({"space": {"x": (0, 1)}}, r"space\['x'\]: must be .*write e.g."),
        ({"price": -1}, "price must be positive.*write it as"),
        ({"price": 0}, "price must be positive.*write it as"),
        ({"price": math.nan}, "price must be positive and finite.*write it as"),
        ({"price": "0.01 per parsec"}, "price '0.01 per parsec' has the unknown unit 'parsec'; use"),
        ({"price": None}, "price must be a number or text.*write it as"),
        ({"score_range": (1, 0)}, r"score_range is reversed.*write \(0, 1\)"),
        ({"score_range": (1, 1)}, "score_range is empty.*write"),
        ({"score_range": (0, math.inf)}, "score_range must be finite.*write"),
        ({"score_range": (0, math.nan)}, "score_range must be finite.*write"),
        ({"score_range": 1.0}, "score_range must be two numbers.*write"),
        ({"cost_range": (10, 1)}, r"cost_range is reversed.*write \(1, 10\)"),
        ({"cost_range": (0, 0)}, "cost_range is empty.*write"),
        ({"cost_range": (0, math.inf)}, "cost_range must be finite.*write"),
        ({"cost_range": "1-10"}, "cost_range must be two numbers.*write"),
        ({"cost_range": (-1, 10)}, r"cost_range must not be negative, got \(-1.0, 10.0\); write e.g. \(1, 60\)"),
        ({"cost_range": Affine(-1, 10)}, "cost_range must not be negative.*write e.g."),
        ({"prior": TWO_D}, "prior is for 2 coordinates but the space has 1; use bases with dim=1"),
        ({"prior": PAPER, "space": SQUARE}, "prior is for 1 coordinate but the space has 2; use bases with dim=2"),
        (
            {"prior": "papre"},
            "prior must be a Prior or one of 'paper', 'ensemble', 'synth.*, got 'papre'; write e.g. prior='paper'",
        ),
        ({"prior": 0.5}, "prior must be a Prior or one of 'paper', .*, got 0.5; write e.g. prior='paper'"),
        ({"recall": "last"}, "recall must be True or False, got 'last'; write recall=True"),
        ({"recall": None}, "recall must be True or False.*write"),
        ({"candidates": 1}, "candidates must be a whole number of at least 2, got 1; write e.g. 101"),
        ({"candidates": 2.5}, "candidates must be a whole number.*write"),
        ({"candidates": True}, "candidates must be a whole number.*write"),
        ({"candidates": "many"}, "candidates must be a whole number.*write"),
        ({"candidates": [[0.5, 0.5]]}, r"candidates must be rows of 1 numbers between 0 and 1.*\(1, 2\); write e.g."),
        ({"candidates": [0.0, 0.5, 1.0]}, "candidates must be rows of 1 .*write e.g."),
        ({"candidates": [[0.5], [1.5]]}, "candidates must be rows of 1 .*write e.g."),
        ({"candidates": np.empty((0, 1))}, "candidates must be rows of 1 .*write e.g."),
        ({"candidates": np.zeros((2, 3, 1))}, "candidates must be rows of 1 .*write e.g."),
        ({"candidates": [[math.nan]]}, "candidates must be finite numbers"),
        ({"candidates": [["a"]]}, "candidates must be numbers"),
        ({"overhead": -1}, "overhead must be at least 0, got -1"),
        ({"overhead": "none"}, "overhead must be a number"),
        ({"max_runs": 0}, "max_runs must be a whole number of at least 1, got 0; write e.g. 20"),
        ({"max_runs": 2.0}, "max_runs must be a whole number.*write"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1; write e.g. 0"),
        ({"seed": "x"}, "seed must be a whole number.*write"),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_bad_input_names_the_argument_and_what_to_write(changed: dict[str, Any], message: str) -> None:
    told = {"space": LINE, "price": 0.1, **changed}
    with pytest.raises((TypeError, ValueError), match=f"(?s)^{message}"):
        Tuner(told.pop("space"), **told)


def test_an_unbounded_basis_is_refused() -> None:
    with pytest.raises(ValueError, match=r"basis 'pole' is not finite and bounded on the unit cube: .*use functions"):
        Basis.of([lambda u: 1 / (u[..., 0] - 1 / 3)], dim=1, name="pole")


def test_an_affine_log_cost_scale_is_the_scale_of_a_linear_cost_and_a_range_for_a_log_linear_one() -> None:
    scale = AffineLog(1, 10)
    linear = problem_of(LINE, 0.01, cost_range=scale, prior=PAPER)
    assert linear.cost_scale is scale
    assert linear.cost_observed(math.sqrt(10)) == pytest.approx(0.5)
    assert linear.cost_observed(0.0) == pytest.approx(-4.0)  # a cost of nothing counts as a tiny one
    assert linear.terms.price == pytest.approx(0.01 * math.log(10))  # per unit of log cost
    plain, logged = (problem_of(LINE, 0.01, cost_range=told) for told in ((1, 10), scale))
    np.testing.assert_allclose(plain.prior.belief.cost.mean, logged.prior.belief.cost.mean)
