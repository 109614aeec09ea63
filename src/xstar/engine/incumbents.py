"""Which point is recommended: the best observed one, the best tested one, or the best of all.

The best posterior mean of all points is a promise of the model, that of a tested point a promise with an evaluation
behind it, and the best value observed needs no model at all. A point with less behind it is recommended only where it
is known to be better: where its gain, the difference of the two posterior means, exceeds so many standard deviations
of that difference as the settings have it, `caution` for a point that was not evaluated and `caution_among_tested` for
one that was. Where the model is right this costs little; where it is wrong, promises are kept. A little noise may be
what a wrong model cannot explain. With much of it a value says little by itself, so caution fades from a third of the
settings' `noisy` to all of it; then there is none among tested points, and a quarter for others, so that what was just
evaluated is not left for a point beside it. A model that is known is believed.

Notation
    R    problems; 1 unless they advance in lockstep
"""

from __future__ import annotations

import numpy as np

from xstar.gp import Fixed, Posterior
from xstar.methods import Method, ModelSettings
from xstar.numerics.arrays import HostArray, move, to_numpy

LEAST_CAUTION = 0.25
"""What is left of the caution about points that were not evaluated, however much noise there is."""


def recommend(post: Posterior, observed: HostArray, tested: HostArray, best: HostArray, method: Method) -> HostArray:
    """Return the points to recommend (R, d): of those with the best value, with the best mean tested, and anywhere."""
    settings = method.model
    trust = _trust_in_values(post, settings)
    cautions = settings.caution_among_tested * trust, settings.caution * np.maximum(trust, LEAST_CAUTION)
    if isinstance(method.inference, Fixed):
        cautions = np.zeros_like(trust), np.zeros_like(trust)
    chosen = observed
    for challenger, caution in zip((tested, best), cautions, strict=True):
        gain, sd = difference(post, challenger, chosen)
        chosen = np.where((gain > caution * sd)[:, None], challenger, chosen)
    return chosen


def _trust_in_values(post: Posterior, settings: ModelSettings) -> HostArray:
    """From 1 with little noise down to 0 where values say little by themselves, shape (R,)."""
    hyper = post.by_problem().hyper
    noise, amplitude = (to_numpy(part).mean(axis=1) for part in (hyper.noise, hyper.amplitude))
    return np.asarray(np.clip(1.5 * (1.0 - noise / (settings.noisy * amplitude)), 0.0, 1.0))


def difference(post: Posterior, points: HostArray, others: HostArray) -> tuple[HostArray, HostArray]:
    """Return mean and standard deviation (R,) of f at some points (R, d) minus f at others, over all samples."""
    post = post.by_problem()
    pairs = move(np.stack([points, others], axis=1)[:, None], post.data.X)
    mean, covariance = (to_numpy(part) for part in post.joint(pairs))
    gap = mean[..., 0] - mean[..., 1]
    variance = covariance[..., 0, 0] + covariance[..., 1, 1] - 2.0 * covariance[..., 0, 1]
    return gap.mean(axis=1), np.sqrt(np.maximum(variance.mean(axis=1), 0.0) + gap.var(axis=1))
