"""Regret of every method through the public API, hyperparameters learned, recommending by the same rule.

    python -m benchmarks.regret [--problems branin gp] [--methods pes logei] [--seeds 10] [--jobs 2]

Three Latin-hypercube points to start with and the same noise for all methods of one seed. Every method recommends the
maximizer of its posterior mean; the immediate regret is what the true function loses there. Printed: median and 75 %
quantile over seeds. Curves go to benchmarks/results/regret.json, which keeps the rows of earlier runs that are not run
again, and to benchmarks/results/regret.png.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np

import xstar
from benchmarks.functions import NAMES, problem
from benchmarks.measure import RESULTS, load, save, spawned
from xstar.numerics.arrays import HostArray

START = 3
METHODS = (
    "pes",
    "pes x4",
    "pes-alone",
    "pes-alone x4",
    "pes-nb",
    "pes-2014",
    "es",
    "mes",
    "ei",
    "logei",
    "thompson",
    "random",
)


def run(name: str, method: Any, seed: int, evaluations: int | None = None) -> dict[str, Any]:
    """One optimization: the regret after the start and after each evaluation, and CPU seconds for a suggestion.

    A method's name may end in "x4": points are then asked for four at a time.
    """
    task = problem(name, seed)
    evaluations = evaluations or task.evaluations
    size = 1
    if isinstance(method, str):
        method, _, digits = method.partition(" x")
        size = int(digits or 1)
    noise = np.random.default_rng([seed, 1])
    opt = xstar.Optimizer(task.space, method=method, seed=seed, num_initial=START)

    def measure(params: Any) -> float:
        return task.value(params) + task.noise * float(noise.standard_normal())

    domain = task.space.domain
    for row in domain.spread(latin_hypercube(len(domain.blocks), np.random.default_rng([seed, 0]))):
        params = task.space.decode(row)
        opt.tell(params, measure(params))
    regrets, seconds = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", xstar.DegradedWarning)
        while True:
            began = time.process_time()
            # Until the next values are told, the recommendation stands.
            count = min(size, evaluations - len(opt.trials))
            regrets += [task.maximum - task.value(opt.recommend().params)] * max(count, 1)
            if count == 0:
                break
            batch = opt.ask(count)
            seconds.append((time.process_time() - began) / count)
            for trial in batch:
                opt.tell(trial, measure(trial.params))
    used = [trial.diagnostics.get("method") for trial in opt.trials[START:]]
    return {
        "regret": regrets,
        "seconds": float(np.median(seconds)),
        "fallbacks": sum(name in ("space-filling", "logei") for name in used) if method not in ("logei",) else 0,
    }


def latin_hypercube(dimension: int, rng: np.random.Generator) -> HostArray:
    """Draw the points to start with, one in each slice of each axis."""
    slices = rng.permuted(np.tile(np.arange(START)[:, None], dimension), axis=0)
    return np.asarray((slices + rng.random((START, dimension))) / START)


def main() -> None:
    """Run every method on every problem and print the curves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=list(NAMES), choices=NAMES)
    parser.add_argument("--methods", nargs="+", default=["pes", "logei", "ei", "random"], choices=METHODS)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    options = parser.parse_args()
    rows = load("regret")
    with spawned(options.jobs) as pool:
        for name in options.problems:
            shown = problem(name, 0).shown
            print(f"\n{name}: median (75 % quantile) of the immediate regret after so many evaluations")
            print(f"{'method':10s}" + "".join(f"{step:>20d}" for step in shown) + f"{'s per step':>12s}")
            for method in options.methods:
                count = options.seeds
                runs = list(pool.map(run, [name] * count, [method] * count, range(count)))
                row = {"problem": name, "method": method, **_summary(runs)}
                rows = [other for other in rows if (other["problem"], other["method"]) != (name, method)] + [row]
                print(_line(row, shown), flush=True)
                save("regret", rows, start=START, seeds=count)
    print(f"\nwritten: {save('regret', rows, start=START, seeds=options.seeds)} and {draw(rows)}")


def _summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    curves = np.array([run["regret"] for run in runs])
    return {
        "seeds": len(runs),
        "median": np.median(curves, axis=0).tolist(),
        "upper_quartile": np.quantile(curves, 0.75, axis=0).tolist(),
        "lower_quartile": np.quantile(curves, 0.25, axis=0).tolist(),
        "seconds": float(np.median([run["seconds"] for run in runs])),
        "fallbacks": int(sum(run["fallbacks"] for run in runs)),
    }


def _line(row: dict[str, Any], shown: tuple[int, ...]) -> str:
    cells = (f"{row['median'][step - START]:.1e} ({row['upper_quartile'][step - START]:.1e})" for step in shown)
    return f"{row['method']:10s}" + "".join(f"{cell:>20s}" for cell in cells) + f"{row['seconds']:12.2f}"


def draw(rows: list[dict[str, Any]]) -> str:
    """Median curves with their quartiles, one picture for each problem."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names = [name for name in NAMES if any(row["problem"] == name for row in rows)]
    columns = min(3, len(names))
    lines = -(-len(names) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(5 * columns, 3.8 * lines), squeeze=False)
    colors = dict(zip(METHODS, plt.get_cmap("tab20").colors, strict=False))  # type: ignore[attr-defined]
    for axis in axes.flat[len(names) :]:
        axis.axis("off")
    for name, axis in zip(names, axes.flat, strict=False):
        for row in (row for row in rows if row["problem"] == name):
            steps = np.arange(len(row["median"])) + START
            color = colors[row["method"]]
            axis.plot(steps, np.maximum(row["median"], 1e-9), color=color, label=row["method"])
            low, high = (np.maximum(row[key], 1e-9) for key in ("lower_quartile", "upper_quartile"))
            axis.fill_between(steps, low, high, color=color, alpha=0.12)
        axis.set(title=name, yscale="log", xlabel="evaluations", ylabel="immediate regret")
        axis.legend(fontsize=8)
    figure.tight_layout()
    path = RESULTS / "regret.png"
    figure.savefig(path, dpi=100)
    return str(path.relative_to(RESULTS.parent.parent))


if __name__ == "__main__":
    main()
