"""How often what was said was true."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

SHOWN = (5, 10, 20)
"""Evaluations for each coordinate of the printed rows."""
TOLERANCE = 0.1
"""In units of the function's standard deviation: where a run would have stopped."""
WITHIN = 1.96
"""Standard deviations to both sides that hold 95 % of a Gaussian."""
ROUNDING = 1e-9
COLUMNS = ("function", "number", "noise", "n", "share", "bound", "regret", "z", "inside", "coordinates")


def load(folder: Path) -> list[dict[str, Any]]:
    """Return what was said and what is true, a row for each time that a run's models were asked."""
    rows = []
    for path in sorted(folder.glob("*.npz")):
        name, variant, _ = path.stem.split("__")
        with np.load(path) as data:
            columns = {key: data[key].tolist() for key in COLUMNS}
        for values in zip(*columns.values(), strict=True):
            rows.append({"set": name, "variant": variant, **dict(zip(columns, values, strict=True))})
    return rows


def runs(folder: Path) -> dict[str, list[str]]:
    """Return the files of a folder (set, variant, instances) by what they were made with: maybe another machine."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as data:
            found.setdefault(str(data["made_with"]), []).append(path.stem)
    return found


def count(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how often it was true: an entry for each set of functions, variant and noise."""
    groups: dict[tuple[str, str, float], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["set"], row["variant"], row["noise"]), []).append(row)
    return [
        {
            "set": name, "variant": variant, "noise": noise,
            "at": {str(share): _counts([row for row in own if row["share"] == share]) for share in SHOWN},
            "stops": _stops(own),
            "by_function": _by_function(own),
        }
        for (name, variant, noise), own in groups.items()
    ]  # fmt: skip


def _holds(row: dict[str, Any]) -> bool:
    return bool(row["regret"] <= row["bound"] + ROUNDING)


def _counts(rows: Sequence[dict[str, Any]]) -> dict[str, int]:
    return {
        "runs": len(rows),
        "bound": sum(map(_holds, rows)),
        "usual": sum(abs(row["z"]) < WITHIN for row in rows),
        "inside": sum(row["inside"] for row in rows),
        "coordinates": sum(row["coordinates"] for row in rows),
    }


def _stops(rows: Sequence[dict[str, Any]]) -> dict[str, int]:
    """How many runs there are, how many of them stop by the tolerance, and how many of these too early."""
    runs: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        runs.setdefault(row["number"], []).append(row)
    ends = [next((row for row in sorted(own, key=lambda row: row["n"]) if row["bound"] <= TOLERANCE), None)
            for own in runs.values()]  # fmt: skip
    stopped = [row for row in ends if row is not None]
    return {"runs": len(runs), "stopped": len(stopped), "early": sum(row["regret"] > TOLERANCE for row in stopped)}


def _by_function(rows: Sequence[dict[str, Any]]) -> dict[str, list[int]]:
    """How often the bound held, of how many times, for each function."""
    found: dict[str, list[int]] = {}
    for row in rows:
        if row["share"] in SHOWN:
            own = found.setdefault(row["function"], [0, 0])
            own[0] += _holds(row)
            own[1] += 1
    return found


def lines(entries: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield f"{'set':9s} {'variant':8s} noise n/d runs  bound holds        |z| < 1.96         inside"
    for entry in entries:
        for share, found in entry["at"].items():
            holds, usual = (interval(found[key], found["runs"]) for key in ("bound", "usual"))
            inside = found["inside"] / max(found["coordinates"], 1)
            yield (
                f"{entry['set']:9s} {entry['variant']:8s} {entry['noise']:5g} {share:>3s} {found['runs']:4d}"
                f"  {holds:18s} {usual:18s} {inside:.0%}"
            )
        stops = entry["stops"]
        early = f"{interval(stops['early'], stops['stopped'])} of {stops['stopped']} that stop, of {stops['runs']}"
        yield f"{'':24s} too early: {early}; worst bounds: {worst(entry['by_function'])}"


def interval(k: int, n: int) -> str:
    """Return a share with its binomial 95 % interval [Wil27].

    [Wil27]  Wilson, Probable inference, the law of succession, and statistical inference, 1927.
    """
    if not n:
        return "-"
    z = WITHIN
    center, half = (k + z * z / 2) / (n + z * z), z * math.sqrt(k * (n - k) / n + z * z / 4) / (n + z * z)
    return f"{k / n:.0%} ({max(center - half, 0.0):.0%} to {min(center + half, 1.0):.0%})"


def worst(by_function: dict[str, list[int]], most: int = 3) -> str:
    """Return the functions whose bounds hold least often, at all times together."""
    ranked = sorted(by_function.items(), key=lambda item: item[1][0] / item[1][1])[:most]
    return ", ".join(f"{name} {holds / times:.0%}" for name, (holds, times) in ranked)
