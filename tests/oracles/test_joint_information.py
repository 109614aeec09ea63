"""The truth about several outputs against closed forms, direct rejection and its own definition."""

import math

import numpy as np
import pytest
from scipy.stats import norm, truncnorm

from experiments.rejection import information_gain, regular_grid
from tests.oracles.dense_gp import posterior, squared_exponential
from tests.oracles.joint_information import (
    Output,
    choose,
    dominated,
    dominated_by_pairs,
    joint_information,
    optimal,
    root,
)

GRID = regular_grid(25, 1)
HALF_NORMAL = 1.0 - 2.0 / math.pi
"""The variance of a standard normal variable of known sign."""
SETTINGS = {"outer": 4000, "samples": 80_000, "points": 1, "fewest": 60}


def output(seed=0, noise=0.1, lengthscale=0.25):
    """Five noisy values on the line, not of anything, and what they say about the grid."""
    rng = np.random.default_rng(seed)
    X, y = rng.random((5, 1)), rng.standard_normal(5)
    moments = posterior(squared_exponential, [lengthscale], 1.0, np.full(5, noise**2), X, y, GRID)
    return Output(*moments, noise)


def independent(means, variances, noise):
    return Output(np.array(means), np.diag(np.array(variances)), noise)


def surely(value, points=2):
    """What is known: its variance is nearly zero."""
    return Output(np.broadcast_to(value, points), 1e-12 * np.eye(points), 0.1)


def gain(after, before, noise):
    return -0.5 * math.log((after + noise**2) / (before + noise**2))


class TestOptimal:
    @pytest.mark.parametrize("count", [1, 2, 3])
    def test_without_pairs(self, rng, count):
        objectives = rng.standard_normal((count, 40, 12))
        feasible = rng.random((40, 12)) < 0.4
        np.testing.assert_array_equal(dominated(objectives, feasible), dominated_by_pairs(objectives, feasible))

    def test_by_hand(self):
        """The fourth point dominates the second, and is not feasible; the third is dominated by the first."""
        objectives = np.array([[[3.0, 1.0, 2.0, 2.5]], [[1.0, 2.0, 0.5, 3.0]]])
        best, nowhere = optimal(objectives, np.array([[[1.0, 1.0, 1.0, -1.0]]]), [0.0])
        assert best.tolist() == [[True, True, False, False]]
        assert nowhere.tolist() == [False]

    def test_one_objective_has_one_optimum(self, rng):
        objective, constraints = rng.standard_normal((1, 200, 9)), rng.standard_normal((2, 200, 9))
        best, _ = optimal(objective, constraints, [0.3, -0.2])
        assert np.all(best.sum(axis=1) == 1)
        feasible = (constraints[0] >= 0.3) & (constraints[1] >= -0.2)
        some = feasible.any(axis=1)
        expected = np.argmax(np.where(feasible, objective[0], -np.inf), axis=1)
        np.testing.assert_array_equal(np.argmax(best, axis=1)[some], expected[some])

    def test_least_violation_where_nothing_is_feasible(self):
        """Total violations 3, 2 and 4; the objective does not matter."""
        constraints = np.array([[[-3.0, -1.0, 0.5]], [[0.0, -1.0, -4.0]]])
        best, nowhere = optimal(np.array([[[1.0, 0.0, 2.0]]]), constraints, [0.0, 0.0])
        assert best.tolist() == [[False, True, False]]
        assert nowhere.tolist() == [True]

    def test_chosen_points_are_spread(self, rng):
        """Two of a front with two clusters are of both, whatever comes first; and never more than there are."""
        objectives = np.array([[0.0, 0.01, 9.0, 1.0, 0.99], [1.0, 0.99, 9.0, 0.0, 0.01]])
        candidates = np.array([0, 1, 3, 4])
        for _ in range(20):
            low, high = choose(objectives, candidates, 2, rng)
            assert (low in (0, 1), high in (3, 4)) == (True, True)
        assert choose(objectives, candidates, 9, rng) == (0, 1, 3, 4)


def test_root(rng):
    covariance = output().covariance
    half = root(covariance)
    assert half.shape[1] < len(covariance)
    np.testing.assert_allclose(half @ half.T, covariance, atol=1e-10)


class TestTwoPoints:
    """Variances of an accepted law are known to (2 / n)^1/2, and gains to half of it: 0.003 for 50,000 draws."""

    def test_one_objective(self, rng):
        """The larger of two independent values: their difference D is cut off at zero.

        f = c D + what is independent of D, c = s^2 / (s^2 + t^2): v falls by c^2 var(D) (1 - variance of the cut law).
        """
        means, variances, noise = (0.3, -0.2), (1.0, 0.49), 0.2
        truth = joint_information(
            [independent(means, variances, noise)], [], [], rng, outer=40_000, samples=200_000, points=1
        )
        total, difference = sum(variances), means[0] - means[1]
        first = norm.cdf(difference / total**0.5)  # the probability that the first is larger
        share = dict(zip(truth.sets, truth.weights, strict=True))
        assert share[(0,)] == pytest.approx(first, abs=5.0 * 0.5 / 200)
        for point, variance in enumerate(variances):
            expected = 0.0
            for probability, sign in ((share[(0,)], 1.0), (share[(1,)], -1.0)):
                cut = truncnorm.var(-sign * difference / total**0.5, np.inf)
                after = variance - variance**2 / total * (1.0 - cut)
                expected += probability * gain(after, variance, noise)
            assert truth.by_output[0, point] == pytest.approx(expected, abs=0.006)

    def test_a_constraint_that_decides(self, rng):
        """The better point is the optimum if it is feasible: knowing the optimum is knowing the sign of c there."""
        objective = surely([1.0, 0.0])
        constraint = Output(np.array([0.5, 9.0]), np.diag([1.0, 0.01]), 0.3)
        truth = joint_information([objective], [constraint], [0.5], rng, outer=1000, samples=100_000)
        assert truth.sets == [(0,), (1,)]
        assert truth.by_output[1, 0] == pytest.approx(gain(HALF_NORMAL, 1.0, 0.3), abs=0.01)
        assert abs(truth.by_output[1, 1]) < 0.01
        np.testing.assert_allclose(truth.by_output[0], 0.0, atol=1e-6)
        assert truth.nowhere == 0.0

    def test_two_objectives(self, rng):
        """Differences d and e of two objectives, variance 1 each, P one point: not (d < 0 and e < 0).

        E d = phi(0) / 2 / (3/4) and E d^2 = 1, so that var d = 1 - (2 phi(0) / 3)^2. If both points are P, the signs
        of d and e differ, and the variances stay what they were. That is so for half of the draws.
        """
        outputs = [independent((0.0, 0.0), (0.5, 0.5), 0.1)] * 2
        fall = 0.25 * (2.0 * norm.pdf(0.0) / 3.0) ** 2  # f = d / 2 + what is independent of d
        alone = gain(0.5 - fall, 0.5, 0.1)
        one = joint_information(outputs, [], [], rng, outer=400, samples=200_000, points=1)
        assert one.sets == [(0,), (1,)]
        np.testing.assert_allclose(one.by_output, alone, atol=0.006)
        assert one.counts / 200_000 == pytest.approx([0.75, 0.75], abs=0.005)
        two = joint_information(outputs, [], [], rng, outer=20_000, samples=200_000, points=2)
        share = dict(zip(two.sets, two.weights, strict=True))
        assert share[(0, 1)] == pytest.approx(0.5, abs=0.02)
        np.testing.assert_allclose(two.by_output, (1.0 - share[(0, 1)]) * alone, atol=0.006)

    def test_entropy_of_samples(self, rng):
        """Of c of known sign with much noise on it: nearly normal; with little, the entropy falls by log 2."""
        for noise, expected in ((3.0, gain(HALF_NORMAL, 1.0, 3.0)), (1e-3, math.log(2.0))):
            constraint = Output(np.array([0.0, 9.0]), np.diag([1.0, 0.01]), noise)
            truth = joint_information(
                [surely([1.0, 0.0])], [constraint], [0.0], rng, outer=500, samples=20_000, kept=8000
            )
            assert truth.entropy[1, 0] == pytest.approx(expected, abs=0.05)


class TestAgainstDirectRejection:
    def test_one_objective_without_constraints(self, rng):
        """Group draws by their argmax; the variance within each group."""
        mine = output()
        truth = joint_information([mine], [], [], rng, kept=30_000, **SETTINGS)
        draws = rng.multivariate_normal(mine.mean, mine.covariance, 80_000, method="eigh")
        at = np.argmax(draws, axis=1)
        before, noise, expected, covered = np.diag(mine.covariance), mine.noise**2, 0.0, 0
        for cell in range(len(GRID)):
            group = draws[at == cell]
            if len(group) >= 60:
                expected = expected - len(group) * 0.5 * np.log((group.var(axis=0) + noise) / (before + noise))
                covered += len(group)
        np.testing.assert_allclose(truth.total, expected / covered, atol=0.03 * truth.total.max())
        assert truth.covered > 0.98
        np.testing.assert_allclose(
            truth.entropy[0], information_gain(GRID, draws, before, mine.noise, rng).gain, atol=0.05
        )

    def test_what_is_always_feasible_changes_nothing(self):
        rng = np.random.default_rng
        alone = joint_information([output()], [], [], rng(3), **SETTINGS)
        idle = Output(np.full(len(GRID), 9.0), output(1).covariance, 0.1)
        both = joint_information([output()], [idle], [0.0], rng(3), **SETTINGS)
        assert both.sets == alone.sets
        np.testing.assert_allclose(both.by_output[0], alone.by_output[0], rtol=1e-9)
        assert np.all(np.abs(both.by_output[1]) < 0.02)

    def test_an_objective_that_is_known_orders_nothing_else(self, rng):
        """If the second objective is highest where the first is known to be best of all, it adds nothing."""
        peak = -np.abs(GRID[:, 0] - 0.5)
        known = Output(peak, 1e-14 * np.eye(len(GRID)), 0.1)
        truth = joint_information([known, known], [], [], rng, outer=50, samples=1000, points=3)
        assert truth.sets == [(12,)]
        np.testing.assert_allclose(truth.total, 0.0, atol=1e-4)

    def test_halves(self):
        """Their mean is the whole, nearly; their difference is what other seeds differ by."""
        found = [
            joint_information([output()], [output(1)], [0.0], np.random.default_rng(seed), outer=400, samples=40_000)
            for seed in range(4)
        ]
        between = float(np.sqrt(np.mean(np.var([truth.total for truth in found], axis=0, ddof=1))))
        claimed = float(np.sqrt(np.mean([truth.standard_error**2 for truth in found])))
        assert 0.4 < claimed / between < 2.5
        for truth in found:
            np.testing.assert_allclose(truth.halves.mean(axis=0), truth.by_output, atol=0.03)
