"""log p(y | theta)^power p(theta) of several kernels and data sets, as searches and samplers of `inference` ask for it.

A problem is a kernel with a data set. Problems are counted kernel by kernel, so that all of them are searched or
evaluated together, in few wide calls.

Notation
    K, R     kernels, data sets                 P = K R    problems
    theta    log hyperparameters (P, q, d + 2), with one lengthscale for each group of coordinates
    u        their normal scores under the prior, likewise
    power    of the likelihood: below 1, the posterior is tempered, as if the data were fewer
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from xstar.errors import SettingsError
from xstar.gp.hyperparameters import Hyperparameters
from xstar.gp.kernels import Kernel, check_kernel
from xstar.gp.likelihood import MarginalLikelihood
from xstar.gp.observations import Observations
from xstar.gp.priors import Prior
from xstar.numerics.arrays import Array, HostArray, chunks, move, namespace, to_numpy
from xstar.numerics.ascent import Evaluation

Groups: TypeAlias = Sequence[int] | None
"""The group of each coordinate, counted from 0; None if each has a lengthscale of its own."""


class LogPosterior:
    """log p(y | theta)^power p(theta), with the leading axes of the data joined into one, R."""

    def __init__(
        self, kernels: Sequence[Kernel], data: Observations, prior: Prior, groups: Groups = None, power: float = 1.0
    ) -> None:
        for kernel in kernels:
            check_kernel(kernel)
        first = MarginalLikelihood(kernels[0], data.flatten())
        self.likelihoods = [first, *(first.under(kernel) for kernel in kernels[1:])]
        self.prior, self.power = prior, power
        self.batch_shape = data.batch_shape
        self.group = np.arange(data.dimension) if groups is None else _check_groups(groups, data.dimension)
        self.dimension = int(self.group.max()) + 1
        self.num_sets: int = first.data.batch_shape[0]
        self.box = prior.box(self.dimension)

    @property
    def num_problems(self) -> int:
        """P."""
        return len(self.likelihoods) * self.num_sets

    def move(self, values: HostArray) -> Array:
        """Return host values beside the data."""
        return move(values, self.likelihoods[0].data.X)

    def evaluate(self, theta: Array, problems: HostArray) -> Evaluation:
        """Return value and gradient at theta (P', q, d + 2) for some of the problems, in ascending order (P',)."""
        likelihood = self.likelihood(theta, problems)
        value, gradient = self.prior.log_density_and_gradient(theta)
        return Evaluation(likelihood.value + value, likelihood.gradient + gradient)

    def likelihood(self, theta: Array, problems: HostArray) -> Evaluation:
        """Return power log p(y | theta) and its gradient, likewise."""
        xp = namespace(theta)
        spread, parts, start = self._spread(theta), [], 0
        for kernel, likelihood in enumerate(self.likelihoods):
            sets = problems[problems // self.num_sets == kernel] % self.num_sets
            if sets.size:
                part = likelihood if sets.size == self.num_sets else likelihood.take(sets)
                parts.append(part.value_and_gradient(spread[start : start + sets.size, ...]))
                start += sets.size
        value, gradient = (
            parts[0] if len(parts) == 1 else (xp.concat(list(part), axis=0) for part in zip(*parts, strict=True))
        )
        if self.dimension < len(self.group):
            gradient = xp.matmul(gradient, self.move(self._sharing))
        return Evaluation(self.power * value, self.power * gradient)

    def log_likelihood_of_all(self, theta: HostArray) -> HostArray:
        """Return power log p(y | theta) at the same host points (q, d + 2) for all problems, shape (P, q)."""
        sets = np.arange(self.num_sets)
        points = np.broadcast_to(theta, (self.num_sets, *theta.shape))
        return np.concatenate([self._value(likelihood, points, sets) for likelihood in self.likelihoods])

    def log_likelihood(self, theta: HostArray, problems: HostArray) -> HostArray:
        """Return power log p(y | theta) at host points (k, d + 2), each for its own problem (k,); for one kernel.

        The points of one data set stand side by side, so that its differences serve all of them; a data set with fewer
        points than another has its first one computed several times.
        """
        (likelihood,) = self.likelihoods
        sets, place, counts = np.unique(problems, return_inverse=True, return_counts=True)
        first = np.cumsum(counts) - counts
        order = np.argsort(place, kind="stable")
        slot = np.empty(len(theta), dtype=np.int64)
        slot[order] = np.arange(len(theta)) - np.repeat(first, counts)
        table = np.repeat(theta[order[first]][:, None, :], counts.max(), axis=1)
        table[place, slot] = theta
        return self._value(likelihood, table, sets)[place, slot]

    def _value(self, likelihood: MarginalLikelihood, theta: HostArray, sets: HostArray) -> HostArray:
        """power log p(y | theta) at host points (R', q, d + 2) for some of the data sets (R',), in bounded memory."""
        n, q = likelihood.data.count, theta.shape[1]
        parts = []
        for block in chunks(len(sets), n * n * (q + self.dimension), likelihood.data.X):
            part = likelihood if sets[block].size == self.num_sets else likelihood.take(sets[block])
            parts.append(self.power * to_numpy(part.value(self._spread(self.move(theta[block])))))
        return np.concatenate(parts)

    def in_shape(self, theta: HostArray, log_density: HostArray) -> tuple[Hyperparameters, Array]:
        """Return results (R, H, ...) with the leading axes of the data, beside the data."""
        H = theta.shape[1]
        hyper = Hyperparameters.from_log(self._spread(self.move(theta.reshape(*self.batch_shape, H, -1))))
        return hyper, self.move(log_density.reshape(*self.batch_shape, H))

    def _spread(self, theta: Array) -> Array:
        """From one lengthscale per group to one per coordinate."""
        if self.dimension == len(self.group):
            return theta
        return namespace(theta).take(theta, self.move(np.append(self.group, [-2, -1]) % theta.shape[-1]), axis=-1)

    @property
    def _sharing(self) -> HostArray:
        """1 where an entry of theta stands for a hyperparameter, shape (coordinates + 2, groups + 2)."""
        places = np.append(self.group, self.dimension + np.arange(2))
        return np.asarray(np.eye(self.dimension + 2)[places])


def _check_groups(groups: Sequence[int], dimension: int) -> HostArray:
    given = np.asarray(groups)
    if given.shape != (dimension,) or set(given.tolist()) != set(range(int(given.max(initial=0)) + 1)):
        raise SettingsError(
            f"groups must give each of the {dimension} coordinates a group, counted from 0 without gaps; "
            f"received {groups!r}."
        )
    return given
