"""Records as small tables of HTML, for notebooks.

Colors and fonts are those of the page, so that a card is legible on a light and on a dark one.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

CELL = "padding: .15em .8em; border-bottom: 1px solid rgba(128, 128, 128, .3); text-align: {}"
BOX = (
    "display: inline-block; vertical-align: top; margin: .2em .2em .2em 0; border: 1px solid rgba(128, 128, 128, .4); "
    "border-radius: .4em; padding: .5em .8em"
)


def card(
    title: str, rows: Iterable[Sequence[str]], note: str = "", *, head: Sequence[str] = (), inner: str = ""
) -> str:
    """Return a titled table; a note stands below it, `inner` is HTML below that.

    Examples
    --------
    >>> from xstar.cards import card
    >>> "<td" in card("Recommended", [("x", "0.3")])
    True
    """
    body = "".join(_row(cells, "td") for cells in rows)
    table = f'<table style="border-collapse: collapse; margin: .3em 0">{_row(head, "th") if head else ""}{body}</table>'
    below = f'<div style="opacity: .8">{html.escape(note)}</div>' if note else ""
    return f'<div style="{BOX}"><strong>{html.escape(title)}</strong>{table}{below}{inner}</div>'


def _row(cells: Sequence[str], kind: str) -> str:
    aligned = ["left", *["right" if kind == "th" or _is_number(cell) else "left" for cell in cells[1:]]]
    return "<tr>" + "".join(
        f'<{kind} style="{CELL.format(where)}">{html.escape(cell)}</{kind}>'
        for cell, where in zip(cells, aligned, strict=True)
    ) + "</tr>"  # fmt: skip


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
