"""The belief is a pure function of problem and history, however it is computed."""

from typing import Any

import numpy as np
import pytest
from tests.tuning.cases import LINE, SQUARE, at, hill, play

from autobct import Tuner, relaxed
from autobct.belief.gaussian import Belief, Gaussian
from autobct.tuning.model.posterior import beliefs, learned
from autobct.tuning.problem import problem_of


def bumpy(params: Any) -> tuple[float, float]:
    """Scores that leave (0, 1) now and then."""
    return 3 * hill(params)[0] - 1.5, hill(params)[1]


CASES: dict[str, dict[str, Any]] = {
    "in range": {"score_range": (-2, 2), "cost_range": (0.1, 2)},
    "no range": {},
    "left": {"score_range": (0.5, 0.7), "cost_range": (0.5, 0.6)},
    "minimised": {"direction": "minimize"},
}


def same(one: Belief, two: Belief) -> None:
    for ours, theirs in ((one.score, two.score), (one.cost, two.cost)):
        np.testing.assert_array_equal(ours.mean, theirs.mean)
        np.testing.assert_array_equal(ours.cov, theirs.cov)


@pytest.mark.parametrize("told", CASES.values(), ids=list(CASES))
def test_a_tuners_belief_is_the_fold_of_its_history(told: dict[str, Any]) -> None:
    tuner = Tuner(LINE, price=0.003, max_runs=6, **told)
    play(tuner, bumpy)
    assert len(tuner.history) > 1
    for problem in (problem_of(LINE, 0.003, **told), tuner.problem):  # as stated, or as shown: idempotent
        found = learned(problem, tuner.history)
        same(found.belief, tuner.belief)
        assert found.problem.ranges == tuner.problem.ranges
        past = beliefs(problem, tuner.history)
        assert len(past) == len(tuner.history) + 1
        same(past[-1].belief, tuner.belief)
        same(past[0].belief, found.problem.prior.belief)
        assert all(step.problem is past[0].problem for step in past)


def test_it_is_the_posterior_of_all_runs_at_once() -> None:
    """Against the normal equations, on the scale of the whole history."""
    tuner = Tuner(SQUARE, price=0.003, score_range=(0.5, 0.7), max_runs=6, policy=relaxed(depth=2), prior="paper")
    play(tuner, bumpy)
    problem, history = tuner.problem, tuner.history
    prior, features = (
        problem.prior.belief.score,
        problem.prior.model.score_basis(np.stack([r.control for r in history])),
    )
    seen = problem.score_scale.to_model(np.array([run.score for run in history], dtype=float))
    precision = np.linalg.inv(prior.cov) + features.T @ features / 0.02**2
    cov = np.linalg.inv(precision)
    mean = cov @ (np.linalg.solve(prior.cov, prior.mean) + features.T @ seen / 0.02**2)
    close(tuner.belief.score, Gaussian(mean, cov))


def close(one: Gaussian, two: Gaussian) -> None:
    np.testing.assert_allclose(one.mean, two.mean, atol=1e-7)
    np.testing.assert_allclose(one.cov, two.cov, atol=1e-9)


def test_failures_are_folded_as_they_were_told() -> None:
    tuner = Tuner(LINE, price=0.003, policy=at(0.2, 0.4, 0.6, 0.8), prior="paper", candidates=11)
    for score in (None, 0.6, -1e9, 0.7):
        decision: Any = tuner.ask()
        tuner.tell(decision, score, 1.0, error="failed" if score is None else None)
    same(learned(problem_of(LINE, 0.003, candidates=11, prior="paper"), tuner.history).belief, tuner.belief)
