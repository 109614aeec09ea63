"""One variant on some repeats of a problem: all in lockstep, or one after the other for another library."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.campaign.problems import problem
from benchmarks.campaign.variants import LIBRARIES, VARIANTS
from experiments.course import START, noise_of, start_of
from experiments.problems import Problem, Rows
from experiments.problems.within_model import LENGTHSCALE
from xstar import Method, lockstep
from xstar.gp import Fixed, Hyperparameters, SquaredExponential

COUNTS = ("recommended", "tested", "observed", "evaluated")
FOLDER = Path("output/campaign")


class Job(NamedTuple):
    """A variant on the repeats `first` to `first + repeats - 1` of a problem."""

    problem: str
    variant: str
    first: int
    repeats: int
    evaluations: int | None
    """At most so many; None for as many as the problem has."""
    compute: str

    @property
    def file(self) -> Path:
        """Where the regrets are kept."""
        return FOLDER / f"{self.problem}@{self.variant}@{self.first}.npz"


def run(job: Job) -> float:
    """Make the runs and keep their regrets; returns the CPU seconds."""
    began = time.process_time()
    numbers = range(job.first, job.first + job.repeats)
    functions = [problem(job.problem, number) for number in numbers]
    most = functions[0].evaluations
    n = most if job.evaluations is None else min(job.evaluations, most)
    make = _by_library if job.variant in LIBRARIES else _in_lockstep
    counts = make(job, functions, numbers, n)
    job.file.parent.mkdir(parents=True, exist_ok=True)
    seconds = time.process_time() - began
    np.savez_compressed(job.file, seconds=seconds, **counts)  # type: ignore[arg-type]
    return seconds


def _in_lockstep(job: Job, functions: Sequence[Problem], numbers: Sequence[int], n: int) -> dict[str, Rows]:
    one = functions[0]
    method = VARIANTS[job.variant].method()
    if job.problem == "within-model":
        known = Hyperparameters(np.full(one.dimension, LENGTHSCALE), 1.0, one.noise)
        method = Method(SquaredExponential(), Fixed(known), method.acquisition, method.model, method.balance)
    problems = lockstep.Problems(
        lambda X: np.stack([f.values(x) for f, x in zip(functions, X, strict=True)]), one.noise, method
    )
    start = np.stack([start_of(one.dimension, number) for number in numbers])
    draws = np.stack([noise_of(n, number) for number in numbers])
    record = lockstep.run(problems, start, n - START, list(numbers), compute=job.compute, draws=draws)
    return {
        "recommended": _regrets(functions, record.recommended),
        "tested": _regrets(functions, record.tested),
        **_by_value(functions, record.X, record.y),
    }


def _by_library(job: Job, functions: Sequence[Problem], numbers: Sequence[int], n: int) -> dict[str, Rows]:
    from experiments.peers import begin

    parts: dict[str, list[Rows]] = {name: [] for name in COUNTS}
    for number, f in zip(numbers, functions, strict=True):
        session = begin(job.variant, replace(f, evaluations=n), number)
        noise = f.noise * noise_of(n, number)
        X: list[Rows] = []
        y: list[float] = []
        recommended: list[Rows] = []
        start = start_of(f.dimension, number)
        for k in range(n):
            x = start[k] if k < START else session.suggest()
            X.append(x)
            y.append(float(f.values(x[None, :])[0] + noise[k]))
            session.tell(x, y[-1])
            if k + 1 >= START:
                recommended.append(session.recommend())
        parts["recommended"].append(f.regret(np.array(recommended)))
        for name, regret in _by_value([f], np.array(X)[None], np.array(y)[None]).items():
            parts[name].append(regret[0])
    # Which evaluated point their models find best is not asked.
    return {name: np.stack(rows) for name, rows in parts.items() if rows}


def _by_value(functions: Sequence[Problem], X: Rows, y: Rows) -> dict[str, Rows]:
    """The regrets (R, n - START + 1) of the points with the best values so far, and of the best ones in hindsight."""
    each = _regrets(functions, X)
    best = np.stack([np.argmax(y[:, :k], axis=1) for k in range(START, y.shape[1] + 1)], axis=1)
    return {
        "observed": np.take_along_axis(each, best, axis=1),
        "evaluated": np.minimum.accumulate(each, axis=1)[:, START - 1 :],
    }


def _regrets(functions: Sequence[Problem], points: Rows) -> Rows:
    """Of points (R, m, d), shape (R, m)."""
    return np.stack([f.regret(x) for f, x in zip(functions, points, strict=True)])
