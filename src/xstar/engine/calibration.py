"""How well a model predicts: every value told beside its prediction from all the others, or from before it was told."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xstar.beliefs import Calibration
from xstar.engine.model import Model
from xstar.engine.scaling import LARGEST
from xstar.numerics.arrays import to_numpy
from xstar.search import SAME_POINT
from xstar.trial import Prediction, Trial

LEAST = 3
"""Values in a model, before one of them can be predicted from the others."""
SAME_VALUE = 1e-9
"""Of y: values that differ by less are the same."""
CENTRAL = 1.959964
"""Standard deviations to both sides within which 95 % of a Gaussian are."""


def calibration(model: Model, trials: Sequence[Trial]) -> Calibration:
    """Return every value in the model beside its prediction from all others, and those predicted before, likewise."""
    encode, sign = model.settings.space.encode, model.settings.direction.sign
    mean, variance = (to_numpy(part) for part in model.post.leave_one_out())
    center, sd = mean.mean(axis=0), np.sqrt(variance.mean(axis=0) + mean.var(axis=0))
    X, y = to_numpy(model.post.data.X), to_numpy(model.post.data.y)
    kept, which = [], []
    for trial in trials if len(X) >= LEAST else ():
        if trial.value is None:
            continue
        told = float(model.scaling.forward(np.array([sign * trial.value]))[0])
        # Of several values of one point, its own; thinned and pooled values are not in the model as they were told.
        same = (np.max(np.abs(X - encode(trial.params)), axis=1) < SAME_POINT) & (np.abs(y - told) < SAME_VALUE)
        if same.any():
            kept.append(trial)
            which.append(int(np.argmax(same)))
    rows = np.array(which, dtype=np.int64)
    ends = [sign * model.scaling.inverse(center[rows] + side * CENTRAL * sd[rows]) for side in (-1.0, 1.0)]
    return Calibration(
        tuple(kept),
        mean=sign * model.scaling.inverse(center[rows]),
        low=np.minimum(*ends),
        high=np.maximum(*ends),
        z=(y[rows] - center[rows]) / sd[rows],
        ahead=_ahead(model, trials),
    )


def _ahead(model: Model, trials: Sequence[Trial]) -> Calibration:
    """Every value told beside what was predicted when it was asked for, on the scale of the model of today."""
    scaling, sign = model.scaling, model.settings.direction.sign
    known = [(trial, Prediction.of(trial)) for trial in trials if trial.value is not None]
    kept = [(trial, found) for trial, found in known if found is not None]
    mean, sd, noise = np.array([found for _, found in kept]).reshape(-1, 3).T
    told = np.array([trial.value for trial, _ in kept], dtype=np.float64)
    noise = np.array([noise[k] if trial.sd is None else trial.sd for k, (trial, _) in enumerate(kept)])
    center, slope = scaling.forward(sign * mean), np.minimum(scaling.slope(sign * mean), LARGEST)
    with np.errstate(over="ignore"):
        spread = np.clip(np.hypot(sd * slope, noise * slope), SAME_VALUE, LARGEST)
    ends = [sign * scaling.inverse(center + side * CENTRAL * spread) for side in (-1.0, 1.0)]
    return Calibration(
        tuple(trial for trial, _ in kept), mean, np.minimum(*ends), np.maximum(*ends),
        z=(scaling.forward(sign * told) - center) / spread,
    )  # fmt: skip
