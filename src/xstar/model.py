"""From trials to a fitted model, and what it predicts in the user's units.

Rows are sorted before anything is computed from them, so that the order in which results were told changes nothing.
Values are those of a maximization here: the optimizer has turned the sign of a minimization.

Notation
    X         told points in the unit cube, maybe outside it          (n, d)
    values    their values, larger is better                          (n,)
    sd        their noise, NaN where it is to be learned              (n,)
    H         hyperparameter samples
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from xstar.acquisition import Acquisition, Score
from xstar.acquisition.mean import MeanScore
from xstar.acquisition.weighed import Weighed
from xstar.entropy.maximizers import Region, best_data, draw_maximizers
from xstar.entropy.success import SAFEST, Success
from xstar.errors import DataError
from xstar.gp import Hyperparameters, Inferred, Matern52, Posterior
from xstar.gp.inference import infer_under_best
from xstar.methods import Method
from xstar.numerics.arrays import Array, HostArray, move, to_numpy
from xstar.scaling import Scaling
from xstar.search import Domain, MixedSearch, Objective, draw_candidates, inside_cube
from xstar.space import Space
from xstar.thinning import thin
from xstar.trial import Trial

LEAST_NOISE = 1e-6
"""Without noise, values of standard deviation 1 still have this much: what float64 can tell apart."""


@dataclass(frozen=True)
class Evidence:
    """All that the trials say, in an order of its own."""

    X: HostArray
    values: HostArray
    sd: HostArray
    failed: HostArray
    pending: HostArray

    @property
    def count(self) -> int:
        """n."""
        return len(self.values)

    def same_results(self, other: Evidence) -> bool:
        """Whether both say the same; pending points may differ."""
        pairs = ((self.X, other.X), (self.values, other.values), (self.sd, other.sd), (self.failed, other.failed))
        return all(np.array_equal(mine, theirs, equal_nan=True) for mine, theirs in pairs)


def gather(space: Space, trials: Iterable[Trial], sign: float, noise: float | None) -> Evidence:
    """The evidence of trials; withdrawn ones have none. `noise` is that of values without one of their own."""
    unknown = np.nan if noise is None else noise
    rows: dict[str, list[tuple[float, ...]]] = {"done": [], "failed": [], "pending": [], "withdrawn": []}
    for trial in trials:
        x = tuple(space.encode(trial.params).tolist())
        if trial.state == "done" and trial.value is not None:
            x = (*x, sign * trial.value, unknown if trial.sd is None else trial.sd)
        rows[trial.state].append(x)
    d = space.domain.dimension
    done = np.array(sorted(rows["done"], key=_none_last)).reshape(-1, d + 2)
    failed, pending = (np.array(sorted(rows[state])).reshape(-1, d) for state in ("failed", "pending"))
    return _pool(Evidence(done[:, :d], done[:, d], done[:, d + 1], failed, pending))


def _none_last(row: tuple[float, ...]) -> tuple[float, ...]:
    """NaN has no order; as a noise it comes last."""
    return (*row[:-1], np.inf if np.isnan(row[-1]) else row[-1])


def _pool(evidence: Evidence) -> Evidence:
    """Replicates of known noise as one value, weighted by precision.

    Replicates of unknown noise stay apart, because their scatter says what the noise is; a GP pools them itself.
    """
    X, values, sd = evidence.X, evidence.values, evidence.sd
    kept: list[tuple[int, float, float]] = []
    seen: dict[bytes, list[int]] = {}
    for i, row in enumerate(X):
        if np.isnan(sd[i]):
            kept.append((i, values[i], sd[i]))
            continue
        seen.setdefault(row.tobytes(), []).append(i)
    for rows in seen.values():
        if np.any(sd[rows] == 0.0):
            exact = values[rows][sd[rows] == 0.0]
            kept.append((rows[0], float(exact.mean()), 0.0))
        elif len(rows) == 1:
            kept.append((rows[0], values[rows[0]], sd[rows[0]]))
        else:
            least = sd[rows].min()
            share = (least / sd[rows]) ** 2
            kept.append((rows[0], float(share @ values[rows] / share.sum()), float(least / np.sqrt(share.sum()))))
    kept.sort(key=lambda item: item[0])
    places = [item[0] for item in kept]
    return replace(
        evidence, X=X[places], values=np.array([item[1] for item in kept]), sd=np.array([item[2] for item in kept])
    )


@dataclass(frozen=True)
class Model:
    """A posterior with the scaling of its values, and the chance of success."""

    domain: Domain
    evidence: Evidence
    scaling: Scaling
    inferred: Inferred
    post: Posterior
    """Leading axis H; y is standardized."""
    success: Success | None

    @property
    def region(self) -> Region:
        """Where the optimum may be."""
        return Region(self.domain, self.success)

    def predict(self, rows: HostArray) -> tuple[HostArray, HostArray]:
        """Mean and standard deviation of y at points (m, d), over all hyperparameter samples; shapes (m,)."""
        mean, variance = (to_numpy(part) for part in self.post.predict(rows))
        return mean.mean(axis=0), np.sqrt(variance.mean(axis=0) + mean.var(axis=0))

    def unknown_share(self, rows: HostArray) -> HostArray:
        """The share of the prior variance that the data have left at points (m, d): 1 where nothing is known."""
        _, variance = self.post.predict(rows)
        return np.asarray(to_numpy(variance / self.post.hyper.variance[:, None]).mean(axis=0))

    def prepare(self, acquisition: Acquisition, rng: np.random.Generator) -> Score:
        """The score of an acquisition, counting on the pending points."""
        pending = self.evidence.pending
        return acquisition.prepare(self.post, rng, pending if len(pending) else None, *self.region)

    def success_at(self, rows: HostArray) -> HostArray:
        """The chance of success at points (m, d)."""
        if self.success is None:
            return np.ones(len(rows))
        return np.asarray(np.minimum(np.exp(self.success.log_probability(rows)), 1.0))

    def maximize(
        self, objective: Objective, rng: np.random.Generator, *, within: Domain | None = None,
        forbidden: frozenset[bytes] = frozenset(), around: HostArray | None = None,
    ) -> tuple[HostArray, float]:  # fmt: skip
        """The best legal point of one function (d,), of all or within a part of the domain, and its value."""
        candidates = self._candidates(rng, np.zeros((0, self.domain.dimension)) if around is None else around)
        found = MixedSearch(within or self.domain, forbidden).maximize(objective, candidates)
        return to_numpy(found.x)[0], float(found.value[0])

    def _candidates(self, rng: np.random.Generator, around: HostArray) -> HostArray:
        """Points all over the cube, the data, and a spray about the best of them and of `around`."""
        centers = np.concatenate([to_numpy(best_data(self.post)), around])[:MOST_CENTERS]
        inside = np.clip(self.evidence.X, 0.0, 1.0)
        return np.concatenate([draw_candidates(CANDIDATES, inside, rng, around=centers), around])

    def sample_optima(self, count: int, rng: np.random.Generator) -> tuple[HostArray, HostArray, HostArray]:
        """Draws of the optimum (count, d), and each path's value there and at the recommendation (count,), in y."""
        H = self.post.batch_shape[0]
        drawn = draw_maximizers(self.post, math.ceil(count / H), rng, region=self.region)
        picked = rng.permutation(drawn.paths.num_problems)[:count]
        here = to_numpy(drawn.paths(self.best_row[None]))
        return (
            to_numpy(drawn.x).reshape(-1, self.domain.dimension)[picked],
            to_numpy(drawn.value).reshape(-1)[picked],
            here.reshape(-1)[picked],
        )

    @cached_property
    def best_row(self) -> HostArray:
        """The legal point with the best posterior mean among those likely to succeed."""
        score: Score = MeanScore(self.post)
        if self.success is not None:
            score = Weighed(score, replace(self.success, level=SAFEST), power=0.0)
        found, value = self.maximize(score, np.random.default_rng(RECOMMENDATION))
        # Where the mean is flat, a point that was evaluated is better than one that was not.
        known = self.evidence.X[inside_cube(self.evidence.X)]
        if len(known):
            heights = to_numpy(score(known))
            if np.max(heights) >= value - FLAT:
                return np.asarray(known[int(np.argmax(heights))])
        return found


CANDIDATES = 512
MOST_CENTERS = 6
"""Points that a spray of candidates surrounds."""
FLAT = 1e-9
"""Means of y that differ by less are the same."""
RECOMMENDATION = 0x57A2
"""The seed of the search for the best posterior mean: a recommendation depends on the data alone."""


def fit(
    domain: Domain,
    evidence: Evidence,
    method: Method,
    rng: np.random.Generator,
    noise: float | None = None,
    like: Array | None = None,
) -> Model:
    """Fit a model to at least one value; `noise` is the standard deviation of the next one, if it is known.

    The model is computed in the namespace and on the device of `like` (default: NumPy).
    """
    if evidence.count == 0:
        raise DataError("a model needs at least one value.")
    kept = thin(evidence.X, evidence.values, MOST_DATA)
    X, values = evidence.X[kept], evidence.values[kept]
    scaling = Scaling.fit(values, design_weights(X)) if method.standardizes else Scaling()
    y = scaling.forward(values)
    noise_sd = np.maximum(evidence.sd[kept] * scaling.slope(values), LEAST_NOISE)
    known = not np.isnan(noise_sd).any()
    following = noise * scaling.slope_of_bulk if noise is not None else float(np.median(noise_sd))
    if like is not None:
        X, y, noise_sd = (move(part, like) for part in (X, y, noise_sd))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        kernel, inferred = infer_under_best(method.kernels, method.inference, X, y, rng, noise_sd, domain.groups)
    hyper = inferred.hyper
    if known:
        # The next value will be as noisy as was told, not as the prior has it.
        level = 0.0 * hyper.noise + max(following, LEAST_NOISE)
        hyper = Hyperparameters(hyper.lengthscales, hyper.amplitude, level)
    post = Posterior(kernel, hyper, X, y, noise_sd)
    success = Success.fit(Matern52(), evidence.X[kept], evidence.failed, domain) if len(evidence.failed) else None
    return Model(domain, evidence, scaling, inferred, post, success)


MOST_DATA = 300
"""Values that a model is fitted to: the work grows with their cube."""


def design_weights(X: HostArray) -> HostArray:
    """Weights (n,) of a mean that does not favor places where many points are: K^{-1} 1, normalized.

    A search gathers points about the optimum. Their plain mean would be close to the best value, and a model with such
    a mean would expect that much of every place not yet seen.
    """
    n, d = X.shape
    hyper = Hyperparameters(np.full(d, REFERENCE_LENGTHSCALE * np.sqrt(d)), 1.0, REFERENCE_NOISE)
    post = Posterior(Matern52(), hyper, X, np.ones(n))
    weights = np.maximum(post.alpha, 0.0)
    return np.asarray(weights / weights.sum())


REFERENCE_LENGTHSCALE, REFERENCE_NOISE = 0.3, 0.3
