"""What a page is written of, computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from xstar.beliefs import Calibration, FrontPosterior, OptimumPosterior, ParetoFront
from xstar.optimizer import Optimizer
from xstar.trial import Trial
from xstar.views.figures.outputs import is_known, studies_of
from xstar.views.report.markup import element

MOST_ROWS = 1000
"""Trials in the table: the latest ones, and those that the page speaks of."""


class Surprise(NamedTuple):
    """A value outside what the others predict."""

    output: str
    """Its name, where there are several."""
    trial: Trial
    value: float
    low: float
    high: float
    z: float


@dataclass(frozen=True)
class Findings:
    """A study, and what the model believes of it."""

    optimizer: Optimizer
    where: OptimumPosterior | None
    """None if nothing has been measured, or nothing of an output."""
    calibrations: Mapping[str, Calibration]
    """By output, as far as there are values to predict; of one output, without a name."""
    stop_reason: str | None = None

    @classmethod
    def of(cls, optimizer: Optimizer, stop_reason: str | None = None) -> Findings:
        """Ask the model."""
        if not is_known(optimizer):
            return cls(optimizer, None, {}, stop_reason)
        found = {name: study.calibration() for name, study in studies_of(optimizer)}
        told = {name: calibration for name, calibration in found.items() if len(calibration)}
        return cls(optimizer, optimizer.where(), told, stop_reason)

    @property
    def front(self) -> ParetoFront | None:
        """The compromises between several objectives."""
        return self.where.front if isinstance(self.where, FrontPosterior) else None

    @cached_property
    def evaluated(self) -> tuple[Trial, ...]:
        """The trials with a value at the recommended point, or at one of several."""
        return () if self.where is None else tuple(
            trial for best in self.where.recommended for trial in self.evaluated_at(best.params)
        )  # fmt: skip

    def evaluated_at(self, params: Mapping[str, Any]) -> tuple[Trial, ...]:
        """Return the trials with a value at a point."""
        same = self.optimizer.space.same
        return tuple(trial for trial in self.optimizer.trials if trial.state == "done" and same(trial.params, params))

    @cached_property
    def surprises(self) -> tuple[Surprise, ...]:
        """The values that are outside what the others predict, the farthest off first."""
        found = [
            Surprise(name, trial, trial.value or 0.0, float(one.low[k]), float(one.high[k]), float(one.z[k]))
            for name, one in self.calibrations.items()
            for k, trial in enumerate(one.trials)
            if not one.inside[k]
        ]
        return tuple(sorted(found, key=lambda surprise: -abs(surprise.z)))

    @cached_property
    def shown(self) -> tuple[Trial, ...]:
        """The trials in the table."""
        trials, best = self.optimizer.trials, self.optimizer.best_observed
        surprising = [surprise.trial for surprise in self.surprises[:MOST_ROWS]]
        front = () if self.front is None else self.front.trials
        named = {trial.number for trial in (*self.evaluated, *surprising, *front, *([best] if best else []))}
        latest = {trial.number for trial in trials[-MOST_ROWS:]}
        return tuple(trial for trial in trials if trial.number in named | latest)

    def link(self, trial: Trial) -> str:
        """Return the name of a trial in the table, with the way there."""
        return element("a", f"trial {trial.number}", href=f"#trial-{trial.number}")
