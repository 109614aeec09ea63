"""What a suggestion costs through Optuna: `XstarSampler` on a SQLite file beside `Optimizer.ask` on the same data.

    python -m benchmarks.latency [--sizes 200 1000 5000] [--rivals 200 1000 5000]

Hartmann-6 with noise, `n` finished trials at random points; then one suggestion with nothing computed before, in a
fresh process with one thread that has made a small suggestion of the same kind, so that all is imported. Printed: CPU
seconds (median of three) of `Optimizer.ask`, of the sampler, of reading the study alone (the sampler with
method="random"), and of Optuna's GPSampler if torch is installed. The points that the first two suggest are compared:
they are the same. Results go to benchmarks/results/latency.json.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import xstar
from benchmarks.measure import save, spawned
from experiments.problems.analytic import hartmann

REPEATS = 3
WHO = ("Optimizer.ask", "XstarSampler", "reading only", "GPSampler")


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, 6) and their noisy values (n,)."""
    rng = np.random.default_rng(n)
    X = rng.random((n, 6))
    return X, hartmann(X) + 0.03 * rng.standard_normal(n)


def _params(x: np.ndarray) -> dict[str, float]:
    return {f"x{k}": float(value) for k, value in enumerate(x)}


def fill(n: int, path: str) -> None:
    """A study of n finished trials in a SQLite file."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(storage=f"sqlite:///{path}", study_name="latency", direction="maximize")
    distributions: dict[str, Any] = {f"x{k}": optuna.distributions.FloatDistribution(0.0, 1.0) for k in range(6)}
    X, values = data(n)
    study.add_trials(
        [
            optuna.trial.create_trial(params=_params(x), distributions=distributions, value=float(value))
            for x, value in zip(X, values, strict=True)
        ]
    )


def ask(who: str, n: int, path: str) -> tuple[float, list[float]]:
    """CPU seconds of one suggestion, and the point."""
    if who == "Optimizer.ask":
        X, values = data(n)
        trials = [xstar.Trial(k, _params(x), "done", float(y)) for k, (x, y) in enumerate(zip(X, values, strict=True))]
        xstar.Optimizer.from_trials(trials[:12], [(0.0, 1.0)] * 6, method="pes-alone").ask()
        optimizer = xstar.Optimizer.from_trials(trials, [(0.0, 1.0)] * 6, method="pes-alone")
        start = time.process_time()
        point = list(optimizer.ask().params.values())
        return time.process_time() - start, point
    import optuna

    from xstar.integrations.optuna import XstarSampler

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    samplers: dict[str, Any] = {
        "XstarSampler": lambda: XstarSampler(seed=0, method="pes-alone"),
        "reading only": lambda: XstarSampler(seed=0, method="random"),
        "GPSampler": lambda: optuna.samplers.GPSampler(seed=0),
    }
    _suggest(optuna.create_study(sampler=samplers[who](), direction="maximize"), 12)
    study = optuna.load_study(storage=f"sqlite:///{path}", study_name="latency", sampler=samplers[who]())
    study.get_trials(deepcopy=False)  # a worker that is at it has read all but the latest
    start = time.process_time()
    point = _suggest(study)
    return time.process_time() - start, point


def _suggest(study: Any, before: int = 0) -> list[float]:
    """The next point of an Optuna study, after some more trials."""
    for value in range(before):
        trial = study.ask()
        for k in range(6):
            trial.suggest_float(f"x{k}", 0.0, 1.0)
        study.tell(trial, float(value))
    trial = study.ask()
    return [trial.suggest_float(f"x{k}", 0.0, 1.0) for k in range(6)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 1000, 5000])
    parser.add_argument("--rivals", type=int, nargs="*", default=[200, 1000, 5000], help="sizes for GPSampler")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    print(f"{'n':>6s}" + "".join(f"{who:>16s}" for who in WHO) + "   sampler / optimizer")
    for n in options.sizes:
        row: dict[str, Any] = {"n": n}
        points: dict[str, list[float]] = {}
        with tempfile.TemporaryDirectory() as folder:
            filled, used = Path(folder) / "filled.db", Path(folder) / "used.db"
            fill(n, str(filled))
            for who in WHO:
                if who == "GPSampler" and (n not in options.rivals or not importlib.util.find_spec("torch")):
                    row[who] = None
                    continue
                times = []
                # GPSampler is asked once where it takes minutes.
                for _ in range(1 if who == "GPSampler" and n > 1000 else REPEATS):
                    # A fresh study every time: the last suggestion is a trial of it.
                    shutil.copyfile(filled, used)
                    with spawned(1) as pool:
                        seconds, points[who] = pool.submit(ask, who, n, str(used)).result()
                    times.append(seconds)
                row[who] = statistics.median(times)
        row["ratio"] = row["XstarSampler"] / row["Optimizer.ask"]
        row["same"] = points["XstarSampler"] == points["Optimizer.ask"]
        rows.append(row)
        cells = "".join(f"{'-' if row[who] is None else format(row[who], '.2f'):>16s}" for who in WHO)
        print(f"{n:6d}{cells}   {row['ratio']:.2f}{'' if row['same'] else '  DIFFERENT POINTS'}", flush=True)
    print(f"wrote {save('latency', rows, repeats=REPEATS, function='hartmann', sizes=options.sizes)}")


if __name__ == "__main__":
    main()
