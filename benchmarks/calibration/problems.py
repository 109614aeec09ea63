"""Functions with known maximizers, in units of their standard deviation over the cube."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.campaign.problems import BBOB_FUNCTIONS, bbob_problem
from experiments.problems import Problem, Rows, find_problem
from xstar.numerics.designs import sobol

NOISES = (0.0, 0.1)
"""In units of the function's standard deviation."""
POINTS = 4096
"""From which that is computed."""
BRANIN_MAXIMIZERS = np.array([[-math.pi, 12.275], [math.pi, 2.275], [3.0 * math.pi, 2.475]])


@dataclass(frozen=True)
class Known:
    """A function in units of its standard deviation."""

    name: str
    number: int
    """Of the function in its set, from which its start and its noise follow."""
    problem: Problem
    spread: float
    maximizers: Rows
    """All of them, (k, d)."""

    def values(self, X: Rows) -> Rows:
        """At points (m, d), shape (m,)."""
        return np.asarray(self.problem.values(X) / self.spread)

    @property
    def maximum(self) -> float:
        """The largest value."""
        return self.problem.maximum / self.spread


@dataclass(frozen=True)
class Set:
    """Functions of one dimension that are run together."""

    dimension: int
    make: Callable[[tuple[int, ...]], list[Known]]
    """From instances, or repeats divided by 24."""
    known_hyperparameters: bool = False


def _bbob(dimension: int) -> Callable[[tuple[int, ...]], list[Known]]:
    def make(instances: tuple[int, ...]) -> list[Known]:
        return [
            _known(f"f{f}", 100 * instance + f, bbob_problem(f, instance, dimension))
            for instance in instances
            for f in range(1, BBOB_FUNCTIONS + 1)
        ]

    return make


def _repeated(name: str, maximizers: Rows | None = None) -> Callable[[tuple[int, ...]], list[Known]]:
    def make(instances: tuple[int, ...]) -> list[Known]:
        numbers = [24 * instance + k for instance in instances for k in range(24)]
        return [_known(name, number, find_problem(name, number), maximizers) for number in numbers]

    return make


def _known(name: str, number: int, problem: Problem, maximizers: Rows | None = None) -> Known:
    values = problem.values(_points(problem.dimension))
    found = problem.maximizer[None] if maximizers is None else maximizers
    # A draw from a prior that is known has the units of the prior.
    return Known(name, number, problem, 1.0 if name == "within-model" else float(np.std(values)), found)


@cache
def _points(dimension: int) -> Rows:
    return np.asarray(sobol(POINTS, dimension, np.random.default_rng(0)))


SETS: dict[str, Set] = {
    "bbob-2": Set(2, _bbob(2)),
    "bbob-5": Set(5, _bbob(5)),
    "branin": Set(2, _repeated("branin", (BRANIN_MAXIMIZERS - [-5.0, 0.0]) / 15.0)),
    "hartmann": Set(6, _repeated("hartmann")),
    "gp": Set(2, _repeated("within-model")),
    "gp-known": Set(2, _repeated("within-model"), known_hyperparameters=True),
}
