"""`xstar init`: a definition made by asking, or by reading a spreadsheet. The questions are in `interview`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from xstar.cli.arguments import add_json
from xstar.cli.console import Console
from xstar.errors import FileError, SettingsError, XstarError

if TYPE_CHECKING:
    from xstar.files.definition import Definition
    from xstar.files.draft import Draft

SUMMARY = "make a definition by asking, or by reading a spreadsheet"
DETAILS = """

  xstar init                       asks, and writes study.toml
  xstar init plate.csv             reads the columns, asks whether the guesses are right, and writes plate.toml
  xstar init plate.csv --yes       likewise, without asking; comments in the file say what to check"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_json(parser)
    parser.add_argument("file", nargs="?", metavar="FILE", help="a spreadsheet to read, or the definition to write")
    parser.add_argument("-o", "--output", metavar="TOML", help="where to write it (study.toml, or FILE with .toml)")
    parser.add_argument("--result", metavar="COLUMN", help="of a spreadsheet: which column has the values")
    parser.add_argument("--direction", choices=("maximize", "minimize"), help="whether larger values are better")
    parser.add_argument("--yes", action="store_true", help="take all guesses, ask nothing")
    parser.add_argument("--force", action="store_true", help="replace a file that is there already")


def run(options: argparse.Namespace, console: Console) -> int:
    """Write the definition, whole or not at all."""
    from xstar.cli.in_words import how_read, lines_of
    from xstar.files.atomic import write_text

    file = None if options.file is None else Path(options.file)
    sheet = file if file is not None and file.suffix.lower() != ".toml" else None
    target = (
        Path(options.output) if options.output else Path("study.toml") if file is None else file.with_suffix(".toml")
    )
    if target.exists() and not options.force:
        raise SettingsError(f"{str(target)!r} is there already; --force replaces it, -o names another file.")
    asking = sys.stdin.isatty() and not (options.yes or options.json)
    draft = _draft(options, console, sheet, target, asking)
    if draft is None:
        console.remark("nothing was written")
        return 130
    definition = draft.definition(target.stem)
    write_text(target, draft.toml)
    words = how_read(definition.space)
    what = f"to {definition.direction} {definition.result}"
    lines = [f"wrote {target}: {what}; parameters are read as", lines_of(words, ":")]
    lines += [f"not varied: {name} ({why})" for name, why in draft.unused]
    lines.append(_next(sheet, target))
    console.answer("\n".join(lines), {"wrote": str(target), "parameters": words, "not varied": dict(draft.unused)})
    if sheet is not None and sheet.exists():
        _note_what_cannot_be_read(sheet, definition, console)
    return 0


def _draft(
    options: argparse.Namespace, console: Console, sheet: Path | None, target: Path, asking: bool
) -> Draft | None:
    """What was guessed or answered; None if it shall not be written."""
    from dataclasses import replace

    from xstar.cli.interview import Interview
    from xstar.files.guess import guess

    interview = Interview(input, console.remark)
    try:
        if sheet is not None and sheet.exists():
            content = _content(sheet)

            def guessed(result: str | None) -> Draft:
                return guess(content, sheet.name, result)

            draft = guessed(options.result)
            if options.direction:
                draft = replace(draft, direction=options.direction, direction_comment="")
            if not asking:
                return draft
            draft = interview.from_table(draft, guessed)
        elif asking:
            draft = interview.from_nothing()
        else:
            what = f"there is no file {str(sheet)!r} to read" if sheet else "there is no spreadsheet to read"
            raise SettingsError(f"{what}, and nobody to ask: xstar init asks on a terminal, without --yes and --json.")
        draft.definition(target.stem)
        return draft if interview.confirm(draft.toml, str(target)) else None
    except (EOFError, KeyboardInterrupt):
        console.remark("")
        return None


def _content(sheet: Path) -> bytes:
    try:
        return sheet.read_bytes()
    except OSError as error:
        raise FileError(f"{str(sheet)!r} cannot be read: {error.strerror or error}.") from error


def _next(sheet: Path | None, target: Path) -> str:
    """What to do with the definition."""
    if sheet is not None:
        return f"next: xstar csv {sheet} --batch 4"
    table = target.with_suffix(".csv")
    return (
        f"next: xstar csv {table} --batch 4 for a spreadsheet, xstar ask {target} for one experiment, or xstar run "
        f"{target} --budget 40 -- PROGRAM"
    )


def _note_what_cannot_be_read(sheet: Path, definition: Definition, console: Console) -> None:
    from xstar.cli.sheet import Sheet

    try:
        Sheet.read(sheet, definition)
    except XstarError as error:
        console.remark(f"note: {error}")
