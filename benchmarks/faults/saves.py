"""Killed while it saves: the file is the study that was saved last, or the one that was being written."""

from __future__ import annotations

import os
import struct
from functools import partial
from pathlib import Path

import numpy as np

import xstar
from benchmarks.faults.counts import Counts, moments
from benchmarks.faults.processes import Child

SECONDS = 0.12
"""A dozen saves or so."""
TRIALS = 100
"""That the study has at first."""
Content = tuple[float, int]
"""The number of the kill, which is the first value of the study, and how many trials it has."""

DAMAGED = (-1.0, 0)
"""What is in a file that cannot be read."""


def kill_saves(count: int, rng: np.random.Generator, folder: Path) -> Counts:
    """Kill processes that save a study after every result."""
    path = folder / "study.json"
    counts, before = Counts("save", seconds=SECONDS), None
    for moment in moments(count, SECONDS, rng):
        if counts.kills == count:
            return counts
        before = _kill_once(counts, moment, path, before)
    return counts


def study(kill: int, trials: int) -> xstar.Optimizer:
    """One whose first value says to which kill it belongs."""
    optimizer = xstar.Optimizer([(0.0, 1.0), (0.0, 1.0)], method="random")
    for number in range(trials):
        optimizer.tell([number / 1e4, 0.5], kill + number / 1e4)
    return optimizer


def _kill_once(counts: Counts, moment: float, path: Path, before: Content | None) -> Content:
    counts.kills += 1
    reading, writing = os.pipe()
    optimizer = study(counts.kills, TRIALS)
    with Child(partial(_save, optimizer, counts.kills, path, writing)) as child:
        os.close(writing)
        child.kill_after(moment)
        with os.fdopen(reading, "rb") as pipe:
            told = pipe.read()
    acknowledged = struct.unpack(f"{len(told) // 4}i", told)
    counts.acknowledged += len(acknowledged)
    expected: list[Content | None]
    if acknowledged:
        expected = [(counts.kills, acknowledged[-1]), (counts.kills, acknowledged[-1] + 1)]
    else:
        expected = [before, (counts.kills, TRIALS)]
    found: Content | None = None
    try:
        found = _content(path)
    except xstar.XstarError as error:
        found = DAMAGED
        counts.count("half_written", 1, str(error))
    counts.count("lost", found not in expected, f"the file has {found}; {expected} would be right")
    optimizer.save(path)
    strays = list(path.parent.glob(".*.part"))
    counts.count("strays", len(strays), f"{strays} are left")
    return _content(path) or (0.0, 0)


def _save(optimizer: xstar.Optimizer, kill: int, path: Path, told: int) -> None:
    """Save, tell, and save again, until killed."""
    number = TRIALS
    while True:
        optimizer.save(path)
        os.write(told, struct.pack("i", number))
        optimizer.tell([number / 1e4, 0.5], kill + number / 1e4)
        number += 1


def _content(path: Path) -> Content | None:
    """What is in a file; values that are not those told are as bad as a file that cannot be read."""
    if not path.exists():
        return None
    trials = xstar.Optimizer.load(path).trials
    kill = trials[0].value or 0.0
    if any(trial.value != kill + trial.number / 1e4 for trial in trials):
        raise xstar.XstarError(f"{path} has values that nobody told")
    return kill, len(trials)
