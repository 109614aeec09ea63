"""How parameters are read, and values of them, in words."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from xstar.files.definition import Definition
from xstar.space import Integer, Listed, Ordinal, Parameter, Real, Space

MOST_CHOICES = 8
"""How many are listed."""


def how_read(space: Space, whole_by_bounds: Collection[str] = ()) -> dict[str, str]:
    """Return for each parameter how it is read."""
    return {
        name: _described(parameter) + (" (as its bounds are written)" if name in whole_by_bounds else "")
        for name, parameter in space.parameters.items()
    }


def doubts(definition: Definition) -> list[str]:
    """Return what may be meant otherwise: whole numbers with a unit, such as 20 to 90 °C."""
    return [
        f'{name} is read as whole numbers, because low and high are; if it may have decimals, write type = "real" for '
        f'it in the definition (type = "integer" if it may not)'
        for name, parameter in definition.space.parameters.items()
        if name in definition.whole_by_bounds and parameter.unit is not None
    ]


def shown(params: Mapping[str, Any], space: Space | None) -> dict[str, str]:
    """Return the values of parameters as people write them."""
    known = {} if space is None else space.parameters
    return {name: known[name].show(value) if name in known else str(value) for name, value in params.items()}


def lines_of(texts: Mapping[str, str], mark: str = "=") -> str:
    """Return texts by name in lines of a column."""
    width = max(map(len, texts), default=0)
    return "\n".join(f"  {name:<{width}} {mark} {text}" for name, text in texts.items())


def _described(parameter: Parameter) -> str:
    if isinstance(parameter, Listed):
        kind = "levels, in this order:" if isinstance(parameter, Ordinal) else "one of"
        names = [parameter.show(choice) for choice in parameter.alternatives[:MOST_CHOICES]]
        more = len(parameter.alternatives) - len(names)
        return f"{kind} {', '.join(names)}" + (f" and {more} more" if more > 0 else "")
    if not isinstance(parameter, Integer | Real):
        return repr(parameter)
    unit = "" if parameter.unit is None else f" {parameter.unit}"
    low, high = parameter.show(parameter.low, unit=False), parameter.show(parameter.high, unit=False)
    if parameter.low == parameter.high:
        return f"fixed at {low}{unit}"
    kind = "whole numbers" if isinstance(parameter, Integer) else "real numbers"
    step = "" if parameter.step in (None, 1) else f" in steps of {parameter.step:g}"
    return f"{kind} {low} to {high}{unit}{step}" + (", by their logarithm" if parameter.log else "")
