"""Model: one run seen, noise as a number or as a function of the control."""

import numpy as np
import pytest

from autobct.belief.basis import Model, additive_quartic, cubic, noise_at
from autobct.belief.cost import LINEAR, LOG_LINEAR
from autobct.belief.normal import update
from autobct.belief.prior import PAPER_PRIORS, default_prior

CONTROL = np.array([0.3])


def test_observe_updates_score_and_cost_each_with_its_own() -> None:
    prior = PAPER_PRIORS["synthetic"]
    after = prior.model.observe(prior.belief, CONTROL, score=0.7, cost=1.3)
    features = cubic()(CONTROL)
    np.testing.assert_array_equal(after.score.mean, update(prior.belief.score, features, 0.05, 0.7).mean)
    np.testing.assert_array_equal(after.cost.mean, update(prior.belief.cost, features, 0.1, 1.3).mean)
    np.testing.assert_array_equal(after.cost.cov, update(prior.belief.cost, features, 0.1, 1.3).cov)


def test_log_linear_cost_is_seen_as_its_logarithm() -> None:
    prior = default_prior(cubic())
    after = prior.model.observe(prior.belief, CONTROL, score=0.7, cost=2.5)
    expected = update(prior.belief.cost, cubic()(CONTROL), 0.1, np.log(2.5))
    np.testing.assert_allclose(after.cost.mean, expected.mean, rtol=1e-14)


def test_a_failed_run_teaches_its_cost_only() -> None:
    prior = PAPER_PRIORS["cnn-2d"]
    control = np.array([0.3, 0.9])
    after = prior.model.observe(prior.belief, control, score=None, cost=1.3)
    assert after.score is prior.belief.score
    full = prior.model.observe(prior.belief, control, score=0.1, cost=1.3)
    np.testing.assert_array_equal(after.cost.mean, full.cost.mean)
    assert not np.array_equal(after.cost.mean, prior.belief.cost.mean)


def test_noise_as_a_function_of_the_control() -> None:
    basis, prior = cubic(), PAPER_PRIORS["synthetic"]
    model = Model(basis, basis, lambda u: 0.1 + u[..., 0], lambda u: np.exp(-u[..., 0]), LINEAR)
    after = model.observe(prior.belief, CONTROL, score=0.7, cost=1.3)
    np.testing.assert_allclose(after.score.mean, update(prior.belief.score, basis(CONTROL), 0.4, 0.7).mean, rtol=1e-14)
    expected = update(prior.belief.cost, basis(CONTROL), np.exp(-0.3), 1.3)
    np.testing.assert_allclose(after.cost.cov, expected.cov, rtol=1e-14)
    np.testing.assert_allclose(noise_at(model.score_noise, np.array([[0.0], [0.5]])), [0.1, 0.6])


def test_constant_noise_has_one_value_per_control() -> None:
    np.testing.assert_array_equal(noise_at(0.2, np.zeros((3, 4, 2))), np.full((3, 4), 0.2))


@pytest.mark.parametrize("noise", [0.0, -0.1, np.nan, np.inf, lambda u: u[..., 0] - 0.5])
def test_noise_must_be_positive_and_finite(noise) -> None:
    with pytest.raises(ValueError, match=r"score_noise must be positive and finite .* e\.g\. 0\.05"):
        noise_at(noise, np.linspace(0, 1, 5)[:, None], "score_noise")


def test_noise_must_have_one_value_per_control() -> None:
    with pytest.raises(ValueError, match="cost_noise must return one value per control"):
        noise_at(lambda u: 0.1 + u, np.linspace(0, 1, 5)[:, None], "cost_noise")


def test_observe_names_the_noise_at_fault() -> None:
    prior = PAPER_PRIORS["fraud-2d"]
    basis = additive_quartic()
    for names in ("score_noise", "cost_noise"):
        noises = {"score_noise": 0.1, "cost_noise": 0.1, names: -1.0}
        with pytest.raises(ValueError, match=f"{names} must be positive"):
            Model(basis, basis, **noises).observe(prior.belief, np.array([0.1, 0.2]), score=0.1, cost=1.0)


def test_the_default_cost_model_is_the_papers() -> None:
    assert Model(cubic(), cubic(), 0.1, 0.1).cost_model is LINEAR
    assert default_prior(cubic()).model.cost_model is LOG_LINEAR
