"""README's one table: xstar beside what people use, each row with the command that measured it."""

from __future__ import annotations

import numpy as np

from benchmarks import bbob as coco
from benchmarks import tables as hpo
from benchmarks.published.markdown import Lines, table
from benchmarks.published.numbers import DASH, regret, seconds, share
from benchmarks.published.results import EXPERIMENTS, read
from experiments.statistics import on_shared
from experiments.store import read_results

RIVALS = {"optuna-gp": "Optuna GPSampler", "optuna-tpe": "Optuna TPE", "botorch-logei": "BoTorch LogEI"}
PROBLEMS = {"branin": "Branin, 50 noisy evaluations", "hartmann": "Hartmann-6, 60 noisy evaluations"}
SAMPLERS = {"optuna-gp": "GPSampler", "optuna-tpe": "TPESampler"}
SIZE = (200, 6)
"""Values and parameters where a suggestion is timed."""


def compared() -> Lines:
    """Rows of regret, precision, gaps and seconds; smaller is better everywhere."""
    head = ("smaller is better", "xstar", *RIVALS.values(), "measured by `python -m`")
    return table(head, [*_regrets(), *_precisions(), *_gaps(), _seconds()])


def _regrets() -> list[list[str]]:
    """Medians of what is recommended in the end; of rivals with fewer runs, ours is that of all."""
    results = read_results(EXPERIMENTS, tuple(PROBLEMS))
    rows = []
    for problem, words in PROBLEMS.items():
        own = results[problem]
        ours = _end(on_shared(own["xstar"], own["optuna-gp"])[0])
        cells = [_end(own[rival].regret) for rival in RIVALS]
        rows.append([f"{words}: median regret", ours, *cells, "`experiments run figure3`"])
    return rows


def _end(curves: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> str:
    return regret(float(np.median(curves[:, -1])))


def _precisions() -> list[list[str]]:
    found, rows = read("bbob"), []
    for dimension in sorted({row["dimension"] for row in found.rows}):
        cells = []
        for sampler in ("xstar", *(SAMPLERS.get(rival) for rival in RIVALS)):
            curves = coco.by_problem(found.rows, sampler, dimension) if sampler else {}
            last = 20 * dimension - 1
            cells.append(f"{np.mean([curve[last] for curve in curves.values()]):+.2f}" if curves else DASH)
        words = f"COCO bbob, {dimension} parameters, {20 * dimension} evaluations: log10 of the gap, mean"
        rows.append([words, *cells, "`benchmarks.bbob`"])
    return rows


def _gaps() -> list[list[str]]:
    standings, _ = hpo.compare(read("tables").rows)
    rows = []
    for k, count in ((0, hpo.SHOWN[0]), (-1, hpo.SHOWN[-1])):
        cells = [
            share(standings[name].gaps[k]) if name in standings else DASH
            for name in ("xstar", *(SAMPLERS.get(rival, "") for rival in RIVALS))
        ]
        rows.append([f"trained models in tables, {count} trials: gap to the best", *cells, "`benchmarks.tables`"])
    return rows


def _seconds() -> list[str]:
    (row,) = (row for row in read("speed").rows if (row["n"], row["d"]) == SIZE)
    cost = {name: (row.get(name) or {}).get("cpu_seconds") for name in ("ours", "gpsampler", "botorch-logei")}
    cells = [seconds(cost["ours"]), seconds(cost["gpsampler"]), DASH, seconds(cost["botorch-logei"])]
    return [f"CPU seconds of a suggestion, {SIZE[0]} values of {SIZE[1]} parameters", *cells, "`benchmarks.speed`"]
