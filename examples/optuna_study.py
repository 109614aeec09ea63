"""A study in Optuna, in a SQLite file, stopped and continued; at the end, what xstar knows about the optimum.

The objective has no noise, so the best trial is the answer; the last one evaluates what is recommended.

python -m examples.optuna_study
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import optuna

from xstar.integrations.optuna import XstarSampler, load_optimizer


def objective(trial: optuna.Trial) -> float:
    """A loss with its minimum at lr = 0.01 and 3 layers; the largest rates diverge."""
    lr = trial.suggest_float("lr", 1e-5, 1e-1, log=True)
    layers = trial.suggest_int("layers", 1, 6)
    if lr > 0.08:
        raise ArithmeticError("diverged")  # the sampler learns to stay away
    return 0.3 * (math.log10(lr) + 2.0) ** 2 + 0.1 * (layers - 3) ** 2


def main() -> None:
    """Eight trials, a restart, eight more."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        storage = f"sqlite:///{Path(folder) / 'study.db'}"
        for _ in range(2):
            study = optuna.create_study(
                study_name="example", storage=storage, load_if_exists=True, sampler=XstarSampler(seed=0, n_trials=16)
            )
            study.optimize(objective, n_trials=8, catch=ArithmeticError)
            print(f"{len(study.trials)} trials, best {study.best_value:.4f} at {study.best_params}")
        print(load_optimizer(study).where())


if __name__ == "__main__":
    main()
