"""The linear functionals of f that the constraints speak of: its jet at x_star, and its values at rival points.

    T f = (jet of f at x_star;  f(a_1), ..., f(a_k))

Notation
    H, S       hyperparameter samples, paths of each
    x_star     one point for each path                           (H, S, d)
    a          rivals, the same for all paths                    (k, d)
    l          t + k, with t the length of a jet
"""

from __future__ import annotations

from dataclasses import dataclass

from xstar.gp.hyperparameters import Hyperparameters
from xstar.gp.jets import jet_covariance, jet_covariance_gradient, jet_layout, jet_prior
from xstar.gp.kernels import Kernel
from xstar.numerics.arrays import Array, HostArray, namespace


@dataclass(frozen=True)
class Functionals:
    """T, with its covariances under the prior."""

    kernel: Kernel
    hyper: Hyperparameters
    """Leading axis H."""
    x_star: Array
    rivals: Array
    along: HostArray | None = None
    """The coordinates along which the jet has derivatives; all by default."""

    @property
    def jet_length(self) -> int:
        """t."""
        return jet_layout(self.hyper.dimension if self.along is None else len(self.along)).length

    @property
    def length(self) -> int:
        """l."""
        return self.jet_length + int(self.rivals.shape[0])

    def covariance(self, X: Array) -> Array:
        """cov(f(x), T f) at points (n, d), shape (H, S, n, l)."""
        xp = namespace(X)
        jets = jet_covariance(self.kernel, self.hyper.expand(), X, self.x_star, self.along)
        values = self.kernel.covariance(self.hyper, X, self.rivals)[:, None, :, :]
        values = xp.broadcast_to(values, (*jets.shape[:-1], values.shape[-1]))
        return xp.concat([jets, values], axis=-1)

    def prior(self) -> Array:
        """cov(T f, T f), shape (H, S, l, l)."""
        xp = namespace(self.x_star)
        H, S, _ = self.x_star.shape
        t, k = self.jet_length, int(self.rivals.shape[0])
        jets = xp.broadcast_to(jet_prior(self.kernel, self.hyper, self.along)[:, None, :, :], (H, S, t, t))
        cross = jet_covariance(self.kernel, self.hyper.expand(), self.rivals, self.x_star, self.along)
        values = self.kernel.covariance(self.hyper, self.rivals, self.rivals)[:, None, :, :]
        upper = xp.concat([jets, xp.linalg.matrix_transpose(cross)], axis=-1)
        lower = xp.concat([cross, xp.broadcast_to(values, (H, S, k, k))], axis=-1)
        return xp.concat([upper, lower], axis=-2)

    def pull_back(self, X: Array, weights: Array) -> Array:
        """sum over H, S and T of weights (H, S, n, l) times the gradient in x of cov(f(x), T f); shape (n, d)."""
        xp = namespace(X)
        t = self.jet_length
        slopes = jet_covariance_gradient(self.kernel, self.hyper.expand(), X, self.x_star, self.along)
        total = xp.sum(xp.matmul(weights[..., None, :t], slopes)[..., 0, :], axis=(0, 1))
        _, slopes = self.kernel.covariance_and_gradient(self.hyper, X, self.rivals)
        of_rivals = xp.sum(weights[..., t:], axis=1)
        return total + xp.sum(xp.matmul(of_rivals[..., None, :], slopes)[..., 0, :], axis=0)
