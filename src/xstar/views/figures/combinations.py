"""A space of choices only: its combinations, by what an evaluation would tell and by what the model predicts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from xstar.beliefs import OptimumPosterior
from xstar.numerics.arrays import HostArray
from xstar.optimizer import Optimizer
from xstar.space import Space
from xstar.trial import Recommendation
from xstar.views.figures.coordinates import coordinate, short
from xstar.views.figures.outputs import studies_of, value_label
from xstar.views.figures.picture import BLUE, GREEN, PURPLE, Axis, Bars, Kind, Line, Mark, Panel, Picture, Points
from xstar.views.figures.trials import STATES, Range, focus, outcome
from xstar.views.figures.view import TITLE

ENUMERATED, MOST_BARS = 1000, 20
"""Up to so many combinations of choices are all looked at; so many are shown."""
MOST_NOTES = 5
"""Trials of a combination that are named."""


def draw_combinations(optimizer: Optimizer, where: OptimumPosterior | None = None) -> Picture:
    """Return the most informative combinations of choices, with what the model predicts of each."""
    where = where or optimizer.where()
    space = optimizer.space
    names = [name for name in space.parameters if name in space.free]
    found = _combinations(optimizer, where)
    bits = optimizer.information(found)
    order = _shown(bits, [_is_one_of(space, params, where.recommended) for params in found])
    shown = [found[k] for k in order]
    places = list(range(len(shown)))
    recommended = [_is_one_of(space, params, where.recommended) for params in shown]
    notes = [_notes(optimizer, params) for params in shown]
    labels = Axis(
        ", ".join(map(short, names)), -0.6, len(shown) - 0.4, reversed=True,
        ticks=tuple((k, _label(space, params, names)) for k, params in enumerate(shown)),
    )  # fmt: skip
    colors = tuple(GREEN if best else PURPLE for best in recommended)
    tells: tuple[Mark, ...] = (Bars(places, bits[order].tolist(), colors=colors, notes=notes, horizontal=True),)
    panels = [Panel("What an evaluation tells about the optimum", Axis("information, bits", 0.0), labels, tells)]
    for name, study in studies_of(optimizer):
        mean, _ = study.predict(shown)
        low, high = study.interval(shown)
        told = focus(study, 0.0)
        width = told.high - told.low
        span = Range(
            min(told.low, float(np.min(mean))) - 0.3 * width, max(told.high, float(np.max(mean))) + 0.3 * width
        )
        predicts: list[Mark] = []
        for k in places:
            color = GREEN if recommended[k] else BLUE
            ends = [float(np.clip(end, *span)) for end in (low[k], high[k])]
            predicts.append(Line(ends, [float(k)] * 2, color=color, width=1.5))
            predicts.append(Points([float(mean[k])], [float(k)], Kind.HERE, "", [notes[k]], color=color))
        title = f"What the model predicts{f' of {short(name)}' if name else ''}, and 95 % intervals"
        panels.append(Panel(title, Axis(value_label(name), *span), labels, tuple(predicts)))
    said = f"{len(shown)} of {len(found)} combinations, by information" if len(found) > len(shown) else ""
    green = "green: recommended" if any(recommended) else ""
    said = "; ".join(filter(None, [said, green]))
    return Picture(TITLE, said, tuple(panels), 2, size=(6.2, 1.4 + 0.26 * len(shown)))


def _shown(bits: HostArray, recommended: list[bool]) -> HostArray:
    """Which combinations are shown: the most informative ones, and a recommended one in any case."""
    order = np.argsort(-bits, kind="stable")
    kept = order[:MOST_BARS]
    if any(recommended) and not any(recommended[k] for k in kept):
        kept[-1] = recommended.index(True)
    return kept


def _is_one_of(space: Space, params: Mapping[str, Any], points: Sequence[Recommendation]) -> bool:
    return any(space.same(params, best.params) for best in points)


def all_listed(optimizer: Optimizer) -> bool:
    """Whether nothing varies but choices and levels, more than two of them."""
    free = optimizer.space.free
    return len(free) > 2 and all(coordinate(optimizer, name).listed for name in free)


def _label(space: Space, params: Mapping[str, Any], names: list[str]) -> str:
    return ", ".join(short(space.parameters[name].show(params[name]), 14) for name in names)


def _notes(optimizer: Optimizer, params: Mapping[str, Any]) -> str:
    """What became of the trials of a combination."""
    trials = [trial for trial in optimizer.trials if trial.state in STATES]
    there = [outcome(optimizer, trial).split("\n")[0] for trial in trials if optimizer.space.same(trial.params, params)]
    return "\n".join(there[-MOST_NOTES:]) or "no trial yet"


def _combinations(optimizer: Optimizer, where: OptimumPosterior) -> list[dict[str, Any]]:
    """All combinations of choices. If they are too many: the recommended one, its neighbors, and the sampled optima."""
    space, best = optimizer.space, dict(where.recommendation.params)
    choices = {name: coordinate(optimizer, name).grid(0) for name in space.parameters if name in space.free}
    if math.prod(map(len, choices.values())) <= ENUMERATED:
        return [{**best, **dict(zip(choices, row, strict=True))} for row in itertools.product(*choices.values())]
    candidates = [best, *({**best, name: choice} for name, several in choices.items() for choice in several)]
    candidates += [{name: values[k] for name, values in where.params.items()} for k in range(where.num_points)]
    points: list[dict[str, Any]] = []
    for candidate in candidates:
        if not any(space.same(candidate, point) for point in points):
            points.append(candidate)
    return points
