"""Parameters as axes of a picture: where a value is, which values there are, what they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xstar.errors import SettingsError
from xstar.optimizer import Optimizer
from xstar.space import Categorical, Integer, Ordinal, Parameter, Real
from xstar.trial import Recommendation
from xstar.views.figures.picture import Axis

LETTERS = 28
"""Of a name on an axis; longer ones are cut."""
SAID = 4
"""Parameters whose values are said; of more, only how many there are."""


@dataclass(frozen=True)
class Coordinate:
    """A parameter along an axis."""

    name: str
    parameter: Parameter
    part: tuple[float, float] = (0.0, 1.0)
    """Of the range, in the cube, that is shown of a number."""

    @property
    def listed(self) -> bool:
        """Whether values are named one by one, at 0, 1, ...."""
        return isinstance(self.parameter, Categorical | Ordinal)

    @property
    def unordered(self) -> bool:
        """Whether there is nothing between values, nor an order."""
        return isinstance(self.parameter, Categorical)

    @property
    def axis(self) -> Axis:
        """The axis: its label with the unit, its range, a logarithm or names where the parameter has them."""
        parameter = self.parameter
        unit = f" ({parameter.unit})" if parameter.unit else ""
        label = short(self.name) + unit
        if isinstance(parameter, Real | Integer):
            low, high = self._ends
            return Axis(label, low, high, parameter.log, whole=isinstance(parameter, Integer))
        assert isinstance(parameter, Categorical | Ordinal)
        names = [short(parameter.text(value), 16) for value in parameter.alternatives]
        return Axis(label, -0.5, len(names) - 0.5, ticks=tuple(enumerate(names)))

    def place(self, value: Any) -> float:
        """Where a value is on the axis."""
        if isinstance(self.parameter, Categorical | Ordinal):
            position = self.parameter.index(value)
            return float("nan") if position is None else float(position)
        return float(value)

    def grid(self, count: int) -> list[Any]:
        """Legal values, evenly spread in the cube; all of them, if they are listed."""
        if isinstance(self.parameter, Categorical | Ordinal):
            return list(self.parameter.alternatives)
        return list(dict.fromkeys(self.parameter.decode(np.array([u])) for u in np.linspace(*self.part, count)))

    @property
    def _ends(self) -> tuple[float, float]:
        """Where the axis of a number begins and ends."""
        parameter = self.parameter
        assert isinstance(parameter, Real | Integer)
        if self.part == (0.0, 1.0):
            return float(parameter.low), float(parameter.high)
        low, high = (float(parameter.decode(np.array([end]))) for end in self.part)
        half = 0.5 if isinstance(parameter, Integer) and parameter.log else self._step / 2.0
        return low - half, high + half

    @property
    def _step(self) -> float:
        """How far apart its values are, where that is the same everywhere on the axis; 0 if there is no such thing."""
        parameter = self.parameter
        if isinstance(parameter, Integer):
            return 0.0 if parameter.log else float(parameter.step or 1)
        return float(parameter.step or 0.0) if isinstance(parameter, Real) else 0.0

    def edges(self, bins: int) -> list[float]:
        """The ends of the bars of a histogram; around each value, if there are few."""
        parameter = self.parameter
        if isinstance(parameter, Real | Integer):
            shown, step = self.grid(4 * bins), self._step
            if step and len(shown) <= bins and len(shown) == round((shown[-1] - shown[0]) / step) + 1:
                return [float(shown[0] + (k - 0.5) * step) for k in range(len(shown) + 1)]
            return [float(value) for value in self.grid(bins + 1)]
        return [k - 0.5 for k in range(len(self.grid(0)) + 1)]


def coordinate(optimizer: Optimizer, name: str) -> Coordinate:
    """Return the axis of a parameter."""
    return Coordinate(name, optimizer.space.parameters[name])


def most_sensitive(optimizer: Optimizer, names: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return parameters that vary, those first along which the predicted mean varies most from the recommendation.

    Of several outputs, each in units of its largest variation.
    """
    names = list(optimizer.space.free if names is None else names)
    best = dict(recommended(optimizer)[0].params)
    points = {name: [{**best, name: value} for value in coordinate(optimizer, name).grid(21)] for name in names}
    variation = np.zeros(len(names))
    for output in (None,) if optimizer.goals is None else optimizer.goals.names:
        study = optimizer if output is None else optimizer.output(output)
        own = np.array([float(np.ptp(study.predict(points[name])[0])) for name in names])
        variation += own / (1.0 if output is None else max(own.max(initial=0.0), np.finfo(np.float64).tiny))
    return tuple(names[k] for k in np.argsort(-variation, kind="stable"))


def recommended(optimizer: Optimizer) -> tuple[Recommendation, ...]:
    """Return the point to use; of several objectives, the compromises."""
    if optimizer.goals is not None and optimizer.goals.several:
        return optimizer.pareto().in_order
    return (optimizer.recommend(),)


def check_names(optimizer: Optimizer, names: Sequence[str], most: int) -> tuple[str, ...]:
    """Return names of parameters that vary, or complain."""
    free = [name for name in optimizer.space.parameters if name in optimizer.space.free]
    given = (names,) if isinstance(names, str) else tuple(names)
    if not 1 <= len(set(given)) == len(given) <= most or any(name not in free for name in given):
        raise SettingsError(f"names must be one to {most} of the parameters that vary, {free}; received {names!r}.")
    return given


def held(optimizer: Optimizer, at: Mapping[str, Any], shown: Sequence[str]) -> str:
    """Say where the parameters that are not shown are held, of those that vary."""
    space = optimizer.space
    others = [name for name in space.parameters if name in space.free and name not in shown]
    if not others:
        return ""
    told = ", ".join(f"{short(name)} = {short(space.parameters[name].show(at[name]))}" for name in others[:SAID])
    more = f" and {len(others) - SAID} more as recommended" if len(others) > SAID else ""
    return f"held at {told}{more}"


def short(text: object, letters: int = LETTERS) -> str:
    """Return a few letters of something."""
    written = str(text)
    return written if len(written) <= letters else written[: letters - 1] + "…"
