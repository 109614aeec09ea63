"""What is left to gain, and what was gained, over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from xstar.beliefs import OptimumPosterior
from xstar.optimizer import Optimizer
from xstar.trial import Trial
from xstar.views.figures import parts
from xstar.views.figures.parts import BLUE, RED, Trace, text

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MOST_BOUNDS, SAMPLES = 12, 100
"""After how many trials the bound is computed; from how many samples."""
QUANTILES = {0.95: ("with 95 % probability", RED), 0.5: ("as likely as not", BLUE)}


def draw_regret(optimizer: Optimizer) -> Figure:
    """Draw the bound on what is left to gain, beside the best value so far."""
    told = [trial for trial in optimizer.trials if trial.state in ("done", "failed")]
    posteriors = {
        prefix[-1].number: optimizer.with_trials(prefix).where(SAMPLES)
        for prefix in _prefixes(told, optimizer.num_initial)
    }
    lines, axis = _draw_bounds({number: where for number, where in posteriors.items() if _is_known(where)})
    last = max(trial.number for trial in told)
    layout: dict[str, Any] = {
        "grid": {"rows": 1, "columns": 2, "pattern": "independent", "xgap": 0.25},
        "xaxis": parts.trial_axis(last),
        "yaxis": {"title": {"text": "left to gain, at most"}, **axis},
        "xaxis2": parts.trial_axis(last),
        "yaxis2": {"title": {"text": f"value, to {optimizer.direction}"}, "zeroline": False},
    }
    if not lines:
        note = f"A bound appears after<br>{optimizer.num_initial} results that differ."
        position = {"xref": "paper", "yref": "paper", "x": 0.2, "y": 0.5, "xanchor": "center"}
        layout["annotations"] = [{"text": note, "showarrow": False, **position}]
    return parts.figure(
        [*lines, *_draw_values(optimizer)],
        "What is left to gain",
        "by a better point than the one recommended at the time; and the values told",
        **layout,
    )


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


def _draw_bounds(posteriors: Mapping[int, OptimumPosterior]) -> tuple[list[Trace], dict[str, Any]]:
    """A line for each quantile, and their axis: logarithmic, unless nothing at all is left to gain.

    Where nothing is left, the point lies below all others, with a 0 beside it.
    """
    if not posteriors:
        return [], {}
    quantiles = {q: [where.regret_quantile(q) for where in posteriors.values()] for q in QUANTILES}
    gains = [amount for amounts in quantiles.values() for amount in amounts if amount > 0.0]
    floor = min(gains, default=0.0) / 3.0
    lines = []
    for q, (name, color) in QUANTILES.items():
        amounts = quantiles[q]
        lines.append({
            "type": "scatter",
            "mode": "lines+markers+text",
            "x": list(posteriors),
            "y": parts.rounded(max(amount, floor) for amount in amounts),
            "text": ["" if amount > 0.0 else "0" for amount in amounts],
            "textposition": "top center",
            "hovertext": [f"after trial {k}: {text(amount)}" for k, amount in zip(posteriors, amounts, strict=True)],
            "hovertemplate": "%{hovertext}<extra></extra>",
            "name": name,
            "line": {"color": color, "width": 2},
        })  # fmt: skip
    if not gains:
        return lines, {"rangemode": "tozero"}
    lowest = min(max(amount, floor) for amounts in quantiles.values() for amount in amounts)
    return lines, parts.log_axis(0.75 * lowest, 1.33 * max(gains))


def _draw_values(optimizer: Optimizer) -> list[Trace]:
    done = [trial for trial in optimizer.trials if trial.state == "done"]
    best = optimizer.direction.running_best(np.array([trial.value for trial in done], dtype=np.float64))
    # Only where it changes, and at the end: of many trials, few are the best so far.
    turns = [k for k in range(len(done)) if k in (0, len(done) - 1) or best[k] != best[k - 1]]
    marker = parts.STATES["done"][1] | {"size": 6}
    latest = done[-parts.MOST_POINTS :]
    values = parts.rounded(trial.value or 0.0 for trial in latest)
    notes = [parts.outcome(trial) for trial in latest]
    line = {
        "type": "scatter",
        "mode": "lines",
        "x": [done[k].number for k in turns],
        "y": parts.rounded(best[turns]),
        "name": "best so far",
        "line": {"shape": "hv", "color": "#222", "width": 2},
        "hovertemplate": "best so far: %{y:.5g}<extra></extra>",
    }
    told = parts.points([trial.number for trial in latest], values, "told", marker, notes)
    return [trace | {"xaxis": "x2", "yaxis": "y2"} for trace in (line, told)]
