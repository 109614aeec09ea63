"""`xstar export`: the study as a table, a page, a picture, or a file for `Optimizer.load`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xstar.cli.arguments import add_source
from xstar.cli.console import Console
from xstar.errors import SettingsError

if TYPE_CHECKING:
    from xstar.cli.sources import Source

SUMMARY = "write the study to a file"
DETAILS = " A .json file can be read by xstar.Optimizer.load."
FIRST, LAST = ["trial", "row", "state"], ["value", "sd", "reason", "suggested by"]
"""Columns of a table, before and after the parameters."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_source(parser)
    parser.add_argument(
        "file", metavar="FILE", help="its ending says what: .csv .json .html .png .svg .pdf; - prints CSV"
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Write a table (.csv, or - for standard output), a page (.html), a picture, or a study (.json)."""
    from xstar.cli.opening import open_source

    source = open_source(options, console)
    if options.file == "-":
        rows = _rows(source)
        if console.as_json:
            console.answer("", rows)
        else:
            console.hand_over(_table(rows, source.counted_in).rstrip("\n"))
        return 0
    path = Path(options.file)
    source.check_target(path)
    with console.working(f"writing {path.name}"):
        _write(source, path)
    console.answer(f"wrote {options.file}", {"wrote": options.file})
    return 0


def _write(source: Source, path: Path) -> None:
    from xstar.files.atomic import write_text

    if path.suffix == ".csv":
        write_text(path, _table(_rows(source), source.counted_in))
    elif path.suffix == ".json":
        source.optimizer().save(path)
    elif path.suffix == ".html":
        from xstar.views.report import write_report

        write_report(source.optimizer(), path)
    elif path.suffix in (".png", ".svg", ".pdf"):
        from xstar.views.plots import draw

        draw(source.optimizer(), path)
    else:
        raise SettingsError(
            f"{str(path)!r} should end in .csv, .json, .html, .png, .svg or .pdf, which says what to write."
        )


def _rows(source: Source) -> list[dict[str, Any]]:
    return [
        {
            source.counted_in: trial.number,
            "state": trial.state,
            **{_column(name): value for name, value in trial.params.items()},
            "value": trial.value,
            "sd": trial.sd,
            "reason": trial.reason,
            "suggested by": trial.method,
        }
        for trial in source.listed
    ]


def _column(name: str) -> str:
    """The column of a parameter, which may be named like one of ours."""
    return f"{name} (parameter)" if name in [*FIRST, *LAST] else name


def _table(rows: list[dict[str, Any]], counted_in: str) -> str:
    from xstar.files.frames import csv_of

    named = dict.fromkeys(name for row in rows for name in row if name not in [*FIRST, *LAST])
    return csv_of(rows, [counted_in, "state", *named, *LAST])
