"""What people type to name a point: the number of a trial, or all parameters as name=value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xstar.errors import DataError, SpaceError
from xstar.files.cells import number_format, read_cell
from xstar.space import Space


def trial_number(words: Sequence[str]) -> int | None:
    """Return the number of a trial, if that is what was typed."""
    return int(words[0]) if len(words) == 1 and words[0].strip().isdecimal() else None


def parse_params(pairs: Sequence[str], space: Space) -> dict[str, Any]:
    """Return the parameters in name=value pairs."""
    given = {}
    for pair in pairs:
        name, text = _split(pair, space)
        if name in given:
            raise SpaceError(f"the parameter {name!r} is given twice.")
        try:
            given[name] = read_cell(text, space.parameters[name], number_format(name, space.parameters[name]))
        except DataError as error:
            raise DataError(str(error).replace("column ", "parameter ", 1)) from error
    return space.accept(given)


def split_outputs(words: Sequence[str], space: Space, outputs: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the pairs that name parameters, and the texts of several outputs by name."""
    pairs: list[str] = []
    told: dict[str, str] = {}
    for word in words:
        typed = word.removeprefix(" ")
        known = [name for name in (*space.parameters, *outputs) if typed.startswith(f"{name}=")]
        name = max(known, key=len, default="")
        if name not in outputs:
            pairs.append(word)
        elif name in told:
            raise DataError(f"the output {name!r} is given twice.")
        else:
            told[name] = typed[len(name) + 1 :]
    return tuple(pairs), told


def _split(pair: str, space: Space) -> tuple[str, str]:
    """The name and the value.

    Names may have an equals sign in them; a blank before one that begins with a dash keeps it from being an option.
    """
    names = list(space.parameters)
    for typed in (pair, pair.removeprefix(" ")):
        known = [name for name in names if typed.startswith(f"{name}=")]
        if known:
            name = max(known, key=len)
            return name, typed[len(name) + 1 :]
    name, equals, _ = pair.partition("=")
    if not equals:
        raise DataError(f"{pair!r} is neither the number of a trial nor a parameter such as {names[0]}=...")
    raise SpaceError(f"there is no parameter {name!r}; the parameters are {', '.join(names)}.")
