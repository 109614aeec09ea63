"""Numbers as the pages write them."""

from __future__ import annotations

DASH = "-"
"""What was not measured."""


def regret(value: float) -> str:
    """Two digits: 0.24, 1.5, and below a tenth 2.8e-7."""
    return f"{value:#.2g}" if value >= 0.0995 else power(f"{value:.1e}")


def power(text: str) -> str:
    """A number in scientific notation without the zeros of its exponent: 1e-6."""
    digits, _, exponent = text.partition("e")
    return f"{digits}e{int(exponent)}" if exponent else digits


def seconds(value: float | None, digits: int = 2) -> str:
    """Seconds, or a ratio of them: from ten on without decimals."""
    if value is None:
        return DASH
    return f"{value:.0f}" if value >= 10.0 else f"{value:.{digits}f}"


def share(value: float) -> str:
    """In per cent."""
    return f"{100.0 * value:.0f} %"


def thousands(value: int) -> str:
    """A count, its thousands apart."""
    return f"{value:,}".replace(",", " ")
