"""How parameters are read, and values of them, in words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from xstar.files.definition import Definition
from xstar.space import Space
from xstar.trial import Explanation, Recommendation
from xstar.views.ranges import range_in_words


def how_read(space: Space, whole_by_bounds: Collection[str] = ()) -> dict[str, str]:
    """Return for each parameter how it is read."""
    return {
        name: range_in_words(parameter) + (" (as its bounds are written)" if name in whole_by_bounds else "")
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


def as_data(found: Recommendation | Explanation) -> dict[str, Any]:
    """Return what was found at a point, for an answer in JSON: several outputs have their numbers by name."""
    data = asdict(found)
    del data["outputs"]
    outputs = {name: forecast._asdict() for name, forecast in found.outputs.items()}
    return {**data, "outputs": outputs} if outputs else data


def listed(names: Sequence[str]) -> str:
    """Return names as they are listed in a sentence: 'yield', 'cost' and 'impurity'."""
    *first, last = map(repr, names)
    return f"{', '.join(first)} and {last}" if first else last


def lines_of(texts: Mapping[str, str], mark: str = "=") -> str:
    """Return texts by name in lines of a column."""
    width = max(map(len, texts), default=0)
    return "\n".join(f"  {name:<{width}} {mark} {text}" for name, text in texts.items())
