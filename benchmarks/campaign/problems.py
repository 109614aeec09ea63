"""The problems of a campaign: those of the paper, three more analytic ones, and COCO's bbob functions.

All are maximized on the unit cube. The paper's have the starts and the noise of `experiments`; so have the others, with
noise that is small beside their range. bbob's are without noise, and a repeat is one function and one instance.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from experiments.problems import TITLES, Problem, Rows, find_problem

BBOB_FUNCTIONS = 24


def levy(X: Rows) -> Rows:
    """Minus the Levy function on [-10, 10]^d, best at 1."""
    w = 1.0 + (20.0 * X - 11.0) / 4.0
    ends = np.sin(math.pi * w[:, 0]) ** 2 + (w[:, -1] - 1.0) ** 2 * (1.0 + np.sin(2.0 * math.pi * w[:, -1]) ** 2)
    inner = w[:, :-1]
    return np.asarray(-ends - np.sum((inner - 1.0) ** 2 * (1.0 + 10.0 * np.sin(math.pi * inner + 1.0) ** 2), axis=1))


def rosenbrock(X: Rows) -> Rows:
    """Minus the Rosenbrock function on [-2, 2]^d, best at 1."""
    u = 4.0 * X - 2.0
    return np.asarray(-np.sum(100.0 * (u[:, 1:] - u[:, :-1] ** 2) ** 2 + (1.0 - u[:, :-1]) ** 2, axis=1))


def ackley(X: Rows) -> Rows:
    """Minus the Ackley function on [-10, 20]^d, best at 0, which is not the center."""
    u = 30.0 * X - 10.0
    bowl = -20.0 * np.exp(-0.2 * np.sqrt(np.mean(u**2, axis=1)))
    return np.asarray(-(bowl - np.exp(np.mean(np.cos(2.0 * math.pi * u), axis=1)) + 20.0 + math.e))


MORE: dict[str, Callable[[], Problem]] = {
    "levy-4": lambda: Problem("levy-4", levy, np.full(4, 0.55), 0.0, 0.03, evaluations=80),
    "rosenbrock-4": lambda: Problem("rosenbrock-4", rosenbrock, np.full(4, 0.75), 0.0, 0.03, evaluations=80),
    "ackley-5": lambda: Problem("ackley-5", ackley, np.full(5, 1.0 / 3.0), 0.0, 0.03, evaluations=100),
}
BBOB = {"bbob-2": 2, "bbob-5": 5}
"""By name, the dimension."""
NAMES = (*(name for name in TITLES if name != "hydrogen"), *MORE, *BBOB)


def problem(name: str, repeat: int) -> Problem:
    """The problem with a name; within the model and of bbob, every repeat has a function of its own."""
    if name in MORE:
        return MORE[name]()
    if name in BBOB:
        return bbob_problem(repeat % BBOB_FUNCTIONS + 1, repeat // BBOB_FUNCTIONS + 1, BBOB[name])
    return find_problem(name, repeat)


def bbob_problem(function: int, instance: int, dimension: int) -> Problem:
    """COCO's function of a number, minus its best value: the maximum is 0."""
    own = _suite(instance, dimension).get_problem_by_function_dimension_instance(function, dimension, instance)
    best = _best_of(own)
    lowest = float(own(best))
    span = own.upper_bounds - own.lower_bounds

    def values(X: Rows) -> Rows:
        return np.array([lowest - own(own.lower_bounds + span * np.clip(x, 0.0, 1.0)) for x in X])

    name = f"bbob-f{function}-i{instance}-d{dimension}"
    return Problem(name, values, (best - own.lower_bounds) / span, 0.0, 0.0, evaluations=20 * dimension)


@cache
def _suite(instance: int, dimension: int) -> Any:
    import cocoex

    return cocoex.Suite("bbob", f"instances: {instance}", f"dimensions: {dimension}")


def _best_of(own: Any) -> Rows:
    """Where it is best: COCO writes that to a file of the working folder."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            own._best_parameter("print")
            return np.atleast_1d(np.loadtxt("._bbob_problem_best_parameter.txt"))
        finally:
            os.chdir(before)
