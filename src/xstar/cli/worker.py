"""A worker: suggests, runs the program, tells, until the study is complete; several programs may run at once.

Any number of workers, on any number of machines, may share a study. One that dies leaves trials running: on the same
machine they are noticed when the next worker starts, elsewhere by their missing heartbeat, and begun again.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import optuna
from optuna.storages import fail_stale_trials
from optuna.storages._heartbeat import is_heartbeat_enabled
from optuna.trial import FrozenTrial, TrialState

from xstar import repeats
from xstar.cli.console import Console
from xstar.cli.program import Interrupted, Outcome, Program
from xstar.cli.studies import MOST_RETRIES, Opened, brief
from xstar.errors import SpaceExhausted, TrialError
from xstar.integrations.records import REASON, SD, WITHDRAWN
from xstar.trial import State, Trial, summarize

WORKER = "xstar:worker"
"""The user attribute of a trial that names the machine and the process that evaluates it."""
DEATHS = "xstar:deaths"
"""The user attribute that names the trials with these parameters whose workers died."""
TICK = 0.5
"""Seconds between looks at what goes on."""


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
    _running: dict[Future[Outcome], optuna.Trial] = field(default_factory=dict)
    _asked_to_stop: int = 0
    _stop_by: float = float("inf")
    _kill: threading.Event = field(default_factory=threading.Event)
    _failures: int = 0
    _alive: set[int] = field(default_factory=set)

    def run(self) -> str:
        """Why it ended: "complete", "tolerance", "failures", "exhausted" or "interrupted"."""
        self._bury_the_dead()
        reason: str | None = None
        with self._signals(), self._beating(), ThreadPoolExecutor(self.workers) as pool:
            try:
                while True:
                    while reason is None and not self._asked_to_stop and len(self._running) < self.workers:
                        reason = self._begin(pool)
                    if not self._running:
                        break
                    finished, _ = wait(self._running, TICK, FIRST_COMPLETED)
                    if self._asked_to_stop > 1 or time.monotonic() > self._stop_by:
                        self._kill.set()
                    for future in finished:
                        reason = self._finish(future) or reason
            finally:
                # Whatever happens, no program outlives its worker.
                self._kill.set()
        return "interrupted" if self._asked_to_stop else reason or "complete"

    # Beginning

    def _begin(self, pool: ThreadPoolExecutor) -> str | None:
        """One more evaluation, or why there are no more."""
        study = self.opened.study
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            fail_stale_trials(study)
        trials = study.get_trials(deepcopy=False)
        if _count(trials) >= self.trials:
            return "complete"
        if not any(trial.state == TrialState.WAITING for trial in trials):
            try:
                optimizer = self.opened.optimizer()
                repeats.forbidden(optimizer.space, optimizer.trials, optimizer.noise)
            except SpaceExhausted:
                return "exhausted"
        trial = ask(self.opened, self._claim)
        if self._asked_to_stop:
            self._give_back(trial)
            return None
        before = [other for other in study.get_trials(deepcopy=False) if other.number < trial.number]
        if _count(before) >= self.trials:
            # Another worker was faster: this one is too many.
            withdraw(self.opened, trial.number, "one too many")
            return "complete"
        future = pool.submit(self.program.evaluate, trial.number, trial.params, self._folder(trial.number), self._kill)
        self._running[future] = trial
        return None

    def _claim(self, trial: optuna.Trial) -> None:
        """Say whose trial it is before its point is chosen, which may take a while."""
        trial.set_user_attr(WORKER, [socket.gethostname(), os.getpid()])
        self._alive.add(trial._trial_id)
        self._beat(trial._trial_id)

    def _give_back(self, trial: optuna.Trial) -> None:
        """A trial that nobody evaluates now is the first that will be."""
        withdraw(self.opened, trial.number, "interrupted")
        self.opened.study.enqueue_trial(trial.params)
        self.console.remark(f"#{trial.number}  interrupted; it will be run again")

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
        finally:
            self._alive.discard(trial._trial_id)
        tell(self.opened, trial.number, outcome.value, outcome.sd, outcome.reason)
        self._failures = 0 if outcome.value is not None else self._failures + 1
        state: State = "failed" if outcome.value is None else "done"
        told = Trial(trial.number, trial.params, state, outcome.value, outcome.sd, outcome.reason)
        there = _count(self.opened.study.get_trials(deepcopy=False), finished=True)
        self.console.remark(f"{there}/{self.trials}  {summarize(told)}  ({outcome.seconds:.3g} s)")
        if self._failures >= self.max_failures:
            return "failures"
        return "tolerance" if outcome.value is not None and self._is_found() else None

    def _is_found(self) -> bool:
        """Whether, with 95 % probability, no more than the tolerance is left to gain."""
        if self.tolerance is None:
            return False
        optimizer = self.opened.optimizer()
        done = sum(trial.state == "done" for trial in optimizer.trials)
        return done >= optimizer.num_initial and optimizer.where().regret_quantile(0.95) <= self.tolerance

    # The living and the dead

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
                self.console.note(f"the heartbeat could not be recorded: {brief(error)}")

    def _bury_the_dead(self) -> None:
        """Trials of processes of this machine that are gone are begun again."""
        for trial in self.opened.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            machine, process = trial.user_attrs.get(WORKER, (None, None))
            if machine == socket.gethostname() and process != os.getpid() and not _is_alive(process):
                withdraw(self.opened, trial.number, "its worker died")
                deaths = [*trial.user_attrs.get(DEATHS, []), trial.number]
                again = len(deaths) <= MOST_RETRIES and bool(trial.params)
                if again:
                    self.opened.study.enqueue_trial(trial.params, user_attrs={DEATHS: deaths})
                self.console.remark(f"#{trial.number}  its worker has died" + "; it will be run again" * again)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Ctrl-C, a request to terminate or a terminal that closes end the run well; twice, at once."""

        def stop(*_: Any) -> None:
            self._asked_to_stop += 1
            if self._asked_to_stop == 1:
                self._stop_by = time.monotonic() + self.grace
                left = len(self._running)
                self.console.remark(
                    f"stopping: {left} running evaluation{'s have' if left != 1 else ' has'} {self.grace:g} s to end; "
                    "Ctrl-C again ends them now"
                )

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


def ask(opened: Opened, claim: Callable[[optuna.Trial], None] | None = None) -> optuna.Trial:
    """The next trial of a study, with all its parameters; `claim` is called before they are chosen."""
    distributions = opened.distributions
    with warnings.catch_warnings():
        # Workers send heartbeats themselves.
        warnings.filterwarnings("ignore", "Heartbeat of storage is supposed")
        trial = opened.study.ask()
    if claim is not None:
        claim(trial)
    for name, distribution in distributions.items():
        trial._suggest(name, distribution)
    return trial


def tell(opened: Opened, number: int, value: float | None, sd: float | None, reason: str | None) -> None:
    """Finish a trial: with a value, or as failed for a reason. One that another worker has given up stays so."""
    study = opened.study
    trial = _running_trial(opened, number)
    if trial is None:
        return
    if sd is not None:
        study._storage.set_trial_user_attr(trial._trial_id, SD, sd)
    if value is None:
        study._storage.set_trial_user_attr(trial._trial_id, REASON, reason or "failed")
        study.tell(number, state=TrialState.FAIL, skip_if_finished=True)
    else:
        study.tell(number, value, skip_if_finished=True)


def withdraw(opened: Opened, number: int, why: str) -> None:
    """End a running trial that says nothing about its point."""
    trial = _running_trial(opened, number)
    if trial is not None:
        opened.study._storage.set_trial_user_attr(trial._trial_id, WITHDRAWN, why)
        opened.study.tell(number, state=TrialState.FAIL, skip_if_finished=True)


def _running_trial(opened: Opened, number: int) -> FrozenTrial | None:
    found = [trial for trial in opened.study.get_trials(deepcopy=False) if trial.number == number]
    if not found:
        raise TrialError(f"there is no trial {number}.")
    return found[0] if found[0].state == TrialState.RUNNING else None


def _count(trials: Sequence[FrozenTrial], finished: bool = False) -> int:
    """Trials that count as evaluations: running or finished, but neither withdrawn nor begun again."""
    again = {number for trial in trials for number in trial.system_attrs.get("retry_history", ())}
    return sum(
        trial.state != TrialState.WAITING
        and WITHDRAWN not in trial.user_attrs
        and trial.number not in again
        and (trial.state.is_finished() or not finished)
        for trial in trials
    )


def _is_alive(process: int) -> bool:
    if os.name != "posix":
        return True  # there the heartbeat has to tell
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
