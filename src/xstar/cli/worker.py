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
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import optuna
import sqlalchemy.exc
from optuna.trial import FrozenTrial, TrialState

from xstar.cli.console import Console, StorageLost
from xstar.cli.guardian import Guardian
from xstar.cli.program import Interrupted, Outcome, as_json
from xstar.cli.settings import RunSettings
from xstar.cli.studies import STORAGE, Opened, brief
from xstar.cli.told import Told
from xstar.cli.trials import TAKER, WORKER, Claim, begin, check_not_exhausted, count, find, tell, withdraw
from xstar.engine.stopping import Tolerance
from xstar.errors import FileError, SpaceExhausted
from xstar.files.identity import identity, is_dead
from xstar.integrations.optuna import adapter
from xstar.integrations.optuna.snapshot import Snapshot
from xstar.run.rules import is_modelled
from xstar.trial import summarize

DEATHS = "xstar:deaths"
"""The user attribute that names the trials with these parameters whose workers died."""
OUTAGE = (sqlalchemy.exc.DBAPIError, sqlalchemy.exc.InvalidRequestError, optuna.exceptions.StorageInternalError)
"""What is raised when a database does not answer."""
READ_ONLY = "readonly database"
"""What SQLite says of a file that may not be written to: waiting is no help."""

T = TypeVar("T")


@dataclass
class Worker:
    """Evaluates trials of a study by a program."""

    opened: Opened
    settings: RunSettings
    console: Console
    logs: Path = field(default_factory=Path)
    """The folder for the files of trials."""
    _running: dict[Future[Outcome], optuna.Trial] = field(default_factory=dict)
    _alive: set[int] = field(default_factory=set)
    _snapshot: Snapshot | None = None
    """The study after the last result, until the next trial begins from it."""
    _asked_to_stop: int = 0
    _stopping: bool = False
    _stop_by: float = float("inf")
    _kill: threading.Event = field(default_factory=threading.Event)
    _failures: int = 0
    _guardian: Guardian | None = None

    def run(self) -> str:
        """Evaluate trials and return why that ended.

        The reasons are "complete", "elsewhere", "tolerance", "failures", "exhausted" and "interrupted".
        """
        try:
            with self._signals(), self._beating(), self._guarded(), ThreadPoolExecutor(self.settings.workers) as pool:
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
        self._with_retries(self._reclaim_orphaned_trials)
        reason: str | None = None
        while True:
            while reason is None and not self._asked_to_stop and len(self._running) < self.settings.workers:
                reason = self._begin(pool)
            if not self._running:
                if reason != "elsewhere" or not self.settings.wait or self._asked_to_stop:
                    break
                self.console.note("waiting for the last evaluations of other workers; Ctrl-C leaves them to it")
                time.sleep(self.settings.poll_seconds)
            reason = None if reason == "elsewhere" else reason
            finished, _ = wait(self._running, self.settings.poll_seconds, FIRST_COMPLETED)
            self._heed_signals()
            for future in finished:
                reason = self._finish(future) or reason
        return "interrupted" if self._asked_to_stop else reason or "complete"

    def _heed_signals(self) -> None:
        if self._asked_to_stop and not self._stopping:
            self._stopping = True
            left, grace = len(self._running), self.settings.grace
            self.console.remark(
                f"stopping: {left} running evaluation{'s have' if left != 1 else ' has'} {grace:g} s to end; "
                "Ctrl-C again ends them now"
            )
        if self._asked_to_stop > 1 or time.monotonic() > self._stop_by:
            self._kill.set()

    # Beginning

    def _begin(self, pool: ThreadPoolExecutor) -> str | None:
        """One more evaluation, or why there are no more."""
        snapshot = self._snapshot or self._with_retries(self._read_study)
        self._snapshot = None
        there = count(snapshot.trials)
        if there >= self.settings.budget:
            return self._complete(snapshot.trials)
        try:
            check_not_exhausted(snapshot)
        except SpaceExhausted:
            return "exhausted"
        trial, trials = begin(
            self.opened, snapshot, _OwnClaim(self), self._with_retries, last=there + 1 == self.settings.budget
        )
        if self._asked_to_stop:
            self._give_back(trial)
            return None
        if count(trials, below=trial.number) >= self.settings.budget:
            # Another worker was faster: this one is too many.
            self._with_retries(lambda: withdraw(self.opened, trial.number, "one too many"))
            self._alive.discard(adapter.id_of(trial))
            return self._complete([other for other in trials if other.number < trial.number])
        evaluate = self.settings.program.evaluate
        folder = self._folder(trial.number)
        future = pool.submit(evaluate, trial.number, trial.params, folder, self._kill, self._guardian)
        self._running[future] = trial
        return None

    def _read_study(self) -> Snapshot:
        """The study as it is, once trials without signs of life are failed and queued again."""
        for trial_id in list(self._alive):
            self.beat(trial_id)  # after a pause of this machine, ours are not dead
        adapter.fail_silent_trials(self.opened.study)
        return self.opened.snapshot()

    def _complete(self, trials: Sequence[FrozenTrial]) -> str:
        """Whether the study has all its evaluations, or some of them still run in other workers, which may die."""
        ours = {trial.number for trial in self._running.values()}
        elsewhere = any(
            trial.state == TrialState.RUNNING and trial.number not in ours and trial.user_attrs.get(WORKER) is not None
            for trial in trials
        )
        return "elsewhere" if elsewhere and adapter.has_heartbeats(self.opened.study) else "complete"

    def _give_back(self, trial: optuna.Trial) -> None:
        """A trial that nobody evaluates now is the first that will be."""
        if self._with_retries(lambda: withdraw(self.opened, trial.number, "interrupted")):
            self._with_retries(lambda: self.opened.study.enqueue_trial(trial.params))
            self.console.remark(f"#{trial.number}  interrupted; it will be run again")
        self._alive.discard(adapter.id_of(trial))

    def _folder(self, number: int) -> Path:
        return self.logs / f"{number:05d}"

    # Ending

    def _finish(self, future: Future[Outcome]) -> str | None:
        """Tell what an evaluation gave; returns a reason to stop, if it is one."""
        trial = self._running.pop(future)
        self._snapshot = None
        try:
            outcome = future.result()
        except Interrupted:
            self._give_back(trial)
            return None
        except OSError as error:
            self._give_back(trial)
            raise FileError(
                f"the files of trial {trial.number} cannot be written to {str(self._folder(trial.number))!r}: "
                f"{error.strerror or error}. Nothing is lost: when there is room for them, the same command goes on."
            ) from error
        told = outcome.told.of_goals(self.opened.goals)
        recorded = self._with_retries(
            lambda: (
                tell(self.opened, trial.number, told)
                # An answer that was lost on its way back was recorded all the same.
                or (not told.failed and find(self.opened, trial.number).values == told.objectives(self.opened.goals))
            )
        )
        self._alive.discard(adapter.id_of(trial))
        if not recorded:
            self.console.remark(f"#{trial.number}  came too late: another worker has taken it over; not recorded")
            return None
        self._failures = self._failures + 1 if told.failed else 0
        self._snapshot = snapshot = self._with_retries(self._read_study)
        there = count(snapshot.trials, finished=True)
        said = summarize(told.trial(trial.number, trial.params))
        self.console.remark(f"{there}/{self.settings.budget}  {said}  ({outcome.seconds:.3g} s)")
        if self._failures >= self.settings.max_failures:
            return "failures"
        return "tolerance" if not told.failed and self._is_found(snapshot) else None

    def _is_found(self, snapshot: Snapshot) -> bool:
        """Whether, with 95 % probability, no more than the tolerance is left to gain."""
        if self.settings.tolerance is None:
            return False
        optimizer = snapshot.optimizer
        return is_modelled(optimizer) and Tolerance(self.settings.tolerance).is_met(optimizer.where)

    # Storages that do not answer, workers that die

    def _with_retries(self, action: Callable[[], T]) -> T:
        """What an action gives; while the database does not answer, it is tried again and programs go on.

        Whoever asks to stop waits no longer than for running evaluations.
        """
        until, pause = time.monotonic() + self.settings.outage_seconds, self.settings.poll_seconds
        while True:
            try:
                return action()
            except OUTAGE as error:
                if READ_ONLY in brief(error):
                    raise StorageLost(
                        f"the study cannot be written to: {brief(error)} Results that were not told are in the logs; "
                        "when it can be written to, the same command, on this machine, goes on with them."
                    ) from error
                if time.monotonic() + pause > min(until, self._stop_by) or self._asked_to_stop > 1:
                    raise
                self.console.note(f"the storage does not answer and is tried again: {brief(error)}")
                adapter.release_session(self.opened.study)
            self._rest(pause)
            pause = min(2.0 * pause, self.settings.longest_pause)

    def _rest(self, seconds: float) -> None:
        """Wait, but not beyond the moment when somebody asks to stop."""
        until, asked = time.monotonic() + seconds, self._asked_to_stop
        while time.monotonic() < until and self._asked_to_stop == asked:
            time.sleep(min(self.settings.poll_seconds, max(until - time.monotonic(), 0.0)))

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Programs end with this process, however it ends."""
        self._guardian = Guardian()
        try:
            yield
        finally:
            self._guardian.close()

    @contextmanager
    def _beating(self) -> Iterator[None]:
        """Signs of life for all trials of this worker, also while the next point is being chosen."""
        stop = threading.Event()

        def beat() -> None:
            while not stop.wait(self.settings.heartbeat):
                for trial_id in list(self._alive):
                    self.beat(trial_id)

        thread = threading.Thread(target=beat, daemon=True, name="xstar-heartbeat")
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def keep_alive(self, trial_id: int) -> None:
        """Send signs of life of a trial, from now on until it ends."""
        self._alive.add(trial_id)

    def beat(self, trial_id: int) -> None:
        """Send one sign of life of a trial, if the storage has them."""
        study = self.opened.study
        if adapter.has_heartbeats(study):
            try:
                adapter.record_heartbeat(study, trial_id)
            except Exception as error:  # a database that is away for a moment may be back for the next one
                self.console.note(f"a heartbeat could not be recorded: {brief(error)}")
                adapter.release_session(study)

    def _reclaim_orphaned_trials(self) -> None:
        """Trials of processes of this machine that are gone: told if they had ended, begun again if not."""
        for trial in self.opened.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            if not _is_orphaned(trial):
                continue
            outcome = _left_behind(self._folder(trial.number), trial.params)
            if outcome is not None:
                if tell(self.opened, trial.number, outcome.told.of_goals(self.opened.goals)):
                    self.console.remark(f"#{trial.number}  its worker has died, but its result was there")
                continue
            history = {*trial.user_attrs.get(DEATHS, []), *adapter.begun_again(trial), trial.number}
            if len(history) > STORAGE.max_retries:
                reason = f"its worker died, {len(history)} times"
                if tell(self.opened, trial.number, Told(reason=reason)):
                    self.console.remark(f"#{trial.number}  {reason}; it counts as a failure")
            elif withdraw(self.opened, trial.number, "its worker died"):
                params = trial.params or dict(adapter.enqueued_params(trial))
                if params:
                    self.opened.study.enqueue_trial(params, user_attrs={DEATHS: sorted(history)})
                self.console.remark(f"#{trial.number}  its worker has died; it will be run again")

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Ctrl-C, a request to terminate or a terminal that closes end the run well; twice, at once."""

        def stop(*_: Any) -> None:
            self._asked_to_stop += 1
            self._stop_by = min(self._stop_by, time.monotonic() + self.settings.grace)

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


@dataclass(frozen=True)
class _OwnClaim(Claim):
    """Says that a trial is that of a worker, before its point is chosen."""

    worker: Worker

    @property
    def attributes(self) -> Mapping[str, Any]:
        return {WORKER: identity()}

    def mark(self, trial_id: int, new: bool) -> None:
        # The heartbeat first: whoever finds the name may rely on one.
        self.worker.beat(trial_id)
        if not new:
            machine, process, start = identity()
            key = f"{TAKER}:{process}:{start}:{zlib.crc32(str(machine).encode()):x}"
            adapter.mark_trial(self.worker.opened.study, trial_id, key, [machine, process, start])

    def take(self, trial: optuna.Trial) -> None:
        self.worker.keep_alive(adapter.id_of(trial))
        if trial.user_attrs.get(WORKER) != identity():
            trial.set_user_attr(WORKER, identity())


def _is_orphaned(trial: FrozenTrial) -> bool:
    """Whether the process of this machine that has begun a trial is gone.

    Where it has not said its name yet, it is one of those that were about to take the trial, or who has made it.
    """
    worker = trial.user_attrs.get(WORKER, ())
    if worker is None:  # a person evaluates it
        return False
    takers = [taker for key, taker in trial.user_attrs.items() if key.startswith(TAKER)]
    known = [worker] if worker in takers else [*takers, *([worker] if worker else [])]
    return bool(known) and all(map(is_dead, known))


def _left_behind(folder: Path, params: Mapping[str, Any]) -> Outcome | None:
    """The outcome for these parameters that a worker had written down before it died."""
    try:
        found = json.loads((folder / "outcome.json").read_text(encoding="utf-8"))
        told = Told(found["value"], found["sd"], found["reason"], found.get("values", {}), found.get("sds", {}))
        outcome = Outcome(told, found["seconds"])
        return outcome if params and found["params"] == as_json(params) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
