"""How often what was said was true."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

SHOWN = (5, 10, 20)
"""Evaluations for each coordinate of the printed rows."""
TOLERANCE = 0.1
"""In units of the function's standard deviation: where a run would have stopped."""
KEPT = ("function", "number", "noise", "n", "share", "bound", "median", "regret", "z", "inside", "coordinates")


def load(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of all files of a folder."""
    rows = []
    for path in sorted(folder.glob("*.npz")):
        name, variant, _ = path.stem.split("__")
        with np.load(path) as data:
            columns = {key: data[key].tolist() for key in KEPT}
        for values in zip(*columns.values(), strict=True):
            rows.append({"set": name, "variant": variant, **dict(zip(columns, values, strict=True))})
    return rows


def lines(rows: Sequence[dict[str, Any]]) -> Iterable[str]:
    """Yield the lines of a table: a set, a variant and a noise each."""
    groups: dict[tuple[str, str, float], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["set"], row["variant"], row["noise"]), []).append(row)
    yield f"{'set':9s} {'variant':16s} noise n/d runs  bound holds        |z| < 1.96         inside"
    for (name, variant, noise), own in groups.items():
        for share in SHOWN:
            found = [row for row in own if row["share"] == share]
            holds = share_of(row["regret"] <= row["bound"] + 1e-9 for row in found)
            usual = share_of(abs(row["z"]) < 1.96 for row in found)
            inside = sum(row["inside"] for row in found) / max(sum(row["coordinates"] for row in found), 1)
            yield f"{name:9s} {variant:16s} {noise:5g} {share:3d} {len(found):4d}  {holds}   {usual}   {inside:.0%}"
        yield f"{'':9s} {'':16s} {'':5s}  stops too early: {early(own)}; worst: {worst(own)}"


def share_of(outcomes: Iterable[bool]) -> str:
    """Return a share with its binomial 95 % interval [Wilson]."""
    found = list(outcomes)
    k, n, z = sum(found), len(found), 1.96
    if not n:
        return "-"
    center, half = (k + z * z / 2) / (n + z * z), z * math.sqrt(k * (n - k) / n + z * z / 4) / (n + z * z)
    return f"{k / n:4.0%} ({max(center - half, 0.0):.0%}-{min(center + half, 1.0):.0%})"


def early(rows: Sequence[dict[str, Any]]) -> str:
    """Return the share of runs that stop by the tolerance too early, of those that stop."""
    runs: dict[tuple[int, float], list[dict[str, Any]]] = {}
    for row in rows:
        runs.setdefault((row["number"], row["noise"]), []).append(row)
    stops = [next((row for row in sorted(own, key=lambda row: row["n"]) if row["bound"] <= TOLERANCE), None)
             for own in runs.values()]  # fmt: skip
    stopped = [row for row in stops if row is not None]
    return f"{share_of(row['regret'] > TOLERANCE for row in stopped)} of {len(stopped)} that stop, of {len(runs)}"


def worst(rows: Sequence[dict[str, Any]], count: int = 3) -> str:
    """Return the functions whose bounds hold least often, at all times together."""
    by_name: dict[str, list[bool]] = {}
    for row in rows:
        if row["share"] in SHOWN:
            by_name.setdefault(row["function"], []).append(row["regret"] <= row["bound"] + 1e-9)
    ranked = sorted(by_name.items(), key=lambda item: sum(item[1]) / len(item[1]))[:count]
    return ", ".join(f"{name} {sum(found) / len(found):.0%}" for name, found in ranked)
