"""The 2-jet of f at a point: its value, gradient and second derivatives there, and all their covariances.

T f = (f; d_1 f ... d_d f; d_11 f ... d_dd f; d_ij f for i < j) at x_star, every derivative taken in lengthscale
units (u = x / l), so that all covariances are of order gamma^2. With u = (x - x_star) / l and the radial profile
rho(s), s = |u|^2, of the kernel:

    cov(f(x), f)      = gamma^2 rho
    cov(f(x), d_i f)  = -2 gamma^2 rho_1 u_i
    cov(f(x), d_ij f) = gamma^2 (4 rho_2 u_i u_j + 2 rho_1 [i=j])
    cov(d_i f, d_j f) = -2 gamma^2 rho_1(0) [i=j],    cov(f, d_ij f) = 2 gamma^2 rho_1(0) [i=j]
    cov(d_ij f, d_kl f) = 4 gamma^2 rho_2(0) ([i=j][k=l] + [i=k][j=l] + [i=l][j=k])

Derivatives may be taken along some of the coordinates only, `along`: a jet is then that of f as a function of these.

Notation
    X         points                                          (..., n, d)
    x_star    one point for each leading index                (..., d)
    t         1 + 2 d + d (d - 1) / 2, the length of a jet
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xstar.gp.hyperparameters import Hyperparameters
from xstar.gp.kernels import Kernel
from xstar.numerics.arrays import Array, HostArray, move, namespace


class JetLayout(NamedTuple):
    """Where the parts of a jet stand."""

    value: int
    gradient: slice
    diagonal: slice
    off_diagonal: slice
    first: HostArray
    """Row index i of each second derivative d_ij, diagonal then i < j; shape (d + d (d - 1) / 2,)."""
    second: HostArray
    """Column index j, likewise."""

    @property
    def length(self) -> int:
        """t."""
        return int(self.off_diagonal.stop)


def jet_layout(dimension: int) -> JetLayout:
    """Return the layout of jets in d dimensions."""
    i, j = np.triu_indices(dimension, k=1)
    own = np.arange(dimension)
    return JetLayout(
        value=0,
        gradient=slice(1, 1 + dimension),
        diagonal=slice(1 + dimension, 1 + 2 * dimension),
        off_diagonal=slice(1 + 2 * dimension, 1 + 2 * dimension + len(i)),
        first=np.concatenate([own, i]),
        second=np.concatenate([own, j]),
    )


def jet_prior(kernel: Kernel, hyper: Hyperparameters, along: HostArray | None = None) -> Array:
    """Return cov(T f, T f) under the prior, shape (..., t, t): the same at every point."""
    d = hyper.dimension if along is None else len(along)
    layout = jet_layout(d)
    _, rho_1, rho_2 = (float(rho[0]) for rho in kernel.profile(np.zeros(1), 2))
    i, j = layout.first, layout.second
    same = (i == j).astype(float)
    matrix = np.zeros((layout.length, layout.length))
    matrix[0, 0] = 1.0
    matrix[layout.gradient, layout.gradient] = -2.0 * rho_1 * np.eye(d)
    matrix[0, 1 + d :] = matrix[1 + d :, 0] = 2.0 * rho_1 * same
    matrix[1 + d :, 1 + d :] = (
        4.0
        * rho_2
        * (np.outer(same, same) + (i[:, None] == i) * (j[:, None] == j) + (i[:, None] == j) * (j[:, None] == i))
    )
    return hyper.variance[..., None, None] * move(matrix, hyper.variance)


def jet_covariance(
    kernel: Kernel, hyper: Hyperparameters, X: Array, x_star: Array, along: HostArray | None = None
) -> Array:
    """Return cov(f(x), T f), shape (..., n, t)."""
    xp = namespace(X, x_star)
    u = (X - x_star[..., None, :]) / hyper.lengthscales[..., None, :]
    rho, rho_1, rho_2 = (p[..., None] for p in kernel.profile(xp.sum(u * u, axis=-1), 2))
    u = u if along is None else xp.take(u, move(along, u), axis=-1)
    first, second, same = _pairs(u)
    products = xp.take(u, first, axis=-1) * xp.take(u, second, axis=-1)
    parts = [rho, -2.0 * rho_1 * u, 4.0 * rho_2 * products + 2.0 * rho_1 * same]
    return hyper.variance[..., None, None] * xp.concat(parts, axis=-1)


def jet_pull_back(
    kernel: Kernel, hyper: Hyperparameters, X: Array, x_star: Array, weights: Array, along: HostArray | None = None
) -> Array:
    """Return the gradient in x, in units of the cube, of weights (..., n, t) . cov(f(x), T f); shape (..., n, d).

    With w the weights of the first derivatives, W those of the second as a symmetric matrix (off-diagonal ones on both
    sides), a = w . u and B = sum over i <= j of W_ij u_i u_j, it is a multiple of u plus 4 rho_2 (W + diag W) u -
    2 rho_1 w, all over l: the t times d derivatives are never written out.
    """
    xp = namespace(X, x_star)
    u = (X - x_star[..., None, :]) / hyper.lengthscales[..., None, :]
    d = u.shape[-1]
    _, rho_1, rho_2, rho_3 = (part[..., None] for part in kernel.profile(xp.sum(u * u, axis=-1), 3))
    v = u if along is None else xp.take(u, move(along, u), axis=-1)
    k = v.shape[-1]
    layout = jet_layout(k)
    value, slope = weights[..., :1], weights[..., layout.gradient]
    place = np.zeros((k, k), dtype=np.int64)
    place[layout.first, layout.second] = place[layout.second, layout.first] = 1 + k + np.arange(len(layout.first))
    bends = xp.reshape(xp.take(weights, move(place.ravel(), u), axis=-1), (*weights.shape[:-1], k, k))
    trace = weights[..., layout.diagonal]
    bent = xp.matmul(bends, v[..., None])[..., 0] + trace * v
    along_slope = xp.sum(slope * v, axis=-1, keepdims=True)
    quadratic = 0.5 * xp.sum(bent * v, axis=-1, keepdims=True)
    radial = 2.0 * rho_1 * value - 4.0 * rho_2 * along_slope + 8.0 * rho_3 * quadratic
    radial = radial + 4.0 * rho_2 * xp.sum(trace, axis=-1, keepdims=True)
    own = 4.0 * rho_2 * bent - 2.0 * rho_1 * slope
    if along is not None:
        own = xp.matmul(own, move(np.eye(d)[along], u))
    return hyper.variance[..., None, None] * (radial * u + own) / hyper.lengthscales[..., None, :]


def _pairs(u: Array) -> tuple[Array, Array, Array]:
    """i, j and [i=j] of all second derivatives, beside u."""
    layout = jet_layout(u.shape[-1])
    first, second = move(layout.first, u), move(layout.second, u)
    return first, second, namespace(u).astype(first == second, u.dtype)
