"""The loop of a run: ask, evaluate, tell, until there is a reason to stop; and its progress bar."""

from __future__ import annotations

import functools
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, SupportsFloat, TypeAlias

import numpy as np

from xstar.engine.stopping import Tolerance
from xstar.errors import DataError, SpaceExhausted
from xstar.optimizer import Optimizer
from xstar.run.result import StopReason
from xstar.trial import Trial

Measured: TypeAlias = SupportsFloat | tuple[SupportsFloat, float] | None
"""What an evaluation gives: a value, a pair (value, sd), or None for a failure."""
Measurable: TypeAlias = Callable[[Any], Measured]
"""The function of a run: it takes a dictionary of parameters, or an array if the space is a list of bounds."""
Callback: TypeAlias = Callable[[Optimizer, Trial], Any]
"""Called with the optimizer and the trial just told; the run stops when it returns True."""
Caught: TypeAlias = type[BaseException] | tuple[type[BaseException], ...]
"""The exceptions of a function that count as failures of the point."""


@dataclass
class Loop:
    """Ask, evaluate, tell, until there is a reason to stop."""

    optimizer: Optimizer
    function: Measurable
    budget: int | None
    tolerance: Tolerance | None
    max_seconds: float | None
    max_failures: int
    catch: Caught
    callback: Callback | None
    save: str | Path | None
    _evaluated: int = 0
    _failed_in_a_row: int = 0
    _began: float = 0.0

    def run(self, bar: Bar) -> StopReason:
        """Run, and return why it ended."""
        self._began = time.monotonic()
        self._save()  # if the file cannot be written, before any evaluation is spent
        reason: StopReason | None = None
        trial: Trial | None = None
        try:
            while reason is None:
                reason = self._reason_before()
                if reason is None:
                    trial = self.optimizer.ask(last=self.budget == self._evaluated + 1)
                    trial = self._evaluate(trial)
                    reason = self._reason_after(trial, bar)
        except SpaceExhausted:
            return "exhausted"
        except KeyboardInterrupt:
            # The evaluation under way is lost, nothing else.
            pending = {other.number for other in self.optimizer.trials if other.state == "pending"}
            if trial is not None and trial.number in pending:
                self.optimizer.withdraw(trial, "interrupted")
            self._save()
            return "interrupted"
        return reason

    def _reason_before(self) -> StopReason | None:
        if self.budget is not None and self._evaluated >= self.budget:
            return "budget"
        if self.max_seconds is not None and time.monotonic() - self._began >= self.max_seconds:
            return "time"
        return None

    def _reason_after(self, trial: Trial, bar: Bar) -> StopReason | None:
        self._evaluated += 1
        self._failed_in_a_row = self._failed_in_a_row + 1 if trial.state == "failed" else 0
        # Draws are made once, for the bar and for the tolerance.
        where = functools.cache(self.optimizer.where)
        done = sum(other.state == "done" for other in self.optimizer.trials)
        modelled = done >= self.optimizer.num_initial
        if bar.shown:
            rule = self.tolerance or Tolerance(math.inf)
            bar.show(self.optimizer, trial, rule.left(where(rule.few_samples)) if modelled else None)
        stop = self.callback is not None and self.callback(self.optimizer, trial)
        if isinstance(stop, bool | np.bool_) and stop:
            return "callback"
        if self._failed_in_a_row >= self.max_failures:
            return "failures"
        if self.tolerance is not None and modelled and self.tolerance.is_met(where):
            return "tolerance"
        return None

    def _evaluate(self, trial: Trial) -> Trial:
        point = trial.x if self.optimizer.space.positional else dict(trial.params)
        try:
            outcome = self.function(point)
        except self.catch as error:
            told = self.optimizer.fail(trial, f"{type(error).__name__}: {error}")
            self._save()
            return told
        except Exception as error:
            self._give_up(
                trial, error, f" To count such errors as failures and go on, pass catch={type(error).__name__}."
            )
            raise
        value, sd = outcome if isinstance(outcome, tuple) and len(outcome) == 2 else (outcome, None)
        try:
            told = self.optimizer.tell(trial, value, sd)
        except DataError as error:
            self._give_up(trial, error, " The function must return a number or a pair (value, sd).")
            raise
        self._save()
        return told

    def _give_up(self, trial: Trial, error: Exception, hint: str) -> None:
        """Before an error is raised again: whether the point is to blame is not known, so it does not count."""
        self.optimizer.withdraw(trial, f"{type(error).__name__}: {error}")
        self._save()
        error.add_note(f"xstar: raised by trial {trial.number}, {dict(trial.params)}.{hint}")

    def _save(self) -> None:
        if self.save is not None:
            self.optimizer.save(self.save)


class Bar:
    """A progress bar on a terminal, nothing elsewhere."""

    def __init__(self, wanted: bool, budget: int | None) -> None:
        self.shown = wanted and sys.stderr.isatty()
        self._bar: Any = None
        self._budget = budget

    def __enter__(self) -> Bar:
        if self.shown:
            from tqdm import tqdm

            self._bar = tqdm(total=self._budget, unit="eval", dynamic_ncols=True)
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def show(self, optimizer: Optimizer, trial: Trial, left: float | None) -> None:
        """Show one more evaluation."""
        if self._bar is None:
            return
        parts = []
        if any(other.state == "done" for other in optimizer.trials):
            best = optimizer.recommend()
            parts.append(f"best {best.mean:.4g} ± {best.sd:.1g}")
        if "purpose" in trial.diagnostics:
            parts.append(trial.diagnostics["purpose"])
        if "bits" in trial.diagnostics:
            parts.append(f"{trial.diagnostics['bits']:.2g} bits")
        if left is not None:
            parts.append(f"regret < {left:.2g}")
        self._bar.set_postfix_str(", ".join(parts), refresh=False)
        self._bar.update()
