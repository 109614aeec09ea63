"""Problems are the functions they are said to be, and their maxima are maxima."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.stats import qmc

from experiments.problems import TITLES, Problem, find_problem, within_model
from experiments.problems.analytic import branin, cosines, hartmann

SHAPES = {
    "within-model": (2, 50),
    "branin": (2, 50),
    "cosines": (2, 50),
    "hartmann": (6, 60),
    "nnet": (2, 40),
    "fullerenes": (3, 40),
    "portfolio": (2, 40),
    "walker-a": (8, 40),
    "walker-b": (8, 40),
}
"""Dimension and evaluations; Hydrogen has measurements of its own."""


def sobol(dimension, count):
    return qmc.Sobol(dimension, rng=np.random.default_rng(5)).random(count)


class TestEvery:
    def test_is_listed(self):
        assert set(TITLES) == {*SHAPES, "hydrogen"}
        assert len(set(TITLES.values())) == len(TITLES)

    @pytest.mark.parametrize("name", SHAPES)
    def test_interface(self, name):
        problem = find_problem(name)
        assert problem.name == name
        assert (problem.dimension, problem.evaluations) == SHAPES[name]
        assert problem.noise > 0.0
        assert problem.maximizer.shape == (problem.dimension,)
        assert np.all((problem.maximizer >= 0.0) & (problem.maximizer <= 1.0))

    @pytest.mark.parametrize("name", SHAPES)
    def test_values_and_regret(self, name, rng):
        problem = find_problem(name)
        count = 2 if name.startswith("walker") else 20  # A walk takes a tenth of a second.
        d = problem.dimension
        x = np.vstack([problem.maximizer, np.zeros(d), np.ones(d), rng.random((count, d))])
        values = problem.values(x)
        assert values.shape == (3 + count,)
        assert values.dtype == np.float64
        assert np.all(np.isfinite(values))
        assert values[0] == pytest.approx(problem.maximum, abs=1e-9)
        # One by one as all at once; only rounding lifts a value over the maximum.
        np.testing.assert_allclose([problem.values(row[None])[0] for row in x[-count:]], values[-count:], atol=1e-10)
        assert 0.0 <= problem.regret(problem.maximizer[None])[0] <= 1e-9
        assert values[1:].max() <= problem.maximum
        assert problem.regret(x[-1:])[0] == pytest.approx(problem.maximum - values[-1], abs=1e-10)

    def test_no_regret_below_zero(self):
        """Rounding may lift a value over the maximum."""
        assert (
            Problem("flat", lambda x: np.ones(len(x)), np.zeros(1), 1.0 - 1e-15, 0.1, 5).regret(np.ones((1, 1))) == 0.0
        )

    def test_unknown(self):
        with pytest.raises(ValueError, match=r"there is no problem 'brannin'; there are within-model, branin, "):
            find_problem("brannin")

    def test_hydrogen_needs_measurements(self, monkeypatch):
        monkeypatch.delenv("XSTAR_HYDROGEN_CSV", raising=False)
        with pytest.raises(ValueError, match="XSTAR_HYDROGEN_CSV"):
            find_problem("hydrogen")

    @pytest.mark.parametrize("name", [name for name in SHAPES if name != "within-model"])
    def test_one_function_for_all_repeats(self, name):
        assert find_problem(name, 0) is find_problem(name, 7)


def branin_by_hand(x1, x2):
    """As in the tables of test functions, on [-5, 10] x [0, 15], to be minimized."""
    b, c, r, s, t = 5.1 / (4 * math.pi**2), 5 / math.pi, 6, 10, 1 / (8 * math.pi)
    return (x2 - b * x1**2 + c * x1 - r) ** 2 + s * (1 - t) * math.cos(x1) + s


def cosines_by_hand(x1, x2):
    """Anderson, Moore & Cohn (2000)."""
    u, v = 1.6 * x1 - 0.5, 1.6 * x2 - 0.5
    return 1 - (u**2 + v**2 - 0.3 * math.cos(3 * math.pi * u) - 0.3 * math.cos(3 * math.pi * v))


def hartmann_by_hand(x):
    """As in the tables of test functions, to be minimized there with the sign turned."""
    alpha = (1.0, 1.2, 3.0, 3.2)
    a = (
        (10, 3, 17, 3.5, 1.7, 8), (0.05, 10, 17, 0.1, 8, 14), (3, 3.5, 1.7, 10, 17, 8), (17, 8, 0.05, 10, 0.1, 14)
    )  # fmt: skip
    p = (
        (1312, 1696, 5569, 124, 8283, 5886), (2329, 4135, 8307, 3736, 1004, 9991),
        (2348, 1451, 3522, 2883, 3047, 6650), (4047, 8828, 8732, 5743, 1091, 381),
    )  # fmt: skip
    total = 0.0
    for i in range(4):
        total += alpha[i] * math.exp(-sum(a[i][j] * (x[j] - 1e-4 * p[i][j]) ** 2 for j in range(6)))
    return total


class TestAnalytic:
    def test_branin(self):
        x = sobol(2, 64)
        expected = [-branin_by_hand(15.0 * a - 5.0, 15.0 * b) for a, b in x]
        np.testing.assert_allclose(branin(x), expected, rtol=1e-12, atol=1e-12)

    def test_branins_maxima_are_equal(self):
        places = np.array([[-math.pi, 12.275], [math.pi, 2.275], [3 * math.pi, 2.475]])
        values = branin((places - [-5.0, 0.0]) / 15.0)
        np.testing.assert_allclose(values, -0.39788735772973816, rtol=0, atol=1e-12)
        assert find_problem("branin").maximum == pytest.approx(-0.39788735772973816, abs=1e-14)

    def test_branins_range(self):
        """The lowest value lies in a corner: 308.129."""
        assert branin(np.zeros((1, 2)))[0] == pytest.approx(-308.129, abs=1e-3)
        assert branin(sobol(2, 4096)).min() > -308.13

    def test_cosines(self):
        x = sobol(2, 64)
        np.testing.assert_allclose(cosines(x), [cosines_by_hand(*row) for row in x], rtol=0, atol=1e-13)
        assert cosines(np.array([[0.3125, 0.3125]]))[0] == pytest.approx(1.6, abs=1e-14)

    def test_hartmann(self):
        x = sobol(6, 64)
        np.testing.assert_allclose(hartmann(x), [hartmann_by_hand(row) for row in x], rtol=1e-12, atol=1e-15)

    def test_hartmanns_published_maximum(self):
        problem = find_problem("hartmann")
        assert problem.maximum == pytest.approx(3.32237, abs=1e-5)
        published = [0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573]
        np.testing.assert_allclose(problem.maximizer, published, rtol=0, atol=1e-6)

    @pytest.mark.parametrize("name", ["branin", "cosines", "hartmann"])
    def test_noise(self, name):
        assert find_problem(name).noise ** 2 == pytest.approx(1e-3)

    @pytest.mark.parametrize("name", ["branin", "cosines", "hartmann"])
    def test_maximum(self, name):
        problem = find_problem(name)
        d = problem.dimension
        assert problem.values(problem.maximizer[None])[0] == pytest.approx(problem.maximum, abs=1e-12)
        around = np.vstack([1e-5 * np.eye(d), -1e-5 * np.eye(d)])
        ahead, behind = np.split(problem.values(problem.maximizer + around), 2)
        np.testing.assert_allclose((ahead - behind) / 2e-5, 0.0, atol=2e-5 if name == "branin" else 1e-6)
        design = sobol(d, 8192)
        heights = problem.values(design)
        assert heights.max() < problem.maximum
        # Climbs without derivatives from the highest points find the maximum again, and nothing above it.
        tops = [problem.maximizer, *design[np.argsort(-heights)[:6]]]
        options = {"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000, "maxfev": 4000, "adaptive": d > 2}
        bounds = [(0.0, 1.0)] * d
        found = [
            -minimize(
                lambda x: -problem.values(x[None])[0], x, method="Nelder-Mead", bounds=bounds, options=options
            ).fun
            for x in tops
        ]
        assert max(found) <= problem.maximum + 1e-9
        assert max(found[1:]) >= problem.maximum - 1e-9


GRID = np.linspace(0.0, 1.0, 32)
POINTS = np.array([[i, j] for i in GRID for j in GRID])


def kernel(a, b):
    """exp(-r^2 / (2 l^2)) with l^2 = 0.1."""
    return np.exp(-0.5 * cdist(a, b, "sqeuclidean") / 0.1)


def zoom(problem, peaks=12):
    """The largest value on ever finer grids around the highest local maxima of a coarse one."""
    count = 101
    axis = np.linspace(0.0, 1.0, count)
    coarse = np.array([[i, j] for i in axis for j in axis])
    heights = problem.values(coarse).reshape(count, count)
    walled = np.full((count + 2, count + 2), -np.inf)
    walled[1:-1, 1:-1] = heights
    top = np.ones((count, count), dtype=bool)
    for i, j in ((0, 1), (2, 1), (1, 0), (1, 2)):
        top &= heights >= walled[i : i + count, j : j + count]
    order = np.argsort(-heights[top])[:peaks]
    offsets = np.array([[i, j] for i in np.linspace(-1.0, 1.0, 9) for j in np.linspace(-1.0, 1.0, 9)])
    best = -np.inf
    for x in coarse.reshape(count, count, 2)[top][order]:
        reach = 0.02
        while reach > 1e-7:
            around = np.clip(x + reach * offsets, 0.0, 1.0)
            values = problem.values(around)
            x, reach = around[values.argmax()], 0.4 * reach  # noqa: PLW2901
        best = max(best, values.max())
    return best


class TestWithinModel:
    @pytest.mark.parametrize("repeat", [0, 1, 999])
    def test_is_the_posterior_mean_of_prior_values(self, repeat, rng):
        covariance = kernel(POINTS, POINTS) + 1e-6 * np.eye(len(POINTS))
        factor = np.linalg.cholesky(covariance)
        values = factor @ np.random.default_rng([within_model.SEED, repeat]).standard_normal(1024)
        x = rng.random((200, 2))
        expected = kernel(x, POINTS) @ np.linalg.solve(covariance, values)
        problem = find_problem("within-model", repeat)
        np.testing.assert_allclose(problem.values(x), expected, rtol=0, atol=1e-8)
        # It goes through the values, as near as their noise of 1e-3 lets it.
        residuals = values - problem.values(POINTS)
        assert np.sqrt(np.mean(residuals**2)) < 1.1e-3

    def test_is_a_draw_from_the_prior(self, rng):
        """Means, variances and correlations of 200 functions at six points.

        27 moments at 4.5 standard errors: with other seeds this would fail with probability 2e-4.
        """
        count, x = 200, rng.random((6, 2))
        values = np.array([find_problem("within-model", repeat).values(x) for repeat in range(count)])
        assert np.max(np.abs(values.mean(axis=0))) < 4.5 / np.sqrt(count)
        expected = kernel(x, x)
        error = np.sqrt((1.0 + expected**2) / count)
        assert np.max(np.abs(values.T @ values / count - expected) / error) < 4.5

    @pytest.mark.parametrize("repeat", range(20))
    def test_maximum(self, repeat):
        problem = find_problem("within-model", repeat)
        assert problem.values(problem.maximizer[None])[0] == problem.maximum
        assert zoom(problem) == pytest.approx(problem.maximum, abs=1e-9)

    def test_maxima_lie_inside_and_on_edges(self):
        places = np.array([find_problem("within-model", repeat).maximizer for repeat in range(40)])
        on_edge = np.any((places == 0.0) | (places == 1.0), axis=1)
        assert 0 < on_edge.sum() < 40

    def test_slope(self, rng):
        function = find_problem("within-model", 3).values
        for x in np.vstack([rng.random((10, 2)), [0.0, 1.0]]):
            near = x + 1e-4 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
            right, left, above, below = function(near)
            quotients = np.array([right - left, above - below]) / 2e-4
            np.testing.assert_allclose(function.slope(x), quotients, rtol=0, atol=1e-5)

    def test_on_grid(self, rng):
        function, axis = find_problem("within-model", 3).values, rng.random(7)
        expected = function(np.array([[i, j] for i in axis for j in axis])).reshape(7, 7)
        np.testing.assert_allclose(function.on_grid(axis), expected, rtol=0, atol=1e-9)

    def test_each_repeat_has_a_function_of_its_own(self):
        x = sobol(2, 16)
        first, again, other = (find_problem("within-model", repeat) for repeat in (4, 4, 5))
        np.testing.assert_array_equal(first.values(x), again.values(x))
        np.testing.assert_array_equal(first.maximizer, again.maximizer)
        assert np.max(np.abs(first.values(x) - other.values(x))) > 0.1

    def test_noise(self):
        assert find_problem("within-model").noise == 1e-3
        assert pytest.approx(0.1) == within_model.LENGTHSCALE**2
