"""Which point is recommended: the best observed one, the best tested one, or the best of all.

The best posterior mean of all points is a promise of the model, that of a tested point a promise with an evaluation
behind it, and the best value observed needs no model at all. A point with less behind it is recommended only where it
is known to be better: where its gain, the difference of the two posterior means, exceeds so many standard deviations
of that difference as the settings have it, `caution` for a point that was not evaluated and `caution_among_tested` for
one that was. Where the model is right this costs little; where it is wrong, promises are kept.

Notation
    R    problems; 1 unless they advance in lockstep
"""

from __future__ import annotations

import numpy as np

from xstar.gp import Posterior
from xstar.methods import ModelSettings
from xstar.numerics.arrays import HostArray, move, to_numpy


def recommend(
    post: Posterior, observed: HostArray, tested: HostArray, best: HostArray, settings: ModelSettings
) -> HostArray:
    """Return the points to recommend (R, d): of those with the best value, with the best mean tested, and anywhere."""
    chosen = observed
    for challenger, caution in ((tested, settings.caution_among_tested), (best, settings.caution)):
        gain, sd = difference(post, challenger, chosen)
        chosen = np.where((gain > caution * sd)[:, None], challenger, chosen)
    return chosen


def difference(post: Posterior, points: HostArray, others: HostArray) -> tuple[HostArray, HostArray]:
    """Return mean and standard deviation (R,) of f at some points (R, d) minus f at others, over all samples."""
    post = post.by_problem()
    pairs = move(np.stack([points, others], axis=1)[:, None], post.data.X)
    mean, covariance = (to_numpy(part) for part in post.joint(pairs))
    gap = mean[..., 0] - mean[..., 1]
    variance = covariance[..., 0, 0] + covariance[..., 1, 1] - 2.0 * covariance[..., 0, 1]
    return gap.mean(axis=1), np.sqrt(np.maximum(variance.mean(axis=1), 0.0) + gap.var(axis=1))
