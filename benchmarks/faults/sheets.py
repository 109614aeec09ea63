"""`xstar csv` killed: every row that was there is there, byte for byte, and the copy of the file is whole."""

from __future__ import annotations

import os
import struct
import zlib
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.faults.counts import Counts, moments
from benchmarks.faults.processes import Child, elsewhere
from xstar.cli import main

SECONDS = 0.8
ROWS = 60
"""After so many the next spreadsheet is begun."""
DEFINITION = """
direction = "maximize"
method = "random"
result = "value"
[parameters]
x = { low = 0.0, high = 1.0 }
y = { low = 0.0, high = 1.0 }
"""
HEADER = "x,y,value"
RECORD = struct.Struct("qI")
"""The length of a file and its checksum."""


def kill_sheets(count: int, rng: np.random.Generator, folder: Path) -> Counts:
    """Kill `xstar csv` on a spreadsheet in which somebody fills in results."""
    counts, books = Counts("csv", seconds=SECONDS), 0
    sheet = begin(folder, books)
    for moment in moments(count, SECONDS, rng):
        if counts.kills == count:
            break
        if sheet.exists() and sheet.read_bytes().count(b"\n") > ROWS:
            books += 1
            sheet = begin(folder, books)
        _kill_once(counts, moment, sheet)
    return counts


def begin(folder: Path, number: int) -> Path:
    """A place for a spreadsheet, with its definition."""
    sheet = folder / f"sheet{number}.csv"
    sheet.with_suffix(".toml").write_text(DEFINITION, encoding="utf-8")
    return sheet


def _kill_once(counts: Counts, moment: float, sheet: Path) -> None:
    counts.kills += 1
    reading, writing = os.pipe()
    before = sheet.read_bytes() if sheet.exists() else b""
    with Child(partial(_work, sheet, writing)) as child:
        os.close(writing)
        if not child.kill_after(moment):
            counts.count("lost", 1, f"xstar csv ended by itself: {child.text()[-300:]}")
        with os.fdopen(reading, "rb") as pipe:
            told = pipe.read()
    records = list(RECORD.iter_unpack(told))
    counts.acknowledged += len(records)
    content = sheet.read_bytes() if sheet.exists() else b""
    # What somebody has filled in since stands at the end of the last row.
    length, checksum = records[-1] if records else (len(before), zlib.crc32(before[:-1]))
    kept = not length or (len(content) >= length and zlib.crc32(content[: length - 1]) == checksum)
    counts.count("lost", not kept, f"{sheet.name} had {length} bytes that are not there")
    for path in (sheet, sheet.with_name(f"{sheet.name}.bak")):
        counts.count("half_written", not _is_whole(path), f"{path.name} is not whole")
    if elsewhere(partial(_step, sheet)) != 0:
        counts.count("lost", 1, "the next xstar csv complains")
    strays = list(sheet.parent.glob(".*.part"))
    counts.count("strays", len(strays), f"{strays} are left")


def _is_whole(path: Path) -> bool:
    """Whether every row of a table has its end, and every result is what was filled in."""
    if not path.exists():
        return True
    header, *rows, end = path.read_text(encoding="utf-8").split("\n")
    return header == HEADER and end == "" and all(_is_right(row.split(","), k) for k, row in enumerate(rows))


def _is_right(cells: list[str], number: int) -> bool:
    return len(cells) == 3 and all(cells[:2]) and cells[2] in ("", str(number))


def fill_in(sheet: Path) -> None:
    """What people do between two commands: the result of each row is its number."""
    header, *rows = sheet.read_text(encoding="utf-8").splitlines()
    filled = [f"{row}{number}" if row.endswith(",") else row for number, row in enumerate(rows)]
    new = sheet.with_suffix(".new")
    new.write_text("\n".join([header, *filled, ""]), encoding="utf-8")
    new.replace(sheet)


def _work(sheet: Path, told: int) -> int:
    """Fill in results and ask for rows, until killed."""
    while True:
        if sheet.exists():
            fill_in(sheet)
        code = main(["csv", str(sheet), "--json"])
        if code:
            return code
        content = sheet.read_bytes()
        os.write(told, RECORD.pack(len(content), zlib.crc32(content[:-1])))


def _step(sheet: Path) -> int:
    with open(os.devnull, "w") as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 1)
        if sheet.exists():
            fill_in(sheet)
        return main(["csv", str(sheet), "--json"])
