"""Where the optimum is, parameter by parameter."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from xstar.beliefs import OptimumPosterior
from xstar.optimizer import Optimizer
from xstar.space import Categorical, Integer, Real
from xstar.views.figures import parts
from xstar.views.figures.parts import BLUE, GREEN, Trace, text
from xstar.views.plots import grid

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MOST_PANELS, BINS, MOST_BARS = 12, 24, 20
"""Parameters that are shown; bars of a number, and of choices."""
CREDIBLE = 0.9


def draw_optimum(optimizer: Optimizer, where: OptimumPosterior) -> Figure:
    """Draw how the sampled optima are distributed, with credible intervals: a panel for each parameter that varies."""
    names = [name for name in optimizer.space.parameters if name in optimizer.space.free]
    shown = names[:MOST_PANELS]
    columns = len(shown) if len(shown) <= 3 else min(4, math.ceil(len(shown) / 2))
    rows = math.ceil(len(shown) / columns)
    layout: dict[str, Any] = {
        "grid": {"rows": rows, "columns": columns, "pattern": "independent", "xgap": 0.25, "ygap": 0.2 + 0.15 * rows}
    }
    traces: list[Trace] = []
    for k, name in enumerate(shown):
        suffix = "" if k == 0 else str(k + 1)
        panel, axis = (_draw_choices if name in where.unordered else _draw_numbers)(optimizer, where, name)
        traces += [trace | {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"} for trace in panel]
        heading = f"{text(name, 24)}<br>{_interval(where, name)}"
        layout[f"xaxis{suffix}"] = axis | {"title": {"text": heading, "standoff": 4, "font": {"size": 11}}}
        title = {"text": "share" if k % columns == 0 else "", "font": {"size": 11}}
        layout[f"yaxis{suffix}"] = {"title": title, "rangemode": "tozero", "nticks": 4, "tickformat": ".0%"}
    some = f"; {len(shown)} of {len(names)} parameters" if len(names) > len(shown) else ""
    return parts.figure(
        traces,
        "Where the optimum is",
        f"{len(where)} samples of it, and its {100 * CREDIBLE:g} % credible intervals{some}; "
        f'<span style="color:{GREEN}">green: recommended</span>',
        showlegend=False,
        margin={"l": 60, "r": 25, "t": 70, "b": 55},
        **layout,
    )


def _draw_numbers(optimizer: Optimizer, where: OptimumPosterior, name: str) -> tuple[list[Trace], dict[str, Any]]:
    """Steps, because bars have no even width on a logarithmic axis; the recommended value is a line."""
    edges = _edges(optimizer, name)
    counts, _ = np.histogram(np.array(where.params[name], dtype=np.float64), bins=edges)
    shares = counts / len(where)
    steps = {
        "type": "scatter",
        "mode": "lines",
        "line": {"shape": "hv", "color": BLUE, "width": 1},
        "fill": "tozeroy",
        "x": parts.rounded(edges),
        "y": parts.rounded([*shares, shares[-1]]),
        "hovertemplate": f"{text(name)} from %{{x:.4g}} on: %{{y:.1%}} of the samples<extra></extra>",
    }
    best = where.recommendation.params[name]
    line = {
        "type": "scatter",
        "mode": "lines",
        "line": {"color": GREEN, "width": 2.5},
        "x": parts.rounded([best, best]),
        "y": parts.rounded([0.0, 1.05 * np.max(shares)]),
        "hovertemplate": f"recommended: {text(name)} = {text(best)}<extra></extra>",
    }
    axis = parts.axis(optimizer.space.parameters[name], name, ticks=3) | {"nticks": 4}
    ends = [edges[0], edges[-1]]
    axis["range"] = [math.log10(end) for end in ends] if axis["type"] == "log" else ends
    return [steps, line], axis


def _draw_choices(optimizer: Optimizer, where: OptimumPosterior, name: str) -> tuple[list[Trace], dict[str, Any]]:
    """A bar for each choice; the most probable ones, if there are many."""
    parameter = optimizer.space.parameters[name]
    assert isinstance(parameter, Categorical)
    sampled = [parameter.index(value) for value in where.params[name]]
    shares = np.bincount(np.array(sampled), minlength=len(parameter.choices)) / len(where)
    shown = sorted(np.argsort(-shares, kind="stable")[:MOST_BARS].tolist())
    best = parameter.index(where.recommendation.params[name])
    labels = [text(parameter.choices[k], 12) for k in shown]
    bars = {
        "type": "bar",
        "x": list(range(len(shown))),
        "y": parts.rounded(shares[shown]),
        "marker": {"color": [GREEN if k == best else BLUE for k in shown]},
        "hovertext": [f"{text(name)} = {label}" for label in labels],
        "hovertemplate": "%{hovertext}: %{y:.1%} of the samples<extra></extra>",
    }
    return [bars], parts.axis(parameter, name) | parts.choice_ticks(labels)


def _edges(optimizer: Optimizer, name: str) -> list[float]:
    """The ends of the bars of a histogram; around each value, if there are few."""
    parameter = optimizer.space.parameters[name]
    assert isinstance(parameter, Real | Integer)
    levels = None if parameter.block is None else parameter.block.levels
    if levels is not None and levels <= BINS:
        return [parameter.low + (k - 0.5) * (parameter.step or 1) for k in range(levels + 1)]
    return [float(value) for value in grid(optimizer, name, BINS + 1)]


def _interval(where: OptimumPosterior, name: str) -> str:
    """A credible interval in few characters; of choices, the likeliest that make it up."""
    interval = where.interval(name, CREDIBLE)
    if not isinstance(interval, dict):
        return f"{interval[0]:.4g} to {interval[1]:.4g}"
    total, said = 0.0, []
    for choice, share in sorted(interval.items(), key=lambda item: -item[1]):
        said.append(text(choice, 12))
        total += share
        if total >= CREDIBLE:
            break
    return " or ".join(said) if len(said) <= 3 else f"any of {len(said)}"
