"""Two outputs against each other: the trials, the recommended compromises, and where the front may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xstar.beliefs import FrontPosterior, OptimumPosterior
from xstar.errors import SettingsError
from xstar.goals import Goals
from xstar.numerics.arrays import HostArray
from xstar.numerics.pareto import nondominated, spread_out
from xstar.numerics.rounding import with_digits
from xstar.optimizer import Optimizer
from xstar.trial import Trial
from xstar.views.figures.coordinates import short
from xstar.views.figures.outputs import goal_in_words, kind_of
from xstar.views.figures.picture import BLUE, GREY, ORANGE, Axis, Band, Kind, Line, Mark, Panel, Picture, Points, Rule
from xstar.views.figures.trials import Range, focus, latest, outcome, recommended_note

WORST = 0.15
"""The quantile of the values of an output from which on they are shown."""
NEAR = 1.0
"""A bound or a reference is shown if it is so close to the values, in widths of their range."""
STEPS = 24
"""Points of a sampled front that is drawn."""
FAINT = 0.35
"""The opacity of a sampled front."""
LIKELY = 0.5
"""The probability from which on a recommended point is taken for feasible."""


def draw_front(
    optimizer: Optimizer, x: str | None = None, y: str | None = None, where: OptimumPosterior | None = None
) -> Picture:
    """Return two outputs against each other, by default the first two objectives, or the objective and a constraint."""
    goals = optimizer.goals
    if goals is None or len(goals.names) < 2:
        raise SettingsError("a front needs two outputs; this study has one, which convergence shows.")
    across, up = _chosen(goals, x, y)
    return _Front(optimizer, goals, where or optimizer.where(), across, up).picture()


def _chosen(goals: Goals, x: str | None, y: str | None) -> tuple[str, str]:
    """The outputs along both axes."""
    known = goals.names if goals.several else (*goals.constraints, goals.single)
    ordered = known if goals.several else (known[0], goals.single, *known[1:-1])
    x = next(name for name in ordered if name != y) if x is None else x
    y = next(name for name in ordered if name != x) if y is None else y
    if x == y or x not in known or y not in known:
        raise SettingsError(f"x and y must be two of the outputs {list(goals.names)}; received {x!r} and {y!r}.")
    return x, y


@dataclass(frozen=True)
class _Front:
    """What a picture of two outputs is drawn of."""

    optimizer: Optimizer
    goals: Goals
    where: OptimumPosterior
    x: str
    y: str

    @property
    def compromise(self) -> bool:
        """Whether both outputs are objectives."""
        return self.x in self.goals.objectives and self.y in self.goals.objectives

    @cached_property
    def best(self) -> Sequence[Trial]:
        """The trials that no other one dominates; of one objective, the best one within all bounds."""
        if isinstance(self.where, FrontPosterior) and self.where.front is not None:
            return self._with_both(self.where.front.trials)
        best = self.optimizer.best_observed
        return [] if best is None else self._with_both([best])

    @cached_property
    def reference(self) -> Mapping[str, float]:
        """From where the hypervolume is measured."""
        front = self.where.front if isinstance(self.where, FrontPosterior) else None
        return {} if front is None else front.reference

    @cached_property
    def ranges(self) -> tuple[Range, Range]:
        """What is shown of both outputs."""
        return self._range(self.x), self._range(self.y)

    def _range(self, name: str) -> Range:
        span = focus(self.optimizer.output(name), WORST)
        shown = [trial.values[name] for trial in self.best]
        shown += [point.outputs[name].mean for point in self.where.recommended]
        low, high = min(span.low, *shown), max(span.high, *shown)
        width = high - low
        bound = self.goals.constraints.get(name)
        marked = self.reference.get(name) if bound is None else bound.bound
        if marked is not None and low - NEAR * width <= marked <= high + NEAR * width:
            low, high = min(low, marked), max(high, marked)
        return Range(low, high).wider(0.04)

    def picture(self) -> Picture:
        """The picture."""
        across, up = self.ranges
        trials, beyond = self._trials()
        marks = (*self._bounds(), *self._sampled(), *trials, *self._recommended(), *self._reference())
        x, y = (goal_in_words(self.goals, name) for name in (self.x, self.y))
        between = f"{short(self.x)} and {short(self.y)}"
        title = f"Compromises between {between}" if self.compromise else f"{between}, and what is feasible"
        said = self._said()
        if beyond:
            said.append(f"{beyond} {'trial is' if beyond == 1 else 'trials are'} beyond the axes")
        return Picture(title, "; ".join(said), (Panel("", Axis(x, *across), Axis(y, *up), marks),), 1, size=(5.9, 4.4))

    def _said(self) -> list[str]:
        likely = max(point.feasibility for point in self.where.recommended) >= LIKELY
        said = [] if likely else ["no point is likely to be feasible: the one shown is the likeliest"]
        if isinstance(self.where, FrontPosterior) and self.where.front is not None:
            count = len(self.where.front.trials)
            said.append(f"{count} of the trials {'is' if count == 1 else 'are'} not dominated")
            said += [f"hypervolume {with_digits(self.where.front.hypervolume, 3)}"] if count else []
        said.append("strokes: ± 2 sd")
        if self.compromise and len(self.goals.objectives) > 2:
            said.append("the steps are those of these two alone")
        return [*said, f"left to gain: {self.where.left_in_words}"] if likely else said

    def _bounds(self) -> list[Mark]:
        """The bound of a constraint as a line, and what is beyond it shaded."""
        across, up = self.ranges
        marks: list[Mark] = []
        for name, span, level in ((self.x, across, False), (self.y, up, True)):
            bound = self.goals.constraints.get(name)
            if bound is None:
                continue
            edge = min(max(bound.bound, span.low), span.high)
            worse = (edge, span.high) if bound.is_met(bound.bound - 1.0) else (span.low, edge)
            ends = (list(across), [worse[0]] * 2, [worse[1]] * 2) if level else (
                list(worse), [up.low] * 2, [up.high] * 2
            )  # fmt: skip
            if worse[0] < worse[1]:
                marks.append(Band(*ends, "" if marks else "infeasible side", GREY))
            if bound.bound in span:
                marks.append(Rule(bound.bound, f"{short(name)} {bound}", GREY, level=level, dashed=True))
        return marks

    def _sampled(self) -> list[Mark]:
        """Fronts of draws as steps; of what is not a compromise, the sampled optima."""
        if self.compromise and isinstance(self.where, FrontPosterior):
            order = list(self.goals.objectives)
            columns = [order.index(self.x), order.index(self.y)]
            steps = [self._steps(front[:, columns]) for front in self.where.fronts]
            drawn = [line for line in steps if line[0]]
            return [
                Line(*line, "" if k else "front, sampled", ORANGE, 1.0, steps=True, opacity=FAINT)
                for k, line in enumerate(drawn)
            ]
        across, up = self.ranges
        x, y = self.where.outputs[self.x], self.where.outputs[self.y]
        inside = (across.low <= x) & (x <= across.high) & (up.low <= y) & (y <= up.high)
        return [Points(x[inside].tolist(), y[inside].tolist(), Kind.OPTIMUM, opacity=0.5)] if inside.any() else []

    def _steps(self, values: HostArray) -> tuple[list[float], list[float]]:
        """The edge of what points (n, 2) dominate above the reference, from the best end of x to the other."""
        signs = np.array([self.goals.direction(name).sign for name in (self.x, self.y)])
        floor = signs * np.array([self.reference[self.x], self.reference[self.y]])
        above = signs * values
        above = above[np.all(above > floor, axis=1)]
        if not len(above):
            return [], []
        front = above[nondominated(above)]
        front = front[spread_out(front, STEPS, int(np.argmax(front[:, 0])))]
        front = front[np.argsort(-front[:, 0])]
        corners = signs * np.concatenate([[[front[0, 0], floor[1]]], front, [[floor[0], front[-1, 1]]]])
        x, y = (np.clip(corners[:, k], *self.ranges[k].drawn).tolist() for k in (0, 1))
        return x, y

    def _trials(self) -> tuple[list[Mark], int]:
        """The trials by what they are worth, and how many are beyond the axes."""
        across, up = self.ranges
        best = {trial.number for trial in self.best}
        groups: dict[Kind, list[Trial]] = {Kind.INFEASIBLE: [], Kind.TOLD: [], Kind.NONDOMINATED: []}
        done = self._with_both(latest(self.optimizer, "done"))
        for trial in done:
            kind = Kind.NONDOMINATED if trial.number in best else kind_of(self.goals, trial)
            if trial.values[self.x] in across and trial.values[self.y] in up:
                groups[kind].append(trial)
        names = {Kind.NONDOMINATED: None if self.goals.several else "best told"}
        marks: list[Mark] = [
            Points(
                [trial.values[self.x] for trial in trials],
                [trial.values[self.y] for trial in trials],
                kind,
                names.get(kind),
                [outcome(self.optimizer, trial) for trial in trials],
            )
            for kind, trials in groups.items()
            if trials
        ]
        return marks, len(done) - sum(map(len, groups.values()))

    def _recommended(self) -> list[Mark]:
        """The recommended points with what is not known of them; between two objectives, with their steps."""
        points = self.where.recommended
        x, y = ([point.outputs[name].mean for point in points] for name in (self.x, self.y))
        left, right = self._interval(self.x, self.ranges[0])
        low, high = self._interval(self.y, self.ranges[1])
        notes = [recommended_note(self.optimizer, point) for point in points]
        kind = Kind.COMPROMISE if self.goals.several else Kind.RECOMMENDED
        marks: list[Mark] = [Points(x, y, kind, notes=notes, low=low, high=high, left=left, right=right)]
        if self.compromise and len(self.goals.objectives) == 2:
            line = self._steps(np.column_stack([x, y]))
            marks[:0] = [Line(*line, "recommended front", BLUE, 1.5, steps=True)] if line[0] else []
        return marks

    def _interval(self, name: str, span: Range) -> tuple[list[float], list[float]]:
        """Where an output of the recommended points is, as far as it is near the axes."""
        told = [point.outputs[name] for point in self.where.recommended]
        low, high = (
            [float(np.clip(one.mean + sign * 2.0 * one.sd, *span.drawn)) for one in told] for sign in (-1.0, 1.0)
        )
        return low, high

    def _reference(self) -> list[Mark]:
        if not self.compromise:
            return []
        x, y = self.reference[self.x], self.reference[self.y]
        inside = x in self.ranges[0] and y in self.ranges[1]
        return [Points([x], [y], Kind.REFERENCE)] if inside else []

    def _with_both(self, trials: Sequence[Trial]) -> list[Trial]:
        """The trials of which both outputs are known."""
        return [trial for trial in trials if self.x in trial.values and self.y in trial.values]
