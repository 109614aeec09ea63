"""A study that lives in a spreadsheet: rows without a result are experiments to run.

    temperature [°C],hours,yield [%],operator
    80,10,71.9,Ada
    95.25,3,failed,Ada
    62.5,14,,

People fill in results and run the command again; rows to run are added until there is a batch of them. The table is
all that there is: the number of a trial is its position among the rows that are not blank, so that the same table gives
the same suggestions. What people wrote is kept byte for byte; rows are added below the last one that is not blank.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from xstar.errors import FileError, SpaceExhausted, XstarError
from xstar.files.atomic import write_bytes
from xstar.files.columns import Columns, find_columns, header_of, names_of
from xstar.files.csv_text import CsvText, decode, line_of, parse
from xstar.files.definition import Definition
from xstar.files.problems import Problems
from xstar.numerics.checks import integer
from xstar.optimizer import Optimizer
from xstar.space import Listed, Parameter, Real
from xstar.trial import Trial

DIGITS = 6
"""Significant digits of a suggestion, if they do."""
BLUR = 1e-3
"""They do if rounding moves it by no more than this share of its range."""


class Progress(NamedTuple):
    """What a step found and did."""

    added: list[dict[str, Any]]
    """The parameters of the new rows."""
    open: int
    """How many rows have no result now."""
    done: int
    failed: int
    optimizer: Optimizer
    """It was told the whole table; open rows are its pending trials."""
    created: bool
    """Whether there was no file, or an empty one."""
    backup: Path | None
    """Where the old content is, if there is a new one."""
    exhausted: bool
    """Whether the space had too few points left for a batch."""


@dataclass(frozen=True)
class Sheet:
    """A table as it was read."""

    path: Path
    content: bytes | None
    """That of the file; None if there is none."""
    text: CsvText
    columns: Columns
    trials: tuple[Trial, ...]
    """The rows that are not blank, numbered from 0."""
    rows: tuple[int, ...]
    """Where they are, as spreadsheets show them: the first row below the header is 2."""
    is_new: bool
    """Whether there is no file, or an empty one."""

    @classmethod
    def read(cls, path: Path, definition: Definition) -> Sheet:
        """Read a file, or what will be its header; one complaint names every cell that cannot be read."""
        content = _read(path)
        with _named(path):
            filled = content if content is not None and decode(content)[0].strip() else None
            text = parse(_start(definition) if filled is None else filled, names_of(definition))
            columns = find_columns(text, definition)
            columns.check_choices()
            trials, rows = _trials(text, columns)
        return cls(path, content, text, columns, trials, rows, filled is None)

    def optimizer(self, definition: Definition) -> Optimizer:
        """Return one that was told the whole table."""
        return Optimizer.from_trials(
            self.trials, definition.space, definition.direction, definition.method, definition.seed,
            noise=definition.noise, num_initial=definition.num_initial, **definition.named_outputs,
        )  # fmt: skip


def step(path: Path, definition: Definition, batch: int) -> Progress:
    """Read the results in a file and add suggestions until `batch` rows are open; without a file, make one.

    If anything is wrong, the file stays as it is.
    """
    integer(batch, "batch", 1)
    sheet = Sheet.read(Path(path), definition)
    open_rows = sum(trial.state == "pending" for trial in sheet.trials)
    optimizer, asked, exhausted = _ask(definition, sheet, batch - open_rows)
    backup = sheet.path.with_name(f"{sheet.path.name}.bak") if asked and not sheet.is_new else None
    if asked:
        with _named(sheet.path):
            after = sheet.text.with_rows(sheet.columns.row(trial.params) for trial in asked)
        _write(sheet.path, sheet.content, after, backup)
    states = [trial.state for trial in optimizer.trials]
    return Progress(
        added=[dict(trial.params) for trial in asked],
        open=states.count("pending"),
        done=states.count("done"),
        failed=states.count("failed"),
        optimizer=optimizer,
        created=sheet.is_new,
        backup=backup,
        exhausted=exhausted,
    )


def _start(definition: Definition) -> bytes:
    """A table without rows. With letters beyond ASCII it has a mark, without which Excel would show others."""
    header = line_of(header_of(definition)) + "\n"
    parameters = definition.space.parameters.values()
    choices = [str(parameter.alternatives) for parameter in parameters if isinstance(parameter, Listed)]
    plain = "".join([header, *choices]).isascii()
    return header.encode("utf-8" if plain else "utf-8-sig")


def _trials(text: CsvText, columns: Columns) -> tuple[tuple[Trial, ...], tuple[int, ...]]:
    """The rows that are not blank, numbered from 0, and where they are."""
    problems, rows = Problems(), []
    trials: list[Trial] = []
    for record in text.records:
        trial = columns.trial(record.cells, len(trials), problems, f"row {record.row}")
        if trial is not None:
            trials.append(trial)
            rows.append(record.row)
    problems.complain()
    return tuple(trials), tuple(rows)


def _ask(definition: Definition, sheet: Sheet, count: int) -> tuple[Optimizer, list[Trial], bool]:
    """Suggestions, the optimizer that made them, and whether it had no more.

    Each counts on those before it as they will stand in the table, so that it does not matter whether a batch is
    asked for at once or row by row.
    """
    optimizer = sheet.optimizer(definition)
    asked: list[Trial] = []
    for _ in range(count):
        try:
            trial = optimizer.ask()
        except SpaceExhausted:
            return optimizer, asked, True
        parameters = definition.space.parameters
        params = {name: rounded(value, parameters[name]) for name, value in trial.params.items()}
        asked.append(replace(trial, params=params))
        optimizer = optimizer.with_trials([*sheet.trials, *asked])
    return optimizer, asked, False


def rounded(value: Any, parameter: Parameter) -> Any:
    """Return a suggested value with as few digits as do; whole numbers, steps and choices stay as they are."""
    if not isinstance(parameter, Real) or parameter.step is not None:
        return value
    for digits in range(DIGITS, 17):
        short = float(f"{value:.{digits}g}")
        if parameter.contains(short) and abs(short - value) <= BLUR * (parameter.high - parameter.low):
            return short
    return value


def _read(path: Path) -> bytes | None:
    """The content of a file; None if there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from error


def _write(path: Path, before: bytes | None, after: bytes, backup: Path | None) -> None:
    """Replace the content of a file, unless it is another by now than it was before."""
    _check_unchanged(path, before)
    if backup is not None and before is not None:
        write_bytes(backup, before)
        with suppress(OSError):
            shutil.copymode(path, backup)
    _check_unchanged(path, before)
    write_bytes(path, after)


def _check_unchanged(path: Path, before: bytes | None) -> None:
    if _read(path) != before:
        raise FileError(f"{str(path)!r} changed while suggestions were computed; run again.")


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Errors say which file they are about."""
    try:
        yield
    except XstarError as error:
        raise type(error)(f"{str(path)!r}: {error}") from error
