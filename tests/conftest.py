"""Every numerical test runs on every backend that is installed."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from xstar.numerics.arrays import to_numpy

settings.register_profile(
    "xstar", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("xstar")

BACKENDS = ["numpy", "array_api_strict"] + (["torch"] if importlib.util.find_spec("torch") else [])


def pytest_report_header(config):
    return f"array backends: {', '.join(BACKENDS)}"


@dataclass(frozen=True)
class Backend:
    """An array library, with the way in and the way out."""

    name: str
    xp: Any

    def array(self, values):
        return self.xp.asarray(np.array(values, dtype=np.float64))

    def numpy(self, x):
        assert array_api_compat.array_namespace(x) == self.xp, "the result left the namespace of its input"
        return to_numpy(x)


@pytest.fixture(params=BACKENDS)
def backend(request):
    module = pytest.importorskip(request.param)
    return Backend(request.param, array_api_compat.array_namespace(module.asarray([0.0])))


@pytest.fixture
def rng():
    return np.random.default_rng(20261116)
