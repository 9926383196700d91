"""Every policy that a tuner can follow can be certified, in the user's units, under both costs and both rewards."""

import numpy as np
import pytest
from tests.value.map_cases import random_map

from autobct import Affine, Float, Tuner, ei_per_cost, exact, gittins, paper_prior, relaxed
from autobct.tuning.decide.policy import mapped
from autobct.tuning.units.scale import AffineLog

POLICIES = {
    "relaxed-1": relaxed(1),
    "relaxed-2": relaxed(2),
    "exact-2": exact(2),
    "gittins": gittins(),
    "ei-per-cost": ei_per_cost(),
}
COSTS = {
    "linear": {"prior": paper_prior("synthetic"), "price": 0.08, "score_range": (0.5, 1.0), "cost_range": Affine(0, 1)},
    "log-linear": {"prior": "paper", "price": 0.01, "score_range": (50.0, 100.0), "cost_range": (0.1, 1.0)},
}


def tuner(policy, cost: str, recall: bool, **more) -> Tuner:
    told = {**COSTS[cost], **more}
    return Tuner({"u": Float(0, 1)}, policy=policy, recall=recall, candidates=7, **told)


@pytest.mark.parametrize("recall", [True, False], ids=["recall", "last"])
@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("policy", POLICIES)
def test_the_interval_is_in_the_users_units_and_in_order(policy, cost, recall) -> None:
    found = tuner(POLICIES[policy], cost, recall).certificate(seconds=0.2, seed=1)
    low, high = COSTS[cost]["score_range"]
    assert found.at_least <= found.at_most
    assert low - (high - low) < found.lower.mean < found.upper.mean + 4 * found.upper.error
    assert found.upper.mean < high + (high - low)
    assert found.candidates == 7


@pytest.mark.slow
def test_a_map_of_the_callers() -> None:
    policy = mapped(random_map((1, "linear", True)))
    found = tuner(policy, "linear", True).certificate(seconds=0.2)
    assert found.at_least <= found.at_most
    assert "value map supplied by the caller" in str(found)


@pytest.mark.slow
def test_units_scale_the_interval() -> None:
    small, large = (
        Tuner(
            {"u": Float(0, 1)}, price=0.08 * unit, prior=paper_prior("synthetic"), score_range=(0.0, 0.5 * unit),
            cost_range=Affine(0, 1), candidates=5, policy=relaxed(1),
        ).certificate(seconds=0.1, seed=2)
        for unit in (1.0, 100.0)
    )  # fmt: skip
    assert large.upper.mean == pytest.approx(100 * small.upper.mean, rel=0.05)


@pytest.mark.slow
def test_a_score_that_is_minimized_is_the_mirror_image() -> None:
    told = {"price": 0.01, "score_range": (0.0, 1.0), "cost_range": (0.1, 1.0), "candidates": 5, "policy": relaxed(1)}
    told["prior"] = "paper"
    up, down = (
        Tuner({"u": Float(0, 1)}, direction=direction, **told).certificate(seconds=0.1, seed=2)
        for direction in ("maximize", "minimize")
    )
    assert down.at_most <= down.upper.mean < down.lower.mean <= down.at_least
    assert 1 - down.upper.mean == pytest.approx(up.upper.mean, abs=0.02)
    assert 0 < down.ratio <= 1
    assert "no policy comes below" in str(down)


@pytest.mark.slow
def test_a_log_scale_of_scores() -> None:
    found = tuner(relaxed(1), "linear", True, score_range=AffineLog(0.1, 1.0)).certificate(seconds=0.1)
    assert 0 < found.at_least <= found.at_most


@pytest.mark.slow
def test_max_runs_are_kept() -> None:
    """A policy that may train once is worth V_1, whatever it would like."""
    one = tuner(relaxed(2), "linear", True, max_runs=1).certificate(seconds=0.3)
    free = tuner(relaxed(2), "linear", True).certificate(seconds=0.3)
    assert one.lower.mean < free.lower.mean + 2 * free.lower.error
    assert one.capped == 0.0


@pytest.mark.slow
def test_progress_is_told() -> None:
    shares = []
    tuner(relaxed(1), "linear", True).certificate(seconds=0.2, progress=lambda share, text: shares.append(share))
    assert len(shares) > 3
    assert np.all(np.diff(shares) >= 0)
