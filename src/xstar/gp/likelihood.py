"""The log marginal likelihood of a GP and its gradient, for many hyperparameters and data sets at once.

What does not depend on the hyperparameters, the squared coordinate differences of all pairs of points, is computed
once; squared distances for any lengthscales are then one matrix product, and so is the gradient.

Notation
    R        data sets
    q        hyperparameter vectors for each data set
    m        pairs of points, n (n - 1) / 2
    theta    log lengthscales, log amplitude, log noise    (R, q, d + 2)
    D        squared differences (x_i - z_i)^2             (R, d, m)
    c        covariances gamma^2 rho(s) of the pairs       (R, q, m)

Source: [RW06] eq. 2.30 and 5.9.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from xstar.gp.kernels import Kernel
from xstar.gp.observations import Observations
from xstar.numerics.arrays import Array, HostArray, move, namespace, take_rows
from xstar.numerics.gaussian import PackedGaussian

CACHED_ELEMENTS = 1 << 15
"""How many pairs are worked on at once on the host: 256 KiB for each temporary array, so that they stay in cache."""


class MarginalLikelihood:
    """log p(y | X, theta) of data sets with one leading axis R."""

    def __init__(self, kernel: Kernel, data: Observations) -> None:
        self.kernel = kernel
        self.data = data
        self._gaussian = PackedGaussian(data.count, data.X)
        self._differences = _squared_differences(data.X, self._gaussian)

    def take(self, problems: HostArray) -> MarginalLikelihood:
        """Return the same for some of the data sets."""
        return self._with(self.kernel, self.data.take(problems), take_rows(self._differences, problems))

    def under(self, kernel: Kernel) -> MarginalLikelihood:
        """Return the same data under another kernel."""
        return self._with(kernel, self.data, self._differences)

    def value(self, theta: Array) -> Array:
        """Return the log likelihood (R, q); -inf where the covariance cannot be factored."""
        (value,) = self._in_blocks(theta, False)
        return value

    def value_and_gradient(self, theta: Array) -> tuple[Array, Array]:
        """Return value (R, q) and its gradient in theta (R, q, d + 2)."""
        value, gradient = self._in_blocks(theta, True)
        return value, gradient

    def _with(self, kernel: Kernel, data: Observations, differences: Array) -> MarginalLikelihood:
        other = object.__new__(MarginalLikelihood)
        other.kernel, other.data = kernel, data
        other._gaussian, other._differences = self._gaussian, differences
        return other

    def _in_blocks(self, theta: Array, gradient: bool) -> tuple[Array, ...]:
        """Value, and gradient if asked for, block by block where the arrays are on the host."""
        R, q, _ = theta.shape
        pairs = self._differences.shape[-1]
        if not isinstance(theta, np.ndarray) or R * q * pairs <= CACHED_ELEMENTS:
            return self._block(theta, slice(0, R), gradient)
        value, slopes = np.empty((R, q)), np.empty(theta.shape if gradient else (0, 0, 0))
        out = (value, slopes) if gradient else (value,)
        for sets, vectors in _blocks(R, q, max(1, CACHED_ELEMENTS // pairs)):
            for whole, part in zip(out, self._block(theta[sets, vectors], sets, gradient), strict=True):
                whole[sets, vectors] = part
        return out

    def _block(self, theta: Array, sets: slice, gradient: bool) -> tuple[Array, ...]:
        """For some of the data sets, all at once.

        d c / d log l_k = -2 gamma^2 rho_1(s) D_k / l_k^2, d c / d log gamma = 2 c; the noise is on the diagonal alone.
        """
        xp = namespace(theta)
        R, q, _ = theta.shape
        D, y = self._differences[sets, ...], self.data.y[sets, None, :]
        inverse_square, scale = xp.exp(-2.0 * theta[..., :-2]), xp.exp(2.0 * theta[..., -2:])
        variance, noise = scale[..., 0], scale[..., 1]
        rho, *slope = self.kernel.profile(xp.matmul(inverse_square, D), int(gradient))
        rho *= variance[..., None]
        diagonal = variance[..., None] + self._noise(noise, sets)

        def flat(x: Array) -> Array:
            return xp.reshape(xp.broadcast_to(x, (R, q, x.shape[-1])), (R * q, x.shape[-1]))

        if not gradient:
            value = self._gaussian.log_density(flat(y), flat(rho), flat(diagonal))
            return (xp.reshape(value, (R, q)),)
        value, by = self._gaussian.log_density_and_gradient(flat(y), flat(rho), flat(diagonal))
        by_pair, by_diagonal = (xp.reshape(part, (R, q, part.shape[-1])) for part in by)
        by_lengthscale = xp.matmul(by_pair * slope[0], xp.linalg.matrix_transpose(D))
        by_lengthscale *= -2.0 * variance[..., None] * inverse_square
        by_amplitude = 2.0 * (xp.linalg.vecdot(by_pair, rho) + variance * xp.sum(by_diagonal, axis=-1))
        by_noise = 2.0 * noise * xp.sum(by_diagonal * self._learned(sets), axis=-1)
        gradients = xp.concat([by_lengthscale, by_amplitude[..., None], by_noise[..., None]], axis=-1)
        return xp.reshape(value, (R, q)), gradients

    def _noise(self, learned: Array, sets: slice) -> Array:
        """The variance of each value (R', q, n) given that of those whose noise is learned (R', q)."""
        data = self.data
        sd = None if data.noise_sd is None else data.noise_sd[sets, ...]
        return Observations(data.X[sets, ...], data.y[sets, ...], sd).expand().noise_variance(learned)

    def _learned(self, sets: slice) -> Array:
        return self.data.learned()[sets, None, :]


def _blocks(R: int, q: int, rows: int) -> Iterator[tuple[slice, slice]]:
    """Slices of data sets and of vectors that cover all, of about `rows` (data set, vector) pairs each."""
    sets, vectors = max(1, rows // q), min(q, rows)
    for first in range(0, R, sets):
        for start in range(0, q, vectors):
            yield slice(first, min(first + sets, R)), slice(start, min(start + vectors, q))


def _squared_differences(X: Array, gaussian: PackedGaussian) -> Array:
    """(x_i - z_i)^2 of the pairs of rows of X (R, n, d), shape (R, d, m)."""
    xp = namespace(X)
    columns = xp.linalg.matrix_transpose(X)
    one, other = (xp.take(columns, move(ends, X), axis=-1) for ends in (gaussian.rows, gaussian.columns))
    return (one - other) ** 2
