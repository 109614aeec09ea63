"""What is best: the optima and the largest hypervolumes that `problems` states, computed anew.

    python -m benchmarks.outputs.optima [--problems spring vehicle-safety]

One objective: SLSQP from many starts, for the best and for the worst feasible value, and differential evolution beside
it, which needs no derivatives. Several: an archive of nondominated points, which are moved again and again.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, NonlinearConstraint, differential_evolution, minimize
from scipy.stats import qmc

from benchmarks.outputs.hypervolume import hypervolume, nondominated
from benchmarks.outputs.problems import NAMES, OutputProblem, problem, spread
from experiments.problems import Rows

CELLS = 150
"""Of the grid, along each objective."""


class Found(NamedTuple):
    """The best feasible point of a search, and its loss."""

    x: Rows
    """In the unit cube."""
    loss: float


def climb(task: OutputProblem, starts: int, seed: int = 0, sign: float = 1.0) -> Found:
    """SLSQP from many starts; with a sign of -1, to the worst feasible value."""
    scales = spread(task)
    scale = scales[next(iter(task.objectives))]
    limits = np.array([scales[name] for name in task.constraints])

    def loss(x: Rows) -> float:
        return sign * float(task.losses(task.values(x))[0, 0]) / scale

    def slack(x: Rows) -> Rows:
        return np.asarray(-task.violations(task.values(x))[0] / limits)

    settings: dict[str, Any] = {
        "bounds": [(0.0, 1.0)] * task.dimension,
        "constraints": {"type": "ineq", "fun": slack},
        "options": {"maxiter": 300, "ftol": 1e-13},
    }
    best = Found(np.full(task.dimension, np.nan), np.inf)
    exponent = max(1, int(np.ceil(np.log2(starts))))
    for x in qmc.Sobol(task.dimension, rng=np.random.default_rng(seed)).random_base2(exponent)[:starts]:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            done = minimize(loss, x, method="SLSQP", **settings)
        end = np.clip(done.x, 0.0, 1.0)
        if not np.all(np.isfinite(end)):
            continue
        values = task.values(end)
        if task.feasible(values)[0] and sign * float(task.losses(values)[0, 0]) < best.loss:
            best = Found(end, sign * float(task.losses(values)[0, 0]))
    return Found(best.x, sign * best.loss)


def evolve(task: OutputProblem, iterations: int, seed: int = 0) -> Found:
    """Differential evolution with constraints."""
    scales = spread(task)
    limits = np.array([scales[name] for name in task.constraints])

    def loss(x: Rows) -> float:
        return float(task.losses(task.values(x))[0, 0])

    def excess(x: Rows) -> Rows:
        return np.asarray(task.violations(task.values(x))[0] / limits)

    cube = Bounds(np.zeros(task.dimension), np.ones(task.dimension))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        done = differential_evolution(
            loss, cube, maxiter=iterations, rng=np.random.default_rng(seed), polish=False, tol=1e-12,
            constraints=NonlinearConstraint(excess, -np.inf, 0.0),
        )  # fmt: skip
    feasible = bool(task.feasible(task.values(done.x))[0])
    return Found(np.asarray(done.x), float(done.fun) if feasible else np.inf)


def front(task: OutputProblem, children: int, rounds: int, seed: int = 0) -> Rows:
    """The losses of the nondominated feasible points that were found, (points, objectives), in rounds of children.

    A child is a point of the front with some coordinates moved, a lot or a little. Of a front that has become large,
    the parents are one point in each cell of a grid.
    """
    rng = np.random.default_rng(seed)
    X = qmc.Sobol(task.dimension, rng=rng).random_base2(int(np.ceil(np.log2(children))))
    # Fronts often lie on faces and corners of the space: grids have these.
    X, losses = _front(task, np.vstack([X, np.floor(5.0 * X) / 4.0, np.floor(11.0 * X) / 10.0]))
    for _ in range(rounds):
        parents = X[_spaced(losses)]
        parents = parents[rng.integers(len(parents), size=children)]
        moved = rng.random(parents.shape) < 0.4
        size = 10.0 ** rng.uniform(-4.0, -0.5, (children, 1))
        shifted = np.clip(parents + moved * size * rng.standard_normal(parents.shape), 0.0, 1.0)
        X, losses = _front(task, np.vstack([X, shifted]))
    return losses


def _front(task: OutputProblem, X: Rows) -> tuple[Rows, Rows]:
    """Those of the points that are feasible and not dominated, and their losses."""
    values = task.values(X)
    feasible = task.feasible(values)
    X, losses = X[feasible], task.losses(values)[feasible]
    kept = nondominated(losses)
    return X[kept], losses[kept]


def _spaced(losses: Rows) -> NDArray[np.intp]:
    """One point in each cell of a grid of losses, and the best of each objective."""
    low, high = losses.min(axis=0), losses.max(axis=0)
    cells = np.floor(CELLS * (losses - low) / np.maximum(high - low, 1e-300))
    _, first = np.unique(cells, axis=0, return_index=True)
    return np.concatenate([first, losses.argmin(axis=0)])


def main() -> None:
    """Print what is best beside what is stated."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=NAMES)
    parser.add_argument("--starts", type=int, default=200)
    parser.add_argument("--iterations", type=int, default=1000, help="of differential evolution (1000)")
    parser.add_argument("--children", type=int, default=100_000, help="points in a round (100000)")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    for name in options.problems:
        task = problem(name)
        if task.several:
            points = front(task, min(options.children, 1000) if name == "digits" else options.children, options.rounds)
            reference = task.signs * np.array(task.reference)
            volume = hypervolume(points, reference)
            print(f"{name}: {volume:.8g} by {len(points)} points; stated {task.hypervolume}", flush=True)
            continue
        best, worst = climb(task, options.starts), climb(task, options.starts, sign=-1.0)
        other = evolve(task, options.iterations)
        place = ", ".join(f"{u:.10g}" for u in task.in_units(best.x))
        print(
            f"{name}: {best.loss:.12g} at ({place}), by evolution {other.loss:.12g}, worst {worst.loss:.6g}; "
            f"stated {task.optimum}, {task.worst}",
            flush=True,
        )


if __name__ == "__main__":
    main()
