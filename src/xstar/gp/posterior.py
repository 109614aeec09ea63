"""The exact GP posterior, batched over hyperparameter samples and over independent data sets.

Notation
    K        k(X, X) + diag(noise variances) = L L^T           (..., n, n)
    alpha    K^{-1} y                                          (..., n)
    A        L^{-1} k(X, x)                                    (..., n, m)
    mean     k(x, X) alpha                                     (..., m)
    var      gamma^2 - |A|^2, variance of the latent f(x)      (..., m)

The prior mean is zero. Sources: [HHG14, eq. 1], [RW06, algorithm 2.1].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from xstar.errors import DataError, NumericalError
from xstar.gp.hyperparameters import Hyperparameters
from xstar.gp.kernels import Kernel, check_kernel
from xstar.gp.likelihood import MarginalLikelihood
from xstar.gp.observations import Observations, check_fit, check_points
from xstar.numerics.arrays import (
    Array,
    HostArray,
    add_diagonal,
    in_chunks,
    namespace,
    solve_lower,
    take_rows,
    zeros,
)
from xstar.numerics.checks import instance
from xstar.numerics.linalg import Cholesky, extend_cholesky, log_determinant, safe_cholesky


class Posterior:
    """A Gaussian process conditioned on data; leading axes of hyperparameters and data are broadcast.

    Parameters
    ----------
    kernel : Kernel
        Of the prior, whose mean is zero.
    hyper : Hyperparameters
        Lengthscales, amplitude and noise.
    X : array_like of shape (..., n, d)
        Points; everything lives in their namespace and on their device. Without any (n = 0), this is the prior.
    y : array_like of shape (..., n)
        Values.
    noise_sd : array_like of shape (..., n), optional
        The standard deviation of each observation; where it is None or NaN, the hyperparameter `noise` holds.

    Raises
    ------
    DataError
        If the observations are not finite, or shapes do not fit each other.
    NumericalError
        If the covariance cannot be factored, not even with jitter.

    Examples
    --------
    >>> from xstar.gp import Hyperparameters, Posterior, SquaredExponential
    >>> post = Posterior(SquaredExponential(), Hyperparameters([0.3], 1.0, 0.01), [[0.2], [0.7]], [0.0, 1.0])
    >>> mean, variance = post.predict([[0.2], [0.7]])
    >>> mean.round(3).tolist()
    [0.0, 1.0]
    """

    def __init__(
        self, kernel: Kernel, hyper: Hyperparameters, X: ArrayLike, y: ArrayLike, noise_sd: ArrayLike | None = None
    ) -> None:
        check_kernel(kernel)
        instance(hyper, "hyper", Hyperparameters, "Hyperparameters([0.3, 0.3], 1.0, 0.1)")
        self._fit(kernel, hyper, Observations.check(X, y, noise_sd))

    @classmethod
    def of(cls, kernel: Kernel, hyper: Hyperparameters, data: Observations) -> Posterior:
        """Condition on data that have been checked."""
        post = cls.__new__(cls)
        post._fit(kernel, hyper, data)
        return post

    def _fit(self, kernel: Kernel, hyper: Hyperparameters, data: Observations) -> None:
        if hyper.dimension != data.dimension:
            raise DataError(
                f"X has {data.dimension} coordinates, but hyperparameters have {hyper.dimension} lengthscales."
            )
        self._set(kernel, hyper.like(data.X), data, None)

    def _set(self, kernel: Kernel, hyper: Hyperparameters, data: Observations, known: Cholesky | None) -> None:
        self.kernel = kernel
        self.hyper = hyper
        self.data = data
        try:
            self.batch_shape = np.broadcast_shapes(hyper.batch_shape, data.batch_shape)
        except ValueError as error:
            raise DataError(
                f"the leading axes of the hyperparameters, {hyper.batch_shape}, do not fit those of the data, "
                f"{data.batch_shape}."
            ) from error
        cholesky = safe_cholesky(self._noisy(self._prior(data.X, data.X), data)) if known is None else known
        if not bool(namespace(data.X).all(cholesky.found)):
            raise NumericalError(
                "the covariance of the data cannot be factored, not even with jitter; lengthscales or noise are "
                "beyond what float64 can represent."
            )
        self.factor = cholesky.factor
        self.jitter = cholesky.jitter  # added to each observation's variance, shape (..., n)

    @property
    def dimension(self) -> int:
        """d."""
        return self.data.dimension

    @cached_property
    def alpha(self) -> Array:
        """K^{-1} y, shape (..., n)."""
        return solve_lower(self.factor, self._whitened_targets, transpose=True)[..., 0]

    @cached_property
    def _whitened_targets(self) -> Array:
        xp = namespace(self.factor)
        targets = xp.broadcast_to(self.data.y, (*self.batch_shape, self.data.count))
        return solve_lower(self.factor, targets[..., None])

    def predict(self, X: ArrayLike) -> tuple[Array, Array]:
        """Predict the latent f.

        Parameters
        ----------
        X : array_like of shape (..., m, d)
            Points; leading axes are broadcast with those of the posterior.

        Returns
        -------
        mean, variance : array of shape (..., m)
            The variance is that of f; an observation has its noise on top.

        Raises
        ------
        DataError
            If the points are not finite or have the wrong shape.
        """

        def block(points: Array) -> tuple[Array, Array]:
            xp = namespace(points)
            cross = self._prior(points, self.data.X)
            mean = xp.matmul(cross, self.alpha[..., None])[..., 0]
            return mean, self._variance(self.whiten(xp.linalg.matrix_transpose(cross)))

        mean, variance = self._over_blocks(block, X, 1, (-1, -1))
        return mean, variance

    def predict_mean(self, X: ArrayLike) -> Array:
        """Predict the mean alone, at a fraction of the cost.

        Parameters
        ----------
        X : array_like of shape (..., m, d)
            Points.

        Returns
        -------
        array of shape (..., m)
        """

        def block(points: Array) -> tuple[Array]:
            xp = namespace(points)
            return (xp.matmul(self._prior(points, self.data.X), self.alpha[..., None])[..., 0],)

        (mean,) = self._over_blocks(block, X, 1, (-1,))
        return mean

    def predict_gradient(self, X: ArrayLike) -> tuple[Array, Array, Array, Array]:
        """Predict the latent f, with derivatives.

        Parameters
        ----------
        X : array_like of shape (..., m, d)
            Points.

        Returns
        -------
        mean, variance : array of shape (..., m)
        mean_gradient, variance_gradient : array of shape (..., m, d)
            In x.
        """

        def block(points: Array) -> tuple[Array, Array, Array, Array]:
            xp = namespace(points)
            cross, slope = self.kernel.covariance_and_gradient(self.hyper, points, self.data.X)
            mean = xp.matmul(cross, self.alpha[..., None])[..., 0]
            whitened = self.whiten(xp.linalg.matrix_transpose(cross))
            weights = xp.linalg.matrix_transpose(solve_lower(self.factor, whitened, transpose=True))
            slope_t = xp.linalg.matrix_transpose(slope)
            mean_gradient = xp.matmul(slope_t, self.alpha[..., None, :, None])[..., 0]
            variance_gradient = -2.0 * xp.matmul(slope_t, weights[..., None])[..., 0]
            return mean, self._variance(whitened), mean_gradient, variance_gradient

        mean, variance, mean_gradient, variance_gradient = self._over_blocks(
            block, X, 2 + self.dimension, (-1, -1, -2, -2)
        )
        return mean, variance, mean_gradient, variance_gradient

    def joint(self, X: ArrayLike) -> tuple[Array, Array]:
        """Predict the latent f at several points together.

        Parameters
        ----------
        X : array_like of shape (..., m, d)
            Points.

        Returns
        -------
        mean : array of shape (..., m)
        covariance : array of shape (..., m, m)
        """
        points, _ = self._points(X)
        xp = namespace(points)
        cross = self._prior(self.data.X, points)
        mean = xp.matmul(xp.linalg.matrix_transpose(cross), self.alpha[..., None])[..., 0]
        whitened = self.whiten(cross)
        return mean, self._prior(points, points) - xp.matmul(xp.linalg.matrix_transpose(whitened), whitened)

    def leave_one_out(self) -> tuple[Array, Array]:
        """Predict each observation from all the others, with the same hyperparameters [RW06, eq. 5.12].

        mean_i = y_i - alpha_i / (K^{-1})_ii        variance_i = 1 / (K^{-1})_ii

        Returns
        -------
        mean, variance : array of shape (..., n)
            The variance is that of the observation, its noise included.
        """
        xp = namespace(self.factor)
        identity = add_diagonal(xp.zeros_like(self.factor), xp.ones_like(self.jitter))
        precision = xp.sum(solve_lower(self.factor, identity) ** 2, axis=-2)
        return self.data.y - self.alpha / precision, 1.0 / precision

    def whiten(self, cross: Array) -> Array:
        """Return L^{-1} k(X, .): from prior covariances with the data (..., n, m) to the part that the data explain."""
        return solve_lower(self.factor, cross)

    def by_problem(self) -> Posterior:
        """Return the same posteriors with leading axes (R, H).

        Data without leading axes are one problem, R = 1, and all leading axes of the hyperparameters its samples.

        Returns
        -------
        Posterior
            Of R data sets (R, 1, n, d), with H hyperparameter samples of each.

        Raises
        ------
        DataError
            If there are several data sets and their leading axes are not (R, 1).
        """
        if not self.data.batch_shape:
            return self._reshaped(self.data.expand().expand(), (1, math.prod(self.batch_shape)))
        R = self.batch_shape[0]
        if len(self.batch_shape) != 2 or self.data.batch_shape != (R, 1):
            raise DataError(
                "several data sets need leading axes (R, 1) of X and (R, H) of the hyperparameters; received "
                f"{self.data.batch_shape} and {self.hyper.batch_shape}."
            )
        return self if self.hyper.batch_shape == self.batch_shape else self._reshaped(self.data, self.batch_shape)

    def joined(self) -> Posterior:
        """Return the posterior of one problem with leading axis H alone; data (n, d), or (H, n, d) with fantasies."""
        rows = math.prod(self.batch_shape)
        if math.prod(self.data.batch_shape) not in (1, rows) or self.data.batch_shape[:1] not in ((), (1,)):
            raise DataError(f"one data set is needed here; received leading axes {self.data.batch_shape} of X.")
        data = self.data.flatten()
        if data.batch_shape == (1,):
            sd = None if data.noise_sd is None else data.noise_sd[0, ...]
            data = Observations(data.X[0, ...], data.y[0, ...], sd)
        return self._reshaped(data, (rows,))

    def take(self, problems: HostArray) -> Posterior:
        """Return some of the R problems of `by_problem`."""
        part = object.__new__(Posterior)
        found = ~zeros((len(problems), *self.batch_shape[1:]), self.factor, boolean=True)
        known = Cholesky(take_rows(self.factor, problems), take_rows(self.jitter, problems), found)
        part._set(self.kernel, self.hyper.spread(self.batch_shape).take(problems), self.data.take(problems), known)
        return part

    def _reshaped(self, data: Observations, batch: tuple[int, ...]) -> Posterior:
        """The same with other leading axes."""
        xp = namespace(self.factor)
        n = data.count
        known = Cholesky(
            xp.reshape(self.factor, (*batch, n, n)),
            xp.reshape(xp.broadcast_to(self.jitter, (*self.batch_shape, n)), (*batch, n)),
            ~zeros(batch, self.factor, boolean=True),
        )
        shaped = object.__new__(Posterior)
        shaped._set(self.kernel, self.hyper.flatten(self.batch_shape).reshaped(batch), data, known)
        return shaped

    def extend(self, X: ArrayLike, y: ArrayLike, noise_sd: ArrayLike | None = None) -> Posterior:
        """Condition on more observations, in O(n^2 k): the factor is extended, not computed anew.

        Parameters
        ----------
        X : array_like of shape (..., k, d)
            Points.
        y : array_like of shape (..., k)
            Values.
        noise_sd : array_like of shape (..., k), optional
            Their standard deviations.

        Returns
        -------
        Posterior
            Of all observations; this one stays as it is.
        """
        xp = namespace(self.data.X)
        points, _ = self._points(X)
        new = Observations.check(points, y, noise_sd)
        cross = self._prior(self.data.X, new.X)
        corner = self._noisy(self._prior(new.X, new.X), new)
        longer = extend_cholesky(self.factor, cross, corner)
        k, batch = new.count, longer.found.shape
        before = xp.broadcast_to(self.jitter, (*batch, self.data.count))
        jitter = xp.concat([before, xp.broadcast_to(longer.jitter, (*batch, k))], axis=-1)
        extended = object.__new__(Posterior)
        extended._set(self.kernel, self.hyper, self.data.join(new), longer._replace(jitter=jitter))
        return extended

    def log_marginal_likelihood(self) -> Array:
        """Return log p(y | X, hyperparameters), shape (...)."""
        xp = namespace(self.factor)
        whitened = self._whitened_targets[..., 0]
        misfit = xp.sum(whitened * whitened, axis=-1)
        return -0.5 * (misfit + log_determinant(self.factor) + self.data.count * math.log(2.0 * math.pi))

    def log_marginal_likelihood_gradient(self) -> Array:
        """Return its gradient in (log lengthscales, log amplitude, log noise), shape (..., d + 2)."""
        xp = namespace(self.factor)
        data = self.data.flatten(self.batch_shape)
        theta = self.hyper.flatten(self.batch_shape).log()
        _, gradient = MarginalLikelihood(self.kernel, data).value_and_gradient(theta[:, None, :])
        return xp.reshape(gradient, (*self.batch_shape, self.dimension + 2))

    def _prior(self, X: Array, Z: Array) -> Array:
        return self.kernel.covariance(self.hyper, X, Z)

    def _noisy(self, covariance: Array, data: Observations) -> Array:
        """The covariance of observations: noise on the diagonal."""
        return add_diagonal(covariance, data.noise_variance(self.hyper.noise_variance))

    def _variance(self, whitened: Array) -> Array:
        xp = namespace(whitened)
        explained = xp.sum(whitened * whitened, axis=-2)
        return xp.clip(self.hyper.variance[..., None] - explained, min=0.0)

    def _over_blocks(
        self, block: Callable[[Array], tuple[Array, ...]], X: ArrayLike, columns: int, axes: tuple[int, ...]
    ) -> tuple[Array, ...]:
        """Run a row-wise computation on checked points in blocks of bounded memory."""
        points, batch = self._points(X)
        elements = (math.prod(batch) * columns + self.dimension) * max(1, self.data.count)
        return in_chunks(block, points, elements, axes)

    def _points(self, X: ArrayLike) -> tuple[Array, tuple[int, ...]]:
        """Checked points, and their common leading axes with the posterior."""
        points = check_points(X, "X", like=self.data.X, dimension=self.dimension)
        return points, check_fit(points, "X", self.batch_shape)
