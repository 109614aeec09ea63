"""Categories with descriptors beside categories without: what it is worth to say how alike the choices are.

    python -m benchmarks.descriptors [--seeds 32] [--jobs 2]

A chemist's problem: one of sixteen solvents and a temperature. The yield is a smooth function of three numbers that
describe a solvent and of the temperature, drawn anew for each seed; or, to see what wrong descriptors cost, one in
which the solvents have nothing to do with these numbers. Runs are paired: the same function, noise and first points.
Printed is the regret of the recommendation and of the best point evaluated, early and late, with 95 % intervals of the
difference in log10. Written to benchmarks/results/descriptors.json.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import xstar
from benchmarks.measure import save, spawned
from xstar.numerics.arrays import HostArray

SOLVENTS, DESCRIPTORS, START, BUDGET, NOISE = 16, 3, 3, 30, 0.05
EARLY = 15
CASES = ("telling descriptors", "misleading descriptors")
FLOOR = 1e-4
"""Of a regret, for its logarithm."""


def drawn(case: str, seed: int) -> tuple[HostArray, Callable[[int, float], float], float]:
    """Descriptors (16, 3), the yield of a solvent at a temperature in [0, 1], and its maximum."""
    rng = np.random.default_rng([seed, CASES.index(case)])
    table = rng.uniform(size=(SOLVENTS, DESCRIPTORS))
    places = table if case == CASES[0] else rng.uniform(size=(SOLVENTS, DESCRIPTORS))
    # A draw of a Gaussian process with a squared exponential kernel, by random features.
    frequencies = rng.normal(size=(400, DESCRIPTORS + 1)) / np.array([0.5] * DESCRIPTORS + [0.35])
    phases, weights = rng.uniform(0, 2 * np.pi, 400), rng.normal(size=400) * np.sqrt(2 / 400)

    def value(solvent: int, temperature: float) -> float:
        return float(weights @ np.cos(frequencies @ np.append(places[solvent], temperature) + phases))

    grid = np.linspace(0, 1, 401)
    best = max(value(solvent, temperature) for solvent in range(SOLVENTS) for temperature in grid)
    return table, value, best


def run(case: str, described: bool, seed: int) -> dict[str, list[float]]:
    """Regrets of the recommendation and of the best point evaluated, after each evaluation from the third on."""
    table, value, best = drawn(case, seed)
    names = [f"solvent {k}" for k in range(SOLVENTS)]
    space = xstar.Space(
        solvent=xstar.Categorical(names, descriptors=table.tolist() if described else None),
        temperature=xstar.Real(0, 1),
    )
    opt = xstar.Optimizer(space, seed=seed, num_initial=START)
    first, noise = np.random.default_rng([seed, 7]), np.random.default_rng([seed, 8])
    recommended: list[float] = []
    evaluated: list[float] = []
    for k in range(BUDGET):
        fixed = {"solvent": names[first.integers(SOLVENTS)], "temperature": first.uniform()} if k < START else None
        trial = opt.ask(fixed=fixed, last=k == BUDGET - 1)
        true = value(names.index(trial.params["solvent"]), trial.params["temperature"])
        opt.tell(trial, true + NOISE * noise.standard_normal())
        evaluated.append(min(best - true, evaluated[-1] if evaluated else np.inf))
        if k >= START - 1:
            params = opt.recommend().params
            recommended.append(best - value(names.index(params["solvent"]), params["temperature"]))
    return {"recommended": recommended, "evaluated": evaluated[START - 1 :]}


def main() -> None:
    """Run every case with and without descriptors, print the comparison, keep the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=32)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    work = [(case, described, seed) for case in CASES for described in (True, False) for seed in range(options.seeds)]
    with spawned(options.jobs) as pool:
        found = dict(zip(work, pool.map(run, *zip(*work, strict=True)), strict=True))
    rows: list[dict[str, Any]] = []
    for case in CASES:
        for kind in ("recommended", "evaluated"):
            for when in (EARLY, BUDGET):
                with_, without = (
                    np.array(
                        [max(found[case, described, seed][kind][when - START], FLOOR) for seed in range(options.seeds)]
                    )
                    for described in (True, False)
                )
                gain = np.log10(with_) - np.log10(without)
                rows.append({
                    "case": case, "regret": kind, "evaluations": when,
                    "with descriptors": float(np.median(with_)), "without": float(np.median(without)),
                    "difference": float(gain.mean()), "interval": float(1.96 * gain.std(ddof=1) / np.sqrt(len(gain))),
                })  # fmt: skip
    print(f"{'':24} {'regret':12} {'after':>6} {'with':>9} {'without':>9}   log10 with / without")
    for row in rows:
        print(
            f"{row['case']:24} {row['regret']:12} {row['evaluations']:6} {row['with descriptors']:9.3g} "
            f"{row['without']:9.3g}   {row['difference']:+.2f} ± {row['interval']:.2f}"
        )
    print(save("descriptors", rows, seeds=options.seeds, noise=NOISE, solvents=SOLVENTS))


if __name__ == "__main__":
    main()
