"""The loop of a run: ask, evaluate, tell, until there is a reason to stop."""

from __future__ import annotations

import time
import warnings
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from xstar.errors import DataError, FileError, SpaceExhausted
from xstar.optimizer import Optimizer
from xstar.run.bar import Bar
from xstar.run.evaluations import Evaluations, Outcome
from xstar.run.outcome import Reader
from xstar.run.result import StopReason
from xstar.run.rules import Rules, Watch
from xstar.trial import Trial

Caught: TypeAlias = type[BaseException] | tuple[type[BaseException], ...]
"""The exceptions of a function that count as failures of the point."""


@dataclass
class Loop:
    """Ask, evaluate, tell, until there is a reason to stop; evaluations that have begun are waited for."""

    optimizer: Optimizer
    evaluations: Evaluations
    rules: Rules
    catch: Caught
    save: str | Path | None
    first: deque[dict[str, Any]] = field(default_factory=deque)
    """Points to begin with."""
    _started: list[int] = field(default_factory=list)
    """The numbers of this run's trials."""
    _reader: Reader = field(init=False)
    _warned: bool = False

    def __post_init__(self) -> None:
        self._reader = Reader(self.optimizer.goals)

    def run(self, bar: Bar) -> StopReason:
        """Run, and return why it ended."""
        began = time.monotonic()
        self._save()  # if the file cannot be written, before any evaluation is spent
        watch = Watch(self.rules, self.optimizer)
        reason: StopReason | None = None
        try:
            while True:
                while reason is None and not self.evaluations.full:
                    reason = self.rules.before(len(self._started), began) or self._start()
                if not self.evaluations.trials:
                    return reason or "budget"
                for trial, result in self.evaluations.finished():
                    told = self._tell(trial, result)
                    reason = watch.after(told, bar.shown) or reason
                    bar.show(self.optimizer, told, watch.left)
        except KeyboardInterrupt:
            # The evaluations under way are lost, nothing else.
            self._withdraw_pending("interrupted")
            return "interrupted"
        finally:
            self.evaluations.abandon()

    def _start(self) -> StopReason | None:
        """Take up another point; the reason to stop if there is none."""
        last = self.rules.budget == len(self._started) + 1
        try:
            trial = self.optimizer.ask(fixed=self.first.popleft() if self.first else None, last=last)
        except SpaceExhausted:
            return "exhausted"
        self._started.append(trial.number)
        self.evaluations.start(trial)
        return None

    def _tell(self, trial: Trial, result: Outcome) -> Trial:
        try:
            returned = result()
        except self.catch as error:
            told = self.optimizer.fail(trial, f"{type(error).__name__}: {error}")
            self._save()
            return told
        except Exception as error:
            self._give_up(
                trial, error, f" To count such errors as failures and go on, pass catch={type(error).__name__}."
            )
            raise
        try:
            told = self.optimizer.tell(trial, *self._reader.read(returned))
        except DataError as error:
            self._give_up(trial, error, f" {self._reader.expected}")
            raise
        self._save()
        return told

    def _give_up(self, trial: Trial, error: Exception, hint: str) -> None:
        """Before an error is raised again: whether the point is to blame is not known, so it does not count."""
        self.optimizer.withdraw(trial, f"{type(error).__name__}: {error}")
        self._withdraw_pending("the run ended with an error")
        error.add_note(f"xstar: raised by trial {trial.number}, {dict(trial.params)}.{hint}")

    def _withdraw_pending(self, reason: str) -> None:
        """Those under way, which nobody will tell."""
        for trial in self.optimizer.trials:
            if trial.state == "pending" and trial.number in self._started:
                self.optimizer.withdraw(trial, reason)
        self._save()

    def _save(self) -> None:
        """Save, if that is wanted; a disk that is full by now is no reason to lose the evaluations."""
        if self.save is None:
            return
        try:
            self.optimizer.save(self.save)
        except FileError as error:
            if not self._started:
                raise
            if not self._warned:
                warnings.warn(f"the run goes on, but it could not be saved: {error}", UserWarning, stacklevel=4)
            self._warned = True
