"""Texts of users where they could be more than texts: on a terminal, in a spreadsheet, as the name of a file.

visible      no escape moves the cursor, no mark turns the direction of the line
disarmed     no spreadsheet computes it; `armed` is the way back
file_name    no folder is left, and different texts are different files
"""

from __future__ import annotations

import hashlib
import re

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but tabs and ends of lines, marks of direction, halves of letters."""
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What spreadsheets take for the beginning of a formula."""
NEGATIVE = re.compile(r"-\d+(\.\d*)?([eE][+-]?\d+)?")
"""A number, which stays what it is."""
LONGEST_NAME = 160
"""Bytes of the name of a file; most systems have 255, and endings need some."""


def visible(text: str) -> str:
    r"""Return a text in which characters that do something are shown as escapes.

    Examples
    --------
    >>> from xstar.files.letters import visible
    >>> visible("\x1b[31mred")
    '\\x1b[31mred'
    """
    return CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def disarmed(text: str) -> str:
    """Return a text for the cell of a spreadsheet; one that looks like a formula gets an apostrophe.

    Examples
    --------
    >>> from xstar.files.letters import disarmed
    >>> disarmed("=1+1"), disarmed("-1.5")
    ("'=1+1", '-1.5')
    """
    return f"'{text}" if text.lstrip("'").startswith(FORMULA) and not NEGATIVE.fullmatch(text) else text


def armed(text: str) -> str:
    """Return the text that was disarmed."""
    return text[1:] if text[:1] == "'" and disarmed(text[1:]) == text else text


def file_name(text: str) -> str:
    """Return a text as the name of a file: itself, or what is like it and no other text's.

    Examples
    --------
    >>> from xstar.files.letters import file_name
    >>> file_name("tuning, second try"), file_name("../tuning")
    ('tuning, second try', '_tuning-35f660a6')
    """
    plain = re.sub(r'[/\\:*?"<>|\t\n]|' + CONTROLS.pattern, "_", text).strip().lstrip(".")
    plain = plain.encode("utf-8")[:LONGEST_NAME].decode("utf-8", "ignore")
    if plain == text:
        return text
    return f"{plain}-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
