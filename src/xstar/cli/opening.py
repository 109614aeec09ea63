"""The study that the options of a command name, opened for it: to be read, or to be changed."""

from __future__ import annotations

import argparse
import logging
import warnings
from pathlib import Path

import optuna

from xstar.cli.console import Console
from xstar.cli.sheet import Sheet
from xstar.cli.sources import Source
from xstar.cli.studies import NoStudyError, Opened, open_study
from xstar.errors import FileError, SettingsError
from xstar.files.definition import Definition

SHEETS = (".csv", ".tsv")
"""Endings of spreadsheets."""
WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".ods", ".numbers")
"""Endings of what is to be saved as one first."""


def open_source(options: argparse.Namespace, console: Console) -> Source:
    """Open a study to be read: a spreadsheet, a definition, or a database; remarks about it are made."""
    _check_workbook(options.study)
    if is_sheet(options.study) or options.definition:
        return _open_sheet(Path(options.study), options.definition)
    try:
        source = Source.of_study(open_named(options, console))
    except NoStudyError as error:
        sheet = Path(options.study).with_suffix(".csv")
        if sheet.exists() and options.study.endswith(".toml"):
            raise FileError(f"{str(error).rstrip('.')}; did you mean the spreadsheet, {str(sheet)!r}?") from error
        raise
    for remark in source.remarks:
        console.note(remark)
    return source


def open_named(
    options: argparse.Namespace, console: Console, *, create: bool = False, heartbeat: int | None = None
) -> Opened:
    """Open the study of a command in its database, to be changed; made if it is not there and `create`."""
    _check_workbook(options.study)
    if is_sheet(options.study):
        raise SettingsError(
            f"{options.study!r} is a spreadsheet: xstar csv adds rows to run, and results are written into the file; "
            f"xstar {options.action} is for studies in a database."
        )
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    _let_the_sampler_speak(console)
    return open_study(options.study, options.name, create=create, heartbeat=heartbeat)


def is_sheet(reference: str) -> bool:
    """Return whether a study is kept in a spreadsheet."""
    return "://" not in reference and Path(reference).suffix.lower() in SHEETS


def definition_of(sheet: Path, named: str | None) -> Definition:
    """Return the definition of the columns of a spreadsheet: the one that is `named`, or the one beside it."""
    described = Path(named) if named else sheet.with_suffix(".toml")
    if not described.exists():
        make = f"; xstar init {sheet} makes it" if named is None else ""
        also = " by reading the file" if make and sheet.exists() else ""
        raise SettingsError(
            f"there is no definition {str(described)!r} of the columns of {sheet.name!r}{make}{also}"
            f"{', or name another one' if make else '; name another one'} with --definition."
        )
    return Definition.read(described)


def _open_sheet(path: Path, named: str | None) -> Source:
    definition = definition_of(path, named)
    sheet = Sheet.read(path, definition)
    if sheet.content is None:
        raise FileError(f"there is no file {str(path)!r}; xstar csv {path} makes it.")
    return Source.of_sheet(sheet, definition)


def _check_workbook(reference: str) -> None:
    if "://" not in reference and Path(reference).suffix.lower() in WORKBOOKS:
        raise FileError(f'{reference!r} is a workbook; save its table as "CSV UTF-8" and name that file.')


def _let_the_sampler_speak(console: Console) -> None:
    """What the library logs as a warning, for the reader of a terminal."""
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: console.note(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("xstar")
    logger.handlers, logger.propagate = [handler], False
