"""What the figures have in common: traces, axes and words, as plotly's JSON has them."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from xstar.beliefs import OptimumPosterior
from xstar.errors import SettingsError
from xstar.optimizer import Optimizer
from xstar.space import Integer, Parameter, Real
from xstar.trial import Trial

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Trace: TypeAlias = dict[str, Any]

MISSING = "the dashboard needs optuna-dashboard and plotly: pip install 'xstar[dashboard]'."
MOST_POINTS = 400
"""Trials that are drawn as points: the latest ones."""
DIGITS = 5
"""Significant digits of a number, and more where a range is narrow for its size."""

BLUE, GREEN, RED, ORANGE = "#3465a4", "#2e9f45", "#d62728", "#ff9800"
STATES = {
    "done": ("told", {"symbol": "circle", "size": 8, "color": "white", "line": {"color": "black", "width": 1.5}}),
    "failed": ("failed", {"symbol": "x", "size": 9, "color": RED, "line": {"color": "white", "width": 1}}),
    "pending": ("running", {"symbol": "diamond", "size": 10, "color": ORANGE, "line": {"color": "black", "width": 1}}),
}
"""The trials that are drawn: their name in the legend, and their marker."""
RECOMMENDED = {"symbol": "star", "size": 16, "color": "#7fff00", "line": {"color": "black", "width": 1}}


def figure(traces: list[Trace], title: str, subtitle: str, **layout: Any) -> Figure:
    """Return a figure with a title in two lines, on white."""
    try:
        from plotly.graph_objects import Figure
    except ImportError as error:
        raise SettingsError(MISSING) from error
    heading = f'<b>{title}</b><br><span style="font-size:12px">{subtitle}</span>'
    drawn = Figure(traces)
    drawn.update_layout(
        template=None,
        title={"text": heading, "x": 0.02, "y": 0.96, "yanchor": "top", "font": {"size": 16}},
        font={"family": "system-ui, sans-serif", "size": 12, "color": "#222"},
        margin={"l": 65, "r": 25, "t": 70, "b": 80},
        paper_bgcolor="white",
        plot_bgcolor="white",
        hovermode="closest",
        legend={"orientation": "h", "y": -0.17, "yanchor": "top", "itemsizing": "constant", "font": {"size": 11}},
        uirevision="xstar",  # or else the dashboard would undo the reader's zoom whenever it looks for news
    )
    drawn.update_layout(**layout)
    return drawn


def axis(parameter: Parameter, name: str, ticks: int = 5) -> dict[str, Any]:
    """Return the axis of a parameter: its name, its range, and a logarithm where the parameter has one."""
    line = {"showline": True, "linecolor": "#999", "ticks": "outside", "tickcolor": "#999", "zeroline": False}
    titled = {"title": {"text": text(name), "standoff": 6}, **line}
    if not isinstance(parameter, Real | Integer):
        return titled
    low, high = float(parameter.low), float(parameter.high)
    return titled | (log_axis(low, high, ticks) if parameter.log else {"type": "linear", "range": [low, high]})


def log_axis(low: float, high: float, most: int = 5) -> dict[str, Any]:
    """Return a logarithmic axis with few ticks: powers of ten or, if there is hardly one, numbers like 2 and 5."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    digits = (1, 2, 5) if last - first <= 2 else (1,)
    ticks = [digit * 10.0**k for k in range(first, last + 1) for digit in digits]
    inside = [tick for tick in ticks if low * 0.999 <= tick <= high * 1.001]
    values = inside[:: math.ceil(len(inside) / most)] if len(inside) >= 2 else [low, high]
    return {
        "type": "log",
        "range": [math.log10(low), math.log10(high)],
        "tickmode": "array",
        "tickvals": values,
        "ticktext": [f"{value:.4g}" for value in values],
        "tickangle": 0,
    }


def trial_axis(last: int) -> dict[str, Any]:
    """Return an axis of trial numbers up to the last, with few ticks."""
    steps = (digit * 10**k for k in range(12) for digit in (1, 2, 5))
    return {
        "title": {"text": "trial", "standoff": 6},
        "range": [-0.03 * last - 0.5, 1.03 * last + 0.5],
        "tick0": 0,
        "dtick": next(step for step in steps if last <= 7 * step),
        "zeroline": False,
    }


def choice_ticks(labels: Iterable[str]) -> dict[str, Any]:
    """Return ticks at 0, 1, ... with the names of choices: two choices may have the same name."""
    names = list(labels)
    return {"type": "linear", "tickmode": "array", "tickvals": list(range(len(names))), "ticktext": names}


def trial_points(optimizer: Optimizer, x: str, y: str | float) -> list[Trace]:
    """Return told, failed and running trials at their values of a parameter, over another or at a fixed height."""
    traces = []
    for state, (name, marker) in STATES.items():
        trials = [trial for trial in optimizer.trials if trial.state == state][-MOST_POINTS:]
        if trials:
            across = rounded(trial.params[x] for trial in trials)
            up = rounded(trial.params[y] if isinstance(y, str) else y for trial in trials)
            traces.append(points(across, up, name, marker, [outcome(trial) for trial in trials]))
    return traces


def optimum_points(where: OptimumPosterior, x: str, y: str | float, marker: Mapping[str, Any]) -> list[Trace]:
    """Return the sampled optima, and the recommended point."""
    best = where.recommendation
    sampled_up = where.params[y] if isinstance(y, str) else [y] * len(where)
    best_up = best.params[y] if isinstance(y, str) else 0.0
    note = f"recommended: {text(best.mean)} ± {best.sd:.2g}"
    return [
        points(rounded(where.params[x]), rounded(sampled_up), "optimum, sampled", marker, "a sampled optimum")
        | {"opacity": 0.55},
        points(rounded([best.params[x]]), rounded([best_up]), "recommended", RECOMMENDED, note),
    ]


def points(x: list[float], y: list[float], name: str, marker: Mapping[str, Any], notes: str | list[str]) -> Trace:
    """Return markers, with what is said when the mouse is over them."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": x,
        "y": y,
        "name": name,
        "marker": dict(marker),
        "cliponaxis": False,
        "hovertext": notes,
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def outcome(trial: Trial) -> str:
    """Return one line about a trial."""
    if trial.state == "done":
        return f"trial {trial.number}: {text(trial.value)}"
    if trial.state == "failed":
        return f"trial {trial.number} failed: {text(trial.reason)}"
    return f"trial {trial.number} is running"


def text(value: Any, limit: int = 40) -> str:
    """Return a value or a name in a few characters, safe to be read as HTML."""
    written = f"{value:.5g}" if isinstance(value, float) else str(value)
    return html.escape(written if len(written) <= limit else written[: limit - 1] + "…", quote=False)


def rounded(values: Iterable[float]) -> list[float]:
    """Return numbers with no more digits than can be seen."""
    exact = [float(value) for value in values]
    size = max(map(abs, exact), default=0.0)
    spread = max(exact, default=0.0) / 2 - min(exact, default=0.0) / 2
    narrow = math.log10(size / 2 / spread) if size > 0.0 and spread > 0.0 else 0.0
    digits = min(DIGITS + math.floor(max(narrow, 0.0)), 17)
    return [float(f"{value:.{digits}g}") for value in exact]
