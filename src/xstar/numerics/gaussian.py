"""The log density of y ~ N(0, K) and its gradient in K, for many covariances that are given by one triangle each.

Half of a covariance says all: who computes it pays for half the entries, and so does LAPACK. On the host each matrix
goes through one buffer that stays in the processor's cache, which makes a long batch of medium matrices several times
faster than array operations over the whole of it; elsewhere the batch is one call of each operation.

Notation
    b           covariances
    y           values                                                  (b, n)
    pairs       entries of K below the diagonal, row by row             (b, m), m = n (n - 1) / 2
    diagonal    entries of K on the diagonal                            (b, n)
    alpha       K^{-1} y

    d log p / d K_ij = alpha_i alpha_j - (K^{-1})_ij below the diagonal, half of it on the diagonal [RW06, eq. 5.9]
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from xstar.numerics.arrays import (
    Array,
    HostArray,
    inverse_from_cholesky,
    move,
    namespace,
    scatter_rows,
    solve_lower,
)
from xstar.numerics.linalg import log_determinant, safe_cholesky


class Slope(NamedTuple):
    """The gradient of the log density in the entries of K; zero where K cannot be factored."""

    pairs: Array
    diagonal: Array


class PackedGaussian:
    """Zero-mean Gaussians of n values, beside the array `like`."""

    def __init__(self, n: int, like: Array) -> None:
        self.n = n
        rows, columns = np.tril_indices(n, -1)
        self.rows, self.columns = rows, columns
        """Where the pairs stand in K."""
        self._below = move(rows * n + columns, like)
        entry = np.empty((n, n), dtype=np.int64)
        entry[rows, columns] = entry[columns, rows] = np.arange(rows.size)
        np.fill_diagonal(entry, rows.size + np.arange(n))
        self._entry = move(entry.ravel(), like)

    def log_density(self, y: Array, pairs: Array, diagonal: Array) -> Array:
        """Return log N(y; 0, K), shape (b,); -inf where K cannot be factored, even with jitter."""
        value, _ = self._compute(y, pairs, diagonal, False)
        return value

    def log_density_and_gradient(self, y: Array, pairs: Array, diagonal: Array) -> tuple[Array, Slope]:
        """Return the same with its gradient in the entries of K."""
        value, slope = self._compute(y, pairs, diagonal, True)
        assert slope is not None
        return value, slope

    def _compute(self, y: Array, pairs: Array, diagonal: Array, gradient: bool) -> tuple[Array, Slope | None]:
        if self.n == 0 or not isinstance(pairs, np.ndarray):
            return self._at_once(y, pairs, diagonal, gradient)
        value, slope, failed = self._one_by_one(y, pairs, diagonal, gradient)
        if failed.size:
            repaired, its_slope = self._at_once(y[failed], pairs[failed], diagonal[failed], gradient)
            value = scatter_rows(value, failed, repaired)
            if slope is not None and its_slope is not None:
                slope = Slope(*(scatter_rows(old, failed, new) for old, new in zip(slope, its_slope, strict=True)))
        return value, slope

    def _at_once(self, y: Array, pairs: Array, diagonal: Array, gradient: bool) -> tuple[Array, Slope | None]:
        """By array operations over the whole batch; jitter repairs matrices that rounding has made indefinite."""
        xp = namespace(pairs)
        n = self.n
        whole = xp.take(xp.concat([pairs, diagonal], axis=-1), self._entry, axis=-1)
        factor, _, found = safe_cholesky(xp.reshape(whole, (pairs.shape[0], n, n)))
        whitened = solve_lower(factor, y[..., None])
        misfit = xp.sum(whitened * whitened, axis=(-2, -1))
        value = xp.where(found, _log_density(misfit, log_determinant(factor), n), -math.inf)
        if not gradient:
            return value, None
        alpha = solve_lower(factor, whitened, transpose=True)
        weight = xp.matmul(alpha, xp.linalg.matrix_transpose(alpha)) - inverse_from_cholesky(factor)
        weight = xp.where(found[:, None, None], weight, 0.0)
        below = xp.take(xp.reshape(weight, (pairs.shape[0], n * n)), self._below, axis=-1)
        return value, Slope(below, 0.5 * xp.linalg.diagonal(weight))

    def _one_by_one(
        self, y: HostArray, pairs: HostArray, diagonal: HostArray, gradient: bool
    ) -> tuple[HostArray, Slope | None, HostArray]:
        """By LAPACK in one buffer, in place; also says which matrices have no factor.

        The lower triangle of the row-major buffer is the upper one of what column-major LAPACK sees: K = U^T U.
        """
        from scipy.linalg import blas, lapack

        n, b = self.n, len(pairs)
        matrix = np.empty((n, n))
        entries, seen = matrix.reshape(-1), matrix.T
        own = entries[:: n + 1]
        value = np.empty(b)
        slope = Slope(np.empty(pairs.shape), np.empty(diagonal.shape)) if gradient else None
        failed = []
        for k in range(b):
            entries[self._below], own[...] = pairs[k], diagonal[k]
            _, info = lapack.dpotrf(seen, lower=0, clean=0, overwrite_a=1)
            if info != 0:
                failed.append(k)
                continue
            whitened, _ = lapack.dtrtrs(seen, y[k], lower=0, trans=1)
            value[k] = _log_density(whitened @ whitened, 2.0 * np.log(own).sum(), n)
            if slope is not None:
                alpha, _ = lapack.dtrtrs(seen, whitened, lower=0, trans=0)
                lapack.dpotri(seen, lower=0, overwrite_c=1)
                blas.dsyr(-1.0, alpha, a=seen, lower=0, overwrite_a=1)
                np.negative(entries[self._below], out=slope.pairs[k])
                np.multiply(own, -0.5, out=slope.diagonal[k])
        return value, slope, np.asarray(failed, dtype=np.int64)


def _log_density(misfit: Array, log_det: Array, n: int) -> Array:
    return -0.5 * (misfit + log_det + n * math.log(2.0 * math.pi))
