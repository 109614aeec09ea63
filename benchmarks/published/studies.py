"""Tables made of experiments/results: README, docs/experiments.md and docs/benchmarks.md."""

from __future__ import annotations

import json

import numpy as np

from benchmarks.published.markdown import Lines, table
from benchmarks.published.numbers import DASH, regret
from benchmarks.published.results import EXPERIMENTS
from experiments import claims, surfaces
from experiments import table as libraries
from experiments.course import START
from experiments.methods import FIGURED
from experiments.methods import TITLES as METHODS
from experiments.problems import TITLES, find_problem
from experiments.statistics import on_shared
from experiments.store import Results, read_results
from experiments.studies import PROBLEMS

SHOWN = {
    "xstar": "xstar", "pes": "PES alone", "logei": "LogEI", "mes": "MES", "thompson": "Thompson",
    "pes-2014": "PES of 2014",
}  # fmt: skip
"""Methods in README."""
WORDS = {
    "within-model": "functions of the model",
    "branin": "Branin",
    "cosines": "mixture of cosines",
    "hartmann": "Hartmann-6",
    "nnet": "a network's weight decay and iterations",
    "portfolio": "a portfolio of three stocks",
    "fullerenes": "yield of a fullerene synthesis",
    "walker-a": "a biped's gait, 8 parameters",
    "walker-b": "the same with ten times the noise",
}
"""Problems in README."""


def _kept() -> Results:
    return read_results(EXPERIMENTS, PROBLEMS)


def medians() -> Lines:
    """README: the median regret of the main methods on the repeats that all of them have made, the smallest in bold."""
    results, rows = _kept(), []
    for problem, words in WORDS.items():
        methods = {name: results[problem][name] for name in SHOWN}
        shared = sorted(set.intersection(*(set(curves.repeats) for curves in methods.values())))
        ends = {
            name: [curves.regret[curves.repeats.index(repeat), -1] for repeat in shared]
            for name, curves in methods.items()
        }
        cells = [regret(float(np.median(end))) for end in ends.values()]
        least = min(cells, key=float)
        last = START - 1 + methods["pes"].regret.shape[1]
        bold = [f"**{cell}**" if cell == least else cell for cell in cells]
        rows.append([words, str(last), str(len(shared)), *bold])
    return table(("median regret", "evaluations", "repeats", *SHOWN.values()), rows)


def likeness() -> Lines:
    """Figure 1: means over data sets of how like the truth each surface is."""
    content = surfaces.load(EXPERIMENTS / "figure1.json")
    means = claims.likeness_finding(content)[2]
    head = (f"mean over {len(content['likeness'])} data sets", "Pearson", "Spearman", "attained")
    return table(
        head,
        (
            [name, *(f"{mean[key].middle:.3f}" for key in ("pearson", "spearman", "attained"))]
            for name, mean in means.items()
        ),
    )


def findings() -> Lines:
    """Figures 2 to 4: each claim of the paper, what is found, and the medians behind it."""
    results, rows = _kept(), []
    for finding in claims.findings(results):
        claim, numbers = finding.claim, []
        for problem, pair in finding.pairs.items():
            shared = on_shared(*(results[problem][name] for name in (claim.better, claim.worse)))
            first, second = (regret(float(np.median(values[:, -1]))) for values in shared)
            numbers.append(f"{TITLES[problem]} {first} against {second}, {pair.verdict} ({pair.repeats} repeats)")
        rows.append([claim.figure[-1], claim.words, finding.verdict, "; ".join(numbers)])
    return table(("figure", "the paper says", "here", "median regrets in the end, verdict for the first"), rows)


def standings() -> Lines:
    """xstar's own PES on every problem, beside the best of the other methods."""
    results, rows = _kept(), []
    for standing in claims.standings(results, FIGURED):
        repeats = len(results[standing.problem][claims.OURS].repeats)
        best = min(standing.rivals, key=lambda name, rivals=standing.rivals: rivals[name][0])  # type: ignore[misc]
        median, pair = standing.rivals[best]
        fewer = f" ({pair.repeats} repeats)" if pair.repeats < repeats else ""
        end, run = (
            ", ".join(METHODS[name] for name in names) or DASH
            for names in (standing.ahead_in_the_end, standing.ahead_on_average)
        )
        title = f"{TITLES[standing.problem]}, {standing.evaluations}"
        other = f"{regret(median)}, {METHODS[best]}{fewer}"
        rows.append([title, str(repeats), regret(standing.median), other, end, run])
    head = ("problem, evaluations", "repeats", "ours", "best of the others", "better in the end", "better over the run")
    return table(head, rows)


def repeats() -> Lines:
    """How many runs there are of each problem, and how they were computed."""
    rows = []
    for problem in PROBLEMS:
        methods = json.loads((EXPERIMENTS / f"{problem}.json").read_text(encoding="utf-8"))["methods"]
        kinds: dict[tuple[int, str], list[str]] = {}
        for name in FIGURED:
            if name in methods:
                kind = len(methods[name]["repeats"]), " and ".join(methods[name]["computed_by"])
                kinds.setdefault(kind, []).append(METHODS[name])
        most = max(kinds, key=lambda kind: len(kinds[kind]))
        exceptions = [f"{', '.join(kinds[kind])}: {kind[0]}, {kind[1]}" for kind in kinds if kind != most]
        rows.append([TITLES[problem], str(most[0]), most[1], "; ".join(exceptions)])
    return table(("problem", "repeats", "computed", "except"), rows)


def problems() -> Lines:
    """The problems as the code has them."""
    rows = []
    for name in PROBLEMS:
        found = find_problem(name)
        maximum = "another for each repeat" if name == "within-model" else f"{found.maximum:.5g}"
        rows.append([f"`{name}`", str(found.dimension), str(found.evaluations), f"{found.noise:.3g}", maximum])
    return table(("problem", "coordinates", "evaluations", "noise (standard deviation)", "maximum"), rows)


def library_regrets() -> Lines:
    """Other libraries on the same repeats."""
    return list(libraries.regrets(_kept()))


def library_seconds() -> Lines:
    """CPU seconds of a suggestion of other libraries and of ours."""
    return list(libraries.seconds(_kept()))
