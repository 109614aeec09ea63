"""Pictures as figures of plotly, for the dashboard.

    draw_interactive(picture) -> plotly.graph_objects.Figure

Plotly is imported when a picture is drawn. Optuna stores a figure in its database in small pieces, so that figures are
kept small: rounded numbers and no template.
"""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from xstar.errors import SettingsError
from xstar.files.letters import visible
from xstar.views.figures.picture import (
    BLACK,
    GREY,
    ORANGE,
    PALE,
    PURPLE,
    SKY,
    YELLOW,
    Axis,
    Band,
    Bars,
    Field,
    Kind,
    Line,
    Mark,
    Numbers,
    Panel,
    Picture,
    Points,
    Rule,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Trace: TypeAlias = dict[str, Any]

MISSING = "the dashboard needs optuna-dashboard and plotly: pip install 'xstar[dashboard]'."
DIGITS = 5
"""Significant digits of a number, and more where a range is narrow for its size."""
COLORS = {"values": "Viridis", "bits": "Magma"}
GAP, GAP_OF_FIELDS, BAR = 0.09, 0.17, 0.03
"""Between columns, where there are fields with scales, and for the scale itself: shares of the figure."""
LINE, LABELS, LEGEND = 15, 62, 46
"""Pixels of a line of what is said, of an axis with its label and the next title, of a legend."""
INCH = 75
"""Pixels of an inch of a panel's height."""
WIDE, TITLES = 90, 80
"""Letters of what is said in a line, and of the titles of all panels of a row."""
MARKERS: dict[Kind, dict[str, Any]] = {
    Kind.TOLD: {"symbol": "circle", "size": 8, "color": "white", "line": {"color": BLACK, "width": 1.5}},
    Kind.FAILED: {"symbol": "x", "size": 9, "color": BLACK, "line": {"color": "white", "width": 1}},
    Kind.RUNNING: {"symbol": "diamond", "size": 10, "color": SKY, "line": {"color": BLACK, "width": 1}},
    Kind.OPTIMUM: {"symbol": "circle", "size": 5, "color": ORANGE, "line": {"color": "white", "width": 0.5}},
    Kind.RECOMMENDED: {"symbol": "star", "size": 16, "color": YELLOW, "line": {"color": BLACK, "width": 1}},
    Kind.HERE: {"symbol": "diamond", "size": 11, "color": PURPLE, "line": {"color": BLACK, "width": 1}},
    Kind.SURPRISE: {"symbol": "square", "size": 8, "color": ORANGE, "line": {"color": BLACK, "width": 1}},
    Kind.BEYOND: {"symbol": "triangle-down", "size": 9, "color": "white", "line": {"color": GREY, "width": 1}},
    Kind.INFEASIBLE: {"symbol": "triangle-up", "size": 9, "color": PALE, "line": {"color": GREY, "width": 1}},
    Kind.NONDOMINATED: {"symbol": "circle", "size": 9, "color": BLACK, "line": {"color": "white", "width": 1}},
    Kind.COMPROMISE: {"symbol": "star", "size": 12, "color": YELLOW, "line": {"color": BLACK, "width": 1}},
    Kind.REFERENCE: {"symbol": "cross", "size": 10, "color": GREY, "line": {"color": "white", "width": 1}},
}


def draw_interactive(picture: Picture, height: int | None = None) -> Figure:
    """Return a picture as a figure of plotly, of a height in pixels or of its own."""
    try:
        from plotly.graph_objects import Figure
    except ImportError as error:
        raise SettingsError(MISSING) from error
    said = [_text(line) for line in textwrap.wrap(picture.said, WIDE)]
    heading = "<br>".join(
        [f"<b>{_text(picture.title)}</b>", *(f'<span style="font-size:12px">{line}</span>' for line in said)]
    )
    top, bottom = 62 + LINE * len(said), LABELS + (LEGEND - 12 if picture.has_legend else 0)
    height = height or int(top + bottom + INCH * picture.size[1] * picture.rows)
    row_gap = min(LABELS / max(height - top - bottom, 1), 0.6 / picture.rows)
    scales = any(isinstance(mark, Field) for panel in picture.panels for mark in panel.marks)
    gap = GAP_OF_FIELDS if scales and picture.columns <= 2 else GAP
    traces: list[Trace] = []
    layout: dict[str, Any] = {}
    shown: set[str] = set()
    for k, (panel, cell) in enumerate(zip(picture.shown, picture.cells, strict=True)):
        suffix = "" if k == 0 else str(k + 1)
        across, up = _domain(cell[1], picture.columns, gap), _domain(picture.rows - 1 - cell[0], picture.rows, row_gap)
        fields = any(isinstance(mark, Field) for mark in panel.marks)
        if fields:
            across = (across[0], across[1] - BAR)
        for mark in panel.marks:
            for trace in _traces(mark, panel, across[1], up):
                named = bool(trace.get("name")) and picture.legend
                traces.append(
                    trace
                    | {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}", "showlegend": named and trace["name"] not in shown}
                    | ({"legendgroup": trace["name"]} if named else {})
                )
                if named:
                    shown.add(trace["name"])
        layout[f"xaxis{suffix}"] = _axis(panel.x, panel.marks, "x") | {"domain": across, "anchor": f"y{suffix}"}
        layout[f"yaxis{suffix}"] = _axis(panel.y, panel.marks, "y") | {"domain": up, "anchor": f"x{suffix}"}
        layout.setdefault("annotations", []).extend(_annotations(panel, across, up, TITLES // picture.columns))
        layout.setdefault("shapes", []).extend(_shapes(panel, suffix, shown if picture.legend else None))
    drawn = Figure(traces)
    drawn.update_layout(
        template=None,
        title={"text": heading, "x": 0.02, "y": 0.97, "yanchor": "top", "font": {"size": 14}},
        font={"family": "system-ui, sans-serif", "size": 12, "color": "#222"},
        margin={"l": 65, "r": 25, "t": top, "b": bottom},
        height=height,
        showlegend=picture.has_legend,
        paper_bgcolor="white",
        plot_bgcolor="white",
        hovermode="closest",
        bargap=0.2,
        legend={
            "orientation": "h",
            "y": 0.0,
            "yref": "container",
            "yanchor": "bottom",
            "itemsizing": "constant",
            "font": {"size": 11},
        },
        uirevision="xstar",  # or else the dashboard would undo the reader's zoom whenever it looks for news
        **layout,
    )
    return drawn


def _domain(place: int, count: int, gap: float) -> tuple[float, float]:
    """The ends of one of several equal parts with gaps between them."""
    size = (1.0 - gap * (count - 1)) / count
    low = place * (size + gap)
    return round(low, 4), round(low + size, 4)


def _annotations(
    panel: Panel, across: tuple[float, float], up: tuple[float, float], letters: int
) -> list[dict[str, Any]]:
    """The panel's title above it, and its note in its middle."""
    made: list[dict[str, Any]] = []
    paper = {"xref": "paper", "yref": "paper", "showarrow": False}
    if panel.title:
        place = {"x": across[0], "y": up[1], "xanchor": "left", "yanchor": "bottom"}
        cut = {"hovertext": _text(panel.title)} if len(panel.title) > letters else {}
        made.append({"text": _text(panel.title, letters), "font": {"size": 12}, **cut, **place, **paper})
    if panel.note:
        middle = {"x": sum(across) / 2, "y": sum(up) / 2, "xanchor": "center"}
        made.append({"text": "<br>".join(map(_text, panel.note.split("\n"))), **middle, **paper})
    return made


def _shapes(panel: Panel, suffix: str, named: set[str] | None) -> list[dict[str, Any]]:
    """Rules, from one side of the panel to the other; each name is in the legend once, if there is one."""
    shapes = []
    for mark in panel.marks:
        if isinstance(mark, Rule):
            along, across = ("y", "x") if mark.level else ("x", "y")
            ends = {f"{along}0": mark.at, f"{along}1": mark.at, f"{across}0": 0, f"{across}1": 1}
            refs = {f"{along}ref": f"{along}{suffix}", f"{across}ref": f"{across}{suffix} domain"}
            line = {"color": mark.color, "width": 1.5, "dash": "dash" if mark.dashed else "solid"}
            shape = {"type": "line", "layer": "above", "line": line, **ends, **refs}
            if named is not None and mark.name and mark.name not in named:
                named.add(mark.name)
                shape |= {"name": mark.name, "showlegend": True}
            shapes.append(shape)
    return shapes


def _axis(axis: Axis, marks: Sequence[Mark], which: str) -> dict[str, Any]:
    """The axis as plotly has it, with few ticks."""
    line = {"showline": True, "linecolor": "#999", "ticks": "outside", "tickcolor": "#999", "zeroline": False}
    made: dict[str, Any] = {"title": {"text": _text(axis.label, 60), "standoff": 6, "font": {"size": 11}}, **line}
    low, high = axis.low, axis.high
    if axis.log:
        seen = [value for value in _numbers(marks, which) if value > 0.0]
        made |= _log_axis(low or min(seen, default=1.0), high or max(seen, default=1.0))
    elif low is not None and high is not None:
        made |= {"type": "linear", "range": [low, high]}
    elif low is not None:
        made["rangemode"] = "tozero"
    if axis.ticks:
        made |= {
            "type": "linear",
            "tickmode": "array",
            "tickvals": [place for place, _ in axis.ticks],
            "ticktext": [_text(name, 60) for _, name in axis.ticks],
            "automargin": True,
        }
    elif axis.whole and not axis.log and low is not None and high is not None:
        made |= {"tick0": 0, "dtick": _whole_step(high - low)}
    elif axis.percent:
        made |= {"tickformat": ".0%", "nticks": 5}
    if axis.reversed:
        made |= {"range": [made["range"][1], made["range"][0]]} if "range" in made else {"autorange": "reversed"}
    return made


def _numbers(marks: Sequence[Mark], which: str) -> Iterable[float]:
    """What marks have along an axis."""
    for mark in marks:
        if isinstance(mark, Rule | Bars):
            continue
        if isinstance(mark, Band) and which == "y":
            yield from chain(mark.low, mark.high)
        else:
            yield from getattr(mark, which)


def _whole_step(width: float) -> int:
    """A step of 1, 2 or 5 times a power of ten that makes few ticks."""
    steps = (digit * int(10**k) for k in range(19) for digit in (1, 2, 5))
    return next(step for step in steps if width <= 7 * step)


def _scale(low: float, high: float) -> dict[str, Any]:
    """Few ticks of a scale, at numbers with few digits."""
    width = high - low
    if not 0.0 < width < math.inf:
        return {}
    unit = 10.0 ** math.floor(math.log10(width / 5))
    step = next(unit * factor for factor in (1, 2, 5, 10) if width <= 6 * unit * factor)
    ticks = [round(k * step / unit) * unit for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return {"tickmode": "array", "tickvals": rounded(ticks), "ticktext": [f"{tick:.10g}" for tick in ticks]}


def _log_axis(low: float, high: float, most: int = 5) -> dict[str, Any]:
    """A logarithmic axis with few ticks: powers of ten or, if there is hardly one, numbers like 2 and 5."""
    if low >= high:
        low, high = 0.5 * low, 2.0 * high
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


def _traces(mark: Mark, panel: Panel, right: float, up: tuple[float, float]) -> list[Trace]:
    match mark:
        case Line():
            return [_line(mark, panel)]
        case Band():
            return _band(mark)
        case Points():
            return [_points(mark)]
        case Field():
            return [_field(mark, panel, right, up)]
        case Bars():
            return [_bars(mark)]
        case Rule():
            return []


def _line(mark: Line, panel: Panel) -> Trace:
    modes = ["lines", *(["markers"] if mark.marked else []), *(["text"] if mark.labels else [])]
    style = {"color": mark.color, "width": mark.width, "dash": "dash" if mark.dashed else "solid"}
    here = f"{_text(panel.x.label, 30)} %{{x:.4g}}<br>" if panel.x.label else ""
    there = f"{_text(mark.name) or _text(panel.y.label, 30)}: %{{y:{'.1%' if panel.y.percent else '.5g'}}}"
    return {
        "type": "scatter",
        "mode": "+".join(modes),
        "x": rounded(mark.x),
        "y": rounded(mark.y),
        "name": mark.name,
        "line": style | ({"shape": "hv"} if mark.steps else {}),
        "hovertemplate": f"{here}{there}<extra></extra>",
    } | ({"fill": "tozeroy"} if mark.filled else {}) | ({"opacity": mark.opacity} if mark.opacity < 1.0 else {}) | (
        {"text": list(mark.labels), "textposition": "top center"} if mark.labels else {}
    )  # fmt: skip


def _band(mark: Band) -> list[Trace]:
    """Its lower edge, which is not seen, and its upper edge, filled down to that."""
    edge = {"type": "scatter", "mode": "lines", "x": rounded(mark.x), "line": {"width": 0}, "hoverinfo": "skip"}
    red, green, blue = (int(mark.color[k : k + 2], 16) for k in (1, 3, 5))
    upper = {"name": mark.name, "fill": "tonexty", "fillcolor": f"rgba({red},{green},{blue},0.18)"}
    return [edge | {"y": rounded(mark.low)}, edge | {"y": rounded(mark.high), **upper}]


def _points(mark: Points) -> Trace:
    marker = dict(MARKERS[mark.kind])
    if mark.color is not None:
        marker["color"] = mark.color
    if mark.upright:
        marker = {"symbol": "line-ns-open", "size": 10, "color": marker["color"]}
    made: Trace = {
        "type": "scatter",
        "mode": "markers",
        "x": rounded(mark.x),
        "y": rounded(mark.y),
        "name": mark.label,
        "marker": marker,
        "cliponaxis": False,
    }
    if isinstance(mark.opacity, int | float):
        made["opacity"] = mark.opacity
    else:
        marker["opacity"] = [round(float(value), 2) for value in mark.opacity]
    for along, middle, low, high in (("y", mark.y, mark.low, mark.high), ("x", mark.x, mark.left, mark.right)):
        if low is not None and high is not None:
            made[f"error_{along}"] = _error(middle, low, high) | {"color": GREY, "thickness": 1}
    if mark.notes:
        made["hovertext"] = ["<br>".join(map(_text, note.split("\n"))) for note in mark.notes]
        made["hovertemplate"] = "%{hovertext}<extra></extra>"
    return made


def _error(middle: Numbers, low: Numbers, high: Numbers) -> dict[str, Any]:
    """Intervals around points, as far as they go to both sides."""
    more = [end - value for end, value in zip(high, middle, strict=True)]
    less = [value - end for end, value in zip(low, middle, strict=True)]
    return {"type": "data", "symmetric": False, "array": rounded(more), "arrayminus": rounded(less), "width": 0}


def _field(mark: Field, panel: Panel, right: float, up: tuple[float, float]) -> Trace:
    where = "<br>".join(f"{_text(axis.label, 30)} %{{{which}:.4g}}" for axis, which in ((panel.x, "x"), (panel.y, "y")))
    made: Trace = {
        "type": "heatmap" if mark.cells or min(len(mark.x), len(mark.y)) < 2 else "contour",
        "x": rounded(mark.x),
        "y": rounded(mark.y),
        "z": [rounded(row) for row in mark.z],
        "zmin": mark.low,
        "zmax": mark.high,
        "colorscale": COLORS[mark.palette],
        "colorbar": {
            "title": {"text": _text(mark.name, 30), "side": "right"}, "thickness": 12, "outlinewidth": 0,
            "x": right, "xpad": 4, "y": sum(up) / 2, "len": up[1] - up[0], **_scale(mark.low, mark.high),
        },
        "hovertemplate": f"{where}<br>%{{z:.4g}} {_text(mark.name, 30)}<extra></extra>",
    }  # fmt: skip
    if made["type"] == "contour":
        step = (mark.high - mark.low) / 24
        made |= {
            "contours": {"coloring": "heatmap", "start": mark.low, "end": mark.high, "size": step},
            "line": {"width": 0},
        }
    return made


def _bars(mark: Bars) -> Trace:
    along, across = ("x", "y") if mark.horizontal else ("y", "x")
    color = mark.colors[0] if len(mark.colors) == 1 else list(mark.colors)
    made: Trace = {
        "type": "bar",
        "orientation": "h" if mark.horizontal else "v",
        along: rounded(mark.lengths),
        across: rounded(mark.at),
        "name": mark.name,
        "width": mark.thickness,
        "marker": {"color": color},
    }
    if mark.low is not None and mark.high is not None:
        made[f"error_{along}"] = _error(mark.lengths, mark.low, mark.high) | {"color": BLACK, "thickness": 1.2}
    if mark.notes:
        made["hovertext"] = ["<br>".join(map(_text, note.split("\n"))) for note in mark.notes]
        made["hovertemplate"] = "%{hovertext}<extra></extra>"
        made["textposition"] = "none"
    return made


def rounded(values: Iterable[float]) -> list[float]:
    """Return numbers with no more digits than can be seen."""
    exact = [float(value) for value in values]
    size = max(map(abs, exact), default=0.0)
    spread = max(exact, default=0.0) / 2 - min(exact, default=0.0) / 2
    narrow = math.log10(size / 2 / spread) if size > 0.0 and spread > 0.0 else 0.0
    digits = min(DIGITS + math.floor(max(narrow, 0.0)), 17)
    return [float(f"{value:.{digits}g}") for value in exact]


def _text(value: str, limit: int = 120) -> str:
    """Words in a few letters, safe to be read as HTML, and as a template: %{y} would be a number."""
    shown = visible(value if len(value) <= limit else value[: limit - 1] + "…")
    return html.escape(shown, quote=False).replace("%{", "&#37;{")
