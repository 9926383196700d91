"""Stopping under a wrong model: plateaus, heavy tails, uneven noise, regions that fail.  No spree, no early end."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from tests.tuning.cases import play
from tests.tuning.test_learning import train, tuner

from autobct import Train

Noise = Callable[[np.random.Generator, Mapping[str, Any]], float]


def tails(rng: np.random.Generator, params: Mapping[str, Any]) -> float:
    """No finite variance."""
    return 0.01 * float(rng.standard_t(2))


def uneven(rng: np.random.Generator, params: Mapping[str, Any]) -> float:
    """Twenty-five times as noisy in one half."""
    return (0.002 if params["drop"] < 0.5 else 0.05) * float(rng.standard_normal())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("noise", [tails, uneven])
def test_noise_of_another_kind_neither_misleads_nor_leads_to_a_spree(noise: Noise, seed: int) -> None:
    rng = np.random.default_rng(seed)

    def noisy(params: Mapping[str, Any]) -> tuple[float, float]:
        score, cost = train(params)
        return score + noise(rng, params), cost

    made = tuner(seed=seed)
    trained, stop = play(made, noisy)
    assert stop.reason == "not worth it"
    assert 4 <= len(trained) <= 40
    assert made.best is not None
    assert train(made.best.params)[0] > 0.82  # a random one has 0.76, the best 0.91


@pytest.mark.parametrize("seed", range(3))
def test_noise_and_nothing_else_is_given_up(seed: int) -> None:
    rng = np.random.default_rng(seed)
    trained, stop = play(tuner(seed=seed), lambda params: (0.5 + 0.02 * float(rng.standard_normal()), 1.0))
    assert stop.reason == "not worth it"
    assert len(trained) <= 40


@pytest.mark.parametrize("seed", range(3))
def test_a_region_that_fails_is_left_and_the_best_beside_it_found(seed: int) -> None:
    """Large rates diverge, right beside the best ones."""
    made = tuner(seed=seed, price=0.0005)
    failed = 0
    while isinstance(decision := made.ask(), Train):
        assert len(made.history) < 50
        if decision.params["rate"] > 0.05:
            made.tell(decision, error="diverged", cost=0.5)
            failed += 1
        else:
            made.tell(decision, *train(decision.params))
    assert made.best is not None
    assert train(made.best.params)[0] > 0.83
    assert failed <= 0.75 * len(made.history) <= 20  # they are cheap, and the best is right beside them


@pytest.mark.parametrize("first", [0.02, 0.3, 0.6])
def test_one_poor_run_is_no_reason_to_stop_where_runs_are_cheap(first: float) -> None:
    made = tuner(price=1e-4)
    decision = made.ask()
    assert isinstance(decision, Train)
    made.tell(decision, first, 1.0)
    for _ in range(2):
        decision = made.ask()
        assert isinstance(decision, Train)
        made.tell(decision, *train(decision.params))


def test_a_plateau_at_the_bottom_is_left_where_runs_are_cheap() -> None:
    """Guessing has 0.5; something is learned in an eighth of the space only."""

    def learns(params: Mapping[str, Any]) -> tuple[float, float]:
        score, cost = train(params)
        able = params["rate"] > 0.05 and params["drop"] < 0.5
        return (score if able else 0.5), cost

    made = tuner(price=1e-5)
    play(made, learns)
    assert made.best is not None
    assert learns(made.best.params)[0] > 0.75
