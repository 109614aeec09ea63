"""How noisy the mean of a candidate's fold scores is, where candidates are compared.

    score[c, k] = mean[c] + fold[k] + rest[c, k]

Every candidate meets the same folds, so what makes a fold easy or hard is the same for all, and says nothing about
which candidate is better: what counts is the rest. Its variance from the few folds of one candidate alone is a poor
estimate (four degrees of freedom with five folds), so it is moderated, as is done for many small samples [Smyth 2004]:
pooled over the better half of the candidates, which are those that are compared in the end, and weighed with the
candidate's own. A diverged candidate has fold effects of its own, and no say in those of others.

Only a part of the rest is noise to a model of smooth functions: candidates with almost the same parameters do almost
the same on every fold, and what they share is the shape of the score on these folds. So half of the standard error is
told. That does better than all of it, and than the spread of the fold scores as it is, which blurs what the search
could tell apart; and about as well as none, where noise is learned from the means alone
(`python -m benchmarks.cross_validation`).

Notation
    n       candidates
    K       folds
"""

from __future__ import annotations

import numpy as np

from xstar.numerics.arrays import HostArray

LEAST_CANDIDATES = 3
"""Fewer say nothing about what folds have in common."""
POOLED_WEIGHT = 8.0
"""Degrees of freedom that the pooled variance counts for, beside the K - 1 of a candidate's own."""
INDEPENDENT = 0.5
"""The share of a standard error that is told (`python -m benchmarks.cross_validation`)."""


def noise_of_means(scores: HostArray) -> HostArray:
    """Return the noise of each candidate's mean (n,) from finite scores (n, K); NaN where it is not known."""
    n, num_folds = scores.shape
    if n < LEAST_CANDIDATES or num_folds < 2:
        return np.full(n, np.nan)
    means = scores.mean(axis=1)
    better = np.argsort(-means, kind="stable")[: max(LEAST_CANDIDATES, (n + 1) // 2)]
    deviations = scores - means[:, None]
    rest = deviations - deviations[better].mean(axis=0)
    own = np.square(rest).sum(axis=1) / (num_folds - 1)
    # The fold effects are means over the better candidates, and take a part of their rest with them.
    own[better] *= len(better) / (len(better) - 1)
    pooled = own[better].mean()
    if pooled <= np.finfo(np.float64).eps * np.square(scores).max():
        return np.full(n, np.nan)
    degrees = num_folds - 1
    variance = (POOLED_WEIGHT * pooled + degrees * own) / (POOLED_WEIGHT + degrees)
    return np.asarray(INDEPENDENT * np.sqrt(variance / num_folds))
