"""A model that was measured better is returned, unless noise explains it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from tests.tuning.cases import ask_train, play

from autobct import Categorical, Float, Run, Tuner, paper_prior, relaxed, tune
from autobct.tuning.model.posterior import learned

SPACE = {name: Float(0, 1) for name in "abcd"}


def rugged(params: Mapping[str, Any], seed: int) -> float:
    """A hill with ripples that no smooth surface has: the same params always score the same."""
    x = np.array([params[name] for name in SPACE])
    best = np.random.default_rng(seed).random(4)
    ripples = 0.02 * np.sin(17 * x @ [1, 2, 3, 4] + seed)
    return float(0.9 - 0.2 * np.square(x - best) @ [1, 0.5, 0.3, 0.1] + ripples)


def tuned(seed: int, noise: float = 0.0, **told: Any) -> Tuner:
    tuner, rng = Tuner(SPACE, price=0.0002, max_runs=40, **told), np.random.default_rng(seed)
    play(tuner, lambda params: (rugged(params, seed) + noise * rng.standard_normal(), 1.0))
    return tuner


@pytest.mark.parametrize("seed", [6, 9, 11])
@pytest.mark.parametrize("told", [{}, {"score_noise": 0}, {"score_noise": "exact"}], ids=str)
def test_the_best_measured_model_is_returned_where_scores_are_exact(seed: int, told: dict[str, Any]) -> None:
    tuner = tuned(seed, **told)
    assert tuner.best is not None
    assert tuner.best.score == max(run.score for run in tuner.history if run.score is not None)


def test_where_scores_are_said_to_be_exact_they_are_believed() -> None:
    tuner = tuned(3, score_noise="exact")
    for run in tuner.history:
        assert run.score is not None
        assert tuner.estimated_score(run.control) == pytest.approx(run.score, abs=1e-9)


def test_a_measured_score_and_the_posterior_there_differ_by_no_more_than_noise_explains() -> None:
    tuner = tuned(3)
    assert tuner.known.evidence is not None
    noise = tuner.known.evidence.misfit.noise
    scores = [run.score for run in tuner.history if run.score is not None]
    for run in tuner.history:
        assert run.score is not None
        if run.score >= np.median(scores):  # the lower half is drawn together
            assert abs(tuner.estimated_score(run.control) - run.score) < 2 * noise


def test_where_scores_are_said_to_be_noise_they_are_averaged() -> None:
    tuner = tuned(3, noise=0.05, score_noise=0.05)
    controls = [run.control.tobytes() for run in tuner.history]
    for run in (run for run in tuner.history if controls.count(run.control.tobytes()) == 1):
        features = tuner.problem.prior.model.score_basis(run.control)
        learned = np.asarray(features @ tuner.belief.score.mean)
        surface = float(tuner.problem.score_scale.to_raw(float(tuner.known.compression.undone(learned))))
        assert run.score is not None
        assert abs(tuner.estimated_score(run.control) - surface) <= 0.5 * abs(run.score - surface) + 1e-12


def test_noise_is_learned_from_params_that_were_trained_again() -> None:
    problem, shares = Tuner(SPACE, price=0.01).problem, {}
    for noise in (0.0, 0.05):
        rng, history = np.random.default_rng(0), []
        for trial in range(16):
            control = problem.controls[10 * (trial % 4)]
            params = problem.space.params(control)
            score = rugged(params, 0) + noise * rng.standard_normal()
            history.append(Run(trial, params, control, score, 1.0, None, np.nan))
        evidence = learned(problem, history).evidence
        assert evidence is not None
        shares[noise] = evidence.misfit.share
    assert shares[0.0] < 0.01 < 0.3 < shares[0.05]


def test_what_a_run_gains_is_added_to_the_score_of_the_model_that_would_be_returned() -> None:
    tuner = Tuner(SPACE, price=1e-4, policy=relaxed(depth=1))
    for trial in range(6):
        decision = ask_train(tuner)
        if trial:
            assert decision.stop_value == tuner.estimated_score(best_of(tuner).control)
            net = decision.stop_value + decision.expected_gain - decision.price_of_run
            assert decision.value == pytest.approx(net, abs=1e-9)
        tuner.tell(decision, rugged(decision.params, 1), 1.0)


def best_of(tuner: Tuner) -> Run:
    assert tuner.best is not None
    return tuner.best


@pytest.mark.parametrize(
    ("told", "says"),
    [
        (-1, "score_noise must be at least 0"),
        ("none", "score_noise must be a number or 'exact', got 'none'; write score_noise='exact'"),
        (float("nan"), "score_noise must be finite"),
        (True, "score_noise must be a number"),
    ],
)
def test_a_wrong_score_noise_is_refused(told: Any, says: str) -> None:
    with pytest.raises((TypeError, ValueError), match=says):
        Tuner(SPACE, price=0.01, score_noise=told)


def test_a_prior_states_its_own_noise() -> None:
    with pytest.raises(ValueError, match="score_noise is for the default surrogate"):
        Tuner({"x": Float(0, 1)}, price=0.01, prior=paper_prior("synthetic"), score_noise=0.1)


def test_tune_takes_a_score_noise() -> None:
    space = {"x": Float(0, 1), "kind": Categorical(["a", "b"])}
    found = tune(lambda params: (params["x"], 1.0), space, price=0.05, score_noise="exact")
    assert found.settings["score_noise"] == 0.0
    assert found.expected_score == pytest.approx(found.score)
