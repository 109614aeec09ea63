"""Old results from a table: a CSV file, a list of dictionaries, a pandas DataFrame."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from xstar.errors import DataError, FileError, XstarError
from xstar.space import Categorical, Integer, Parameter, Space
from xstar.trial import check_sd, check_value

FAILURES = ("nan", "inf", "-inf", "fail", "failed", "failure", "error", "crashed")
"""What stands in the place of a value that there is not."""


THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
"""1,000 is a thousand to some and one to others."""


class Row(NamedTuple):
    """One result."""

    params: dict[str, Any]
    value: float | None
    """None for a failure."""
    sd: float | None
    reason: str


def read(table: Any, space: Space, value: str, sd: str | None) -> list[Row]:
    """The results in a table; rows without a value are left out. `sd` is by default a column "sd", if there is one."""
    frame = hasattr(table, "to_dict") and hasattr(table, "columns")
    if isinstance(table, str | Path):
        rows = _read_csv(Path(table))
    elif frame:
        rows = [
            {str(name): None if _missing(cell) else cell for name, cell in row.items()}
            for row in table.to_dict(orient="records")
        ]
    elif isinstance(table, Iterable) and not isinstance(table, Mapping):
        rows = list(table)
    else:
        raise DataError(
            "a table is the path of a CSV file, a list of dictionaries or a DataFrame; received a "
            f"{type(table).__name__}."
        )
    results = []
    for k, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise DataError(f"row {k + 1} of the table must be a dictionary; received {row!r}.")
        if value not in row:
            raise DataError(f'row {k + 1} of the table has no column "{value}"; it has {list(row)}.')
        if sd is not None and sd not in row:
            raise DataError(f'row {k + 1} of the table has no column "{sd}"; it has {list(row)}.')
        if row[value] is None or (isinstance(row[value], str) and not row[value].strip()):
            continue
        try:
            results.append(_result(row, space, value, sd or "sd"))
        except XstarError as error:
            raise DataError(f"row {k + 1} of the table: {error}") from error
    return results


def _result(row: Mapping[str, Any], space: Space, value: str, sd: str) -> Row:
    params = {}
    for name, parameter in space.parameters.items():
        if name not in row and parameter.block is not None:
            raise DataError(f'there is no column "{name}".')
        params[name] = read_cell(row[name], parameter, name) if name in row else parameter.decode(np.zeros(1))
    return Row(space.accept(params), *read_outcome(row[value], row.get(sd), value, sd))


def read_outcome(given: Any, noise: Any, value: str, sd: str) -> tuple[float | None, float | None, str]:
    """The value (None for a failure), its standard deviation if there is one, and why it failed if it did.

    `value` and `sd` are the names of the columns that the two cells are from.
    """
    if isinstance(noise, str):
        noise = _number(noise, sd) if noise.strip() else None
    noise = None if noise is None or _missing(noise) else check_sd(noise, sd)
    failed = isinstance(given, str) and given.strip().lower() in FAILURES
    number = None if failed else check_value(_number(given, value) if isinstance(given, str) else given)
    return number, noise, f"value was {str(given).strip()}"


def read_cell(cell: Any, parameter: Parameter, name: str) -> Any:
    """What a cell says about a parameter."""
    if not isinstance(cell, str):
        # A column of whole numbers with a gap comes from pandas as floats.
        whole = isinstance(parameter, Categorical) and parameter.index(cell) is None and isinstance(cell, float)
        return int(cell) if whole and cell.is_integer() else cell
    if isinstance(parameter, Categorical):
        if cell in parameter.choices:
            return cell
        named = [choice for choice in parameter.choices if str(choice) == cell.strip()]
        alike = named[:1] or [choice for choice in parameter.choices if _alike(choice, cell.strip())]
        if len(alike) != 1:
            raise DataError(f'column "{name}" is one of {list(parameter.choices)!r}; received {cell!r}.')
        return alike[0]
    number = _number(cell, name)
    if isinstance(parameter, Integer) and number == int(number):
        # Text of a whole number, so that those beyond 2^53 stay exact.
        return int(cell) if cell.strip().lstrip("+-").isdigit() else int(number)
    return number


def _alike(choice: Any, text: str) -> bool:
    """Whether a spreadsheet may have made this text of a choice: TRUE of True, 1 of 1.0."""
    if str(choice).lower() == text.lower():
        return True
    try:
        return isinstance(choice, int | float) and not isinstance(choice, bool) and choice == _number(text, "")
    except DataError:
        return False


def _number(cell: str, name: str) -> float:
    text = cell.strip()
    if THOUSANDS.fullmatch(text):
        raise DataError(
            f'column "{name}" has {cell!r}, with a comma for thousands or for decimals; write a point or none.'
        )
    try:
        number = float(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)
    except ValueError as error:
        raise DataError(f'column "{name}" needs a number; received {cell!r}.') from error
    if not math.isfinite(number):
        raise DataError(f'column "{name}" needs a finite number; received {cell!r}.')
    return number


def _read_csv(path: Path) -> list[dict[str, Any]]:
    """Rows of a file with a header, separated by commas, semicolons or tabs, whichever the header has most of."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise FileError(f"there is no file {str(path)!r}.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{str(path)!r} cannot be read as a table: {error}.") from error
    header = text.partition("\n")[0]
    separator = max(",;\t", key=header.count)
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)
    decimal_comma = separator == ";"
    return [
        {name.strip(): with_point(cell) if decimal_comma else cell for name, cell in row.items() if name is not None}
        for row in rows
    ]


def with_point(cell: Any) -> Any:
    """Where semicolons separate, commas are decimal points: 12,5 becomes 12.5."""
    return (
        cell.replace(",", ".")
        if isinstance(cell, str) and re.fullmatch(r"\s*[+-]?\d*,\d*([eE][+-]?\d+)?\s*", cell)
        else cell
    )


def _missing(cell: Any) -> bool:
    """NaN, or whatever pandas has in an empty cell: all of these differ from themselves."""
    try:
        return cell is not None and not bool(cell == cell)  # noqa: PLR0124
    except TypeError:
        return True
