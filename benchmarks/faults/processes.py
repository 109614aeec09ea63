"""Processes that can be killed at any moment: forked, so that what they import is not paid each time."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

CRASHED = 70
"""The exit code of a process that ended by an exception."""
CAPABILITY_VERSION = 0x20080522
"""Of the sets of capabilities that Linux is given."""
HANG = 600.0
"""Seconds after which something is taken to hang, however busy the machine."""
MOST_SAID = 2**20
"""Bytes of what a process says that are read."""

T = TypeVar("T")


class Child:
    """A fork of this process in a session of its own; what it says can be read meanwhile.

    It is for a `with` block, after which it is gone.
    """

    def __init__(self, work: Callable[[], int | None]) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115
        self._code: int | None = None
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        self.pid = os.fork()
        if self.pid == 0:
            _become(work, self._said.fileno())

    def __enter__(self) -> Child:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()
        self._said.close()

    def kill(self) -> bool:
        """Kill it; whether it was still there."""
        if self.ended():
            return False
        os.kill(self.pid, signal.SIGKILL)
        self._code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._code == -signal.SIGKILL

    def kill_after(self, seconds: float) -> bool:
        """Kill it at a moment; whether it was still there."""
        time.sleep(seconds)
        return self.kill()

    def ended(self) -> bool:
        """Whether it is over."""
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code is not None

    def wait(self, seconds: float = HANG) -> int | None:
        """Its exit code; None if it has not ended in time."""
        return self._code if wait_until(self.ended, seconds) else None

    def text(self) -> str:
        """What it has said so far."""
        return os.pread(self._said.fileno(), MOST_SAID, 0).decode("utf-8", "replace")


def _become(work: Callable[[], int | None], said: int) -> None:
    """Work, and end, as a process of its own would."""
    code: int | None = CRASHED
    try:
        os.setsid()
        os.dup2(said, 1)
        os.dup2(said, 2)
        sys.stdout, sys.stderr = (open(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))  # noqa: SIM115
        code = work()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):
                stream.flush()
        os._exit(code or 0)


def elsewhere(work: Callable[[], T]) -> T:
    """What a function returns in a process of its own, which leaves nothing open in this one."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            result: Any = (True, work())
        except BaseException:
            result = (False, traceback.format_exc())
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(result, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        content = pipe.read()
    os.waitpid(pid, 0)
    went_well, found = pickle.loads(content)
    if not went_well:
        raise RuntimeError(found)
    return found  # type: ignore[no-any-return]


def wait_until(condition: Callable[[], object], seconds: float = HANG) -> bool:
    """Wait for a condition; whether it came true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def without_privileges() -> None:
    """Let even root obey what the mode of a file says, from now on."""
    if os.geteuid() == 0:
        header, nothing = struct.pack("Ii", CAPABILITY_VERSION, 0), bytes(24)
        if ctypes.CDLL(None, use_errno=True).capset(header, nothing) != 0:
            raise OSError(ctypes.get_errno(), "capabilities cannot be dropped")


def is_running(pid: int) -> bool:
    """Whether a process is there; one that nobody has asked about, a zombie, is not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except PermissionError:
        return True
    except OSError:
        return False
