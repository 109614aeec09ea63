"""Why a point is worth evaluating: what the model says along every parameter through it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from xstar.numerics.arrays import HostArray
from xstar.optimizer import Optimizer
from xstar.trial import Trial, TrialLike
from xstar.views.figures.coordinates import Coordinate, coordinate, short
from xstar.views.figures.outputs import studies_of, value_label
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
    chosen = [lines[name] for name in shown]
    above = [
        _predicted(study, params, one, points, explained.outputs[name].mean if name else explained.mean, name)
        for name, study in studies_of(before)
        for one, _, points, _ in chosen
    ]
    below = [_told(one, values, bits, params, explained.bits, highest) for one, values, _, bits in chosen]
    said = "; ".join(f"{label}: {text}" for label, text in explained.lines)
    more = len(lines) - len(shown)
    rest = f"; along {more} more, the information changes less" if more else ""
    title = f"{TITLE}: {short(optimizer.space.show(params), 90)}"
    return Picture(title, said + rest, (*above, *below), max(len(shown), 1), size=(3.6, 2.8))


def _predicted(
    study: Optimizer, params: Mapping[str, Any], one: Coordinate, points: list[dict[str, Any]], mean_here: float,
    output: str,
) -> Panel:  # fmt: skip
    """What is predicted of an output along a parameter."""
    span = focus(study, WORST).wider(ROOM)
    places = [one.place(point[one.name]) for point in points]
    mean = np.clip(study.predict(points)[0], *span.drawn)
    low, high = (np.clip(end, *span.drawn) for end in study.interval(points))
    marks = trial_points(
        study,
        lambda told: one.place(told.params[one.name]),
        lambda told: span.low if told.value is None else float(np.clip(told.value, *span)),
        shown=[one.name],
        at=params,
    )
    curve: list[Mark] = [
        Band(places, low.tolist(), high.tolist(), "95 % of the function"),
        Line(places, mean.tolist(), VALUE, marked=_is_sparse(one, places)),
    ]
    if one.unordered:  # there is nothing between choices
        ends = {"low": low.tolist(), "high": high.tolist()}
        curve = [Points(places, mean.tolist(), Kind.HERE, VALUE, color=BLUE, **ends)]
    here = Points([one.place(params[one.name])], [float(np.clip(mean_here, *span))], Kind.HERE)
    return Panel("", one.axis, Axis(value_label(output), *span), (*curve, *marks, here))


def _told(
    one: Coordinate, values: list[Any], bits: HostArray, params: Mapping[str, Any], bits_here: float, highest: float
) -> Panel:
    """What an evaluation tells along a parameter."""
    places = [one.place(value) for value in values]
    tells: Mark = Line(places, bits.tolist(), INFORMATION, PURPLE, filled=True, marked=_is_sparse(one, places))
    if one.unordered:
        tells = Bars(places, bits.tolist(), INFORMATION, (PURPLE,), thickness=0.5)
    here = Points([one.place(params[one.name])], [bits_here], Kind.HERE)
    return Panel("", one.axis, Axis("information, bits", 0.0, 1.08 * highest), (tells, here))


def _is_sparse(one: Coordinate, places: list[float]) -> bool:
    return one.listed or len(places) <= 40
