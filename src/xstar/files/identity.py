"""Which process on which machine, so that one can tell whether another is still there."""

from __future__ import annotations

import os
import socket
from pathlib import Path


def identity() -> list[str | int]:
    """Return the machine, this process and when it began; containers and restarts are machines of their own."""
    return [_machine(), os.getpid(), began(os.getpid())]


def is_dead(worker: object) -> bool:
    """Return whether a process of this machine is gone for sure; of others nothing is known."""
    if not isinstance(worker, list | tuple) or len(worker) != 3:
        return False
    machine, process, start = worker
    return machine == _machine() and isinstance(process, int) and is_gone(process, start)


def is_gone(process: int, start: object) -> bool:
    """Return whether a process of this machine, which began at `start`, is gone for sure."""
    if os.name != "posix":
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    # Another process may have got its number.
    return bool(start) and began(process) != start


def _machine() -> str:
    """The host's name, the run of its kernel, and the space of process numbers."""
    try:
        kernel = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        numbers = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        kernel, numbers = "", ""
    return " ".join([socket.gethostname(), kernel, numbers]).strip()


def began(process: int) -> int:
    """Return when a process began, in ticks of its kernel; 0 where that cannot be known."""
    try:
        # The name of the program stands in brackets and may have spaces.
        after = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
        return int(after.split()[19])
    except (OSError, ValueError, IndexError):
        return 0
