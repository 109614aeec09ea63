"""Optuna's own conformance suite for samplers: quickly, and with the default method in the slow tests."""

import optuna
import pytest
from optuna.testing.pytest_samplers import BasicSamplerTestCase, MultiObjectiveSamplerTestCase, RelativeSamplerTestCase

from xstar import Method
from xstar.acquisition import LogEI
from xstar.gp import MAP, Matern52
from xstar.integrations.optuna import XstarSampler


class TestXstarSampler(BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase):
    @pytest.fixture
    def sampler(self):
        return lambda: XstarSampler(seed=0, n_startup_trials=0, method=Method(Matern52(), MAP(), acquisition=LogEI()))


@pytest.mark.slow
class TestDefaultMethod(BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase):
    @pytest.fixture
    def sampler(self):
        return lambda: XstarSampler(seed=0, n_startup_trials=0)


@pytest.fixture(autouse=True)
def quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(optuna.logging.INFO)
