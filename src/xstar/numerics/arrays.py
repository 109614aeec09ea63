"""Which namespace, which device, which dtype; and what the array API standard lacks.

All numerical modules take arrays of any array-API namespace (NumPy, torch, CuPy, ...), ask this module for the
namespace and stay inside the standard. With `torch_namespace`, which it hands out for torch, it is the only one that
knows a backend by name. Random numbers are drawn by NumPy generators and moved, so every backend sees the same draws.
Everything is float64, except where a docstring says why not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, TypeAlias

import array_api_compat
import numpy as np
import numpy.typing as npt

Array: TypeAlias = Any
"""An array of any array-API namespace; the standard has no static type for it."""
Namespace: TypeAlias = Any
"""A module with the functions of the array API standard."""
HostArray: TypeAlias = npt.NDArray[Any]

BLOCK_ELEMENTS = 1 << 22
"""How many float64 elements a temporary block may have (32 MiB) before work is cut into chunks."""
SMALL_BYTES = 4096
"""Positions and masks up to this size are kept on a device once they are there."""
DEVICE_BLOCKS = 64
"""On a GPU a block is so many times larger: there it is the number of launches that costs."""
SMALL_SYSTEM = 24
"""Triangular systems up to this size are solved by one call for the whole batch."""


def namespace(*values: Any) -> Namespace:
    """Return the array-API namespace of the arrays among the values; NumPy where there are none."""
    for value in values:
        if type(value) is not np.ndarray:
            break
    else:
        return np  # which has followed the standard since 2.1, without a wrapper around each call
    arrays = [value for value in values if array_api_compat.is_array_api_obj(value)]
    if all(isinstance(array, np.ndarray | np.generic) for array in arrays):
        return np
    if all(array_api_compat.is_torch_array(array) for array in arrays):
        from xstar.numerics import torch_namespace

        return torch_namespace
    return array_api_compat.array_namespace(*arrays)


def device(x: Array) -> Any:
    """Return the device that holds the array."""
    return array_api_compat.device(x)


def move(values: HostArray, like: Array) -> Array:
    """Return host values in the namespace and on the device of `like`; floats become float64."""
    if isinstance(like, np.ndarray):
        return np.asarray(values, dtype=np.float64) if values.dtype.kind == "f" else np.asarray(values)
    if values.dtype.kind in "ib" and values.nbytes <= SMALL_BYTES and array_api_compat.is_torch_array(like):
        return _constant(values.tobytes(), values.dtype.str, values.shape, like.device)
    return _moved(values, like)


def _moved(values: HostArray, like: Array) -> Array:
    xp = namespace(like)
    dtype = xp.float64 if values.dtype.kind == "f" else None
    if not values.flags.writeable:  # torch refuses to share memory that is read-only
        values = values.copy()
    return xp.asarray(values, dtype=dtype, device=device(like))


@lru_cache(maxsize=512)
def _constant(content: bytes, dtype: str, shape: tuple[int, ...], on_device: Any) -> Array:
    """Positions and masks for torch: small ones are needed again and again, and a GPU waits for every copy.

    They are shared, so nobody may write to them.
    """
    import torch

    return torch.asarray(np.frombuffer(content, dtype=dtype).reshape(shape).copy(), device=on_device)


def on(compute: str) -> Array:
    """Return an empty float64 array where "numpy", "torch", "torch:cuda:1" or "cupy" says.

    ImportError without the library, ValueError or RuntimeError without the device.
    """
    library, _, where = compute.partition(":")
    if library == "torch":
        import torch

        empty = torch.empty(0, dtype=torch.float64, device=where or "cpu")
        return empty + 0.0  # a device that is not there complains when it is used
    if library == "cupy" and not where:
        import cupy

        return cupy.empty(0)
    if compute == "numpy":
        return np.empty(0)
    raise ValueError("there is no such library or device")


def zeros(shape: tuple[int, ...], like: Array, *, boolean: bool = False) -> Array:
    """Return zeros (or False) beside `like`, of its dtype."""
    xp = namespace(like)
    return xp.zeros(shape, dtype=xp.bool if boolean else like.dtype, device=device(like))


def identity(n: int, like: Array) -> Array:
    """Return the identity matrix beside `like`, of its dtype."""
    return namespace(like).eye(n, dtype=like.dtype, device=device(like))


def to_numpy(x: Array) -> HostArray:
    """Return the array in host memory, as NumPy."""
    if isinstance(x, np.ndarray):
        return x
    if array_api_compat.is_torch_array(x):
        return np.asarray(x.detach().cpu())
    if array_api_compat.is_cupy_array(x):
        return np.asarray(x.get())
    return np.asarray(x)


def top_k(x: Array, k: int) -> Array:
    """Return indices of the k largest entries along the last axis, largest first; torch has no order for ties."""
    if array_api_compat.is_torch_array(x):
        import torch

        return torch.topk(x, k, dim=-1).indices
    return namespace(x).argsort(-x, axis=-1, stable=True)[..., :k]


def scatter_rows(target: Array, rows: HostArray, values: Array) -> Array:
    """Return a copy of `target` whose given rows are replaced (the standard has no indexed assignment)."""
    xp = namespace(target)
    source = np.arange(target.shape[0])
    source[rows] = target.shape[0] + np.arange(len(rows))
    return xp.take(xp.concat([target, values], axis=0), move(source, target), axis=0)


def take_rows(x: Array, rows: HostArray) -> Array:
    """Return the rows of the array with the given host indices."""
    return namespace(x).take(x, move(rows, x), axis=0)


def block_elements(like: Array) -> int:
    """Return how many elements a temporary block beside `like` may have."""
    on_host = isinstance(like, np.ndarray) or str(device(like)) == "cpu"
    return BLOCK_ELEMENTS if on_host else DEVICE_BLOCKS * BLOCK_ELEMENTS


def chunks(total: int, elements_per_item: int, like: Array | None = None) -> Iterator[slice]:
    """Yield slices that cover range(total), each small enough for a block beside `like`; an empty one if it is 0."""
    most = BLOCK_ELEMENTS if like is None else block_elements(like)
    step = max(1, most // max(1, elements_per_item))
    for start in range(0, max(1, total), step):
        yield slice(start, min(start + step, total))


def in_chunks(
    function: Callable[[Array], tuple[Array, ...]], x: Array, elements_per_row: int, axes: tuple[int, ...]
) -> tuple[Array, ...]:
    """Apply a row-wise function to the points x (..., m, d) block by block; join output k on axes[k].

    There may be fewer outputs than axes: some are optional. Which blocks are used changes no value: each row is
    computed alone.
    """
    rows = x.shape[-2]
    if rows * elements_per_row <= block_elements(x):
        return function(x)
    xp = namespace(x)
    parts = [function(x[..., block, :]) for block in chunks(rows, elements_per_row, x)]
    return tuple(xp.concat(list(part), axis=axis) for part, axis in zip(zip(*parts, strict=True), axes, strict=False))


def add_diagonal(matrix: Array, values: Array) -> Array:
    """Add values (..., n) to the diagonal of a matrix (..., n, n), in place where the backend can."""
    xp = namespace(matrix)
    if matrix.shape[:-1] == np.broadcast_shapes(matrix.shape[:-1], values.shape):
        if array_api_compat.is_torch_array(matrix):
            xp.linalg.diagonal(matrix).add_(values)
            return matrix
        if array_api_compat.is_numpy_array(matrix) and matrix.flags.writeable:
            np.einsum("...ii->...i", matrix)[...] += values
            return matrix
    return matrix + values[..., None] * identity(matrix.shape[-1], matrix)


def erfcx(x: Array) -> Array:
    """Return exp(x^2) erfc(x), from SciPy, torch or CuPy: whoever owns the array."""
    if array_api_compat.is_torch_array(x):
        import torch

        return torch.special.erfcx(x)
    if array_api_compat.is_cupy_array(x):
        from cupyx.scipy import special as cupy_special

        return cupy_special.erfcx(x)
    from scipy import special

    return move(special.erfcx(to_numpy(x)), x)


def try_cholesky(matrices: Array) -> tuple[Array, Array]:
    """Return lower factors of matrices (b, n, n), and which of them exist (b,); the others are left undefined."""
    xp = namespace(matrices)
    if array_api_compat.is_torch_array(matrices):
        import torch

        factor, info = torch.linalg.cholesky_ex(matrices)
        found = info == 0
    else:
        try:
            factor = xp.linalg.cholesky(matrices)
            found = xp.ones(matrices.shape[:1], dtype=xp.bool, device=device(matrices))
        except np.linalg.LinAlgError:
            factor, found = _cholesky_one_by_one(matrices)
    # GPU libraries may return NaN instead of an error code.
    diagonal = xp.linalg.diagonal(factor)
    return factor, found & xp.all(xp.isfinite(diagonal), axis=-1)


def _cholesky_one_by_one(matrices: Array) -> tuple[Array, Array]:
    xp = namespace(matrices)
    factors, found = [], []
    for i in range(matrices.shape[0]):
        try:
            factors.append(xp.linalg.cholesky(matrices[i, ...]))
            found.append(True)
        except np.linalg.LinAlgError:
            factors.append(matrices[i, ...])
            found.append(False)
    return xp.stack(factors), move(np.asarray(found), matrices)


def solve_lower(factor: Array, right: Array, *, transpose: bool = False) -> Array:
    """Solve L x = b, or L^T x = b, for lower triangular L (..., n, n) and b (..., n, k)."""
    xp = namespace(factor, right)
    if array_api_compat.is_torch_array(factor):
        import torch

        if transpose:
            return torch.linalg.solve_triangular(factor.mT, right, upper=True)
        return torch.linalg.solve_triangular(factor, right, upper=False)
    if array_api_compat.is_numpy_array(factor) and factor.shape[-1] > SMALL_SYSTEM:
        return _solve_lower_blas(factor, right, transpose)
    # The gufunc runs a whole batch of small systems in C, where a loop over BLAS calls would not pay.
    return xp.linalg.solve(xp.linalg.matrix_transpose(factor) if transpose else factor, right)


def _solve_lower_blas(factor: HostArray, right: HostArray, transpose: bool) -> HostArray:
    """Triangular solves over the batch by BLAS, without a copy.

    A row-major L seen by column-major BLAS is L^T, upper triangular, so L X = B becomes
    X^T (L^T) = B^T: the triangle stands on the right.
    """
    from scipy.linalg import blas

    batch = np.broadcast_shapes(factor.shape[:-2], right.shape[:-2])
    n, k = right.shape[-2:]
    out = np.empty((*batch, n, k))
    if out.size == 0:
        return out
    factors = np.broadcast_to(factor, (*batch, n, n))
    rights = np.broadcast_to(right, (*batch, n, k))
    for index in np.ndindex(*batch):
        triangle = np.ascontiguousarray(factors[index]).T
        target = np.ascontiguousarray(rights[index]).T
        out[index] = blas.dtrsm(1.0, triangle, target, side=1, lower=0, trans_a=int(transpose)).T
    return out


def inverse_from_cholesky(factor: Array) -> Array:
    """Return (L L^T)^{-1} for factors (..., n, n): a fifth of the work of two solves with the identity."""
    if array_api_compat.is_torch_array(factor):
        import torch

        return torch.cholesky_inverse(factor)
    if array_api_compat.is_numpy_array(factor):
        from scipy.linalg import lapack

        out = np.empty(factor.shape)
        if out.size == 0:
            return out
        for index in np.ndindex(*factor.shape[:-2]):
            # Row-major L is column-major U with U^T U = A; LAPACK fills the upper triangle of the inverse.
            upper, _ = lapack.dpotri(np.ascontiguousarray(factor[index]).T, lower=0)
            out[index] = np.triu(upper) + np.triu(upper, 1).T
        return out
    xp = namespace(factor)
    half = xp.linalg.inv(factor)
    return xp.matmul(xp.linalg.matrix_transpose(half), half)
