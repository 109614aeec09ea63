"""What it costs to begin: importing, the command line, the first suggestion of a process, and the space on the disk.

    python -m benchmarks.startup [--repeats 5] [--size]

Every number is the median over fresh processes with one thread, in CPU seconds unless it says wall. Beside it is what
it may be at most, and what Optuna takes in the same run: its own import and command line, and its GPSampler if torch,
which it needs, is installed. Everything is to be maximized over two parameters.

    import                  what `import xstar` adds to `import numpy`
    xstar --help            the whole process
    first ask               a point of the design; it may take as long as the tenth ask of the same run
    first model-based ask   it may take as long as the tenth of them
    first ask for a study   that has 10 results, in a process that has suggested nothing yet; it may take as long as the
                            same ask once more

With --size, the package is installed with its required dependencies into a new environment, and the files of its
site-packages without pip and setuptools are added up. Results go to benchmarks/results/startup.json.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import venv
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import ONE_THREAD, save

ROOT = Path(__file__).parent.parent
IMPORT = "import time, numpy; start = time.process_time(); import {}; print(time.process_time() - start)"
CALL = "import json; from benchmarks import startup; print(json.dumps(startup.{}()))"
IMPORT_BOUND, HELP_BOUND, SIZE_BOUND = 0.1, 0.5, 300.0
SQUARE = [(0.0, 1.0), (0.0, 1.0)]
MODEL_BASED = 10
"""Suggestions by a model in a run."""
RESULTS = 10
"""Of a study that is taken up."""


def value(x0: float, x1: float) -> float:
    """A hill."""
    return -((x0 - 0.3) ** 2) - (x1 - 0.6) ** 2


def ours() -> list[float]:
    """Seconds of the asks of one run."""
    import xstar

    warnings.simplefilter("error", xstar.DegradedWarning)  # a fallback is not what is timed
    optimizer, seconds = xstar.Optimizer(SQUARE, seed=0), []
    for _ in range(optimizer.num_initial + MODEL_BASED):
        start = time.process_time()
        trial = optimizer.ask()
        seconds.append(time.process_time() - start)
        optimizer.tell(trial, value(**trial.params))
    return seconds


def gpsampler() -> list[float]:
    """The same with Optuna's GPSampler, whose first 10 trials are random."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    study, seconds = optuna.create_study(direction="maximize", sampler=optuna.samplers.GPSampler(seed=0)), []
    for _ in range(10 + MODEL_BASED):
        start = time.process_time()
        trial = study.ask()
        point = trial.suggest_float("x0", 0.0, 1.0), trial.suggest_float("x1", 0.0, 1.0)
        seconds.append(time.process_time() - start)
        study.tell(trial, value(*point))
    return seconds


def taken_up() -> list[float]:
    """Seconds of the first ask for a study that has results, and of the same ask again."""
    import numpy as np

    import xstar

    warnings.simplefilter("error", xstar.DegradedWarning)
    points = [{"x0": float(a), "x1": float(b)} for a, b in np.random.default_rng(0).random((RESULTS, 2))]
    trials = [xstar.Trial(k, params, "done", value(**params)) for k, params in enumerate(points)]
    seconds = []
    for _ in range(2):
        optimizer = xstar.Optimizer.from_trials(trials, SQUARE)
        start = time.process_time()
        optimizer.ask()
        seconds.append(time.process_time() - start)
    return seconds


def fresh(code: str) -> Any:
    """What a new interpreter prints, read as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT, env={**os.environ, **ONE_THREAD}, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def program(name: str) -> tuple[float, float]:
    """CPU and wall seconds of `name --help`, the program of this environment."""
    command = [str(Path(sys.executable).parent / name), "--help"]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, env={**os.environ, **ONE_THREAD}, stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, wall


def medians(samples: list[list[float]]) -> list[float]:
    """Of each column."""
    return [statistics.median(column) for column in zip(*samples, strict=True)]


def row(what: str, cost: float, bound: float, rival: float | None, unit: str = "s") -> dict[str, Any]:
    """A line of the table, printed."""
    line = {"what": what, "cost": cost, "bound": bound, "rival": rival, "unit": unit}
    digits = 0 if unit == "MB" else 3
    beside = "-" if rival is None else f"{rival:.{digits}f}"
    verdict = "" if cost <= bound else "  OVER"
    print(f"{what:34s}{cost:9.{digits}f}{bound:9.{digits}f}{beside:>9s} {unit}{verdict}", flush=True)
    return line


def beginnings(repeats: int) -> list[dict[str, Any]]:
    """Importing and the command line."""
    for package in ("xstar", "optuna"):
        fresh(IMPORT.format(package))  # files are read, and compiled, once
    own, other = ([fresh(IMPORT.format(package)) for _ in range(repeats)] for package in ("xstar", "optuna"))
    rows = [row("import", statistics.median(own), IMPORT_BOUND, statistics.median(other))]
    own, other = (medians([list(program(name)) for _ in range(repeats)]) for name in ("xstar", "optuna"))
    for k, what in enumerate(("--help", "--help, wall")):
        rows.append(row(what, own[k], HELP_BOUND, other[k]))
    return rows


def suggestions(repeats: int) -> list[dict[str, Any]]:
    """The first suggestions of a process."""
    own = medians([fresh(CALL.format("ours")) for _ in range(repeats)])
    other: Sequence[float | None]
    has_torch = importlib.util.find_spec("torch") is not None
    other = medians([fresh(CALL.format("gpsampler")) for _ in range(repeats)]) if has_torch else [None] * MODEL_BASED
    first, again = medians([fresh(CALL.format("taken_up")) for _ in range(repeats)])
    return [
        row("first ask", own[0], own[9], other[0]),
        row("first model-based ask", own[-MODEL_BASED], own[-1], other[-MODEL_BASED]),
        row("first ask for a study", first, again, None),
    ]


def installed() -> list[dict[str, Any]]:
    """Megabytes of an environment with the package and what it requires, and of NumPy and SciPy in it."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        binary = Path(folder) / "bin" / "python"
        subprocess.run([str(binary), "-m", "pip", "install", "-qq", str(ROOT)], check=True)
        (site,) = Path(folder).glob("lib/python*/site-packages")
        sizes = {entry.name: _megabytes(entry) for entry in site.iterdir()}
    ours = {name: size for name, size in sizes.items() if not name.startswith(TOOLS)}
    numerical = sum(size for name, size in ours.items() if name.startswith(("numpy", "scipy")))
    rows = [row("installed", sum(ours.values()), SIZE_BOUND, None, "MB")]
    largest = dict(sorted(ours.items(), key=lambda item: -item[1])[:10])
    print(f"NumPy and SciPy are {numerical:.0f} of it; " + ", ".join(f"{k} {v:.0f}" for k, v in largest.items()))
    return [{**rows[0], "numpy_and_scipy": numerical, "largest": largest}]


TOOLS = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence")


def _megabytes(path: Path) -> float:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--size", action="store_true", help="also install into a new environment; needs the network")
    options = parser.parse_args()
    print(f"{'':34s}{'xstar':>9s}{'bound':>9s}{'Optuna':>9s}")
    rows = beginnings(options.repeats) + suggestions(options.repeats) + (installed() if options.size else [])
    print(f"wrote {save('startup', rows, repeats=options.repeats)}")


if __name__ == "__main__":
    main()
