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
    names = list(space.parameters)
    given = {}
    for pair in pairs:
        # A name may have "=" in it, and so may a text: the longest name that fits is meant.
        fitting = [known for known in names if pair.startswith(f"{known}=")]
        name, equals, text = pair.partition("=")
        if fitting:
            name = max(fitting, key=len)
            text = pair[len(name) + 1 :]
        if not equals:
            raise DataError(f"{pair!r} is neither the number of a trial nor a parameter such as {names[0]}=...")
        if name not in space.parameters:
            raise SpaceError(f"there is no parameter {name!r}; the parameters are {', '.join(names)}.")
        if name in given:
            raise SpaceError(f"the parameter {name!r} is given twice.")
        try:
            given[name] = read_cell(text, space.parameters[name], number_format(name, space.parameters[name]))
        except DataError as error:
            raise DataError(str(error).replace("column ", "parameter ", 1)) from error
    return space.accept(given)
