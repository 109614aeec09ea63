"""From data to hyperparameters: fixed, MAP, slice sampling, or the mean of a sample.

Each is a small settings object with one method, `infer`, that returns `Inferred`: hyperparameters with a sample axis H
behind the axes of the data sets. The posterior is that of theta, the log hyperparameters, inside the box of the
prior; its mode is what MAP returns and what the first draws of chains are made from, so that a suggestion depends on
the data and a seed alone and not on the history of earlier chains.

Notation
    theta    log hyperparameters       (P, q, d + 2)
    R, P     data sets; problems: a data set under one of several kernels
    q, H     hyperparameter vectors of one data set
    M        scouts: draws from the prior, the best of which are climbed from
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from xstar.errors import SettingsError
from xstar.gp.hyperparameters import Hyperparameters
from xstar.gp.kernels import Kernel
from xstar.gp.log_posterior import Groups, LogPosterior
from xstar.gp.observations import Observations
from xstar.gp.priors import Prior
from xstar.gp.scores import Scores, log_normal
from xstar.numerics.arrays import Array, HostArray, namespace, to_numpy
from xstar.numerics.ascent import ascend
from xstar.numerics.chains import effective_sample_size, split_r_hat
from xstar.numerics.checks import generator, instance, integer, positive
from xstar.numerics.culling import best_distinct
from xstar.numerics.elliptical import elliptical_slice_sample


class Inferred(NamedTuple):
    """Hyperparameters, with what is known about their quality."""

    hyper: Hyperparameters
    """Leading axes: those of the data, then H."""
    log_density: Array | None = None
    """log p(y, theta) of each, shape (..., H); None where it was not computed."""
    converged: bool = True
    """Whether every search for the mode settled and no chain was stuck. How well chains mixed is in `r_hat`."""
    evaluations: int = 0
    """How many times the marginal likelihood was computed."""
    r_hat: HostArray | None = None
    """Split R-hat of each parameter (..., d + 2) over all updates after the burn-in; NaN for fewer than 4 of them."""
    effective_sample_size: HostArray | None = None
    """Effective number of draws of each parameter (..., d + 2), of all updates after the burn-in; likewise."""


class Mode(NamedTuple):
    """The most probable theta of each problem that was found, and what the search has seen; on the host."""

    theta: HostArray
    """Shape (P, d + 2)."""
    log_density: HostArray
    """Shape (P,)."""
    converged: HostArray
    """Shape (P,)."""
    scouts: HostArray
    """Normal scores (M, d + 2) of draws from the prior."""
    likelihoods: HostArray
    """log p(y | theta) of the scouts, shape (P, M)."""
    evaluations: int
    """How many times the marginal likelihood was computed, for all problems together."""

    def take(self, problems: slice | HostArray) -> Mode:
        """Those of some problems; the evaluations were spent on all."""
        theta, density, converged, scouts, likelihoods, evaluations = self
        part = theta[problems], density[problems], converged[problems], scouts, likelihoods[problems]
        return Mode(*part, evaluations)


class Inference(ABC):
    """A way to choose hyperparameters given data."""

    @property
    @abstractmethod
    def search(self) -> MAP | None:
        """The search for the most probable hyperparameters under the same prior; None if they are known."""

    def infer(
        self, kernel: Kernel, X: Any, y: Any, rng: np.random.Generator, noise_sd: Any = None, groups: Groups = None
    ) -> Inferred:
        """Infer hyperparameters from observations.

        Parameters
        ----------
        kernel : Kernel
            Of the Gaussian process.
        X : array_like of shape (..., n, d)
            Points of the unit cube; leading axes are independent data sets.
        y : array_like of shape (..., n)
            Values, of mean 0 and standard deviation 1 or so.
        rng : numpy.random.Generator
            For draws from the prior, and for chains.
        noise_sd : array_like of shape (..., n), optional
            The standard deviation of each value, as in `Posterior`.
        groups : sequence of int of length d, optional
            Coordinates with the same number share one lengthscale; a prior for each lengthscale is then one for each
            group.

        Returns
        -------
        Inferred
            Hyperparameters, with what is known about their quality.
        """
        return self.infer_from(kernel, Observations.check(X, y, noise_sd), rng, groups)

    @abstractmethod
    def infer_from(
        self, kernel: Kernel, data: Observations, rng: np.random.Generator, groups: Groups = None,
        *, mode: Mode | None = None,
    ) -> Inferred:  # fmt: skip
        """The same for checked data; a `mode` that `self.search` has found for them is not searched for again."""


@dataclass(frozen=True)
class Fixed(Inference):
    """Known hyperparameters, whatever the data. One leading axis, if any, is the sample axis H."""

    hyper: Hyperparameters

    def __post_init__(self) -> None:
        instance(self.hyper, "hyper", Hyperparameters, "Hyperparameters([0.3, 0.3], 1.0, 0.1)")
        if len(self.hyper.batch_shape) > 1:
            raise SettingsError(f"Fixed takes at most one leading axis; received {self.hyper.batch_shape}.")

    @property
    def search(self) -> None:
        return None

    def infer_from(
        self, kernel: Kernel, data: Observations, rng: np.random.Generator, groups: Groups = None,
        *, mode: Mode | None = None,
    ) -> Inferred:  # fmt: skip
        if self.hyper.dimension != data.dimension:
            raise SettingsError(
                f"Fixed has {self.hyper.dimension} lengthscales, but the data have {data.dimension} coordinates."
            )
        hyper = self.hyper.like(data.X)
        hyper = hyper if hyper.batch_shape else hyper.expand()
        return Inferred(hyper.spread((*data.batch_shape, *hyper.batch_shape)))


@dataclass(frozen=True)
class MAP(Inference):
    """The mode of the posterior of the log hyperparameters, the best of several bounded searches; H = 1.

    Data can mostly be explained in two ways, by much noise or by a function that varies, and the better explanation may
    be the narrower one. So the middle of the prior and `num_scouts` draws from it are divided into `num_starts` ranges
    of the noise, and a search starts from the most probable of each. It ends with a step of size `tolerance` in the
    log hyperparameters; after some iterations, only the best few go on.
    """

    prior: Prior = field(default_factory=Prior)
    num_starts: int = 6
    max_iterations: int = 60
    num_scouts: int = 128
    tolerance: float = 1e-4

    def __post_init__(self) -> None:
        instance(self.prior, "prior", Prior, "Prior()")
        for name in ("num_starts", "max_iterations", "num_scouts"):
            integer(getattr(self, name), name, 1)
        positive(self.tolerance, "tolerance")

    @property
    def search(self) -> MAP:
        return self

    def infer_from(
        self, kernel: Kernel, data: Observations, rng: np.random.Generator, groups: Groups = None,
        *, mode: Mode | None = None,
    ) -> Inferred:  # fmt: skip
        target = LogPosterior([kernel], data, self.prior, groups)
        found = self.climb(target, rng) if mode is None else mode
        hyper, density = target.in_shape(found.theta[:, None, :], found.log_density[:, None])
        return Inferred(hyper, density, bool(found.converged.all()), found.evaluations)

    def climb(self, target: LogPosterior, rng: np.random.Generator) -> Mode:
        """The best ascent for each problem."""
        generator(rng)
        P, d = target.num_problems, target.dimension
        scouts = self.prior.draw_scores(max(self.num_scouts, self.num_starts - 1), d, rng)
        points = np.concatenate([self.prior.median(d)[None], self.prior.from_normal(scouts)])
        likelihoods = target.log_likelihood_of_all(points)
        density = likelihoods + self.prior.log_density_and_gradient(points)[0]
        starts = _best_of_each_range(density, points[:, NOISE], self.num_starts)
        lower, upper = (target.move(end) for end in target.box)
        found = ascend(
            target.evaluate, target.move(points[starts]), lower, upper,
            radius=1.0, tolerance=self.tolerance, max_iterations=self.max_iterations,
            cull=best_distinct(FINISHED, closeness=0.01), cull_after=8,
        )  # fmt: skip
        theta, value, converged = (to_numpy(part) for part in (found.x, found.value, found.converged))
        best = np.arange(P), np.argmax(value, axis=1)
        evaluations = likelihoods.size + value.size + int(to_numpy(found.iterations).sum())
        return Mode(theta[best], value[best], converged[best], scouts, likelihoods[:, 1:], evaluations)


NOISE = -1
"""Of theta, the last."""
FINISHED = 2
"""Searches for a mode that go on to the end."""


def _best_of_each_range(density: HostArray, coordinate: HostArray, count: int) -> HostArray:
    """Of points with log densities (P, M), the numbers (P, count) of the best in each range of a coordinate (M,)."""
    ranges = np.array_split(np.argsort(coordinate, kind="stable"), count)
    return np.stack([own[np.argmax(density[:, own], axis=1)] for own in ranges], axis=1)


@dataclass(frozen=True)
class SliceSampling(Inference):
    """H = `num_samples` draws from the posterior by elliptical slice sampling in normal scores.

    At most `num_chains` chains run side by side, each from a first draw of its own: an importance sample of the prior
    and of a Student t about the mode. Each discards `burn_in` updates, then keeps every `thin`-th until together they
    have enough.
    """

    num_samples: int = 10
    prior: Prior = field(default_factory=Prior)
    num_chains: int = 32
    burn_in: int = 0
    thin: int = 3

    def __post_init__(self) -> None:
        instance(self.prior, "prior", Prior, "Prior()")
        for name in ("num_samples", "num_chains", "thin"):
            integer(getattr(self, name), name, 1)
        integer(self.burn_in, "burn_in", 0)

    @property
    def search(self) -> MAP:
        # The center of an approximation and a choice between kernels need not be exact.
        return MAP(self.prior, tolerance=0.01)

    def infer_from(
        self, kernel: Kernel, data: Observations, rng: np.random.Generator, groups: Groups = None,
        *, mode: Mode | None = None,
    ) -> Inferred:  # fmt: skip
        target = LogPosterior([kernel], data, self.prior, groups)
        found = self.search.climb(target, rng) if mode is None else mode
        chains = min(self.num_chains, self.num_samples)
        kept = math.ceil(self.num_samples / chains)
        scores, R, p = Scores(target), target.num_sets, target.dimension + 2
        about = scores.approximate(found.theta)
        start, tried = scores.first_draws(about, found.theta, found.scouts, found.likelihoods, chains, rng)
        run = elliptical_slice_sample(
            lambda u, rows: scores.log_density(u, rows // chains),
            start.reshape(R * chains, p), about.repeat(chains), rng,
            updates=self.burn_in + kept * self.thin, lower=scores.lower, upper=scores.upper,
        )  # fmt: skip

        def by_data_set(rows: HostArray) -> HostArray:
            """(updates, R chains, ...) -> (R, updates, chains, ...), without the burn-in."""
            after = rows[self.burn_in :]
            return np.moveaxis(after.reshape(len(after), R, chains, *rows.shape[2:]), 1, 0)

        draws = by_data_set(self.prior.from_normal(run.draws))
        density = by_data_set(run.log_density - log_normal(run.draws))
        density = density + self.prior.log_density_and_gradient(draws)[0]
        theta = draws[:, self.thin - 1 :: self.thin].reshape(R, kept * chains, p)
        values = density[:, self.thin - 1 :: self.thin].reshape(R, kept * chains)
        hyper, log_density = target.in_shape(theta[:, : self.num_samples], values[:, : self.num_samples])
        shape = (*target.batch_shape, p)
        return Inferred(
            hyper,
            log_density,
            converged=bool(found.converged.all()) and run.stuck == 0,
            evaluations=found.evaluations + R * (2 * p + 1) + tried + run.evaluations,
            r_hat=np.reshape([split_r_hat(chain) for chain in draws], shape),
            effective_sample_size=np.reshape([effective_sample_size(chain) for chain in draws], shape),
        )


@dataclass(frozen=True)
class PosteriorMean(Inference):
    """The mean of the sampled hyperparameters, as one vector: the paper's non-Bayesian PES-NB; H = 1."""

    sampling: SliceSampling = field(default_factory=SliceSampling)

    def __post_init__(self) -> None:
        instance(self.sampling, "sampling", SliceSampling, "SliceSampling(num_samples=10)")

    @property
    def search(self) -> MAP:
        return self.sampling.search

    def infer_from(
        self, kernel: Kernel, data: Observations, rng: np.random.Generator, groups: Groups = None,
        *, mode: Mode | None = None,
    ) -> Inferred:  # fmt: skip
        sampled = self.sampling.infer_from(kernel, data, rng, groups, mode=mode)
        hyper, xp = sampled.hyper, namespace(sampled.hyper.amplitude)
        mean = Hyperparameters(
            xp.mean(hyper.lengthscales, axis=-2, keepdims=True),
            xp.mean(hyper.amplitude, axis=-1, keepdims=True),
            xp.mean(hyper.noise, axis=-1, keepdims=True),
        )
        return sampled._replace(hyper=mean, log_density=None)


def infer_under_best(
    kernels: Sequence[Kernel], inference: Inference, data: Observations, rng: np.random.Generator, groups: Groups = None
) -> tuple[Kernel, Inferred]:
    """Hyperparameters under the kernel with the most probable mode, over all data sets together.

    The first kernel, if there is no other or hyperparameters are known. All modes are searched for at once, and that of
    the kernel is not searched for again.
    """
    search = inference.search
    if len(kernels) == 1 or search is None:
        return kernels[0], inference.infer_from(kernels[0], data, rng, groups)
    target = LogPosterior(kernels, data, search.prior, groups)
    found = search.climb(target, rng)
    best = int(np.argmax(found.log_density.reshape(len(kernels), -1).sum(axis=1)))
    mode = found.take(slice(best * target.num_sets, (best + 1) * target.num_sets))
    return kernels[best], inference.infer_from(kernels[best], data, rng, groups, mode=mode)


class Chosen(NamedTuple):
    """Data sets for which a kernel was chosen."""

    sets: HostArray
    """Their numbers, increasing."""
    kernel: Kernel
    inferred: Inferred
    """Leading axes: these data sets, then H."""


def infer_each_under_best(
    kernels: Sequence[Kernel], inference: Inference, data: Observations, rng: np.random.Generator
) -> list[Chosen]:
    """Hyperparameters of R data sets, each under the kernel with its own most probable mode.

    Where hyperparameters are known, under the first kernel.
    """
    (R,) = data.batch_shape
    search = inference.search
    if len(kernels) == 1 or search is None:
        return [Chosen(np.arange(R), kernels[0], inference.infer_from(kernels[0], data, rng))]
    found = search.climb(LogPosterior(kernels, data, search.prior, None), rng)
    best = np.argmax(found.log_density.reshape(len(kernels), R), axis=0)
    chosen = []
    for k, kernel in enumerate(kernels):
        sets = np.flatnonzero(best == k)
        if len(sets):
            inferred = inference.infer_from(kernel, data.take(sets), rng, mode=found.take(k * R + sets))
            chosen.append(Chosen(sets, kernel, inferred))
    return chosen
