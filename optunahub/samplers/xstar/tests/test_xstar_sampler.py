from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import optuna
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import BasicSamplerTestCase
from optuna.testing.pytest_samplers import MultiObjectiveSamplerTestCase
from optuna.testing.pytest_samplers import RelativeSamplerTestCase
import optunahub
import pytest


optuna.logging.set_verbosity(optuna.logging.ERROR)

XstarSampler = optunahub.load_local_module(
    package="samplers/xstar", registry_root=str(Path(__file__).parents[3])
).XstarSampler


class TestXstarSampler(
    BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase
):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: XstarSampler(seed=0, n_startup_trials=0)


def test_the_same_seed_suggests_the_same() -> None:
    def objective(trial: optuna.Trial) -> float:
        return (trial.suggest_float("x", 0.0, 1.0) - 0.3) ** 2 + trial.suggest_int("k", 0, 3)

    def params(seed: int) -> list[dict[str, float]]:
        study = optuna.create_study(sampler=XstarSampler(seed=seed))
        study.optimize(objective, n_trials=5)
        return [trial.params for trial in study.trials]

    assert params(0) == params(0) != params(1)
