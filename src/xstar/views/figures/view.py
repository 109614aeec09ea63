"""The model over one or two parameters: what it predicts, and where an evaluation would tell most about the optimum."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from xstar.beliefs import OptimumPosterior
from xstar.errors import SettingsError
from xstar.numerics.arrays import HostArray
from xstar.numerics.rounding import with_digits
from xstar.optimizer import Optimizer
from xstar.space import same
from xstar.trial import Recommendation, Trial
from xstar.views.figures.coordinates import Coordinate, check_names, coordinate, held, most_sensitive, short
from xstar.views.figures.outputs import studies_of, value_label
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
ALL = 0.0
"""The same of one of several outputs: what is bad for one may be the price of another."""
VALUE, BITS = "predicted value", "bits"
PREDICTED, TOLD = "What the model predicts", "What an evaluation tells about the optimum"
MOST_COLUMNS = 3
"""Of panels, where outputs have one each."""


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

    @cached_property
    def studies(self) -> list[tuple[str, Optimizer]]:
        """The outputs, which have panels of their own."""
        return studies_of(self.optimizer)

    @property
    def columns(self) -> int:
        """Panels beside each other: those of the choices, or all outputs and the information."""
        return min(len(self.studies) + 1, MOST_COLUMNS) if self.split is None else len(self.choices)

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

    def trials(self, study: Optimizer, choice: Mapping[str, Any], up: Any) -> list[Points]:
        """The trials of an output that belong into the panel of a choice."""
        first = self.axes[0]
        return trial_points(
            study,
            lambda trial: first.place(trial.params[first.name]),
            up,
            shown=self.shown,
            at=self.at,
            where=lambda trial: all(same(trial.params[name], value) for name, value in choice.items()),
        )

    def sampled(self, choice: Mapping[str, Any]) -> list[int]:
        """The draws of the optimum that belong into the panel of a choice."""
        return [
            k for k in range(self.where.num_points)
            if all(same(self.where.params[name][k], value) for name, value in choice.items())
        ]  # fmt: skip

    def best(self, choice: Mapping[str, Any], up: Callable[[Recommendation], float]) -> list[Points]:
        """What is recommended, as far as it belongs into the panel of a choice and the slice goes through it."""
        fixed = {name: self.at[name] for name in self.optimizer.space.parameters if name not in self.shown}
        found = [
            best for best in self.where.recommended
            if all(same(best.params[name], value) for name, value in {**fixed, **choice}.items())
        ]  # fmt: skip
        if not found:
            return []
        first = self.axes[0]
        kind = Kind.RECOMMENDED if len(self.where.recommended) == 1 else Kind.COMPROMISE
        places = [first.place(best.params[first.name]) for best in found]
        notes = [recommended_note(self.optimizer, best) for best in found]
        return [Points(places, [up(best) for best in found], kind, notes=notes)]

    def curves(self) -> Picture:
        """Panels of values above, or left of, panels of information, over one parameter."""
        (one,) = self.axes
        values = one.grid(CURVE)
        places = [one.place(value) for value in values]
        above, below, highest, hidden = [], [], 1e-6, 0
        points = {
            k: [{**self.at, **choice, one.name: value} for value in values] for k, choice in enumerate(self.choices)
        }
        bits = {k: self.optimizer.information(rows) for k, rows in points.items()}
        highest = max(highest, *(float(np.max(found)) for found in bits.values()))
        for name, study in self.studies:
            shown = focus(study, ALL if name else WORST).wider(ROOM)
            for k, choice in enumerate(self.choices):
                marks, out = self._values(name, study, one, places, points[k], choice, shown)
                hidden += out
                title = self._heading(choice, PREDICTED, name)
                above.append(Panel(title, one.axis, Axis(value_label(name), shown.low, shown.high), marks))
        for k, choice in enumerate(self.choices):
            title = self._heading(choice, TOLD)
            axis = Axis("information, bits", -0.14 * highest, 1.08 * highest)
            below.append(Panel(title, one.axis, axis, self._told(one, places, bits[k], choice, highest)))
        plural = "value is" if hidden == 1 else "values are"
        beyond = f"{hidden} {plural} beyond the axis" if hidden else ""
        size = (4.9, 3.7) if self.columns <= 2 else (3.7, 3.0)
        return Picture(TITLE, self.said(beyond), (*above, *below), self.columns, size=size)

    def _heading(self, choice: Mapping[str, Any], otherwise: str, output: str = "") -> str:
        chosen = short(self.optimizer.space.show(choice), 40) if choice else ""
        predicted = f"Predicted {short(output)}" if output else ""
        return ", ".join(filter(None, [predicted, chosen])) or otherwise

    def _values(
        self, output: str, study: Optimizer, one: Coordinate, places: list[float], points: list[dict[str, Any]],
        choice: Mapping[str, Any], shown: Range,
    ) -> tuple[tuple[Mark, ...], int]:  # fmt: skip
        """Marks of a panel of values, and how many results are beyond its axis."""
        low, high = (np.clip(end, *shown.drawn) for end in study.interval(points))
        middle = np.clip(study.predict(points)[0], *shown.drawn)
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
        for trial in latest(study, "done"):
            belongs = all(same(trial.params[name], value) for name, value in choice.items())
            if belongs and trial.value not in shown:
                beyond.append(trial)
        for mark in self.trials(study, choice, height):
            inside.append(mark)
        if beyond:
            notes = [outcome(study, trial) for trial in beyond]
            x = [one.place(trial.params[one.name]) for trial in beyond]
            inside.append(Points(x, [height(trial) for trial in beyond], Kind.BEYOND, notes=notes))
        best = self.best(
            choice, lambda best: float(np.clip(best.outputs[output].mean if output else best.mean, *shown))
        )
        return (*curve, *inside, *best), len(beyond)

    def _told(
        self, one: Coordinate, places: list[float], bits: HostArray, choice: Mapping[str, Any], highest: float
    ) -> tuple[Mark, ...]:
        """Marks of a panel of information: the sampled optima are a strip below it."""
        sampled = [one.place(self.where.params[one.name][k]) for k in self.sampled(choice)]
        if one.unordered:
            curve: Mark = Points(places, list(bits), Kind.HERE, "information", color=PURPLE)
            counts = np.bincount(np.array(sampled, dtype=np.int64), minlength=len(places)) / self.where.num_points
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
        cells = first.listed or second.listed
        panels: list[Panel] = []
        far: list[str] = []
        for name, study in self.studies:
            mean = study.predict(points)[0].reshape(shape)
            far.append(self._far(study, mean))
            colors = colors_for(study, mean, ALL) if name else colors_for(study, mean)
            for k, choice in enumerate(self.choices):
                field = Field(x, y, mean[k].tolist(), name or VALUE, *colors, cells=cells)
                marks = (field, *self._marks(study, choice))
                panels.append(Panel(self._heading(choice, PREDICTED, name), first.axis, second.axis, marks))
        bits = self.optimizer.information(points).reshape(shape)
        most = max(float(np.max(bits)), 1e-6)
        for k, choice in enumerate(self.choices):
            field = Field(x, y, bits[k].tolist(), BITS, 0.0, most, palette="bits", cells=cells)
            marks = (field, *self._marks(self.studies[0][1], choice))
            panels.append(Panel(self._heading(choice, TOLD), first.axis, second.axis, marks))
        size = (5.6, 4.3) if self.columns <= 2 else (4.2, 3.5)
        return Picture(TITLE, self.said(*dict.fromkeys(far)), tuple(panels), self.columns, size=size)

    def _marks(self, study: Optimizer, choice: Mapping[str, Any]) -> list[Mark]:
        """Trials, sampled optima and what is recommended, over two parameters."""
        first, second = self.axes
        marks: list[Mark] = [*self.trials(study, choice, lambda trial: second.place(trial.params[second.name]))]
        sampled = self.sampled(choice)
        if sampled:
            xs = [first.place(self.where.params[first.name][i]) for i in sampled]
            ys = [second.place(self.where.params[second.name][i]) for i in sampled]
            marks.append(Points(xs, ys, Kind.OPTIMUM, opacity=0.7))
        return [*marks, *self.best(choice, lambda best: second.place(best.params[second.name]))]

    def _far(self, study: Optimizer, mean: HostArray) -> str:
        """What is said if predictions leave the range that anything supports."""
        low, high = study.plausible
        far = (mean < low) | (mean > high)
        if not far.any():
            return ""
        worst = float(mean[far][np.argmax(np.abs(mean[far] - (low + high) / 2))])
        return f"where nothing is known the model extrapolates, to {with_digits(worst, 2)}: colors end before"
