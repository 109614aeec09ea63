"""Workers: complete runs, several at once, interruptions, deaths, and that no trial is lost or counted twice."""

import copy
import errno
import itertools
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import optuna
import pytest
import sqlalchemy.exc
from optuna.storages import RDBStorage
from optuna.trial import TrialState

from tests.waiting import HANG, finish, wait_until
from xstar import Optimizer
from xstar.cli import trials
from xstar.cli import worker as module
from xstar.cli.program import Program, as_json
from xstar.cli.settings import RunSettings
from xstar.cli.studies import open_study
from xstar.cli.trials import withdraw
from xstar.cli.worker import DEATHS, WORKER
from xstar.engine import cache
from xstar.files.identity import began, identity
from xstar.integrations.optuna import load_optimizer, records
from xstar.integrations.optuna.records import WITHDRAWN

ECHO = ("--", "echo", "{x}")
STATES = {TrialState.COMPLETE: "done", TrialState.FAIL: "failed", TrialState.RUNNING: "running"}
STATES[TrialState.WAITING] = "waiting"


def states(study):
    return ["withdrawn" if WITHDRAWN in trial.user_attrs else STATES[trial.state] for trial in study.trials]


def shell(line):
    return ("--", "sh", "-c", line)


@pytest.fixture
def dead():
    """The number of a process that is over."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


# From beginning to end


def test_a_complete_run(ok, define, folder, stored):
    define(run="budget = 5")
    answer = ok("run", "study.toml", "--json", *ECHO)
    trials = stored().trials
    assert states(stored()) == ["done"] * 5
    assert [trial.value for trial in trials] == [trial.params["x"] for trial in trials]
    assert answer.json["params"]["x"] < min(trial.value for trial in trials) + 0.1
    lines = answer.err.splitlines()
    assert [line.split()[:2] for line in lines[:5]] == [[f"{k + 1}/5", f"#{k}"] for k in range(5)]
    assert lines[5:] == ["the study has its 5 trials"]
    logs = folder / "study.trials"
    assert sorted(path.name for path in logs.iterdir()) == [f"{k:05d}" for k in range(5)]
    for trial in trials:
        outcome = json.loads((logs / f"{trial.number:05d}" / "outcome.json").read_text())
        assert outcome["value"] == trial.value


def test_the_last_trial_of_a_budget_tests_what_is_recommended(ok, define, stored):
    ok("run", define(method="logei"), "--budget", "6", *shell("python3 -c 'print(({x} - 0.3) ** 2)'"))
    told = load_optimizer(stored()).trials
    assert [trial.diagnostics.get("purpose") for trial in told] == [None] * 5 + ["confirm"]


def test_the_run_is_that_of_ask_and_tell(ok, define, stored):
    define("a.toml", name="same")
    define("b.toml", name="same")
    ok("run", "a.toml", "--budget", "5", *ECHO)
    for k in range(5):
        ok("tell", "b.toml", k, ok("ask", "b.toml", "--json").json["params"]["x"])
    runs = [[(trial.params, trial.value) for trial in stored(path).trials] for path in ("a.db", "b.db")]
    assert runs[0] == runs[1]


def test_the_command_of_the_definition(ok, define, stored):
    define(run='budget = 2\ncommand = ["sh", "-c", "echo {x}"]')
    ok("run", "study.toml")
    assert states(stored()) == ["done"] * 2


def test_the_old_name_of_the_budget_is_noted(ok, define, stored):
    answer = ok("run", define(method="random", run="trials = 9"), "--trials", "2", *ECHO)
    assert states(stored()) == ["done"] * 2
    assert "note: [run]: 'trials' is called 'budget' now." in answer.err
    assert "note: the command line: 'trials' is called 'budget' now." in answer.err


def test_the_walk_of_one_trial(ok, define, monkeypatch):
    """The study is read once for the tolerance and the next suggestion, and looked at once when that is shared."""
    counts = Counter()

    def count(owner, name):
        original = getattr(owner, name)

        def counted(*arguments, **settings):
            counts[name] += 1
            return original(*arguments, **settings)

        monkeypatch.setattr(owner, name, counted)

    for owner, name in ((optuna.Study, "get_trials"), (records, "to_trials"), (cache, "fit")):
        count(owner, name)
    for name in ("__init__", "with_trials"):
        count(Optimizer, name)
    seen, evaluate = [], Program.evaluate

    def looking(self, *arguments):
        seen.append(Counter(counts))
        return evaluate(self, *arguments)

    monkeypatch.setattr(Program, "evaluate", looking)
    ok("run", define(), "--budget", "6", "--tolerance", "1e-12", "--", "echo", "{x}", "0.25")
    assert len(seen) == 6
    for before, after in itertools.pairwise(seen[2:]):
        assert after - before == {"get_trials": 2, "to_trials": 1, "__init__": 1, "fit": 1}


def test_failures_are_taught(ok, define, stored):
    define(run='budget = 6\nvalue = "regex:loss=(.*)"', method="random")
    line = "case {trial} in 1) echo no >&2; exit 3;; 4) echo loss=nan;; *) echo loss=1; esac"
    answer = ok("run", "study.toml", *shell(line))
    assert states(stored()) == ["done", "failed", "done", "done", "failed", "done"]
    assert [trial.user_attrs.get("xstar:reason") for trial in stored().trials] == [
        None, "exit code 3: no", None, None, "value was nan", None,
    ]  # fmt: skip
    assert "->  failed: exit code 3: no" in answer.err
    optimizer = open_study("study.toml").optimizer()
    assert [trial.state for trial in optimizer.trials].count("failed") == 2


def test_noise_is_taught(ok, define, stored):
    ok("run", define(), "--budget", "2", *shell("echo {x} 0.25"))
    assert [trial.user_attrs["xstar:sd"] for trial in stored().trials] == [0.25] * 2


def test_going_on(ok, define, stored):
    define(run="budget = 3", method="random")
    ok("run", "study.toml", *ECHO)
    again = ok("run", "study.toml", *shell("touch again; echo 1"))
    assert states(stored()) == ["done"] * 3
    assert not Path("again").exists(), "there was nothing to do"
    assert "the study has its 3 trials" in again.err
    assert "value there:" in again.out
    ok("run", "study.toml", "--budget", "5", *ECHO)
    assert states(stored()) == ["done"] * 5


def test_what_was_told_by_hand_counts(ok, define, stored):
    define(method="random")
    ok("tell", "study.toml", "x=0.5", "1")
    ok("fail", "study.toml", "x=0.6")
    ok("ask", "study.toml")
    ok("run", "study.toml", "--budget", "5", *ECHO)
    assert states(stored()) == ["done", "failed", "running", "done", "done"]


def test_only_failures_are_no_success(cli, define, stored):
    answer = cli("run", define(method="random"), "--budget", "3", "--", "false")
    assert (answer.code, answer.out) == (1, "")
    assert states(stored()) == ["failed"] * 3


def test_several_programs_at_once(ok, define, stored, folder):
    """Each waits until another one runs, so that one at a time would fail."""
    two = "test $(ls begun.* | wc -l) -ge 2 && echo {x} && exit"
    wait = f"touch begun.{{trial}}; for _ in $(seq 12000); do {two}; sleep 0.1; done; exit 1"
    ok("run", define(method="random"), "--budget", "5", "--workers", "2", *shell(wait))
    assert states(stored()) == ["done"] * 5


def test_no_more_than_so_many_at_once(ok, define, stored):
    crowd = "mkdir in.{trial}; ls -d in.* | wc -l; sleep 0.15; rmdir in.{trial}"
    ok("run", define(method="random"), "--budget", "6", "--workers", "2", *shell(crowd))
    assert {trial.value for trial in stored().trials} <= {1.0, 2.0}


def test_logs_elsewhere_and_silence(ok, define, folder):
    answer = ok("run", define(method="random"), "--budget", "1", "--logs", "some/where", "--quiet", *ECHO)
    assert (folder / "some" / "where" / "00000" / "stdout.txt").exists()
    assert not (folder / "study.trials").exists()
    assert answer.err == ""
    assert "value there:" in answer.out


def test_logs_are_beside_the_definition(ok, define, folder):
    (folder / "deep").mkdir()
    ok("run", define("deep/study.toml", method="random", storage=f"sqlite:///{folder}/top.db"), "--budget", "1", *ECHO)
    assert (folder / "deep" / "study.trials" / "00000").is_dir()


def test_a_journal(ok, define):
    """It has no heartbeats."""
    ok("run", define(method="random", storage="study.log"), "--budget", "3", *ECHO)
    assert ok("status", "study.log", "--json").json["trials"] == {"done": 3}


# Why it stops


def test_failures_in_a_row(cli, define, stored):
    define(run="budget = 50\nmax_failures = 3", method="random")
    answer = cli("run", "study.toml", *shell("test {trial} -eq 1 && echo 1"))
    assert answer.code == 1
    assert states(stored()) == ["failed", "done", "failed", "failed", "failed"]
    assert "stopped after 3 failures in a row; the logs are in study.trials\n" in answer.err
    assert "value there:" in answer.out, "what is known so far"


def test_tolerance(ok, define, stored):
    define(noise=0.0)
    answer = ok("run", "study.toml", "--budget", "30", "--tolerance", "0.05", *ECHO)
    assert 3 <= len(stored().trials) < 30
    assert "with 95 % probability no more than 0.05 is left to gain" in answer.err
    assert ok("where", "study.toml", "--json").json["left_to_gain"]["95%"] <= 0.05


def test_an_exhausted_space(ok, cli, define, stored):
    define(parameters='c = ["a", "b"]\nk = { low = 1, high = 2 }', noise=0.0)
    for _ in range(2):
        answer = ok("run", "study.toml", "--budget", "50", *shell("echo {k}"))
        assert "every point of the space has been evaluated" in answer.err
    trials = stored().trials
    assert sorted((trial.params["c"], trial.params["k"]) for trial in trials) == [
        ("a", 1),
        ("a", 2),
        ("b", 1),
        ("b", 2),
    ]
    assert cli("ask", "study.toml").code == 1


def test_a_trial_that_another_worker_has_given_up(ok, define, folder, stored):
    """Its result comes too late: what the other has said stands, and the run goes on."""
    (folder / "meddle.py").write_text(
        "import sqlite3\n"
        "with sqlite3.connect('study.db') as connection:\n"
        "    connection.execute(\"UPDATE trials SET state = 'FAIL' WHERE number = 0\")\n"
        "print(1)\n"
    )
    define(method="random")
    ok("run", "study.toml", "--budget", "3", *shell("test {trial} -eq 0 && python3 meddle.py || echo {x}"))
    assert states(stored()) == ["failed", "done", "done"]


# Signs of life


def test_heartbeats(ok, define, monkeypatch):
    beats, original = [], RDBStorage.record_heartbeat

    def record(self, trial):
        original(self, trial)
        beats.append(trial)
        if beats.count(2) == 2:
            Path("beaten").touch()

    monkeypatch.setattr(RDBStorage, "record_heartbeat", record)
    ok(
        "run",
        define(method="random"),
        "--budget",
        "2",
        "--heartbeat",
        "1",
        *shell("test {trial} -eq 0 || while ! test -e beaten; do sleep 0.05; done; echo {x}"),
    )
    assert beats.count(1) >= 1
    assert beats.count(2) >= 2, "again, after a second"
    with closing(sqlite3.connect("study.db")) as connection:
        assert {row[0] for row in connection.execute("SELECT trial_id FROM trial_heartbeats")} == {1, 2}


def abandoned(study, worker, **attributes):
    """A trial that some worker has begun."""
    trial = study.ask({"x": optuna.distributions.FloatDistribution(0.0, 1.0)})
    trial.set_user_attr(WORKER, worker)
    for name, value in attributes.items():
        trial.set_user_attr(name, value)
    return trial


def test_trials_of_dead_workers_are_begun_again(ok, define, stored, dead):
    ok("tell", define(method="random"), "x=0.5", "1")
    trial = abandoned(stored(), [identity()[0], dead, 1])
    answer = ok("run", "study.toml", "--budget", "3", *ECHO)
    study = stored()
    assert states(study) == ["done", "withdrawn", "done", "done"]
    assert study.trials[2].params == trial.params, "it comes first"
    assert study.trials[2].user_attrs[DEATHS] == [1]
    assert "#1  its worker has died; it will be run again" in answer.err


def test_trials_that_kill_their_workers_are_given_up(ok, define, stored, dead):
    ok("tell", define(method="random"), "x=0.5", "1")
    trial = abandoned(stored(), [identity()[0], dead, 1], **{DEATHS: [7, 8]})
    answer = ok("run", "study.toml", "--budget", "3", *ECHO)
    assert states(stored()) == ["done", "failed", "done"]
    assert trial.params != stored().trials[2].params
    assert "#1  its worker died, 3 times; it counts as a failure\n" in answer.err


def test_the_result_of_a_dead_worker_is_not_lost(ok, define, stored, dead, folder):
    """It had been written down, but the database did not answer any more."""
    ok("tell", define(method="random"), "x=0.5", "1")
    trial = abandoned(stored(), [identity()[0], dead, 1])
    logs = folder / "study.trials" / "00001"
    logs.mkdir(parents=True)
    outcome = {"value": 0.125, "sd": None, "reason": None, "seconds": 1.0, "params": as_json(trial.params)}
    (logs / "outcome.json").write_text(json.dumps(outcome))
    ok("run", "study.toml", "--budget", "3", *ECHO)
    assert states(stored()) == ["done"] * 3
    assert stored().trials[1].value == 0.125


def test_the_result_of_another_study_is_not_taken_for_it(ok, define, stored, dead, folder):
    ok("tell", define(method="random"), "x=0.5", "1")
    abandoned(stored(), [identity()[0], dead, 1])
    logs = folder / "study.trials" / "00001"
    logs.mkdir(parents=True)
    outcome = {"value": 0.125, "sd": None, "reason": None, "seconds": 1.0, "params": '{"x": 0.99}'}
    (logs / "outcome.json").write_text(json.dumps(outcome))
    ok("run", "study.toml", "--budget", "3", *ECHO)
    assert states(stored()) == ["done", "withdrawn", "done", "done"]


def test_only_one_of_two_workers_takes_over_a_dead_one(ok, define, stored, dead, monkeypatch):
    """The second has looked before the first has acted."""
    ok("tell", define(method="random"), "x=0.5", "1")
    abandoned(stored(), [identity()[0], dead, 1])
    opened = open_study("study.toml")
    original = trials.find
    looks = iter([copy.deepcopy(original(opened, 1))])
    assert withdraw(opened, 1, "by one worker")
    monkeypatch.setattr(trials, "find", lambda *arguments: next(looks, None) or original(*arguments))
    assert not withdraw(opened, 1, "by the other")
    assert stored().trials[1].user_attrs[WITHDRAWN] == "by one worker"


def hurry(monkeypatch, **settings):
    """Settings of workers that are not for users."""
    read = RunSettings.read
    monkeypatch.setattr(RunSettings, "read", lambda *args: replace(read(*args), poll_seconds=0.01, **settings))


def test_a_database_that_is_away_for_a_moment_is_waited_for(ok, define, stored, monkeypatch):
    """Nothing is lost, nothing is begun twice, and no program is ended for it."""
    hurry(monkeypatch)
    original, failures = module.tell, []

    def away(*arguments):
        if len(failures) < 3:
            failures.append(1)
            raise sqlalchemy.exc.OperationalError("UPDATE", {}, Exception("server closed the connection"))
        return original(*arguments)

    monkeypatch.setattr(module, "tell", away)
    answer = ok("run", define(method="random"), "--budget", "2", *ECHO)
    assert states(stored()) == ["done"] * 2
    assert answer.err.count("does not answer and is tried again") == 1


def test_a_database_that_stays_away_ends_the_run(cli, define, stored, monkeypatch, dead):
    hurry(monkeypatch, outage_seconds=0.1)

    def away(*_):
        raise sqlalchemy.exc.OperationalError("UPDATE", {}, Exception("server closed the connection"))

    with monkeypatch.context() as patch:
        patch.setattr(module, "tell", away)
        answer = cli("run", define(method="random"), "--budget", "2", *ECHO)
    assert answer.code == 1
    assert "server closed the connection" in answer.err.splitlines()[-1]
    # The next worker, once this one is gone, finds the result in the logs.
    monkeypatch.setattr(module, "is_dead", lambda _: True)
    again = cli("run", "study.toml", "--budget", "2", *ECHO)
    assert again.code == 0
    assert "its result was there" in again.err
    assert states(stored()) == ["done"] * 2


def test_one_request_to_end_is_enough_while_the_disk_is_full(cli, define, monkeypatch):
    hurry(monkeypatch, longest_pause=1e9)

    def full(*_):
        os.kill(os.getpid(), signal.SIGTERM)
        monkeypatch.setattr(module, "tell", still_full)
        still_full()

    def still_full(*_):
        raise optuna.exceptions.StorageInternalError from sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(module, "tell", full)
    answer = cli("run", define(method="random"), "--budget", "2", "--grace", "0.1", *ECHO)
    assert answer.code == 1
    assert "database or disk is full" in answer.err.splitlines()[-1]


def test_files_of_trials_that_cannot_be_written(cli, ok, define, monkeypatch, stored):
    define(method="random")
    write = Path.write_text

    def full(path, *arguments, **settings):
        if path.name == "params.json":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, *arguments, **settings)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        answer = cli("run", "study.toml", "--budget", "2", *ECHO)
    assert answer.code == 2
    assert "the files of trial 0 cannot be written to" in answer.err.splitlines()[-1]
    assert "No space left on device" in answer.err
    assert states(stored()) == ["withdrawn", "waiting"]
    ok("run", "study.toml", "--budget", "2", *ECHO)
    assert states(stored()) == ["withdrawn", "done", "done"]


def test_a_value_is_told_although_the_disk_is_full_by_now(ok, define, monkeypatch, stored):
    write = Path.write_text

    def full(path, *arguments, **settings):
        if path.name == "outcome.json":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, *arguments, **settings)

    monkeypatch.setattr(Path, "write_text", full)
    ok("run", define(method="random"), "--budget", "1", *ECHO)
    assert states(stored()) == ["done"]


def test_a_worker_that_comes_too_late_says_so(ok, define, stored, monkeypatch):
    original = module.tell

    def late(opened, number, *rest):
        if number == 0:
            withdraw(opened, 0, "taken for dead")
        return original(opened, number, *rest)

    monkeypatch.setattr(module, "tell", late)
    answer = ok("run", define(method="random"), "--budget", "2", *ECHO)
    assert "#0  came too late" in answer.err
    assert states(stored()) == ["withdrawn", "done", "done"]


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_the_last_trials_of_other_workers_are_waited_for(ok, define, stored):
    """One of them dies: its trial is begun again, and the study gets all that it shall have."""
    ok("tell", define(method="random", run="budget = 2\nheartbeat = 1"), "x=0.5", "1")
    trial = abandoned(stored(), ["another.machine", 1, 1])
    stored(heartbeat_interval=1)._storage.record_heartbeat(trial._trial_id)
    answer = ok("run", "study.toml", *ECHO)
    assert "waiting for the last evaluations of other workers" in answer.err
    study = stored()
    assert states(study) == ["done", "failed", "done"]
    assert study.trials[2].params == trial.params


@pytest.mark.parametrize("machine", [None, "another.machine"])
def test_trials_of_the_living_and_of_other_machines_go_on(ok, define, stored, machine, dead):
    ok("tell", define(method="random"), "x=0.5", "1")
    living = [identity()[0], os.getppid(), began(os.getppid())]
    abandoned(stored(), living if machine is None else [machine, dead, 1])
    answer = ok("run", "study.toml", "--budget", "3", "--no-wait", *ECHO)
    assert "the last of its 3 trials are run by other workers" in answer.err
    assert states(stored()) == ["done", "running", "done"]


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_trials_without_heartbeats_are_begun_again(ok, define, stored):
    """The worker was on another machine, which is no more."""
    ok("tell", define(method="random"), "x=0.5", "1")
    trial = abandoned(stored(), ["another.machine", 1, 1])
    stored(heartbeat_interval=1)._storage.record_heartbeat(trial._trial_id)
    with closing(sqlite3.connect("study.db")) as connection, connection:
        connection.execute("UPDATE trial_heartbeats SET heartbeat = '2026-01-01 00:00:00'")
    ok("run", "study.toml", "--budget", "3", *ECHO)
    study = stored()
    assert states(study) == ["done", "failed", "done", "done"]
    assert study.trials[2].params == trial.params
    evidence = open_study("study.toml").optimizer().trials
    assert [trial.number for trial in evidence] == [0, 2, 3], "the point is not to blame"


def test_a_worker_that_died_while_it_was_thinking(ok, define, stored, dead):
    """There are no parameters yet, so that the trial is no evaluation: the study gets all that it shall have."""
    ok("tell", define(method="random"), "x=0.5", "1")
    process = subprocess.run(
        [sys.executable, "-c", DIES_THINKING], env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False, timeout=HANG
    )
    assert process.returncode == -signal.SIGKILL
    assert states(stored()) == ["done", "running"]
    ok("run", "study.toml", "--budget", "3", *ECHO)
    assert states(stored()).count("done") == 3


DIES_THINKING = """
import os, signal
from xstar.cli import main
from xstar.integrations.optuna import XstarSampler
XstarSampler.suggest = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
main(["run", "study.toml", "--budget", "3", "--", "echo", "1"])
"""


DIES_BEGINNING = """
import os, signal
from xstar.cli import main, worker
def dies(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
{}
main(["run", "study.toml", "--budget", "3", "--", "echo", "1"])
"""
MOMENTS = {
    "before it runs": "import optuna.storages as s; s.RDBStorage.set_trial_state_values = dies",
    "as it runs": "import optuna; optuna.Trial.__init__ = dies",
    "before it is claimed": "worker._OwnClaim.take = dies",
}


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("waiting", [False, True], ids=["a new trial", "one that waits"])
@pytest.mark.parametrize("journal", [False, True], ids=["sqlite", "journal"])
def test_a_worker_that_died_while_it_began_a_trial(ok, define, moment, waiting, journal):
    """Whatever the moment, no trial runs for ever: the study gets all that it shall have, also what was enqueued."""
    ok("tell", define(method="random", storage="study.log" if journal else "study.db"), "x=0.5", "1")
    if waiting:
        open_study("study.toml").study.enqueue_trial({"x": 0.125})
    dies = MOMENTS[moment].replace("RDBStorage", "JournalStorage" if journal else "RDBStorage")
    script = DIES_BEGINNING.replace("{}", dies)
    process = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False, timeout=HANG
    )
    assert process.returncode == -signal.SIGKILL
    ok("run", "study.toml", "--budget", "3", *ECHO)
    found = open_study("study.toml").study
    assert states(found).count("done") == 3
    assert "running" not in states(found)
    assert not waiting or 0.125 in [trial.params.get("x") for trial in found.trials if trial.value is not None]


def test_the_loser_of_a_trial_that_two_were_about_to_take_may_die(dead):
    alive, gone = identity(), [identity()[0], dead, 1]

    def orphaned(worker, *takers):
        attributes = {} if worker == () else {WORKER: worker}
        attributes.update({f"{trials.TAKER}:{k}": taker for k, taker in enumerate(takers)})
        return module._is_orphaned(optuna.create_trial(state=TrialState.RUNNING, user_attrs=attributes))

    assert not orphaned(())
    assert orphaned(gone)
    assert orphaned((), gone)
    assert orphaned(gone, gone, alive), "it has said its name after it won"
    assert not orphaned((), gone, alive)
    assert not orphaned(alive, gone)
    assert not orphaned(None, gone), "a person evaluates it"


def test_what_a_person_asks_for_is_nobody_elses(ok, define, stored, dead):
    """Also if a worker had begun it that is dead now."""
    ok("tell", define(method="random"), "x=0.5", "1")
    stored().enqueue_trial({"x": 0.25}, user_attrs={WORKER: [identity()[0], dead, 1]})
    ok("ask", "study.toml")
    ok("run", "study.toml", "--budget", "3", *ECHO)
    assert states(stored()) == ["done", "running", "done"]


def test_an_error_of_our_own_leaves_no_program_behind(cli, define, monkeypatch, ended):
    """Whatever happens, no program outlives its worker."""

    def broken(*_):
        raise RuntimeError("out of order")

    monkeypatch.setattr(module, "tell", broken)
    first, second = "while ! test -e pid; do sleep 0.05; done; echo 1", "echo $$ > pid; exec sleep 3600"
    with pytest.raises(RuntimeError, match="out of order"):
        cli(
            "run", define(method="random"), "--budget", "5", "--workers", "2",
            *shell(f"if test {{trial}} -eq 0; then {first}; else {second}; fi"),
        )  # fmt: skip
    assert ended()


def test_nothing_is_begun_after_an_interruption(cli, define, monkeypatch, stored):
    """It came while the next point was being looked for."""
    original = module.begin

    def interrupted(*arguments, **more):
        begun = original(*arguments, **more)
        os.kill(os.getpid(), signal.SIGINT)
        return begun

    monkeypatch.setattr(module, "begin", interrupted)
    answer = cli("run", define(method="random"), "--budget", "3", "--grace", "0.2", *shell("touch begun; sleep 3600"))
    assert answer.code == 130
    assert "running" not in states(stored())
    assert not Path("begun").exists()


def test_a_file_that_may_not_be_written_to_is_not_waited_for(cli, ok, define, stored, monkeypatch):
    ok("run", define(method="random"), "--budget", "2", *ECHO)

    def refuse(*_, **__):
        raise sqlalchemy.exc.OperationalError("UPDATE", {}, Exception("attempt to write a readonly database"))

    monkeypatch.setattr(RDBStorage, "set_trial_state_values", refuse)
    answer = cli("run", "study.toml", "--budget", "3", *ECHO)
    assert answer.code == 1
    assert "the study cannot be written to: attempt to write a readonly database." in answer.err
    assert states(stored()) == ["done", "done", "waiting"]


# Signals, in processes of their own. The programs send them to their worker.


def interrupting(how, then="sleep 3600", at=1):
    """A program that sends a signal to its worker in one trial."""
    return shell(f"test {{trial}} -ne {at} && {{ echo {{x}}; exit; }}; {how}; {then}")


def test_an_interruption(script, ok, define, stored):
    define(run="budget = 4\ngrace = 0.2", method="random")
    answer = script("run", "study.toml", *interrupting("kill -INT $PPID"))
    assert answer.code == 130
    assert "Traceback" not in answer.err
    assert "stopping: 1 running evaluation has 0.2 s to end; Ctrl-C again ends them now\n" in answer.err
    assert "#1  interrupted; it will be run again\ninterrupted; the same command goes on\n" in answer.err
    assert "value there:" in answer.out
    assert states(stored()) == ["done", "withdrawn", "waiting"]
    interrupted = stored().trials[1].params
    ok("run", "study.toml", *ECHO)
    study = stored()
    assert states(study) == ["done", "withdrawn", "done", "done", "done"]
    assert study.trials[2].params == interrupted, "what was interrupted comes first"


def test_an_evaluation_that_ends_in_time_counts(start, define, stored):
    define(run="budget = 4\ngrace = 1200", method="random")
    end = "while ! test -e go; do sleep 0.05; done; echo 7"
    process = start("run", "study.toml", *interrupting("kill -TERM $PPID", end))
    assert any("stopping: 1 running evaluation has 1200 s to end" in line for line in process.stderr)
    Path("go").touch()
    process.communicate(timeout=HANG)
    assert process.returncode == 130, "a request to terminate is an interruption too"
    assert states(stored()) == ["done", "done"]
    assert stored().trials[1].value == 7.0


def test_two_interruptions_end_it_at_once(script, define, stored, ended):
    define(run="budget = 4\ngrace = 600", method="random")
    again = "sleep 3600 & echo $! > pid; while kill -INT $PPID; do sleep 0.3; done"
    assert script("run", "study.toml", *interrupting(again)).code == 130
    assert states(stored()) == ["done", "withdrawn", "waiting"]
    assert ended()


def test_ctrl_c_in_a_terminal_reaches_the_worker_only(start, define, stored):
    """The terminal sends it to the whole group: programs have groups of their own."""
    define(run="budget = 1\ngrace = 600", method="random")
    line = "touch begun; while ! test -e go; do sleep 0.05; done; echo {x}"
    process = start("run", "study.toml", *shell(line), start_new_session=True)
    wait_until(lambda: Path("begun").exists() or process.poll() is not None)
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)
    assert process.stderr.readline().startswith("stopping: ")
    Path("go").touch()
    process.communicate(timeout=HANG)
    assert process.returncode == 130
    assert states(stored()) == ["done"]


def test_a_worker_that_was_killed(script, ok, define, stored):
    define(run="budget = 4", method="random")
    answer = script("run", "study.toml", *interrupting("kill -KILL $PPID", "exit 0"))
    assert answer.code == -signal.SIGKILL
    assert states(stored()) == ["done", "running"]
    killed = stored().trials[1].params
    answer = ok("run", "study.toml", *ECHO)
    assert "#1  its worker has died; it will be run again" in answer.err
    study = stored()
    assert states(study) == ["done", "withdrawn", "done", "done", "done"]
    assert study.trials[2].params == killed


@pytest.mark.skipif(os.name != "posix", reason="process groups")
def test_no_program_outlives_a_worker_that_was_killed(script, define, ended):
    """Neither what it has started itself, nor one that does not heed a request to end."""
    define(run="budget = 4", method="random")
    line = "trap '' TERM; sleep 3600 & echo $! > child; echo $$ > pid; kill -KILL $PPID; sleep 3600; sleep 3600"
    answer = script("run", "study.toml", *shell(line))
    assert answer.code == -signal.SIGKILL
    assert ended("child")
    assert ended("pid")


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_nor_does_one_of_which_the_guardian_was_not_told(script, define, ended, folder, monkeypatch):
    """The worker was killed between beginning the program and saying so."""
    define(run="budget = 4", method="random")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]))
    (folder / "sitecustomize.py").write_text(
        "import xstar.cli.guardian as module\nmodule.Guardian._say = lambda *_: None\n"
    )
    line = "sleep 3600 & echo $! > child; echo $$ > pid; kill -KILL $PPID; sleep 3600"
    assert script("run", "study.toml", *shell(line)).code == -signal.SIGKILL
    assert ended("child")
    assert ended("pid")


def test_two_workers_in_one_file(start, ok, define, stored, folder):
    """Twelve evaluations, no more and no fewer, each once; the first of each worker waits for the other one."""
    define(run="budget = 12", method="random")
    ok("run", "study.toml", "--budget", "1", *ECHO)
    line = "echo run >> ran.{trial}; touch by.$PPID; while test $(ls by.* | wc -l) -lt 2; do sleep 0.05; done; echo {x}"
    runs = [start("run", "study.toml", *shell(line)) for _ in range(2)]
    for process in runs:
        finish(process)
    found = states(stored())
    assert found.count("done") == 12
    assert set(found) <= {"done", "withdrawn"}
    done = [trial for trial in stored().trials if trial.state == TrialState.COMPLETE]
    assert [trial.number for trial in done] == list(range(12))
    assert len({trial.params["x"] for trial in done}) == 12
    assert {path.name: path.read_text() for path in folder.glob("ran.*")} == {f"ran.{k}": "run\n" for k in range(1, 12)}
    assert {tuple(trial.user_attrs[WORKER][:2]) for trial in done[1:]} == {
        (identity()[0], process.pid) for process in runs
    }
