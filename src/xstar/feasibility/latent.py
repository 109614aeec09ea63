"""The latent g of feasibility for all hyperparameters at once, in a few matrix products for a block of points.

Many hyperparameters share lengthscales: distances and rho, the most of the cost, are computed once for those that do.
With the data's noise of at least about 1, K is well conditioned, so that its inverse may be kept.

Notation
    G    hyperparameters        U    different rows of lengthscales        n    results        m    points x
    rho  correlations of x with the results        (U, m, n), spread to (G, m, n)
    V    gamma^2 K^{-1}                            (G, n, n)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from xstar.gp.kernels import Kernel
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import HostArray, inverse_from_cholesky

CACHED_ELEMENTS = 1 << 18
"""Correlations of so many pairs (2 MiB) are computed at a time: larger blocks leave the processor's cache."""


class Prediction(NamedTuple):
    """Mean and variance of g at points, with what their gradients are made of."""

    mean: HostArray
    """Shape (G, m)."""
    variance: HostArray
    """Shape (G, m)."""
    distance: HostArray
    """Squared, in lengthscales; shape (U, m, n)."""
    explained: HostArray
    """V rho, shape (G, m, n)."""


@dataclass(frozen=True)
class Latent:
    """The posterior of g."""

    kernel: Kernel
    lengthscales: HostArray
    """Shape (U, d)."""
    which: HostArray
    """The row of lengthscales of each hyperparameter, shape (G,)."""
    anchors: HostArray
    """Results in lengthscales, from the middle of the cube; shape (U, n, d)."""
    variance: HostArray
    """gamma^2, shape (G, 1)."""
    inverse: HostArray
    """V."""
    alpha: HostArray
    """gamma^2 K^{-1} y, shape (G, n)."""
    mean: HostArray
    """Of the prior, shape (G, 1)."""

    @classmethod
    def of(cls, post: Posterior, mean: HostArray) -> Latent:
        """Take over a posterior of g - mean, whose hyperparameters (G,) have the same points."""
        lengthscales, which = np.unique(post.hyper.lengthscales, axis=0, return_inverse=True)
        variance = post.hyper.variance[:, None]
        X = post.data.X.reshape(-1, post.data.count, post.dimension)[0]
        return cls(
            post.kernel, lengthscales, which.reshape(-1), (X - 0.5) / lengthscales[:, None, :], variance,
            variance[..., None] * inverse_from_cholesky(post.factor), variance * post.alpha, mean[:, None],
        )  # fmt: skip

    def blocks(self, X: HostArray) -> Iterator[slice]:
        """Yield ranges of the points (m, d), of a size that is quick to compute."""
        step = max(1, CACHED_ELEMENTS // self.alpha.size)
        for start in range(0, max(1, len(X)), step):
            yield slice(start, start + step)

    def predict(self, x: HostArray) -> Prediction:
        """Predict g at points (m, d)."""
        scaled = self._scaled(x)
        distance = scaled @ (-2.0 * self.anchors.swapaxes(-1, -2))
        distance += np.sum(scaled**2, axis=-1)[..., None]
        distance += np.sum(self.anchors**2, axis=-1)[:, None, :]
        np.maximum(distance, 0.0, out=distance)
        rho = self.kernel.profile(distance, 0)[0][self.which]
        explained = rho @ self.inverse
        variance = self.variance * np.maximum(1.0 - np.einsum("gmn,gmn->gm", rho, explained), 0.0)
        return Prediction((rho @ self.alpha[..., None])[..., 0] + self.mean, variance, distance, explained)

    def pull_back(self, x: HostArray, found: Prediction, by_mean: HostArray, by_variance: HostArray) -> HostArray:
        """Return the gradient (m, d) of a sum over G from its derivatives by mean and variance, both (G, m).

        It is that of sum_n c rho with c = by_mean alpha - 2 by_variance gamma^2 V rho. Hyperparameters with the same
        lengthscales are joined; gradients of single correlations, d times as many numbers, are not written out.
        """
        each = by_mean[..., None] * self.alpha[:, None, :]
        each -= (2.0 * self.variance * by_variance)[..., None] * found.explained
        weights = np.zeros_like(found.distance)
        for row, part in zip(self.which, each, strict=True):  # np.add.at takes thirty times as long
            weights[row] += part
        weights *= self.kernel.profile(found.distance, 1)[1]
        middle = self._scaled(x) * np.sum(weights, axis=-1)[..., None] - weights @ self.anchors
        return np.asarray(np.sum(2.0 * middle / self.lengthscales[:, None, :], axis=0))

    def _scaled(self, x: HostArray) -> HostArray:
        """Points (m, d) in lengthscales, from the middle of the cube; shape (U, m, d)."""
        return (x - 0.5) / self.lengthscales[:, None, :]
