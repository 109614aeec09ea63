"""How often the search for the most probable hyperparameters misses them, and what it costs.

    python -m benchmarks.modes [--sets 8] [--sizes 40]

Data are those that EI has gathered on problems of the experiments. A search misses if another with many
more prior draws and starts finds hyperparameters more than a nat above its own. Printed: the share of misses under each
kernel, and CPU milliseconds of a search. Results go to benchmarks/results/modes.json.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from benchmarks.measure import save
from experiments.course import take_course
from xstar.gp import MAP, Kernel, Matern52, SquaredExponential
from xstar.numerics.threads import limited_threads

KERNELS: tuple[Kernel, ...] = (SquaredExponential(), Matern52())
SEARCHES = {
    "64 prior draws, 1 range": MAP(num_prior_draws=64, num_starts=1),
    "128 prior draws, 1 range": MAP(num_prior_draws=128, num_starts=1),
    "64 prior draws, 6 ranges": MAP(num_prior_draws=64, num_starts=6),
    "default": MAP(),
}
THOROUGH = MAP(num_prior_draws=2048, num_starts=24)
PROBLEMS = ("cosines", "branin", "hartmann", "nnet", "fullerenes", "portfolio", "walker-a")
NAT = 1.0


def gathered(problem: str, repeat: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The first n points of a run of EI, and their standardized values."""
    course = take_course(problem, "ei", repeat, n)
    return course.X, (course.y - course.y.mean()) / course.y.std()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=8, help="data sets of each kind")
    parser.add_argument("--sizes", type=int, nargs="+", default=[40], metavar="N")
    options = parser.parse_args()
    print(
        f"{'problem':10s}{'n':>4s}  {'search':22s}" + "".join(f"{type(k).__name__:>20s}" for k in KERNELS) + "      ms"
    )
    with limited_threads(1):
        rows = [row for problem in PROBLEMS for row in measure(problem, options.sizes, options.sets)]
    print(f"written: {save('modes', rows, **vars(options))}")


def measure(problem: str, sizes: list[int], sets: int) -> list[dict[str, Any]]:
    """The rows of one problem, printed as they come."""
    rows = []
    for n in sizes:
        missed = {name: np.zeros(len(KERNELS)) for name in SEARCHES}
        seconds = dict.fromkeys(SEARCHES, 0.0)
        for repeat in range(sets):
            X, y = gathered(problem, repeat, n)
            for k, kernel in enumerate(KERNELS):
                best = _height(THOROUGH, kernel, X, y, 0)
                for name, search in SEARCHES.items():
                    began = time.process_time()
                    missed[name][k] += best - _height(search, kernel, X, y, 1 + repeat) > NAT
                    seconds[name] += time.process_time() - began
        for name in SEARCHES:
            shares = missed[name] / sets
            cost = 1e3 * seconds[name] / sets / len(KERNELS)
            rows.append({"problem": problem, "n": n, "search": name, "missed": shares.tolist(), "cpu_ms": cost})
            cells = "".join(f"{share:20.2f}" for share in shares)
            print(f"{problem:10s}{n:4d}  {name:22s}{cells}{cost:8.0f}", flush=True)
    return rows


def _height(search: MAP, kernel: Kernel, X: np.ndarray, y: np.ndarray, seed: int) -> float:
    """log p(y, theta) at the best theta that was found."""
    density = search.infer(kernel, X, y, np.random.default_rng(seed)).log_density
    assert density is not None
    return float(density[0])


if __name__ == "__main__":
    main()
