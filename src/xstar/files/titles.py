"""Which column is meant: names ignore case, blanks, byte order marks, and a unit in brackets behind them.

Likewise they ignore the apostrophe that keeps a name from being a formula.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence

from xstar.errors import DataError
from xstar.files.letters import armed

UNIT = re.compile(r"\s*(\[([^\[\]]|\[[^\[\]]*\])*\]|\((?:[^()]|\([^()]*\))*\))$")
"""Brackets at the end, which may have others inside: [mol/[L]], (1/(L s))."""


def find_title(titles: Sequence[str], name: str, names: Collection[str]) -> int | None:
    """Return where a column is: the one with exactly this name, else with a unit behind it, else in other letters.

    `names` are those of all columns that are looked for: none of them is another one with a unit.
    """
    others = {other.strip() for other in names} - {name.strip()}
    free = {k: title for k, title in enumerate(map(armed, titles)) if title.strip() not in others}
    wanted = name.strip()
    for same in (
        lambda title: title.strip() == wanted,
        lambda title: without_unit(title) == wanted,
        lambda title: folded(title) == folded(wanted),
        lambda title: folded(without_unit(title)) == folded(wanted),
    ):
        found = [k for k, title in free.items() if same(title) or same(titles[k])]
        if len(found) > 1:
            both = quoted(titles[k] for k in found)
            raise DataError(f'"{name}" has {len(found)} columns, {both}; rename all but one.')
        if found:
            return found[0]
    return None


class NoColumnError(DataError):
    """A column that is not there: in none of the rows, so that one complaint is enough."""


def no_column(name: str, titles: Sequence[str]) -> NoColumnError:
    """Return the complaint about a column that is not there, with what may have been meant."""
    shown = [title for title in titles if title.strip()]
    plain = {folded(without_unit(title)): title for title in shown}
    meant = difflib.get_close_matches(folded(name), list(plain), n=1, cutoff=0.6)
    hint = f"; did you mean {quoted([plain[meant[0]]])}? Rename it in the file or in the definition" if meant else ""
    return NoColumnError(f'there is no column "{name}"; the columns are {quoted(shown)}{hint}.')


def without_unit(title: str) -> str:
    """Return the name of a column without a unit in brackets at its end: temperature, of "temperature [°C]"."""
    return UNIT.sub("", title.strip())


def unit_of(title: str) -> str | None:
    """Return the unit in brackets at the end of a title: °C, of "temperature [°C]"."""
    found = UNIT.search(title.strip())
    return found[1][1:-1].strip() or None if found else None


def folded(title: str) -> str:
    """Return a title for comparison: in small letters, without what cannot be seen, with single blanks."""
    visible = "".join(letter for letter in title if unicodedata.category(letter) != "Cf")
    return " ".join(unicodedata.normalize("NFKC", visible).casefold().split())


def quoted(titles: Iterable[str]) -> str:
    """Return titles of columns for a message."""
    lines = (" ".join(title.split()) for title in titles)
    return ", ".join(f'"{line}"' for line in lines)
