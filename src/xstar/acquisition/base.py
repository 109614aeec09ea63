"""The contract of every acquisition: prepare once, then score any points.

    score = acquisition.prepare(post, rng)      # random and costly: everything that does not depend on x
    score(X)                                    # (n,)
    score.value_and_gradient(X)                 # (n,), (n, d)

What an acquisition writes is a `Score`: pure functions of checked points. `prepare` returns it as `Prepared`, which
adds what all have in common.

Several problems are prepared at once from a posterior with leading axes (R, H) and data (R, 1, n, d); the score is then
R functions, with points (R, n, d) and values (R, n).

Notation
    R    problems, each with its own data; 1 unless told otherwise
    H    hyperparameter samples of each, over which a score is averaged
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from numpy.typing import ArrayLike

from xstar.acquisition.prepared import Prepared
from xstar.errors import SettingsError
from xstar.gp.observations import check_points
from xstar.gp.paths import Paths
from xstar.gp.posterior import Posterior
from xstar.numerics.arrays import Array, HostArray, move, namespace, zeros
from xstar.numerics.ascent import Evaluation
from xstar.numerics.checks import generator, instance
from xstar.numerics.linalg import solve_cholesky
from xstar.numerics.random import Generators, Random
from xstar.search.domain import Domain, cube
from xstar.search.region import Region, Restriction


class Acquisition(ABC):
    """A way to value the next evaluation; its fields are its settings."""

    informative: ClassVar[bool] = False
    """Whether its scores are nats of information about the maximizer: none is below zero, and zero is of no use."""
    samples_maxima: ClassVar[bool] = False
    """Whether its scores have `sampled_maxima`: then its suggestions can be balanced."""

    def prepare(
        self,
        post: Posterior,
        rng: Random,
        pending: ArrayLike | None = None,
        domain: Domain | None = None,
        restriction: Restriction | None = None,
    ) -> Prepared:
        """Compute everything that does not depend on x.

        Parameters
        ----------
        post : Posterior
            Of one problem, with at most one leading axis, that of hyperparameter samples; or of R problems, with
            leading axes (R, H) and data (R, 1, n, d).
        rng : numpy.random.Generator
            For R problems, R of them (`xstar.lockstep.Streams`).
        pending : array_like of shape (k, d), optional
            Points whose values have been asked for and are not known yet.
        domain : Domain, optional
            The legal points; by default the whole cube.
        restriction : Restriction, optional
            Where the maximum is looked for, for example where evaluations are feasible. The score itself is not
            weighed by it: `xstar.feasibility.Penalized` does that.

        Returns
        -------
        Prepared
            The score, to be called at any points and to be maximized by `xstar.search`.

        Raises
        ------
        SettingsError
            If arguments do not fit each other.
        DataError
            If pending points have the wrong shape.
        """
        instance(post, "post", Posterior, "Posterior(SquaredExponential(), hyper, X, y)")
        generator(rng, several=True)
        under_way: Array | None = None
        if pending is not None:
            points = check_points(pending, "pending", like=post.data.X, dimension=post.dimension, table=True)
            under_way = None if points.shape[0] == 0 else points
        domain = cube(post.dimension) if domain is None else domain
        if domain.dimension != post.dimension:
            raise SettingsError(f"domain has {domain.dimension} columns for {post.dimension} coordinates.")
        post = post.by_problem()
        R = post.batch_shape[0]
        if isinstance(rng, Generators) and len(rng) != R:
            raise SettingsError(f"rng must have one generator for each of {R} problems; received {len(rng)}.")
        if R > 1 and (under_way is not None or restriction is not None):
            raise SettingsError("pending points and a restriction are for one problem at a time.")
        return Prepared(self._prepare(post, rng, under_way, Region(domain, restriction)))

    @abstractmethod
    def _prepare(self, post: Posterior, rng: Random, pending: Array | None, region: Region) -> Score:
        """The same for a posterior with leading axes (R, H), as `Posterior.by_problem` has it."""


class Score(Protocol):
    """R acquisition functions as pure functions of points (R, m, d); each point is scored alone.

    What has a default here is inherited by a class that names `Score` as its base.
    """

    additive: bool = False
    """Whether a factor of what an evaluation is worth is a summand of the score: it is a logarithm, or a value."""

    @property
    def like(self) -> Array:
        """An array (..., d) beside which points are put."""

    @property
    def num_problems(self) -> int:
        """R."""

    @property
    def elements_per_point(self) -> int:
        """How many numbers are in memory for each point while it is scored."""

    @property
    def diagnostics(self) -> Mapping[str, Any]:
        """How the preparation went."""
        return {}

    @property
    def starts(self) -> Array | None:
        """Points (R, k, d) near which the score is likely to be large, if any are known."""
        return None

    @property
    def sampled_maxima(self) -> Array | None:
        """The heights (R, N) of the sampled maxima that the score is about, if there are any."""
        return None

    def value(self, X: Array, /) -> Array:
        """Scores (R, m) at checked points (R, m, d)."""

    def evaluate(self, X: Array, /) -> Evaluation:
        """Scores (R, m), gradients (R, m, d) and, if at hand, Hessians at checked points (R, m, d)."""

    def take(self, problems: HostArray, /) -> Score:
        """The scores of some of the problems."""
        raise SettingsError(f"{type(self).__name__} is for one problem at a time.")

    def rough(self) -> Score:
        """The same, as cheaply as ranks candidates and tells good hills from bad ones."""
        return self


def share_out(num_samples: int, post: Posterior) -> int:
    """Return how many paths each hyperparameter sample gets, so that together they are at least `num_samples`."""
    return math.ceil(num_samples / int(post.batch_shape[1]))


def condition_on_pending(post: Posterior, paths: Paths, pending: Array | None, rng: Random) -> tuple[Posterior, Array]:
    """Return the posterior with pending points (k, d) as data, and K^{-1} of each path's targets (R, H, 1 or S, n).

    A path's targets are the data and its own noisy values at the pending points. (The values in the returned
    posterior's data are not used by anyone.)
    """
    if pending is None:
        return post, post.alpha[:, :, None, :]
    xp = namespace(pending)
    values = paths(pending)
    noise = post.hyper.noise[..., None, None] * move(rng.standard_normal(tuple(values.shape)), values)
    longer = post.extend(pending[None, None, ...], zeros((1, 1, int(pending.shape[0])), pending))
    data = xp.broadcast_to(post.data.y[:, :, None, :], (*values.shape[:-1], post.data.count))
    targets = xp.concat([data, values + noise], axis=-1)
    return longer, xp.linalg.matrix_transpose(solve_cholesky(longer.factor, xp.linalg.matrix_transpose(targets)))


def fantasize(post: Posterior, pending: Array | None) -> Posterior:
    """Return the posterior as if pending points (k, d) had their own predicted means: variances shrink, means stay."""
    if pending is None:
        return post
    return post.extend(pending[None, None, ...], post.predict(pending)[0])
