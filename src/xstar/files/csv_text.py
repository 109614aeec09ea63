"""The text of a CSV file: its rows, and the same text with more of them.

What is there is kept byte for byte. What is added looks like it: the same encoding, separator and line ends.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xstar.errors import FileError
from xstar.files.letters import armed
from xstar.files.titles import find_title, folded, without_unit
from xstar.files.written_numbers import THOUSANDS

SEPARATORS = (",", ";", "\t")
DECIMAL = re.compile(r"[+-]?\d*([.,])\d+([eE][+-]?\d+)?")
"""A number with decimals."""


class Record(NamedTuple):
    """A row of a file."""

    row: int
    """Its number as spreadsheets show it: the first is 1, and blank lines count."""
    cells: list[str]
    lines: int
    """How many lines the text has up to its end; a cell in quotes may have several."""


@dataclass(frozen=True)
class CsvText:
    """A header and rows."""

    header: list[str]
    records: list[Record]
    """The rows below the header that have anything in them."""
    content: bytes
    end: int
    """How many bytes the content has up to the end of the last record; blank rows may follow."""
    encoding: str
    separator: str
    line_end: str

    def column(self, name: str, names: Collection[str]) -> int | None:
        """Return where a column is, by its name; `names` are those of all columns that are looked for."""
        return find_title(self.header, name, names)

    def has_decimal_commas(self, columns: Iterable[int]) -> bool:
        """Return whether decimals in some columns have a comma: most do, or there are none and semicolons separate.

        Semicolons are what spreadsheets use where the comma is taken. 1,000 says nothing, because it may be a thousand.
        """
        wanted = list(columns)
        texts = [record.cells[k].strip() for record in self.records for k in wanted if k < len(record.cells)]
        marks = [match[1] for text in texts if not THOUSANDS.fullmatch(text) and (match := DECIMAL.fullmatch(text))]
        commas, points = marks.count(","), marks.count(".")
        return (self.separator == ";" and commas >= points) or (self.separator == "\t" and commas > points)

    def with_rows(self, rows: Iterable[Sequence[str]]) -> bytes:
        """Return the content with rows added after the last one that is not blank."""
        before, after = self.content[: self.end], self.content[self.end :]
        lines = [line_of(row, self.separator) + self.line_end for row in rows]
        text = ("" if before.endswith((b"\n", b"\r")) else self.line_end) + "".join(lines)
        try:
            return before + text.encode(self.encoding) + after
        except UnicodeEncodeError as error:
            raise FileError(
                f"a new row has {text[error.start : error.end]!r} in it, which the encoding of the file, "
                f"{self.encoding}, lacks; save the file as UTF-8."
            ) from error


def line_of(cells: Iterable[str], separator: str = ",") -> str:
    """Return a row as it is read back: a cell is in quotes if it needs them.

    Spaces at its ends do, because they are skipped otherwise; so does a carriage return, which csv.writer would leave
    as it is.
    """
    return separator.join(_quoted(cell, separator) for cell in cells)


def _quoted(cell: str, separator: str) -> str:
    needed = cell != cell.strip() or any(special in cell for special in (separator, '"', "\n", "\r"))
    return '"' + cell.replace('"', '""') + '"' if needed else cell


def parse(content: bytes, names: Collection[str]) -> CsvText:
    """Return the table in a file's content; its separator is the one by which the header has most of the names."""
    text, encoding = decode(content)
    lines = list(io.StringIO(text, newline="")) or [""]
    wanted = {folded(name) for name in names}

    def names_found(separator: str) -> tuple[int, int]:
        header = next((record.cells for record in _records(lines, separator)), [])
        titles = [{folded(title), folded(without_unit(title))} for title in map(armed, header)]
        return sum(not title.isdisjoint(wanted) for title in titles), len(header)

    separator = max(SEPARATORS, key=names_found)
    header, *records = _closed_records(lines, separator)
    for record in records:
        if any(cell.strip() for cell in record.cells[len(header.cells) :]):
            raise FileError(
                f"row {record.row} has {len(record.cells)} cells, but the header has {len(header.cells)}; write cells "
                f"that have a {separator!r} in them in quotes."
            )
    kept = "".join(lines[: (records or [header])[-1].lines])
    marked = encoding == "utf-8" and content.startswith(codecs.BOM_UTF8)
    return CsvText(
        header=header.cells,
        records=records,
        content=content,
        end=len(kept.encode(encoding)) + (len(codecs.BOM_UTF8) if marked else 0),
        encoding=encoding,
        separator=separator,
        line_end=_line_end(lines[header.lines - 1]) or "\n",
    )


def decode(content: bytes) -> tuple[str, str]:
    """Return the text and its encoding: UTF-8, with or without a mark, or cp1252, as Excel writes on Windows."""
    if b"\0" in content:
        raise FileError('this is not the text of a CSV file; save it as "CSV UTF-8".')
    try:
        return content.decode("utf-8-sig"), "utf-8"
    except UnicodeDecodeError:
        pass
    try:
        return content.decode("cp1252"), "cp1252"
    except UnicodeDecodeError as error:
        raise FileError(
            f"the encoding is neither UTF-8 nor cp1252, which has no byte {content[error.start]:#x}; save the file as "
            '"CSV UTF-8".'
        ) from error


def _records(lines: Iterable[str], separator: str) -> Iterator[Record]:
    """The rows that have anything in them."""
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    try:
        for k, cells in enumerate(reader):
            if any(cell.strip() for cell in cells):
                yield Record(k + 1, cells, reader.line_num)
    except csv.Error as error:
        raise FileError(f"line {reader.line_num} cannot be read: {error}.") from error


def _closed_records(lines: list[str], separator: str) -> list[Record]:
    """The same, if another line below would be a row of its own; a quote that is never closed would swallow it."""
    *above, last = lines
    below = ["below"]
    *records, end = _records([*above, last if _line_end(last) else last + "\n", *below], separator)
    if end.cells != below:
        raise FileError(f'row {end.row} has a quote (") that is opened and never closed.')
    if not records:
        raise FileError("there is no header.")
    return records


def _line_end(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]
