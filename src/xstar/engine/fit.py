"""From evidence to a model: thin, standardize, infer hyperparameters, condition."""

from __future__ import annotations

import contextlib
import math

import numpy as np

from xstar.engine.evidence import Evidence
from xstar.engine.model import Model
from xstar.engine.scaling import Scaling
from xstar.engine.seeds import Seeds
from xstar.engine.settings import Settings
from xstar.engine.thinning import thin
from xstar.errors import DataError
from xstar.feasibility import Feasibility
from xstar.gp import Hyperparameters, Inferred, Matern52, Posterior
from xstar.gp.inference import infer_each_under_best
from xstar.gp.observations import Observations
from xstar.methods import ModelSettings
from xstar.numerics.arrays import HostArray, move

NUMERICAL = (ArithmeticError, np.linalg.LinAlgError)
"""What a computation raises that has gone wrong for the data's sake; anything else is a mistake in the code."""


def fit_for_claims(model: Model) -> Model:
    """Fit a model that believes its evidence less, for claims: where the optimum is, what is left to gain.

    The evidence for hyperparameters, a kernel and an output transform is that of a model which is right. Of one that is
    wrong, it is too sure of the explanation that is least wrong. With a part of it (`ModelSettings.claims_power`),
    functions stay possible that are rougher, or less noisy, than the data suggest.
    """
    settings = model.settings.for_claims
    return model if settings is model.settings else fit(settings, model.evidence, model.feasibility)


def fit(settings: Settings, evidence: Evidence, feasibility: Feasibility | None = None) -> Model:
    """Fit a model to at least one value, where `settings.compute` says; feasibility may be known already."""
    if evidence.count == 0:
        raise DataError("a model needs at least one value.")
    own, domain, method = settings.model, settings.space.domain, settings.strategy
    kept = thin(evidence.X, evidence.values, own.max_data, own.num_neighbors)
    X, values = evidence.X[kept], evidence.values[kept]
    scalings = candidate_scalings(X, values, own) if method.standardizes else [Scaling()]
    y = np.stack([scaling.forward(values) for scaling in scalings])
    # A noise of 1e300 in values of 1e-200 overflows: as much as anything can be is then enough.
    with np.errstate(over="ignore"):
        slopes = np.stack([scaling.slope(values) for scaling in scalings])
        noise_sd = np.clip(evidence.sd[kept] * slopes, own.least_noise, own.most_noise)
    versions = Observations.check(*(move(part, settings.like) for part in (X, y, noise_sd)))
    (chosen,) = infer_each_under_best(
        method.kernels, method.inference, versions, Seeds(settings.seed).inference(), domain.groups,
        log_jacobian=np.array([[scaling.log_jacobian(values) for scaling in scalings]]),
    )  # fmt: skip
    which = int(chosen.sets[0])
    scaling, data, inferred = scalings[which], versions.alone(which), chosen.inferred.alone()
    noise_sd = noise_sd[which]
    with np.errstate(over="ignore"):
        next_noise = math.nan if settings.noise is None else settings.noise * scaling.slope_of_bulk
    hyper = inferred.hyper
    if not np.isnan(noise_sd).any():
        # The next value will be as noisy as was told, not as the prior has it.
        told = float(np.median(noise_sd)) if math.isnan(next_noise) else next_noise
        level = min(max(told, own.least_noise), own.most_noise)
        hyper = Hyperparameters(hyper.lengthscales, hyper.amplitude, 0.0 * hyper.noise + level)
    if feasibility is None and len(evidence.failed):
        feasibility = Feasibility.fit(X, evidence.failed, domain, own.feasibility)
    return Model(settings, evidence, scaling, inferred, Posterior.of(chosen.kernel, hyper, data), feasibility)


def fit_simply(settings: Settings, evidence: Evidence, why: str) -> Model:
    """Fit a model with nothing to infer and enough noise to be factored; `why` it stands in for the one asked for."""
    own = settings.model
    kept = thin(evidence.X, evidence.values, own.max_data, own.num_neighbors)
    X, values = evidence.X[kept], evidence.values[kept]
    n, d = X.shape
    scaling = Scaling.fit(values, np.full(n, 1.0 / n), own.warps[0])
    hyper = _reference(d, own).reshaped((1,))
    post = Posterior(Matern52(), hyper, *(move(part, settings.like) for part in (X, scaling.forward(values))))
    feasibility = None
    if len(evidence.failed):
        with contextlib.suppress(*NUMERICAL):
            feasibility = Feasibility.fit(X, evidence.failed, settings.space.domain, own.feasibility)
    return Model(settings, evidence, scaling, Inferred(hyper, converged=False), post, feasibility, why)


def candidate_scalings(X: HostArray, values: HostArray, settings: ModelSettings) -> list[Scaling]:
    """Return the different ways to standardize values (n,) at points (n, d)."""
    weights = design_weights(X, settings)
    found = [Scaling.fit(values, weights, warp) for warp in settings.warps]
    y = [scaling.forward(values) for scaling in found]
    return [found[k] for k in range(len(found)) if not any(np.array_equal(y[k], earlier) for earlier in y[:k])]


def design_weights(X: HostArray, settings: ModelSettings) -> HostArray:
    """Return weights (n,) of a mean that does not favor places where many points are: K^{-1} 1, normalized.

    A search gathers points about the optimum. Their plain mean would be close to the best value, and a model with such
    a mean would expect that much of every place not yet seen.
    """
    n, d = X.shape
    post = Posterior(Matern52(), _reference(d, settings), X, np.ones(n))
    weights = np.maximum(post.alpha, 0.0)
    return np.asarray(weights / weights.sum())


def _reference(dimension: int, settings: ModelSettings) -> Hyperparameters:
    """Hyperparameters that suit many functions."""
    lengthscales = np.full(dimension, settings.reference_lengthscale * np.sqrt(dimension))
    return Hyperparameters(lengthscales, 1.0, settings.reference_noise)
