"""The formulas that serve NumPy and torch are the same in both, for one and for a batch; torch is never imported."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from autobct.belief.arrays import Array
from autobct.belief.normal import (
    at_least,
    expected_maximum,
    improvement,
    left_loss,
    loss,
    namespace,
    observed_sd,
    posterior,
    remaining_variance,
)

RNG = np.random.default_rng(5)
ROOTS = RNG.standard_normal((6, 4, 4))
MEANS, COVS, FEATURES = RNG.standard_normal((6, 4)), ROOTS @ np.swapaxes(ROOTS, -1, -2), RNG.standard_normal((6, 4))
NOISE, SEEN = RNG.random(6), RNG.standard_normal(6)


def test_torch_is_not_imported_for_arrays() -> None:
    code = "import sys, autobct.belief.normal as n, numpy as np; n.loss(np.ones(2)); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_one_belief_is_a_batch_of_one() -> None:
    mean, cov = posterior(MEANS, COVS, FEATURES, NOISE, SEEN)
    for k in range(6):
        one = posterior(MEANS[k], COVS[k], FEATURES[k], float(NOISE[k]), float(SEEN[k]))
        np.testing.assert_allclose(mean[k], one[0], rtol=1e-12)
        np.testing.assert_allclose(cov[k], one[1], rtol=0, atol=1e-12)


def test_the_posterior_is_bayes_rule() -> None:
    """By the information form: precisions add."""
    mean, cov = posterior(MEANS[0], COVS[0], FEATURES[0], 0.5, 2.0)
    precision = np.linalg.inv(COVS[0]) + np.outer(FEATURES[0], FEATURES[0]) / 0.25
    np.testing.assert_allclose(cov, np.linalg.inv(precision), rtol=1e-6)
    pulled = np.linalg.solve(precision, np.linalg.solve(COVS[0], MEANS[0]) + FEATURES[0] * 2.0 / 0.25)
    np.testing.assert_allclose(mean, pulled, rtol=1e-6)


@pytest.mark.heavy
class TestTensors:
    """Everything again with tensors."""

    @pytest.fixture
    def torch(self):
        return pytest.importorskip("torch")

    def test_the_namespace_is_that_of_the_values(self, torch) -> None:
        assert namespace(MEANS) is np
        assert namespace(1.0) is np
        assert namespace(torch.ones(2)) is torch
        assert namespace(torch.nn.Parameter(torch.ones(2))) is torch
        assert at_least(torch.tensor([-1.0, 2.0]), 0.0).tolist() == [0.0, 2.0]

    def test_the_posterior(self, torch) -> None:
        given = MEANS, COVS, FEATURES, NOISE, SEEN
        for found, expected in zip(posterior(*map(torch.as_tensor, given)), posterior(*given), strict=True):
            np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-13)
        var = np.diagonal(COVS, axis1=1, axis2=2).copy()
        for function in (observed_sd, remaining_variance):
            found = function(torch.as_tensor(var), torch.as_tensor(NOISE[:, None]))
            np.testing.assert_allclose(found.numpy(), function(var, NOISE[:, None]), rtol=1e-14)

    @pytest.mark.parametrize("function", [left_loss, loss])
    def test_the_loss(self, torch, function) -> None:
        x = -np.linspace(0.0, 6.0, 40)
        np.testing.assert_allclose(function(torch.as_tensor(x)).numpy(), function(x), rtol=1e-9, atol=1e-16)

    def test_the_improvement(self, torch) -> None:
        ahead, reach = RNG.standard_normal((2, 50)).astype(np.float32)
        reach = np.abs(reach) * (reach > 0)
        found = improvement(torch.as_tensor(ahead), torch.as_tensor(reach)).numpy()
        np.testing.assert_allclose(found, improvement(ahead, reach), rtol=1e-5, atol=1e-6)

    @pytest.mark.parametrize(("kind", "off"), [(np.float64, 1e-12), (np.float32, 2e-5)])
    def test_the_expected_maximum(self, torch, kind: type, off: float) -> None:
        """Many intercepts for one set of slopes, lines that are out, parallel ones, a line alone."""
        intercepts, slopes = RNG.standard_normal((7, 3, 5)).astype(kind), RNG.standard_normal((3, 5)).astype(kind)
        intercepts[0, :, 1] = -np.inf
        slopes[1, 2] = slopes[1, 3]
        found = self._maximum(torch, intercepts, slopes)
        np.testing.assert_allclose(found, expected_maximum(*map(_double, (intercepts, slopes))), rtol=0, atol=off)
        alone = self._maximum(torch, intercepts[..., :1], slopes[..., :1])
        np.testing.assert_allclose(alone, intercepts[..., 0], rtol=1e-6)
        assert np.all(self._maximum(torch, np.full((2, 3), -np.inf, kind), np.ones((2, 3), kind)) == -np.inf)

    def _maximum(self, torch, intercepts: Array, slopes: Array) -> Array:
        return expected_maximum(torch.as_tensor(intercepts), torch.as_tensor(slopes)).numpy()


def _double(values: Array) -> Array:
    return values.astype(np.float64)
