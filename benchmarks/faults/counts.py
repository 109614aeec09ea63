"""What is counted, and the moments at which processes are killed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np


@dataclass
class Counts:
    """What kills have done; all but `kills`, `acknowledged` and `places` should be 0."""

    kind: str
    kills: int = 0
    acknowledged: int = 0
    """Results and files of which somebody was told that they are safe."""
    lost: int = 0
    """Those that were not there afterwards."""
    places: int = 0
    """Of budgets, which workers that are started again have to fill."""
    places_lost: int = 0
    half_written: int = 0
    """Files that cannot be read."""
    strays: int = 0
    """Parts of files that are left after the next save."""
    outlived: int = 0
    """Programs that go on without their worker."""
    seconds: float = 0.0
    """Over which the moments are spread."""
    wrong: list[str] = field(default_factory=list)
    """What has happened that should not, with the number of the kill."""

    def count(self, name: str, times: int, what: str) -> None:
        """Count what should not happen."""
        if times:
            setattr(self, name, getattr(self, name) + times)
            self.wrong.append(f"kill {self.kills}: {what}")

    def row(self) -> dict[str, Any]:
        """For the results file."""
        return asdict(self)


@dataclass
class Situation:
    """What has come of something that the world outside does."""

    kind: str
    what: str
    tries: int = 0
    wrong: list[str] = field(default_factory=list)
    skipped: str | None = None
    """Why it could not be tried."""

    def check(self, well: bool, complaint: str) -> None:
        """Note what should not have happened."""
        if not well:
            self.wrong.append(complaint)

    def row(self) -> dict[str, Any]:
        """For the results file."""
        return asdict(self)


def moments(count: int, seconds: float, rng: np.random.Generator) -> Iterator[float]:
    """Moments of a duration, evenly spread and in random order; more of them if more are asked for."""
    while True:
        yield from (rng.permutation(count) + rng.random(count)) * seconds / count
