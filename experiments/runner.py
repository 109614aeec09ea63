"""Making runs: several at a time on one machine or a cluster, or in lockstep on a GPU.

joblib distributes runs: "loky" over the processes of this machine, "dask" over the workers of a scheduler, "ray" over a
Ray cluster. Runs come back to this process, which writes them; only what is missing is run. In lockstep all repeats of
a problem advance together, for the methods that can.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed, parallel_config

from experiments.course import START, Course, noise_of, start_of, take_course
from experiments.methods import CONTENDERS
from experiments.problems import Problem, Rows, find_problem
from experiments.store import ALONE, Task, is_done, save_run, versions
from xstar import lockstep

BACKENDS = ("loky", "dask", "ray")
AT_ONCE = 1024
"""Runs that take their steps together on one device, at most."""

NEEDED = "{} is not installed; pip install 'xstar[clusters]' has it."

Report = Callable[[Sequence[Task], float], None]
"""Is told of tasks of which one more share has been done."""


def missing(tasks: Iterable[Task], folder: Path) -> list[Task]:
    """Tasks without a run."""
    return [task for task in tasks if not is_done(folder, task)]


def run_separately(
    tasks: Sequence[Task], folder: Path, jobs: int, backend: str = "loky", address: str | None = None,
    report: Report | None = None,
) -> None:  # fmt: skip
    """Make runs one at a time in each of several workers."""
    with _workers(backend, jobs, address):
        # Ray's backend hands back whole lists only: short ones, so that little is lost when it is stopped.
        size = 4 * abs(jobs) if backend == "ray" else max(1, len(tasks))
        returned = "list" if backend == "ray" else "generator_unordered"
        for first in range(0, len(tasks), size):
            calls = (delayed(make_run)(task) for task in tasks[first : first + size])
            for task, course, known in Parallel(return_as=returned)(calls):
                save_run(folder, task, course, ALONE, known)
                if report is not None:
                    report([task], 1.0)


def make_run(task: Task) -> tuple[Task, Course, dict[str, str]]:
    """In a worker: the run of a task, and the versions that it was made with."""
    return task, take_course(*task), versions()


@contextlib.contextmanager
def _workers(backend: str, jobs: int, address: str | None) -> Iterator[None]:
    """Where joblib sends work, meanwhile."""
    if backend == "dask":
        try:
            from distributed import Client
        except ImportError as error:
            raise ImportError(NEEDED.format("Dask")) from error
        client = Client(address) if address else Client(n_workers=jobs, threads_per_worker=1)
        with client, parallel_config("dask", n_jobs=-1):
            yield
        return
    if backend == "ray":
        try:
            import ray
            from ray.util.joblib import register_ray
        except ImportError as error:
            raise ImportError(NEEDED.format("Ray")) from error
        if not ray.is_initialized():
            ray.init(address, **({} if address else {"num_cpus": jobs, "include_dashboard": False}))
        register_ray()
        with parallel_config("ray", n_jobs=jobs):
            yield
        return
    with parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1):
        yield


def run_in_lockstep(
    tasks: Sequence[Task], folder: Path, compute: str, threads: int = 1, report: Report | None = None
) -> None:
    """Make runs where `compute` says: those of one problem, method and number of evaluations together."""
    kinds = dict.fromkeys((task.problem, task.method, task.evaluations) for task in tasks)
    for kind in kinds:
        alike = [task for task in tasks if (task.problem, task.method, task.evaluations) == kind]
        for first in range(0, len(alike), AT_ONCE):
            some = alike[first : first + AT_ONCE]
            share = 1.0 / max(1, some[0].evaluations - START)
            after = None if report is None else partial(_tell, report, some, share)
            for task, course in zip(some, take_courses(some, compute, threads, after), strict=True):
                save_run(folder, task, course, f"in lockstep, {compute}", versions())


def _tell(report: Report, tasks: Sequence[Task], share: float, _: int) -> None:
    report(tasks, share)


def goes_in_lockstep(task: Task) -> bool:
    """Whether a task's method takes many problems at once."""
    return task.method in CONTENDERS and not CONTENDERS[task.method].alone


def take_courses(
    tasks: Sequence[Task], compute: str, threads: int = 1, after: Callable[[int], None] | None = None
) -> list[Course]:
    """Courses of the same problem and method, taken together; `after` is called after every step."""
    problem, method, _, evaluations = tasks[0]
    functions = [find_problem(problem, task.repeat) for task in tasks]
    repeats = [task.repeat for task in tasks]
    problems = lockstep.Problems(_together(functions), functions[0].noise, CONTENDERS[method].method(functions[0]))
    record = lockstep.run(
        problems,
        np.stack([start_of(functions[0].dimension, repeat) for repeat in repeats]),
        evaluations - START,
        repeats,
        compute=compute,
        draws=np.stack([noise_of(evaluations, repeat) for repeat in repeats]),
        threads=threads,
        after=after,
    )
    courses = []
    for function, X, y, recommended in zip(functions, record.X, record.y, record.recommended, strict=True):
        courses.append(Course(X, y, recommended, function.regret(recommended), None, 0))
    return courses


def _together(functions: Sequence[Problem]) -> Callable[[Rows], Rows]:
    """From points (R, m, d) to the functions' values (R, m)."""
    first = functions[0].values
    if all(function.values is first for function in functions):
        return lambda X: first(X.reshape(-1, X.shape[-1])).reshape(X.shape[:2])
    return lambda X: np.stack([function.values(rows) for function, rows in zip(functions, X, strict=True)])
