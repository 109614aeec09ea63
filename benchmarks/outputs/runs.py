"""One method on one repeat of a problem, and the file that keeps what was found."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import qmc

from benchmarks.measure import load, save
from benchmarks.outputs import regrets
from benchmarks.outputs.peers import METHODS, begin
from benchmarks.outputs.problems import NAMES, OutputProblem, problem
from experiments.problems import Rows


class Job(NamedTuple):
    """Which run; a number of the repeat is a seed."""

    problem: str
    method: str
    repeat: int
    budget: int
    """Evaluations for each parameter."""
    noise: float
    """Standard deviation, as a share of the spread of each output."""


def start_of(task: OutputProblem, repeat: int) -> Rows:
    """2 (d + 1) points of a scrambled Sobol sequence."""
    count = 2 * (task.dimension + 1)
    sequence = qmc.Sobol(task.dimension, rng=np.random.default_rng([repeat, 0]))
    return np.asarray(sequence.random_base2(int(np.ceil(np.log2(count))))[:count])


def run(job: Job) -> dict[str, Any]:
    """The regret after each evaluation from the start on, and that of what is recommended after every d of them."""
    task = problem(job.problem, job.noise)
    start, d, n = start_of(task, job.repeat), task.dimension, job.budget * task.dimension
    noise = np.random.default_rng([job.repeat, 1])
    session = begin(job.method, task, job.repeat, len(start))
    X: list[Rows] = []
    recommended: dict[str, float] = {}
    seconds = 0.0
    for k in range(n):
        began = time.process_time()
        x = start[k] if k < len(start) else session.ask()
        seconds += time.process_time() - began
        outputs = task.evaluate(x, noise)
        began = time.process_time()
        session.tell(x, outputs)
        X.append(x)
        if k + 1 >= len(start) and (k + 1) % d == 0:
            found = session.recommend()
            seconds += time.process_time() - began
            recommended[str(k + 1)] = _log(regrets.recommended(task, found))
        else:
            seconds += time.process_time() - began
    course = regrets.evaluated(task, np.array(X))
    return {
        **job._asdict(), "start": len(start), "evaluated": [_log(regret) for regret in course[len(start) - 1 :]],
        "recommended": recommended, "feasible": int(np.sum(task.feasible(task.values(np.array(X))))),
        "degraded": session.degraded, "cpu_seconds": round(seconds, 2),
    }  # fmt: skip


def _log(regret: float) -> float:
    """The decimal logarithm, to three digits."""
    return round(float(np.log10(max(regret, regrets.LEAST))), 3)


def key(row: dict[str, Any]) -> Job:
    """Which run a row is of."""
    return Job(*(row[name] for name in Job._fields))


def missing(jobs: Iterable[Job], name: str) -> list[Job]:
    """Those that the file has not."""
    kept = {key(row) for row in load(name)}
    return [job for job in jobs if job not in kept]


def keep(rows: list[dict[str, Any]], name: str) -> Path:
    """Put rows into the file, beside those that others have put there meanwhile."""
    kept = {key(row): row for row in load(name)} | {key(row): row for row in rows}
    return save(name, [kept[job] for job in sorted(kept, key=_order)], least=regrets.LEAST)


def _order(job: Job) -> tuple[Any, ...]:
    place = NAMES.index(job.problem) if job.problem in NAMES else len(NAMES)
    family = job.method.partition(":")[0]
    return place, job.problem, job.noise, job.budget, METHODS.index(family), job.method, job.repeat
