"""The results that tables are made of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measure import RESULTS

EXPERIMENTS = Path(__file__).parents[2] / "experiments" / "results"
TITLES = {
    "xstar": "xstar", "numpy": "NumPy", "scipy": "SciPy", "scikit-learn": "scikit-learn", "optuna": "Optuna",
    "greenlet": "greenlet", "torch": "torch", "botorch": "BoTorch",
}  # fmt: skip


class Measured(NamedTuple):
    """A file of benchmarks/results."""

    machine: dict[str, str]
    settings: dict[str, Any]
    rows: list[dict[str, Any]]


def read(name: str) -> Measured:
    """The results of a benchmark."""
    content = read_whole(name)
    return Measured(content["machine"], content["settings"], content["rows"])


def read_whole(name: str) -> dict[str, Any]:
    """The same for a file that has parts of its own."""
    content: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return content


def made_with(machine: dict[str, str], *packages: str) -> list[str]:
    """A line under a table: the versions that count, and the processor."""
    versions = ", ".join(f"{TITLES[name]} {machine[name]}" for name in packages if name in machine)
    return ["", f"Measured with {versions} on {machine['processor']}."]
