"""What `xstar doctor` looks at: versions, extras, array backends, threads, and whether a small search works here."""

from __future__ import annotations

import os
import platform
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from xstar.version import __version__, installed

CORE = ("numpy", "scipy", "array-api-compat", "optuna", "sqlalchemy", "threadpoolctl", "tqdm")
"""Packages that xstar cannot do without."""
EXTRAS = {
    "plots": (("matplotlib",), "pictures and reports"),
    "dashboard": (("optuna-dashboard", "plotly"), "xstar dashboard"),
    "postgresql": (("psycopg",), "studies in PostgreSQL"),
    "torch": (("torch",), "models on a GPU"),
    "clusters": (("ray", "distributed"), "Ray Tune and Dask"),
    "completion": (("shtab",), "xstar completion"),
}
"""What `pip install 'xstar[extra]'` brings, for those who use xstar."""
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
OPTIMUM, NEAR = 0.3, 0.05


@dataclass(frozen=True)
class Check:
    """Something that was tried."""

    name: str
    passed: bool
    says: str
    seconds: float


@dataclass(frozen=True)
class Health:
    """What was found."""

    versions: dict[str, str | None]
    """Of xstar, Python and what xstar needs; None for what is missing."""
    platform: str
    extras: dict[str, dict[str, Any]]
    """For each extra, whether it is installed, the versions of its packages and what it brings."""
    backends: dict[str, str]
    """Where models can be computed, and on what."""
    processors: int
    threads: dict[str, int]
    """Threads of each library of linear algebra."""
    variables: dict[str, str]
    """What the environment says of threads."""
    checks: list[Check]

    @property
    def is_well(self) -> bool:
        """Whether everything that is needed is there, and works."""
        return None not in self.versions.values() and all(check.passed for check in self.checks)

    def __str__(self) -> str:
        width = max(map(len, [*self.versions, *self.extras, *self.threads, *VARIABLES])) + 2
        lines = [f"{name:<{width}}{version or 'missing'}" for name, version in self.versions.items()]
        lines += [f"{'platform':<{width}}{self.platform}, {self.processors} processors", "", "extras"]
        for name, extra in self.extras.items():
            there = ", ".join(f"{package} {version}" for package, version in extra["packages"].items() if version)
            missing = f"not installed; {extra['brings']}: pip install 'xstar[{name}]'"
            lines.append(f"  {name:<{width}}{there if extra['installed'] else missing}")
        lines += ["", "arrays"]
        lines += [f"  {name:<{width}}{says}" for name, says in self.backends.items()]
        lines += ["", "threads of linear algebra (xstar uses one, unless told otherwise)"]
        lines += [f"  {name:<{width}}{count}" for name, count in {**self.threads, **self.variables}.items()]
        lines += ["", "self-test"]
        lines += [
            f"  {'ok  ' if check.passed else 'FAIL'}  {check.name}: {check.says} ({check.seconds:.1f} s)"
            for check in self.checks
        ]
        return "\n".join([*lines, "", "all is well" if self.is_well else "something is wrong; see above"])


def examine() -> Health:
    """Look at everything."""
    from threadpoolctl import threadpool_info

    checks = [_tried("a search finds a known optimum", _search), _tried("a study is written and read", _study)]
    pools = {
        f"{pool['internal_api']} {pool.get('version') or ''}".strip(): pool["num_threads"] for pool in threadpool_info()
    }
    return Health(
        versions={
            "xstar": __version__,
            "python": platform.python_version(),
            **{name: installed(name) for name in CORE},
        },
        platform=f"{platform.system()} {platform.release()} {platform.machine()}",
        extras={name: _extra(packages, brings) for name, (packages, brings) in EXTRAS.items()},
        backends=_backends(),
        processors=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        threads=pools,
        variables={name: os.environ[name] for name in VARIABLES if name in os.environ},
        checks=checks,
    )


def _extra(packages: tuple[str, ...], brings: str) -> dict[str, Any]:
    versions = {package: installed(package) for package in packages}
    return {"installed": None not in versions.values(), "packages": versions, "brings": brings}


def _backends() -> dict[str, str]:
    """NumPy, and what else is installed; other packages are slow to import, so only what is there is asked."""
    found = {"numpy": "on the processor"}
    for name in ("torch", "cupy"):
        if find_spec(name) is not None:
            found[name] = _devices(name)
    return found


def _devices(name: str) -> str:
    from importlib import import_module

    try:
        cuda = import_module(f"{name}.cuda")
        count = cuda.device_count() if name == "torch" else cuda.runtime.getDeviceCount()
    except Exception as error:  # a broken installation is what a doctor should name
        return f"installed, but it fails: {type(error).__name__}: {error}"
    return (
        f'{count} CUDA device{"" if count == 1 else "s"}: compute="{name}{":cuda" if name == "torch" else ""}"'
        if count
        else "no GPU"
    )


def _tried(name: str, action: Callable[[], str]) -> Check:
    began = time.perf_counter()
    try:
        says, passed = action(), True
    except Exception as error:  # whatever it is, it is the answer
        says, passed = f"{type(error).__name__}: {error}", False
    return Check(name, passed, says, time.perf_counter() - began)


def _search() -> str:
    from xstar.run import maximize

    result = maximize(lambda x: -((x[0] - OPTIMUM) ** 2), [(0.0, 1.0)], budget=8, seed=0, method="logei")
    found = float(result.optimizer.recommend().params["x0"])
    if abs(found - OPTIMUM) > NEAR:
        raise ArithmeticError(f"it was found at {found:.3f} instead of {OPTIMUM}")
    return f"at {found:.3f}, where it is {OPTIMUM}"


def _study() -> str:
    import optuna

    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        # On Windows a file that is still open cannot be removed.
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            storage = optuna.storages.RDBStorage(f"sqlite:///{Path(folder) / 'study.db'}")
            study = optuna.create_study(storage=storage, study_name="doctor")
            study.add_trial(optuna.create_trial(value=1.5))
            value = optuna.load_study(study_name="doctor", storage=storage).best_value
            storage.remove_session()
            storage.engine.dispose()
    finally:
        optuna.logging.set_verbosity(verbosity)
    if value != 1.5:
        raise OSError(f"1.5 was written and {value!r} read")
    return "with SQLite, in a temporary folder"
