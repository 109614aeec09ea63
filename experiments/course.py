"""One optimization, from its start to its last recommendation.

Everything that is random about the problem comes from the number of the repeat: the start is a Latin hypercube of three
points, and the k-th evaluation has the k-th draw of noise, whichever method chose it. After the start and after every
evaluation the method recommends a point; what the function loses there is the immediate regret.
"""

from __future__ import annotations

import importlib
import time
import warnings
from typing import NamedTuple, Protocol

import numpy as np
from scipy.stats import qmc

import xstar
from experiments.methods import CONTENDERS, PEERS
from experiments.problems import Problem, Rows, find_problem

START = 3
SEED = 0x57A2


class Course(NamedTuple):
    """What happened."""

    X: Rows
    """Where it was evaluated, (n, d)."""
    y: Rows
    """The noisy values, (n,)."""
    recommended: Rows
    """After the start and after each evaluation, (n - START + 1, d)."""
    regret: Rows
    """There, (n - START + 1,)."""
    cpu_seconds: float | None
    """Of a suggestion, the median; None where it was made together with others."""
    degraded: int
    """Suggestions that a method left to a simpler one."""


class Session(Protocol):
    """One optimization by some library."""

    degraded: int

    def tell(self, x: Rows, y: float) -> None:
        """Take note of a value."""

    def suggest(self) -> Rows:
        """The next point, (d,)."""

    def recommend(self) -> Rows:
        """The best point, (d,)."""


class Ours:
    """By `xstar.Optimizer`."""

    def __init__(self, problem: Problem, method: str, seed: int) -> None:
        bounds = [(0.0, 1.0)] * problem.dimension
        chosen = CONTENDERS[method].method(problem)
        self.optimizer = xstar.Optimizer(bounds, method=chosen, seed=seed, num_initial=START)
        self.degraded = 0

    def tell(self, x: Rows, y: float) -> None:
        """Take note of a value."""
        self.optimizer.tell(x, y)

    def suggest(self) -> Rows:
        """The next point."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", xstar.DegradedWarning)
            trial = self.optimizer.ask()
        self.degraded += trial.diagnostics["fallback"] is not None
        return _row(trial)

    def recommend(self) -> Rows:
        """The maximizer of the posterior mean."""
        return _row(self.optimizer.recommend())


def _row(point: xstar.Trial | xstar.Recommendation) -> Rows:
    return np.array([point.params[f"x{k}"] for k in range(len(point.params))])


def start_of(dimension: int, repeat: int) -> Rows:
    """Where a repeat begins, (START, d)."""
    design = qmc.LatinHypercube(dimension, rng=np.random.default_rng([SEED, repeat, 0]))
    return np.asarray(design.random(START))


def noise_of(evaluations: int, repeat: int) -> Rows:
    """A repeat's noise in standard deviations, (evaluations,)."""
    return np.random.default_rng([SEED, repeat, 1]).standard_normal(evaluations)


def take_course(name: str, method: str, repeat: int, evaluations: int) -> Course:
    """Optimize a problem once."""
    problem = find_problem(name, repeat)
    if method in CONTENDERS:
        session: Session = Ours(problem, method, repeat)
    elif method not in PEERS:
        raise ValueError(f"there is no method {method!r}; there are {', '.join((*CONTENDERS, *PEERS))}.")
    else:
        session = importlib.import_module("experiments.peers").begin(method, problem, repeat)
    noise = problem.noise * noise_of(evaluations, repeat)
    points: list[Rows] = []
    values: list[float] = []
    recommended: list[Rows] = []
    seconds: list[float] = []

    def evaluate(x: Rows) -> None:
        y = float(problem.values(x[None, :])[0] + noise[len(points)])
        points.append(x)
        values.append(y)
        session.tell(x, y)

    for x in start_of(problem.dimension, repeat):
        evaluate(x)
    while True:
        recommended.append(session.recommend())
        if len(points) == evaluations:
            break
        # The recommendation has fitted the model to the last value already, where one is fitted.
        began = time.process_time()
        x = session.suggest()
        seconds.append(time.process_time() - began)
        evaluate(x)
    regret = problem.regret(np.array(recommended))
    return Course(
        np.array(points), np.array(values), np.array(recommended), regret, float(np.median(seconds or [0.0])),
        session.degraded,
    )  # fmt: skip
