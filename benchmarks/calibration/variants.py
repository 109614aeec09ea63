"""The models whose claims are compared, by name."""

from __future__ import annotations

from collections.abc import Callable

from xstar import Method

VARIANTS: dict[str, Callable[[], Method]] = {
    "default": Method,
}
