"""The posterior of the hyperparameters in normal scores: an approximation, and first draws.

In normal scores u the prior is N(0, I). What the data say nothing about is therefore Gaussian, and what they
determine well is nearly so: a Student t about the mode, with the curvature there, comes much closer to the posterior
than it would in log hyperparameters, whose prior is skewed.

Notation
    P    problems (data sets)                  M    draws from the prior that were evaluated before
    u    normal scores    (..., p)             C    draws from the approximation
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from xstar.gp.log_posterior import LogPosterior
from xstar.numerics.arrays import HostArray, to_numpy
from xstar.numerics.checks import integer, positive
from xstar.numerics.elliptical import StudentT


@dataclass(frozen=True)
class ApproximationSettings:
    """How the posterior of the hyperparameters is approximated, about which chains move.

    None of these numbers changes the distribution that chains tend to, only how soon they are there and what that costs
    (`python -m benchmarks.core` counts the likelihoods).
    """

    step: float = 0.02
    """Of the difference quotients of the gradient, in normal scores: small beside 1, the prior's scale."""
    max_shift: float = 2.0
    """Of the center from the mode in log hyperparameters, in normal scores: two standard deviations of the prior."""
    degrees_of_freedom: float = 10.0
    """Of the Student t; few for heavy tails, which importance weights and slices need."""
    draws_per_chain: int = 4
    """Draws from the approximation among which the first one of each chain is chosen."""

    def __post_init__(self) -> None:
        for name in ("step", "max_shift", "degrees_of_freedom"):
            positive(getattr(self, name), name)
        integer(self.draws_per_chain, "draws_per_chain", 1)


class Scores:
    """log p(y, u) for the problems of one kernel, on the host."""

    def __init__(self, target: LogPosterior, settings: ApproximationSettings | None = None) -> None:
        self.settings = settings or ApproximationSettings()
        self.target, self.prior = target, target.prior
        self.lower, self.upper = self.prior.box_of_scores(target.dimension)

    def log_density(self, u: HostArray, problems: HostArray) -> HostArray:
        """Return log p(y, u) at u (k, p), each for its own problem (k,)."""
        return self.target.log_likelihood(self.prior.from_normal(u), problems) + log_normal(u)

    def approximate(self, theta: HostArray) -> StudentT:
        """Return a t distribution for each problem, from the curvature at its most probable theta (P, p).

        The curvature is a difference quotient of gradients, all in one call. No direction is wider than under the
        prior. The mode in theta is not that in u; one Newton step goes most of the way.
        """
        p = theta.shape[-1]
        center = self._inside(theta)
        step, longest = self.settings.step, self.settings.max_shift
        offsets = step * np.concatenate([np.eye(p), -np.eye(p), np.zeros((1, p))])
        gradient = self._gradient(center[:, None, :] + offsets)
        hessian = (gradient[:, :p] - gradient[:, p : 2 * p]) / (2.0 * step)
        curvature = -0.5 * (hessian + np.swapaxes(hessian, -1, -2))
        known = np.isfinite(curvature).all(axis=(-2, -1), keepdims=True)
        values, vectors = np.linalg.eigh(np.where(known, curvature, np.eye(p)))
        values = np.maximum(values, 1.0)[:, None, :]
        slope = np.nan_to_num(gradient[:, -1, :, None], posinf=0.0, neginf=0.0)
        shift = np.matmul(vectors / values, np.matmul(np.swapaxes(vectors, -1, -2), slope))[..., 0]
        shift *= np.minimum(1.0, longest / np.maximum(np.linalg.norm(shift, axis=-1, keepdims=True), 1e-300))
        center = np.clip(center + shift, self.lower, self.upper)
        return StudentT(center, vectors / np.sqrt(values), self.settings.degrees_of_freedom)

    def first_draws(
        self, about: StudentT, modes: HostArray, prior_draws: HostArray, likelihoods: HostArray, count: int,
        rng: np.random.Generator,
    ) -> tuple[HostArray, int]:  # fmt: skip
        """Draw u (P, count, p) approximately from each posterior; also return how many densities that took.

        Importance resampling of `prior_draws` (M, p) with log p(y | u) (P, M), and of others from `about`, all weighed
        as draws from the mixture [VG95] Veach & Guibas, "Optimally combining sampling techniques", 1995. Where the
        posterior has parts that the approximation does not know, the prior draws do. The modes in theta (P, p) stand in
        where no draw has density.
        """
        P, M = likelihoods.shape
        near = about.draw(self.settings.draws_per_chain * count, rng)
        C, p = near.shape[1:]
        points = np.concatenate([np.broadcast_to(prior_draws, (P, M, p)), near], axis=1)
        log_density = np.full((P, M + C), -np.inf)
        log_density[:, :M] = likelihoods + log_normal(prior_draws)
        inside = np.all((near >= self.lower) & (near <= self.upper), axis=-1)
        log_density[:, M:][inside] = self.log_density(near[inside], np.nonzero(inside)[0]) if inside.any() else 0.0
        mixture = np.logaddexp(math.log(M) + log_normal(points), math.log(C) + about.log_density(points))
        weight = log_density - mixture
        weight = np.where(np.isfinite(weight), weight, -np.inf)
        best = weight.max(axis=1, keepdims=True)
        weight = np.exp(weight - np.where(np.isfinite(best), best, 0.0))
        picked = np.take_along_axis(points, _resample(weight, count, rng)[..., None], axis=1)
        return np.where(np.isfinite(best)[..., None], picked, self._inside(modes)[:, None, :]), int(inside.sum())

    def _inside(self, theta: HostArray) -> HostArray:
        """The scores of theta, a step or more from the ends of the box."""
        return np.clip(self.prior.to_normal(theta), self.lower + self.settings.step, self.upper - self.settings.step)

    def _gradient(self, u: HostArray) -> HostArray:
        """Of log p(y, u) at u (P, q, p)."""
        theta = self.prior.from_normal(u)
        found = self.target.likelihood(self.target.move(theta), np.arange(len(u)))
        return self.prior.gradient_by_scores(to_numpy(found.gradient), u, theta) - u


def log_normal(u: HostArray) -> HostArray:
    """Return log N(u; 0, I), shape (...)."""
    return np.asarray(-0.5 * (np.sum(u * u, axis=-1) + u.shape[-1] * math.log(2.0 * math.pi)))


def _resample(weight: HostArray, count: int, rng: np.random.Generator) -> HostArray:
    """Indices (P, count) in random order, each as often as its share of the weights (P, k) asks for, up to one.

    Systematic resampling: less random than independent draws.
    """
    edges = np.cumsum(weight, axis=1)
    total = edges[:, -1:]
    levels = (np.arange(count) + rng.random((len(weight), 1))) / count * np.where(total > 0.0, total, 1.0)
    indices = np.sum(edges[:, None, :] <= levels[:, :, None], axis=-1)
    return rng.permuted(np.minimum(indices, weight.shape[1] - 1), axis=1)
