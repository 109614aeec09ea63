"""How many suggestions land where evaluations fail, on functions of one variable that fail in 65 % of the box.

    python -m benchmarks.failures [--seeds 5]

Five points to start with, then 20 suggestions; printed: how many of the 20 fail, for the default method, for random
points, and for Optuna's GPSampler if it is installed (with torch). Results go to benchmarks/results/failures.json.

What failures cost is printed after that: CPU seconds of a suggestion, and of `where`, after 40 values with and without
failures, median of as many data sets as there are seeds; results go to benchmarks/results/failures_cost.json.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import statistics
import time
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


SPACES = {
    "mixed, 5 parameters": xstar.Space(
        rate=xstar.Real(1e-5, 1e-1, log=True), share=xstar.Real(0.0, 1.0), layers=xstar.Integer(1, 6),
        batch=xstar.Ordinal([16, 32, 64]), kind=xstar.Categorical(["relu", "gelu", "tanh"]),
    ),
    "16 real parameters": xstar.Space.of([(0.0, 1.0)] * 16),
}  # fmt: skip
VALUES, FAILED = 40, (0, 1, 10)


def seconds(space: xstar.Space, failures: int, question: Callable[[xstar.Optimizer], object], seed: int) -> float:
    """CPU seconds of a question after 40 values and some failures, nothing computed before."""
    rng, domain = np.random.default_rng(seed), space.domain
    opt = xstar.Optimizer(space, seed=seed)
    # Failures are at one side of the first parameter.
    U = rng.random((VALUES + failures, len(domain.blocks)))
    U[:failures, 0] *= 0.2
    for k, row in enumerate(domain.spread(U)):
        if k < failures:
            opt.fail(space.decode(row), "crashed")
        else:
            opt.tell(space.decode(row), -float(np.sum((row - 0.4) ** 2)) + 0.05 * float(rng.standard_normal()))
    start = time.process_time()
    question(opt)
    return time.process_time() - start


def costs(seeds: int) -> list[dict[str, Any]]:
    """Median seconds of every space, question and number of failures."""
    questions: dict[str, Callable[[xstar.Optimizer], object]] = {"ask": lambda o: o.ask(), "where": lambda o: o.where()}
    seconds(SPACES["mixed, 5 parameters"], 1, questions["where"], seeds)  # so that all is imported
    rows: list[dict[str, Any]] = []
    for name, space in SPACES.items():
        for asked, question in questions.items():
            spent = [
                statistics.median(seconds(space, failures, question, seed) for seed in range(seeds))
                for failures in FAILED
            ]
            rows.append({"space": name, "question": asked, "failures": FAILED, "seconds": spent})
            print(f"{name:22s}{asked:8s}{'  '.join(f'{one:.2f}' for one in spent)}", flush=True)
    return rows


def main() -> None:
    """Print the counts of every function, and what failures cost."""
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
    print(f"CPU seconds after {VALUES} values and {', '.join(map(str, FAILED))} failures")
    print(f"written: {save('failures_cost', costs(options.seeds), **vars(options))}")


if __name__ == "__main__":
    main()
