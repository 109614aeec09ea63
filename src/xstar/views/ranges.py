"""What a parameter may be, in words."""

from __future__ import annotations

from xstar.space import Integer, Listed, Ordinal, Parameter, Real

MOST_CHOICES = 8
"""How many are listed."""


def range_in_words(parameter: Parameter) -> str:
    """Return the kind of a parameter and its range, or its choices.

    Examples
    --------
    >>> import xstar
    >>> from xstar.views.ranges import range_in_words
    >>> range_in_words(xstar.Real(20, 90, unit="°C"))
    'real numbers 20 to 90 °C'
    """
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
