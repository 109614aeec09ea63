"""From data to hyperparameters: fixed, MAP, slice sampling, or the mean of a sample.

Each is a small settings object with one method, `infer`, that returns `Inferred`: hyperparameters with a sample axis H
behind the axes of the data sets. The posterior is that of theta, the log hyperparameters, inside the box of the
prior; its mode is what MAP returns and what the first draws of chains are made from, so that a suggestion depends on
the data and a seed alone and not on the history of earlier chains.

Notation
    theta    log hyperparameters       (P, q, d + 2)
    R, P     data sets; problems: a data set under one of several kernels
    q, H     hyperparameter vectors of one data set
    M        draws from the prior, the best of which local searches start from
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from xstar.errors import SettingsError
from xstar.gp.hyperparameters import Hyperparameters
from xstar.gp.kernels import Kernel
from xstar.gp.log_posterior import Groups, LogPosterior
from xstar.gp.observations import Observations
from xstar.gp.priors import Prior
from xstar.gp.scores import ApproximationSettings, Scores, log_normal
from xstar.numerics.arrays import Array, HostArray, namespace, to_numpy
from xstar.numerics.ascent import ascend
from xstar.numerics.chains import effective_sample_size, split_r_hat
from xstar.numerics.checks import generator, instance, integer, positive
from xstar.numerics.culling import best_distinct
from xstar.numerics.elliptical import elliptical_slice_sample

NOISE = -1
"""Where the noise stands in theta."""


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

    def alone(self) -> Inferred:
        """Return the same without a first leading axis of length 1."""
        hyper = self.hyper.reshaped(self.hyper.batch_shape[1:])
        return self._replace(hyper=hyper, **{
            name: part[0, ...]
            for name in ("log_density", "r_hat", "effective_sample_size")
            if (part := getattr(self, name)) is not None
        })  # fmt: skip


class Mode(NamedTuple):
    """The most probable theta of each problem that was found, and what the search has seen; on the host."""

    theta: HostArray
    """Shape (P, d + 2)."""
    log_density: HostArray
    """Shape (P,)."""
    converged: HostArray
    """Shape (P,)."""
    prior_draws: HostArray
    """Normal scores (M, d + 2) of draws from the prior."""
    likelihoods: HostArray
    """log p(y | theta) of the prior draws, shape (P, M)."""
    evaluations: int
    """How many times the marginal likelihood was computed, for all problems together."""

    def take(self, problems: slice | HostArray) -> Mode:
        """Return the modes of some problems; the evaluations were spent on all."""
        theta, density, converged, _, likelihoods, _ = self
        return self._replace(
            theta=theta[problems], log_density=density[problems], converged=converged[problems],
            likelihoods=likelihoods[problems],
        )  # fmt: skip


class Inference(ABC):
    """A way to choose hyperparameters given data: `Fixed`, `MAP`, `SliceSampling` or `PosteriorMean`."""

    @property
    @abstractmethod
    def mode_search(self) -> MAP | None:
        """The search for the most probable hyperparameters under the same prior; None if they are known."""

    @abstractmethod
    def tempered(self, power: float) -> Inference:
        """Return the same inference with the likelihood to a power: below 1, the data exclude less.

        Parameters
        ----------
        power : float
            Above 0; of an inference that is tempered already, times its own.

        Returns
        -------
        Inference
            The same one, if hyperparameters are known.
        """

    def infer(
        self,
        kernel: Kernel,
        X: ArrayLike,
        y: ArrayLike,
        rng: np.random.Generator,
        noise_sd: ArrayLike | None = None,
        groups: Groups = None,
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

        Raises
        ------
        DataError
            If the observations are not finite, or their shapes do not fit each other.
        SettingsError
            If the hyperparameters, the prior or the groups do not fit the coordinates.
        """
        return self.infer_from(kernel, Observations.check(X, y, noise_sd), rng, groups)

    @abstractmethod
    def infer_from(
        self, kernel: Kernel, data: Observations, rng: np.random.Generator, groups: Groups = None,
        *, mode: Mode | None = None,
    ) -> Inferred:  # fmt: skip
        """Infer from checked data; a `mode` that `self.mode_search` has found for them is not searched for again."""


@dataclass(frozen=True)
class Fixed(Inference):
    """Known hyperparameters, whatever the data.

    Parameters
    ----------
    hyper : Hyperparameters
        One leading axis, if any, is the sample axis H.

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.gp import Fixed, Hyperparameters, Matern52
    >>> known = Fixed(Hyperparameters([0.3], 1.0, 0.1))
    >>> known.infer(Matern52(), [[0.2], [0.7]], [0.0, 1.0], np.random.default_rng(0)).hyper.batch_shape
    (1,)
    """

    hyper: Hyperparameters

    def __post_init__(self) -> None:
        instance(self.hyper, "hyper", Hyperparameters, "Hyperparameters([0.3, 0.3], 1.0, 0.1)")
        if len(self.hyper.batch_shape) > 1:
            raise SettingsError(f"Fixed takes at most one leading axis; received {self.hyper.batch_shape}.")

    @property
    def mode_search(self) -> None:
        return None

    def tempered(self, power: float) -> Fixed:
        return self

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
    """The mode of the posterior of the log hyperparameters, by a multi-start search; H = 1.

    Data can mostly be explained in two ways, by much noise or by a function that varies, and the better explanation may
    be the narrower one. So the middle of the prior and draws from it are divided into ranges of the noise, and a local
    search starts from the most probable of each. `python -m benchmarks.modes` counts how often the mode is missed.

    Parameters
    ----------
    prior : Prior
        Of the hyperparameters.
    num_starts : int
        Ranges of the noise, each with a local search of its own.
    max_iterations : int
        Of each search.
    num_prior_draws : int
        Draws among which starts are chosen.
    tolerance : float
        A search ends with a step of this size in the log hyperparameters.
    num_finished : int
        Searches that go on to the end: the best, after `finish_after` iterations, that have come to different places.
    finish_after : int
        Iterations after which the others stop.
    power : float
        Of the likelihood: below 1, the mode is that of a tempered posterior.

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.gp import MAP, Matern52
    >>> X = np.linspace(0.0, 1.0, 12)[:, None]
    >>> found = MAP().infer(Matern52(), X, np.sin(6.0 * X[:, 0]), np.random.default_rng(0))
    >>> bool(found.hyper.noise[0] < 0.1)
    True
    """

    prior: Prior = field(default_factory=Prior)
    num_starts: int = 6
    max_iterations: int = 60
    num_prior_draws: int = 128
    tolerance: float = 1e-4
    num_finished: int = 2
    finish_after: int = 8
    power: float = 1.0

    def __post_init__(self) -> None:
        positive(self.power, "power")
        instance(self.prior, "prior", Prior, "Prior()")
        for name in ("num_starts", "max_iterations", "num_prior_draws", "num_finished", "finish_after"):
            integer(getattr(self, name), name, 1)
        positive(self.tolerance, "tolerance")

    @property
    def mode_search(self) -> MAP:
        return self

    def tempered(self, power: float) -> MAP:
        return replace(self, power=self.power * power)

    def infer_from(
        self, kernel: Kernel, data: Observations, rng: np.random.Generator, groups: Groups = None,
        *, mode: Mode | None = None,
    ) -> Inferred:  # fmt: skip
        target = LogPosterior([kernel], data, self.prior, groups, self.power)
        found = self.find_mode(target, rng) if mode is None else mode
        hyper, density = target.in_shape(found.theta[:, None, :], found.log_density[:, None])
        return Inferred(hyper, density, bool(found.converged.all()), found.evaluations)

    def find_mode(self, target: LogPosterior, rng: np.random.Generator) -> Mode:
        """Find the mode of each problem."""
        generator(rng)
        P, d = target.num_problems, target.dimension
        prior_draws = self.prior.draw_scores(max(self.num_prior_draws, self.num_starts - 1), d, rng)
        points = np.concatenate([self.prior.median(d)[None], self.prior.from_normal(prior_draws)])
        likelihoods = target.log_likelihood_of_all(points)
        density = likelihoods + self.prior.log_density_and_gradient(points)[0]
        starts = _best_of_each_range(density, points[:, NOISE], self.num_starts)
        lower, upper = (target.move(end) for end in target.box)
        found = ascend(
            target.evaluate, target.move(points[starts]), lower, upper,
            radius=1.0, tolerance=self.tolerance, max_iterations=self.max_iterations,
            cull=best_distinct(self.num_finished, closeness=0.01), cull_after=self.finish_after,
        )  # fmt: skip
        theta, value, converged = (to_numpy(part) for part in (found.x, found.value, found.converged))
        best = np.arange(P), np.argmax(value, axis=1)
        evaluations = likelihoods.size + value.size + int(to_numpy(found.iterations).sum())
        return Mode(theta[best], value[best], converged[best], prior_draws, likelihoods[:, 1:], evaluations)


def _best_of_each_range(density: HostArray, coordinate: HostArray, count: int) -> HostArray:
    """Of points with log densities (P, M), the numbers (P, count) of the best in each range of a coordinate (M,)."""
    ranges = np.array_split(np.argsort(coordinate, kind="stable"), count)
    return np.stack([own[np.argmax(density[:, own], axis=1)] for own in ranges], axis=1)


@dataclass(frozen=True)
class SliceSampling(Inference):
    """Draws from the posterior by elliptical slice sampling in normal scores; H = `num_samples`.

    Chains run side by side, each from a first draw of its own: an importance sample of the prior and of a Student t
    about the mode.

    Parameters
    ----------
    num_samples : int
        Hyperparameter vectors to be returned.
    prior : Prior
        Of the hyperparameters.
    num_chains : int
        At most so many chains.
    burn_in : int
        Updates of each chain that are discarded.
    thin : int
        Of the updates after the burn-in, every `thin`-th is kept.
    approximation : ApproximationSettings
        How the posterior is approximated, about which chains move.
    mode_tolerance : float
        The tolerance of the search for the mode: the center of an approximation and a choice between kernels need not
        be exact.
    power : float
        Of the likelihood: below 1, draws are from a tempered posterior, wider than that of a model which is right.

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.gp import Matern52, SliceSampling
    >>> X = np.linspace(0.0, 1.0, 8)[:, None]
    >>> drawn = SliceSampling(num_samples=4).infer(Matern52(), X, np.sin(6.0 * X[:, 0]), np.random.default_rng(0))
    >>> drawn.hyper.lengthscales.shape
    (4, 1)
    """

    num_samples: int = 10
    prior: Prior = field(default_factory=Prior)
    num_chains: int = 32
    burn_in: int = 0
    thin: int = 3
    approximation: ApproximationSettings = field(default_factory=ApproximationSettings)
    mode_tolerance: float = 0.01
    power: float = 1.0

    def __post_init__(self) -> None:
        positive(self.power, "power")
        instance(self.prior, "prior", Prior, "Prior()")
        instance(self.approximation, "approximation", ApproximationSettings, "ApproximationSettings()")
        for name in ("num_samples", "num_chains", "thin"):
            integer(getattr(self, name), name, 1)
        integer(self.burn_in, "burn_in", 0)
        positive(self.mode_tolerance, "mode_tolerance")

    @property
    def mode_search(self) -> MAP:
        return MAP(self.prior, tolerance=self.mode_tolerance, power=self.power)

    def tempered(self, power: float) -> SliceSampling:
        return replace(self, power=self.power * power)

    def infer_from(
        self, kernel: Kernel, data: Observations, rng: np.random.Generator, groups: Groups = None,
        *, mode: Mode | None = None,
    ) -> Inferred:  # fmt: skip
        target = LogPosterior([kernel], data, self.prior, groups, self.power)
        found = self.mode_search.find_mode(target, rng) if mode is None else mode
        chains = min(self.num_chains, self.num_samples)
        kept = math.ceil(self.num_samples / chains)
        scores, R, p = Scores(target, self.approximation), target.num_sets, target.dimension + 2
        about = scores.approximate(found.theta)
        start, tried = scores.first_draws(about, found.theta, found.prior_draws, found.likelihoods, chains, rng)
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
    """The mean of the sampled hyperparameters, as one vector: the paper's non-Bayesian PES-NB; H = 1.

    Parameters
    ----------
    sampling : SliceSampling
        What is averaged.

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.gp import Matern52, PosteriorMean
    >>> X = np.linspace(0.0, 1.0, 8)[:, None]
    >>> found = PosteriorMean().infer(Matern52(), X, np.sin(6.0 * X[:, 0]), np.random.default_rng(0))
    >>> found.hyper.lengthscales.shape
    (1, 1)
    """

    sampling: SliceSampling = field(default_factory=SliceSampling)

    def __post_init__(self) -> None:
        instance(self.sampling, "sampling", SliceSampling, "SliceSampling(num_samples=10)")

    @property
    def mode_search(self) -> MAP:
        return self.sampling.mode_search

    def tempered(self, power: float) -> PosteriorMean:
        return replace(self, sampling=self.sampling.tempered(power))

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


class Chosen(NamedTuple):
    """Data sets for which a kernel, and a version of the values, was chosen."""

    sets: HostArray
    """Their numbers, increasing; of versions, those that were chosen."""
    kernel: Kernel
    inferred: Inferred
    """Leading axes: these data sets, then H."""


def infer_each_under_best(
    kernels: Sequence[Kernel], inference: Inference, data: Observations, rng: np.random.Generator,
    groups: Groups = None, *, log_jacobian: HostArray | None = None,
) -> list[Chosen]:  # fmt: skip
    """Infer the hyperparameters of R problems, each under the kernel with its own most probable mode.

    Where hyperparameters are known, under the first kernel. With `log_jacobian` (R, V), each problem has V data sets,
    one after the other: versions of the same values, transformed by maps of which it has the log derivatives, summed.
    The density of the values as they were told decides between them as well, and only one of them is kept.
    """
    (count,) = data.batch_shape
    search = inference.mode_search
    versions = 1 if log_jacobian is None else log_jacobian.shape[1]
    if search is None or (len(kernels) == 1 and versions == 1):
        if versions > 1:
            raise SettingsError("known hyperparameters are of values as they are told: they have no other version.")
        return [Chosen(np.arange(count), kernels[0], inference.infer_from(kernels[0], data, rng, groups))]
    found = search.find_mode(LogPosterior(kernels, data, search.prior, groups, search.power), rng)
    density = found.log_density.reshape(len(kernels), -1, versions)
    if log_jacobian is not None:
        density = density + log_jacobian
    best, version = np.divmod(np.argmax(density.transpose(1, 0, 2).reshape(count // versions, -1), axis=1), versions)
    each = np.arange(count // versions) * versions + version
    chosen = []
    for k, kernel in enumerate(kernels):
        sets = each[best == k]
        if len(sets):
            mode = found.take(k * count + sets)
            chosen.append(Chosen(sets, kernel, inference.infer_from(kernel, data.take(sets), rng, groups, mode=mode)))
    return chosen
