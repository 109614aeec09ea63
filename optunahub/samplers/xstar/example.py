"""Minimize the Branin function, measured with noise, in a few trials."""

from __future__ import annotations

import math
import os
import random

import optuna
import optunahub


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", -5.0, 10.0)
    y = trial.suggest_float("y", 0.0, 15.0)
    value = (y - 0.129 * x**2 + 1.592 * x - 6.0) ** 2 + 9.6 * math.cos(x) + 10.0
    return value + random.gauss(0.0, 0.3)


if __name__ == "__main__":
    random.seed(0)
    module = optunahub.load_module(package="samplers/xstar")
    study = optuna.create_study(sampler=module.XstarSampler(seed=0))
    study.optimize(objective, n_trials=int(os.environ.get("N_TRIALS", "25")))
    print(study.best_trial.params, study.best_trial.value)
