"""How many suggestions land where evaluations fail, on functions of one variable that fail in 65 % of the box.

    python -m benchmarks.failures [--seeds 5]

Five points to start with, then 20 suggestions; printed: how many of the 20 fail, for the default method, for random
points, and for Optuna's GPSampler if it is installed (with torch). Results go to benchmarks/results/failures.json.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import xstar
from benchmarks.measure import save

START, MORE = 5, 20

FUNCTIONS: dict[str, tuple[Callable[[float], float], Callable[[float], bool]]] = {
    "fails on the right, rises to the border": (lambda x: x, lambda x: x > 0.35),
    "fails on the left, peak inside": (lambda x: -((x - 0.85) ** 2), lambda x: x < 0.65),
    "fails in the middle, two sides": (lambda x: math.cos(7.0 * x), lambda x: 0.2 < x < 0.85),
    "succeeds in the middle, best at the border": (lambda x: -x, lambda x: not 0.3 < x < 0.65),
}


def ours(function: str, method: str, seed: int) -> int:
    """Failures among the suggestions after the start."""
    value, fails = FUNCTIONS[function]
    opt = xstar.Optimizer([(0.0, 1.0)], method=method, seed=seed, num_initial=START)
    noise = np.random.default_rng(seed)
    count = 0
    for number in range(START + MORE):
        trial = opt.ask()
        x = float(trial.x[0])
        if fails(x):
            opt.fail(trial, "crashed")
            count += number >= START
        else:
            opt.tell(trial, value(x) + 0.01 * float(noise.standard_normal()))
    return count


def gp_sampler(function: str, seed: int) -> int:
    """The same for Optuna's GPSampler, which forgets failed trials."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    value, fails = FUNCTIONS[function]
    noise = np.random.default_rng(seed)
    study = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.GPSampler(seed=seed, n_startup_trials=START)
    )
    count = 0
    for number in range(START + MORE):
        trial = study.ask()
        x = trial.suggest_float("x", 0.0, 1.0)
        if fails(x):
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
            count += number >= START
        else:
            study.tell(trial, value(x) + 0.01 * float(noise.standard_normal()))
    return count


def main() -> None:
    """Print the counts of every function."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore", xstar.DegradedWarning)
    rivals: dict[str, Callable[[str, int], int]] = {
        "pes": lambda function, seed: ours(function, "pes", seed),
        "random": lambda function, seed: ours(function, "random", seed),
    }
    if importlib.util.find_spec("optuna") and importlib.util.find_spec("torch"):
        rivals["GPSampler"] = gp_sampler
    rows: list[dict[str, Any]] = []
    print(f"failures among {MORE} suggestions, one number for each seed")
    for function in FUNCTIONS:
        for name, count in rivals.items():
            counts = [count(function, seed) for seed in range(options.seeds)]
            rows.append({"function": function, "method": name, "failures": counts})
            print(f"{function:45s}{name:10s}{' '.join(map(str, counts))}", flush=True)
    print(f"written: {save('failures', rows, **vars(options))}")


if __name__ == "__main__":
    main()
