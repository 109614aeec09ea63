"""The table of docs/trust.md on what models claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from benchmarks.calibration.table import SHOWN, interval
from benchmarks.published.markdown import Lines, table
from benchmarks.published.numbers import DASH
from benchmarks.published.results import read

SETS = {
    "bbob, d = 2": ("bbob-2",),
    "bbob, d = 5": ("bbob-5",),
    "all of bbob": ("bbob-2", "bbob-5"),
    "Branin": ("branin",),
    "Hartmann-6": ("hartmann",),
    "functions of the model, learned": ("gp",),
    "functions of the model, known": ("gp-known",),
}
VARIANTS = {"default": "half of the evidence", "sure": "all of it"}


def calibration() -> Lines:
    """How often the bound held after 5, 10 and 20 evaluations a coordinate, and how many runs stopped too early."""
    entries = read("calibration").rows
    rows = []
    for title, sets in SETS.items():
        for variant, believes in VARIANTS.items():
            own = [entry for entry in entries if entry["set"] in sets and entry["variant"] == variant]
            if {entry["set"] for entry in own} == set(sets):
                rows.append([title, believes, *_cells(own)])
    head = ["functions", "hyperparameters by", "runs", *(f"bound holds, {share} d" for share in SHOWN)]
    return table([*head, *(f"\\|z\\| < 1.96, {share} d" for share in SHOWN), "stop too early"], rows)


def worst() -> Lines:
    """The functions of bbob whose bounds hold least often."""
    entries = [entry for entry in read("calibration").rows if entry["set"] in SETS["all of bbob"]]
    found: dict[str, Counter[str]] = {}
    for entry in entries:
        for name, (holds, times) in entry["by_function"].items():
            found.setdefault(name, Counter()).update({entry["variant"]: holds, f"of {entry['variant']}": times})
    ranked = sorted(found.items(), key=lambda item: item[1]["default"] / item[1]["of default"])[:5]
    return table(
        ("function of bbob", *VARIANTS.values()),
        [[name, *(_share(counts[v], counts[f"of {v}"]) for v in VARIANTS)] for name, counts in ranked],
    )


def _cells(entries: Iterable[dict[str, Any]]) -> list[str]:
    at: dict[str, Counter[str]] = {str(share): Counter() for share in SHOWN}
    stops: Counter[str] = Counter()
    for entry in entries:
        stops.update(entry["stops"])
        for share, counts in entry["at"].items():
            at[share].update(counts)
    shares = [interval(found[key], found["runs"]) for key in ("bound", "usual") for found in at.values()]
    early = f"{_share(stops['early'], stops['stopped'])} of {stops['stopped']}" if stops["stopped"] else DASH
    return [str(stops["runs"]), *shares, early]


def _share(k: int, n: int) -> str:
    return f"{k / n:.0%}" if n else DASH
