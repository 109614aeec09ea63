"""Why a point is worth evaluating: what the model says along every parameter through it."""

from __future__ import annotations

import numpy as np

from xstar.optimizer import Optimizer
from xstar.trial import Trial, TrialLike
from xstar.views.figures.coordinates import coordinate, short
from xstar.views.figures.picture import BLUE, PURPLE, Axis, Band, Bars, Kind, Line, Mark, Panel, Picture, Points
from xstar.views.figures.trials import focus, trial_points
from xstar.views.figures.view import CURVE, ROOM, VALUE, WORST

TITLE = "Why this point"
INFORMATION = "information"
MOST_PANELS = 4
"""Parameters that are shown: those along which the information changes most."""


def draw_why(optimizer: Optimizer, trial: TrialLike) -> Picture:
    """Return predictions and information along each parameter through a point, without the point's own result."""
    explained = optimizer.explain(trial)
    params = dict(explained.params)
    own = trial.number if isinstance(trial, Trial) else trial if isinstance(trial, int) else None
    before = optimizer.with_trials([one for one in optimizer.trials if one.number != own])
    lines = {}
    for name in optimizer.space.free:
        one = coordinate(optimizer, name)
        values = one.grid(CURVE)
        points = [{**params, name: value} for value in values]
        lines[name] = one, values, points, before.information(points)
    ranked = sorted(lines, key=lambda name: -float(np.ptp(lines[name][-1])))[:MOST_PANELS]
    shown = [name for name in optimizer.space.parameters if name in ranked]
    highest = max([explained.bits, 1e-6, *(float(np.max(lines[name][-1])) for name in shown)])
    span = focus(before, WORST).wider(ROOM)
    above, below = [], []
    for name in shown:
        one, values, points, bits = lines[name]
        places = [one.place(value) for value in values]
        mean = np.clip(before.predict(points)[0], *span.drawn)
        low, high = (np.clip(end, *span.drawn) for end in before.interval(points))
        here = one.place(params[name])
        marks: list[Mark] = [*trial_points(
            before, lambda told, one=one: one.place(told.params[one.name]),  # type: ignore[misc]
            lambda told: span.low if told.value is None else float(np.clip(told.value, *span)), shown=[name], at=params,
        )]  # fmt: skip
        few = one.listed or len(places) <= 40
        curve: list[Mark] = [
            Band(places, low.tolist(), high.tolist(), "95 % of the function"),
            Line(places, mean.tolist(), VALUE, marked=few),
        ]
        tells: Mark = Line(places, bits.tolist(), INFORMATION, PURPLE, filled=True, marked=few)
        if one.unordered:  # there is nothing between choices
            ends = {"low": low.tolist(), "high": high.tolist()}
            curve = [Points(places, mean.tolist(), Kind.HERE, VALUE, color=BLUE, **ends)]
            tells = Bars(places, bits.tolist(), INFORMATION, (PURPLE,), thickness=0.5)
        height_here = float(np.clip(explained.mean, *span))
        above.append(
            Panel("", one.axis, Axis("value", *span), (*curve, *marks, Points([here], [height_here], Kind.HERE)))
        )
        shown_bits = (tells, Points([here], [explained.bits], Kind.HERE))
        below.append(Panel("", one.axis, Axis("information, bits", 0.0, 1.08 * highest), shown_bits))
    said = "; ".join(f"{label}: {text}" for label, text in explained.lines)
    more = len(lines) - len(shown)
    rest = f"; along {more} more, the information changes less" if more else ""
    title = f"{TITLE}: {short(optimizer.space.show(params), 90)}"
    return Picture(title, said + rest, (*above, *below), max(len(shown), 1), size=(3.6, 2.8))
