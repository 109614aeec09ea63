"""`xstar csv`: a study that lives in a spreadsheet. What is done to the file is in `xstar.cli.sheet`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from xstar.cli.arguments import add_json
from xstar.cli.console import Console

SUMMARY = "suggest new rows of a spreadsheet"
DETAILS = """

Rows with an empty result are suggestions to run. Fill in their results, or the word failed, and run the command
again. Several outputs have a column each; one of them may stay empty where it was not measured. What else is in the
file stays as it is; a copy of the old file is kept as FILE.bak."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_json(parser)
    parser.add_argument("file", metavar="FILE", help="the CSV file; it is made if it is not there")
    parser.add_argument("--definition", metavar="TOML", help="what the columns mean (FILE with .toml)")
    parser.add_argument("--batch", type=int, default=1, metavar="N", help="how many rows to have open (1)")


def run(options: argparse.Namespace, console: Console) -> int:
    """Read the results in the file, add rows to run, and say what is known so far."""
    from xstar.cli.advice import advice_so_far
    from xstar.cli.in_words import doubts, how_read, lines_of, listed
    from xstar.cli.opening import definition_of
    from xstar.cli.sheet import step
    from xstar.numerics.checks import integer

    path = Path(options.file)
    definition = definition_of(path, options.definition)
    with console.working("choosing rows"):
        progress = step(path, definition, integer(options.batch, "batch", 1))
    data: dict[str, Any] = {
        "added": progress.added, "open": progress.open, "done": progress.done, "failed": progress.failed,
        "exhausted": progress.exhausted, "parameters": how_read(definition.space, definition.whole_by_bounds),
    }  # fmt: skip
    counts = f"{progress.done} done, {progress.failed} failed, {progress.open} to run"
    lines = [f"{path.name}: {counts}, of them {len(progress.added)} new"]
    if progress.backup is not None:
        lines.append(f"the file as it was is in {progress.backup.name}")
    if not progress.added and not progress.exhausted:
        lines.append("enough rows are open already: nothing was added")
    if progress.exhausted:
        lines.append("every point of the space has been tried: there is nothing new to suggest")
    if progress.done:
        found = advice_so_far(progress.optimizer)
        data["recommendation"] = found.data
        lines.append(found.brief)
    if not progress.done and not progress.failed:
        lines.append(f"how parameters are read:\n{lines_of(data['parameters'], ':')}")
    if progress.added:
        lines.append(f"fill in {listed(definition.outputs)} in the new rows and run the same command again")
    console.answer("\n".join(lines), data)
    if not progress.done and not progress.failed:
        for doubt in doubts(definition):
            console.note(doubt)
    return 0
