"""The log marginal likelihood of a GP and its gradient, for many hyperparameters and data sets at once.

What does not depend on the hyperparameters, the squared coordinate differences of all pairs, is computed once;
squared distances for any lengthscales are then one matrix product, and so is the gradient.

Notation
    R        data sets
    q        hyperparameter vectors for each data set
    theta    log lengthscales, log amplitude, log noise    (R, q, d + 2)
    D        squared differences (x_i - z_i)^2             (R, d, n n)

Source: [RW06] eq. 2.30 and 5.9.
"""

from __future__ import annotations

import math

from xstar.gp.kernels import Kernel, squared_differences
from xstar.gp.observations import Observations
from xstar.numerics.arrays import (
    Array,
    HostArray,
    add_diagonal,
    inverse_from_cholesky,
    namespace,
    solve_lower,
    take_rows,
)
from xstar.numerics.linalg import log_determinant, safe_cholesky


class MarginalLikelihood:
    """log p(y | X, theta) of data sets with one leading axis R."""

    def __init__(self, kernel: Kernel, data: Observations) -> None:
        self.kernel = kernel
        self.data = data
        self.differences = squared_differences(data.X, data.X)

    def take(self, problems: HostArray) -> MarginalLikelihood:
        """The same for some of the data sets."""
        part = object.__new__(MarginalLikelihood)
        part.kernel = self.kernel
        part.data = self.data.take(problems)
        part.differences = take_rows(self.differences, problems)
        return part

    def value(self, theta: Array) -> Array:
        """Shape (R, q); -inf where the covariance cannot be factored."""
        xp = namespace(theta)
        covariance, _ = self._covariance(theta, 0)
        factor, _, found = safe_cholesky(add_diagonal(covariance, self._noise(theta)))
        return xp.where(found, self._value(factor, solve_lower(factor, self._targets(theta))), -math.inf)

    def value_and_gradient(self, theta: Array) -> tuple[Array, Array]:
        """Value (R, q) and its gradient in theta (R, q, d + 2)."""
        xp = namespace(theta)
        R, q, _ = theta.shape
        n = self.data.count
        noiseless, slope = self._covariance(theta, 1)
        factor, _, found = safe_cholesky(add_diagonal(noiseless + 0.0, self._noise(theta)))
        whitened = solve_lower(factor, self._targets(theta))
        alpha = solve_lower(factor, whitened, transpose=True)
        weight = xp.matmul(alpha, xp.linalg.matrix_transpose(alpha)) - inverse_from_cholesky(factor)

        pairs = xp.reshape(weight * slope, (R, q, n * n))
        by_lengthscale = -xp.matmul(pairs, xp.linalg.matrix_transpose(self.differences)) * xp.exp(
            -2.0 * theta[..., :-2]
        )
        by_amplitude = xp.sum(weight * noiseless, axis=(-2, -1))
        learned = self.data.learned()[:, None, :]
        by_noise = xp.sum(xp.linalg.diagonal(weight) * learned, axis=-1) * xp.exp(2.0 * theta[..., -1])
        gradient = xp.concat([by_lengthscale, by_amplitude[..., None], by_noise[..., None]], axis=-1)
        value = self._value(factor, whitened)
        return xp.where(found, value, -math.inf), xp.where(found[..., None], gradient, 0.0)

    def _covariance(self, theta: Array, order: int) -> tuple[Array, Array | None]:
        """gamma^2 rho(s) of all pairs, and gamma^2 rho_1(s) when order is 1; shape (R, q, n, n)."""
        xp = namespace(theta)
        n = self.data.count
        s = xp.matmul(xp.exp(-2.0 * theta[..., :-2]), self.differences)
        variance = xp.exp(2.0 * theta[..., -2])[..., None, None]
        covariance, *slope = self.kernel.profile(xp.reshape(s, (*theta.shape[:-1], n, n)), order)
        covariance *= variance
        return covariance, variance * slope[0] if slope else None

    def _noise(self, theta: Array) -> Array:
        return self.data.expand().noise_variance(namespace(theta).exp(2.0 * theta[..., -1]))

    def _targets(self, theta: Array) -> Array:
        xp = namespace(theta)
        y = self.data.y[:, None, :, None]
        return xp.broadcast_to(y, (*theta.shape[:-1], *y.shape[-2:]))

    def _value(self, factor: Array, whitened: Array) -> Array:
        xp = namespace(factor)
        misfit = xp.sum(whitened[..., 0] * whitened[..., 0], axis=-1)
        return -0.5 * (misfit + log_determinant(factor) + self.data.count * math.log(2.0 * math.pi))
