"""Tables about several outputs: information beside the truth, and regrets and hypervolumes beside other libraries'."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.outputs.table import after, difference, shown
from benchmarks.published.markdown import Lines, table
from benchmarks.published.results import made_with, read

KINDS = {"constrained": "one objective, one constraint", "objectives": "two objectives"}
METHODS = {"JointPES()": "xstar", "JointPES(slopes=False)": "xstar without balanced gradients"}
LEFT_OUT = ("random", "truth by entropies")
LIBRARIES = {"xstar": "xstar", "optuna-gp": "GPSampler", "botorch": "BoTorch", "optuna-nsga2": "NSGA-II"}


def accuracy() -> Lines:
    """Likeness to the truth, a row for each kind, dimension and method."""
    found = read("accuracy_outputs")
    rows = []
    for kind, words in KINDS.items():
        for d in (1, 2):
            own = [row for row in found.rows if row["kind"] == kind and row["dimension"] == d]
            for method in dict.fromkeys(row["method"] for row in own):
                if method in LEFT_OUT:
                    continue
                mine = [row for row in own if row["method"] == method]
                attained = [row["attained"] for row in mine]
                rows.append([
                    f"{words}, d = {d}", METHODS.get(method, method), str(len(mine)),
                    f"{np.mean([row['pearson'] for row in mine]):.2f}", f"{np.mean(attained):.0%}",
                    f"{min(attained):.0%}",
                ])  # fmt: skip
    head = ("outputs", "method", "instances", "correlation", "attained, mean", "least")
    return [*table(head, rows), *made_with(found.machine, "xstar", "numpy", "scipy")]


def compared() -> Lines:
    """Median regrets, evaluated and recommended, early and in the end, with differences to xstar."""
    found = read("outputs")
    lines = []
    for name in dict.fromkeys(row["problem"] for row in found.rows):
        own = [row for row in found.rows if row["problem"] == name and row["noise"] == 0.0]
        ours = [row for row in own if row["method"] == "xstar"]
        for method, words in LIBRARIES.items():
            mine = [row for row in own if row["method"] == method]
            if mine and ours:
                early, late = shown(mine[0])
                cells = [_cell(mine, ours, count, n) for count in ("evaluated", "recommended") for n in (early, late)]
                lines.append([name, words, str(len(mine)), *cells, _seconds(mine)])
    head = (
        "problem", "method", "runs", "evaluated, 10 d", "evaluated, 20 d", "recommended, 10 d", "recommended, 20 d",
        "CPU s a run",
    )  # fmt: skip
    return [*table(head, lines), *made_with(found.machine, "xstar", "numpy", "scipy", "optuna")]


def _cell(mine: list[dict[str, Any]], ours: list[dict[str, Any]], count: str, n: int) -> str:
    median = f"{np.median([after(row, count, n) for row in mine]):+.2f}"
    if mine == ours:
        return median
    gap = difference(mine, ours, count, n)
    return f"{median} ({gap.mean:+.2f} ± {gap.half:.2f})" if np.isfinite(gap.half) else median


def _seconds(mine: list[dict[str, Any]]) -> str:
    return f"{np.median([row['cpu_seconds'] for row in mine]):.0f}"
