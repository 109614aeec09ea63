"""Every numerical test runs on every backend: those on torch are extras (`make test-extras`)."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from tests.browser import open_browser
from xstar.numerics.arrays import to_numpy

settings.register_profile(
    "xstar", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("xstar")

BACKENDS = ["numpy", "array_api_strict", pytest.param("torch", marks=pytest.mark.extras)]


def pytest_report_header(config):
    installed = [name for name in ("numpy", "array_api_strict", "torch") if importlib.util.find_spec(name)]
    return f"array backends: {', '.join(installed)}"


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
    module = importlib.import_module(request.param)
    return Backend(request.param, array_api_compat.array_namespace(module.asarray([0.0])))


@pytest.fixture
def rng():
    return np.random.default_rng(20261116)


@pytest.fixture
def browser(tmp_path):
    with open_browser(tmp_path) as window:
        yield window


@pytest.fixture(scope="session", autouse=True)
def _read_revisions_once():
    """Optuna reads the history of its schema, a dozen files, whenever a database is opened: once is enough here."""
    from alembic.script import base

    load, known = base.util.load_python_file, {}

    def load_once(folder, name):
        if name == "env.py":
            return load(folder, name)
        if (folder, name) not in known:
            known[folder, name] = load(folder, name)
        return known[folder, name]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base.util, "load_python_file", load_once)
        yield
