"""Sample paths of a GP posterior: functions that can be evaluated, differentiated and maximized anywhere.

A path is a sum of cosines and, for exact paths, a correction that makes it agree with the data:

    f(x) = c sum_k theta_k cos(w_k . x + b_k)  +  k(x, X) v,    c = gamma sqrt(2 / m)

`exact`    theta from the prior, v = K^{-1} (y - f_prior(X) - noise): where data are near, the posterior is exact
           and the features only fill in the prior [WBTMD20].
`weights`  theta from the posterior of the linear model on the features, v = 0 [HHG14, section 2.1].

Value, gradient and Hessian are closed forms. Paths of one posterior may share their features, as draws of one linear
model: its cosines, and the covariances of its points with the data, are then computed once for all of them.

Notation
    F    feature sets, each with hyperparameters of its own      S    paths of each
    P    F S paths, all leading axes joined
    m    features of one set: frequencies w, phases b; weights theta

Sources: [HHG14] the paper; [WBTMD20] Wilson et al., "Efficiently sampling functions from Gaussian process posteriors",
2020, eq. 13.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from xstar.errors import DataError, SettingsError
from xstar.gp.features import Features, draw_features
from xstar.gp.hyperparameters import Hyperparameters
from xstar.gp.jets import jet_layout
from xstar.gp.kernels import Kernel
from xstar.gp.observations import check_fit, check_points
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, HostArray, chunks, identity, move, namespace, solve_lower, take_rows, zeros
from xstar.numerics.ascent import Evaluation
from xstar.numerics.checks import generator, instance, integer
from xstar.numerics.linalg import safe_cholesky, solve_cholesky
from xstar.numerics.random import Random


@dataclass(frozen=True)
class Paths:
    """Sampled functions on the cube: an `Objective` of `xstar.search`.

    `draw_paths` makes them; `batch_shape` is that of the posterior with the number of paths appended.

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.gp import Hyperparameters, Posterior, SquaredExponential, draw_paths
    >>> post = Posterior(SquaredExponential(), Hyperparameters([0.3], 1.0, 0.01), [[0.2], [0.7]], [0.0, 1.0])
    >>> paths = draw_paths(post, 3, np.random.default_rng(0))
    >>> paths([[0.1], [0.5]]).shape
    (3, 2)
    """

    kernel: Kernel
    hyper: Hyperparameters
    """Leading axis F."""
    features: Features
    weights: Array
    """theta, shape (F, S, m)."""
    anchors: Array
    """X, shape (F, n, d), or (n, d) when all paths share the data; n = 0 without a correction."""
    correction: Array
    """v, shape (F, S, n)."""
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

    def __call__(self, X: ArrayLike) -> Array:
        """Evaluate all paths.

        Parameters
        ----------
        X : array_like of shape (n, d) or (*batch_shape, n, d)
            The same points for all paths, or each path's own.

        Returns
        -------
        array of shape (*batch_shape, n)
        """
        points = self._own_points(X)
        xp = namespace(points)
        values = [
            xp.concat([part._values(x) for x in part._blocks(self._share(points, rows))], axis=-1)
            for rows, part in self._parts()
        ]
        return xp.reshape(xp.concat(values, axis=0), (*self.batch_shape, points.shape[-2]))

    def derivatives(self, X: ArrayLike) -> Evaluation:
        """Evaluate all paths with their derivatives.

        Parameters
        ----------
        X : array_like of shape (n, d) or (*batch_shape, n, d)
            The same points for all paths, or each path's own.

        Returns
        -------
        Evaluation
            Value (*batch_shape, n), gradient (*batch_shape, n, d) and Hessian (*batch_shape, n, d, d).
        """
        points = self._own_points(X)
        xp = namespace(points)
        if points.ndim == 2:
            points = xp.broadcast_to(points, (*self.weights.shape[:2], *points.shape))
        shape = (*self.batch_shape, points.shape[-2])
        points = xp.reshape(points, (self.num_problems, *points.shape[-2:]))
        value, gradient, hessian = self.evaluate(points, np.arange(self.num_problems))
        d = self.dimension
        return Evaluation(
            xp.reshape(value, shape), xp.reshape(gradient, (*shape, d)), xp.reshape(hessian, (*shape, d, d))
        )

    def screen(self, X: ArrayLike) -> Array:
        """Return values at points (n, d), or (R, n, d) for R groups of paths, good enough to rank them; shape (P, n).

        The cosines are computed in float32, which NumPy does about ten times faster than float64 on AVX2
        machines, and cosines of thousands of candidates dominate a search; angles of 100 radians then cost errors
        of 1e-5 of the amplitude. The correction stays in float64: its large terms of both signs cancel.
        """
        points = self._grouped(check_points(X, "X", like=self.weights, dimension=self.dimension))
        xp = namespace(points)
        values = []
        for rows, part in self.single._parts():
            mine = self._share(points, rows)
            blocks = [part._values(x) for x in part._blocks(mine)]
            values.append(xp.concat(blocks, axis=-1))
        return xp.reshape(xp.concat(values, axis=0), (self.num_problems, points.shape[-2]))

    def value(self, x: Array, problems: HostArray) -> Array:
        """Return values (P', q) of the given paths (P',) at their own points (P', q, d)."""
        return self._some(problems)(x)

    def evaluate(self, x: Array, problems: HostArray) -> Evaluation:
        """Return value, gradient and Hessian of the given paths (P',) at their own points (P', q, d)."""
        xp = namespace(x)
        some = self._some(problems)
        F, S, _ = some.weights.shape
        d = self.dimension
        x = xp.reshape(x, (F, S, *x.shape[1:]))
        pieces = []
        for rows, part in some._parts():
            blocks = [part._derivatives(block) for block in part._blocks(x[rows, ...], 4 * d)]
            pieces.append([xp.concat(list(joined), axis=2) for joined in zip(*blocks, strict=True)])
        value, gradient, hessian = (xp.concat(list(joined), axis=0) for joined in zip(*pieces, strict=True))
        shape = (F * S, value.shape[-1])
        return Evaluation(
            xp.reshape(value, shape), xp.reshape(gradient, (*shape, d)), xp.reshape(hessian, (*shape, d, d))
        )

    @cached_property
    def rounding(self) -> Array:
        """What rounding may do to values, shape (P,): the terms of the correction may be large, and cancel."""
        xp = namespace(self.correction)
        terms = self.hyper.variance[:, None] * xp.sum(xp.abs(self.correction), axis=-1)
        spread = 1.0 + 0.25 * xp.sum(self.hyper.lengthscales**-2, axis=-1)[:, None]
        return 1e-16 * xp.reshape(terms * spread, (self.num_problems,))

    def evaluate_roughly(self, x: Array, problems: HostArray) -> Evaluation:
        """Return the same with the cosines in float32: to tell which hills are worth a search."""
        return self.single.evaluate(x, problems)

    @cached_property
    def single(self) -> Paths:
        """The same paths with features and weights in float32."""
        xp = namespace(self.weights)
        return replace(self, features=self.features.single(), weights=xp.astype(self.weights, xp.float32))

    @cached_property
    def _pairs(self) -> tuple[HostArray, HostArray]:
        """The coordinates i, j of each second derivative."""
        columns = np.arange(self.dimension) if self.curved is None else self.curved
        layout = jet_layout(len(columns))
        return columns[layout.first], columns[layout.second]

    @cached_property
    def _products(self) -> Array:
        """w_i w_j of the second derivatives, shape (F, m, pairs)."""
        xp, w = namespace(self.weights), self.features.frequencies
        first, second = (move(part, w) for part in self._pairs)
        return xp.take(w, first, axis=-1) * xp.take(w, second, axis=-1)

    def _derivatives(self, x: Array) -> Evaluation:
        """Of every path at its own points (F, S, q, d)."""
        xp = namespace(x)
        like = xp.astype(x, self.weights.dtype) if x.dtype != self.weights.dtype else x
        value, gradient, bend = self.features.derivatives(like, self.weights, self._products)
        if self.correction.shape[-1] > 0:
            more = self._correction_derivatives(x)
            value, gradient, bend = value + more[0], gradient + more[1], bend + more[2]
        elif like is not x:
            value, gradient, bend = (xp.astype(part, x.dtype) for part in (value, gradient, bend))
        return Evaluation(value, gradient, _symmetric(bend, *self._pairs, self.dimension))

    def _correction_derivatives(self, x: Array) -> tuple[Array, Array, Array]:
        """k(x, X) v at points (F, S, q, d), its gradient and its second derivatives between some columns.

        With z = x / l, Z = X / l, a = 2 v rho_1 and b = 4 v rho_2, they are sum a (z - Z) / l and, between i and j,
        sum (b (z_i - Z_i) (z_j - Z_j) + a [i=j]) / (l_i l_j): once multiplied out, products of a and b with Z and with
        Z_i Z_j, which all points share. Both are about the middle of the cube, so that little cancels.
        """
        xp = namespace(x)
        F, S, q, d = x.shape
        n = self.correction.shape[-1]
        inverse = (1.0 / self.hyper.lengthscales)[:, None, :]
        z, Z = (xp.reshape(x, (F, S * q, d)) - 0.5) * inverse, (self.anchors - 0.5) * inverse
        Z_t = xp.linalg.matrix_transpose(Z)
        s = xp.matmul(z, -2.0 * Z_t)
        s += xp.sum(z * z, axis=-1)[..., None]
        s += xp.sum(Z * Z, axis=-1)[:, None, :]
        rho, rho_1, rho_2 = self.kernel.profile(xp.clip(s, min=0.0), 2)
        v = self.hyper.variance[:, None, None] * self.correction
        weights = xp.broadcast_to(v[:, :, None, :], (F, S, q, n))
        a = xp.reshape(xp.reshape(rho_1, (F, S, q, n)) * (2.0 * weights), (F, S * q, n))
        b = xp.reshape(xp.reshape(rho_2, (F, S, q, n)) * (4.0 * weights), (F, S * q, n))
        value = xp.matmul(xp.reshape(rho, (F, S, q, n)), v[..., None])[..., 0]
        sum_a = xp.sum(a, axis=-1)[..., None]
        gradient = (sum_a * z - xp.matmul(a, Z)) * inverse
        first, second = (move(part, x) for part in self._pairs)
        z_i, z_j = xp.take(z, first, axis=-1), xp.take(z, second, axis=-1)
        pairs = xp.take(Z, first, axis=-1) * xp.take(Z, second, axis=-1)
        of_b = xp.matmul(b, Z)
        bend = xp.sum(b, axis=-1)[..., None] * z_i * z_j + xp.matmul(b, pairs)
        bend = bend - z_i * xp.take(of_b, second, axis=-1) - z_j * xp.take(of_b, first, axis=-1)
        bend = bend + sum_a * xp.astype(first == second, x.dtype)
        bend = bend * (xp.take(inverse, first, axis=-1) * xp.take(inverse, second, axis=-1))
        return value, xp.reshape(gradient, (F, S, q, d)), xp.reshape(bend, (F, S, q, bend.shape[-1]))

    def _values(self, x: Array) -> Array:
        """At points (n, d), (F, 1, n, d), the same for all paths of a set, or (F, S, n, d); shape (F, S, n)."""
        xp = namespace(x)
        F, S, _ = self.weights.shape
        rough = xp.astype(x, self.weights.dtype) if x.dtype != self.weights.dtype else x
        if x.ndim == 2 or x.shape[1] == 1:
            x, rough = (x, rough) if x.ndim == 2 else (x[:, 0, :, :], rough[:, 0, :, :])
            weights = self.features.scale[:, None, None] * self.weights
            values = xp.matmul(weights, xp.linalg.matrix_transpose(self.features.cosines(rough)))
            cross = self.kernel.covariance(self.hyper, x, self.anchors)
            return values + xp.matmul(self.correction, xp.linalg.matrix_transpose(cross))
        n, d = x.shape[-2:]
        phi = xp.reshape(self.features(xp.reshape(rough, (F, S * n, d))), (F, S, n, self.weights.shape[-1]))
        values = xp.matmul(phi, self.weights[..., None])[..., 0]
        cross = self.kernel.covariance(self.hyper, xp.reshape(x, (F, S * n, d)), self.anchors)
        cross = xp.reshape(cross, (F, S, n, cross.shape[-1]))
        return values + xp.matmul(cross, self.correction[..., None])[..., 0]

    def _grouped(self, points: Array) -> Array:
        """Points (n, d) as they are; (R, n, d) as (F, 1, n, d), each row for F / R sets in a row."""
        if points.ndim == 2:
            return points
        xp = namespace(points)
        F = self.weights.shape[0]
        R, n, d = points.shape
        spread = xp.broadcast_to(points[:, None, ...], (R, F // R, n, d))
        return xp.reshape(spread, (F, 1, n, d))

    def _own_points(self, X: ArrayLike) -> Array:
        """Points (n, d), or (F, S, n, d) with the leading axes of the batch joined."""
        xp = namespace(self.weights)
        points = check_points(X, "X", like=self.correction, dimension=self.dimension)
        if points.ndim == 2:
            return points
        if check_fit(points, "X", self.batch_shape) != self.batch_shape:
            raise DataError(
                f"X has leading axes {tuple(points.shape[:-2])}, more than the paths have, {self.batch_shape}."
            )
        tail = points.shape[-2:]
        spread = xp.broadcast_to(points, (*self.batch_shape, *tail))
        return xp.reshape(spread, (*self.weights.shape[:2], *tail))

    def _parts(self) -> Iterator[tuple[slice, Paths]]:
        """The sets in groups whose features, at a handful of points of each path, fit into a block of memory."""
        d, (F, S, m) = self.dimension, self.weights.shape
        groups = list(chunks(F, S * max(m, self.correction.shape[-1]) * max(8, d * (d + 1) // 2), self.weights))
        for rows in groups:
            yield rows, self if len(groups) == 1 else self._sets(np.arange(rows.start, rows.stop))

    def _blocks(self, points: Array, columns: int = 1) -> Iterator[Array]:
        """The points in blocks for which all paths here, with `columns` numbers for each feature or datum, fit."""
        F, S, m = self.weights.shape
        shared = points.ndim == 2 or points.shape[1] == 1
        width = max(m, self.correction.shape[-1]) * (F if shared else F * S)
        for block in chunks(points.shape[-2], width * columns, self.weights):
            yield points[..., block, :]

    @staticmethod
    def _share(points: Array, rows: slice) -> Array:
        """The points of some sets."""
        return points if points.ndim == 2 else points[rows, ...]

    def _some(self, problems: HostArray) -> Paths:
        """The given paths, without a copy if they are all; their batch shape is (P',)."""
        if np.array_equal(problems, np.arange(self.num_problems)):
            return self if len(self.batch_shape) == 1 else self._joined
        key = problems.tobytes()
        if key not in self._latest:
            self._latest.clear()
            self._latest[key] = self.take(problems)
        return self._latest[key]

    @cached_property
    def _latest(self) -> dict[bytes, Paths]:
        """The paths that were last asked for: a search asks for the same again and again."""
        return {}

    @cached_property
    def _joined(self) -> Paths:
        return replace(self, batch_shape=(self.num_problems,))

    def take(self, rows: HostArray) -> Paths:
        """Return some of the paths, by their positions among all P; their batch shape is (len(rows),)."""
        xp = namespace(self.weights)
        F, S, _ = self.weights.shape
        alone = replace(self._sets(rows // S), batch_shape=(len(rows),))
        return replace(alone, **{
            name: take_rows(xp.reshape(part, (F * S, 1, part.shape[-1])), rows)
            for name, part in (("weights", self.weights), ("correction", self.correction))
        })  # fmt: skip

    def _sets(self, rows: HostArray) -> Paths:
        """All paths of some of the sets."""
        anchors = self.anchors if self.anchors.ndim == 2 else take_rows(self.anchors, rows)
        return Paths(
            self.kernel, self.hyper.take(rows), self.features.take(rows), take_rows(self.weights, rows),
            anchors, take_rows(self.correction, rows), (len(rows) * int(self.weights.shape[1]),), self.curved,
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
    rng: Random,
    *,
    num_features: int = 512,
    kind: str = "exact",
    num_sets: int | None = None,
) -> Paths:
    """Draw sample paths from each posterior of a batch.

    Parameters
    ----------
    post : Posterior
        Or a batch of them.
    num_paths : int
        Paths of each.
    rng : numpy.random.Generator
        For R problems, R of them.
    num_features : int
        Random features of a path.
    kind : str
        "exact", which agrees with the data exactly, or "weights", the paper's.
    num_sets : int, optional
        How many different sets of features the paths of a posterior have, a divisor of `num_paths`; by default each
        has its own. Fewer cost less; the small error of a finite number of features is then common to several paths.

    Returns
    -------
    Paths
        Their batch shape is that of the posterior, followed by num_paths.

    Raises
    ------
    SettingsError
        If a number or the kind makes no sense.

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.gp import Hyperparameters, Posterior, SquaredExponential, draw_paths
    >>> post = Posterior(SquaredExponential(), Hyperparameters([0.3], 1.0, 0.01), [[0.2], [0.7]], [0.0, 1.0])
    >>> draw_paths(post, 50, np.random.default_rng(0), num_sets=10).batch_shape
    (50,)
    """
    instance(post, "post", Posterior, "Posterior(SquaredExponential(), hyper, X, y)")
    integer(num_paths, "num_paths", 1)
    integer(num_features, "num_features", 1)
    generator(rng, several=True)
    if kind not in ("exact", "weights"):
        raise SettingsError(f'kind must be "exact" or "weights"; received {kind!r}.')
    if num_sets is not None and (integer(num_sets, "num_sets", 1) > num_paths or num_paths % num_sets):
        raise SettingsError(f"num_sets must be a divisor of num_paths={num_paths}; received {num_sets}.")
    xp = namespace(post.factor)
    batch = (*post.batch_shape, num_paths)
    P, n = math.prod(batch), post.data.count
    sets = (*post.batch_shape, num_sets or num_paths)
    F = math.prod(sets)
    S = P // F if F else 1
    hyper = post.hyper.expand().flatten(sets)
    features = draw_features(post.kernel, hyper, num_features, rng)
    theta = xp.reshape(move(rng.standard_normal((P, num_features)), post.factor), (F, S, num_features))
    epsilon = xp.reshape(move(rng.standard_normal((P, n)), post.factor), (F, S, n))

    data = post.data.expand().flatten(sets)
    # The jitter of the factor acts as noise, so it is drawn as noise.
    jitter = xp.broadcast_to(post.jitter[..., None, :], (*sets, n))
    noise_variance = data.noise_variance(hyper.noise_variance) + xp.reshape(jitter, (F, n))
    X = data.X if math.prod(post.data.batch_shape) > 1 else xp.reshape(post.data.X, (n, post.dimension))
    blocks = list(chunks(F, num_features * max(1, n), theta))
    # Without a correction, a path has no anchors.
    bare = Paths(post.kernel, hyper, features, theta, X[..., :0, :], theta[..., :0], batch)
    if kind == "weights":
        drawn = [
            _draw_weights(features.part(rows)(_some_points(X, rows))[:, None, :, :], data.y[rows, None, :],
                          noise_variance[rows, None, :], theta[rows, ...], epsilon[rows, ...])
            for rows in blocks
        ]  # fmt: skip
        return replace(bare, weights=xp.concat(drawn, axis=0))
    values = [
        xp.matmul(theta[rows, ...], xp.linalg.matrix_transpose(features.part(rows)(_some_points(X, rows))))
        for rows in blocks
    ]
    residual = data.y[:, None, :] - xp.concat(values, axis=0) - xp.sqrt(noise_variance)[:, None, :] * epsilon
    # One factor serves all paths of a hyperparameter sample: they are the columns of one right-hand side.
    columns = xp.linalg.matrix_transpose(xp.reshape(residual, (*batch, n)))
    correction = xp.linalg.matrix_transpose(solve_cholesky(post.factor, columns))
    return replace(bare, anchors=X, correction=xp.reshape(correction, (F, S, n)))


def mean_function(post: Posterior) -> Paths:
    """Return the mean of each posterior of a batch as a path without features: k(x, X) K^{-1} y."""
    xp = namespace(post.factor)
    F, n, d = math.prod(post.batch_shape), post.data.count, post.dimension
    hyper = post.hyper.flatten(post.batch_shape)
    none = Features(zeros((F, 0, d), post.factor), zeros((F, 0), post.factor), hyper.amplitude)
    X = post.data.flatten(post.batch_shape).X if math.prod(post.data.batch_shape) > 1 else post.data.X
    return Paths(
        post.kernel, hyper, none, zeros((F, 1, 0), post.factor), xp.reshape(X, (n, d)) if X.ndim != 3 else X,
        xp.reshape(post.alpha, (F, 1, n)), post.batch_shape,
    )  # fmt: skip


def _some_points(X: Array, rows: slice) -> Array:
    """The points (n, d) of all sets, or those of some (F', n, d)."""
    return X if X.ndim == 2 else X[rows, ...]


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
        factor = safe_cholesky(xp.matmul(phi, transposed) + noise_variance[..., None] * identity(n, phi)).factor
        residual = y - xp.matmul(phi, theta[..., None])[..., 0] - xp.sqrt(noise_variance) * epsilon
        return theta + xp.matmul(transposed, solve_cholesky(factor, residual[..., None]))[..., 0]
    # Without noise A is infinite; a noise of 1e-6 of the amplitude is as good as none.
    floor = 1e-12 * xp.mean(xp.sum(phi * phi, axis=-1), axis=-1, keepdims=True)
    weighted = transposed / xp.maximum(noise_variance, floor)[..., None, :]
    factor = safe_cholesky(xp.matmul(weighted, phi) + identity(m, phi)).factor
    mean = solve_cholesky(factor, xp.matmul(weighted, y[..., None]))
    return (mean + solve_lower(factor, theta[..., None], transpose=True))[..., 0]
