"""What every output at x tells about the optimum of several, by rejection sampling on a grid: slow, and the truth.

A joint draw is one path of every output: objectives, to be maximized, and constraints, c >= bound; all are independent
Gaussian processes. The optimum of a draw is a set P of grid points: the best feasible point of one objective, some
points of the feasible Pareto set of several, the point of least total violation where nothing is feasible. Knowing P
leaves the draws of which every point of P is optimal. What is known of output k at x falls from v_k(x) to v_k(x | P):

    I_k(x) = E_P [ -1/2 log((v_k(x | P) + noise_k^2) / (v_k(x) + noise_k^2)) ]

Notation
    values      joint draws, objectives first                    (K, N, G)
    optimal     whether a point may be in the P of a draw        (N, G)
    P           indices of grid points                           tuple

Grid points stand for cells: where the optimum is known better than to a cell, the information comes out too small. And
P is known to be among the optima, not to be what `choose` makes of all of them.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from experiments.rejection import spacing_bias, spacing_entropy


class Output(NamedTuple):
    """The posterior of one output on the grid."""

    mean: Any
    """Shape (G,)."""
    covariance: Any
    """Shape (G, G)."""
    noise: float
    """The standard deviation of an observation."""


class Truth(NamedTuple):
    """An estimate in nats, and what it rests on."""

    by_output: Any
    """The share of every output, objectives first, shape (K, G)."""
    halves: Any
    """The same from every other outer draw and every other block of draws, shape (2, K, G)."""
    entropy: Any
    """`by_output` with the entropies of samples in place of those of normal laws, shape (K, G), or None."""
    sets: Any
    """The different P of the outer draws, a list of tuples."""
    weights: Any
    """The share of the outer draws with each, shape (sets,)."""
    counts: Any
    """Accepted draws of each, shape (sets,)."""
    covered: float
    """The share of the outer draws whose P has enough accepted draws; the others do not count."""
    nowhere: float
    """The share of the draws without a feasible point."""

    @property
    def total(self) -> Any:
        """Shape (G,)."""
        return self.by_output.sum(axis=0)

    @property
    def standard_error(self) -> float:
        """Of the total: the halves differ by twice of it, root mean square over the grid."""
        first, second = self.halves.sum(axis=1)
        return float(np.sqrt(np.mean((first - second) ** 2))) / 2.0


def root(covariance: Any) -> Any:
    """A matrix (G, r) with R R^T = covariance, without what is lost in rounding anyway."""
    eigenvalues, vectors = np.linalg.eigh(covariance)
    matters = eigenvalues > 1e-13 * eigenvalues[-1]
    return vectors[:, matters] * np.sqrt(eigenvalues[matters])


def dominated_by_pairs(objectives, feasible):
    """Whether a feasible point is above in every objective, (N, G): the definition, for any number of objectives."""
    above = np.all(objectives[:, :, None, :] > objectives[:, :, :, None], axis=0)  # (N, at, by)
    return np.any(above & feasible[:, None, :], axis=2)


def dominated(objectives, feasible):
    """`dominated_by_pairs`, without pairs for one and two objectives."""
    if len(objectives) > 2:
        return dominated_by_pairs(objectives, feasible)
    last = np.where(feasible, objectives[-1], -np.inf)
    if len(objectives) == 1:
        return last.max(axis=1, keepdims=True) > objectives[0]
    # From the best of the first objective down: is a point met before better in the second?
    order = np.argsort(-objectives[0], axis=1)
    highest = np.maximum.accumulate(np.take_along_axis(last, order, axis=1), axis=1)
    beaten = np.empty_like(feasible)
    np.put_along_axis(beaten, order, highest > np.take_along_axis(objectives[1], order, axis=1), axis=1)
    return beaten


def optimal(objectives, constraints, bounds):
    """Whether each point is feasible and not dominated, or of least violation where nothing is feasible, (N, G)."""
    violation = np.zeros_like(objectives[0])
    for values, bound in zip(constraints, bounds, strict=True):
        violation += np.maximum(bound - values, 0.0)
    feasible = violation == 0.0
    best = feasible & ~dominated(objectives, feasible)
    nowhere = ~feasible.any(axis=1)
    best[nowhere, np.argmin(violation[nowhere], axis=1)] = True
    return best, nowhere


def choose(objectives, candidates, points, rng):
    """Up to some of the candidates: one at random, then always the farthest in the objectives (K, G)."""
    front = objectives[:, candidates].T
    front = front / np.maximum(np.ptp(front, axis=0), 1e-12)
    chosen = [int(rng.integers(len(front)))]
    while len(chosen) < min(points, len(front)):
        distance = np.min([np.sum((front - front[i]) ** 2, axis=1) for i in chosen], axis=0)
        distance[chosen] = -1.0
        chosen.append(int(np.argmax(distance)))
    return tuple(sorted(int(cell) for cell in candidates[chosen]))


def joint_information(
    objectives: Any,
    constraints: Any,
    bounds: Any,
    rng: np.random.Generator,
    *,
    outer: int = 200,
    samples: int = 200_000,
    points: int = 3,
    fewest: int = 200,
    kept: int = 0,
    block: int = 5000,
) -> Truth:
    """Information of each output at each grid point about the optimum.

    Parameters
    ----------
    objectives, constraints : sequence of Output
    bounds : sequence of float
    outer : int
        How many draws of P the mean is over; the same P of several is looked at once.
    samples : int
        Joint draws to accept from.
    points : int
        The most points in a P.
    fewest : int
        Accepted draws without which a P does not count.
    kept : int
        Accepted draws that entropies are estimated from, of all P together, but 500 to 2000 of each;
        with 0, entropies are not estimated.

    Returns
    -------
    Truth
    """
    outputs = [*objectives, *constraints]
    many = len(objectives)
    chooser, noises, *streams = rng.spawn(2 + len(outputs))  # a stream for each: one more changes no other
    roots = [root(output.covariance).astype(np.float32) for output in outputs]
    means = [np.asarray(output.mean, dtype=np.float32) for output in outputs]
    before = np.array([np.diag(output.covariance) for output in outputs])
    noise = np.array([[output.noise**2] for output in outputs])

    def deviations(count):
        """Joint draws less their means, (K, count, G)."""
        draws = [
            stream.standard_normal((count, half.shape[1]), dtype=np.float32) @ half.T
            for half, stream in zip(roots, streams, strict=True)
        ]
        return np.stack(draws)

    def optimum(deviation):
        values = [mean + part for mean, part in zip(means, deviation, strict=True)]
        return optimal(np.stack(values[:many]), values[many:], bounds)

    deviation = deviations(outer)
    best, _ = optimum(deviation)
    drawn = []
    for i in range(outer):
        values = np.stack([means[k] + deviation[k, i] for k in range(many)])
        drawn.append(choose(values, np.flatnonzero(best[i]), points, chooser))
    sets = sorted(set(drawn))
    weights = np.zeros((2, len(sets)))
    for i, P in enumerate(drawn):
        weights[i % 2, sets.index(P)] += 1.0 / outer

    counts, nowhere = np.zeros((2, len(sets))), 0
    first, second = np.zeros((2, 2, len(sets), *before.shape))
    members: list[list[Any]] = [[] for _ in sets]
    each = min(max(kept // len(sets), 500), 2000)  # with fewer, spacings are biased where laws are not normal
    for number, start in enumerate(range(0, samples, block)):
        half = number % 2
        deviation = deviations(min(block, samples - start))
        best, empty = optimum(deviation)
        nowhere += int(empty.sum())
        accepted = np.stack([best[:, P].all(axis=1) for P in sets])
        counts[half] += accepted.sum(axis=1)
        indicator = accepted.astype(np.float32)
        for k, part in enumerate(deviation):
            first[half, :, k] += indicator @ part
            second[half, :, k] += indicator @ part**2
        if kept > 0:
            for rows, mine in zip(accepted, members, strict=True):
                missing = each - sum(found.shape[1] for found in mine)
                if missing > 0:
                    mine.append(deviation[:, np.flatnonzero(rows)[:missing]])

    def information(weight, count, one, two, least):
        enough = count >= least
        n, one, two = count[enough, None, None], one[enough], two[enough]
        after = (two - one**2 / n) / (n - 1.0)
        gains = -0.5 * np.log((after + noise) / (before + noise))
        return np.tensordot(weight[enough] / weight[enough].sum(), gains, axes=1)

    enough = counts.sum(axis=0) >= fewest
    entropy = None
    if kept > 0:
        normal = 0.5 * np.log(2.0 * math.pi * math.e * (before + noise))
        after = np.zeros_like(before)
        for P in np.flatnonzero(enough):
            mine = np.concatenate(members[P], axis=1)
            seen = mine + np.sqrt(noise)[..., None] * noises.standard_normal(mine.shape)
            estimates = [spacing_entropy(part) - spacing_bias(mine.shape[1]) for part in seen]
            after += weights[:, P].sum() * np.stack(estimates)
        entropy = normal - after / weights[:, enough].sum()
    return Truth(
        by_output=information(weights.sum(axis=0), counts.sum(axis=0), first.sum(axis=0), second.sum(axis=0), fewest),
        halves=np.stack([information(weights[h], counts[h], first[h], second[h], fewest / 2) for h in range(2)]),
        entropy=entropy,
        sets=sets,
        weights=weights.sum(axis=0),
        counts=counts.sum(axis=0).astype(int),
        covered=float(weights[:, enough].sum()),
        nowhere=nowhere / samples,
    )
