"""Stationary kernels, written as a radial profile of the squared distance.

    k(x, z) = gamma^2 rho(s),    s = sum_i u_i^2,    u_i = (x_i - z_i) / l_i

A kernel declares rho and its derivatives in s, never a square root that is differentiated at zero; every
covariance with derivatives of f follows from them (here and in `jets`). A new kernel is one
`profile` and one `frequencies`.

Notation
    X, Z       points                               (..., n, d), (..., m, d)
    hyper      lengthscales, amplitude, noise       leading axes broadcast with those of the points
    rho_k      k-th derivative of rho in s

Sources: [RW06] Rasmussen & Williams, "Gaussian Processes for Machine Learning", chapter 4.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from xstar.gp.hyperparameters import Hyperparameters
from xstar.numerics.arrays import Array, HostArray, namespace
from xstar.numerics.checks import instance
from xstar.numerics.random import Random

_SQRT5 = math.sqrt(5.0)


class Kernel(ABC):
    """A stationary kernel with finite fourth derivatives at zero distance.

    A kernel of one's own declares `profile` and `frequencies`; all else follows.

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.gp import Hyperparameters, Matern52
    >>> hyper = Hyperparameters([0.5], amplitude=2.0, noise=0.1)
    >>> Matern52().covariance(hyper, np.array([[0.3]]), np.array([[0.3]])).tolist()
    [[4.0]]
    """

    @abstractmethod
    def profile(self, s: Array, order: int) -> tuple[Array, ...]:
        """Return rho and its first derivatives in s.

        Parameters
        ----------
        s : array
            Squared distances in lengthscales, >= 0.
        order : int
            How many derivatives, at most 3.

        Returns
        -------
        tuple of array
            order + 1 new arrays of the shape of s. rho_3 may grow like s^(-1/2) at zero, since it is only ever
            multiplied by three components of u; it must be returned finite there.
        """

    @abstractmethod
    def frequencies(self, shape: tuple[int, ...], rng: Random) -> HostArray:
        """Draw from the spectral density for unit lengthscales.

        Parameters
        ----------
        shape : tuple of int
            Its last axis is d.
        rng : numpy.random.Generator
            Or one for each of several problems.

        Returns
        -------
        ndarray of the given shape
        """

    def covariance(self, hyper: Hyperparameters, X: Array, Z: Array) -> Array:
        """Return the covariances k(x, z).

        Parameters
        ----------
        hyper : Hyperparameters
            Their leading axes are broadcast with those of the points.
        X, Z : array of shape (..., n, d), (..., m, d)
            Points, as arrays of one namespace.

        Returns
        -------
        array of shape (..., n, m)
        """
        (covariance,) = self.profile(squared_distance(hyper, X, Z), 0)
        if covariance.shape[:-2] == np.broadcast_shapes(covariance.shape[:-2], hyper.batch_shape):
            covariance *= hyper.variance[..., None, None]  # in place: memory, not arithmetic, is what large blocks cost
            return covariance
        return hyper.variance[..., None, None] * covariance

    def covariance_and_gradient(self, hyper: Hyperparameters, X: Array, Z: Array) -> tuple[Array, Array]:
        """Return k(x, z) and its gradient in x, shapes (..., n, m) and (..., n, m, d)."""
        xp = namespace(X, Z)
        u = scaled_difference(hyper, X, Z)
        rho, rho_1 = self.profile(xp.sum(u * u, axis=-1), 1)
        variance = hyper.variance[..., None, None]
        slope = (2.0 * variance * rho_1)[..., None] * u / hyper.lengthscales[..., None, None, :]
        return variance * rho, slope

    def pull_back(self, hyper: Hyperparameters, X: Array, Z: Array, weights: Array) -> Array:
        """Return the gradient in x of sum_z weights k(x, z), for weights (..., n, m); shape (..., n, d).

        With c = 2 gamma^2 rho_1 weights it is (x sum_z c - c Z) / l^2: gradients of single pairs are not written out.
        """
        xp = namespace(X, Z)
        _, rho_1 = self.profile(squared_distance(hyper, X, Z), 1)
        c = weights * rho_1
        middle = (X - 0.5) * xp.sum(c, axis=-1)[..., None] - xp.matmul(c, Z - 0.5)
        return middle * (2.0 * hyper.variance[..., None, None] / hyper.lengthscales[..., None, :] ** 2)


@dataclass(frozen=True)
class SquaredExponential(Kernel):
    """rho(s) = exp(-s / 2): infinitely smooth sample paths [RW06, eq. 4.9], the paper's kernel."""

    def profile(self, s: Array, order: int) -> tuple[Array, ...]:
        rho = decay(0.5 * s)
        return rho, *((-0.5) ** k * rho for k in range(1, order + 1))

    def frequencies(self, shape: tuple[int, ...], rng: Random) -> HostArray:
        return rng.standard_normal(shape)


@dataclass(frozen=True)
class Matern52(Kernel):
    """rho(s) = (1 + r + r^2 / 3) exp(-r), r = sqrt(5 s): twice differentiable sample paths [RW06, eq. 4.17].

    d rho / d s = -(5/6) (1 + r) exp(-r) and d^2 rho / d s^2 = (25/12) exp(-r) have no singularity at zero.
    """

    def profile(self, s: Array, order: int) -> tuple[Array, ...]:
        xp = namespace(s)
        r = _SQRT5 * xp.sqrt(s)
        tail = decay(r)
        derivatives = [(1.0 + r + r * r / 3.0) * tail]
        if order >= 1:
            derivatives.append((-5.0 / 6.0) * (1.0 + r) * tail)
        if order >= 2:
            derivatives.append((25.0 / 12.0) * tail)
        if order >= 3:
            derivatives.append((-125.0 / 24.0) * tail / xp.maximum(r, 1e-150))
        return tuple(derivatives)

    def frequencies(self, shape: tuple[int, ...], rng: Random) -> HostArray:
        """Draw from a t with 5 degrees of freedom: all coordinates of a frequency share one chi-square."""
        normal = rng.standard_normal(shape)
        chi_square = rng.chisquare(5.0, size=shape[:-1])
        return normal * np.sqrt(5.0 / chi_square)[..., None]


def check_kernel(kernel: Any) -> None:
    """Complain about anything but a kernel object."""
    instance(kernel, "kernel", Kernel, "SquaredExponential()")


def decay(x: Array) -> Array:
    """Return exp(-x) for x >= 0, held at 1e-87 beyond x = 200.

    At short lengthscales most pairs are that far apart. Their covariances are nothing beside 1, but letting them (or
    their products in a factorization) underflow makes exponentials and multiplications many times slower.
    """
    xp = namespace(x)
    exponent = xp.minimum(x, 200.0)
    exponent *= -1.0
    return xp.exp(exponent)


def scaled_difference(hyper: Hyperparameters, X: Array, Z: Array) -> Array:
    """Return u = (x - z) / l for all pairs, shape (..., n, m, d)."""
    return (X[..., :, None, :] - Z[..., None, :, :]) / hyper.lengthscales[..., None, None, :]


def squared_differences(X: Array, Z: Array) -> Array:
    """Return (x_i - z_i)^2 for all pairs and coordinates, shape (..., d, n m): all that distances need of points."""
    xp = namespace(X, Z)
    X, Z = xp.linalg.matrix_transpose(X), xp.linalg.matrix_transpose(Z)
    difference = X[..., :, None] - Z[..., None, :]
    square = difference * difference
    return xp.reshape(square, (*square.shape[:-2], square.shape[-2] * square.shape[-1]))


def _is_shared(X: Array) -> bool:
    """Whether all hyperparameter vectors of the last leading axis have the same points."""
    return bool(X.ndim == 2 or X.shape[-3] == 1)


def squared_distance(hyper: Hyperparameters, X: Array, Z: Array) -> Array:
    """Return s = |u|^2 for all pairs, shape (..., n, m).

    Summed over true differences: the product form |x|^2 - 2 x.z + |z|^2 would be off by rounding at coincident
    points, where r = sqrt(s) magnifies it to 1e-8. Points that many hyperparameter vectors share are subtracted
    once; the sums for all vectors are then one matrix product.
    """
    if hyper.batch_shape and _is_shared(X) and _is_shared(Z):
        xp = namespace(X, Z)
        differences = squared_differences(*(x[..., 0, :, :] if x.ndim > 2 else x for x in (X, Z)))
        s = xp.matmul(hyper.lengthscales**-2, differences)
        return xp.reshape(s, (*s.shape[:-1], X.shape[-2], Z.shape[-2]))
    U = X / hyper.lengthscales[..., None, :]
    V = Z / hyper.lengthscales[..., None, :]
    difference = U[..., :, None, 0] - V[..., None, :, 0]
    s = difference * difference
    for i in range(1, X.shape[-1]):
        difference = U[..., :, None, i] - V[..., None, :, i]
        s = s + difference * difference
    return s
