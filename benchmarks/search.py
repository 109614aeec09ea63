"""How often the search on the cube finds the maximum of a sample path, beside 50 SciPy L-BFGS-B runs for each.

    python -m benchmarks.search [--paths 100] [--runs 50]

Reached: the value is within 1e-6 of the best of the SciPy runs, which start from scrambled Sobol points. CPU seconds
for each path on one thread. Results go to benchmarks/results/search.json.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from benchmarks.measure import measure, save
from benchmarks.problems import path_posterior, plain_path
from xstar.gp import Paths, draw_paths
from xstar.numerics.ascent import Evaluation
from xstar.numerics.designs import sobol
from xstar.search import BoxSearch, draw_candidates

SETTINGS: list[dict[str, Any]] = [
    {"kernel": "se", "d": 2, "lengthscale": 0.316},
    {"kernel": "matern52", "d": 2, "lengthscale": 0.316},
    {"kernel": "se", "d": 6, "lengthscale": 0.5},
    {"kernel": "se", "d": 6, "lengthscale": 0.316},
    {"kernel": "matern52", "d": 6, "lengthscale": 0.5},
]
PATHS_OF_A_POSTERIOR = 20
CLOSE = 1e-6


class GradientOnly:
    """Paths without their Hessian: what an acquisition function looks like to the search."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        self.num_problems, self.dimension = paths.num_problems, paths.dimension

    def screen(self, X: Any, /) -> Any:
        """Values at shared points."""
        return self.paths.screen(X)

    def value(self, x: Any, problems: Any, /) -> Any:
        """Values at own points."""
        return self.paths.value(x, problems)

    def evaluate(self, x: Any, problems: Any, /) -> Evaluation:
        """Value and gradient."""
        return self.paths.evaluate(x, problems)._replace(hessian=None)

    evaluate_roughly = evaluate


def compare(kernel: str, d: int, lengthscale: float, paths: int, runs: int) -> Callable[[], Any]:
    """All three methods on the same paths, from several posteriors with 20 data points each."""

    def work() -> dict[str, list[float]]:
        value: dict[str, list[float]] = {"newton": [], "quasi": [], "scipy": []}
        seconds = dict.fromkeys(value, 0.0)
        for seed in range(-(-paths // PATHS_OF_A_POSTERIOR)):
            post = path_posterior(kernel, d, lengthscale, n=20, seed=seed)
            rng = np.random.default_rng(1000 + seed)
            drawn = draw_paths(post, PATHS_OF_A_POSTERIOR, rng)
            candidates = draw_candidates(1024, post.data.X, rng)
            for name, objective in (("newton", drawn), ("quasi", GradientOnly(drawn))):
                start = time.process_time()
                value[name] += BoxSearch().maximize(objective, candidates).value.tolist()
                seconds[name] += time.process_time() - start
            start = time.process_time()
            value["scipy"] += [best_of_runs(drawn, p, sobol(runs, d, rng)) for p in range(PATHS_OF_A_POSTERIOR)]
            seconds["scipy"] += time.process_time() - start
        return {**value, "seconds": [seconds[name] / len(value[name]) for name in seconds]}

    return work


def best_of_runs(paths: Paths, p: int, starts: Any) -> float:
    """The best value of L-BFGS-B from each start."""
    negative, bounds = plain_path(paths, p), [(0.0, 1.0)] * starts.shape[1]
    return max(-float(minimize(negative, x, jac=True, method="L-BFGS-B", bounds=bounds).fun) for x in starts)


def main() -> None:
    """Compare on every setting and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--paths", type=int, default=100, help="paths for each setting (default 100)")
    parser.add_argument("--runs", type=int, default=50, help="SciPy runs for each path (default 50)")
    options = parser.parse_args()
    print(
        f"share of paths on which the best of {options.runs} SciPy runs is reached (exceeded); CPU seconds for a path"
    )
    print(f"{'paths':26s} {'Newton':>15s} {'s':>7s} {'quasi-Newton':>15s} {'s':>7s} {'SciPy s':>8s} {'ratio':>6s}")
    rows: list[dict[str, Any]] = []
    for setting in SETTINGS:
        result = measure("benchmarks.search", "compare", 0, **setting, paths=options.paths, runs=options.runs).result
        reference = np.array(result["scipy"])
        newton_s, quasi_s, scipy_s = result["seconds"]
        row = {**setting, "cpu_seconds": {"newton": newton_s, "quasi": quasi_s, "scipy": scipy_s}}
        for name in ("newton", "quasi"):
            values = np.array(result[name])
            row[name] = {
                "reached": float(np.mean(values >= reference - CLOSE)),
                "exceeded": float(np.mean(values > reference + CLOSE)),
            }
        rows.append(row)
        shares = [f"{row[k]['reached']:.2f} ({row[k]['exceeded']:.2f})" for k in ("newton", "quasi")]
        title = f"{setting['kernel']}, d={setting['d']}, l={setting['lengthscale']}"
        print(
            f"{title:26s} {shares[0]:>15s} {newton_s:7.4f} {shares[1]:>15s} {quasi_s:7.4f} {scipy_s:8.3f} "
            f"{scipy_s / newton_s:6.0f}",
            flush=True,
        )
    print(f"written: {save('search', rows, paths=options.paths, runs=options.runs)}")


if __name__ == "__main__":
    main()
