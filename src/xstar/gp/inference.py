"""From data to hyperparameters: fixed, MAP, slice sampling, or the mean of a sample.

Each is a small settings object with one method, `infer`, that returns `Inferred`: hyperparameters with a sample axis H
behind the axes of the data sets. The posterior is that of theta, the log hyperparameters, inside the box of the
prior; its mode is what MAP returns and where the chains start, so that a suggestion depends on the data
alone and not on the history of earlier chains.

Notation
    theta    log hyperparameters       (R, q, d + 2)
    R        data sets                 q, H    hyperparameter vectors of one data set
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from xstar.errors import SettingsError
from xstar.gp.hyperparameters import Hyperparameters
from xstar.gp.kernels import Kernel, check_kernel
from xstar.gp.likelihood import MarginalLikelihood
from xstar.gp.observations import Observations
from xstar.gp.priors import Prior
from xstar.numerics.arrays import Array, HostArray, chunks, move, namespace, to_numpy
from xstar.numerics.ascent import Evaluation, ascend
from xstar.numerics.chains import effective_sample_size, split_r_hat
from xstar.numerics.checks import generator, instance, integer, positive
from xstar.numerics.culling import best_distinct
from xstar.numerics.slice_sampling import slice_sample

Groups: TypeAlias = Sequence[int] | None
"""The group of each coordinate, counted from 0; None if each has a lengthscale of its own."""


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
    """Split R-hat of each parameter (..., d + 2) over all sweeps after the burn-in; NaN for fewer than 4 of them."""
    effective_sample_size: HostArray | None = None
    """Effective number of draws of each parameter (..., d + 2), of all sweeps after the burn-in; likewise."""


class Inference(ABC):
    """A way to choose hyperparameters given data."""

    @property
    @abstractmethod
    def mode(self) -> MAP | None:
        """The search for the most probable hyperparameters under the same prior; None if they are known."""

    @abstractmethod
    def infer(
        self, kernel: Kernel, X: Any, y: Any, rng: np.random.Generator, noise_sd: Any = None, groups: Groups = None
    ) -> Inferred:
        """Hyperparameters for observations X (..., n, d), y (..., n) with noise_sd as in `Posterior`.

        Coordinates with the same number in `groups` (d,) share one lengthscale; a prior for each lengthscale is then
        one for each group.
        """


@dataclass(frozen=True)
class Fixed(Inference):
    """Known hyperparameters, whatever the data. One leading axis, if any, is the sample axis H."""

    hyper: Hyperparameters

    def __post_init__(self) -> None:
        instance(self.hyper, "hyper", Hyperparameters, "Hyperparameters([0.3, 0.3], 1.0, 0.1)")
        if len(self.hyper.batch_shape) > 1:
            raise SettingsError(f"Fixed takes at most one leading axis; received {self.hyper.batch_shape}.")

    @property
    def mode(self) -> None:
        return None

    def infer(
        self, kernel: Kernel, X: Any, y: Any, rng: np.random.Generator, noise_sd: Any = None, groups: Groups = None
    ) -> Inferred:
        data = Observations.check(X, y, noise_sd)
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

    After a few iterations the better half of the `num_starts` searches goes on.
    """

    prior: Prior = field(default_factory=Prior)
    num_starts: int = 4
    max_iterations: int = 60

    def __post_init__(self) -> None:
        instance(self.prior, "prior", Prior, "Prior()")
        integer(self.num_starts, "num_starts", 1)
        integer(self.max_iterations, "max_iterations", 1)

    @property
    def mode(self) -> MAP:
        return self

    def infer(
        self, kernel: Kernel, X: Any, y: Any, rng: np.random.Generator, noise_sd: Any = None, groups: Groups = None
    ) -> Inferred:
        target = _Target(kernel, Observations.check(X, y, noise_sd), self.prior, rng, groups)
        mode = self.climb(target, rng)
        hyper, density = target.in_shape(mode.theta[:, None, :], mode.log_density[:, None])
        return Inferred(hyper, density, mode.converged, mode.evaluations)

    def climb(self, target: _Target, rng: np.random.Generator) -> _Mode:
        """The best ascent for each data set: one from the middle of the prior, the others from draws of it."""
        d, R = target.dimension, target.num_problems
        draws = self.prior.draw(self.num_starts - 1, d, rng)
        starts = np.concatenate([self.prior.median(d)[None], draws])
        lower, upper = (target.move(end) for end in self.prior.box(d))
        found = ascend(
            target.evaluate, target.move(np.tile(starts, (R, 1, 1))), lower, upper,
            radius=0.5, tolerance=1e-4, max_iterations=self.max_iterations,
            cull=best_distinct(math.ceil(self.num_starts / 2), closeness=0.01), cull_after=8,
        )  # fmt: skip
        theta, value, converged = (to_numpy(part) for part in (found.x, found.value, found.converged))
        best = np.arange(R), np.argmax(value, axis=1)
        evaluations = value.size + int(to_numpy(found.iterations).sum())
        return _Mode(theta[best], value[best], bool(converged[best].all()), evaluations)


@dataclass(frozen=True)
class SliceSampling(Inference):
    """H = `num_samples` draws from the posterior by slice sampling, `num_chains` chains side by side from the mode.

    Each chain discards `burn_in` sweeps, then keeps every `thin`-th until together they have enough. `width` is the
    first guess of a slice's size, in log hyperparameters.
    """

    num_samples: int = 10
    prior: Prior = field(default_factory=Prior)
    num_chains: int = 5
    burn_in: int = 6
    thin: int = 2
    width: float = 2.0

    def __post_init__(self) -> None:
        instance(self.prior, "prior", Prior, "Prior()")
        for name in ("num_samples", "num_chains", "thin"):
            integer(getattr(self, name), name, 1)
        integer(self.burn_in, "burn_in", 0)
        positive(self.width, "width")

    @property
    def mode(self) -> MAP:
        return MAP(self.prior)

    def infer(
        self, kernel: Kernel, X: Any, y: Any, rng: np.random.Generator, noise_sd: Any = None, groups: Groups = None
    ) -> Inferred:
        target = _Target(kernel, Observations.check(X, y, noise_sd), self.prior, rng, groups)
        mode = self.mode.climb(target, rng)
        chains = min(self.num_chains, self.num_samples)
        kept = math.ceil(self.num_samples / chains)
        lower, upper = self.prior.box(target.dimension)
        run = slice_sample(
            lambda theta, rows: target.log_density(theta, rows // chains),
            np.repeat(mode.theta, chains, axis=0), rng,
            sweeps=self.burn_in + kept * self.thin, width=self.width, lower=lower, upper=upper,
        )  # fmt: skip

        def by_data_set(rows: HostArray) -> HostArray:
            """(sweeps, R chains, ...) -> (R, sweeps, chains, ...), without the burn-in."""
            after = rows[self.burn_in :]
            return np.moveaxis(after.reshape(len(after), target.num_problems, chains, *rows.shape[2:]), 1, 0)

        draws, density = by_data_set(run.draws), by_data_set(run.log_density)
        theta = draws[:, self.thin - 1 :: self.thin].reshape(target.num_problems, kept * chains, -1)
        values = density[:, self.thin - 1 :: self.thin].reshape(target.num_problems, kept * chains)
        hyper, log_density = target.in_shape(theta[:, : self.num_samples], values[:, : self.num_samples])
        shape = (*target.batch_shape, target.dimension + 2)
        return Inferred(
            hyper,
            log_density,
            converged=mode.converged and run.stuck == 0,
            evaluations=mode.evaluations + run.evaluations,
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
    def mode(self) -> MAP:
        return self.sampling.mode

    def infer(
        self, kernel: Kernel, X: Any, y: Any, rng: np.random.Generator, noise_sd: Any = None, groups: Groups = None
    ) -> Inferred:
        sampled = self.sampling.infer(kernel, X, y, rng, noise_sd, groups)
        hyper, xp = sampled.hyper, namespace(sampled.hyper.amplitude)
        mean = Hyperparameters(
            xp.mean(hyper.lengthscales, axis=-2, keepdims=True),
            xp.mean(hyper.amplitude, axis=-1, keepdims=True),
            xp.mean(hyper.noise, axis=-1, keepdims=True),
        )
        return sampled._replace(hyper=mean, log_density=None)


class _Mode(NamedTuple):
    """The best point of each data set, on the host."""

    theta: HostArray
    log_density: HostArray
    converged: bool
    evaluations: int


class _Target:
    """log p(y, theta), with the leading axes of the data joined into one, R."""

    def __init__(
        self, kernel: Kernel, data: Observations, prior: Prior, rng: np.random.Generator, groups: Groups = None
    ) -> None:
        check_kernel(kernel)
        generator(rng)
        self.batch_shape = data.batch_shape
        self.group = np.arange(data.dimension) if groups is None else _check_groups(groups, data.dimension)
        self.dimension = int(self.group.max()) + 1
        self.likelihood = MarginalLikelihood(kernel, data.flatten())
        self.num_problems: int = self.likelihood.data.batch_shape[0]
        self.prior = prior

    def move(self, values: HostArray) -> Array:
        """Host values beside the data."""
        return move(values, self.likelihood.data.X)

    def spread(self, theta: Array) -> Array:
        """From one lengthscale per group to one per coordinate."""
        if self.dimension == len(self.group):
            return theta
        return namespace(theta).take(theta, self.move(np.append(self.group, [-2, -1]) % theta.shape[-1]), axis=-1)

    @property
    def _sharing(self) -> HostArray:
        """1 where an entry of theta stands for a hyperparameter, shape (coordinates + 2, groups + 2)."""
        places = np.append(self.group, self.dimension + np.arange(2))
        return np.asarray(np.eye(self.dimension + 2)[places])

    def evaluate(self, theta: Array, problems: HostArray) -> Evaluation:
        """Value and gradient at theta (R', q, d + 2) for some of the data sets (R',)."""
        everything = np.array_equal(problems, np.arange(self.num_problems))
        part = self.likelihood if everything else self.likelihood.take(problems)
        value, gradient = part.value_and_gradient(self.spread(theta))
        if self.dimension < len(self.group):
            gradient = namespace(gradient).matmul(gradient, self.move(self._sharing))
        prior, prior_gradient = self.prior.log_density_and_gradient(theta)
        return Evaluation(value + prior, gradient + prior_gradient)

    def log_density(self, theta: HostArray, problems: HostArray) -> HostArray:
        """Value at host points (k, d + 2), each for its own data set (k,)."""
        n = self.likelihood.data.count
        # Several data sets are gathered for each point, with all their differences.
        elements = n * n * (1 if self.num_problems == 1 else 1 + self.dimension)
        parts = []
        for block in chunks(len(theta), elements):
            points = self.move(theta[block])
            if self.num_problems == 1:
                value = self.likelihood.value(self.spread(points)[None, :, :])[0, :]
            else:
                value = self.likelihood.take(problems[block]).value(self.spread(points)[:, None, :])[:, 0]
            parts.append(to_numpy(value + self.prior.log_density_and_gradient(points)[0]))
        return np.concatenate(parts)

    def in_shape(self, theta: HostArray, log_density: HostArray) -> tuple[Hyperparameters, Array]:
        """Results (R, H, ...) with the leading axes of the data, beside the data."""
        H = theta.shape[1]
        hyper = Hyperparameters.from_log(self.spread(self.move(theta.reshape(*self.batch_shape, H, -1))))
        return hyper, self.move(log_density.reshape(*self.batch_shape, H))


def _check_groups(groups: Sequence[int], dimension: int) -> HostArray:
    given = np.asarray(groups)
    if given.shape != (dimension,) or set(given.tolist()) != set(range(int(given.max(initial=0)) + 1)):
        raise SettingsError(
            f"groups must give each of the {dimension} coordinates a group, counted from 0 without gaps; "
            f"received {groups!r}."
        )
    return given
