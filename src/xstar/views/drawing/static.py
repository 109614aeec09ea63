"""Pictures as figures of matplotlib, made without pyplot, so that nothing of the user's own plotting is touched.

    draw_static(picture) -> matplotlib.figure.Figure
    to_svg(picture, name) -> str

Matplotlib (`pip install 'xstar[plots]'`) is imported when a picture is drawn.
"""

from __future__ import annotations

import html
import io
import re
import textwrap
import warnings
from typing import Any

import numpy as np

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
    Panel,
    Picture,
    Points,
    Rule,
)

MISSING = "pictures need matplotlib: pip install 'xstar[plots]'."
HEADING, SAID, SMALL = 12.0, 9.0, 8.5
"""Sizes of letters, in points."""
COLORS = {"values": "viridis", "bits": "magma"}
LEVELS = 24
STYLES: dict[Kind, dict[str, Any]] = {
    Kind.TOLD: {"marker": "o", "s": 34, "color": "white", "edgecolors": BLACK, "linewidths": 1.2, "zorder": 4},
    Kind.FAILED: {"marker": "X", "s": 52, "color": BLACK, "edgecolors": "white", "linewidths": 0.8, "zorder": 4},
    Kind.RUNNING: {"marker": "D", "s": 40, "color": SKY, "edgecolors": BLACK, "linewidths": 1.0, "zorder": 5},
    Kind.OPTIMUM: {"marker": "o", "s": 14, "color": ORANGE, "edgecolors": "white", "linewidths": 0.3, "zorder": 3},
    Kind.RECOMMENDED: {"marker": "*", "s": 240, "color": YELLOW, "edgecolors": BLACK, "linewidths": 1.1, "zorder": 6},
    Kind.HERE: {"marker": "D", "s": 64, "color": PURPLE, "edgecolors": BLACK, "linewidths": 1.1, "zorder": 6},
    Kind.SURPRISE: {"marker": "s", "s": 40, "color": ORANGE, "edgecolors": BLACK, "linewidths": 1.0, "zorder": 5},
    Kind.BEYOND: {"marker": "v", "s": 34, "color": "white", "edgecolors": GREY, "linewidths": 1.0, "zorder": 4},
    Kind.INFEASIBLE: {"marker": "^", "s": 34, "color": PALE, "edgecolors": GREY, "linewidths": 1.0, "zorder": 4},
    Kind.NONDOMINATED: {"marker": "o", "s": 44, "color": BLACK, "edgecolors": "white", "linewidths": 0.8, "zorder": 5},
    Kind.COMPROMISE: {"marker": "*", "s": 130, "color": YELLOW, "edgecolors": BLACK, "linewidths": 0.9, "zorder": 6},
    Kind.REFERENCE: {"marker": "P", "s": 60, "color": GREY, "edgecolors": "white", "linewidths": 0.8, "zorder": 4},
}


def draw_static(picture: Picture, *, titled: bool = True) -> Any:
    """Return a picture as a figure of matplotlib; one that is not `titled` says neither its title nor what is shown."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise SettingsError(MISSING) from error
    rows, (width, height) = picture.rows, picture.size
    said = textwrap.wrap(picture.said, max(int(14.5 * width * picture.columns), 30)) if titled else []
    head = (1.5 * HEADING + 1.35 * SAID * len(said) + 6.0) / 72.0 if titled else 0.0
    names = picture.has_legend
    figure = Figure(
        figsize=(width * picture.columns, height * rows + head + (0.3 if names else 0.0)), layout="constrained"
    )
    if titled:
        # Lines without words keep room for what is said in smaller letters.
        figure.suptitle(_literal(picture.title) + "\n" * len(said), x=0.012, ha="left", weight="bold", size=HEADING)
        top = 1.0 - (1.5 * HEADING + 4.0) / 72.0 / figure.get_figheight()
        figure.text(0.012, top, _literal("\n".join(said)), size=SAID, va="top", color="#444444")
    grid = figure.subplots(rows, picture.columns, squeeze=False)
    taken = dict(zip(picture.cells, picture.shown, strict=True))
    for place, axes in np.ndenumerate(grid):
        panel = taken.get((place[0], place[1]))
        if panel is None:
            axes.set_axis_off()
        else:
            _draw_panel(axes, panel)
    if names:
        handles: dict[str, Any] = {}
        for axes in grid.flat:
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        columns = max(1, min(len(handles), int(width * picture.columns / 1.6)))
        order = _by_rows(len(handles), columns)
        shown = [(list(handles.values())[k], _literal(list(handles)[k])) for k in order]
        figure.legend(
            *zip(*shown, strict=True), loc="outside lower left", fontsize=SMALL, frameon=False, ncols=columns,
            handletextpad=0.5, columnspacing=1.2,
        )  # fmt: skip
    return figure


def _literal(text: str) -> str:
    """Words as they are: matplotlib would read what is between two dollars as a formula."""
    return visible(text).replace("$", r"\$")


def _by_rows(count: int, columns: int) -> list[int]:
    """The order in which a legend that fills its columns one after the other reads along its rows."""
    return [k for column in range(columns) for k in range(column, count, columns)]


def to_svg(picture: Picture, name: str | None = None, *, titled: bool = True) -> str:
    """Return a picture as an element of a page, which scales with it and whose words can be read and searched.

    Identifiers inside begin with the `name`, by default the title: every picture of a page needs one of its own.
    """
    figure = draw_static(picture, titled=titled)
    import matplotlib

    name, buffer = name or picture.title, io.StringIO()
    # Names of elements follow from what is drawn, not from chance, so that the same study has the same page.
    settings: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": name, "font.family": "sans-serif"}
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # the page has the letters that our font lacks
        figure.savefig(buffer, format="svg", dpi=110, metadata={"Date": None, "Creator": None}, transparent=True)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    head = f'<svg role="img" aria-label="{html.escape(visible(picture.alternative))}" '
    size = re.compile(r'^<svg ([^>]*?)width="[^"]*" height="[^"]*"')
    return size.sub(lambda found: head + found[1], _unique(text, name), count=1)


def _unique(text: str, name: str) -> str:
    """Identifiers that no other picture of the page has."""
    prefix = re.sub(r"\W+", "-", name.lower()).strip("-")
    text = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', text)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", text)


def _draw_panel(axes: Any, panel: Panel) -> None:
    for which, axis in (("x", panel.x), ("y", panel.y)):
        if axis.log:
            getattr(axes, f"set_{which}scale")("log")
    for mark in panel.marks:
        _draw_mark(axes, mark)
    axes.set_title(_literal(panel.title), loc="left", size=10)
    axes.tick_params(labelsize=SMALL)
    _set_axis(axes, "x", panel.x)
    _set_axis(axes, "y", panel.y)
    if not any(isinstance(mark, Field) for mark in panel.marks):
        axes.spines[["top", "right"]].set_visible(False)
    if panel.note:
        axes.text(
            0.5,
            0.5,
            _literal(panel.note),
            transform=axes.transAxes,
            ha="center",
            va="center",
            color="#555555",
            size=SAID,
        )


def _set_axis(axes: Any, which: str, axis: Axis) -> None:
    from matplotlib.ticker import MaxNLocator

    part = getattr(axes, f"{which}axis")
    part.set_label_text(_literal(axis.label), size=9)
    limits = getattr(axes, f"set_{which}lim")
    if axis.low is not None or axis.high is not None:
        limits(axis.low, axis.high)
    if axis.ticks:
        part.set_ticks([place for place, _ in axis.ticks], [_literal(name) for _, name in axis.ticks])
        part.set_ticks([], minor=True)
        if which == "x" and sum(len(name) for _, name in axis.ticks) > 40:
            axes.tick_params(axis="x", labelrotation=35)
            for label in axes.get_xticklabels():
                label.set(ha="right", rotation_mode="anchor")
    elif axis.whole and not axis.log:
        part.set_major_locator(MaxNLocator(integer=True, nbins=6))
    elif axis.percent:
        part.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10]))
        part.set_major_formatter(lambda share, _: f"{100 * share:.4g}%")
    if axis.reversed:
        part.set_inverted(True)


def _draw_mark(axes: Any, mark: Mark) -> None:
    match mark:
        case Line():
            _draw_line(axes, mark)
        case Band():
            axes.fill_between(mark.x, mark.low, mark.high, color=mark.color, alpha=0.18, lw=0, label=mark.name or None)
        case Points():
            _draw_points(axes, mark)
        case Field():
            _draw_field(axes, mark)
        case Bars():
            _draw_bars(axes, mark)
        case Rule():
            draw = axes.axhline if mark.level else axes.axvline
            draw(
                mark.at, color=mark.color, lw=1.5, ls="--" if mark.dashed else "-", label=mark.name or None, zorder=2.5
            )


def _draw_line(axes: Any, mark: Line) -> None:
    style = {"color": mark.color, "lw": mark.width, "ls": "--" if mark.dashed else "-", "label": mark.name or None}
    style["alpha"] = mark.opacity
    if mark.filled:
        axes.fill_between(mark.x, 0.0, mark.y, color=mark.color, alpha=0.25, lw=0, step="post" if mark.steps else None)
    if mark.steps:
        axes.step(mark.x, mark.y, where="post", **style)
    else:
        axes.plot(mark.x, mark.y, marker="o" if mark.marked else None, ms=4, **style)
    for x, y, text in zip(mark.x, mark.y, mark.labels, strict=False):
        axes.annotate(_literal(text), (x, y), (0, 4), textcoords="offset points", ha="center", size=SMALL)


def _draw_points(axes: Any, mark: Points) -> None:
    style = dict(STYLES[mark.kind])
    if mark.color is not None:
        style["color"] = mark.color
    if mark.upright:
        style |= {"marker": "|", "s": 90, "linewidths": 1.2, "edgecolors": None}
    if mark.low is not None and mark.high is not None:
        axes.vlines(mark.x, mark.low, mark.high, color=GREY, lw=1.0, zorder=2)
    if mark.left is not None and mark.right is not None:
        axes.hlines(mark.y, mark.left, mark.right, color=GREY, lw=1.0, zorder=2)
    if isinstance(mark.opacity, int | float):
        axes.scatter(mark.x, mark.y, alpha=mark.opacity, label=mark.label or None, clip_on=False, **style)
        return
    axes.scatter(mark.x, mark.y, alpha=np.asarray(mark.opacity, dtype=float), clip_on=False, **style)
    if mark.label:
        axes.scatter([], [], label=mark.label, **style)  # the legend's own, not faded


def _draw_field(axes: Any, mark: Field) -> None:
    from matplotlib.ticker import MaxNLocator

    z = np.asarray(mark.z, dtype=float)
    below, above = bool(np.min(z) < mark.low), bool(np.max(z) > mark.high)
    extend = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}[below, above]
    limits = {"cmap": COLORS[mark.palette], "vmin": mark.low, "vmax": mark.high}
    if mark.cells or min(z.shape) < 2:
        drawn = axes.pcolormesh(mark.x, mark.y, z, shading="nearest", rasterized=True, **limits)
    else:
        levels = np.linspace(mark.low, mark.high, LEVELS + 1)
        drawn = axes.contourf(mark.x, mark.y, z, levels=levels, extend=extend, **limits)
        drawn.set_rasterized(True)
    bar = axes.figure.colorbar(drawn, ax=axes, pad=0.02, extend=extend if mark.cells else None)
    bar.set_ticks([tick for tick in MaxNLocator(6).tick_values(mark.low, mark.high) if mark.low <= tick <= mark.high])
    bar.set_label(_literal(mark.name), size=SMALL)
    bar.ax.tick_params(labelsize=SMALL)


def _draw_bars(axes: Any, mark: Bars) -> None:
    color = mark.colors[0] if len(mark.colors) == 1 else list(mark.colors)
    named = {"label": mark.name or None, "color": color}
    if mark.horizontal:
        axes.barh(mark.at, mark.lengths, height=mark.thickness, **named)
    else:
        axes.bar(mark.at, mark.lengths, width=mark.thickness, **named)
    if mark.low is not None and mark.high is not None:
        if mark.horizontal:
            axes.hlines(mark.at, mark.low, mark.high, color=BLACK, lw=1.2)
        else:
            axes.vlines(mark.at, mark.low, mark.high, color=BLACK, lw=1.2)
