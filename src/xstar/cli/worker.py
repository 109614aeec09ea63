"""A worker: suggests, runs the program, tells, until the study is complete; several programs may run at once.

Any number of workers, on any number of machines, may share a study. One that dies leaves trials running: on the same
machine they are noticed when the next worker starts, elsewhere by their missing heartbeat, and begun again. A database
that does not answer for a while is waited for.
"""

from __future__ import annotations

import json
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import optuna
import sqlalchemy.exc
from optuna.storages import fail_stale_trials
from optuna.storages._heartbeat import is_heartbeat_enabled
from optuna.trial import FrozenTrial, TrialState

from xstar.cli.console import Console, StorageLost
from xstar.cli.identity import identity, is_dead
from xstar.cli.program import Interrupted, Outcome, Program, as_json
from xstar.cli.studies import MOST_RETRIES, Opened, brief
from xstar.cli.trials import begin, check_not_exhausted, count, find, tell, withdraw
from xstar.errors import SpaceExhausted
from xstar.trial import State, Trial, summarize

WORKER = "xstar:worker"
"""The user attribute of a trial that names the machine and the process that evaluates it."""
DEATHS = "xstar:deaths"
"""The user attribute that names the trials with these parameters whose workers died."""
TICK = 0.5
"""Seconds between looks at what goes on."""
OUTAGE = (sqlalchemy.exc.DBAPIError, sqlalchemy.exc.InvalidRequestError, optuna.exceptions.StorageInternalError)
"""What is raised when a database does not answer."""
OUTAGE_SECONDS = 600.0
"""How long it is waited for."""

T = TypeVar("T")


@dataclass
class Worker:
    """Evaluates trials of a study by a program."""

    opened: Opened
    program: Program
    console: Console
    trials: int
    """How many evaluations the study shall have in all."""
    workers: int = 1
    """Programs that run at once."""
    tolerance: float | None = None
    max_failures: int = 20
    grace: float = 10.0
    """Seconds that running programs have left after Ctrl-C."""
    heartbeat: int = 30
    logs: Path = field(default_factory=Path)
    stay: bool = True
    """Whether to wait for the last evaluations of other workers, in case they die."""
    _running: dict[Future[Outcome], optuna.Trial] = field(default_factory=dict)
    _alive: set[int] = field(default_factory=set)
    _asked_to_stop: int = 0
    _stopping: bool = False
    _stop_by: float = float("inf")
    _kill: threading.Event = field(default_factory=threading.Event)
    _failures: int = 0

    def run(self) -> str:
        """Why it ended: "complete", "elsewhere", "tolerance", "failures", "exhausted" or "interrupted"."""
        try:
            with self._signals(), self._beating(), ThreadPoolExecutor(self.workers) as pool:
                try:
                    return self._loop(pool)
                finally:
                    # Whatever happens, no program outlives its worker.
                    self._kill.set()
        except OUTAGE as error:
            raise StorageLost(
                f"the storage of the study has not answered for too long: {brief(error)} Results that were not told "
                "are in the logs; the same command, on this machine, goes on with them."
            ) from error

    def _loop(self, pool: ThreadPoolExecutor) -> str:
        self._patiently(self._bury_the_dead)
        reason: str | None = None
        while True:
            while reason is None and not self._asked_to_stop and len(self._running) < self.workers:
                reason = self._begin(pool)
            if not self._running:
                if reason != "elsewhere" or not self.stay or self._asked_to_stop:
                    break
                self.console.note("waiting for the last evaluations of other workers; Ctrl-C leaves them to it")
                time.sleep(TICK)
            reason = None if reason == "elsewhere" else reason
            finished, _ = wait(self._running, TICK, FIRST_COMPLETED)
            self._heed_signals()
            for future in finished:
                reason = self._finish(future) or reason
        return "interrupted" if self._asked_to_stop else reason or "complete"

    def _heed_signals(self) -> None:
        if self._asked_to_stop and not self._stopping:
            self._stopping = True
            left = len(self._running)
            self.console.remark(
                f"stopping: {left} running evaluation{'s have' if left != 1 else ' has'} {self.grace:g} s to end; "
                "Ctrl-C again ends them now"
            )
        if self._asked_to_stop > 1 or time.monotonic() > self._stop_by:
            self._kill.set()

    # Beginning

    def _begin(self, pool: ThreadPoolExecutor) -> str | None:
        """One more evaluation, or why there are no more."""
        trials = self._patiently(self._look_after_trials)
        if count(trials) >= self.trials:
            return self._complete(trials)
        try:
            self._patiently(lambda: check_not_exhausted(self.opened))
        except SpaceExhausted:
            return "exhausted"
        trial = begin(self.opened, self._claim, self._patiently)
        if self._asked_to_stop:
            self._give_back(trial)
            return None
        trials = self._patiently(lambda: self.opened.study.get_trials(deepcopy=False))
        if count(trials, below=trial.number) >= self.trials:
            # Another worker was faster: this one is too many.
            self._patiently(lambda: withdraw(self.opened, trial.number, "one too many"))
            self._alive.discard(trial._trial_id)
            return self._complete([other for other in trials if other.number < trial.number])
        future = pool.submit(self.program.evaluate, trial.number, trial.params, self._folder(trial.number), self._kill)
        self._running[future] = trial
        return None

    def _look_after_trials(self) -> list[FrozenTrial]:
        """All trials, those of dead workers failed and queued again."""
        for trial_id in list(self._alive):
            self._beat(trial_id)  # after a pause of this machine, ours are not dead
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            fail_stale_trials(self.opened.study)
        return self.opened.study.get_trials(deepcopy=False)

    def _complete(self, trials: Sequence[FrozenTrial]) -> str:
        """Whether the study has all its evaluations, or some of them still run in other workers, which may die."""
        ours = {trial.number for trial in self._running.values()}
        elsewhere = any(
            trial.state == TrialState.RUNNING and trial.number not in ours and WORKER in trial.user_attrs
            for trial in trials
        )
        return "elsewhere" if elsewhere and is_heartbeat_enabled(self.opened.study._storage) else "complete"

    def _claim(self, trial: optuna.Trial) -> None:
        """Say whose trial it is before its point is chosen."""
        # The heartbeat first: whoever finds the name may rely on one.
        self._alive.add(trial._trial_id)
        self._beat(trial._trial_id)
        trial.set_user_attr(WORKER, identity())

    def _give_back(self, trial: optuna.Trial) -> None:
        """A trial that nobody evaluates now is the first that will be."""
        if self._patiently(lambda: withdraw(self.opened, trial.number, "interrupted")):
            self._patiently(lambda: self.opened.study.enqueue_trial(trial.params))
            self.console.remark(f"#{trial.number}  interrupted; it will be run again")
        self._alive.discard(trial._trial_id)

    def _folder(self, number: int) -> Path:
        return self.logs / f"{number:05d}"

    # Ending

    def _finish(self, future: Future[Outcome]) -> str | None:
        """Tell what an evaluation gave; returns a reason to stop, if it is one."""
        trial = self._running.pop(future)
        try:
            outcome = future.result()
        except Interrupted:
            self._give_back(trial)
            return None
        recorded = self._patiently(
            lambda: (
                tell(self.opened, trial.number, outcome.value, outcome.sd, outcome.reason)
                # An answer that was lost on its way back was recorded all the same.
                or (outcome.value is not None and find(self.opened, trial.number).value == outcome.value)
            )
        )
        self._alive.discard(trial._trial_id)
        if not recorded:
            self.console.remark(f"#{trial.number}  came too late: another worker has taken it over; not recorded")
            return None
        self._failures = 0 if outcome.value is not None else self._failures + 1
        state: State = "failed" if outcome.value is None else "done"
        told = Trial(trial.number, trial.params, state, outcome.value, outcome.sd, outcome.reason)
        there = count(self._patiently(lambda: self.opened.study.get_trials(deepcopy=False)), finished=True)
        self.console.remark(f"{there}/{self.trials}  {summarize(told)}  ({outcome.seconds:.3g} s)")
        if self._failures >= self.max_failures:
            return "failures"
        return "tolerance" if outcome.value is not None and self._is_found() else None

    def _is_found(self) -> bool:
        """Whether, with 95 % probability, no more than the tolerance is left to gain."""
        if self.tolerance is None:
            return False
        optimizer = self._patiently(self.opened.optimizer)
        done = sum(trial.state == "done" for trial in optimizer.trials)
        return done >= optimizer.num_initial and optimizer.where().regret_quantile(0.95) <= self.tolerance

    # The living and the dead

    def _patiently(self, action: Callable[[], T]) -> T:
        """What an action gives; while the database does not answer, it is tried again and programs go on."""
        until, pause = time.monotonic() + OUTAGE_SECONDS, TICK
        while True:
            try:
                return action()
            except OUTAGE as error:
                if time.monotonic() + pause > until or self._asked_to_stop > 1:
                    raise
                self.console.note(f"the storage does not answer and is tried again: {brief(error)}")
                with suppress(Exception):
                    self.opened.study._storage.remove_session()
            time.sleep(pause)
            pause = min(2.0 * pause, 10.0)

    @contextmanager
    def _beating(self) -> Iterator[None]:
        """Signs of life for all trials of this worker, also while the next point is being chosen."""
        stop = threading.Event()

        def beat() -> None:
            while not stop.wait(self.heartbeat):
                for trial_id in list(self._alive):
                    self._beat(trial_id)

        thread = threading.Thread(target=beat, daemon=True, name="xstar-heartbeat")
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _beat(self, trial_id: int) -> None:
        storage: Any = self.opened.study._storage
        if is_heartbeat_enabled(storage):
            try:
                storage.record_heartbeat(trial_id)
            except Exception as error:  # a database that is away for a moment may be back for the next one
                self.console.note(f"a heartbeat could not be recorded: {brief(error)}")
                with suppress(Exception):
                    storage.remove_session()

    def _bury_the_dead(self) -> None:
        """Trials of processes of this machine that are gone: told if they had ended, begun again if not."""
        for trial in self.opened.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            if not is_dead(trial.user_attrs.get(WORKER)):
                continue
            outcome = _left_behind(self._folder(trial.number), trial.params)
            if outcome is not None:
                if tell(self.opened, trial.number, outcome.value, outcome.sd, outcome.reason):
                    self.console.remark(f"#{trial.number}  its worker has died, but its result was there")
                continue
            history = {*trial.user_attrs.get(DEATHS, []), *trial.system_attrs.get("retry_history", []), trial.number}
            if len(history) > MOST_RETRIES:
                reason = f"its worker died, {len(history)} times"
                if tell(self.opened, trial.number, None, None, reason):
                    self.console.remark(f"#{trial.number}  {reason}; it counts as a failure")
            elif withdraw(self.opened, trial.number, "its worker died"):
                if trial.params:
                    self.opened.study.enqueue_trial(trial.params, user_attrs={DEATHS: sorted(history)})
                self.console.remark(f"#{trial.number}  its worker has died; it will be run again")

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Ctrl-C, a request to terminate or a terminal that closes end the run well; twice, at once."""

        def stop(*_: Any) -> None:
            self._asked_to_stop += 1
            self._stop_by = min(self._stop_by, time.monotonic() + self.grace)

        if threading.current_thread() is not threading.main_thread():
            yield
            return
        wanted = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
        before = {number: signal.signal(number, stop) for number in wanted}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _left_behind(folder: Path, params: Mapping[str, Any]) -> Outcome | None:
    """The outcome for these parameters that a worker had written down before it died."""
    try:
        found = json.loads((folder / "outcome.json").read_text(encoding="utf-8"))
        outcome = Outcome(found["value"], found["sd"], found["reason"], found["seconds"])
        return outcome if params and found["params"] == as_json(params) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
