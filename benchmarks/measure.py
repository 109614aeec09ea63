"""CPU seconds and peak memory of one task, in a process of its own with one thread.

A task is a function of a benchmark module that prepares its work and returns what is to be measured as a callable.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
RESULTS = Path(__file__).parent / "results"
PACKAGES = ("xstar", "numpy", "scipy", "scikit-learn", "optuna", "greenlet", "torch", "botorch")
"""Whose versions results files have, where they are installed."""


class Measured(NamedTuple):
    """What one task cost."""

    cpu_seconds: float
    """Median over repeats, after one run to warm up; with no repeats, the task times itself."""
    peak_mb: float
    """The most that Python and NumPy had allocated at once, on top of what the preparation left."""
    result: Any
    """What the callable returned."""


def measure(module: str, task: str, repeats: int, **settings: Any) -> Measured:
    """Run a task in a fresh process."""
    request = json.dumps({"module": module, "task": task, "repeats": repeats, "settings": settings})
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.measure", request],
        env={**os.environ, **ONE_THREAD}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"{module}.{task} failed:\n{done.stderr}")
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def machine() -> dict[str, str]:
    """Versions and processor, for results files."""
    processor = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [
            line.split(":")[1].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")
        ]
        processor = names[0] if names else processor
    versions = {name: _version(name) for name in PACKAGES}
    installed = {name: version for name, version in versions.items() if version is not None}
    return {"python": platform.python_version(), "processor": processor, **installed}


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def save(name: str, rows: list[dict[str, Any]], **settings: Any) -> Path:
    """Write a results file: versions, settings, rows."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({"machine": machine(), "settings": settings, "rows": rows}, indent=1) + "\n")
    return path.relative_to(RESULTS.parent.parent)


def load(name: str) -> list[dict[str, Any]]:
    """The rows of a results file, none if there is no such file."""
    path = RESULTS / f"{name}.json"
    return list(json.loads(path.read_text())["rows"]) if path.exists() else []


def spawned(jobs: int) -> ProcessPoolExecutor:
    """Fresh processes, so that the setting of one thread reaches their linear algebra."""
    os.environ.update(ONE_THREAD)
    return ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))


def _main(request: dict[str, Any]) -> None:
    prepare: Callable[..., Callable[[], Any]] = getattr(importlib.import_module(request["module"]), request["task"])
    work = prepare(**request["settings"])
    tracemalloc.start()
    result = work()
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    times = []
    for _ in range(request["repeats"]):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    seconds = statistics.median(times) if times else None
    print(json.dumps({"cpu_seconds": seconds, "peak_mb": peak, "result": result}))


if __name__ == "__main__":
    _main(json.loads(sys.argv[1]))
