"""Expectation propagation for a Gaussian vector with one-sided constraints on its entries.

    p(z) ~ N(z | m0, V0) prod_k Phi((z_k - t_k) / tau_k),    a step function where tau_k = 0

Every factor is log-concave, so site precisions are never negative and positive definiteness needs no damping. Sites
are stored as precision and precision times mean, so "no site" is an exact zero. With cavity mean m and variance v,
a = (m - t) / sqrt(v + tau^2), r = phi(a) / Phi(a) and beta = r (r + a) / (v + tau^2), the site has precision
beta / (1 - beta v) and mean m + sqrt(v + tau^2) / (r + a) [HHG14, appendix B.2; the print has Z for log Z, loses a
square in the variance and has the sign of kappa wrong].

Parallel sweeps update all sites at once from the same marginals, with damping: a dozen array operations whatever the
number of sites. What they do not settle, sequential sweeps do, one site after the other. The fixed points are the same.

Notation
    N             problems: all leading axes joined
    z, m0, V0     Gaussian vector, prior mean and covariance      (..., K), (..., K), (..., K, K)
    t, tau^2      target and noise variance of each constraint    (..., K)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from xstar.numerics.arrays import (
    Array,
    HostArray,
    identity,
    move,
    namespace,
    scatter_rows,
    solve_lower,
    take_rows,
    to_numpy,
)
from xstar.numerics.checks import integer, positive, share
from xstar.numerics.linalg import log_determinant, safe_cholesky
from xstar.numerics.normal import log_ndtr, truncated_moments

NO_VARIANCE = 1e-12
"""An entry whose variance has fallen to this share of its prior one is as good as known: its site stays as it is."""
SUREST = 1e12
"""No site is made more precise than this, in units of the prior variance."""
ROUNDING = 1e-9
"""Added to the prior variances, in their own units, so that entries that are combinations of each other stay apart."""
REPACK_BELOW = 0.6
"""Settled problems are dropped from the batch when the rest would be smaller than this share of it."""
FEW = 256
"""So many problems or less are finished in host memory."""


@dataclass(frozen=True)
class EPSettings:
    """How expectation propagation iterates (chosen by `python -m benchmarks.robustness`, which counts what diverges).

    A damping factor is the share of the way that a site goes in a sweep: 1 is undamped.
    """

    tolerance: float = 1e-6
    """Sweeps end when no mean changes by more of its standard deviation, and no log variance by more."""
    max_sweeps: int = 170
    """Of both kinds together."""
    max_parallel_sweeps: int = 70
    """Over all sites at once; never more than `parallel_share` of `max_sweeps`."""
    parallel_share: float = 0.7
    damping: float = 0.8
    """Of parallel sweeps."""
    late_damping: float = 0.45
    """Of parallel sweeps after the first `late_after`, for what oscillates."""
    late_after: int = 24
    undamped_sweeps: int = 24
    """Sequential sweeps without damping: nearly all problems settle in them."""
    sequential_damping: float = 0.5
    """Of those after them: far in the tails, sites can chase each other."""

    def __post_init__(self) -> None:
        positive(self.tolerance, "tolerance")
        for name in ("damping", "late_damping", "sequential_damping", "parallel_share"):
            share(getattr(self, name), name)
        integer(self.max_sweeps, "max_sweeps", 1)
        for name in ("max_parallel_sweeps", "late_after", "undamped_sweeps"):
            integer(getattr(self, name), name, 0)

    @property
    def parallel_sweeps(self) -> int:
        """How many sweeps over all sites at once there are at most."""
        return min(math.ceil(self.parallel_share * self.max_sweeps), self.max_parallel_sweeps)


class Sites(NamedTuple):
    """A Gaussian approximation of the constraints, entry by entry, and of what follows."""

    precision: Array
    """Shape (..., K); zero where nothing is imposed."""
    shift: Array
    """Precision times mean, shape (..., K)."""
    mean: Array
    """E z, shape (..., K)."""
    covariance: Array
    """cov z, shape (..., K, K)."""
    log_evidence: Array
    """log of the probability that the constraints hold, as EP estimates it; shape (...)."""
    sweeps: int
    """The most of any problem; the last one changed nothing above the tolerance, unless there were too many."""
    residual: Array
    """Largest change of a mean (in standard deviations) or log variance in the last sweep, shape (...)."""


class _Problems(NamedTuple):
    """Everything that belongs to one problem; each field has leading axis N."""

    mean: Array
    covariance: Array
    target: Array
    noise_variance: Array
    usable: Array
    precision: Array
    shift: Array
    m: Array
    v: Array
    residual: Array

    def take(self, rows: HostArray) -> _Problems:
        return _Problems(*(take_rows(field, rows) for field in self))


_Sweep: TypeAlias = Callable[[_Problems, int, EPSettings], tuple[Array, Array]]
"""From the problems and the number of the sweep to new precisions and shifts."""


def expectation_propagation(
    mean: Array,
    covariance: Array,
    target: Array,
    noise_variance: Array,
    imposed: Array,
    settings: EPSettings | None = None,
) -> Sites:
    """Approximate a Gaussian with one-sided constraints, for all leading axes at once.

    Parameters
    ----------
    mean, covariance : array of shape (..., K), (..., K, K)
        m0 and V0.
    target, noise_variance : array of shape (..., K)
        t and tau^2.
    imposed : array of bool, shape (..., K)
        Which sites exist.
    settings : EPSettings, optional
        How to iterate.

    Returns
    -------
    Sites
        What the constraints amount to, and how far the iteration got.

    Examples
    --------
    The mean of a standard normal that is known to be positive is sqrt(2 / pi):

    >>> import numpy as np
    >>> from xstar.entropy import expectation_propagation
    >>> zero, yes = np.zeros(1), np.ones(1, dtype=bool)
    >>> round(float(expectation_propagation(zero, np.eye(1), zero, zero, yes).mean[0]), 4)
    0.7979
    """
    settings = settings or EPSettings()
    xp = namespace(mean)
    lead, K = mean.shape[:-1], mean.shape[-1]
    N = math.prod(lead)

    def joined(x: Array) -> Array:
        return xp.reshape(xp.broadcast_to(x, (*lead, K)), (N, K))

    # In units of the prior standard deviations everything is of order one.
    variance = xp.linalg.diagonal(covariance)
    unit = xp.sqrt(xp.where(variance > 0.0, variance, 1.0))
    prior = covariance / (unit[..., :, None] * unit[..., None, :]) + ROUNDING * identity(K, mean)
    prior = xp.reshape(xp.broadcast_to(prior, (*lead, K, K)), (N, K, K))
    m0, none = joined(mean / unit), xp.zeros_like(joined(mean))
    problems = _Problems(
        m0, prior, joined(target / unit), joined(noise_variance / (unit * unit)), joined(imposed & (variance > 0.0)),
        none, none, m0, xp.linalg.diagonal(prior), xp.sum(none, axis=-1) + (xp.inf if K else 0.0),
    )  # fmt: skip
    sweeps = 0
    if K and N:
        problems, sweeps = _settle(problems, _parallel_sweep, settings.parallel_sweeps, settings)
        left = np.flatnonzero(~(to_numpy(problems.residual) <= settings.tolerance))
        if left.size and sweeps < settings.max_sweeps:
            unsettled = _Problems(*(to_numpy(field) for field in problems.take(left)))
            mended, more = _settle(_afresh(unsettled), _sequential_sweep, settings.max_sweeps - sweeps, settings)
            problems, sweeps = _merge(problems, left, mended), sweeps + more
    precision, shift = problems.precision, problems.shift
    m, V, factor = _posterior(m0, prior, precision, shift)
    log_scales = _log_scales(problems._replace(m=m, v=xp.linalg.diagonal(V)))
    r = shift - precision * m
    gaussian = 0.5 * (xp.sum(shift * m, axis=-1) + xp.sum(r * m0, axis=-1) - log_determinant(factor))
    shape = (*lead, K)
    return Sites(
        precision=xp.reshape(precision, shape) / (unit * unit),
        shift=xp.reshape(shift, shape) / unit,
        mean=xp.reshape(m, shape) * unit,
        covariance=xp.reshape(V, (*shape, K)) * unit[..., :, None] * unit[..., None, :],
        log_evidence=xp.reshape(gaussian + xp.sum(log_scales, axis=-1), lead),
        sweeps=sweeps,
        residual=xp.reshape(problems.residual, lead),
    )


def _afresh(p: _Problems) -> _Problems:
    """Without sites: where they chased each other, they may have been driven far."""
    xp = namespace(p.m)
    none = xp.zeros_like(p.m)
    return p._replace(precision=none, shift=none, m=p.mean, v=xp.linalg.diagonal(p.covariance))


def _settle(problems: _Problems, sweep: _Sweep, most: int, settings: EPSettings) -> tuple[_Problems, int]:
    """Sweep until no problem changes any more; those that have settled leave the batch.

    The last few are finished in host memory: there it does not matter how many small operations it takes.
    """
    everything, rows, done = problems, np.arange(problems.m.shape[0]), 0
    while done < most:
        if len(rows) <= FEW and not isinstance(problems.m, np.ndarray):
            problems = _Problems(*(to_numpy(field) for field in problems))
        done += 1
        problems = _after(problems, *sweep(problems, done, settings))
        unsettled = np.flatnonzero(~(to_numpy(problems.residual) <= settings.tolerance))
        if unsettled.size < REPACK_BELOW * len(rows):
            everything, rows, problems = _merge(everything, rows, problems), rows[unsettled], problems.take(unsettled)
        if unsettled.size == 0:
            break
    return _merge(everything, rows, problems), done


def _merge(everything: _Problems, rows: HostArray, problems: _Problems) -> _Problems:
    if not isinstance(everything.m, type(problems.m)):
        problems = _Problems(*(move(field, everything.m) for field in problems))
    if len(rows) == everything.m.shape[0]:
        return problems
    return _Problems(*(scatter_rows(old, rows, new) for old, new in zip(everything, problems, strict=True)))


def _after(before: _Problems, precision: Array, shift: Array) -> _Problems:
    """The problems with new sites: a fresh factor each sweep, so that rounding does not add up."""
    xp = namespace(precision)
    root = xp.sqrt(precision)
    factor = site_factor(before.covariance, root)
    half = solve_lower(factor, root[..., :, None] * before.covariance)
    v = xp.linalg.diagonal(before.covariance) - xp.sum(half * half, axis=-2)
    pull = (shift - precision * before.mean)[..., None]
    moved = xp.matmul(before.covariance, pull) - xp.matmul(xp.linalg.matrix_transpose(half), xp.matmul(half, pull))
    m = before.mean + moved[..., 0]
    safe = xp.where(v > 0.0, v, 1.0)
    change = xp.maximum(
        xp.abs(m - before.m) / xp.sqrt(safe), xp.abs(xp.log(safe / xp.where(before.v > 0.0, before.v, 1.0)))
    )
    residual = xp.max(xp.where(before.usable & (v > NO_VARIANCE), change, 0.0), axis=-1)
    return before._replace(precision=precision, shift=shift, m=m, v=v, residual=residual)


def _parallel_sweep(p: _Problems, number: int, settings: EPSettings) -> tuple[Array, Array]:
    """New precisions and shifts, each site's from the marginals before the sweep."""
    damping = settings.damping if number <= settings.late_after else settings.late_damping
    return _site(p.m, p.v, p.precision, p.shift, p.target, p.noise_variance, p.usable, damping)


def _sequential_sweep(p: _Problems, number: int, settings: EPSettings) -> tuple[Array, Array]:
    """New precisions and shifts, each site's from the marginals that the one before it left."""
    damping = 1.0 if number <= settings.undamped_sweeps else settings.sequential_damping
    precision, shift = p.precision, p.shift
    m, V, _ = _posterior(p.mean, p.covariance, precision, shift)
    for k in range(m.shape[-1]):
        new_precision, new_shift = _site(
            m[..., k], V[..., k, k], precision[..., k], shift[..., k],
            p.target[..., k], p.noise_variance[..., k], p.usable[..., k], damping,
        )  # fmt: skip
        m, V = _update(m, V, k, new_precision - precision[..., k], new_shift - shift[..., k])
        precision, shift = _set(precision, k, new_precision), _set(shift, k, new_shift)
    return precision, shift


class _Cavity(NamedTuple):
    """The marginal of an entry without its own site."""

    alive: Array
    mean: Array
    variance: Array
    total: Array
    a: Array


def _cavity(m: Array, v: Array, precision: Array, shift: Array, target: Array, noise: Array, usable: Array) -> _Cavity:
    xp = namespace(m)
    share = 1.0 - precision * v
    alive = usable & (v > NO_VARIANCE) & (share > NO_VARIANCE)
    share, v = xp.where(alive, share, 1.0), xp.where(alive, v, 1.0)
    variance = v / share
    mean = xp.where(alive, (m - v * shift) / share, 0.0)
    total = variance + noise
    return _Cavity(alive, mean, variance, total, xp.clip((mean - target) / xp.sqrt(total), -1e8, 1e8))


def _site(
    m: Array, v: Array, precision: Array, shift: Array, target: Array, noise_variance: Array, usable: Array,
    damping: float,
) -> tuple[Array, Array]:  # fmt: skip
    """New precisions and shifts, from marginals and old sites; a `damping` below 1 goes only part of the way."""
    xp = namespace(m)
    cavity = _cavity(m, v, precision, shift, target, noise_variance, usable)
    moments = truncated_moments(cavity.a)
    beta = moments.mean * moments.excess / cavity.total
    remaining = (noise_variance + cavity.variance * moments.variance) / cavity.total
    new_precision = beta / remaining
    new_shift = new_precision * cavity.mean + beta * xp.sqrt(cavity.total) / (moments.excess * remaining)
    alive = cavity.alive & xp.isfinite(new_precision) & xp.isfinite(new_shift) & (new_precision < SUREST)
    return (
        xp.where(alive, precision + damping * (new_precision - precision), precision),
        xp.where(alive, shift + damping * (new_shift - shift), shift),
    )


def _log_scales(p: _Problems) -> Array:
    """The logarithm of each site's height, zero where there is no site."""
    xp = namespace(p.m)
    cavity = _cavity(p.m, p.v, p.precision, p.shift, p.target, p.noise_variance, p.usable)
    grown = 1.0 + p.precision * cavity.variance
    exponent = (cavity.mean + cavity.variance * p.shift) ** 2 / (cavity.variance * grown)
    exponent = exponent - cavity.mean**2 / cavity.variance
    return xp.where(cavity.alive, log_ndtr(cavity.a) + 0.5 * xp.log(grown) - 0.5 * exponent, 0.0)


def _update(m: Array, V: Array, k: int, more_precision: Array, more_shift: Array) -> tuple[Array, Array]:
    """Mean and covariance after a change of site k."""
    column = V[..., :, k]
    grown = 1.0 + more_precision * V[..., k, k]
    step = (more_shift - more_precision * m[..., k]) / grown
    return (
        m + column * step[..., None],
        V - (more_precision / grown)[..., None, None] * column[..., :, None] * column[..., None, :],
    )


def _posterior(m0: Array, V0: Array, precision: Array, shift: Array) -> tuple[Array, Array, Array]:
    """Mean, covariance, and the factor of B = I + S V0 S with S = sqrt(precision), from scratch."""
    xp = namespace(m0)
    root = xp.sqrt(precision)
    factor = site_factor(V0, root)
    half = solve_lower(factor, root[..., :, None] * V0)
    V = V0 - xp.matmul(xp.linalg.matrix_transpose(half), half)
    pull = shift - precision * m0
    return m0 + xp.matmul(V, pull[..., None])[..., 0], V, factor


def site_factor(V0: Array, root: Array) -> Array:
    """Return the factor of I + S V0 S with S = diag(root), the roots of site precisions (..., K)."""
    return safe_cholesky(identity(root.shape[-1], root) + root[..., :, None] * V0 * root[..., None, :]).factor


def _set(x: Array, k: int, value: Array) -> Array:
    """x with entry k of the last axis replaced."""
    xp = namespace(x)
    return xp.concat([x[..., :k], value[..., None], x[..., k + 1 :]], axis=-1)
