"""Count what is left after kills, full disks and databases that go away.

python -m benchmarks.faults [--kills 500] [--seed 0] [--kinds save csv sqlite postgresql disk readonly database]
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import optuna  # noqa: F401  (what every process would import)

import xstar.cli.commands.recommend
import xstar.cli.worker  # noqa: F401
from benchmarks.faults import files, outages, runs
from benchmarks.faults.counts import Counts, Situation
from benchmarks.faults.postgresql import NoServer, Server, serving
from benchmarks.faults.saves import kill_saves
from benchmarks.faults.sheets import kill_sheets
from benchmarks.measure import save

KILLED = ("save", "csv", "sqlite", "postgresql")
KINDS = (*KILLED, "disk", "readonly", "database")
PER_TRY = 100
"""A situation is tried once for so many kills, and at least once."""
HEAD = ("kind", "kills", "acknowledged", "lost", "places", "places_lost", "half_written", "strays", "outlived")


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the command line says, print the table, write the results."""
    parser = argparse.ArgumentParser("python -m benchmarks.faults", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--kills", type=int, default=500, help="in all, shared by the kinds that are killed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--results", default="faults", metavar="NAME", help="of the results file")
    options = parser.parse_args(arguments)
    began = time.monotonic()
    rows = [row.row() for row in measure(options.kills, options.seed, options.kinds)]
    seconds = time.monotonic() - began
    print(f"{seconds:.0f} s")
    print(f"written: {save(options.results, rows, seconds=round(seconds), **_settings(options))}")


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    return {name: value for name, value in vars(options).items() if name != "results"}


def measure(kills: int, seed: int, kinds: Sequence[str]) -> Iterator[Counts | Situation]:
    """What each kind has done, printed as it comes."""
    killed = [kind for kind in KILLED if kind in kinds]
    tries = max(kills // PER_TRY, 1)
    if killed:
        print("  ".join(f"{name.replace('_', ' '):>12s}" for name in HEAD))
    with tempfile.TemporaryDirectory(prefix="xstar-faults-") as name, _server(kinds) as server:
        folder = Path(name)
        for k, kind in enumerate(killed):
            share = kills // len(killed) + (k < kills % len(killed))
            counts = _kill(kind, share, np.random.default_rng([seed, k]), folder, server)
            cells = counts.row()
            print("  ".join(f"{cells[key]!s:>12s}" for key in HEAD), *counts.wrong, sep="\n  ", flush=True)
            yield counts
        for situation in _situations(kinds, tries, np.random.default_rng([seed, len(KINDS)]), folder, server):
            said = f"skipped, {situation.skipped}" if situation.skipped else f"{len(situation.wrong)} wrong"
            print(f"{situation.what}: {situation.tries} tries, {said}", *situation.wrong, sep="\n  ", flush=True)
            yield situation


def _kill(kind: str, share: int, rng: np.random.Generator, folder: Path, server: Server | str) -> Counts:
    if kind in ("save", "csv"):
        place = folder / kind
        place.mkdir()
        kill = kill_saves if kind == "save" else kill_sheets
        return kill(share, rng, place)
    if kind == "sqlite":
        return runs.kill_runs(kind, "sqlite:///study.db", share, rng, folder)
    if isinstance(server, str):
        return Counts(kind, wrong=[f"skipped: {server}"])
    return runs.kill_runs(kind, server.url, share, rng, folder)


def _situations(
    kinds: Sequence[str], tries: int, rng: np.random.Generator, folder: Path, server: Server | str
) -> Iterator[Situation]:
    if "disk" in kinds:
        yield from files.full_disks(tries, rng, folder)
    if "readonly" in kinds:
        yield from files.readonly_folders(tries, folder)
    if "database" in kinds:
        yield outages.locked_files(tries, rng, folder)
        if isinstance(server, str):
            yield Situation("database", "xstar run, server stopped and started", skipped=server)
        else:
            yield outages.stopped_servers(tries, rng, folder, server)


@contextlib.contextmanager
def _server(kinds: Sequence[str]) -> Iterator[Server | str]:
    """A PostgreSQL server if it is needed, or why there is none."""
    if not {"postgresql", "database"} & set(kinds):
        yield "it is not needed"
        return
    with contextlib.ExitStack() as stack:
        try:
            found: Server | str = stack.enter_context(serving())
        except NoServer as error:
            found = str(error)
        yield found


if __name__ == "__main__":
    main()
