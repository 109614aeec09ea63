"""What is wrong with the cells of a table, collected, so that one run names all of it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import TracebackType

from xstar.errors import DataError, XstarError
from xstar.files.titles import NoColumnError

MOST = 20
"""How many are named; of the others, how many there are."""


@dataclass
class Problems:
    """What has been found so far."""

    _found: list[str] = field(default_factory=list)

    def at(self, place: str) -> AbstractContextManager[None, bool]:
        """Collect what is complained about, with the place where it is."""
        return _Place(place, self._found)

    def complain(self) -> None:
        """Raise one error about everything that was found, if anything was."""
        if not self._found:
            return
        if len(self._found) == 1:
            raise DataError(self._found[0])
        more = len(self._found) - MOST
        lines = [*self._found[:MOST], *([f"and {more} more."] if more > 0 else [])]
        raise DataError(
            "\n  ".join([f"{len(self._found)} cells cannot be read, and nothing was taken from the others:", *lines])
        )


@dataclass(frozen=True)
class _Place(AbstractContextManager[None, bool]):
    """Takes what is complained about inside."""

    place: str
    found: list[str]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, XstarError):
            return False
        known = isinstance(error, NoColumnError) and any(line.endswith(f": {error}") for line in self.found)
        if not known:
            self.found.append(f"{self.place}: {error}")
        return True
