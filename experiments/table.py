"""The tables of docs/benchmarks.md: xstar and other libraries on the same repeats, median regrets and CPU seconds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from experiments.claims import OURS
from experiments.course import START
from experiments.methods import PEERS
from experiments.methods import TITLES as METHODS
from experiments.problems import TITLES as PROBLEMS
from experiments.statistics import compare, on_shared
from experiments.store import Curves, Results

TIMED = "pes"
"""Ours whose seconds are shown: information only, which costs most."""


def lines(results: Results) -> Iterator[str]:
    """Both tables, in Markdown."""
    yield from regrets(results)
    yield ""
    yield "CPU seconds of a suggestion, medians over all runs made one at a time:"
    yield ""
    yield from seconds(results)


def regrets(results: Results) -> Iterator[str]:
    """A cell has the library's median, ours on the same repeats, and the verdict for ours."""
    present = _present(results)
    yield "| problem, evaluations | " + " | ".join(METHODS[peer] for peer in present) + " |"
    yield "| --- |" + " --- |" * len(present)
    for problem, methods in results.items():
        if OURS in methods and any(peer in methods for peer in present):
            cells = [_cell(methods, peer) for peer in present]
            last = START - 1 + methods[OURS].regret.shape[1]
            yield f"| {PROBLEMS[problem]}, {last} | " + " | ".join(cells) + " |"


def seconds(results: Results) -> Iterator[str]:
    """CPU seconds of a suggestion."""
    present = _present(results)
    timed = [TIMED, *present]
    yield "| problem | " + " | ".join(METHODS[name] for name in timed) + " |"
    yield "| --- |" + " --- |" * len(timed)
    for problem, methods in results.items():
        if any(peer in methods for peer in present):
            cells = [methods[name].cpu_seconds if name in methods else None for name in timed]
            yield f"| {PROBLEMS[problem]} | " + " | ".join("" if s is None else f"{s:.2g}" for s in cells) + " |"


def _present(results: Results) -> list[str]:
    return [peer for peer in PEERS if any(peer in methods for methods in results.values())]


def _cell(methods: dict[str, Curves], peer: str) -> str:
    if peer not in methods:
        return ""
    ours, theirs = methods[OURS], methods[peer]
    pair = compare(ours, theirs)
    mine, other = (float(np.median(regret[:, -1])) for regret in on_shared(ours, theirs))
    after = "" if pair.evaluations + 1 == ours.regret.shape[1] else f", after {START + pair.evaluations} evaluations"
    return f"{other:.1e}; ours {mine:.1e}, {pair.verdict} ({pair.repeats} repeats{after})"
