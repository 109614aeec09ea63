"""The model over one or two parameters: what it predicts, and where an evaluation would tell most about the optimum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xstar.beliefs import OptimumPosterior
from xstar.errors import SettingsError
from xstar.numerics.arrays import HostArray
from xstar.numerics.rounding import with_digits
from xstar.optimizer import Optimizer
from xstar.space import same
from xstar.trial import Trial
from xstar.views.figures.coordinates import Coordinate, check_names, coordinate, held, most_sensitive, short
from xstar.views.figures.picture import (
    BLUE,
    PURPLE,
    Axis,
    Band,
    Field,
    Kind,
    Line,
    Mark,
    Panel,
    Picture,
    Points,
)
from xstar.views.figures.trials import Range, colors_for, focus, latest, outcome, recommended_note, trial_points

TITLE = "What the model predicts, and where an evaluation would tell most"
SIDE, CURVE = 36, 161
"""Points of a grid along each of two parameters, and along one alone."""
MOST_PANELS = 4
"""Choices that have panels of their own; of more, those where the optimum most likely is."""
WORST, ROOM = 0.1, 0.15
"""The quantile of the values from which on curves are shown, and the share of that range above and below."""
VALUE, BITS = "predicted value", "bits"


def draw_view(
    optimizer: Optimizer,
    names: Sequence[str] | None = None,
    at: Mapping[str, Any] | None = None,
    where: OptimumPosterior | None = None,
) -> Picture:
    """Return panels of predicted values and of information over one or two parameters.

    Parameters
    ----------
    optimizer : Optimizer
        With at least one value told.
    names : sequence of str, optional
        One or two parameters; besides them one that is categorical, whose choices have panels. By default the two to
        which predictions are most sensitive.
    at : dict, optional
        Where the others are held, as far as that is not at the recommendation.
    where : OptimumPosterior, optional
        Draws of the optimum, if they are at hand.
    """
    where = where or optimizer.where()
    names = _default(optimizer) if names is None else check_names(optimizer, names, 3)
    slice_ = {**where.recommendation.params, **optimizer.space.held(at)}
    axes, split = _arranged([coordinate(optimizer, name) for name in names])
    draw = _Slice(optimizer, where, slice_, axes, split)
    return draw.curves() if len(axes) == 1 else draw.fields()


def _default(optimizer: Optimizer) -> tuple[str, ...]:
    """The two most sensitive parameters, in the order of the space."""
    order = list(optimizer.space.parameters)
    ranked = most_sensitive(optimizer)[:2]
    return tuple(sorted(ranked, key=order.index))


def _arranged(given: Sequence[Coordinate]) -> tuple[list[Coordinate], Coordinate | None]:
    """Which of some parameters are axes, and which one has panels."""
    axes = [one for one in given if not one.unordered]
    choices = [one for one in given if one.unordered]
    if not axes and len(choices) <= 2:
        return choices, None
    if len(axes) <= 2 and len(choices) <= 1:
        return axes, choices[0] if choices else None
    raise SettingsError(
        "a picture has one or two axes and panels of one categorical parameter; "
        f"received {len(axes)} parameters with an order and {len(choices)} without."
    )


@dataclass(frozen=True)
class _Slice:
    """What a view is drawn of."""

    optimizer: Optimizer
    where: OptimumPosterior
    at: Mapping[str, Any]
    axes: Sequence[Coordinate]
    split: Coordinate | None

    @property
    def shown(self) -> list[str]:
        """The parameters that are not held."""
        return [one.name for one in (*self.axes, self.split) if one is not None]

    @property
    def choices(self) -> list[dict[str, Any]]:
        """What distinguishes the panels: a choice each, the more probable ones if there are many."""
        if self.split is None:
            return [{}]
        name, choices = self.split.name, self.split.grid(0)
        counts = [sum(same(value, choice) for value in self.where.params[name]) for choice in choices]
        kept = sorted(sorted(range(len(choices)), key=lambda k: -counts[k])[:MOST_PANELS])
        return [{name: choices[k]} for k in kept]

    def said(self, *more: str) -> str:
        """What is held, which panels are left out, and more."""
        left_out = ""
        if self.split is not None and len(self.split.grid(0)) > MOST_PANELS:
            left_out = f"the {MOST_PANELS} of {len(self.split.grid(0))} choices where the optimum most likely is"
        faded = "results are the fainter the less they say of this slice"
        others = held(self.optimizer, self.at, self.shown)
        return "; ".join(filter(None, [others, faded if others else "", left_out, *more]))

    def trials(self, choice: Mapping[str, Any], up: Any) -> list[Points]:
        """The trials that belong into the panel of a choice."""
        first = self.axes[0]
        return trial_points(
            self.optimizer,
            lambda trial: first.place(trial.params[first.name]),
            up,
            shown=self.shown,
            at=self.at,
            where=lambda trial: all(same(trial.params[name], value) for name, value in choice.items()),
        )

    def sampled(self, choice: Mapping[str, Any]) -> list[int]:
        """The draws of the optimum that belong into the panel of a choice."""
        return [
            k for k in range(len(self.where))
            if all(same(self.where.params[name][k], value) for name, value in choice.items())
        ]  # fmt: skip

    def best(self, choice: Mapping[str, Any], up: float | None = None) -> list[Points]:
        """The recommendation, if it belongs into the panel of a choice and the slice goes through it."""
        best = self.where.recommendation
        space = self.optimizer.space
        inside = all(same(best.params[name], value) for name, value in choice.items())
        inside &= all(same(best.params[name], self.at[name]) for name in space.parameters if name not in self.shown)
        if not inside:
            return []
        first, last = self.axes[0], self.axes[-1]
        height = last.place(best.params[last.name]) if up is None else up
        note = recommended_note(self.optimizer, best.params, best.mean, best.sd)
        return [Points([first.place(best.params[first.name])], [height], Kind.RECOMMENDED, notes=[note])]

    def curves(self) -> Picture:
        """Panels of values above, or left of, panels of information, over one parameter."""
        (one,) = self.axes
        values = one.grid(CURVE)
        places = [one.place(value) for value in values]
        shown = focus(self.optimizer, WORST).wider(ROOM)
        above, below, highest, hidden = [], [], 1e-6, 0
        points = {
            k: [{**self.at, **choice, one.name: value} for value in values] for k, choice in enumerate(self.choices)
        }
        bits = {k: self.optimizer.information(rows) for k, rows in points.items()}
        highest = max(highest, *(float(np.max(found)) for found in bits.values()))
        for k, choice in enumerate(self.choices):
            mean, _ = self.optimizer.predict(points[k])
            low, high = self.optimizer.interval(points[k])
            marks, out = self._values(one, places, mean, (low, high), choice, shown)
            hidden += out
            title = self._heading(choice, "What the model predicts")
            above.append(Panel(title, one.axis, Axis("value", shown.low, shown.high), marks))
            title = self._heading(choice, "What an evaluation tells about the optimum")
            axis = Axis("information, bits", -0.14 * highest, 1.08 * highest)
            below.append(Panel(title, one.axis, axis, self._told(one, places, bits[k], choice, highest)))
        plural = "value is" if hidden == 1 else "values are"
        beyond = f"{hidden} {plural} beyond the axis" if hidden else ""
        columns = 2 if self.split is None else len(above)
        size = (4.9, 3.7) if columns <= 2 else (3.7, 3.0)
        return Picture(TITLE, self.said(beyond), (*above, *below), columns, size=size)

    def _heading(self, choice: Mapping[str, Any], otherwise: str) -> str:
        return short(self.optimizer.space.show(choice), 40) if choice else otherwise

    def _values(
        self, one: Coordinate, places: list[float], mean: HostArray, interval: tuple[HostArray, HostArray],
        choice: Mapping[str, Any], shown: Range,
    ) -> tuple[tuple[Mark, ...], int]:  # fmt: skip
        """Marks of a panel of values, and how many results are beyond its axis."""
        low, high = (np.clip(end, *shown.drawn) for end in interval)
        middle = np.clip(mean, *shown.drawn)
        if one.unordered:
            curve: list[Mark] = [
                Points(places, list(middle), Kind.HERE, VALUE, low=list(low), high=list(high), color=BLUE)
            ]
        else:
            few = len(places) <= 40
            curve = [
                Band(places, list(low), list(high), "95 % of the function"),
                Line(places, list(middle), VALUE, marked=few),
            ]
        edge = shown.low + 0.02 * (shown.high - shown.low)

        def height(trial: Trial) -> float:
            """At the lower edge, if there is no value."""
            return edge if trial.value is None else float(np.clip(trial.value, edge, shown.high))

        inside, beyond = [], []
        for trial in latest(self.optimizer, "done"):
            belongs = all(same(trial.params[name], value) for name, value in choice.items())
            if belongs and trial.value not in shown:
                beyond.append(trial)
        for mark in self.trials(choice, height):
            inside.append(mark)
        if beyond:
            notes = [outcome(self.optimizer, trial) for trial in beyond]
            x = [one.place(trial.params[one.name]) for trial in beyond]
            inside.append(Points(x, [height(trial) for trial in beyond], Kind.BEYOND, notes=notes))
        best = self.best(choice, float(np.clip(self.where.recommendation.mean, *shown)))
        return (*curve, *inside, *best), len(beyond)

    def _told(
        self, one: Coordinate, places: list[float], bits: HostArray, choice: Mapping[str, Any], highest: float
    ) -> tuple[Mark, ...]:
        """Marks of a panel of information: the sampled optima are a strip below it."""
        sampled = [one.place(self.where.params[one.name][k]) for k in self.sampled(choice)]
        if one.unordered:
            curve: Mark = Points(places, list(bits), Kind.HERE, "information", color=PURPLE)
            counts = np.bincount(np.array(sampled, dtype=np.int64), minlength=len(places)) / max(len(self.where), 1)
            names = [f"{share:.0%} of the sampled optima" for share in counts]
            return (curve, Points(places, [-0.07 * highest] * len(places), Kind.OPTIMUM, notes=names,
                                  opacity=[float(share) for share in counts]))  # fmt: skip
        curve = Line(places, list(bits), "information", PURPLE, filled=True, marked=len(places) <= 40)
        if not sampled:
            return (curve,)
        return curve, Points(sampled, [-0.07 * highest] * len(sampled), Kind.OPTIMUM, opacity=0.5, upright=True)

    def fields(self) -> Picture:
        """Panels of values beside, or above, panels of information, over two parameters."""
        first, second = self.axes
        across, up = first.grid(SIDE), second.grid(SIDE)
        x, y = [first.place(value) for value in across], [second.place(value) for value in up]
        shape = (len(self.choices), len(up), len(across))
        points = [
            {**self.at, **choice, first.name: a, second.name: b} for choice in self.choices for b in up for a in across
        ]
        mean = self.optimizer.predict(points)[0].reshape(shape)
        bits = self.optimizer.information(points).reshape(shape)
        colors = colors_for(self.optimizer, mean)
        most = max(float(np.max(bits)), 1e-6)
        cells = first.listed or second.listed
        above: list[Panel] = []
        below: list[Panel] = []
        for k, choice in enumerate(self.choices):
            marks: list[Mark] = [*self.trials(choice, lambda trial: second.place(trial.params[second.name]))]
            sampled = self.sampled(choice)
            if sampled:
                xs = [first.place(self.where.params[first.name][i]) for i in sampled]
                ys = [second.place(self.where.params[second.name][i]) for i in sampled]
                marks.append(Points(xs, ys, Kind.OPTIMUM, opacity=0.7))
            marks += self.best(choice)
            for name, panels, z, ends, palette in (
                (VALUE, above, mean[k], colors, "values"),
                (BITS, below, bits[k], Range(0.0, most), "bits"),
            ):
                field = Field(x, y, z.tolist(), name, *ends, palette=palette, cells=cells)  # type: ignore[arg-type]
                otherwise = "What the model predicts" if name == VALUE else "What an evaluation tells about the optimum"
                panels.append(Panel(self._heading(choice, otherwise), first.axis, second.axis, (field, *marks)))
        columns = 2 if self.split is None else len(above)
        size = (5.6, 4.3) if columns <= 2 else (4.2, 3.5)
        return Picture(TITLE, self.said(self._far(mean)), (*above, *below), columns, size=size)

    def _far(self, mean: HostArray) -> str:
        """What is said if predictions leave the range that anything supports."""
        low, high = self.optimizer.plausible
        far = (mean < low) | (mean > high)
        if not far.any():
            return ""
        worst = float(mean[far][np.argmax(np.abs(mean[far] - (low + high) / 2))])
        return f"where nothing is known the model extrapolates, to {with_digits(worst, 2)}: colors end before"
