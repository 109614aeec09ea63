"""The linear functionals of f that the constraints speak of.

    T f = (jet of f at x_star;  f(a_1), ..., f(a_k))      Functionals: also its values at competing points
                                                          Rotated: likewise, with slopes along other directions
    T f = (values and slopes of f at p_1, ..., p_Q)       Slopes: of one of several outputs, at the points of an optimum

Notation
    R          problems, each with its own data                  H, S    hyperparameter samples, paths of each
    x_star     one point for each path                           (R, H, S, d)
    a          competing points, the same for all paths          (R, 1, k, d)
    l          t + k, with t the length of a jet
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from xstar.gp.hyperparameters import Hyperparameters
from xstar.gp.jets import jet_covariance, jet_layout, jet_prior, jet_pull_back
from xstar.gp.kernels import Kernel, squared_distance
from xstar.numerics.arrays import Array, HostArray, namespace, take_rows


class LinearFunctionals(Protocol):
    """T of each path, with its covariances under the prior."""

    @property
    def length(self) -> int:
        """l."""

    def covariance(self, X: Array) -> Array:
        """Return cov(f(x), T f) at points (R, 1, n, d), shape (R, H, S, n, l)."""

    def prior(self) -> Array:
        """Return cov(T f, T f), shape (R, H, S, l, l)."""

    def pull_back(self, X: Array, weights: Array) -> Array:
        """Return the gradient in x (R, n, d) of weights (R, H, S, n, l) times cov(f(x), T f), summed over H, S, T."""

    def take(self, problems: HostArray) -> LinearFunctionals:
        """Return those of some of the problems."""

    def first(self, paths: int) -> LinearFunctionals:
        """Return those of the first few paths of each hyperparameter sample."""


@dataclass(frozen=True)
class Functionals:
    """T, with its covariances under the prior."""

    kernel: Kernel
    hyper: Hyperparameters
    """Leading axes (R, H)."""
    x_star: Array
    competitors: Array
    along: HostArray | None = None
    """The coordinates along which the jet has derivatives; all by default."""

    @property
    def jet_length(self) -> int:
        """t."""
        return jet_layout(self.hyper.dimension if self.along is None else len(self.along)).length

    @property
    def length(self) -> int:
        """l."""
        return self.jet_length + int(self.competitors.shape[-2])

    def covariance(self, X: Array) -> Array:
        """Return cov(f(x), T f) at points (R, 1, n, d), shape (R, H, S, n, l)."""
        xp = namespace(X)
        jets = jet_covariance(self.kernel, self.hyper.expand(), X[:, :, None, ...], self.x_star, self.along)
        values = self.kernel.covariance(self.hyper, X, self.competitors)[:, :, None, ...]
        values = xp.broadcast_to(values, (*jets.shape[:-1], values.shape[-1]))
        return xp.concat([jets, values], axis=-1)

    def prior(self) -> Array:
        """Return cov(T f, T f), shape (R, H, S, l, l)."""
        xp = namespace(self.x_star)
        lead = self.x_star.shape[:-1]
        t, k = self.jet_length, int(self.competitors.shape[-2])
        jets = xp.broadcast_to(jet_prior(self.kernel, self.hyper, self.along)[:, :, None, ...], (*lead, t, t))
        competitors = self.competitors[:, :, None, ...]
        cross = jet_covariance(self.kernel, self.hyper.expand(), competitors, self.x_star, self.along)
        values = self.kernel.covariance(self.hyper, self.competitors, self.competitors)[:, :, None, ...]
        upper = xp.concat([jets, xp.linalg.matrix_transpose(cross)], axis=-1)
        lower = xp.concat([cross, xp.broadcast_to(values, (*lead, k, k))], axis=-1)
        return xp.concat([upper, lower], axis=-2)

    def pull_back(self, X: Array, weights: Array) -> Array:
        """Return the gradient in x (R, n, d) of weights (R, H, S, n, l) times cov(f(x), T f), summed over H, S, T."""
        xp = namespace(X)
        t = self.jet_length
        slopes = jet_pull_back(
            self.kernel, self.hyper.expand(), X[:, :, None, ...], self.x_star, weights[..., :t], self.along
        )
        of_competitors = self.kernel.pull_back(self.hyper, X, self.competitors, xp.sum(weights[..., t:], axis=2))
        return xp.sum(slopes, axis=(1, 2)) + xp.sum(of_competitors, axis=1)

    def take(self, problems: HostArray) -> Functionals:
        """Return those of some of the problems."""
        x_star, competitors = (take_rows(part, problems) for part in (self.x_star, self.competitors))
        return Functionals(self.kernel, self.hyper.take(problems), x_star, competitors, self.along)

    def first(self, paths: int) -> Functionals:
        """Return those of the first few paths of each hyperparameter sample."""
        return Functionals(self.kernel, self.hyper, self.x_star[:, :, :paths, :], self.competitors, self.along)


@dataclass(frozen=True)
class Rotated:
    """The same functionals with the slopes at x_star along other directions, of each path its own."""

    functionals: Functionals
    rotation: Array
    """Directions in lengthscale units as rows, shape (R, H, S, e, e), of the jet's e coordinates."""

    @property
    def length(self) -> int:
        """l."""
        return self.functionals.length

    def covariance(self, X: Array) -> Array:
        """Return cov(f(x), T f) at points (R, 1, n, d), shape (R, H, S, n, l)."""
        return self._turned(self.functionals.covariance(X))

    def prior(self) -> Array:
        """Return cov(T f, T f), shape (R, H, S, l, l)."""
        transpose = namespace(self.rotation).linalg.matrix_transpose
        return transpose(self._turned(transpose(self._turned(self.functionals.prior()))))

    def pull_back(self, X: Array, weights: Array) -> Array:
        """Return the gradient in x (R, n, d) of weights (R, H, S, n, l) times cov(f(x), T f), summed over H, S, T."""
        return self.functionals.pull_back(X, self._turned(weights, back=True))

    def take(self, problems: HostArray) -> Rotated:
        """Return those of some of the problems."""
        return Rotated(self.functionals.take(problems), take_rows(self.rotation, problems))

    def first(self, paths: int) -> Rotated:
        """Return those of the first few paths of each hyperparameter sample."""
        return Rotated(self.functionals.first(paths), self.rotation[:, :, :paths, ...])

    def _turned(self, x: Array, *, back: bool = False) -> Array:
        """Rows (..., l) with other slopes."""
        xp, end = namespace(x), 1 + int(self.rotation.shape[-1])
        turn = self.rotation if back else xp.linalg.matrix_transpose(self.rotation)
        return xp.concat([x[..., :1], xp.matmul(x[..., 1:end], turn), x[..., end:]], axis=-1)


@dataclass(frozen=True)
class Slopes:
    """Values at each path's own points, and derivatives along some directions there.

    T f = (f(p_1), ..., f(p_Q);  D_11 f, ..., D_1e f;  ...;  D_Q1 f, ..., D_Qe f), with D_iv f = v . grad f(p_i) in
    lengthscale units. With u = (x - p) / l, cov(f(x), D_v f(p)) = -2 gamma^2 rho_1 u.v, and with u = (p - q) / l,
    cov(D_v f(p), D_w f(q)) = -gamma^2 (4 rho_2 u.v u.w + 2 rho_1 v.w).
    """

    kernel: Kernel
    hyper: Hyperparameters
    """Leading axes (R, H)."""
    points: Array
    """Shape (R, H, S, Q, d)."""
    directions: Array
    """v, shape (R, H, S, Q, e, d)."""

    @property
    def num_points(self) -> int:
        """Q."""
        return int(self.points.shape[-2])

    @property
    def length(self) -> int:
        """Q (1 + e)."""
        return self.num_points * (1 + int(self.directions.shape[-2]))

    def covariance(self, X: Array) -> Array:
        """Return cov(f(x), T f) at points (R, 1, n, d), shape (R, H, S, n, Q (1 + e))."""
        hyper = self._expanded
        rho, rho_1 = self.kernel.profile(squared_distance(hyper, X[:, :, None, ...], self.points), 1)
        slopes = -2.0 * self._repeated(rho_1) * self._along(X[:, :, None, ...])
        return hyper.variance[..., None, None] * namespace(X).concat([rho, slopes], axis=-1)

    def prior(self) -> Array:
        """Return cov(T f, T f), shape (R, H, S, l, l)."""
        xp, hyper = namespace(self.points), self._expanded
        rho, rho_1, rho_2 = self.kernel.profile(squared_distance(hyper, self.points, self.points), 2)
        along = self._along(self.points)
        mixed = -2.0 * self._repeated(rho_1) * along
        # Between slopes at two points u.v and u.w are entries of `along`, of the one point's and of the other's.
        there = xp.repeat(along, int(self.directions.shape[-2]), axis=-2)
        both = there * xp.linalg.matrix_transpose(there)
        wide_1, wide_2 = (
            xp.repeat(self._repeated(part), int(self.directions.shape[-2]), axis=-2) for part in (rho_1, rho_2)
        )
        flat = self._flat
        slopes = 4.0 * wide_2 * both - 2.0 * wide_1 * xp.matmul(flat, xp.linalg.matrix_transpose(flat))
        upper = xp.concat([rho, mixed], axis=-1)
        lower = xp.concat([xp.linalg.matrix_transpose(mixed), slopes], axis=-1)
        return hyper.variance[..., None, None] * xp.concat([upper, lower], axis=-2)

    def pull_back(self, X: Array, weights: Array) -> Array:
        """Return the gradient in x (R, n, d) of weights (R, H, S, n, l) times cov(f(x), T f), summed over H, S, T."""
        xp, hyper, X = namespace(X), self._expanded, X[:, :, None, ...]
        Q, e = self.num_points, int(self.directions.shape[-2])
        values = self.kernel.pull_back(hyper, X, self.points, weights[..., :Q])
        _, rho_1, rho_2 = self.kernel.profile(squared_distance(hyper, X, self.points), 2)
        slopes = weights[..., Q:]
        each = xp.reshape(slopes * self._along(X), (*slopes.shape[:-1], Q, e))
        radial = 2.0 * rho_2 * xp.sum(each, axis=-1)
        scales = hyper.lengthscales[..., None, :]
        toward = xp.sum(radial, axis=-1)[..., None] * (X / scales) - xp.matmul(radial, self.points / scales)
        own = xp.matmul(slopes * self._repeated(rho_1), self._flat)
        found = -2.0 * hyper.variance[..., None, None] * (toward + own) / scales
        return xp.sum(values + found, axis=(1, 2))

    def take(self, problems: HostArray) -> Slopes:
        """Return those of some of the problems."""
        points, directions = (take_rows(part, problems) for part in (self.points, self.directions))
        return Slopes(self.kernel, self.hyper.take(problems), points, directions)

    def first(self, paths: int) -> Slopes:
        """Return those of the first few paths of each hyperparameter sample."""
        return replace(self, points=self.points[:, :, :paths, ...], directions=self.directions[:, :, :paths, ...])

    @property
    def _expanded(self) -> Hyperparameters:
        return self.hyper.expand()

    @property
    def _flat(self) -> Array:
        """All directions (R, H, S, Q e, d)."""
        (*lead, Q, e, d) = self.directions.shape
        return namespace(self.points).reshape(self.directions, (*lead, Q * e, d))

    def _along(self, X: Array) -> Array:
        """u . v between points (..., n, d) and all directions, shape (R, H, S, n, Q e)."""
        xp, flat = namespace(X), self._flat
        scales = self.hyper.lengthscales[:, :, None, None, :]
        here = xp.sum(xp.repeat(self.points / scales, int(self.directions.shape[-2]), axis=-2) * flat, axis=-1)
        return xp.matmul(X / scales, xp.linalg.matrix_transpose(flat)) - here[..., None, :]

    def _repeated(self, x: Array) -> Array:
        """Each point's entry (..., Q) once for each of its directions."""
        return namespace(x).repeat(x, int(self.directions.shape[-2]), axis=-1)
