"""The prediction at x given that x_star is the maximizer: v(x | x_star), and its gradient.

Equalities and EP sites are Gaussian pseudo-observations of T *on top of the data posterior*. With
q(x) = cov(f(x), T | D) = k(x, T) - k(x, X) K^{-1} k(X, T) everything about x is linear in q:

    reduction of the variance   |F q|^2
    shift of the mean           w . q
    cov(f(x), f(x_star))        e . q

with F, w, e computed once. The factor of K is shared by all paths of a hyperparameter sample, and
v(x | x_star) <= v(x) holds by construction. C3, f(x) < f(x_star), then truncates the pair (f(x), f(x_star))
[HHG14, eq. 9; the text has the inequality reversed].

Notation
    R       problems, each with its own data               m    points x of each
    H, S    hyperparameter samples, paths of each          n    observations
    l, K    length of T, number of sites
    C       cov(T | D)                                     (R, H, S, l, l)
    V11, V22, V12    (co)variances of f(x), f(x_star) given D, C1, C2
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from xstar.entropy.constraints import Constraints
from xstar.entropy.ep import EPSettings, Sites, expectation_propagation, site_factor
from xstar.entropy.functionals import LinearFunctionals
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, HostArray, identity, namespace, solve_lower, take_rows
from xstar.numerics.checks import instance, positive
from xstar.numerics.linalg import safe_cholesky
from xstar.numerics.normal import truncated_moments

LEAST_VARIANCE = 1e-13
"""A prediction with less variance than this share of the prior's, noise included, is as good as known."""
_PER_PATH = (
    "alpha", "explaining", "reducer", "shift", "toward", "best_mean", "best_variance", "jitter", "mean", "covariance"
)  # fmt: skip


@dataclass(frozen=True)
class ConditioningSettings:
    """How a posterior is conditioned on the constraints (`python -m benchmarks.robustness` counts what fails).

    Parameters
    ----------
    least_spread : float
        The variance of f(x_star) - f(x) is kept above this, relative to the prior variance, by shrinking V12; the
        paper's rule for kappa has the same number.
    least_variance : float
        A site on a combination whose variance has fallen below this share of its prior variance says nothing.
    least_difference : float
        Nor does one on a difference whose variance is below this share of that of its parts: the two are as good as
        one. That f(x_star) beats a competing point next to it follows from the local conditions, and rounding would be
        all that is added.
    ep : EPSettings
        Of the sites.
    """

    least_spread: float = 1e-10
    least_variance: float = 1e-11
    least_difference: float = 1e-6
    ep: EPSettings = field(default_factory=EPSettings)

    def __post_init__(self) -> None:
        for name in ("least_spread", "least_variance", "least_difference"):
            positive(getattr(self, name), name)
        instance(self.ep, "ep", EPSettings, "EPSettings()")


@dataclass(frozen=True)
class Conditioned:
    """What does not depend on x, for all paths."""

    post: Posterior
    """Leading axes (R, H)."""
    functionals: LinearFunctionals
    alpha: Array
    """K^{-1} y of each path's own targets, shape (R, H, 1 or S, n)."""
    explaining: Array
    """K^{-1} k(X, T), shape (R, H, S, n, l)."""
    reducer: Array
    """F, shape (R, H, S, l + K, l)."""
    shift: Array
    """w, shape (R, H, S, l)."""
    toward: Array
    """e, shape (R, H, S, l)."""
    best_mean: Array
    """E f(x_star), shape (R, H, S)."""
    best_variance: Array
    """V22, shape (R, H, S)."""
    sites: Sites
    jitter: Array
    """The largest jitter in the factor of the equalities, shape (R, H, S)."""
    mean: Array
    """E T given D alone, shape (R, H, S, l)."""
    covariance: Array
    """C, shape (R, H, S, l, l)."""
    settings: ConditioningSettings = ConditioningSettings()

    def variances(self, X: Array) -> Prediction:
        """Return v(x) and what knowing x_star takes off it, at points (R, 1, m, d)."""
        xp = namespace(X)
        cross = self.post.kernel.covariance(self.post.hyper, X, self.post.data.X)
        whitened = self.post.whiten(xp.linalg.matrix_transpose(cross))
        variance = self.post.hyper.variance[..., None] - xp.sum(whitened * whitened, axis=-2)
        cross = cross[:, :, None, ...]
        q = self.functionals.covariance(X)
        q -= xp.matmul(cross, self.explaining)
        reduced = xp.matmul(q, xp.linalg.matrix_transpose(self.reducer))
        return Prediction(
            variance=xp.clip(variance, min=0.0)[:, :, None, :],
            q=q,
            reduced=reduced,
            reduction=xp.sum(reduced * reduced, axis=-1),
            mean=(xp.matmul(cross, self.alpha[..., None]) + xp.matmul(q, self.shift[..., None]))[..., 0],
            covariance=xp.matmul(q, self.toward[..., None])[..., 0],
            whitened=whitened,
        )

    def of_entries(self, count: int) -> Entries:
        """Return what is known of the first entries of T, given D, C1, C2."""
        xp = namespace(self.covariance)
        columns = self.covariance[..., :count]
        reduced = xp.matmul(self.reducer, columns)
        taken = xp.matmul(xp.linalg.matrix_transpose(reduced), self.reducer)
        variance = xp.linalg.diagonal(columns[..., :count, :]) - xp.sum(reduced * reduced, axis=-2)
        shifted = xp.matmul(xp.linalg.matrix_transpose(columns), self.shift[..., None])[..., 0]
        return Entries(
            toward=identity(self.covariance.shape[-1], columns)[:count, :] - taken,
            mean=self.mean[..., :count] + shifted,
            variance=xp.clip(variance, min=0.0),
        )

    def truncate(self, p: Prediction) -> Truncation:
        """Impose C3: return the variance that f(x) < f(x_star) takes off f(x) on top, with its derivatives."""
        xp = namespace(p.mean)
        scale = self.post.hyper.variance[..., None, None]
        V11 = xp.clip(p.variance - p.reduction, min=0.0)
        V22 = self.best_variance[..., None]
        V12 = p.covariance
        smallest = self.settings.least_spread * scale
        # kappa = min(1, (V11 + V22 - smallest) / (2 V12)) keeps the spread above the smallest.
        shrunk = smallest > V11 + V22 - 2.0 * V12
        spread = xp.where(shrunk, smallest, V11 + V22 - 2.0 * V12)
        contrast = V11 - xp.where(shrunk, 0.5 * (V11 + V22 - smallest), V12)
        root = xp.sqrt(spread)
        a = (self.best_mean[..., None] - p.mean) / root
        moments = truncated_moments(xp.clip(a, -1e8, 1e8))
        g = moments.mean * moments.excess
        slope = moments.mean * (moments.variance - moments.excess * moments.excess)
        ratio = contrast / spread
        by_contrast = 2.0 * ratio * g
        by_spread = -ratio * ratio * (g + 0.5 * a * slope)
        return Truncation(
            reduction=ratio * contrast * g,
            by_variance=xp.where(shrunk, 0.5 * by_contrast, by_contrast + by_spread),
            by_covariance=xp.where(shrunk, 0.0, -by_contrast - 2.0 * by_spread),
            by_mean=-ratio * contrast * slope / root,
        )

    def pull_back(self, X: Array, p: Prediction, by_variance: Array, by_mean: Array, by_q: Array) -> Array:
        """Return the gradient in x (R, m, d) of a sum over H and S of functions of v(x), the unshifted mean and q(x).

        Given are the derivatives of the summands: by_variance and by_mean (R, H, S, m), by_q (R, H, S, m, l).
        """
        xp = namespace(X)
        solved = solve_lower(self.post.factor, p.whitened, transpose=True)
        # All that multiplies the gradient of k(x, X), summed over paths first: shape (R, H, m, n).
        weights = -2.0 * xp.sum(by_variance, axis=2)[..., None] * xp.linalg.matrix_transpose(solved)
        if self.alpha.shape[2] == 1:
            weights = weights + xp.sum(by_mean, axis=2)[..., None] * self.alpha
        else:
            weights = weights + xp.matmul(xp.linalg.matrix_transpose(by_mean), self.alpha)
        weights = weights - xp.sum(xp.matmul(by_q, xp.linalg.matrix_transpose(self.explaining)), axis=2)
        through_data = self.post.kernel.pull_back(self.post.hyper, X, self.post.data.X, weights)
        return xp.sum(through_data, axis=1) + self.functionals.pull_back(X, by_q)

    def take(self, problems: HostArray) -> Conditioned:
        """Return some of the problems."""
        parts = {name: take_rows(getattr(self, name), problems) for name in _PER_PATH}
        sites = self.sites._replace(residual=take_rows(self.sites.residual, problems))
        return replace(
            self, post=self.post.take(problems), functionals=self.functionals.take(problems), sites=sites, **parts
        )

    def first(self, paths: int) -> Conditioned:
        """Return the first few paths of each hyperparameter sample."""
        parts = {name: getattr(self, name)[:, :, :paths, ...] for name in _PER_PATH}
        return replace(self, functionals=self.functionals.first(paths), **parts)


class Prediction(NamedTuple):
    """f(x) given D, and given D, C1, C2."""

    variance: Array
    """v(x), shape (R, H, 1, m)."""
    q: Array
    """Shape (R, H, S, m, l)."""
    reduced: Array
    """F q, shape (R, H, S, m, l + K)."""
    reduction: Array
    """|F q|^2, shape (R, H, S, m)."""
    mean: Array
    """Shape (R, H, S, m)."""
    covariance: Array
    """V12, shape (R, H, S, m)."""
    whitened: Array
    """L^{-1} k(X, x), shape (R, H, n, m)."""


class Entries(NamedTuple):
    """Some entries of T given D, C1, C2, and their covariance with f(x), which is linear in q(x)."""

    toward: Array
    """Shape (R, H, S, count, l): cov(f(x), entry) is toward . q(x)."""
    mean: Array
    """Shape (R, H, S, count)."""
    variance: Array
    """Shape (R, H, S, count)."""


class Truncation(NamedTuple):
    """The variance taken off by C3, and its derivatives in V11, V12 and E f(x); each (R, H, S, m)."""

    reduction: Array
    by_variance: Array
    by_covariance: Array
    by_mean: Array


def condition(
    post: Posterior,
    alpha: Array,
    functionals: LinearFunctionals,
    constraints: Constraints,
    settings: ConditioningSettings | None = None,
) -> Conditioned:
    """Condition posteriors on the constraints at each path's x_star.

    Parameters
    ----------
    post : Posterior
        Leading axes (R, H).
    alpha : array of shape (R, H, 1 or S, n)
        K^{-1} times the targets of each path.
    functionals : LinearFunctionals
        T.
    constraints : Constraints
        On T.
    settings : ConditioningSettings, optional
        Thresholds, and how EP iterates.

    Returns
    -------
    Conditioned
        What predictions at any x need.
    """
    settings = settings or ConditioningSettings()
    xp = namespace(post.factor)
    cross = functionals.covariance(post.data.X)
    R, H, S, n, length = cross.shape
    # One triangular solve for all paths of a hyperparameter sample.
    columns = xp.reshape(xp.permute_dims(cross, (0, 1, 3, 2, 4)), (R, H, n, S * length))
    by_path = post.whiten(columns)
    whitened, explaining = (
        xp.permute_dims(xp.reshape(part, (R, H, n, S, length)), (0, 1, 3, 2, 4))
        for part in (by_path, solve_lower(post.factor, by_path, transpose=True))
    )
    prior = functionals.prior()
    C = prior - xp.matmul(xp.linalg.matrix_transpose(whitened), whitened)
    mean = xp.matmul(xp.linalg.matrix_transpose(cross), alpha[..., None])[..., 0]

    # Equalities first: with G = C_E L_E^{-T}, cov(T | D, c) = C - G G^T.
    known = constraints.equal
    both = known[..., :, None] & known[..., None, :]
    factor = safe_cholesky(xp.where(both, C, identity(length, C)))
    only = xp.astype(known, C.dtype)
    inverse = solve_lower(factor.factor, identity(length, C) * only[..., :, None]) * only[..., :, None]
    G = xp.matmul(C, xp.linalg.matrix_transpose(inverse))
    missing = xp.matmul(inverse, xp.where(known, constraints.equal_to - mean, 0.0)[..., None])
    C_c = C - xp.matmul(G, xp.linalg.matrix_transpose(G))
    mean_c = mean + xp.matmul(G, missing)[..., 0]

    # Then the sites, on z = M T.
    M = constraints.combination
    M_t = xp.linalg.matrix_transpose(M)
    V0, m0 = xp.matmul(xp.matmul(M, C_c), M_t), xp.matmul(M, mean_c[..., None])[..., 0]
    before = xp.linalg.diagonal(xp.matmul(xp.matmul(M, prior), M_t))
    apart = xp.matmul(M * M, xp.linalg.diagonal(C)[..., None])[..., 0]
    least = xp.maximum(settings.least_variance * before, settings.least_difference * apart)
    imposed = constraints.imposed & (xp.linalg.diagonal(V0) > least)
    sites = expectation_propagation(m0, V0, constraints.target, constraints.noise_variance, imposed, settings.ep)
    root = xp.sqrt(sites.precision)
    B = site_factor(V0, root)
    N = M - xp.matmul(xp.matmul(M, G), inverse)
    of_sites = solve_lower(B, root[..., :, None] * N)
    pulled = xp.where(root > 0.0, sites.shift / xp.where(root > 0.0, root, 1.0), 0.0) - root * m0
    shift = xp.matmul(xp.linalg.matrix_transpose(inverse), missing)
    shift = shift + xp.matmul(xp.linalg.matrix_transpose(of_sites), solve_lower(B, pulled[..., None]))

    reducer = xp.concat([inverse, of_sites], axis=-2)
    first = C[..., :, 0]
    reduced = xp.matmul(reducer, first[..., None])
    toward = identity(length, C)[0, :] - xp.matmul(xp.linalg.matrix_transpose(reducer), reduced)[..., 0]
    return Conditioned(
        post, functionals, alpha, explaining, reducer, shift[..., 0], toward,
        best_mean=mean[..., 0] + xp.sum(first * shift[..., 0], axis=-1),
        best_variance=xp.clip(C[..., 0, 0] - xp.sum(reduced[..., 0] ** 2, axis=-1), min=0.0),
        sites=sites,
        jitter=xp.max(factor.jitter, axis=-1),
        mean=mean,
        covariance=C,
        settings=settings,
    )  # fmt: skip
