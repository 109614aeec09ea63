"""Numbers as a person writes them: as many digits as mean something, and no powers of ten where none are needed."""

from __future__ import annotations

import math

SMALLEST, LARGEST = 1e-4, 1e7
"""Numbers between these are written without a power of ten."""


def with_digits(value: float, digits: int) -> str:
    """Return a number with so many significant digits, without zeros at the end.

    Examples
    --------
    >>> from xstar.numerics.rounding import with_digits
    >>> [with_digits(value, 4) for value in (999.99999, 12345.6, 0.30004, 2.5e-9)]
    ['1000', '12346', '0.3', '2.5e-09']
    """
    if not math.isfinite(value) or value == 0.0:
        return f"{value:g}"
    rounded = float(f"{value:.{max(digits, 1) - 1}e}")
    if not SMALLEST <= abs(rounded) < LARGEST:
        return f"{value:.{max(digits, 1)}g}"
    decimals = max(digits - 1 - math.floor(math.log10(abs(rounded))), 0)
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def with_sd(value: float, sd: float) -> str:
    """Return a value with its standard deviation, and no more digits than that allows.

    Examples
    --------
    >>> from xstar.numerics.rounding import with_sd
    >>> [with_sd(0.925314, 0.0123), with_sd(-3163.7, 41.0), with_sd(2.5, 0.0)]
    ['0.925 ± 0.012', '-3164 ± 41', '2.5 ± 0']
    """
    shown = to_resolution(value, sd / 20) if sd > 0.0 else with_digits(value, 6)
    return f"{shown} ± {with_digits(sd, 2)}"


def to_resolution(value: float, resolution: float) -> str:
    """Return a number rounded to about a resolution, a positive one.

    Examples
    --------
    >>> from xstar.numerics.rounding import to_resolution
    >>> [to_resolution(value, 0.01) for value in (55.123456, 90.0, 1e-9)]
    ['55.12', '90', '0']
    """
    if not math.isfinite(value) or not 0.0 < resolution < math.inf:
        return f"{value:g}"
    if abs(value) < resolution / 2:
        return "0"
    last = math.ceil(math.log10(resolution) - 1e-9)
    return with_digits(value, min(max(math.floor(math.log10(abs(value))) - last + 1, 1), 17))


def between(low: float, high: float, *, by_ratio: bool = False) -> tuple[str, str]:
    """Return the ends of an interval with as many digits as its width gives a meaning.

    Parameters
    ----------
    low, high : float
        The ends.
    by_ratio : bool
        Whether the ends differ by ratios, so that each has digits of its own.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> from xstar.numerics.rounding import between
    >>> between(0.298225, 0.301663), between(2.123e-5, 0.0345, by_ratio=True)
    (('0.2982', '0.3017'), ('2.1e-05', '0.035'))
    """
    width = abs(high - low)
    if not 0.0 < width < math.inf:
        return with_digits(low, 6), with_digits(high, 6)
    size = [min(width, abs(end)) or width for end in (low, high)] if by_ratio else [width, width]
    return to_resolution(low, size[0] / 50), to_resolution(high, size[1] / 50)
