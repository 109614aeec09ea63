"""What a page is written of, computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from xstar.beliefs import Calibration, OptimumPosterior
from xstar.optimizer import Optimizer
from xstar.trial import Trial
from xstar.views.report.markup import element

MOST_ROWS = 1000
"""Trials in the table: the latest ones, and those that the page speaks of."""


@dataclass(frozen=True)
class Findings:
    """A study, and what the model believes of it."""

    optimizer: Optimizer
    where: OptimumPosterior | None
    """None if nothing has been measured; so is the calibration."""
    calibration: Calibration | None
    stop_reason: str | None = None

    @classmethod
    def of(cls, optimizer: Optimizer, stop_reason: str | None = None) -> Findings:
        """Ask the model; of several outputs, the page says what they are asked together (`words.of_outputs`)."""
        if optimizer.goals is not None or all(trial.state != "done" for trial in optimizer.trials):
            return cls(optimizer, None, None, stop_reason)
        return cls(optimizer, optimizer.where(), optimizer.calibration(), stop_reason)

    @cached_property
    def evaluated(self) -> tuple[Trial, ...]:
        """The trials with a value at the recommended point."""
        if self.where is None:
            return ()
        best, same = self.where.recommendation.params, self.optimizer.space.same
        return tuple(trial for trial in self.optimizer.trials if trial.state == "done" and same(trial.params, best))

    @cached_property
    def surprises(self) -> tuple[Trial, ...]:
        """The trials whose values are outside what the others predict, the farthest off first."""
        return () if self.calibration is None else self.calibration.surprises

    @cached_property
    def shown(self) -> tuple[Trial, ...]:
        """The trials in the table."""
        trials, best = self.optimizer.trials, self.optimizer.best_observed
        named = {trial.number for trial in (*self.evaluated, *self.surprises[:MOST_ROWS], *([best] if best else []))}
        latest = {trial.number for trial in trials[-MOST_ROWS:]}
        return tuple(trial for trial in trials if trial.number in named | latest)

    def link(self, trial: Trial) -> str:
        """Return the name of a trial in the table, with the way there."""
        return element("a", f"trial {trial.number}", href=f"#trial-{trial.number}")
