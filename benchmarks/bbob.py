"""COCO's 24 noiseless functions through Optuna: ours beside GPSampler and TPE.

    .venv-peers/bin/python -m benchmarks.bbob [--dimensions 2] [--instances 1] [--samplers xstar TPESampler] [--jobs 2]

Needs coco-experiment (the extra `campaign`), and torch for GPSampler. What counts is the best value evaluated: its
distance to the optimum after 5 d, 10 d and 20 d trials, as a decimal logarithm, with 1e-8 as the least. Printed: the
means over functions and instances, beside COCO's best-2009, which picks the best of all its optimizers for each
function; and paired differences to GPSampler with their 95 % intervals. Results go to benchmarks/results/bbob.json, the
share of targets reached after each trial to benchmarks/results/bbob.png. Rows of earlier runs are kept.
"""

from __future__ import annotations

import argparse
from concurrent.futures import as_completed
from typing import Any

import numpy as np

from benchmarks.campaign.problems import BBOB_FUNCTIONS, bbob_problem
from benchmarks.measure import RESULTS, load, save, spawned
from benchmarks.samplers import SAMPLERS, TITLES, drive

LEAST = 1e-8
BUDGET = 20
"""Trials for each coordinate."""
BEST_2009 = {2: {10: -0.14, 20: -1.01}, 5: {10: 0.72, 20: -0.22}}
"""Mean decimal logarithms of COCO's oracle of 2009, by dimension and trials for each coordinate."""
TARGETS = np.logspace(2, -8, 51)
"""Precisions of the plot."""


def run(sampler: str, function: int, instance: int, dimension: int) -> dict[str, Any]:
    """The best precision after each trial."""
    from optuna.distributions import FloatDistribution

    problem = bbob_problem(function, instance, dimension)
    names = [f"x{k}" for k in range(dimension)]
    distributions = {name: FloatDistribution(0.0, 1.0) for name in names}

    def value(params: dict[str, Any]) -> float:
        return float(problem.values(np.array([[params[name] for name in names]]))[0])

    asked = drive(sampler, 1000 * function + instance, distributions, value, BUDGET * dimension, "maximize")
    regret = np.minimum.accumulate([-value(params) for params in asked])
    logs = np.log10(np.maximum(regret, LEAST))
    return {
        "sampler": sampler, "function": function, "instance": instance, "dimension": dimension,
        "log10_precision": [round(float(item), 3) for item in logs],
    }  # fmt: skip


def main() -> None:
    """Run the samplers, print the means, draw the plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dimensions", nargs="+", type=int, default=[2, 5])
    parser.add_argument("--instances", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--functions", nargs="+", type=int, default=list(range(1, BBOB_FUNCTIONS + 1)))
    parser.add_argument("--samplers", nargs="+", default=list(SAMPLERS[:2]), choices=SAMPLERS)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    wanted = [
        (sampler, function, instance, dimension)
        for dimension in options.dimensions
        for instance in options.instances
        for sampler in options.samplers
        for function in options.functions
    ]
    kept = {_key(row): row for row in load("bbob") if _key(row) not in set(wanted)}
    with spawned(options.jobs) as pool:
        for future in as_completed([pool.submit(run, *key) for key in wanted]):
            row = future.result()
            kept[_key(row)] = row
    rows = [kept[key] for key in sorted(kept, key=lambda key: (key[3], SAMPLERS.index(key[0]), key[1:3]))]
    for dimension in sorted({row["dimension"] for row in rows}):
        for line in table(rows, dimension):
            print(line)
    print(save("bbob", rows, budget=BUDGET, least=LEAST))
    print(_plot(rows))


def _key(row: dict[str, Any]) -> tuple[str, int, int, int]:
    return row["sampler"], row["function"], row["instance"], row["dimension"]


def by_problem(rows: list[dict[str, Any]], sampler: str, dimension: int) -> dict[tuple[int, int], Any]:
    """The curves (trials,) of a sampler, by function and instance."""
    return {
        (row["function"], row["instance"]): np.array(row["log10_precision"])
        for row in rows
        if (row["sampler"], row["dimension"]) == (sampler, dimension)
    }


def table(rows: list[dict[str, Any]], dimension: int, against: str = "GPSampler") -> list[str]:
    """The lines that are printed for a dimension."""
    rival = by_problem(rows, against, dimension)
    shown = [5, 10, BUDGET]
    lines = [f"\nd = {dimension}: mean log10 precision after " + ", ".join(f"{n} d" for n in shown) + " trials"]
    for sampler in SAMPLERS:
        own = by_problem(rows, sampler, dimension)
        if not own:
            continue
        means = [np.mean([curve[n * dimension - 1] for curve in own.values()]) for n in shown]
        line = f"  {TITLES[sampler]:26s} {len(own):3d} problems " + " ".join(f"{mean:+.2f}" for mean in means)
        shared = sorted(own.keys() & rival.keys())
        if shared and sampler != against:
            gaps = [difference([own[key][n * dimension - 1] - rival[key][n * dimension - 1] for key in shared])
                    for n in shown]  # fmt: skip
            line += f"   against {against}: " + " ".join(f"{mean:+.2f}±{half:.2f}" for mean, half in gaps)
        lines.append(line)
    oracle = BEST_2009.get(dimension, {})
    if oracle:
        lines.append(f"  {'best-2009, an oracle':26s}              " + "      "
                     + " ".join(f"{oracle[n]:+.2f}" for n in shown if n in oracle))  # fmt: skip
    return lines


def difference(gaps: list[Any]) -> tuple[float, float]:
    """The mean of paired differences, and the half width of its 95 % interval."""
    return float(np.mean(gaps)), float(1.96 * np.std(gaps, ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else np.inf


def _plot(rows: list[dict[str, Any]]) -> str:
    from matplotlib.figure import Figure

    dimensions = sorted({row["dimension"] for row in rows})
    figure = Figure(figsize=(6.0 * len(dimensions), 4.2), layout="constrained")
    axes = figure.subplots(1, len(dimensions), squeeze=False)[0]
    for axis, dimension in zip(axes, dimensions, strict=True):
        for sampler in SAMPLERS:
            own = by_problem(rows, sampler, dimension)
            if own:
                curves = np.stack(list(own.values()))
                reached = np.mean(curves[:, :, None] <= np.log10(TARGETS), axis=(0, 2))
                axis.plot(np.arange(1, len(reached) + 1) / dimension, reached, label=TITLES[sampler])
        axis.set(title=f"bbob, d = {dimension}", xlabel="trials / d", ylabel="share of targets 1e2 ... 1e-8 reached")
        axis.set(xlim=(0, BUDGET), ylim=(0, None))
        axis.legend(fontsize=8)
    path = RESULTS / "bbob.png"
    figure.savefig(path, dpi=110)
    return str(path.relative_to(RESULTS.parent.parent))


if __name__ == "__main__":
    main()
