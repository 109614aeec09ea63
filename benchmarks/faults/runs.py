"""Workers of `xstar run` killed: nothing told is lost, every place of the budget is filled, no program goes on."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from benchmarks.faults.counts import Counts, moments
from benchmarks.faults.processes import Child, wait_until
from benchmarks.faults.studies import Found, Study, told

KILLS = 2
"""Of the workers of one study: the first makes it, the second goes on with it. A third ends it."""
ENDING = 60.0
"""Seconds after which a program that still runs has outlived its worker."""


def kill_runs(kind: str, storage: str, count: int, rng: np.random.Generator, folder: Path) -> Counts:
    """Kill workers of studies in a storage."""
    counts = Counts(kind, seconds=_duration(storage, folder / f"{kind}-whole"))
    spread = [moments(-(-count // KILLS), counts.seconds, rng) for _ in range(KILLS)]
    studies = 0
    while counts.kills < count:
        studies += 1
        study = Study.begin(folder / f"{kind}-{studies}", storage)
        safe: dict[int, float] = {}
        for moment in [next(each) for each in spread][: count - counts.kills]:
            if not _kill_once(counts, study, moment, safe):
                break
        _finish(counts, study, safe)
    return counts


def _duration(storage: str, folder: Path) -> float:
    """Seconds of a run that nobody kills."""
    study, began = Study.begin(folder, storage), time.monotonic()
    with Child(study.run) as child:
        if child.wait() != 0:
            raise RuntimeError(child.text())
    return time.monotonic() - began


def _kill_once(counts: Counts, study: Study, moment: float, safe: dict[int, float]) -> bool:
    """Kill one worker and note what must be there from now on; whether it had not ended before."""
    hang = study.definition.with_name("hang")
    with Child(study.run) as child:
        time.sleep(moment)
        hang.touch()
        if not child.kill():
            hang.unlink()
            return False
        counts.kills += 1
        ended = wait_until(lambda: not study.alive(), ENDING)
        counts.count("outlived", len(study.alive()), f"programs run {ENDING:g} s later, {study.folder.name}")
        if not ended:
            _end(study)
        hang.unlink()
        acknowledged = told(child.text())
    counts.acknowledged += len(acknowledged.keys() - safe.keys())
    safe.update({number: value for number, value in acknowledged.items() if number not in safe})
    counts.count("half_written", not study.is_sound(), f"the file of {study.folder.name} is damaged")
    found = study.look() if study.exists() else Found({}, True, 0, 0)
    _compare(counts, study, safe, found)
    safe.update(found.values)
    return True


def _compare(counts: Counts, study: Study, safe: dict[int, float], found: Found) -> None:
    """Whether what is safe is in the study; results are printed in six digits."""
    lost = [k for k, value in safe.items() if k not in found.values or abs(found.values[k] - value) > 1e-5 * abs(value)]
    counts.count("lost", len(lost), f"results of trials {lost} of {study.folder.name}")
    counts.count("lost", not found.right, f"values of {study.folder.name} are not what its programs said")


def _finish(counts: Counts, study: Study, safe: dict[int, float]) -> None:
    """Start a worker again: it must end by itself, with all that the study shall have."""
    with Child(study.run) as child:
        code = child.wait()
        if code != 0:
            counts.count("lost", 1, f"a new worker of {study.folder.name} ends with {code}: {child.text()[-500:]}")
        if not study.exists():
            counts.count("places_lost", study.budget, f"{study.folder.name} cannot be opened")
            return
    found = study.look()
    _compare(counts, study, safe, found)
    counts.places += study.budget
    missing = abs(study.budget - found.places)
    counts.count("places_lost", missing, f"{study.folder.name} has {found.places} of {study.budget} evaluations")
    counts.count("places_lost", found.running, f"{found.running} trials of {study.folder.name} run for ever")
    parts = [str(path) for path in study.folder.rglob("*.part")]
    counts.count("strays", len(parts), f"{parts} are left")


def _end(study: Study) -> None:
    import os
    import signal

    for pid in study.alive():
        os.kill(pid, signal.SIGKILL)
