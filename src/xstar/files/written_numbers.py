"""Numbers as people write them in tables: 12.5, 1,5, 55 %, 50 °C, 12.5 ± 0.3; what else they write there is explained.

Nothing is guessed. A percent sign is understood where it says what the column says anyway; ~50, <0.1 and n.d. are no
numbers, and the complaint says what to write instead.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass

from xstar.errors import DataError

THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
"""1,000 is a thousand to some and one to others."""
THOUSANDS_WITH_POINTS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")
"""The same where decimals have a comma."""
GROUPED = re.compile(
    r"(?P<whole>[+-]?[1-9]\d{0,2}(?P<mark>[ '\u2019,.])\d{3}(?:(?P=mark)\d{3})*)(?P<decimals>[.,]\d+)?"
)
"""A number whose thousands are set apart: 1 000, 1'000.5, 1,234.5."""
WITH_COMMA = re.compile(r"[+-]?\d*,\d*([eE][+-]?\d+)?")
"""A number whose decimals come after a comma."""
NUMBER = r"[+-]?(?:\d[\d.,]*(?:[ '\u2019]\d{3})*(?:[.,]\d+)?|[.,]\d+)(?:[eE][+-]?\d+)?"
WITH_UNIT = re.compile(rf"(?P<number>{NUMBER})\s*(?P<unit>[^\d\s.,+±-].*)")
PLUS_MINUS = re.compile(r"\s*(?:±|\+/-|\+-)\s*")
IN_BRACKETS = re.compile(r"\((?P<inside>[^()]*)\)\s*(?P<unit>.*)")
"""(12.5 ± 0.3) %"""
ABOUT = re.compile(r"(?:~|≈|\u223c|≃|≅|(?:ca|c|circa|about|approx|around)\b\.?)\s*(?P<number>.*)", re.IGNORECASE)
LIMIT = re.compile(r"(?:<=|>=|<|>|≤|≥)\s*(?P<number>.*)")
RANGE = re.compile(rf"{NUMBER}\s*(?:-|\u2013|\u2014|\.\.\.?|to)\s*{NUMBER}")
NOTHING = frozenset({
    "n.d.", "n.d", "nd", "n/d", "n.a.", "n.a", "na", "n/a", "#n/a", "#na", "<na>", "none", "null", "-", "--",
    "\N{EN DASH}", "\N{EM DASH}",
    "?", "??", "x", "tbd", "missing", "not determined", "not detected", "b.d.l.", "bdl", "lod", "#value!", "#div/0!",
    "#num!", "#ref!", "#name?",
})  # fmt: skip
"""What people, and spreadsheet programs, write where there is no number."""


@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of one column are written, and what the column is called in complaints."""

    name: str
    unit: str | None = None
    decimal_comma: bool = False
    hundredths: bool = False
    """Whether 55 % is 0.55: there is no unit, and the range is within 0 to 1."""
    is_result: bool = False
    """Whether the word `failed` and an empty cell are allowed."""

    def read(self, cell: str) -> float:
        """Return the number in a cell, which may have the unit of the column behind it."""
        number, sd = self._parse(cell)
        if sd is not None:
            raise self._complaint(cell, "write the number alone, without ±")
        return number

    def read_with_sd(self, cell: str) -> tuple[float, float | None]:
        """Return the number in a cell and, of 12.5 ± 0.3, its standard deviation."""
        return self._parse(cell)

    def _parse(self, cell: str) -> tuple[float, float | None]:
        text = _tidied(cell)
        bracketed = IN_BRACKETS.fullmatch(text)
        if bracketed and PLUS_MINUS.search(bracketed["inside"]):
            text = f"{bracketed['inside']} {bracketed['unit']}".strip()
        parts = PLUS_MINUS.split(text)
        if len(parts) != 2 or not all(parts):
            return self._number(text, cell), None
        value, sd = parts
        unit = WITH_UNIT.fullmatch(sd)
        if unit and not WITH_UNIT.fullmatch(value):
            value = f"{value} {unit['unit']}"  # 12 ± 1 % has the unit once, for both
        return self._number(value, cell), self._number(sd, cell)

    def _number(self, text: str, cell: str) -> float:
        number = self._plain(text, cell)
        if number is None:
            measured = None if RANGE.fullmatch(text) else WITH_UNIT.fullmatch(text)
            number = None if measured is None else self._plain(measured["number"], cell)
            if measured is None or number is None:
                raise self._complaint(cell, self._why(text))
            number *= self._factor(measured["number"], measured["unit"].strip(), cell)
        if not math.isfinite(number):
            raise DataError(f'column "{self.name}" needs a finite number; received {cell!r}.')
        return number

    def _plain(self, text: str, cell: str) -> float | None:
        """The number in a text; None if there is more, or something else, in it."""
        if self.decimal_comma and WITH_COMMA.fullmatch(text):
            return _float(text.replace(",", "."))
        ambiguous = THOUSANDS_WITH_POINTS if self.decimal_comma else THOUSANDS
        if ambiguous.fullmatch(text):
            mark, other = ("point", "comma") if self.decimal_comma else ("comma", "point")
            raise DataError(
                f'column "{self.name}" has {cell!r}, with a {mark} for thousands or for decimals; write a {other} or '
                "none."
            )
        grouped = GROUPED.fullmatch(text)
        if grouped and (grouped["mark"] not in ",." or (grouped["decimals"] or grouped["mark"])[0] != grouped["mark"]):
            whole = re.sub(r"[ '\u2019,.]", "", grouped["whole"])
            return _float(whole + (grouped["decimals"] or "").replace(",", "."))
        return _float(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)

    def _factor(self, number: str, unit: str, cell: str) -> float:
        """What a number with a unit is to be multiplied by, to be in that of the column."""
        if self.unit is not None and same_unit(unit, self.unit):
            return 1.0
        if same_unit(unit, "%") and self.hundredths:
            return 0.01
        if self.unit is not None:
            raise self._complaint(cell, f"the column is in {self.unit}; write a number in {self.unit}")
        if same_unit(unit, "%"):
            raise self._complaint(
                cell,
                f'it is not said whether that is {number} or a hundredth of it; write the number alone, or unit = "%" '
                f"for {self.name} in the definition if its numbers are percent",
            )
        if unit[0].isalpha() or unit[0] in "°µ":
            raise self._complaint(
                cell, f'write {number}, or unit = "{unit}" for {self.name} in the definition if all are in {unit}'
            )
        raise self._complaint(cell, self._why(f"{number} {unit}"))

    def _why(self, text: str) -> str:
        """What to write instead of something that is no number."""
        about, limit = ABOUT.fullmatch(text), LIMIT.fullmatch(text)
        more = ", and sd in a column sd" if self.is_result else ""
        if about and re.match(NUMBER, about["number"]):
            return f"write the plain number, {about['number']}{more}"
        if RANGE.fullmatch(text):
            return f"a range is no number; write its middle{more}"
        if limit and self.is_result:
            usual = f"the limit itself, {limit['number']}, is usual"
            return f"write a plain number ({usual}), failed if it could not be measured, or leave it empty"
        if text.casefold() in NOTHING and self.is_result:
            return "write failed if it was run and gave nothing, or leave it empty if it is still to be run"
        if limit or text.casefold() in NOTHING:
            return "write the number that was set"
        return "" if text else "it is empty"

    def _complaint(self, cell: str, why: str) -> DataError:
        return DataError(f'column "{self.name}" needs a number; received {cell!r}{": " + why if why else ""}.')


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _tidied(cell: str) -> str:
    """The text of a cell with plain spaces and a plain minus; what cannot be seen is left out."""
    visible = "".join(letter for letter in cell if unicodedata.category(letter) != "Cf")
    return re.sub(r"\s+", " ", visible).strip().replace("\N{MINUS SIGN}", "-")


def same_unit(unit: str, other: str) -> bool:
    """Return whether two units are the same, however they are written."""
    return _plain_unit(unit) == _plain_unit(other)


def _plain_unit(unit: str) -> str:
    """A unit without what is written this way and that: °C and C, µ and μ, ml and mL, percent and %."""
    text = unicodedata.normalize("NFKC", unit.replace("º", "°")).replace(" ", "").strip(".")
    if text.casefold() in ("percent", "pct", "prozent"):
        return "%"
    text = re.sub(r"^(°|deg\.?)(?=[CFK]$)", "", text)
    return text.replace("l", "L")
