"""Expected cost against numerical integration, far into both tails."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from autobct.belief.cost import COST_MODELS, LINEAR, LOG_LINEAR
from autobct.belief.normal import left_loss, lognormal_mean, upsilon


def loss_by_quadrature(x: float) -> float:
    """int_0^inf t phi(t - x) dt; the factor phi(x) is taken out for x < 0, so that nothing underflows."""
    if x > 0:
        inside, _ = quad(
            lambda t: t * np.exp(-0.5 * (t - x) ** 2), max(0.0, x - 12), x + 12, points=[x], epsabs=0, epsrel=1e-13
        )
        return inside / np.sqrt(2 * np.pi)
    width = 1 + abs(x)
    inside, _ = quad(
        lambda r: r * np.exp(-0.5 * (r / width) ** 2 + x / width * r), 0, 60, epsabs=0, epsrel=1e-13, limit=200
    )
    return inside / width**2 * np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)


@pytest.mark.parametrize("x", [*np.linspace(-37, -0.5, 20), -1e-3, 0.0, 1e-3, *np.linspace(0.5, 40, 15)])
@pytest.mark.parametrize("sd", [1.0, 1e-3, 37.5])
def test_upsilon_is_the_integral(x: float, sd: float) -> None:
    mean = x * sd
    assert upsilon(mean, sd) == pytest.approx(sd * loss_by_quadrature(mean / sd), rel=1e-12, abs=0)


def test_upsilon_is_the_papers_formula() -> None:
    """s phi(m/s) + m Phi(m/s) below eq. (reform), where that does not cancel."""
    from scipy.stats import norm

    m, s = np.linspace(-2, 6, 33), 1.7
    np.testing.assert_allclose(upsilon(m, s), s * norm.pdf(m / s) + m * norm.cdf(m / s), rtol=1e-13)


@pytest.mark.parametrize("x", [-40.0, -200.0, -1e3, -1e30, -1e200, -np.inf])
def test_the_far_left_tail_is_silent_and_never_negative(x: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = float(left_loss(np.array(x)))
        priced = float(upsilon(np.maximum(x, -1e308), 1.0))
    assert 0 <= found <= 1e-300
    assert 0 <= priced <= 1e-300


@pytest.mark.parametrize("x", [40.0, 1e3, 1e30, 1e200])
def test_the_far_right_tail_is_the_mean(x: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert upsilon(x, 1.0) == x
        assert upsilon(x, 1e-200) == x


def test_a_known_cost_is_its_positive_part() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(upsilon(np.array([-2.0, 0.0, 3.0]), 0.0), [0, 0, 3])
        np.testing.assert_array_equal(upsilon(np.array([1.0, 1.0]), np.array([0.0, 0.0])), 1)


@given(st.floats(-30, 30), st.floats(1e-3, 10), st.floats(0, 5))
def test_upsilon_laws(mean: float, sd: float, more: float) -> None:
    found = float(upsilon(mean, sd))
    assert found >= max(mean, 0.0)  # Jensen
    assert float(upsilon(mean + more, sd)) >= found
    assert float(upsilon(mean, sd + more)) >= found * (1 - 1e-12)
    assert found - float(upsilon(-mean, sd)) == pytest.approx(mean, abs=1e-12 * (1 + abs(mean)))  # Y = Y+ - (-Y)+
    assert float(upsilon(3 * mean, 3 * sd)) == pytest.approx(3 * found, rel=1e-9)


def test_upsilon_broadcasts() -> None:
    found = upsilon(np.array([[0.0], [1.0]]), np.array([1.0, 2.0, 0.0]))
    assert found.shape == (2, 3)
    assert found[1, 1] == upsilon(1.0, 2.0)


@pytest.mark.parametrize(("mean", "sd"), [(-1.0, 0.3), (0.0, 1.0), (2.0, 0.0), (-5.0, 2.0)])
def test_lognormal_mean_is_the_integral(mean: float, sd: float) -> None:
    expected, _ = quad(
        lambda z: np.exp(mean + sd * z - 0.5 * z * z) / np.sqrt(2 * np.pi), -12, 12 + sd, epsabs=0, epsrel=1e-13
    )
    assert lognormal_mean(mean, sd) == pytest.approx(expected, rel=1e-12)


def test_lognormal_mean_does_not_overflow() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(lognormal_mean(1e5, 1e3))


def test_the_cost_models() -> None:
    assert COST_MODELS == {"linear": LINEAR, "log-linear": LOG_LINEAR}
    costs = np.array([0.2, 1.0, 7.0])
    for model in COST_MODELS.values():
        np.testing.assert_allclose(model.from_observation(model.to_observation(costs)), costs, rtol=1e-15)
        np.testing.assert_allclose(model.charged(model.to_observation(costs)), costs, rtol=1e-15)
        assert np.all(model.charged(np.linspace(-5, 5, 11)) >= 0)
    np.testing.assert_array_equal(LINEAR.charged(np.array([-2.0, 0.5])), [0, 0.5])
    np.testing.assert_allclose(LOG_LINEAR.to_observation(costs), np.log(costs))


@pytest.mark.parametrize("model", COST_MODELS.values(), ids=COST_MODELS)
def test_expected_is_the_mean_of_what_is_charged(model) -> None:
    rng = np.random.default_rng(2)
    charged = model.charged(0.3 + 0.8 * rng.standard_normal(200_000))
    error = charged.std() / np.sqrt(charged.size)
    assert abs(charged.mean() - float(model.expected(np.array(0.3), np.array(0.8)))) < 5 * error
