"""Tables of docs/choices.md: what the default is made of, bbob, and tables of real models."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import bbob as coco
from benchmarks import tables as hpo
from benchmarks.campaign.problems import NAMES
from benchmarks.campaign.variants import VARIANTS
from benchmarks.published.markdown import Lines, table
from benchmarks.published.numbers import DASH, share
from benchmarks.published.results import made_with, read
from benchmarks.samplers import SAMPLERS, TITLES

PROBLEMS = {
    "within-model": "functions of the model",
    "branin": "Branin",
    "cosines": "cosines",
    "hartmann": "Hartmann-6",
    "nnet": "NNet",
    "fullerenes": "fullerenes",
    "walker-a": "Walker A",
    "walker-b": "Walker B",
    "portfolio": "Portfolio",
    "levy-4": "Levy-4",
    "rosenbrock-4": "Rosenbrock-4",
    "ackley-5": "Ackley-5",
    "bbob-2": "bbob, d = 2",
    "bbob-5": "bbob, d = 5",
}
RIVALS = {
    "default": "xstar",
    "pes-before": "information only, as it was",
    "logei": "our LogEI",
    "optuna-gp": "GPSampler",
    "botorch-logei": "BoTorch LogEI",
}
"""In the comparison of methods."""
Key = tuple[str, str, str]
"""Problem, variant, count."""


def _rows(name: str) -> dict[Key, dict[str, Any]]:
    return {(row["problem"], row["variant"], row["count"]): row for row in read(name).rows}


def _names(rows: dict[Key, dict[str, Any]]) -> list[str]:
    there = {name for name, _, _ in rows}
    return [name for name in NAMES if name in there]


def campaign_methods() -> Lines:
    """Mean log10 regrets of methods in the end: of the recommendation, and of the point with the best value."""
    rows = _rows("campaign")
    lines = []
    for name in _names(rows):
        for variant, title in RIVALS.items():
            found = rows.get((name, variant, "recommended"))
            if found is None:
                continue
            other = rows[name, variant, "observed"]
            lines.append([
                PROBLEMS[name], title, str(found["repeats"]),
                *(_cell(found["at"], other["at"], k) for k in range(3)), f"{found['cpu_seconds']:.2f}",
            ])  # fmt: skip
    head = ("problem", "method", "repeats", "after 5 d", "10 d", "20 d, or the end", "CPU s a step")
    return table(head, lines)


def _cell(recommended: dict[str, float], observed: dict[str, float], k: int) -> str:
    """Both regrets after the k-th of the numbers shown; the last of them is the end."""
    steps = list(recommended)
    if k == 2:
        n = steps[-1]
    elif k < len(steps) - 1:
        n = steps[k]
    else:
        return DASH
    return f"{recommended[n]:+.2f} / {observed[n]:+.2f}"


def campaign_choices(count: str = "recommended") -> Lines:
    """What other choices would do: differences to the default over the run, from a study of their own."""
    rows = _rows("choices")
    names = _names(rows)
    lines = []
    for variant, what in VARIANTS.items():
        found = [rows.get((name, variant, count)) for name in names]
        if variant != "default" and any(found):
            cells = (DASH if row is None or "difference" not in row else _difference(row) for row in found)
            lines.append([what.title, *cells])
    return table(("instead of the default", *(PROBLEMS[name] for name in names)), lines)


def _difference(row: dict[str, Any]) -> str:
    mean, half = row["difference"]["run"]
    text = f"{mean:+.2f} ± {half:.2f}"
    return f"**{text}**" if abs(mean) > half else text


def bbob() -> Lines:
    """Mean log10 precision of the best trial, and the paired difference to GPSampler."""
    found = read("bbob")
    lines = []
    for dimension in sorted({row["dimension"] for row in found.rows}):
        rival = coco.by_problem(found.rows, "GPSampler", dimension)
        for sampler in SAMPLERS:
            own = coco.by_problem(found.rows, sampler, dimension)
            if not own:
                continue
            after = [n * dimension - 1 for n in (5, 10, 20)]
            means = [f"{np.mean([curve[k] for curve in own.values()]):+.2f}" for k in after]
            shared = sorted(own.keys() & rival.keys())
            gaps = [coco.difference([own[key][k] - rival[key][k] for key in shared]) for k in after[1:]]
            against = [DASH] * 2 if sampler == "GPSampler" or not shared else [f"{m:+.2f} ± {h:.2f}" for m, h in gaps]
            lines.append([str(dimension), TITLES[sampler], str(len(own)), *means, *against])
        oracle = coco.BEST_2009.get(dimension)
        if oracle:
            lines.append([str(dimension), "best-2009, an oracle", DASH, DASH, *(f"{oracle[n]:+.2f}" for n in (10, 20)),
                          DASH, DASH])  # fmt: skip
    head = ("d", "sampler", "problems", "5 d", "10 d", "20 d", "to GPSampler at 10 d", "at 20 d")
    return [*table(head, lines), *made_with(found.machine, "optuna", "torch")]


def tables() -> Lines:
    """Mean ranks on the tables of real models."""
    found = read("tables")
    standings, runs = hpo.compare(found.rows)
    lines = [
        [TITLES[name], str(runs), *(f"{rank:.2f}" for rank in own.ranks), *(share(gap) for gap in own.gaps)]
        for name, own in standings.items()
    ]
    head = ("sampler", "runs", *(f"rank after {n}" for n in hpo.SHOWN), *(f"gap after {n}" for n in hpo.SHOWN))
    return table(head, lines)


def recommendation() -> Lines:
    """How often the recommendation keeps up with the best trial where the model is wrong."""
    found = read("recommendation")
    lines = []
    for k, n in enumerate(found.rows[0]["trials"]):
        good = sum(row["recommended"][k] >= row["best"][k] - 1e-12 for row in found.rows)
        most = max(row["predicted"][k] for row in found.rows)
        evaluated = sum(row["confirmed"][k] for row in found.rows)
        lines.append([str(n), f"{good} of {len(found.rows)}", f"{evaluated} of {len(found.rows)}", f"{most:.3f}"])
    return table(("trials", "at least as good as the best trial", "evaluated", "largest prediction"), lines)
