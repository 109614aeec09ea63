"""How well Markov chains have mixed: split R-hat and effective sample size.

Notation
    draws    draws of several chains    (sweeps, chains, p)

Sources: [VGSCB21] Vehtari, Gelman, Simpson, Carpenter, Buerkner, "Rank-normalization, folding, and
localization", 2021, equations 1 to 4 and 10 to 14, without the rank normalization.
"""

from __future__ import annotations

import numpy as np

from xstar.numerics.arrays import HostArray


def split_r_hat(draws: HostArray) -> HostArray:
    """Return potential scale reduction of half chains, per parameter (p,); 1 when mixed, NaN below 4 sweeps."""
    sweeps, _, p = draws.shape
    half = sweeps // 2
    if half < 2:
        return np.full(p, np.nan)
    halves = np.concatenate([draws[:half], draws[sweeps - half :]], axis=1)
    within = np.mean(np.var(halves, axis=0, ddof=1), axis=0)
    between = half * np.var(np.mean(halves, axis=0), axis=0, ddof=1)
    pooled = (half - 1) / half * within + between / half
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(pooled == 0.0, 1.0, np.sqrt(pooled / within))


def effective_sample_size(draws: HostArray) -> HostArray:
    """Return how many independent draws are worth as much, per parameter (p,): Geyer's initial monotone sequence."""
    sweeps, chains, p = draws.shape
    if sweeps < 4:
        return np.full(p, np.nan)
    centered = draws - draws.mean(axis=0)
    padded = 1 << (2 * sweeps - 1).bit_length()
    spectrum = np.fft.rfft(centered, n=padded, axis=0)
    autocovariance = np.fft.irfft(np.abs(spectrum) ** 2, n=padded, axis=0)[:sweeps].mean(axis=1) / sweeps
    within = autocovariance[0] * sweeps / (sweeps - 1.0)
    between = np.var(draws.mean(axis=0), axis=0, ddof=1) if chains > 1 else np.zeros(p)
    pooled = within * (sweeps - 1.0) / sweeps + between
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = 1.0 - (within - autocovariance) / pooled
    correlation[0] = 1.0
    pairs = correlation[: 2 * (sweeps // 2)].reshape(-1, 2, p).sum(axis=1)
    alive = np.logical_and.accumulate(pairs > 0.0, axis=0)
    monotone = np.minimum.accumulate(np.where(alive, pairs, 0.0), axis=0)
    time = np.maximum(2.0 * monotone.sum(axis=0) - 1.0, 1.0 / np.log10(max(10.0, sweeps * chains)))
    return np.where(pooled == 0.0, float(sweeps * chains), sweeps * chains / time)
