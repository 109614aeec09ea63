"""Ends the programs of a worker that has gone without a word.

A worker that is told to stop ends its programs itself. One that is killed (`kill -9`, out of memory) cannot, and what
it has started would go on for nobody. A small process of its own is told the process groups of all programs; when the
pipe to it closes without a word, its worker is gone, and it ends those that are left. A worker may be killed before it
could tell; on Linux such a program is found by a variable in its environment. Not on Windows, where there are no
process groups.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

END_SECONDS = 5.0
"""That programs have to end after they were asked to."""
WATCH = """
import os, signal, sys, time

groups, mark = set(), sys.argv[2].encode()

def find():
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        try:
            if name.isdigit() and mark in open("/proc/" + name + "/environ", "rb").read().split(b"\\0"):
                groups.add(os.getpgid(int(name)))
        except OSError:
            pass

def send(what):
    for group in list(groups):
        try:
            os.killpg(group, what)
        except ProcessLookupError:
            groups.discard(group)
        except OSError:
            pass

for line in iter(sys.stdin.readline, ""):
    if line == "end\\n":
        sys.exit()
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
time.sleep(0.1)  # for a program that is just beginning
find()
send(signal.SIGTERM)
until = time.monotonic() + float(sys.argv[1])
while groups and time.monotonic() < until:
    time.sleep(0.05)
    send(0)
find()
send(signal.SIGKILL)
"""
VARIABLE = "XSTAR_GUARDIAN"
"""In the environment of programs; its value is that of one guardian only."""


class Guardian:
    """A process that ends what is left of a worker's programs; it ends itself with `close`, or with the worker."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self.environment = {VARIABLE: f"{os.getpid()}-{secrets.token_hex(8)}"}
        """For programs, besides their own."""
        if os.name == "posix":
            # A session of its own: what is sent to all processes of a terminal does not reach it.
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", WATCH, str(END_SECONDS),
                 f"{VARIABLE}={self.environment[VARIABLE]}"],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                bufsize=0, start_new_session=True,
            )  # fmt: skip

    @contextmanager
    def watching(self, group: int) -> Iterator[None]:
        """Let the process group of a program be ended if this process goes meanwhile."""
        self._say(f"+{group}\n")
        try:
            yield
        finally:
            self._say(f"-{group}\n")

    def close(self) -> None:
        """End it; it leaves alone what is watched no longer."""
        if self._process is not None and self._process.stdin is not None:
            self._say("end\n")
            with suppress(OSError):
                self._process.stdin.close()
            self._process.wait()

    def _say(self, line: str) -> None:
        # A line is written whole, whichever thread writes it. Without a guardian, programs run all the same.
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError, ValueError):
                self._process.stdin.write(line.encode())
