"""The suites that Optuna itself gives to whoever writes a sampler."""

from __future__ import annotations

from collections.abc import Callable

import optuna
import pytest
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase

from autobct.integrations.optuna import AutoBCTSampler

pytestmark = pytest.mark.filterwarnings("ignore:No parameter has the same range", "ignore:.*outside the search space")


class TestAutoBCTSampler(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    """The suites count trials, so nothing may stop early: stop=False."""

    @pytest.fixture(autouse=True)
    def quiet(self) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: AutoBCTSampler(price="0.01 per 1s", seed=0, stop=False)
