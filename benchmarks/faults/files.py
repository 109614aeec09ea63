"""Full disks and read-only folders: the error names the file, the old file is intact, one request to stop is enough."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

import xstar
from benchmarks.faults import saves, sheets
from benchmarks.faults.counts import Situation
from benchmarks.faults.processes import Child, elsewhere, wait_until, without_privileges
from benchmarks.faults.studies import Study, told
from xstar.cli import main

STOPPING = 30.0
"""Seconds after which a worker that was asked to stop has not heeded it; its programs have 10."""
ROWS = 400
"""Of a spreadsheet that is larger than what a limited process may write, and larger than what it says."""
SMALL = "64k"
"""Of a file system that is soon full."""


def full_disks(tries: int, rng: np.random.Generator, folder: Path) -> list[Situation]:
    """Limits on the size of files, which stand for a full disk; /dev/full; a small file system, if it can be had."""
    found = [
        _devices(folder),
        _save_when("Optimizer.save, files limited", tries, folder, lambda: _limit(int(rng.integers(1, 4000)))),
        _sheet_when("xstar csv, files limited", tries, folder, lambda: _limit(int(rng.integers(1000, 4000)))),
        _run_when_full(tries, rng, folder),
    ]
    small = folder / "small"
    with _mounted(small) as complaint:
        for what, situation in (("Optimizer.save", _save_when), ("xstar csv", _sheet_when)):
            name = f"{what}, file system full"
            if complaint is None:
                place = small / what.split()[-1]
                found.append(situation(name, tries, place, partial(_fill, small)))
                _empty(small)
            else:
                found.append(Situation("disk", name, skipped=complaint))
    return found


def readonly_folders(tries: int, folder: Path) -> list[Situation]:
    """Folders that may be read and not written, by a user who is not root."""
    place = folder / "readonly"
    found = []
    try:
        elsewhere(without_privileges)
    except RuntimeError as error:
        return [Situation("readonly", "a read-only folder", skipped=f"root may write everywhere: {error}")]
    for what, situation in (("Optimizer.save", _save_when), ("xstar csv", _sheet_when), ("xstar run", _run_readonly)):
        inside = place / what.split()[-1]
        found.append(situation(f"{what}, read-only folder", tries, inside, without_privileges, kind="readonly"))
    return found


# Files


def _save_when(what: str, tries: int, place: Path, trouble: Callable[[], None], kind: str = "disk") -> Situation:
    """Save where it cannot go well."""
    found = Situation(kind, what)
    place.mkdir(parents=True, exist_ok=True)
    path = place / "study.json"
    saves.study(1, 5).save(path)
    before = path.read_bytes()
    with _closed(place, kind):
        for _ in range(tries):
            found.tries += 1
            said = elsewhere(partial(_save, path, trouble))
            found.check(said is not None and str(path) in said, f"the error is {said!r}")
            _check_intact(found, path, before)
    return found


def _save(path: Path, trouble: Callable[[], None]) -> str | None:
    """What the error says."""
    larger = saves.study(2, 600)
    trouble()
    try:
        larger.save(path)
    except xstar.XstarError as error:
        return str(error)
    return None


def _sheet_when(what: str, tries: int, place: Path, trouble: Callable[[], None], kind: str = "disk") -> Situation:
    """Ask for rows where none can be written."""
    found = Situation(kind, what)
    place.mkdir(parents=True, exist_ok=True)
    sheet = sheets.begin(place, 0)
    rows = "".join(f"0.{k + 1},0.5,{k}\n" for k in range(ROWS))
    sheet.write_text(f"{sheets.HEADER}\n{rows}", encoding="utf-8")
    before = sheet.read_bytes()

    def ask() -> int:
        trouble()
        return main(["csv", str(sheet)])

    with _closed(place, kind):
        for _ in range(tries):
            found.tries += 1
            with Child(ask) as child:
                code = child.wait()
                text = child.text()
            found.check(code == 2 and "xstar: " in text and str(sheet) in text, f"code {code}: {text[-300:]!r}")
            _check_intact(found, sheet, before)
    return found


def _check_intact(found: Situation, path: Path, before: bytes) -> None:
    found.check(path.read_bytes() == before, f"{path.name} has changed")
    parts = [part.name for part in path.parent.glob(".*.part")]
    found.check(not parts, f"{parts} are left")


# Workers


def _run_when_full(tries: int, rng: np.random.Generator, folder: Path) -> Situation:
    """A disk that is full from some moment on: one request to stop ends the worker, and nothing told is lost."""
    found = Situation("disk", "xstar run, files limited, one SIGTERM")
    if not hasattr(resource, "prlimit"):
        return Situation("disk", found.what, skipped="only Linux limits the files of another process")
    for k in range(tries):
        study, begun = Study.begin(folder / f"full-{k}", "sqlite:///study.db", budget=1000), int(rng.integers(1, 5))
        found.tries += 1
        with Child(study.run) as child:
            well = wait_until(lambda child=child, begun=begun: len(told(child.text())) >= begun or child.ended())  # type: ignore[misc]
            resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (4096, 4096))
            well = well and wait_until(lambda child=child: "tried again" in child.text() or child.ended())  # type: ignore[misc]
            asked = time.monotonic()
            os.kill(child.pid, signal.SIGTERM)
            code = child.wait(STOPPING)
            found.check(
                well and code in (1, 130),
                f"code {code} {time.monotonic() - asked:.0f} s after SIGTERM: {child.text()[-300:]!r}",
            )
            safe = told(child.text())
        values = study.look().values
        found.check(safe.keys() <= values.keys(), f"results {safe.keys() - values.keys()} are lost")
        found.check(not study.alive(), f"programs {study.alive()} go on")
    return found


def _run_readonly(what: str, tries: int, place: Path, trouble: Callable[[], None], kind: str) -> Situation:
    """A study that cannot be written is an error at once, and can be looked at."""
    found = Situation(kind, what)
    study = Study.begin(place, "sqlite:///study.db", budget=3)
    with Child(study.run) as child:
        found.check(child.wait() == 0, child.text()[-300:])

    def more() -> int:
        trouble()
        return main(["run", str(study.definition), "--budget", "5"])

    def status() -> int:
        trouble()
        return main(["status", str(study.definition)])

    before = (place / "study.db").read_bytes()
    with _closed(place, kind):
        for _ in range(tries):
            found.tries += 1
            for work, expected in ((more, 1), (status, 0)):
                with Child(work) as child:
                    code = child.wait()
                    text = child.text()
                found.check(code == expected and "Traceback" not in text, f"code {code}: {text[-300:]!r}")
            found.check((place / "study.db").read_bytes() == before, "study.db has changed")
    return found


# Trouble


def _limit(size: int) -> None:
    """No file of this process grows beyond so many bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def _devices(folder: Path) -> Situation:
    """A device that is always full: root uses one of its own, which may be lost."""
    found, device = Situation("disk", "Optimizer.save, /dev/full"), Path("/dev/full")
    if os.geteuid() == 0:
        device = folder / "full"
        with contextlib.suppress(OSError):
            os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
    if not device.is_char_device():
        return Situation("disk", found.what, skipped="there is no such device, and none can be made")
    found.tries = 1
    said = elsewhere(partial(_save, device, lambda: None))
    found.check(said is not None and str(device) in said, f"the error is {said!r}")
    found.check(device.is_char_device(), "it is no device any more")
    return found


@contextlib.contextmanager
def _mounted(folder: Path) -> Iterator[str | None]:
    """A small file system, or why there is none."""
    folder.mkdir()
    try:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "tmpfs", str(folder)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        complaint = None if done.returncode == 0 else f"a file system cannot be mounted: {done.stderr.strip()}"
    except FileNotFoundError:
        complaint = "there is no program mount"
    try:
        yield complaint
    finally:
        if complaint is None:
            subprocess.run(["umount", str(folder)], check=True)


def _fill(folder: Path) -> None:
    """Leave no room in a file system."""
    with contextlib.suppress(OSError), (folder / "filling").open("ab", buffering=0) as file:
        while True:
            file.write(bytes(512))


def _empty(folder: Path) -> None:
    (folder / "filling").unlink(missing_ok=True)


@contextlib.contextmanager
def _closed(folder: Path, kind: str) -> Iterator[None]:
    """Nobody writes in a folder meanwhile, if that is what it is about."""
    if kind != "readonly":
        yield
        return
    modes = {path: path.stat().st_mode for path in (folder, *folder.rglob("*"))}
    for path, mode in modes.items():
        path.chmod(0o555 if path.is_dir() else 0o444 if mode else mode)
    try:
        yield
    finally:
        for path, mode in modes.items():
            path.chmod(mode & 0o7777)
