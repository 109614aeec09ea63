"""Files that are written whole or not at all, whatever stands in their place and whatever happens meanwhile."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import xstar
from tests.waiting import HANG
from xstar.errors import FileError
from xstar.files.atomic import STRAY_SECONDS, write_text

DEVICES = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs devices of Linux")
KILLED = """
import os, signal, sys
from pathlib import Path
from xstar.files.atomic import write_text
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
write_text(Path(sys.argv[1]), "new")
"""


def parts(folder):
    return [path for path in folder.iterdir() if path.suffix == ".part"]


@DEVICES
def test_a_device_stays_one():
    opt = xstar.Optimizer([(0.0, 1.0)])
    opt.save("/dev/null")
    assert Path("/dev/null").is_char_device()


def test_a_pipe_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        write_text(pipe, "text")
        assert reader.communicate(timeout=HANG)[0] == b"text"
    assert pipe.is_fifo()


def test_a_folder_stays_one(tmp_path):
    with pytest.raises(FileError, match="is a folder; name a file in it"):
        write_text(tmp_path, "text")
    assert list(tmp_path.iterdir()) == []


@DEVICES
def test_a_device_that_is_full():
    with pytest.raises(FileError, match=r"'/dev/full' cannot be written: No space left on device\.$"):
        write_text(Path("/dev/full"), "text")


@pytest.mark.parametrize("there", [False, True])
def test_a_full_disk_is_named_and_the_old_file_intact(tmp_path, monkeypatch, there):
    path = tmp_path / "study.json"
    if there:
        path.write_text("old")

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError) as caught:
        write_text(path, "new")
    assert str(caught.value) == (
        f"{str(path)!r} cannot be written: No space left on device.{' What it held before is intact.' if there else ''}"
    )
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"] * there


def test_what_a_killed_process_has_left_is_removed(tmp_path):
    path = tmp_path / "study.json"
    path.write_text("old")
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False, timeout=HANG)
    assert ended.returncode == -signal.SIGKILL
    assert path.read_text() == "old"
    assert len(parts(tmp_path)) == 1
    write_text(tmp_path / "other.json", "another")
    assert len(parts(tmp_path)) == 1, "of another file"
    write_text(path, "new")
    assert path.read_text() == "new"
    assert parts(tmp_path) == []


def test_what_others_are_writing_is_left_alone(tmp_path):
    """Of a process that is there, of another machine, and of an older version; unless nobody writes any more."""
    path = tmp_path / "study.json"
    ours = xstar.files.atomic._own_mark()
    kept = [tmp_path / f".study.json.{mark}part" for mark in (f"{ours}.abc.", "0-1-1.abc.", "abcdefgh.")]
    for part in kept:
        part.touch()
    write_text(path, "new")
    assert all(part.exists() for part in kept)
    for part in kept:
        long_ago = time.time() - STRAY_SECONDS - 1.0
        os.utime(part, (long_ago, long_ago))
    write_text(path, "newer")
    assert parts(tmp_path) == kept[:1]


def test_names_may_be_as_long_as_the_system_allows(tmp_path):
    path = tmp_path / ("x" * 250)
    write_text(path, "text")
    assert path.read_text() == "text"


def test_a_run_goes_on_when_its_file_cannot_be_written_any_more(tmp_path, monkeypatch):
    path = tmp_path / "study.json"

    def function(x):
        monkeypatch.setattr(os, "fsync", full)
        return x[0]

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.warns(UserWarning, match="the run goes on, but it could not be saved: .* is intact") as caught:
        result = xstar.maximize(function, [(0.0, 1.0)], 4, method="random", save=path)
    assert len(caught) == 1
    assert result.nfev == 4
    assert xstar.Optimizer.load(path).trials == ()
