"""Kills, full disks and databases that go away: few of each here; `python -m benchmarks.faults` has hundreds."""

import json
import os
import signal
import sys
import time

import numpy as np
import pytest

from benchmarks.faults import __main__ as faults
from benchmarks.faults.counts import Counts, moments
from benchmarks.faults.files import without_privileges
from benchmarks.faults.postgresql import NoServer, find_binaries
from benchmarks.faults.processes import CRASHED, Child, elsewhere, is_running, wait_until
from benchmarks.faults.saves import _kill_once, study
from benchmarks.faults.studies import told

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, limits and /proc")
BAD = ("lost", "places_lost", "half_written", "strays", "outlived")


def counted(kinds, kills=2):
    """The rows of a run, none of which is wrong."""
    rows = [each.row() for each in faults.measure(kills, 0, kinds)]
    for row in rows:
        assert row["wrong"] == []
        assert not any(row.get(name) for name in BAD)
    return rows


@pytest.mark.parametrize(("kind", "kills"), [("save", 8), ("csv", 3), ("sqlite", 2)])
def test_nothing_is_lost(kind, kills):
    (row,) = counted([kind], kills)
    assert row["kills"] == kills
    if kind == "sqlite":
        assert row["places"] >= 10


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [["postgresql"], ["database"], ["save", "csv", "sqlite"]])
def test_nothing_is_lost_at_length(kinds):
    try:
        find_binaries()
    except NoServer as reason:
        pytest.skip(str(reason))
    counted(kinds, 30)


def test_full_disks_and_readonly_folders():
    rows = counted(["disk", "readonly"], 1)
    assert {row["kind"] for row in rows} == {"disk", "readonly"}
    assert sum(row["skipped"] is None for row in rows) >= 4


def test_the_command_line(monkeypatch, capsys):
    saved = {}
    monkeypatch.setattr(faults, "save", lambda name, rows, **settings: saved.update(name=name, rows=rows, **settings))
    faults.main(["--kills", "2", "--kinds", "save", "--results", "other"])
    assert (saved["name"], saved["kills"], saved["seed"], saved["kinds"]) == ("other", 2, 0, ["save"])
    assert json.dumps(saved["rows"])
    header, row, *_ = capsys.readouterr().out.splitlines()
    assert header.split()[:2] == ["kind", "kills"]
    assert row.split()[:2] == ["save", "2"]


# The counts count


def test_a_save_that_is_not_atomic_is_noticed(tmp_path, monkeypatch):
    from xstar.files import study as files

    def slowly(path, text):
        with path.open("w") as file:
            for k in range(0, len(text), 1000):
                file.write(text[k : k + 1000])
                file.flush()
                time.sleep(0.005)

    monkeypatch.setattr(files, "write_text", slowly)
    counts = Counts("save")
    _kill_once(counts, 0.03, tmp_path / "study.json", None)
    assert counts.half_written == 1
    assert counts.lost == 1
    assert "kill 1" in counts.wrong[0]


def test_moments_are_spread_over_all_of_a_duration():
    drawn = moments(50, 2.0, np.random.default_rng(0))
    for _ in range(2):
        some = sorted(next(drawn) for _ in range(50))
        assert all(k * 0.04 <= moment <= (k + 1) * 0.04 for k, moment in enumerate(some))


def test_what_a_run_says_it_has_told():
    text = (
        "note: x\n3/12  #2  x=0.05, y=0.1  ->  0.05179  (0.04 s)\n#4  its worker has died\n4/12  #5  ->  failed: no\n"
    )
    assert told(text) == {2: 0.05179}


# Processes


def test_a_child_is_killed_and_its_words_are_kept():
    def speak():
        sys.stderr.write("hello\n")
        sys.stderr.flush()
        time.sleep(3600)

    with Child(speak) as child:
        assert wait_until(lambda: child.text() == "hello\n")
        assert os.getsid(child.pid) == child.pid
        assert child.kill()
        assert child.wait() == -signal.SIGKILL
        assert not child.kill()
    assert not is_running(child.pid)


def test_the_ways_a_child_may_end():
    def fail():
        raise ValueError("out of order")

    for work, code in ((lambda: 3, 3), (lambda: None, 0), (lambda: sys.exit(2), 2), (fail, CRASHED)):
        with Child(work) as child:
            assert child.wait() == code
            assert code != CRASHED or "out of order" in child.text()


def test_elsewhere():
    assert elsewhere(os.getpid) != os.getpid()
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        elsewhere(lambda: 1 / 0)


def test_root_obeys_modes_without_privileges(tmp_path):
    tmp_path.chmod(0o555)

    def write():
        without_privileges()
        try:
            (tmp_path / "file").touch()
        except PermissionError:
            return "refused"
        return "written"

    try:
        assert elsewhere(write) == "refused"
    finally:
        tmp_path.chmod(0o755)


def test_a_study_tells_to_which_kill_it_belongs():
    values = [trial.value for trial in study(7, 3).trials]
    assert values == [7.0, 7.0001, 7.0002]
