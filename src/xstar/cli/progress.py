"""A sign of life for what takes a while: on a terminal, on standard error, after two seconds."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SILENT_SECONDS = 2.0
"""What takes less needs no sign."""
PERIOD = 0.5
"""Seconds between two looks at the clock."""


class SignOfLife:
    """Says what is being done and for how long, until it is done."""

    def __init__(self, says: str) -> None:
        self._says = says
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._bar: Any = None
        self._thread = threading.Thread(target=self._show, daemon=True, name="xstar-progress")

    @contextmanager
    def shown(self) -> Iterator[None]:
        """While this is open, the sign appears after a while, if anybody can see it."""
        if not sys.stderr.isatty():
            yield
            return
        self._thread.start()
        try:
            yield
        finally:
            self._over.set()
            self._thread.join()

    def hide(self) -> None:
        """Make room for a line; the sign comes back by itself."""
        with self._lock:
            if self._bar is not None:
                self._bar.clear()

    def _show(self) -> None:
        if self._over.wait(SILENT_SECONDS):
            return
        from tqdm import tqdm

        self._bar = tqdm(desc=self._says, bar_format="{desc} ... {elapsed}", leave=False, file=sys.stderr)
        while not self._over.wait(PERIOD):
            with self._lock:
                self._bar.refresh()
        self._bar.close()
