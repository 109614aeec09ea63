"""How the methods compare: medians of the decimal logarithms of regrets, and paired differences.

A difference is a mean over the repeats that both methods have made, with the half width of its 95 % interval by
Student's distribution; below zero, the method is better than the reference.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student

COUNTS = ("evaluated", "recommended")
EARLY = 10
"""Evaluations for each parameter."""

Row = dict[str, Any]


class Difference(NamedTuple):
    """Of the method to the reference."""

    mean: float
    half: float
    """Of the interval; infinite for a single repeat."""
    repeats: int


def after(row: Row, count: str, n: int) -> float:
    """The decimal logarithm of a regret after n evaluations."""
    return float(row["evaluated"][n - row["start"]] if count == "evaluated" else row["recommended"][str(n)])


def shown(row: Row) -> tuple[int, int]:
    """After how many evaluations: early and in the end."""
    last = row["start"] + len(row["evaluated"]) - 1
    d = last // row["budget"]
    return min(EARLY * d, last), last


def difference(mine: list[Row], others: list[Row], count: str, n: int) -> Difference:
    """Paired by repeat."""
    by_repeat = {row["repeat"]: after(row, count, n) for row in others}
    gaps = np.array([after(row, count, n) - by_repeat[row["repeat"]] for row in mine if row["repeat"] in by_repeat])
    if len(gaps) == 0:
        return Difference(np.nan, np.inf, 0)
    if len(gaps) == 1:
        return Difference(float(gaps[0]), np.inf, 1)
    half = student.ppf(0.975, len(gaps) - 1) * gaps.std(ddof=1) / np.sqrt(len(gaps))
    return Difference(float(gaps.mean()), float(half), len(gaps))


def lines(rows: list[Row], reference: str) -> list[str]:
    """What is printed: a block for each problem, noise and budget."""
    printed: list[str] = []
    for block in dict.fromkeys((row["problem"], row["noise"], row["budget"]) for row in rows):
        own = [row for row in rows if (row["problem"], row["noise"], row["budget"]) == block]
        methods = list(dict.fromkeys(row["method"] for row in own))
        against = reference if reference in methods else methods[0]
        others = [row for row in own if row["method"] == against]
        ends = dict.fromkeys(shown(own[0]))
        noise = f", noise {block[1]:g}" if block[1] else ""
        printed.append(f"\n{block[0]}{noise}: median log10 regret after n; mean difference to {against}, paired")
        heads = "".join(f"{f'{count} {n}':>34s}" for count in COUNTS for n in ends)
        printed.append(f"  {'':14s} runs{heads}   CPU s  none feasible  degraded")
        for method in methods:
            mine = [row for row in own if row["method"] == method]
            cells = "".join(f"{_cell(mine, others, count, n):>34s}" for count in COUNTS for n in ends)
            seconds = np.median([row["cpu_seconds"] for row in mine])
            none, degraded = sum(row["feasible"] == 0 for row in mine), sum(row["degraded"] for row in mine)
            printed.append(f"  {method:14s} {len(mine):4d}{cells} {seconds:7.1f} {none:14d} {degraded:9d}")
    return printed


def _cell(mine: list[Row], others: list[Row], count: str, n: int) -> str:
    median = f"{np.median([after(row, count, n) for row in mine]):+.2f}"
    if mine == others:
        return median + " " * 15
    mean, half, _ = difference(mine, others, count, n)
    return f"{median} {f'{mean:+.2f}±{half:.2f}':>14s}"
