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
FIRST, LAST = ["trial", "row", "state"], ["reason", "suggested by"]
"""Columns of a table, before the parameters and after the outputs."""


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
        if console.as_json:
            console.answer("", _rows(source))
        else:
            console.hand_over(_table(source).rstrip("\n"))
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
        write_text(path, _table(source))
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
    from xstar.files.frames import cells_of_values

    values = _columns_of_values(source)
    outputs = None if source.goals is None else source.goals.names
    return [
        {
            source.counted_in: trial.number,
            "state": trial.state,
            **{_column(name, values): value for name, value in trial.params.items()},
            **cells_of_values(trial.value, trial.sd, trial.values, trial.sds, outputs),
            "reason": trial.reason,
            "suggested by": trial.method,
        }
        for trial in source.listed
    ]


def _column(name: str, values: list[str]) -> str:
    """The column of a parameter, which may be named like one of ours."""
    return f"{name} (parameter)" if name in [*FIRST, *values, *LAST] else name


def _columns_of_values(source: Source) -> list[str]:
    from xstar.files.frames import columns_of_values

    return columns_of_values(None if source.goals is None else source.goals.names)


def _table(source: Source) -> str:
    from xstar.files.frames import csv_of

    rows, values = _rows(source), _columns_of_values(source)
    named = dict.fromkeys(name for row in rows for name in row if name not in [*FIRST, *values, *LAST])
    return csv_of(rows, [source.counted_in, "state", *named, *values, *LAST])
