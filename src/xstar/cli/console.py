"""What a command says: answers on standard output, as text or JSON; everything else on standard error."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from xstar.cli.progress import SignOfLife
from xstar.errors import XstarError
from xstar.files.json_data import as_json_data
from xstar.files.letters import visible


class StorageLost(XstarError):
    """The database of a study has gone away in the middle of a run."""


class Console:
    """Where answers and remarks go."""

    def __init__(self, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self._noted: set[str] = set()
        self._sign: SignOfLife | None = None
        for stream in (sys.stdout, sys.stderr):
            # Where a terminal lacks a letter, an escape is better than an error.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")

    def answer(self, text: str, data: Any) -> None:
        """Write the answer of a command, in words or as JSON."""
        shown = json.dumps(as_json_data(data), ensure_ascii=False, indent=1) if self.as_json else text
        self.hand_over(visible(shown))

    def hand_over(self, text: str) -> None:
        """Write what is for programs, exactly."""
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def remark(self, text: str) -> None:
        """Say what goes on meanwhile."""
        if not self.quiet:
            self._say(text)

    def note(self, text: str) -> None:
        """Make a remark once."""
        if text not in self._noted:
            self._noted.add(text)
            self.remark(f"note: {text}")

    @contextmanager
    def working(self, says: str) -> Iterator[None]:
        """Say on a terminal what is being done, if that takes a while; programs are told nothing."""
        if self.as_json or self.quiet:
            yield
            return
        self._sign = SignOfLife(says)
        try:
            with self._sign.shown():
                yield
        finally:
            self._sign = None

    def complain(self, text: str) -> None:
        """Say what went wrong, in one line; a list, whose lines begin with two spaces, stays one."""
        self._say("xstar: " + "\n  ".join(" ".join(line.split()) for line in text.split("\n  ")))

    def _say(self, text: str) -> None:
        if self._sign is not None:
            self._sign.hide()
        # A terminal that is gone, or a pipe that nobody reads, must not end a run.
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(visible(text) + "\n")
            sys.stderr.flush()
