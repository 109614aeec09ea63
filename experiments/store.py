"""Runs on disk: one small file each, written whole or not at all; and the results that are made of them.

    <folder>/runs/<problem>/<method>/<repeat>.json      a run: where it went, and its regret
    <folder>/results/<problem>.json                     regrets of all methods, with versions and seeds

A run that is on disk is not made again, unless it is shorter than asked for or of another version of xstar.
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import xstar
from experiments.course import START, Course
from experiments.problems import Rows

DIGITS = 3
"""Of regrets in results files."""
ALONE = "one at a time"
"""How runs were computed that did not go in lockstep with others."""
PACKAGES = ("numpy", "scipy", "torch", "botorch", "optuna", "greenlet")


class Task(NamedTuple):
    """A run to be made."""

    problem: str
    method: str
    repeat: int
    evaluations: int

    def path(self, folder: Path) -> Path:
        """Where it is kept."""
        return folder / "runs" / self.problem / self.method / f"{self.repeat:04d}.json"


def write_json(path: Path, content: Any) -> None:
    """Replace a file at once, so that nobody ever reads half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, separators=(",", ":"), allow_nan=False)
            file.write("\n")
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def versions() -> dict[str, str]:
    """Of Python, xstar and what it computes with."""
    found = {"python": platform.python_version(), "xstar": xstar.__version__}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def save_run(folder: Path, task: Task, course: Course, computed_by: str, known: dict[str, str]) -> None:
    """Keep a run; `known` are the versions it was made with."""
    content = {
        **task._asdict(),
        "computed_by": computed_by,
        "versions": known,
        "cpu_seconds": course.cpu_seconds,
        "degraded": course.degraded,
        "regret": course.regret.tolist(),
        "X": course.X.tolist(),
        "y": course.y.tolist(),
        "recommended": course.recommended.tolist(),
    }
    write_json(task.path(folder), content)


def load_run(folder: Path, task: Task) -> dict[str, Any] | None:
    """A run that serves for a task, or None."""
    try:
        run: dict[str, Any] = json.loads(task.path(folder).read_text(encoding="utf-8"))
        fits = run["evaluations"] >= task.evaluations and run["versions"]["xstar"] == xstar.__version__
        complete = len(run["regret"]) == run["evaluations"] - START + 1
    except (OSError, ValueError, KeyError, TypeError):
        return None  # there is none, or it is damaged
    return run if fits and complete else None


def is_done(folder: Path, task: Task) -> bool:
    """Whether a task needs no run."""
    return load_run(folder, task) is not None


class Curves(NamedTuple):
    """The regrets of one method on one problem."""

    repeats: list[int]
    regret: Rows
    """Shape (repeats, evaluations - START + 1)."""
    cpu_seconds: float | None
    """Of a suggestion, the median of all runs that were made one at a time; None if all went in lockstep."""


Results = dict[str, dict[str, Curves]]
"""Problem, then method."""


def collect(folder: Path, tasks: Iterable[Task]) -> dict[str, dict[str, Any]]:
    """Results of the runs on disk, by problem, as they are written to files."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for task in tasks:
        run = load_run(folder, task)
        if run is not None:
            run["regret"] = run["regret"][: task.evaluations - START + 1]
            found.setdefault(task.problem, {}).setdefault(task.method, []).append(run)
    return {problem: _summary(problem, methods) for problem, methods in found.items()}


def _summary(problem: str, methods: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    rows = {}
    for method, runs in methods.items():
        timed = [run["cpu_seconds"] for run in runs if run["computed_by"] == ALONE]
        rows[method] = {
            "computed_by": sorted({run["computed_by"] for run in runs}),
            "versions": [dict(pairs) for pairs in sorted({tuple(run["versions"].items()) for run in runs})],
            "cpu_seconds": float(f"{np.median(timed):.3g}") if timed else None,
            "degraded": sum(run["degraded"] for run in runs),
            "repeats": [run["repeat"] for run in runs],
            "regret": [[float(f"{value:.{DIGITS}g}") for value in run["regret"]] for run in runs],
        }
    return {"problem": problem, "start": START, "methods": rows}


def write_results(folder: Path, collected: dict[str, dict[str, Any]]) -> list[Path]:
    """Write collected results; methods of earlier files stay, where they were not collected now."""
    paths = []
    for problem, content in collected.items():
        path = folder / f"{problem}.json"
        if path.exists():
            earlier = json.loads(path.read_text(encoding="utf-8"))["methods"]
            content = {**content, "methods": {**earlier, **content["methods"]}}  # noqa: PLW2901
        write_json(path, content)
        paths.append(path)
    return paths


def read_results(folder: Path, problems: Sequence[str]) -> Results:
    """Results of those problems that there are files of."""
    files = {problem: folder / f"{problem}.json" for problem in problems}
    return {
        problem: curves_of(json.loads(path.read_text(encoding="utf-8")))
        for problem, path in files.items()
        if path.exists()
    }


def curves_of(content: dict[str, Any]) -> dict[str, Curves]:
    """The curves of a collected problem."""
    return {
        method: Curves(row["repeats"], np.array(row["regret"]), row["cpu_seconds"])
        for method, row in content["methods"].items()
    }
