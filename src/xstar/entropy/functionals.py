"""The linear functionals of f that the constraints speak of: its jet at x_star, and its values at competing points.

    T f = (jet of f at x_star;  f(a_1), ..., f(a_k))

Notation
    R          problems, each with its own data                  H, S    hyperparameter samples, paths of each
    x_star     one point for each path                           (R, H, S, d)
    a          competing points, the same for all paths          (R, 1, k, d)
    l          t + k, with t the length of a jet
"""

from __future__ import annotations

from dataclasses import dataclass

from xstar.gp.hyperparameters import Hyperparameters
from xstar.gp.jets import jet_covariance, jet_layout, jet_prior, jet_pull_back
from xstar.gp.kernels import Kernel
from xstar.numerics.arrays import Array, HostArray, namespace, take_rows


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
