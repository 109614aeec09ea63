"""Old results from a table: a CSV file, a list of dictionaries, a pandas DataFrame."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from xstar.errors import DataError, FileError, XstarError
from xstar.files.cells import CellReader, Outcome, ResultReader, is_missing, number_format
from xstar.files.csv_text import CsvText, parse
from xstar.files.problems import Problems
from xstar.files.titles import find_title, no_column, unit_of
from xstar.files.written_numbers import NumberFormat
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
    outcomes: dict[str, Outcome]
    """By output; without those that are missing."""


@dataclass(frozen=True)
class _Rows:
    """The rows of a table of any kind, with their numbers, and what its header says of its numbers."""

    rows: Iterable[tuple[int, Any]]
    units: Mapping[str, str | None] = field(default_factory=dict)
    decimal_comma: bool = False


def read(table: Any, space: Space, noises: Mapping[str, str | None], needed: Collection[str]) -> list[Row]:
    """Return the results in a table; rows without any value are left out.

    `noises` has the columns of the outputs, each with that of its standard deviation, if there may be one. All columns
    that are `needed` must be there. If anything is wrong, one complaint names all of it.
    """
    names = [*space.parameters, *noises, *(sd for sd in noises.values() if sd is not None)]
    found = _rows_of(table, space, names)
    reader = CellReader(
        space,
        {
            name: number_format(name, parameter, titled=found.units.get(name), comma=found.decimal_comma)
            for name, parameter in space.parameters.items()
        },
        {
            name: ResultReader(
                NumberFormat(name, found.units.get(name), found.decimal_comma, is_result=True),
                NumberFormat(sd or "sd", found.units.get(name), found.decimal_comma),
            )
            for name, sd in noises.items()
        },
    )
    fixed = {
        name: parameter.decode(np.zeros(1)) for name, parameter in space.parameters.items() if parameter.block is None
    }
    problems, results = Problems(), []
    known: dict[tuple[str, ...], dict[str, int]] = {}
    for k, given in found.rows:
        place = f"row {k} of the table"
        row: dict[str, Any] = {}
        with problems.at(place):
            row = _by_name(given, names, needed, known)
        told = {name: row[name] for name in noises if not _is_blank(row.get(name))}
        if not told:
            continue
        missing = [name for name in space.parameters if name not in row and name not in fixed]
        if missing:
            with problems.at(place):
                raise no_column(missing[0], list(map(str, given)))
            continue
        cells = {name: row[name] for name in space.parameters if name in row}
        params = reader.read_params(cells, problems, place, fixed)
        cells_of_noise = {name: row[sd] for name, sd in noises.items() if sd in row}
        outcomes = reader.read_outcomes(told, cells_of_noise, problems, place)
        if params is not None and outcomes is not None:
            results.append(Row(params, outcomes))
    problems.complain()
    return results


def _is_blank(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def _by_name(
    given: Any, names: list[str], needed: Collection[str], known: dict[tuple[str, ...], dict[str, int]]
) -> dict[str, Any]:
    """A row with the names of columns as they are looked for; what is `known` of other rows need not be found again."""
    if not isinstance(given, Mapping):
        raise DataError(f"it must be a dictionary; received {given!r}.")
    cells, titles = list(given.values()), tuple(map(str, given))
    if titles not in known:
        places = {name: find_title(titles, name, names) for name in names}
        known[titles] = {name: k for name, k in places.items() if k is not None}
    missing = [name for name in needed if name not in known[titles]]
    if missing:
        raise no_column(missing[0], titles)
    return {name: cells[k] for name, k in known[titles].items()}


def _rows_of(table: Any, space: Space, names: list[str]) -> _Rows:
    if isinstance(table, str | Path):
        return _read_csv(Path(table), space, names)
    if hasattr(table, "to_dict") and hasattr(table, "columns"):
        records = table.to_dict(orient="records")
        cleaned = ({str(name): None if is_missing(cell) else cell for name, cell in row.items()} for row in records)
        return _Rows(enumerate(cleaned, 1))
    if isinstance(table, Iterable) and not isinstance(table, Mapping):
        return _Rows(enumerate(table, 1))
    raise DataError(
        f"a table is the path of a CSV file, a list of dictionaries or a DataFrame; received a {type(table).__name__}."
    )


def _read_csv(path: Path, space: Space, names: list[str]) -> _Rows:
    """The rows of a file that have anything in them, with their numbers below the header."""
    try:
        text = parse(path.read_bytes(), names)
        columns = {name: column for name in names if (column := text.column(name, names)) is not None}
    except FileNotFoundError as error:
        raise FileError(f"there is no file {str(path)!r}.") from error
    except (OSError, XstarError) as error:
        raise FileError(f"{str(path)!r} cannot be read as a table: {error}") from error
    choices = {name for name, parameter in space.parameters.items() if isinstance(parameter, Listed)}
    return _Rows(
        _records(text, columns),
        {name: unit_of(text.header[column]) for name, column in columns.items()},
        text.has_decimal_commas(column for name, column in columns.items() if name not in choices),
    )


def _records(text: CsvText, columns: Mapping[str, int]) -> Iterator[tuple[int, dict[str, str]]]:
    own = {column: name for name, column in columns.items()}
    header = [own.get(k, name.strip()) for k, name in enumerate(text.header)]
    for record in text.records:
        cells = [*record.cells, *[""] * (len(header) - len(record.cells))]
        yield record.row - 1, dict(zip(header, cells, strict=False))
