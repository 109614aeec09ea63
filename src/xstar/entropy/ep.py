"""Expectation propagation for a Gaussian vector with one-sided constraints on its entries.

    p(z) ~ N(z | m0, V0) prod_k Phi((z_k - t_k) / tau_k),    a step function where tau_k = 0

Every factor is log-concave, so site precisions are never negative and positive definiteness needs no damping. Sites
are stored as precision and precision times mean, so "no site" is an exact zero. With cavity mean m and variance v,
a = (m - t) / sqrt(v + tau^2), r = phi(a) / Phi(a) and beta = r (r + a) / (v + tau^2), the site has precision
beta / (1 - beta v) and mean m + sqrt(v + tau^2) / (r + a) [HHG14, appendix B.2; the print has Z for log Z, loses a
square in the variance and has the sign of kappa wrong].

Notation
    z, m0, V0     Gaussian vector, prior mean and covariance      (..., K), (..., K), (..., K, K)
    t, tau^2      target and noise variance of each constraint    (..., K)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xstar.numerics.arrays import Array, identity, namespace, solve_lower, to_numpy, zeros
from xstar.numerics.linalg import log_determinant, safe_cholesky
from xstar.numerics.normal import log_ndtr, truncated_moments

NO_VARIANCE = 1e-12
"""An entry whose variance has fallen to this share of its prior one is as good as known: its site stays as it is."""


SUREST = 1e12
"""No site is made more precise than this, in units of the prior variance."""
ROUNDING = 1e-9
"""Added to the prior variances, in their own units, so that entries that are combinations of each other stay apart."""
UNDAMPED = 24
"""After so many sweeps sites go only half of the way: far in the tails, correlated sites can chase each other."""


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
    """Passes over all sites, the last of which changed nothing above the tolerance, unless there were too many."""
    residual: Array
    """Largest change of a mean (in standard deviations) or log variance in the last sweep, shape (...)."""


def expectation_propagation(
    mean: Array,
    covariance: Array,
    target: Array,
    noise_variance: Array,
    imposed: Array,
    *,
    tolerance: float = 1e-6,
    max_sweeps: int = 100,
) -> Sites:
    """Sequential EP over K sites, for all leading axes at once; `imposed` (..., K) says which sites exist."""
    xp = namespace(mean)
    K = mean.shape[-1]
    # In units of the prior standard deviations everything is of order one.
    variance = xp.linalg.diagonal(covariance)
    usable = imposed & (variance > 0.0)
    unit = xp.sqrt(xp.where(variance > 0.0, variance, 1.0))
    prior_mean, target, noise_variance = mean / unit, target / unit, noise_variance / (unit * unit)
    prior = covariance / (unit[..., :, None] * unit[..., None, :]) + ROUNDING * identity(K, mean)
    precision, shift = xp.zeros_like(prior_mean), xp.zeros_like(prior_mean)
    m, V, log_scales = prior_mean, prior, xp.zeros_like(prior_mean)
    residual, sweep = zeros(mean.shape[:-1], mean), 0
    while sweep < max_sweeps:
        sweep += 1
        before_m, before_v = m, xp.linalg.diagonal(V)
        for k in range(K):
            now = _site(
                m[..., k], V[..., k, k], precision[..., k], shift[..., k],
                target[..., k], noise_variance[..., k], usable[..., k], 1.0 if sweep <= UNDAMPED else 0.5,
            )  # fmt: skip
            m, V = _update(m, V, k, now.precision - precision[..., k], now.shift - shift[..., k])
            precision, shift = _set(precision, k, now.precision), _set(shift, k, now.shift)
            log_scales = _set(log_scales, k, now.log_scale)
        # Rank-one updates drift; a fresh factor each sweep does not.
        m, V, _ = _posterior(prior_mean, prior, precision, shift)
        v = xp.linalg.diagonal(V)
        safe = xp.where(v > 0.0, v, 1.0)
        moved = xp.maximum(
            xp.abs(m - before_m) / xp.sqrt(safe), xp.abs(xp.log(safe / xp.where(before_v > 0.0, before_v, 1.0)))
        )
        residual = xp.max(xp.where(usable & (v > NO_VARIANCE), moved, 0.0), axis=-1) if K else residual
        if float(np.max(to_numpy(residual), initial=0.0)) <= tolerance:
            break
    m, V, factor = _posterior(prior_mean, prior, precision, shift)
    r = shift - precision * m
    gaussian = 0.5 * (xp.sum(shift * m, axis=-1) + xp.sum(r * prior_mean, axis=-1) - log_determinant(factor))
    return Sites(
        precision=precision / (unit * unit),
        shift=shift / unit,
        mean=m * unit,
        covariance=V * unit[..., :, None] * unit[..., None, :],
        log_evidence=gaussian + xp.sum(log_scales, axis=-1),
        sweeps=sweep,
        residual=residual,
    )


class _Site(NamedTuple):
    precision: Array
    shift: Array
    log_scale: Array


def _site(
    m: Array, v: Array, precision: Array, shift: Array, target: Array, noise_variance: Array, usable: Array, step: float
) -> _Site:
    """The new site of one entry, from its marginal and its old site; a `step` below 1 goes only part of the way."""
    xp = namespace(m)
    share = 1.0 - precision * v
    alive = usable & (v > NO_VARIANCE) & (share > NO_VARIANCE)
    share, v = xp.where(alive, share, 1.0), xp.where(alive, v, 1.0)
    cavity_v = v / share
    cavity_m = xp.where(alive, (m - v * shift) / share, 0.0)
    total = cavity_v + noise_variance
    scale = xp.sqrt(total)
    a = xp.clip((cavity_m - target) / scale, -1e8, 1e8)
    moments = truncated_moments(a)
    beta = moments.mean * moments.excess / total
    remaining = (noise_variance + cavity_v * moments.variance) / total
    new_precision = beta / remaining
    new_shift = new_precision * cavity_m + beta * scale / (moments.excess * remaining)
    alive = alive & xp.isfinite(new_precision) & xp.isfinite(new_shift) & (new_precision < SUREST)
    new_precision = xp.where(alive, precision + step * (new_precision - precision), 0.0)
    new_shift = xp.where(alive, shift + step * (new_shift - shift), 0.0)
    grown = 1.0 + new_precision * cavity_v
    exponent = (cavity_m + cavity_v * new_shift) ** 2 / (cavity_v * grown) - cavity_m**2 / cavity_v
    log_scale = log_ndtr(a) + 0.5 * xp.log(grown) - 0.5 * exponent
    return _Site(
        xp.where(alive, new_precision, precision),
        xp.where(alive, new_shift, shift),
        xp.where(alive, log_scale, 0.0),
    )


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
    factor = safe_cholesky(identity(m0.shape[-1], m0) + root[..., :, None] * V0 * root[..., None, :]).factor
    half = solve_lower(factor, root[..., :, None] * V0)
    V = V0 - xp.matmul(xp.linalg.matrix_transpose(half), half)
    pull = shift - precision * m0
    return m0 + xp.matmul(V, pull[..., None])[..., 0], V, factor


def _set(x: Array, k: int, value: Array) -> Array:
    """x with entry k of the last axis replaced."""
    xp = namespace(x)
    return xp.concat([x[..., :k], value[..., None], x[..., k + 1 :]], axis=-1)
