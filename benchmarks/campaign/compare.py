"""What the runs say: mean decimal logarithms of regrets, and paired differences between variants.

Regrets below `LEAST` count as that. A difference is a mean over shared repeats, with the half width of its 95 %
interval; below zero, the variant is better than the reference.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.campaign.problems import problem
from benchmarks.campaign.runs import COUNTS, FOLDER
from experiments.course import START
from experiments.problems import Rows

LEAST = 1e-8
WITHIN = 1.96
"""Standard errors."""
SECONDS = "seconds"
"""CPU seconds of all runs of a file, beside its regrets."""
STUCK = 0.1
"""On Hartmann-6, a run with a larger regret in the end is stuck at the second maximum."""

Runs = dict[str, dict[str, dict[str, Rows]]]
"""Regrets by problem, variant and count, shape (R, n - START + 1)."""


def load(folder: Path = FOLDER) -> Runs:
    """All runs that are kept, those of a variant on a problem in the order of their repeats."""
    found: dict[str, dict[str, list[tuple[int, dict[str, Rows]]]]] = {}
    for file in sorted(folder.glob("*.npz")):
        name, variant, first = file.stem.split("@")
        with np.load(file) as kept:
            counts = {count: kept[count] for count in (*COUNTS, SECONDS) if count in kept}
        found.setdefault(name, {}).setdefault(variant, []).append((int(first), counts))
    return {name: {variant: _joined(parts) for variant, parts in variants.items()} for name, variants in found.items()}


def _joined(parts: list[tuple[int, dict[str, Rows]]]) -> dict[str, Rows]:
    """Repeats from 0 on without a gap, so that the same row is the same repeat everywhere."""
    parts = sorted(parts, key=lambda part: part[0])
    kept, expected = [], 0
    for first, counts in parts:
        if first != expected:
            break
        kept.append(counts)
        expected += len(counts["evaluated"])
    length = min(counts["evaluated"].shape[1] for counts in kept)
    joined = {name: np.concatenate([counts[name][:, :length] for counts in kept]) for name in COUNTS if name in kept[0]}
    return {**joined, SECONDS: np.array([float(counts[SECONDS]) for counts in kept])}


def rows(runs: Runs, reference: str) -> list[dict[str, Any]]:
    """One row for each problem, variant and count."""
    table = []
    for name, variants in runs.items():
        d = problem(name, 0).dimension
        for variant, counts in variants.items():
            for count in COUNTS:
                if count not in counts:
                    continue
                regret = counts[count]
                logs, other = _log(regret), variants.get(reference, {}).get(count)
                row: dict[str, Any] = {
                    "problem": name, "variant": variant, "count": count, "repeats": len(regret),
                    "evaluations": regret.shape[1] + START - 1,
                    "at": {str(n): round(float(logs[:, n - START].mean()), 3) for n in _shown(d, regret)},
                    "run": round(float(logs[:, 1:].mean()), 3),
                    "median": float(f"{np.median(regret[:, -1]):.3g}"),
                    "cpu_seconds": float(f"{counts[SECONDS].sum() / (len(regret) * (regret.shape[1] - 1)):.3g}"),
                }  # fmt: skip
                if name == "hartmann":
                    row["stuck"] = round(float(np.mean(regret[:, -1] > STUCK)), 3)
                if other is not None and variant != reference:
                    row["difference"] = _differences(logs, _log(other), d)
                table.append(row)
    return table


def _differences(mine: Rows, other: Rows, d: int) -> dict[str, list[float]]:
    """After n evaluations and on average over the run: the mean, and the half width of its interval."""
    repeats, length = min(len(mine), len(other)), min(mine.shape[1], other.shape[1])
    gap = mine[:repeats, :length] - other[:repeats, :length]
    parts = {str(n): gap[:, n - START] for n in _shown(d, gap)} | {"run": gap[:, 1:].mean(axis=1)}
    return {
        key: [round(float(part.mean()), 3), round(float(WITHIN * part.std(ddof=1) / np.sqrt(repeats)), 3)]
        for key, part in parts.items()
    }


def _shown(d: int, regret: Rows) -> list[int]:
    """5 d, 10 d and 20 d evaluations as far as a run has them, and its end."""
    last = regret.shape[1] + START - 1
    return sorted({n for n in (5 * d, 10 * d, 20 * d) if n < last} | {last})


def _log(regret: Rows) -> Rows:
    return np.asarray(np.log10(np.maximum(regret, LEAST)))
