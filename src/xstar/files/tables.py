"""Old results from a table: a CSV file, a list of dictionaries, a pandas DataFrame."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from xstar.errors import DataError, FileError, XstarError
from xstar.files.cells import is_missing, read_cell, read_outcome, with_point
from xstar.files.csv_text import parse
from xstar.space import Listed, Space


class Frame(Protocol):
    """What is asked of a data frame; those of pandas have it."""

    columns: Any

    def to_dict(self, *, orient: Literal["records"]) -> list[dict[Hashable, Any]]:
        """The rows as dictionaries."""


TableLike: TypeAlias = str | Path | Iterable[Mapping[str, Any]] | Frame
"""The path of a CSV file, rows as dictionaries, or a data frame."""


class Row(NamedTuple):
    """One result."""

    params: dict[str, Any]
    value: float | None
    """None for a failure."""
    sd: float | None
    reason: str


def read(table: Any, space: Space, value: str, sd: str | None) -> list[Row]:
    """Return the results in a table; rows without a value are left out.

    `value` and `sd` name columns; `sd` is by default a column "sd", if there is one.
    """
    rows: Iterable[tuple[int, Any]]
    if isinstance(table, str | Path):
        rows = _read_csv(Path(table), space, value, sd or "sd")
    elif hasattr(table, "to_dict") and hasattr(table, "columns"):
        records = table.to_dict(orient="records")
        rows = enumerate(
            ({str(name): None if is_missing(cell) else cell for name, cell in row.items()} for row in records), 1
        )
    elif isinstance(table, Iterable) and not isinstance(table, Mapping):
        rows = enumerate(table, 1)
    else:
        raise DataError(
            "a table is the path of a CSV file, a list of dictionaries or a DataFrame; received a "
            f"{type(table).__name__}."
        )
    results = []
    for k, row in rows:
        if not isinstance(row, Mapping):
            raise DataError(f"row {k} of the table must be a dictionary; received {row!r}.")
        if value not in row:
            raise DataError(f'row {k} of the table has no column "{value}"; it has {list(row)}.')
        if sd is not None and sd not in row:
            raise DataError(f'row {k} of the table has no column "{sd}"; it has {list(row)}.')
        if row[value] is None or (isinstance(row[value], str) and not row[value].strip()):
            continue
        try:
            results.append(_result(row, space, value, sd or "sd"))
        except XstarError as error:
            raise DataError(f"row {k} of the table: {error}") from error
    return results


def _result(row: Mapping[str, Any], space: Space, value: str, sd: str) -> Row:
    params = {}
    for name, parameter in space.parameters.items():
        if name not in row and parameter.block is not None:
            raise DataError(f'there is no column "{name}".')
        params[name] = read_cell(row[name], parameter, name) if name in row else parameter.decode(np.zeros(1))
    return Row(space.accept(params), *read_outcome(row[value], row.get(sd), value, sd))


def _read_csv(path: Path, space: Space, value: str, sd: str) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a file that have anything in them, with their numbers below the header."""
    names = [*space.parameters, value, sd]
    try:
        text = parse(path.read_bytes(), names)
        columns = {name: column for name in names if (column := text.column(name, names)) is not None}
    except FileNotFoundError as error:
        raise FileError(f"there is no file {str(path)!r}.") from error
    except (OSError, XstarError) as error:
        raise FileError(f"{str(path)!r} cannot be read as a table: {error}") from error
    choices = {name for name, parameter in space.parameters.items() if isinstance(parameter, Listed)}
    decimal_comma = text.has_decimal_commas(column for name, column in columns.items() if name not in choices)
    own = {column: name for name, column in columns.items()}
    header = [own.get(k, name.strip()) for k, name in enumerate(text.header)]
    for record in text.records:
        row = {name: record.cells[k] if k < len(record.cells) else "" for k, name in enumerate(header)}
        numbers = {name: with_point(row[name]) for name in columns if name not in choices} if decimal_comma else {}
        yield record.row - 1, {**row, **numbers}
