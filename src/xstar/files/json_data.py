"""Data as JSON can hold them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def as_json_data(value: Any) -> Any:
    """Return what JSON can hold: numbers that are not finite become null, keys strings, anything else its `repr`."""
    if isinstance(value, Mapping):
        return {str(key): as_json_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json_data(item) for item in value]
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()  # a scalar of NumPy
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float | bool) else repr(value)
