"""Regret through Optuna beside regret through `Optimizer`: same problem, same seeds, same noise.

    python -m benchmarks.through_optuna [--problems branin tuning] [--seeds 5] [--jobs 2] [--rivals]

Three drivers of the default method: `Optimizer`; `XstarSampler` with its search space given; `XstarSampler` that finds
the space by itself, so that the first trial is random. `--rivals` adds Optuna's GPSampler, which needs torch, and
TPESampler. The recommendation is always the best posterior mean of xstar's model of what was told, so that only
the choice of points differs. Printed: the median of the immediate regret over seeds. Results go to
benchmarks/results/through_optuna.json.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import xstar
from benchmarks.functions import NAMES, problem
from benchmarks.measure import save, spawned

DRIVERS = ("Optimizer", "sampler, space given", "sampler", "GPSampler", "TPESampler")


def run(name: str, driver: str, seed: int, evaluations: int | None = None) -> list[float]:
    """The regret after each of the evaluations that the table shows."""
    task = problem(name, seed)
    shown = task.shown if evaluations is None else (evaluations,)
    noise = np.random.default_rng([seed, 1])

    def measure(params: Any) -> float:
        return task.value(params) + task.noise * float(noise.standard_normal())

    told = xstar.Optimizer(task.space, seed=seed)
    ask: Any = told.ask if driver == "Optimizer" else _sampler(driver, task.space, seed)
    regrets = []
    for count in range(1, shown[-1] + 1):
        trial = ask()
        value = measure(trial.params)
        if driver == "Optimizer":
            told.tell(trial, value)
        else:
            trial.tell(value)
            told.tell(dict(trial.params), value)
        if count in shown:
            regrets.append(task.maximum - task.value(told.recommend().params))
    return regrets


def _sampler(driver: str, space: xstar.Space, seed: int) -> Any:
    """A function that asks a study for trials."""
    import optuna

    from xstar.integrations.optuna import XstarSampler
    from xstar.integrations.optuna.records import to_distribution

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    distributions = {key: to_distribution(parameter) for key, parameter in space.parameters.items()}
    samplers: dict[str, Any] = {
        "sampler, space given": lambda: XstarSampler(seed=seed, search_space=distributions),
        "sampler": lambda: XstarSampler(seed=seed),
        "GPSampler": lambda: optuna.samplers.GPSampler(seed=seed),
        "TPESampler": lambda: optuna.samplers.TPESampler(seed=seed),
    }
    study = optuna.create_study(direction="maximize", sampler=samplers[driver]())

    def ask() -> Any:
        trial: Any = study.ask(fixed_distributions=distributions)
        trial.tell = lambda value: study.tell(trial, value)
        return trial

    return ask


def main() -> None:
    """Run the drivers and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=["branin", "tuning"], choices=NAMES)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--rivals", action="store_true")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with spawned(options.jobs) as pool:
        for name in options.problems:
            shown = problem(name, 0).shown
            print(f"\n{name}: median of the immediate regret after so many evaluations")
            print(f"{'':22s}" + "".join(f"{step:>10d}" for step in shown))
            for driver in DRIVERS if options.rivals else DRIVERS[:3]:
                count = options.seeds
                regrets = list(pool.map(run, [name] * count, [driver] * count, range(count)))
                median = np.median(regrets, axis=0).tolist()
                rows.append({"problem": name, "driver": driver, "after": shown, "median": median, "regrets": regrets})
                print(f"{driver:22s}" + "".join(f"{value:10.1e}" for value in median), flush=True)
    print(f"\nwritten: {save('through_optuna', rows, seeds=options.seeds)}")


if __name__ == "__main__":
    main()
