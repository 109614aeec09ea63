"""Where the optimum may be: its draws by pairs of parameters, and parameter by parameter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from xstar.beliefs import FrontPosterior, OptimumPosterior
from xstar.optimizer import Optimizer
from xstar.views.figures.coordinates import Coordinate, check_names, coordinate, most_sensitive, short
from xstar.views.figures.picture import (
    BLACK,
    BLUE,
    GREY,
    PLACES,
    Axis,
    Bars,
    Kind,
    Line,
    Mark,
    Panel,
    Picture,
    Points,
    Rule,
)
from xstar.views.figures.trials import recommended_note

TITLE = "Where the optimum may be"
MOST_PAIRED, MOST_PANELS, BINS = 4, 12, 24
"""Parameters that are shown by pairs, and one by one; bars of a histogram."""
LETTERS = "ABCDE"
"""The places, in turn, as many as there are colors."""
TITLE_LETTERS = 34
"""Of the title of a panel, which is as wide as that."""
ZOOMED = 0.4
"""If all draws are in less of a parameter's range, only that is shown."""


def draw_pairs(
    optimizer: Optimizer, names: Sequence[str] | None = None, where: OptimumPosterior | None = None
) -> Picture:
    """Return the draws of the optimum over every pair of parameters, in the color of the place that each belongs to."""
    where = where or optimizer.where()
    if names is None:
        order = list(optimizer.space.parameters)
        names = sorted(most_sensitive(optimizer)[:MOST_PAIRED], key=order.index)
    else:
        names = check_names(optimizer, names, MOST_PAIRED)
    shown = [_close(where, coordinate(optimizer, name)) for name in names]
    groups = _groups(where)
    panels, empty = [], set()
    for row, up in enumerate(shown):
        for column, across in enumerate(shown):
            if column > row:
                empty.add(row * len(shown) + column)
            elif column == row:
                panels.append(_histogram(where, across, groups))
            else:
                panels.append(_cloud(optimizer, where, across, up, groups))
    size = (5.6, 3.7) if len(shown) == 1 else (3.6, 3.2) if len(shown) < 4 else (2.9, 2.6)
    return Picture(
        TITLE, _said(optimizer, where, len(shown)), tuple(panels), len(shown), empty=frozenset(empty), size=size
    )


def draw_marginals(optimizer: Optimizer, where: OptimumPosterior | None = None) -> Picture:
    """Return how the draws of the optimum are distributed: a panel for each parameter that varies."""
    where = where or optimizer.where()
    names = [name for name in optimizer.space.parameters if name in optimizer.space.free]
    shown = [coordinate(optimizer, name) for name in names[:MOST_PANELS]]
    columns = len(shown) if len(shown) <= 3 else min(4, math.ceil(len(shown) / 2))
    groups = _groups(where)
    panels = [_histogram(where, one, groups, titled=True) for one in shown]
    return Picture(TITLE, _said(optimizer, where, len(shown)), tuple(panels), columns, size=(3.4, 2.7))


def _close(where: OptimumPosterior, one: Coordinate) -> Coordinate:
    """The part of an axis where the draws are, if that is a small one."""
    if one.listed or one.parameter.block is None:
        return one
    ends = [*where.params[one.name], *(best.params[one.name] for best in where.recommended)]
    low, high = (float(one.parameter.encode(end(ends))[0]) for end in (min, max))
    margin = max(0.25 * (high - low), 0.02)
    low, high = max(low - margin, 0.0), min(high + margin, 1.0)
    return one if high - low > ZOOMED else replace(one, part=(low, high))


def _groups(where: OptimumPosterior) -> list[tuple[str, str, list[int]]]:
    """Name, color and samples of every place; what belongs to none comes last."""
    places = where.places[: len(PLACES)]
    if len(places) < 2:
        return [("", BLUE, list(range(where.num_points)))]
    taken = {k for place in places for k in place.samples}
    groups = [
        (f"place {LETTERS[k]}: {place.share:.0%}", PLACES[k], list(place.samples)) for k, place in enumerate(places)
    ]
    rest = [k for k in range(where.num_points) if k not in taken]
    return [*groups, *([("elsewhere", GREY, rest)] if rest else [])]


def _said(optimizer: Optimizer, where: OptimumPosterior, shown: int) -> str:
    """In how many places it may be, and where they are."""
    count = len(optimizer.space.free)
    some = f"; {shown} of {count} parameters" if count > shown else ""
    points = f"{where.num_points} points of {len(where)} sampled Pareto sets"
    drawn = f"{points if isinstance(where, FrontPosterior) else f'{len(where)} draws of it'}{some}"
    places = where.places
    if len(places) < 2:
        return drawn
    free = [name for name in optimizer.space.parameters if name in optimizer.space.free]
    shares = [optimizer.space.show({name: place.params[name] for name in free}) for place in places[:3]]
    middles = "; ".join(f"{LETTERS[k]} about {short(middle, 70)}" for k, middle in enumerate(shares))
    return f"{drawn}, in one of {len(places)} places: {middles}" + ("; ..." if len(places) > 3 else "")


def _histogram(
    where: OptimumPosterior, one: Coordinate, groups: list[tuple[str, str, list[int]]], *, titled: bool = False
) -> Panel:
    """How the draws are distributed along a parameter; the recommended value is a line."""
    edges = one.edges(BINS)
    placed = np.array([one.place(value) for value in where.params[one.name]])
    marks: list[Mark] = []
    for turn, (name, color, samples) in enumerate(groups):
        label = name if titled else ""
        counts, _edges = np.histogram(placed[samples], bins=edges)
        shares = counts / where.num_points
        if one.unordered or one.listed:
            middles = [(low + high) / 2 for low, high in pairwise(edges)]
            kept = [k for k, share in enumerate(shares) if share > 0.0 or len(groups) == 1]
            width = 0.8 / len(groups)
            aside = (turn - (len(groups) - 1) / 2) * width
            at, lengths = [middles[k] + aside for k in kept], [float(shares[k]) for k in kept]
            marks.append(Bars(at, lengths, label, colors=(color,), thickness=width))
        else:
            marks.append(Line(edges, [*shares, shares[-1]], label, color, 1.2, steps=True, filled=True))
    marks += _recommended(where, one)
    axis = one.axis
    if not one.listed:
        axis = Axis(axis.label, edges[0], edges[-1], axis.log, whole=axis.whole)
    title = short(_in_words(where, one.name), TITLE_LETTERS) if titled else ""
    return Panel(title, axis, Axis("share of the draws", 0.0, percent=True), tuple(marks))


def _recommended(where: OptimumPosterior, one: Coordinate) -> list[Mark]:
    """The recommended value as a line; those of several points as a row of them below the draws."""
    places = [one.place(best.params[one.name]) for best in where.recommended]
    if len(places) == 1:
        return [Rule(places[0], "recommended", BLACK, dashed=True)]
    return [Points(places, [0.0] * len(places), Kind.COMPROMISE)]


def _in_words(where: OptimumPosterior, name: str) -> str:
    """The credible interval of a parameter, or that of each place."""
    if len(where.places) < 2:
        return where.in_words(name)
    named = zip(LETTERS, where.places, strict=False)
    return ", ".join(f"{letter} {where.in_words(name, place=place)}" for letter, place in named)


def _cloud(
    optimizer: Optimizer, where: OptimumPosterior, across: Coordinate, up: Coordinate,
    groups: list[tuple[str, str, list[int]]],
) -> Panel:  # fmt: skip
    """The draws over two parameters; where values are listed, those at the same place are moved apart a little."""
    xs = _apart([across.place(value) for value in where.params[across.name]], across, 0)
    ys = _apart([up.place(value) for value in where.params[up.name]], up, 1)
    marks: list[Mark] = []
    for name, color, samples in groups:
        label = name or str(Kind.OPTIMUM)
        marks.append(
            Points([xs[k] for k in samples], [ys[k] for k in samples], Kind.OPTIMUM, label, opacity=0.7, color=color)
        )
    points = where.recommended
    kind = Kind.RECOMMENDED if len(points) == 1 else Kind.COMPROMISE
    notes = [recommended_note(optimizer, best) for best in points]
    x, y = ([one.place(best.params[one.name]) for best in points] for one in (across, up))
    marks.append(Points(x, y, kind, notes=notes))
    return Panel("", across.axis, up.axis, tuple(marks))


def _apart(places: list[float], one: Coordinate, turn: int) -> list[float]:
    """Places of listed values, spread over a part of their width by a sequence that fills it evenly."""
    if not one.listed:
        return places
    golden = (0.6180339887, 0.7548776662)[turn]
    return [place + 0.5 * ((k * golden) % 1.0 - 0.5) for k, place in enumerate(places)]
