"""Information relaxation: above the value whatever the guess, at the value if the guess is the value."""

import numpy as np
import pytest
from penalty import relaxed_information
from tests.value.cases import RECALL, grid, prior_state
from tests.value.exact_problems import few_controls, pandora
from tests.value.map_cases import random_map

from autobct.belief.prior import paper_prior
from autobct.build.forests.iteration import references_first
from autobct.value.lookahead.nodes import product, stratified
from autobct.value.lookahead.on_the_fly import Level, on_the_fly
from autobct.value.lookahead.one_step import one_run_value
from autobct.value.state import Terms, view


def wild(state, terms):
    return np.sin(9 * state.score.mean).sum(axis=-1)


GUESSES = {"V_1": one_run_value, "nonsense": wild, "zero": lambda state, terms: np.zeros(state.score.mean.shape[:-1])}


@pytest.mark.parametrize("guess", GUESSES)
@pytest.mark.parametrize("depth", [1, 2])
def test_any_guess_gives_a_bound(guess: str, depth: int) -> None:
    solved = few_controls(2, recall=True)
    found = relaxed_information(
        solved.start, solved.terms, GUESSES[guess], depth=depth, paths=150, rng=np.random.default_rng(0)
    )
    assert found.mean > solved.low - 3 * found.error


@pytest.mark.slow
def test_a_good_guess_gives_a_tight_bound_and_little_noise() -> None:
    """V_2 is nearly the value here."""
    solved = few_controls(2, recall=True)
    levels = [Level(product(stratified(8), stratified(1)))]

    def nearly(state, terms):
        return on_the_fly(state, terms, depth=2, levels=levels).max(axis=-1)

    def bound(guess):
        rng = np.random.default_rng(1)
        return relaxed_information(solved.start, solved.terms, guess, depth=2, paths=60, rng=rng)

    good, poor = bound(nearly), bound(GUESSES["zero"])
    assert solved.low - 3 * good.error < good.mean < solved.high + 0.03
    assert good.error < 0.3 * poor.error


def test_pandoras_boxes_are_bounded() -> None:
    solved = pandora()
    found = relaxed_information(
        solved.start, solved.terms, one_run_value, depth=2, paths=100, rng=np.random.default_rng(0)
    )
    assert found.mean > solved.low - 3 * found.error


def test_a_map_may_be_the_guess_and_sees_its_references() -> None:
    value_map = random_map((1, "linear", True))
    spec, prior = value_map.spec, paper_prior("synthetic")
    start = view(prior.belief, prior.model, references_first(spec.references, grid(7)))
    terms = Terms(0.16, recall=True, overhead=spec.overhead)
    found = relaxed_information(
        start,
        terms,
        value_map.continuation(2),
        depth=1,
        paths=20,
        rng=np.random.default_rng(0),
        inner=np.arange(len(spec.references)),
    )
    assert found.mean > on_the_fly(start, terms, depth=2).max() - 3 * found.error


@pytest.mark.parametrize("change", [{"depth": 0}, {"paths": 1}])
def test_bad_numbers_are_named(change) -> None:
    with pytest.raises(ValueError, match=next(iter(change))):
        relaxed_information(
            prior_state(count=3),
            RECALL,
            one_run_value,
            rng=np.random.default_rng(0),
            **{"depth": 1, "paths": 2, **change},
        )
