"""Databases that go away and return: workers wait for them, and the study gets all that it shall have."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np

from benchmarks.faults.counts import Situation
from benchmarks.faults.postgresql import Server
from benchmarks.faults.processes import Child
from benchmarks.faults.studies import Study, told

AWAY = 3.0
"""Seconds that a database is away, at most."""


def stopped_servers(tries: int, rng: np.random.Generator, folder: Path, server: Server) -> Situation:
    """A PostgreSQL server that stops as in a crash, and is started again."""
    found = Situation("database", "xstar run, server stopped and started")

    def away(_: Study, seconds: float) -> None:
        server.stop()
        time.sleep(seconds)
        server.start()

    for k in range(tries):
        _survive(found, Study.begin(folder / f"stopped-{k}", server.url), rng, away)
    return found


def locked_files(tries: int, rng: np.random.Generator, folder: Path) -> Situation:
    """A SQLite file that another process keeps to itself."""
    found = Situation("database", "xstar run, file locked")

    def away(study: Study, seconds: float) -> None:
        with closing(sqlite3.connect(study.folder / "study.db", timeout=60.0)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            time.sleep(seconds)

    for k in range(tries):
        _survive(found, Study.begin(folder / f"locked-{k}", "sqlite:///study.db"), rng, away)
    return found


def _survive(found: Situation, study: Study, rng: np.random.Generator, away: Callable[[Study, float], None]) -> None:
    """Take the database away in the middle of a run, which must end as if nothing had been."""
    found.tries += 1
    begun = int(rng.integers(1, study.budget - 2))
    with Child(study.run) as child:
        while len(told(child.text())) < begun and not child.ended():
            time.sleep(0.005)
        away(study, AWAY * rng.random())
        code, text = child.wait(), child.text()
    found.check(code == 0, f"code {code}: {text[-500:]!r}")
    inside = study.look()
    found.check(inside.places == study.budget and not inside.running, f"{inside} for a budget of {study.budget}")
    found.check(inside.right and told(text).keys() <= inside.values.keys(), f"results are lost: {inside}, {text!r}")
