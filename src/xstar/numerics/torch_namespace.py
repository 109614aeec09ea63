"""The array API standard for torch, for what is called thousands of times in a suggestion.

array-api-compat turns every number beside an array into an array, which on a GPU is a copy that all work waits for;
here numbers go to torch as they are. It assumes what holds in this package: floats are float64, or float32 on both
sides. Every function that is not here is array-api-compat's; of `linalg` there is what this package uses.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import torch
from array_api_compat import torch as standard

Tensor: TypeAlias = Any
"""torch is not there where types are checked."""
Axes: TypeAlias = int | tuple[int, ...] | None

abs = torch.abs  # noqa: A001
cos = torch.cos
exp = torch.exp
isfinite = torch.isfinite
isinf = torch.isinf
isnan = torch.isnan
log = torch.log
log1p = torch.log1p
matmul = torch.matmul
reshape = torch.reshape
sign = torch.sign
sin = torch.sin
sqrt = torch.sqrt
where = torch.where
ones_like = torch.ones_like
zeros_like = torch.zeros_like
broadcast_to = torch.broadcast_to
float32, float64, int64 = torch.float32, torch.float64, torch.int64
inf, nan = float("inf"), float("nan")


def __getattr__(name: str) -> Any:
    return getattr(standard, name)


def maximum(x: Tensor, y: Tensor | float) -> Tensor:
    """The larger of two, entry by entry."""
    return torch.maximum(x, y) if isinstance(y, torch.Tensor) else torch.clamp(x, min=y)


def minimum(x: Tensor, y: Tensor | float) -> Tensor:
    """The smaller of two, entry by entry."""
    return torch.minimum(x, y) if isinstance(y, torch.Tensor) else torch.clamp(x, max=y)


def clip(x: Tensor, min: Any = None, max: Any = None) -> Tensor:  # noqa: A002
    """The entries, moved into an interval."""
    return torch.clamp(x, min, max)


def sum(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:  # noqa: A001
    """The sum along some axes."""
    return torch.sum(x) if axis is None else torch.sum(x, axis, keepdim=keepdims)


def mean(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The mean along some axes."""
    return torch.mean(x) if axis is None else torch.mean(x, axis, keepdim=keepdims)


def max(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:  # noqa: A001
    """The largest along some axes."""
    return torch.amax(x, () if axis is None else axis, keepdim=keepdims)


def min(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:  # noqa: A001
    """The smallest along some axes."""
    return torch.amin(x, () if axis is None else axis, keepdim=keepdims)


def all(x: Tensor, axis: Axes = None) -> Tensor:  # noqa: A001
    """Whether all are true along an axis."""
    if isinstance(axis, tuple):
        return standard.all(x, axis=axis)
    return torch.all(x) if axis is None else torch.all(x, axis)


def any(x: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:  # noqa: A001
    """Whether one is true along an axis."""
    return torch.any(x) if axis is None else torch.any(x, axis, keepdim=keepdims)


def concat(arrays: list[Tensor], axis: int = 0) -> Tensor:
    """Arrays one after the other."""
    return torch.cat(arrays, axis)


def stack(arrays: list[Tensor], axis: int = 0) -> Tensor:
    """Arrays side by side on a new axis."""
    return torch.stack(arrays, axis)


def permute_dims(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """The axes in another order."""
    return x.permute(axes)


def take(x: Tensor, indices: Tensor, axis: int) -> Tensor:
    """Slices along an axis, by their positions."""
    return torch.index_select(x, axis, indices)


def astype(x: Tensor, dtype: Any) -> Tensor:
    """Another type of number."""
    return x.to(dtype)


class linalg:
    """The standard's functions of matrices."""

    cholesky = torch.linalg.cholesky
    inv = torch.linalg.inv
    solve = torch.linalg.solve

    @staticmethod
    def matrix_transpose(x: Tensor) -> Tensor:
        """Of the last two axes."""
        return x.mT

    @staticmethod
    def diagonal(x: Tensor) -> Tensor:
        """Of the last two axes."""
        return torch.diagonal(x, 0, -2, -1)

    @staticmethod
    def vecdot(x: Tensor, y: Tensor) -> Tensor:
        """Inner products along the last axis."""
        return torch.sum(x * y, -1)

    @staticmethod
    def vector_norm(x: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
        """Lengths along an axis."""
        return torch.linalg.vector_norm(x, dim=axis, keepdim=keepdims)
