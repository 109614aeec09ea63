"""Does Predictive Entropy Search ever fail? Counts over random points and data sets; every count should be zero.

    python -m benchmarks.robustness [--constructions 11] [--points 500]

Data from a smooth function with noise, hyperparameters at their mode, 50 draws of the maximizer. Results go to
benchmarks/results/robustness.json.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from benchmarks.measure import save
from benchmarks.problems import observations
from xstar.acquisition import PES
from xstar.gp import MAP, Matern52, Posterior

SETTINGS = [(2, 10), (2, 50), (2, 100), (6, 20), (6, 50), (6, 100), (12, 50)]
TOLERANCE = 1e-6


def count(d: int, n: int, constructions: int, points: int) -> dict[str, Any]:
    """Failures of each kind over several data sets of one size."""
    negative = not_finite = no_gradient = unconverged = dropped = sweeps = 0
    for seed in range(constructions):
        X, y = observations(n, d, seed)
        rng = np.random.default_rng(seed)
        hyper = MAP().infer(Matern52(), X, y, rng).hyper
        score = PES().prepare(Posterior(Matern52(), hyper, X, y), rng)
        Z = rng.random((points, d))
        value, gradient = score.value_and_gradient(Z)
        negative += int(np.sum(value < 0.0))
        not_finite += int(np.sum(~np.isfinite(value)))
        no_gradient += int(np.sum(~np.all(np.isfinite(gradient), axis=1)))
        unconverged += int(score.diagnostics["ep_residual"] > TOLERANCE)
        dropped += score.diagnostics["dropped"]
        sweeps = max(sweeps, score.diagnostics["ep_sweeps"])
    return {
        "d": d, "n": n, "points": constructions * points, "negative": negative, "value_not_finite": not_finite,
        "gradient_not_finite": no_gradient, "constructions": constructions, "ep_not_converged": unconverged,
        "samples_dropped": dropped, "most_sweeps": sweeps,
    }  # fmt: skip


def main() -> None:
    """Count for every size and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--constructions", type=int, default=11)
    parser.add_argument("--points", type=int, default=500)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for d, n in SETTINGS:
        row = count(d, n, options.constructions, options.points)
        if not rows:
            print("  ".join(f"{key:>4s}" for key in row))
        print("  ".join(f"{value:>{max(4, len(key))}d}" for key, value in row.items()), flush=True)
        rows.append(row)
    print(f"written: {save('robustness', rows, **vars(options))}")


if __name__ == "__main__":
    main()
