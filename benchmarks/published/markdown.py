"""Markdown with generated tables: the markers around them, what is between, and tables as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

Lines = list[str]
"""Of a page, without line breaks."""
BLOCK = re.compile(r"<!-- table: (?P<name>\w+) -->\n(?P<lines>.*?)<!-- end of table -->", re.DOTALL)
MARKER = re.compile(r"<!-- (?:table: \w+|end of table) -->")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Lines:
    """A table of cells."""
    lines = [_row(head), "|" + "---|" * len(head)]
    for row in rows:
        if len(row) != len(head):
            raise ValueError(f"a row has {len(row)} cells, the head of its table {len(head)}: {row}")
        lines.append(_row(row))
    return lines


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def names(text: str) -> list[str]:
    """The tables that a page has a place for, in their order."""
    blocks = list(BLOCK.finditer(text))
    if len(MARKER.findall(text)) != 2 * len(blocks):
        raise ValueError("a marker has no partner: every <!-- table: name --> needs its <!-- end of table -->.")
    return [block["name"] for block in blocks]


def fill(text: str, tables: Mapping[str, Lines]) -> str:
    """The page with these tables in their places; it must have a place for each, and no others."""
    places = names(text)
    if sorted(places) != sorted(tables):
        raise ValueError(f"the page has places for {sorted(places)}, and its tables are {sorted(tables)}.")

    def block(found: re.Match[str]) -> str:
        return "\n".join([f"<!-- table: {found['name']} -->", *tables[found["name"]], "<!-- end of table -->"])

    return BLOCK.sub(block, text)


def stale(text: str, tables: Mapping[str, Lines]) -> list[str]:
    """The tables whose text in the page is not what it should be."""
    now = {block["name"]: block["lines"] for block in BLOCK.finditer(text)}
    wanted = {block["name"]: block["lines"] for block in BLOCK.finditer(fill(text, tables))}
    return [name for name in wanted if now[name] != wanted[name]]


def outside(text: str) -> str:
    """The page without its generated tables."""
    return BLOCK.sub("", text)
