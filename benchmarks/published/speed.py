"""Tables of what a suggestion costs beside other libraries, and the first one of a process: docs/scale.md, README."""

from __future__ import annotations

from typing import Any

from benchmarks.published.markdown import Lines, table
from benchmarks.published.numbers import DASH, seconds
from benchmarks.published.results import Measured, made_with, read

CONTENDERS = {
    "ours": "ours", "gpsampler": "Optuna GPSampler", "botorch-logei": "BoTorch LogEI", "botorch-pes": "BoTorch PES",
}  # fmt: skip
EXCERPT = ((10, 2), (50, 6), (200, 6), (1000, 6), (1000, 20))
"""Values and parameters of the rows that README shows."""
BEGINNINGS = {
    "import": "import, on top of NumPy's",
    "--help": "`xstar --help`, `optuna --help`",
    "first ask": "first suggestion, without a model",
    "first model-based ask": "first suggestion with a model",
    "first ask for a study": "first suggestion for a study that has results",
}
LATER = ("first model-based ask", "first ask for a study")
"""Rows whose bound is what a later suggestion of the same process took."""


def speed() -> Lines:
    """CPU seconds of one suggestion at all sizes, ratios, and the memory of ours."""
    found = read("speed")
    rows = []
    for row in found.rows:
        cost = _costs(row)
        rows.append([
            str(row["d"]), str(row["n"]), *(seconds(cost[who]) for who in CONTENDERS),
            seconds(_ratio(cost["ours"], cost["gpsampler"])), seconds(_ratio(cost["botorch-pes"], cost["ours"])),
            f"{row['ours']['peak_mb']:.0f}",
        ])  # fmt: skip
    head = ("d", "n", *CONTENDERS.values(), "ours / GPSampler", "BoTorch PES / ours", "ours, MB")
    return [*table(head, rows), *_versions(found)]


def speed_excerpt() -> Lines:
    """Some rows of the same."""
    found = {(row["n"], row["d"]): _costs(row) for row in read("speed").rows}
    head = ("values, parameters", "xstar", *list(CONTENDERS.values())[1:])
    rows = [[f"{n}, {d}", *(seconds(found[n, d][who]) for who in CONTENDERS)] for n, d in EXCERPT]
    return table(head, rows)


def speed_without_greenlet() -> Lines:
    """The same beside GPSampler where greenlet is missing."""
    found = read("speed_without_greenlet")
    rows = []
    for row in found.rows:
        ours, other = (row[who]["cpu_seconds"] for who in ("ours", "gpsampler"))
        rows.append([str(row["d"]), str(row["n"]), seconds(ours), seconds(other), seconds(ours / other)])
    head = ("d", "n", "ours", "Optuna GPSampler", "ours / GPSampler")
    return [*table(head, rows), *_versions(found)]


def startup() -> Lines:
    """CPU milliseconds of what comes first in a process."""
    found = read("startup")
    costs = {row["what"]: row for row in found.rows}
    rows = []
    for what, title in BEGINNINGS.items():
        row = costs[what]
        later = _milliseconds(row["bound"]) if what in LATER else ""
        other = DASH if row["rival"] is None else _milliseconds(row["rival"])
        rows.append([title, _milliseconds(row["cost"]), later, other])
    head = ("CPU milliseconds", "xstar", "xstar, a later one", "Optuna, with GPSampler")
    return [*table(head, rows), *_versions(found)]


def _costs(row: dict[str, Any]) -> dict[str, float | None]:
    return {who: None if row[who] is None else row[who]["cpu_seconds"] for who in CONTENDERS}


def _milliseconds(cost: float) -> str:
    return f"{1e3 * cost:.1f}" if cost < 0.01 else f"{1e3 * cost:.0f}"


def _ratio(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first / second


def _versions(found: Measured) -> Lines:
    return made_with(found.machine, "xstar", "numpy", "scipy", "optuna", "greenlet", "botorch", "torch")
