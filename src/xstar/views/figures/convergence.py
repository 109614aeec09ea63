"""How it went: values told, the recommendation at the time, and what was left to gain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xstar.beliefs import OptimumPosterior
from xstar.optimizer import Optimizer
from xstar.trial import Recommendation, Trial
from xstar.views.figures.picture import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    Axis,
    Band,
    Kind,
    Line,
    Mark,
    Panel,
    Picture,
    Points,
)
from xstar.views.figures.trials import MOST_POINTS, focus, latest, outcome

TITLE = "How it went"
MOST_BOUNDS, SAMPLES = 12, 100
"""After how many trials the model is asked again; from how many draws the bound is computed."""
QUANTILES = {0.95: ("at most, with 95 % probability", ORANGE), 0.5: ("as likely as not", BLUE)}
WORST_SHOWN = 0.25
"""The quantile of the values from which on they are shown: the first ones are often far from the best."""


def draw_convergence(optimizer: Optimizer) -> Picture:
    """Return values and recommendations by trial, and beside them what was left to gain."""
    told = [trial for trial in optimizer.trials if trial.state in ("done", "failed")]
    asked = {prefix[-1].number: optimizer.with_trials(prefix) for prefix in _prefixes(told, optimizer.num_initial)}
    posteriors = {number: then.where(SAMPLES) for number, then in asked.items()}
    tested = {number: then.recommend(tested=True) for number, then in asked.items() if then.best_observed is not None}
    last = max((trial.number for trial in told), default=0)
    across = Axis("trial", -0.03 * last - 0.5, 1.03 * last + 0.5, whole=True)
    values, axis, hidden = _values(optimizer, {k: where.recommendation for k, where in posteriors.items()}, tested)
    left, left_axis = _left({number: where for number, where in posteriors.items() if _is_known(where)})
    note = "" if left else f"A bound appears after\n{optimizer.num_initial} results that differ."
    plural = "value is" if hidden == 1 else "values are"
    said = f"{hidden} {plural} beyond the axis" if hidden else ""
    panels = (
        Panel(f"Values, to {optimizer.direction}", across, axis, values),
        Panel("What was left to gain beyond the recommendation", across, left_axis, left, note),
    )
    return Picture(TITLE, said, panels, 2)


def draw_values(optimizer: Optimizer) -> Panel:
    """Return the values by trial alone, without asking the model anything."""
    last = max((trial.number for trial in optimizer.trials), default=0)
    across = Axis("trial", -0.03 * last - 0.5, 1.03 * last + 0.5, whole=True)
    marks, axis, _ = _values(optimizer, {}, {})
    return Panel(f"Values, to {optimizer.direction}", across, axis, marks)


def _prefixes(told: Sequence[Trial], num_initial: int) -> list[Sequence[Trial]]:
    """At most `MOST_BOUNDS` beginnings of the trials, evenly spread, each with `num_initial` results or more."""
    results = np.cumsum([trial.state == "done" for trial in told])
    first = int(np.searchsorted(results, num_initial)) + 1
    if first > len(told):
        return []
    lengths = np.unique(np.linspace(first, len(told), MOST_BOUNDS).round().astype(int))
    return [told[:length] for length in lengths]


def _is_known(where: OptimumPosterior) -> bool:
    """Whether anything can be said of the gain: not while all values are the same."""
    return bool(np.all(np.isfinite(where.regret)))


def _values(
    optimizer: Optimizer, recommended: dict[int, Recommendation], tested: dict[int, Recommendation]
) -> tuple[tuple[Mark, ...], Axis, int]:
    """Marks, their axis, and how many values are beyond it."""
    done = [trial for trial in optimizer.trials if trial.value is not None]
    failed = latest(optimizer, "failed")
    if not done:
        marks: list[Mark] = [_failures(optimizer, failed, 0.0)] if failed else []
        return tuple(marks), Axis("value", -1.0, 1.0), 0
    span = focus(optimizer, WORST_SHOWN)
    best = optimizer.direction.running_best(np.array([trial.value for trial in done], dtype=np.float64))
    # Only where it changes, and at the end: of many trials, few are the best so far.
    turns = [k for k in range(len(done)) if k in (0, len(done) - 1) or best[k] != best[k - 1]]
    shown = np.clip(best, *span)
    marks = []
    if recommended:
        numbers = list(recommended)
        low = [float(np.clip(then.mean - 2 * then.sd, *span.drawn)) for then in recommended.values()]
        high = [float(np.clip(then.mean + 2 * then.sd, *span.drawn)) for then in recommended.values()]
        mean = [float(np.clip(then.mean, *span.drawn)) for then in recommended.values()]
        marks += [
            Band(numbers, low, high, "± 2 sd"),
            Line(numbers, mean, "recommended at the time", BLUE, marked=True),
        ]
    marks.append(
        Line([done[k].number for k in turns], [float(shown[k]) for k in turns], "best told", BLACK, 1.2, steps=True)
    )
    if tested:
        confirmed = {number: then for number, then in tested.items() if then.confirmed}
        heights = [float(np.clip(then.mean, *span.drawn)) for then in confirmed.values()]
        marks.append(Line(list(confirmed), heights, "best confirmed", GREEN, dashed=True))
    inside = [trial for trial in done[-MOST_POINTS:] if trial.value in span]
    beyond = [trial for trial in done[-MOST_POINTS:] if trial.value not in span]
    for trials, kind in ((inside, Kind.TOLD), (beyond, Kind.BEYOND)):
        if trials:
            heights = [float(np.clip(trial.value or 0.0, *span)) for trial in trials]
            notes = [outcome(optimizer, trial) for trial in trials]
            marks.append(Points([trial.number for trial in trials], heights, kind, notes=notes))
    if failed:
        edge = span.low if optimizer.direction.sign > 0 else span.high
        marks.append(_failures(optimizer, failed, edge))
    return tuple(marks), Axis("value", *span), len(beyond)


def _failures(optimizer: Optimizer, failed: list[Trial], height: float) -> Points:
    notes = [outcome(optimizer, trial) for trial in failed]
    return Points([trial.number for trial in failed], [height] * len(failed), Kind.FAILED, notes=notes)


def _left(posteriors: dict[int, OptimumPosterior]) -> tuple[tuple[Mark, ...], Axis]:
    """A line for each quantile, and their axis: logarithmic, unless nothing at all is left to gain.

    Where nothing is left, the point lies below all others, with a 0 beside it.
    """
    label = "left to gain"
    if not posteriors:
        return (), Axis(label)
    quantiles = {q: [where.regret_quantile(q) for where in posteriors.values()] for q in QUANTILES}
    gains = [amount for amounts in quantiles.values() for amount in amounts if amount > 0.0]
    floor = min(gains, default=0.0) / 3.0
    lines: list[Mark] = []
    for q, (name, color) in QUANTILES.items():
        heights = [max(amount, floor) for amount in quantiles[q]]
        zeros = tuple("" if amount > 0.0 else "0" for amount in quantiles[q])
        lines.append(Line(list(posteriors), heights, name, color, marked=True, labels=zeros if any(zeros) else ()))
    if not gains:
        return tuple(lines), Axis(label, 0.0)
    lowest = min(max(amount, floor) for amounts in quantiles.values() for amount in amounts)
    return tuple(lines), Axis(label, 0.75 * lowest, 1.33 * max(gains), log=True)
