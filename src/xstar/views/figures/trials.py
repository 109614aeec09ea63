"""Trials as points of a picture, and the range of values that a picture shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from xstar.numerics.arrays import HostArray
from xstar.numerics.rounding import with_sd
from xstar.optimizer import Optimizer
from xstar.trial import Recommendation, Trial
from xstar.views.figures.outputs import told_in_words, violated
from xstar.views.figures.picture import Kind, Points

MOST_POINTS = 400
"""Trials that are drawn as points: the latest ones."""
FAINTEST = 0.15
"""The opacity of points that say nothing of what is shown."""
COLORED = 0.25
"""The quantile of the values told at which colors end: what is worse has one color, what is better is told apart."""
STATES = {"done": Kind.TOLD, "failed": Kind.FAILED, "pending": Kind.RUNNING}
"""The trials that are drawn."""


class Range(NamedTuple):
    """The values that a picture shows."""

    low: float
    high: float

    def __contains__(self, value: object) -> bool:
        return isinstance(value, float) and self.low <= value <= self.high

    def wider(self, share: float) -> Range:
        """Return the range with a share of its width more on either side."""
        more = share * (self.high - self.low)
        return Range(self.low - more, self.high + more)

    @property
    def drawn(self) -> Range:
        """What lines are cut at: beyond the axis, but not so far that drawing them fails."""
        return self.wider(10.0)


def latest(optimizer: Optimizer, state: str) -> list[Trial]:
    """Return the trials of a state that are drawn."""
    return [trial for trial in optimizer.trials if trial.state == state][-MOST_POINTS:]


def outcome(optimizer: Optimizer, trial: Trial) -> str:
    """Return what became of a trial, and its parameters, one a line."""
    said = {
        "done": f"trial {trial.number}: {told_in_words(trial)}",
        "failed": f"trial {trial.number} failed: {trial.reason}",
        "pending": f"trial {trial.number} is running",
        "withdrawn": f"trial {trial.number} was withdrawn",
    }[trial.state]
    params, goals = optimizer.space.parameters, optimizer.goals
    bounds = [] if goals is None else violated(goals, trial.values)
    point = [f"{name} = {params[name].show(value)}" for name, value in trial.params.items()]
    return "\n".join([said, *bounds, *point][:8])


def trial_points(
    optimizer: Optimizer,
    x: Callable[[Trial], float],
    y: Callable[[Trial], float],
    *,
    shown: Sequence[str] = (),
    at: Mapping[str, Any] | None = None,
    where: Callable[[Trial], bool] = lambda _: True,
) -> list[Points]:
    """Return told, failed and running trials as points.

    If a slice is drawn over the parameters `shown`, with the others held at `at`, points are faded by what their values
    say of it: by how alike the function must be there and at the nearest point of the slice.
    """
    marks = []
    for state, kind in STATES.items():
        trials = [trial for trial in latest(optimizer, state) if where(trial)]
        if not trials:
            continue
        opacity: Sequence[float] | float = 1.0
        if at is not None:
            nearest = [{**at, **{name: trial.params[name] for name in shown}} for trial in trials]
            near = optimizer.similarity([trial.params for trial in trials], nearest)
            opacity = [FAINTEST + (1.0 - FAINTEST) * float(share) for share in near]
        notes = [outcome(optimizer, trial) for trial in trials]
        marks.append(Points([x(t) for t in trials], [y(t) for t in trials], kind, notes=notes, opacity=opacity))
    return marks


def focus(optimizer: Optimizer, share: float) -> Range:
    """Return the range from a quantile of the values told to the best, with a margin: the rest is far from the best."""
    values = np.array([trial.value for trial in optimizer.trials if trial.value is not None], dtype=np.float64)
    sign = optimizer.direction.sign
    best = float(np.max(sign * values))
    worst = float(np.quantile(sign * values, share, method="lower"))
    lowest = float(np.min(sign * values))
    if best / 2 - lowest / 2 <= 1.5 * (best / 2 - worst / 2):
        worst = lowest  # so little is beyond that nothing is won by leaving it out
    margin = min(0.06 * (best / 2 - worst / 2) * 2, 1e300) or 0.5 * max(abs(best), 1.0) * 0.1
    ends = sign * (worst - margin), sign * (best + margin)
    return Range(min(ends), max(ends))


def colors_for(optimizer: Optimizer, surface: HostArray, share: float = COLORED) -> Range:
    """Return where the colors of predicted values end: at values that were told, and no wider than the surface.

    A prediction may be far from everything told where nothing is known; one such place would leave a single color for
    all that matters.
    """
    told = focus(optimizer, share)
    plausible = optimizer.plausible
    best_first = sorted((float(np.min(surface)), float(np.max(surface))))
    if optimizer.direction.sign > 0.0:
        low, high = max(best_first[0], told.low), min(max(best_first[1], told.low), plausible[1])
    else:
        low, high = max(min(best_first[0], told.high), plausible[0]), min(best_first[1], told.high)
    if not low < high:
        size = abs(low) or 1.0
        low, high = low - 1e-3 * size, low + 1e-3 * size
    return Range(low, high)


def recommended_note(optimizer: Optimizer, best: Recommendation) -> str:
    """Return what is said of a recommended point."""
    told = ", ".join(f"{name} {output}" for name, output in best.outputs.items())
    lines = [f"recommended: {told or with_sd(best.mean, best.sd)}"]
    lines += [f"feasible with {best.feasibility:.0%}"] if best.feasibility < 1.0 else []
    lines += [f"{name} = {optimizer.space.parameters[name].show(value)}" for name, value in best.params.items()]
    return "\n".join(lines[:8])
