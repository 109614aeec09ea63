"""The points that a run begins with: to evaluate, or with values that are known already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from xstar.errors import DataError, SettingsError
from xstar.optimizer import Optimizer
from xstar.run.outcome import Reader


def start_with(optimizer: Optimizer, x0: Any, y0: Any) -> list[dict[str, Any]]:
    """Tell the points whose values are known; return those to evaluate first."""
    if x0 is None:
        if y0 is not None:
            raise SettingsError("y0 has values of the points x0; give these too.")
        return []
    single = _is_point(optimizer, x0)
    points = [optimizer.space.accept(point) for point in ([x0] if single else x0)]
    if y0 is None:
        return [optimizer.space.held(point) for point in points]
    values = [y0] if single and not isinstance(y0, list) else _listed(y0)
    if len(values) != len(points):
        raise DataError(f"x0 has {len(points)} points and y0 {len(values)} values.")
    reader = Reader(optimizer.goals)
    told = [(point, *reader.read(value)) for point, value in zip(points, values, strict=True)]
    for point, value, sd in told:
        optimizer.tell(point, value, sd)
    return []


def _is_point(optimizer: Optimizer, x0: Any) -> bool:
    """Whether it is one point and no list of them."""
    if isinstance(x0, Mapping):
        return True
    if isinstance(x0, str | bytes) or not isinstance(x0, Iterable):
        raise SettingsError(f"x0 is a point or a list of points; received {x0!r}.")
    inside = list(x0)
    nested = (isinstance(item, Mapping | list | tuple) or getattr(item, "ndim", 0) > 0 for item in inside)
    return optimizer.space.positional and not any(nested)


def _listed(y0: Any) -> list[Any]:
    if isinstance(y0, str | bytes | Mapping) or not isinstance(y0, Iterable):
        raise SettingsError(f"y0 is a list of the values of x0; received {y0!r}.")
    return list(y0)
