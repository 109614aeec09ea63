"""Where an evaluation would tell most about the optimum."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from xstar.beliefs import OptimumPosterior
from xstar.optimizer import Optimizer
from xstar.space import Categorical
from xstar.views.figures import parts
from xstar.views.figures.parts import BLUE, GREEN, RED, text
from xstar.views.plots import grid, most_sensitive

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

TITLE = "Where an evaluation would tell most"
SIDE, CURVE = 25, 100
"""Points of a grid along each of two parameters, and along one alone."""
ENUMERATED, MOST_BARS = 1000, 20
"""Up to so many combinations of choices are all looked at; so many are shown."""


def draw_information(optimizer: Optimizer, where: OptimumPosterior) -> Figure:
    """Draw a map over the two numeric parameters that matter most; a curve over one; bars if there is none."""
    names = most_sensitive(optimizer)
    if len(names) == 2:
        return _draw_map(optimizer, where, *names)
    return _draw_curve(optimizer, where, *names) if names else _draw_bars(optimizer, where)


def _draw_map(optimizer: Optimizer, where: OptimumPosterior, first: str, second: str) -> Figure:
    across, up = grid(optimizer, first, SIDE), grid(optimizer, second, SIDE)
    best = where.recommendation.params
    bits = optimizer.information([{**best, first: a, second: b} for b in up for a in across])
    surface = {
        "type": "contour",
        "x": parts.rounded(across),
        "y": parts.rounded(up),
        "z": [parts.rounded(row) for row in bits.reshape(len(up), len(across))],
        "colorscale": "Viridis",
        "contours": {"coloring": "heatmap"},
        "line": {"width": 0},
        "colorbar": {"title": {"text": "bits"}, "thickness": 14, "outlinewidth": 0},
        "hovertemplate": f"{text(first)} %{{x:.4g}}<br>{text(second)} %{{y:.4g}}<br>%{{z:.3g}} bits<extra></extra>",
    }
    optima = parts.optimum_points(where, first, second, {"symbol": "circle", "size": 5, "color": RED})
    return parts.figure(
        [surface, *optima, *parts.trial_points(optimizer, first, second)],
        TITLE,
        _explain(optimizer, where, (first, second)),
        xaxis=parts.axis(optimizer.space.parameters[first], first),
        yaxis=parts.axis(optimizer.space.parameters[second], second),
    )


def _draw_curve(optimizer: Optimizer, where: OptimumPosterior, name: str) -> Figure:
    values = grid(optimizer, name, CURVE)
    bits = optimizer.information([{**where.recommendation.params, name: value} for value in values])
    curve = {
        "type": "scatter",
        "mode": "lines",
        "x": parts.rounded(values),
        "y": parts.rounded(bits),
        "line": {"color": BLUE, "width": 2.5},
        "showlegend": False,
        "hovertemplate": f"{text(name)} %{{x:.4g}}<br>%{{y:.3g}} bits<extra></extra>",
    }
    # Trials lie on the axis, the sampled optima in a strip of their own below it.
    top = max(float(np.max(bits)), 1e-6)
    strip = {"symbol": "line-ns-open", "size": 10, "color": RED}
    return parts.figure(
        [curve, *parts.optimum_points(where, name, -0.09 * top, strip), *parts.trial_points(optimizer, name, 0.0)],
        TITLE,
        _explain(optimizer, where, (name,)),
        xaxis=parts.axis(optimizer.space.parameters[name], name),
        yaxis={"title": {"text": "information, bits"}, "range": [-0.15 * top, 1.08 * top]},
    )


def _draw_bars(optimizer: Optimizer, where: OptimumPosterior) -> Figure:
    """The most informative of the combinations of choices."""
    space = optimizer.space
    names = [name for name in space.parameters if name in space.free]
    combinations = _combinations(optimizer, where)
    bits = optimizer.information(combinations)
    shown = [(combinations[k], float(bits[k])) for k in np.argsort(-bits, kind="stable")[:MOST_BARS]]
    trials = [trial for trial in optimizer.trials if trial.state in parts.STATES]
    notes = []
    for params, _ in shown:
        there = [parts.outcome(trial) for trial in trials if space.same(trial.params, params)]
        notes.append("<br>".join(there[-5:]) or "no trial yet")
    recommended = [space.same(params, where.recommendation.params) for params, _ in shown]
    bars = {
        "type": "bar",
        "orientation": "h",
        "x": parts.rounded(amount for _, amount in shown),
        "y": list(range(len(shown))),
        "marker": {"color": [GREEN if best else BLUE for best in recommended]},
        "hovertext": notes,
        "hovertemplate": "%{x:.3g} bits<br>%{hovertext}<extra></extra>",
    }
    labels = [", ".join(text(params[name], 18) for name in names) for params, _ in shown]
    said = "bits of information about the optimum"
    if len(combinations) > len(shown):
        said += f"; the best {len(shown)} of {len(combinations)} combinations"
    if any(recommended):
        said += f'; <span style="color:{GREEN}">green: recommended</span>'
    title = {"text": ", ".join(map(text, names)), "standoff": 12}
    return parts.figure(
        [bars],
        TITLE,
        said,
        xaxis={"title": {"text": "information, bits", "standoff": 6}, "rangemode": "tozero"},
        yaxis=parts.choice_ticks(labels) | {"title": title, "autorange": "reversed", "automargin": True},
    )


def _combinations(optimizer: Optimizer, where: OptimumPosterior) -> list[dict[str, Any]]:
    """All combinations of choices. If they are too many: the recommended one, its neighbors, and the sampled optima."""
    space, best = optimizer.space, dict(where.recommendation.params)
    choices = {
        name: parameter.choices
        for name, parameter in space.parameters.items()
        if isinstance(parameter, Categorical) and name in space.free
    }
    if math.prod(map(len, choices.values())) <= ENUMERATED:
        return [{**best, **dict(zip(choices, row, strict=True))} for row in itertools.product(*choices.values())]
    candidates = [best, *({**best, name: choice} for name, several in choices.items() for choice in several)]
    candidates += [{name: values[k] for name, values in where.params.items()} for k in range(len(where))]
    points: list[dict[str, Any]] = []
    for candidate in candidates:
        if not any(space.same(candidate, point) for point in points):
            points.append(candidate)
    return points


def _explain(optimizer: Optimizer, where: OptimumPosterior, names: tuple[str, ...]) -> str:
    """What is shown, and where the other parameters are."""
    others = [name for name in optimizer.space.parameters if name in optimizer.space.free and name not in names]
    said = "bits of information about the optimum"
    if not others:
        return said
    if len(others) > 3:
        return f"{said}; the other {len(others)} parameters as recommended"
    return f"{said}; at " + ", ".join(
        f"{text(name, 20)} = {text(where.recommendation.params[name], 20)}" for name in others
    )
