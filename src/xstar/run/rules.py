"""When a run stops."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from xstar.beliefs import OptimumPosterior
from xstar.engine.stopping import Tolerance
from xstar.errors import SettingsError, TrialError
from xstar.goals import Goals
from xstar.numerics.checks import as_float, integer, positive
from xstar.optimizer import Optimizer
from xstar.run.result import StopReason
from xstar.space.parameters import is_finite
from xstar.trial import Trial

Callback = Callable[[Optimizer, Trial], Any]
"""Called with the optimizer and the trial just told; the run stops when it returns True."""


@dataclass(frozen=True)
class Rules:
    """The reasons to stop, as `maximize` describes them."""

    budget: int | None = None
    tolerance: Tolerance | None = None
    target: float | None = None
    patience: int | None = None
    max_seconds: float | None = None
    max_failures: int = 20
    callback: Callback | None = None

    @classmethod
    def check(
        cls, budget: Any, tolerance: Any, target: Any, patience: Any, max_seconds: Any, max_failures: Any, callback: Any
    ) -> Rules:
        """Return the rules, or complain about one that makes no sense, and about none."""
        if budget is None and tolerance is None and max_seconds is None and target is None and patience is None:
            raise SettingsError(
                "a run needs a reason to stop: budget=, tolerance=, target=, patience= or max_seconds=."
            )
        if callback is not None and not callable(callback):
            raise SettingsError(f"callback must be callable; received {callback!r}.")
        if target is not None and not is_finite(target):
            raise SettingsError(f"target must be a finite number; received {target!r}.")
        return cls(
            None if budget is None else integer(budget, "budget", 1),
            None if tolerance is None else Tolerance(positive(tolerance, "tolerance")),
            None if target is None else as_float(target),
            None if patience is None else integer(patience, "patience", 1),
            None if max_seconds is None else positive(max_seconds, "max_seconds"),
            integer(max_failures, "max_failures", 1),
            callback,
        )

    def check_goals(self, goals: Goals | None) -> None:
        """Complain about rules that make no sense for several objectives."""
        if goals is None or not goals.several:
            return
        for name, given in (("target", self.target), ("patience", self.patience)):
            if given is not None:
                raise SettingsError(
                    f"{name}= is for one objective; several may be ended by tolerance=, the share of the hypervolume "
                    "that is left, budget= or max_seconds=."
                )
        if self.tolerance is not None and self.tolerance.amount >= 1.0:
            raise SettingsError(
                f"tolerance of several objectives is a share of the hypervolume, below 1; received "
                f"{self.tolerance.amount:g}."
            )

    def before(self, started: int, began: float) -> StopReason | None:
        """Return why no other evaluation is started, if so; `began` is a time of `time.monotonic`."""
        if self.budget is not None and started >= self.budget:
            return "budget"
        if self.max_seconds is not None and time.monotonic() - began >= self.max_seconds:
            return "time"
        return None


@dataclass
class Watch:
    """What was told in a run, as far as its rules ask for it."""

    rules: Rules
    optimizer: Optimizer
    failed_in_a_row: int = 0
    without_a_better_one: int = 0
    left: float | None = None
    """What may be left to gain, if it was looked at."""

    def after(self, trial: Trial, shown: bool) -> StopReason | None:
        """Return why the run ends with a trial just told, if it does; `shown` if somebody looks at what is left."""
        rules, optimizer = self.rules, self.optimizer
        self.failed_in_a_row = self.failed_in_a_row + 1 if trial.state == "failed" else 0
        best = optimizer.best_observed
        better = best is not None and best.number == trial.number
        self.without_a_better_one = 0 if better else self.without_a_better_one + 1
        # Draws are made once, for the bar and for the tolerance.
        where: Callable[[int], OptimumPosterior] = functools.cache(optimizer.where)
        modelled = is_modelled(optimizer)
        rule = rules.tolerance or Tolerance(math.inf)
        self.left = rule.left(where(rule.few_samples)) if shown and modelled else None
        stop = rules.callback is not None and rules.callback(optimizer, trial)
        if isinstance(stop, bool | np.bool_) and stop:
            return "callback"
        if self.failed_in_a_row >= rules.max_failures:
            return "failures"
        if rules.target is not None and self._reaches(rules.target):
            return "target"
        if rules.tolerance is not None and modelled and rules.tolerance.is_met(where):
            return "tolerance"
        if rules.patience is not None and self.without_a_better_one >= rules.patience:
            return "patience"
        return None

    def _reaches(self, target: float) -> bool:
        """Whether a value told is as good as the target, and the model, which averages over noise, says so too."""
        optimizer, beats = self.optimizer, self.optimizer.direction.beats
        best = optimizer.best_observed
        if best is None or best.value is None or beats(target, best.value):
            return False
        if optimizer.goals is None:
            exact = (best.sd if best.sd is not None else optimizer.noise) == 0.0
        else:
            exact = all(best.sds.get(name, optimizer.output(name).noise) == 0.0 for name in optimizer.goals.names)
        if exact:
            return True
        try:
            return not beats(target, optimizer.recommend(tested=True).mean)
        except TrialError:  # the model thinks that nothing that was tested is feasible
            return False


def is_modelled(optimizer: Optimizer) -> bool:
    """Return whether enough is known for the model to be asked, of every output."""
    done = [trial for trial in optimizer.trials if trial.state == "done"]
    names = () if optimizer.goals is None else optimizer.goals.names
    return len(done) >= optimizer.num_initial and all(any(name in trial.values for trial in done) for name in names)
