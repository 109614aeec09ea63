"""Sample paths of a GP posterior: functions that can be evaluated, differentiated and maximized anywhere.

A path is a sum of cosines and, for exact paths, a correction that makes it agree with the data:

    f(x) = c sum_k theta_k cos(w_k . x + b_k)  +  k(x, X) v,    c = gamma sqrt(2 / m)

`exact`    theta from the prior, v = K^{-1} (y - f_prior(X) - noise): where data are near, the posterior is exact
           and the features only fill in the prior [WBTMD20].
`weights`  theta from the posterior of the linear model on the features, v = 0 [HHG14, section 2.1].

Value, gradient and Hessian are closed forms.

Notation
    P    paths, all leading axes joined
    m    features of one path: frequencies w, phases b, weights theta

Sources: [HHG14] the paper; [WBTMD20] Wilson et al., "Efficiently sampling functions from Gaussian process posteriors",
2020, eq. 13.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xstar.errors import DataError, SettingsError
from xstar.gp.features import Features, draw_features
from xstar.gp.hyperparameters import Hyperparameters
from xstar.gp.jets import jet_layout
from xstar.gp.kernels import Kernel, scaled_difference
from xstar.gp.observations import check_fit, check_points
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, HostArray, chunks, device, move, namespace, solve_lower, take_rows, zeros
from xstar.numerics.ascent import Evaluation
from xstar.numerics.checks import generator, instance, integer
from xstar.numerics.linalg import safe_cholesky, solve_cholesky


@dataclass(frozen=True)
class Paths:
    """Sampled functions on the cube; `batch_shape` is that of the posterior with the number of paths appended."""

    kernel: Kernel
    hyper: Hyperparameters
    features: Features
    weights: Array
    """theta, shape (P, m)."""
    anchors: Array
    """X, shape (P, n, d), or (n, d) when all paths share the data; n = 0 without a correction."""
    correction: Array
    """v, shape (P, n)."""
    batch_shape: tuple[int, ...]
    curved: HostArray | None = None
    """The coordinates between which second derivatives are computed; all by default, zero for the others."""

    @property
    def num_problems(self) -> int:
        """P; with `screen` and `evaluate`, what `xstar.search` asks of an objective."""
        return math.prod(self.batch_shape)

    @property
    def dimension(self) -> int:
        """d."""
        return self.hyper.dimension

    def __call__(self, X: Any) -> Array:
        """Values at points (n, d), the same for all paths, or (*batch_shape, n, d); shape (*batch_shape, n)."""
        points = self._own_points(X)
        xp = namespace(points)
        values = [
            xp.concat([part._values(x) for x in part._blocks(self._share(points, rows))], axis=-1)
            for rows, part in self._parts()
        ]
        return xp.reshape(xp.concat(values, axis=0), (*self.batch_shape, points.shape[-2]))

    def derivatives(self, X: Any) -> Evaluation:
        """Value, gradient and Hessian at points like those of `__call__`; d and (d, d) appended to the shape."""
        points = self._own_points(X)
        xp = namespace(points)
        if points.ndim == 2:
            points = xp.broadcast_to(points, (self.num_problems, *points.shape))
        value, gradient, hessian = self.evaluate(points, np.arange(self.num_problems))
        shape = (*self.batch_shape, points.shape[-2])
        d = self.dimension
        return Evaluation(
            xp.reshape(value, shape), xp.reshape(gradient, (*shape, d)), xp.reshape(hessian, (*shape, d, d))
        )

    def screen(self, X: Any) -> Array:
        """Values at shared points (n, d), good enough to rank them; shape (P, n).

        The cosines are computed in float32, which NumPy does about ten times faster than float64 on AVX2
        machines, and cosines of thousands of candidates dominate a search; angles of 100 radians then cost errors
        of 1e-5 of the amplitude. The correction stays in float64: its large terms of both signs cancel.
        """
        points = check_points(X, "X", like=self.weights, dimension=self.dimension, table=True)
        xp = namespace(points)
        values = []
        for _, part in self._parts():
            features, weights = part.features.single(), xp.astype(part.weights, xp.float32)[:, :, None]
            blocks = []
            for x in part._blocks(points):
                rough = xp.matmul(features(xp.astype(x, xp.float32)), weights)[..., 0]
                blocks.append(xp.astype(rough, x.dtype) + part._corrections(x))
            values.append(xp.concat(blocks, axis=-1))
        return xp.concat(values, axis=0)

    def value(self, x: Array, problems: HostArray) -> Array:
        """Values (P', q) of the given paths (P',) at their own points (P', q, d)."""
        return self._some(problems)(x)

    def evaluate(self, x: Array, problems: HostArray) -> Evaluation:
        """Value, gradient and Hessian of the given paths (P',) at their own points (P', q, d)."""
        xp = namespace(x)
        pieces = []
        for rows, part in self._some(problems)._parts():
            blocks = [part._derivatives(block) for block in part._blocks(x[rows, ...], 4 * self.dimension)]
            pieces.append([xp.concat(list(joined), axis=1) for joined in zip(*blocks, strict=True)])
        return Evaluation(*(xp.concat(list(joined), axis=0) for joined in zip(*pieces, strict=True)))

    def _derivatives(self, x: Array) -> Evaluation:
        columns = np.arange(self.dimension) if self.curved is None else self.curved
        layout = jet_layout(len(columns))
        first, second = columns[layout.first], columns[layout.second]
        value, gradient, bend = self.features.derivatives(x, self.weights, move(first, x), move(second, x))
        if self.correction.shape[-1] > 0:
            more = self._correction_derivatives(x, columns)
            value, gradient, bend = value + more[0], gradient + more[1], bend + more[2]
        return Evaluation(value, gradient, _symmetric(bend, first, second, self.dimension))

    def _correction_derivatives(self, x: Array, columns: HostArray) -> tuple[Array, Array, Array]:
        """k(x, X) v, its gradient and its second derivatives between some columns."""
        xp = namespace(x)
        d = len(columns)
        layout = jet_layout(d)
        i, j = move(layout.first, x), move(layout.second, x)
        u = scaled_difference(self.hyper, x, self.anchors)
        rho, rho_1, rho_2 = self.kernel.profile(xp.sum(u * u, axis=-1), 2)
        v = (self.hyper.variance[:, None] * self.correction)[:, None, :]
        inverse = 1.0 / self.hyper.lengthscales
        transposed = xp.linalg.matrix_transpose(u)
        gradient = 2.0 * xp.matmul(transposed, (v * rho_1)[..., None])[..., 0] * inverse[:, None, :]
        if self.curved is not None:
            u = xp.take(u, move(columns, u), axis=-1)
            inverse = xp.take(inverse, move(columns, u), axis=-1)
        bend = xp.matmul(xp.linalg.matrix_transpose(u) * (4.0 * v * rho_2)[..., None, :], u)
        second = xp.take(xp.reshape(bend, (*bend.shape[:-2], d * d)), i * d + j, axis=-1)
        same = xp.astype(i == j, x.dtype)
        second = second + 2.0 * xp.sum(v * rho_1, axis=-1)[..., None] * same
        scale = xp.take(inverse, i, axis=-1) * xp.take(inverse, j, axis=-1)
        return xp.sum(v * rho, axis=-1), gradient, second * scale[:, None, :]

    def _values(self, x: Array) -> Array:
        xp = namespace(x)
        return xp.matmul(self.features(x), self.weights[:, :, None])[..., 0] + self._corrections(x)

    def _corrections(self, x: Array) -> Array:
        xp = namespace(x)
        cross = self.kernel.covariance(self.hyper, x, self.anchors)
        return xp.matmul(cross, self.correction[:, :, None])[..., 0]

    def _own_points(self, X: Any) -> Array:
        """Points (n, d), or (P, n, d) with the leading axes of the batch joined."""
        xp = namespace(self.weights)
        points = check_points(X, "X", like=self.weights, dimension=self.dimension)
        if points.ndim == 2:
            return points
        if check_fit(points, "X", self.batch_shape) != self.batch_shape:
            raise DataError(
                f"X has leading axes {tuple(points.shape[:-2])}, more than the paths have, {self.batch_shape}."
            )
        tail = points.shape[-2:]
        return xp.reshape(xp.broadcast_to(points, (*self.batch_shape, *tail)), (self.num_problems, *tail))

    def _parts(self) -> Iterator[tuple[slice, Paths]]:
        """The paths in groups whose features, at a handful of points, fit into a block of memory."""
        d, m = self.dimension, self.weights.shape[-1]
        groups = list(chunks(self.num_problems, m * max(8, d * (d + 1) // 2)))
        for rows in groups:
            yield rows, self if len(groups) == 1 else self.take(np.arange(rows.start, rows.stop))

    def _blocks(self, points: Array, columns: int = 1) -> Iterator[Array]:
        """The points in blocks for which all paths here, with `columns` numbers for each feature or datum, fit."""
        width = max(self.weights.shape[-1], self.correction.shape[-1])
        for block in chunks(points.shape[-2], self.num_problems * width * columns):
            yield points[..., block, :]

    @staticmethod
    def _share(points: Array, rows: slice) -> Array:
        """The points of some paths."""
        return points if points.ndim == 2 else points[rows, ...]

    def _some(self, problems: HostArray) -> Paths:
        """The given paths, without a copy if they are all; their batch shape is (P',)."""
        if np.array_equal(problems, np.arange(self.num_problems)):
            return replace(self, batch_shape=(self.num_problems,))
        return self.take(problems)

    def take(self, rows: HostArray) -> Paths:
        """Some of the paths, by their positions among all P; their batch shape is (len(rows),)."""
        anchors = self.anchors if self.anchors.ndim == 2 else take_rows(self.anchors, rows)
        return Paths(
            self.kernel, self.hyper.take(rows), self.features.take(rows), take_rows(self.weights, rows),
            anchors, take_rows(self.correction, rows), (len(rows),), self.curved,
        )  # fmt: skip


def _symmetric(bend: Array, first: HostArray, second: HostArray, d: int) -> Array:
    """Second derivatives (..., pairs) between columns `first` and `second` as matrices (..., d, d)."""
    xp = namespace(bend)
    pairs = len(first)
    place = np.full((d, d), pairs)
    place[first, second] = place[second, first] = np.arange(pairs)
    if np.any(place == pairs):
        bend = xp.concat([bend, xp.zeros_like(bend[..., :1]) if pairs else zeros((*bend.shape[:-1], 1), bend)], axis=-1)
    return xp.reshape(xp.take(bend, move(place.ravel(), bend), axis=-1), (*bend.shape[:-1], d, d))


def draw_paths(
    post: Posterior,
    num_paths: int,
    rng: np.random.Generator,
    *,
    num_features: int = 512,
    kind: str = "exact",
) -> Paths:
    """Draw paths from each posterior of a batch; `kind` is "exact" or "weights" (the paper's).

    The batch shape of the paths is that of the posterior followed by num_paths.
    """
    instance(post, "post", Posterior, "Posterior(SquaredExponential(), hyper, X, y)")
    integer(num_paths, "num_paths", 1)
    integer(num_features, "num_features", 1)
    generator(rng)
    if kind not in ("exact", "weights"):
        raise SettingsError(f'kind must be "exact" or "weights"; received {kind!r}.')
    xp = namespace(post.factor)
    batch = (*post.batch_shape, num_paths)
    P, n = math.prod(batch), post.data.count
    hyper = post.hyper.expand().flatten(batch)
    features = draw_features(post.kernel, hyper, num_features, rng)
    theta = move(rng.standard_normal((P, num_features)), post.factor)
    epsilon = move(rng.standard_normal((P, n)), post.factor)

    data = post.data.expand().flatten(batch)
    # The jitter of the factor acts as noise, so it is drawn as noise.
    jitter = xp.reshape(xp.broadcast_to(post.jitter[..., None, :], (*batch, n)), (P, n))
    noise_variance = data.noise_variance(hyper.noise_variance) + jitter
    X = data.X if post.data.batch_shape else post.data.X
    blocks = list(chunks(P, num_features * max(1, n)))
    # Without a correction, a path has no anchors.
    bare = Paths(post.kernel, hyper, features, theta, X[..., :0, :], theta[:, :0], batch)
    if kind == "weights":
        drawn = [
            _draw_weights(features.part(rows)(Paths._share(X, rows)), data.y[rows, :], noise_variance[rows, :],
                          theta[rows, :], epsilon[rows, :])
            for rows in blocks
        ]  # fmt: skip
        return replace(bare, weights=xp.concat(drawn, axis=0))
    values = [xp.matmul(features.part(rows)(Paths._share(X, rows)), theta[rows, :, None])[..., 0] for rows in blocks]
    residual = data.y - xp.concat(values, axis=0) - xp.sqrt(noise_variance) * epsilon
    # One factor serves all paths of a hyperparameter sample: they are the columns of one right-hand side.
    columns = xp.linalg.matrix_transpose(xp.reshape(residual, (*batch, n)))
    correction = xp.linalg.matrix_transpose(solve_cholesky(post.factor, columns))
    return replace(bare, anchors=X, correction=xp.reshape(correction, (P, n)))


def _draw_weights(phi: Array, y: Array, noise_variance: Array, theta: Array, epsilon: Array) -> Array:
    """theta ~ N(A^{-1} Phi^T S^{-1} y, A^{-1}), A = Phi^T S^{-1} Phi + I, S = diag(noise variances), from normal draws.

    The paper's posterior [HHG14, section 2.1], for noise that may differ between observations. For n < m the prior
    draw theta is corrected by Phi^T (Phi Phi^T + S)^{-1} (y - Phi theta - S^{1/2} epsilon), which has exactly this
    distribution and costs O(n^2 m), as the method of Seeger's appendix B.2 does.
    """
    xp = namespace(phi)
    n, m = phi.shape[-2:]
    transposed = xp.linalg.matrix_transpose(phi)
    if n < m:
        identity = xp.eye(n, dtype=phi.dtype, device=device(phi))
        factor = safe_cholesky(xp.matmul(phi, transposed) + noise_variance[..., None] * identity).factor
        residual = y - xp.matmul(phi, theta[..., None])[..., 0] - xp.sqrt(noise_variance) * epsilon
        return theta + xp.matmul(transposed, solve_cholesky(factor, residual[..., None]))[..., 0]
    # Without noise A is infinite; a noise of 1e-6 of the amplitude is as good as none.
    floor = 1e-12 * xp.mean(xp.sum(phi * phi, axis=-1), axis=-1, keepdims=True)
    weighted = transposed / xp.maximum(noise_variance, floor)[:, None, :]
    identity = xp.eye(m, dtype=phi.dtype, device=device(phi))
    factor = safe_cholesky(xp.matmul(weighted, phi) + identity).factor
    mean = solve_cholesky(factor, xp.matmul(weighted, y[..., None]))
    return (mean + solve_lower(factor, theta[..., None], transpose=True))[..., 0]
