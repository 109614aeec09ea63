"""What a cell of a table says: a number, a choice, a failure, or nothing."""

from __future__ import annotations

import math
import re
from typing import Any

from xstar.errors import DataError
from xstar.space import Integer, Listed, Parameter
from xstar.trial import check_sd, check_value

FAILURES = ("nan", "inf", "-inf", "fail", "failed", "failure", "error", "crashed")
"""What stands for a value that there is not."""
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
"""1,000 is a thousand to some and one to others."""
WITH_COMMA = re.compile(r"\s*[+-]?\d*,\d*([eE][+-]?\d+)?\s*")
"""A number whose decimals come after a comma."""


def read_outcome(given: Any, noise: Any, value: str, sd: str) -> tuple[float | None, float | None, str]:
    """Return the value (None for a failure), its standard deviation if there is one, and why it failed if it did.

    `value` and `sd` are the names of the columns that the two cells are from.
    """
    if isinstance(noise, str):
        noise = _number(noise, sd) if noise.strip() else None
    noise = None if noise is None or is_missing(noise) else check_sd(noise, sd)
    failed = isinstance(given, str) and given.strip().lower() in FAILURES
    number = None if failed else check_value(_number(given, value) if isinstance(given, str) else given)
    return number, noise, f"value was {str(given).strip()}"


def read_cell(cell: Any, parameter: Parameter, name: str) -> Any:
    """Return what a cell says about a parameter."""
    if not isinstance(cell, str):
        # A column of whole numbers with a gap comes from pandas as floats.
        whole = isinstance(parameter, Listed) and parameter.index(cell) is None and isinstance(cell, float)
        return int(cell) if whole and cell.is_integer() else cell
    if isinstance(parameter, Listed):
        if cell in parameter.alternatives:
            return cell
        named = [choice for choice in parameter.alternatives if str(choice) == cell.strip()]
        alike = named[:1] or [choice for choice in parameter.alternatives if _alike(choice, cell.strip())]
        if len(alike) != 1:
            raise DataError(f'column "{name}" is one of {list(parameter.alternatives)!r}; received {cell!r}.')
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


def with_point(cell: str) -> str:
    """Return a number with a point for a decimal comma, 12.5 of 12,5; other cells as they are."""
    return cell.replace(",", ".") if WITH_COMMA.fullmatch(cell) else cell


def is_missing(cell: Any) -> bool:
    """Return whether a cell is NaN, or whatever pandas has in an empty cell: all of these differ from themselves."""
    try:
        return cell is not None and not bool(cell == cell)  # noqa: PLR0124
    except TypeError:
        return True
