"""Where a function is called: here, one point after another, or in an executor, several at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from xstar.run.outcome import Measurable
from xstar.trial import Trial

Outcome = Callable[[], Any]
"""Gives what the function returned, or raises what it raised."""


@dataclass
class Evaluations:
    """Points under way, at most `width` of them."""

    function: Measurable
    positional: bool
    width: int = 1
    executor: Executor | None = None
    """By default threads, if there is more than one at once."""
    _own: Executor | None = None
    _running: dict[Future[Any], Trial] = field(default_factory=dict)
    _next: tuple[Trial, Any] | None = None

    @property
    def full(self) -> bool:
        """Whether there is no room for another."""
        return len(self.trials) >= self.width

    @property
    def trials(self) -> list[Trial]:
        """Those under way."""
        return [*self._running.values(), *([] if self._next is None else [self._next[0]])]

    def start(self, trial: Trial) -> None:
        """Take one up."""
        point = trial.x if self.positional else dict(trial.params)
        if self.width == 1 and self.executor is None:
            self._next = trial, point
            return
        if self.executor is None and self._own is None:
            self._own = ThreadPoolExecutor(self.width, thread_name_prefix="xstar-evaluation")
        executor = self.executor or self._own
        assert executor is not None, "one of the two is there"
        self._running[executor.submit(self.function, point)] = trial

    def finished(self) -> list[tuple[Trial, Outcome]]:
        """Wait for the next to end; those that have ended, in the order of their numbers.

        The only one is called when its outcome is asked for, so that whoever asks meets its error, and Ctrl-C.
        """
        if self._next is not None:
            (trial, point), self._next = self._next, None
            return [(trial, lambda: self.function(point))]
        done, _ = wait(self._running, return_when=FIRST_COMPLETED)
        ended = [(self._running.pop(future), future.result) for future in done]
        return sorted(ended, key=lambda pair: pair[0].number)

    def abandon(self) -> None:
        """Begin none of those that wait; what runs cannot be stopped."""
        if self._own is not None:
            self._own.shutdown(wait=False, cancel_futures=True)
