"""A draft of a definition, guessed from a table: which columns are parameters, which is the result, within what bounds.

Guesses are meant to be checked by a person: the comments say what they rest on.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from xstar.errors import DataError
from xstar.files.cells import FAILURES
from xstar.files.csv_text import CsvText, parse
from xstar.files.draft import Draft, DraftParameter
from xstar.files.letters import armed
from xstar.files.titles import find_title, folded, no_column, quoted, unit_of, without_unit
from xstar.files.written_numbers import WITH_UNIT, NumberFormat

RESULTS = frozenset({
    "yield", "value", "result", "score", "response", "objective", "target", "output", "activity", "conversion",
    "selectivity", "purity", "efficiency", "accuracy", "growth", "titer", "titre", "signal", "strength",
    "quality", "y", "f", "ausbeute", "wert", "ergebnis", "umsatz", "reinheit", "rendement",
})  # fmt: skip
"""What results are called."""
TO_MINIMIZE = frozenset({
    "loss", "error", "cost", "costs", "rmse", "mae", "mse", "impurity", "impurities", "waste", "price",
    "regret", "deviation", "residue", "kosten", "fehler", "verlust",
})  # fmt: skip
"""Likewise, where less is better."""
NOTES = frozenset({
    "date", "datum", "day", "timestamp", "operator", "person", "name", "user", "by", "who", "note", "notes",
    "comment", "comments", "remark", "remarks", "bemerkung", "kommentar", "sample", "file", "lot", "well",
    "plate", "status", "done",
})  # fmt: skip
"""What columns of texts are called that are not varied."""
COUNTERS = frozenset({
    "no", "nr", "number", "id", "#", "index", "run", "row", "experiment", "exp", "trial", "sample", "n°",
})  # fmt: skip
"""What columns that count are called, in one word or several."""
NOISES = frozenset({
    "sd", "std", "stdev", "stddev", "se", "sem", "uncertainty", "sigma",
})  # fmt: skip
"""What columns of noise are called."""
DATE = re.compile(r"\d{1,4}([-./:])\d{1,2}(\1\d{1,4})?([ T].*)?")
MOST_CHOICES = 12
LONGEST_CHOICE = 40
"""Letters; what is longer is a note."""
DECADES = 2.0
"""From so many on, a range is searched by its logarithm."""
MOSTLY = 0.5
"""The share of cells that must be numbers, for a column of numbers: others may be typing errors."""


@dataclass(frozen=True)
class _Column:
    """A column with anything in it."""

    place: int
    title: str
    cells: tuple[str, ...]
    """Those that are not empty."""
    numbers: tuple[float, ...]
    unit: str | None

    @property
    def name(self) -> str:
        return without_unit(self.title)

    @property
    def words(self) -> frozenset[str]:
        return frozenset(re.split(r"[\s_\-./]+", folded(self.name)))

    @property
    def is_numeric(self) -> bool:
        return bool(self.numbers) and len(self.numbers) > MOSTLY * len(self.cells)


def guess(content: bytes, file: str, result: str | None = None) -> Draft:
    """Return a draft for the table in a file's content; `result` names the column of the values, if it is known."""
    text = parse(content, [] if result is None else [result])
    columns = _columns(text)
    place = _result(columns, result)
    values = columns.pop(place)
    parameters: list[DraftParameter] = []
    unused: list[tuple[str, str]] = []
    for column in columns:
        found = _parameter(column, file, values)
        if isinstance(found, str):
            unused.append((column.title.strip(), found))
        elif any(folded(other.name) == folded(found.name) for other in parameters):
            unused.append((column.title.strip(), "there is another column of this name"))
        else:
            parameters.append(found)
    if not parameters:
        raise DataError(
            f"no column of {quoted(text.header)} looks like a parameter; write the definition by hand, or with xstar "
            "init on a terminal, which asks."
        )
    less = bool(values.words & TO_MINIMIZE)
    known = bool(values.words & (RESULTS | TO_MINIMIZE))
    return Draft(
        parameters=tuple(parameters),
        result=values.name,
        unit=values.unit,
        direction="minimize" if less else "maximize",
        direction_comment=f"guessed by the name {values.name}: check it" if known else "guessed: check it",
        origin=f", guessed by xstar init from {file}",
        unused=tuple(unused),
    )


def _columns(text: CsvText) -> list[_Column]:
    """The columns that have a title."""
    rows = [record.cells for record in text.records]
    numbered = [k for k, title in enumerate(text.header) if title.strip()]
    comma = text.has_decimal_commas(numbered)
    found = []
    for k in numbered:
        cells = tuple(armed(cell) for row in rows if k < len(row) and (cell := row[k].strip()))
        unit = unit_of(text.header[k]) or _common_unit(cells)
        written = NumberFormat(text.header[k], unit, comma)
        found.append(_Column(k, armed(text.header[k].strip()), cells, tuple(_numbers(cells, written)), unit))
    return found


def _numbers(cells: Iterable[str], written: NumberFormat) -> Iterable[float]:
    for cell in cells:
        try:
            yield written.read_with_sd(cell)[0]
        except DataError:
            continue


def _common_unit(cells: Sequence[str]) -> str | None:
    """The unit that is written behind all numbers of a column, if there is one."""
    units = {found["unit"].strip() for cell in cells if (found := WITH_UNIT.fullmatch(cell))}
    with_unit = sum(WITH_UNIT.fullmatch(cell) is not None for cell in cells)
    return units.pop() if len(units) == 1 and with_unit > MOSTLY * len(cells) else None


def _result(columns: Sequence[_Column], named: str | None) -> int:
    """Where the values are: the column that is named, else one that is called so, else the last one of numbers."""
    titles = [column.title for column in columns]
    if named is not None:
        place = find_title(titles, named, [named])
        if place is None:
            raise no_column(named, titles)
        return place
    called = [k for k, column in enumerate(columns) if column.words & (RESULTS | TO_MINIMIZE)]
    called = [k for k in called if not columns[k].words & NOISES]
    numeric = [k for k, column in enumerate(columns) if column.is_numeric and not column.words & NOISES]
    if not called and len(numeric) < 2:
        raise DataError(f"it is not clear which column of {quoted(titles)} has the values; name it with --result.")
    return (called or numeric)[-1]


def _parameter(column: _Column, file: str, result: _Column) -> DraftParameter | str:
    """The parameter in a column, or why there is none."""
    if column.words & NOISES:
        own = folded(column.name) in ("sd", folded(f"{result.name} sd"))
        return "the noise of the values" if own else "if it is the standard deviation of the values, call it sd"
    if not column.cells:
        return "it is empty"
    if column.is_numeric:
        return _numeric(column, file)
    texts = list({folded(cell): cell for cell in reversed(column.cells)}.values())[::-1]
    reasons = {
        "it looks like a note": bool(column.words & NOTES) or max(map(len, texts)) > LONGEST_CHOICE,
        "dates": all(DATE.fullmatch(cell) for cell in column.cells),
        f"it is always {texts[0]!r}": len(texts) == 1,
        f"it has {len(texts)} different texts": len(texts) > MOST_CHOICES,
        "it looks like a result": all(cell.casefold() in FAILURES for cell in column.cells),
    }
    for why, holds in reasons.items():
        if holds:
            return why
    return DraftParameter(column.name, "choices", listed=tuple(texts), comment=f"those in {file}: add what is missing")


def _numeric(column: _Column, file: str) -> DraftParameter | str:
    numbers = column.numbers
    least, most = min(numbers), max(numbers)
    whole = all(number.is_integer() for number in numbers)
    if whole and (column.words <= COUNTERS or (column.place == 0 and _counts(numbers))):
        return "it counts the rows"
    if least == most:
        return f"it is always {least:g}"
    # What is measured in a unit is seldom a count, even where all numbers happen to be whole.
    integer = whole and column.unit is None
    log = least > 0.0 and math.log10(most / least) >= DECADES
    draft = DraftParameter(
        column.name, "integer" if integer else "real", log=log, unit=column.unit,
        comment=f"{least:g} to {most:g} in {file}: check the bounds",
    )  # fmt: skip
    low, high = outward(least, most, log=log, whole=integer)
    return replace(draft, low=low, high=high)


def _counts(numbers: Sequence[float]) -> bool:
    """Whether numbers are 1, 2, 3, ..."""
    return len(numbers) > 2 and numbers[0] in (0.0, 1.0) and all(b - a == 1.0 for a, b in itertools.pairwise(numbers))


def outward(least: float, most: float, *, log: bool = False, whole: bool = False) -> tuple[float, float]:
    """Return round bounds that have everything between two numbers inside."""
    if log:
        low, high = 10.0 ** math.floor(math.log10(least)), 10.0 ** math.ceil(math.log10(most))
        return (max(low, 1.0), high) if whole else (low, high)
    decade = math.floor(math.log10(most / 2 - least / 2))
    if whole:
        decade = max(decade, 0)
    step = 10.0**decade
    digits = max(-decade, 0)
    low, high = round(math.floor(least / step) * step, digits), round(math.ceil(most / step) * step, digits)
    # Rounding may miss by a hair, and very wide or very narrow ranges have no round numbers around them.
    return (
        low if math.isfinite(low) and low <= least else least,
        high if math.isfinite(high) and high >= most else most,
    )
