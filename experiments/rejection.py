"""The information of an observation about the maximizer, by rejection sampling on a grid: slow, and the truth.

[HHG14, section 3, figure 1]: joint draws of f on all cells, grouped by the cell of their maximum; in each group the
entropy of y at every cell by a spacing estimator. The estimate depends on the grid: where p(x_star | D) is narrower
than a cell, it comes out too small, so judge on the finer of two.
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np

FEWEST, MOST = 60, 1500


class Gain(NamedTuple):
    """An estimate, and what it rests on."""

    grid: Any
    """Shape (G, d)."""
    gain: Any
    """In nats, shape (G,)."""
    counts: Any
    """Draws with their maximum in each cell, shape (G,)."""
    coverage: float
    """The share of draws in cells with enough of them."""


def regular_grid(side: int, d: int) -> Any:
    """All points with coordinates i / (side - 1), the edges included."""
    axes = np.meshgrid(*[np.linspace(0.0, 1.0, side)] * d, indexing="ij")
    return np.stack(axes, axis=-1).reshape(-1, d)


def joint_draws(mean: Any, covariance: Any, count: int, rng: np.random.Generator) -> Any:
    """float32 draws (count, G) from a Gaussian on the grid."""
    scale = float(np.mean(np.diag(covariance)))
    factor = np.linalg.cholesky(covariance + 1e-9 * scale * np.eye(len(mean))).astype(np.float32)
    out = np.empty((count, len(mean)), dtype=np.float32)
    for start in range(0, count, 4096):
        z = rng.standard_normal((min(4096, count - start), len(mean)), dtype=np.float32)
        out[start : start + len(z)] = mean.astype(np.float32) + z @ factor.T
    return out


def spacing_entropy(samples: Any) -> Any:
    """Vasicek's estimate of the differential entropy of each column (n, G)."""
    n = len(samples)
    m = max(1, round(math.sqrt(n) + 0.5))
    ordered = np.sort(samples, axis=0).astype(np.float64)
    index = np.arange(n)
    width = ordered[np.minimum(index + m, n - 1)] - ordered[np.maximum(index - m, 0)]
    return np.mean(np.log(np.maximum(width, 1e-300) * n / (2.0 * m)), axis=0)


@functools.cache
def spacing_bias(n: int) -> float:
    """How far the estimate is off for n normal draws, by simulation; the same seed always."""
    normal = np.random.default_rng(n).standard_normal((n, 400))
    return float(np.mean(spacing_entropy(normal))) - 0.5 * math.log(2.0 * math.pi * math.e)


def information_gain(grid: Any, draws: Any, variance: Any, noise: float, rng: np.random.Generator) -> Gain:
    """Gain of an observation at each cell, from joint draws (N, G) with marginal variances (G,)."""
    best = np.argmax(draws, axis=1)
    counts = np.bincount(best, minlength=len(grid))
    before = 0.5 * np.log(2.0 * math.pi * math.e * (variance + noise**2))
    after, covered = np.zeros(len(grid)), 0
    for cell in np.flatnonzero(counts >= FEWEST):
        members = draws[np.flatnonzero(best == cell)[:MOST]]
        noisy = members + noise * rng.standard_normal(members.shape, dtype=np.float32)
        after += counts[cell] * (spacing_entropy(noisy) - spacing_bias(len(members)))
        covered += int(counts[cell])
    return Gain(grid, before - after / max(1, covered), counts, covered / len(draws))
