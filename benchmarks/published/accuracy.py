"""Tables of docs/pes.md: scores beside the true information, regret within the model, and failures of any kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.published.markdown import Lines, table
from benchmarks.published.numbers import power, regret, thousands
from benchmarks.published.results import Measured, read

WORDS = {1: "One dimension", 2: "Two dimensions", 3: "Three dimensions"}
SUPERSCRIPTS = {1: "", 2: "²", 3: "³"}
HEAD = ("cells", "method", "Pearson", "Spearman", "attained, mean", "median", "least")
AFTER = (5, 10, 15, 20, 25, 30)
"""Evaluations after the start at which regret is shown."""


def accuracy(setting: str, grids: tuple[str, ...] = ("fine",)) -> Lines:
    """Likeness to the truth of every method on some grids of a setting; what was run is said above."""
    found = read(f"accuracy_{setting}")
    return [_caption(found), "", *table(HEAD, (row for grid in grids for row in _methods(found, grid)))]


def _caption(found: Measured) -> str:
    chosen = found.settings
    variance = power(f"{chosen['noise'] ** 2:.1g}")
    what = (
        f"{WORDS[chosen['d']]}, {chosen['n']} points, noise variance {variance}, "
        f"{chosen['datasets']} data sets, {chosen['samples']} draws of x⋆, {thousands(chosen['draws'])} for the truth"
    )
    zoom = " --zoom" if chosen["zoom"] else ""
    options = f"--setting {chosen['setting']}{zoom} --datasets {chosen['datasets']} --draws {chosen['draws']}"
    return f"{what} (`python -m benchmarks.accuracy {options}`):"


def _methods(found: Measured, grid: str) -> list[list[str]]:
    """Means over data sets, a row for each method."""
    chosen, rows = found.settings, [row for row in found.rows if row["grid"] == grid]
    cells = grid if grid == "zoomed" else f"{chosen[grid]}{SUPERSCRIPTS[chosen['d']]}"
    lines = []
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == method]
        attained = [row["attained"] for row in mine]
        numbers = [
            *(np.mean([row[key] for row in mine]) for key in ("pearson", "spearman")),
            *(summary(attained) for summary in (np.mean, np.median, np.min)),
        ]
        lines.append([cells, method, *(f"{number:.3f}" for number in numbers)])
    return lines


def within_model() -> Lines:
    """Median regrets on functions of the model, hyperparameters known."""
    found = read("within_model")
    rows = [[row["method"], *(regret(row["median"][after]) for after in AFTER)] for row in found.rows]
    return table((f"median over {found.settings['functions']} functions", *map(str, AFTER)), rows)


def robustness() -> Lines:
    """Counts of what must not happen."""
    rows: list[dict[str, Any]] = read("robustness").rows
    head = [key.replace("_", " ").replace("ep ", "EP ") for key in rows[0]]
    return table(head, ([str(count) for count in row.values()] for row in rows))
