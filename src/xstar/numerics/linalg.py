"""Cholesky factors that do not fail, and what is solved and updated with them.

Notation
    L          lower triangular factor                      (..., n, n)
    jitter     what was added to the diagonal to obtain L   (..., n)
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from xstar.numerics.arrays import (
    Array,
    device,
    identity,
    move,
    namespace,
    scatter_rows,
    solve_lower,
    take_rows,
    to_numpy,
    try_cholesky,
    zeros,
)

RELATIVE_JITTERS = (1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
"""The escalation after a first try without jitter, relative to each entry of the diagonal."""


class Cholesky(NamedTuple):
    """A batch of factors; the outcome is data, not an exception."""

    factor: Array
    """L with L L^T = A + diag(jitter); NaN where there is none."""
    jitter: Array
    """Shape (..., n); zero for a matrix that needed no repair."""
    found: Array
    """False where even the largest jitter did not help (NaN, or a clearly negative eigenvalue)."""


def safe_cholesky(matrix: Array, scale: Array | None = None) -> Cholesky:
    """Factor symmetric matrices (..., n, n), adding to the diagonal only where and what is needed.

    A matrix that fails is tried again with jitter from 1e-13 to 1e-4 times its own diagonal, entry by entry (so that
    one row of a large scale does not drown the others), or times `scale` (..., n) where a better measure is known.
    Its neighbours in the batch keep their exact factors.
    """
    xp = namespace(matrix)
    batch, n = matrix.shape[:-2], matrix.shape[-1]
    matrices = xp.reshape(matrix, (math.prod(batch), n, n))
    factor, found = try_cholesky(matrices)
    jitter = zeros(tuple(matrices.shape[:2]), matrices)
    if not bool(xp.all(found)):
        own = xp.abs(xp.linalg.diagonal(matrix)) if scale is None else xp.broadcast_to(scale, matrix.shape[:-1])
        factor, jitter, found = _repair(matrices, xp.reshape(own, matrices.shape[:2]), factor, found, jitter)
    return Cholesky(xp.reshape(factor, matrix.shape), xp.reshape(jitter, matrix.shape[:-1]), xp.reshape(found, batch))


def _repair(matrices: Array, scale: Array, factor: Array, found: Array, jitter: Array) -> Cholesky:
    xp = namespace(matrices)
    n = matrices.shape[-1]
    bad = np.flatnonzero(~to_numpy(found))
    for relative in RELATIVE_JITTERS:
        added = relative * take_rows(scale, bad)
        repaired, ok = try_cholesky(take_rows(matrices, bad) + added[:, :, None] * identity(n, matrices))
        mended = np.flatnonzero(to_numpy(ok))
        factor = scatter_rows(factor, bad[mended], take_rows(repaired, mended))
        jitter = scatter_rows(jitter, bad[mended], take_rows(added, mended))
        bad = np.delete(bad, mended)
        if bad.size == 0:
            break
    nothing = xp.full((bad.size, n, n), xp.nan, dtype=factor.dtype, device=device(factor))
    still_found = np.ones(matrices.shape[0], dtype=bool)
    still_found[bad] = False
    return Cholesky(scatter_rows(factor, bad, nothing), jitter, move(still_found, matrices))


def solve_cholesky(factor: Array, right: Array) -> Array:
    """Return (L L^T)^{-1} b for b (..., n, k)."""
    return solve_lower(factor, solve_lower(factor, right), transpose=True)


def log_determinant(factor: Array) -> Array:
    """Return log det(L L^T), shape (...)."""
    xp = namespace(factor)
    return 2.0 * xp.sum(xp.log(xp.linalg.diagonal(factor)), axis=-1)


def solve_positive(matrix: Array, right: Array, least: Array) -> Array:
    """Return P^{-1} b for b (N, n); P = L D L^T is A (N, n, n) where that is positive definite, and close elsewhere.

    Pivots are replaced by their absolute values, kept above `least` (N,) and above what would let L grow without bound
    [GMW81] Gill, Murray, Wright, "Practical Optimization", section 4.4.2.2: positive definite matrices are left as they
    are. All N systems advance together, one column at a time, so that thousands of small ones cost a few dozen
    array operations, where an eigendecomposition costs a library call for each.
    """
    xp = namespace(matrix)
    n = matrix.shape[-1]
    rest, b = xp.permute_dims(matrix, (1, 2, 0)), xp.permute_dims(right, (1, 0))
    size = xp.abs(rest)
    diagonal = xp.max(xp.abs(xp.linalg.diagonal(matrix)), axis=-1)
    bound = xp.maximum(diagonal, xp.max(xp.reshape(size, (n * n, -1)), axis=0) / max(1.0, math.sqrt(n * n - 1.0)))
    bound = xp.maximum(bound, 1e-300)
    least = xp.maximum(least, 1e-10 * bound)
    columns, solved = [], []
    for _ in range(n):
        below = rest[1:, 0, :]
        pivot = xp.maximum(xp.abs(rest[0, 0, :]), least)
        if below.shape[0]:
            pivot = xp.maximum(pivot, xp.max(below * below, axis=0) / bound)
        column = below / pivot
        columns.append(column)
        solved.append(b[0, :] / pivot)
        b = b[1:, :] - column * b[0, :]
        rest = rest[1:, 1:, :] - column[:, None, :] * below[None, :, :]
    x = b  # no rows yet
    for column, y in zip(reversed(columns), reversed(solved), strict=True):
        x = xp.concat([(y - xp.sum(column * x, axis=0))[None, :], x], axis=0)
    return xp.permute_dims(x, (1, 0))


def extend_cholesky(factor: Array, cross: Array, corner: Array) -> Cholesky:
    """Return the factor of [[A, cross], [cross^T, corner]] from L of A: O(n^2 k) for k new rows.

    Only the Schur complement of the new rows is repaired with jitter, relative to the diagonal of the corner: what the
    rows before explain of a new one may be all of it but rounding. `jitter` is that of the new rows.
    """
    xp = namespace(factor, cross, corner)
    whitened = solve_lower(factor, cross)
    rows = xp.linalg.matrix_transpose(whitened)
    schur = safe_cholesky(corner - xp.matmul(rows, whitened), scale=xp.linalg.diagonal(corner))
    batch, n, k = whitened.shape[:-2], whitened.shape[-2], whitened.shape[-1]
    upper = xp.concat(
        [
            xp.broadcast_to(factor, (*batch, n, n)),
            zeros((*batch, n, k), factor),
        ],
        axis=-1,
    )
    lower = xp.concat([rows, xp.broadcast_to(schur.factor, (*batch, k, k))], axis=-1)
    return Cholesky(xp.concat([upper, lower], axis=-2), schur.jitter, schur.found)
