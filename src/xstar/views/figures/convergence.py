"""How it went: values told, the recommendation at the time, and what was left to gain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xstar.beliefs import FrontPosterior, OptimumPosterior, ParetoFront
from xstar.engine.joint.answers import nondominated_trials
from xstar.errors import TrialError
from xstar.optimizer import Optimizer
from xstar.trial import Recommendation, Trial
from xstar.views.figures.outputs import goal_in_words, is_known, kind_of, value_label
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
RECOMMENDED = "recommended at the time"
LIKELY = 0.5
"""The probability from which on a recommended point is taken for feasible."""
MOST_BOUNDS, SAMPLES = 12, 100
"""After how many trials the model is asked again; from how many draws the bound is computed."""
QUANTILES = {0.95: ("at most, with 95 % probability", ORANGE), 0.5: ("as likely as not", BLUE)}
WORST_SHOWN = 0.25
"""The quantile of the values from which on they are shown: the first ones are often far from the best."""


def draw_convergence(optimizer: Optimizer) -> Picture:
    """Return values and recommendations by trial, and beside them what was left to gain."""
    told = [trial for trial in optimizer.trials if trial.state in ("done", "failed")]
    then = (optimizer.with_trials(prefix) for prefix in _prefixes(told, optimizer.num_initial))
    asked = {one.trials[-1].number: one for one in then if is_known(one)}
    posteriors = {number: then.where(SAMPLES) for number, then in asked.items()}
    across = _across(optimizer)
    left, left_axis = _left({number: where for number, where in posteriors.items() if _is_known(where)})
    note = "" if left else f"A bound appears after\n{optimizer.num_initial} results that differ."
    if posteriors and not any(map(_is_likely, posteriors.values())):
        note = "A bound appears as soon as a point\nis likely to be feasible."
    if _is_of_fronts(optimizer):
        front = optimizer.pareto()
        reached = {number: _volume(front, where.recommended) for number, where in posteriors.items()}
        volumes = _volumes(optimizer, front, across, reached)
        return Picture(
            TITLE, "", (volumes, Panel("What was left to gain beyond the front", across, left_axis, left, note)), 2
        )
    tested = {number: best for number, then in asked.items() if (best := _best_tested(then)) is not None}
    values, axis, hidden = _values(optimizer, {k: where.recommendation for k, where in posteriors.items()}, tested)
    plural = "value is" if hidden == 1 else "values are"
    said = f"{hidden} {plural} beyond the axis" if hidden else ""
    panels = (
        Panel(_title(optimizer), across, axis, values),
        Panel("What was left to gain beyond the recommendation", across, left_axis, left, note),
    )
    return Picture(TITLE, said, panels, 2)


def draw_values(optimizer: Optimizer) -> Panel:
    """Return the values by trial alone, without asking the model what it said before; their hypervolume, of fronts."""
    across = _across(optimizer)
    if _is_of_fronts(optimizer):
        return _volumes(optimizer, optimizer.pareto(), across, {})
    marks, axis, _ = _values(optimizer, {}, {})
    return Panel(_title(optimizer), across, axis, marks)


def _is_of_fronts(optimizer: Optimizer) -> bool:
    return optimizer.goals is not None and optimizer.goals.several


def _across(optimizer: Optimizer) -> Axis:
    last = max((trial.number for trial in optimizer.trials if trial.state in ("done", "failed")), default=0)
    return Axis("trial", -0.03 * last - 0.5, 1.03 * last + 0.5, whole=True)


def _title(optimizer: Optimizer) -> str:
    """What is said above the values."""
    goals = optimizer.goals
    return f"Values, to {optimizer.direction}" if goals is None else f"Values of {goal_in_words(goals, goals.single)}"


def _best_tested(then: Optimizer) -> Recommendation | None:
    """The best posterior mean of the points tested at the time; None if none counts."""
    if then.best_observed is None:
        return None
    try:
        return then.recommend(tested=True)
    except TrialError:  # told within all bounds, and yet not likely to be
        return None


def _volume(front: ParetoFront, points: Sequence[Recommendation]) -> float:
    """The hypervolume of the predicted outputs of points that are likely to be feasible."""
    likely = [point for point in points if point.feasibility >= LIKELY]
    return front.volume({name: output.mean for name, output in point.outputs.items()} for point in likely)


def _volumes(optimizer: Optimizer, front: ParetoFront, across: Axis, recommended: dict[int, float]) -> Panel:
    """The hypervolume of the trials, and of what was recommended at the time, both from the present reference."""
    goals = front.goals
    done = [trial for trial in optimizer.trials if trial.state == "done"]
    counted: list[Trial] = []
    reached = []
    for trial in done:
        if goals.are_met(trial.values) and all(name in trial.values for name in goals.objectives):
            counted = list(nondominated_trials(goals, [*counted, trial]))
        reached.append(front.volume(one.values for one in counted))
    turns = [k for k in range(len(done)) if k in (0, len(done) - 1) or reached[k] != reached[k - 1]]
    marks: list[Mark] = []
    if recommended:
        marks.append(Line(list(recommended), list(recommended.values()), RECOMMENDED, BLUE, marked=True))
    marks.append(
        Line([done[k].number for k in turns], [reached[k] for k in turns], "of the trials", BLACK, 1.2, steps=True)
    )
    marks += [_failures(optimizer, failed, 0.0)] if (failed := latest(optimizer, "failed")) else []
    highest = max([*reached, *recommended.values()])
    return Panel("Hypervolume", across, Axis("hypervolume", 0.0, 1.06 * highest or 1.0), tuple(marks))


def _prefixes(told: Sequence[Trial], num_initial: int) -> list[Sequence[Trial]]:
    """At most `MOST_BOUNDS` beginnings of the trials, evenly spread, each with `num_initial` results or more."""
    results = np.cumsum([trial.state == "done" for trial in told])
    first = int(np.searchsorted(results, num_initial)) + 1
    if first > len(told):
        return []
    lengths = np.unique(np.linspace(first, len(told), MOST_BOUNDS).round().astype(int))
    return [told[:length] for length in lengths]


def _is_known(where: OptimumPosterior) -> bool:
    """Whether anything can be said of the gain: not while all values are the same, nor before anything is feasible."""
    return bool(np.all(np.isfinite(where.regret))) and _is_likely(where)


def _is_likely(where: OptimumPosterior) -> bool:
    """Whether what is recommended is likely to be within all bounds."""
    best = where.recommended
    return not best[0].outputs or max(point.feasibility for point in best) >= LIKELY


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
    met = [trial for trial in done if kind_of(optimizer.goals, trial) is Kind.TOLD]
    best = optimizer.direction.running_best(np.array([trial.value for trial in met], dtype=np.float64))
    # Only where it changes, and at the end: of many trials, few are the best so far.
    turns = [k for k in range(len(met)) if k in (0, len(met) - 1) or best[k] != best[k - 1]]
    shown = np.clip(best, *span)
    marks = []
    if recommended:
        numbers = list(recommended)
        low = [float(np.clip(then.mean - 2 * then.sd, *span.drawn)) for then in recommended.values()]
        high = [float(np.clip(then.mean + 2 * then.sd, *span.drawn)) for then in recommended.values()]
        mean = [float(np.clip(then.mean, *span.drawn)) for then in recommended.values()]
        marks += [
            Band(numbers, low, high, "± 2 sd"),
            Line(numbers, mean, RECOMMENDED, BLUE, marked=True),
        ]
    if met:
        numbers = [met[k].number for k in turns]
        marks.append(Line(numbers, [float(shown[k]) for k in turns], "best told", BLACK, 1.2, steps=True))
    if tested:
        confirmed = {number: then for number, then in tested.items() if then.confirmed}
        heights = [float(np.clip(then.mean, *span.drawn)) for then in confirmed.values()]
        marks.append(Line(list(confirmed), heights, "best confirmed", GREEN, dashed=True))
    inside = [trial for trial in done[-MOST_POINTS:] if trial.value in span]
    beyond = [trial for trial in done[-MOST_POINTS:] if trial.value not in span]
    groups = {
        kind: [trial for trial in inside if kind_of(optimizer.goals, trial) is kind]
        for kind in (Kind.TOLD, Kind.INFEASIBLE)
    }
    for kind, trials in {**groups, Kind.BEYOND: beyond}.items():
        if trials:
            heights = [float(np.clip(trial.value or 0.0, *span)) for trial in trials]
            notes = [outcome(optimizer, trial) for trial in trials]
            marks.append(Points([trial.number for trial in trials], heights, kind, notes=notes))
    if failed:
        edge = span.low if optimizer.direction.sign > 0 else span.high
        marks.append(_failures(optimizer, failed, edge))
    label = "value" if optimizer.goals is None else value_label(optimizer.goals.single)
    return tuple(marks), Axis(label, *span), len(beyond)


def _failures(optimizer: Optimizer, failed: list[Trial], height: float) -> Points:
    notes = [outcome(optimizer, trial) for trial in failed]
    return Points([trial.number for trial in failed], [height] * len(failed), Kind.FAILED, notes=notes)


def _quantile(where: OptimumPosterior, q: float) -> float:
    """What is left to gain at most, with a probability; of fronts, as a share."""
    if isinstance(where, FrontPosterior):
        return float(np.quantile(where.share_left, q, method="higher"))
    return where.regret_quantile(q)


def _left(posteriors: dict[int, OptimumPosterior]) -> tuple[tuple[Mark, ...], Axis]:
    """A line for each quantile, and their axis: logarithmic, unless nothing at all is left to gain.

    Where nothing is left, the point lies below all others, with a 0 beside it.
    """
    shares = any(isinstance(where, FrontPosterior) for where in posteriors.values())
    label = "left to gain, as a share of the hypervolume" if shares else "left to gain"
    if not posteriors:
        return (), Axis(label)
    quantiles = {q: [_quantile(where, q) for where in posteriors.values()] for q in QUANTILES}
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
