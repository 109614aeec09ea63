import itertools

import numpy as np
import pytest

from tests.search.test_box import sample_paths
from xstar.gp import Matern52, SquaredExponential
from xstar.numerics.arrays import to_numpy
from xstar.numerics.ascent import Evaluation
from xstar.search import BoxSearch, Choice, Domain, Interval, Lattice, MixedSearch, Points, cube, draw_candidates

COUNT = 20


def paths_over(domain, rng, count=COUNT, lengthscale=0.5, kernel=None):
    """Sample paths of a GP with a few data, and candidates all over the cube."""
    d = domain.dimension
    paths, _ = sample_paths(rng, count, d, lengthscale, kernel or SquaredExponential(), n=8)
    return paths, draw_candidates(512, np.zeros((0, d)), rng)


def brute_force(paths, domain, resolution):
    """The best value of each path over every discrete point and a grid of the continuous coordinates."""
    grids = []
    for block in domain.blocks:
        if isinstance(block, Interval):
            grids.append(np.linspace(0.0, 1.0, resolution)[:, None])
        else:
            grids.append(block.encode(np.arange(block.levels)).reshape(-1, block.width))
    combined = [np.concatenate(parts) for parts in itertools.product(*grids)]
    return np.max(to_numpy(paths(np.array(combined))), axis=1)


def is_legal(domain, x):
    return np.array_equal(domain.snap(x), x)


class Smooth:
    """Functions of the coordinates with their gradients: f(x) = -sum rate * (x - peak)^2 + slope * x."""

    def __init__(self, peaks, slopes=0.0, rate=1.0):
        self.peaks = np.atleast_2d(peaks).astype(np.float64)
        self.slopes, self.rate = np.broadcast_to(slopes, self.peaks.shape), rate
        self.num_problems, self.dimension = self.peaks.shape

    def screen(self, X):
        return self.value(np.broadcast_to(X, (self.num_problems, *X.shape)), np.arange(self.num_problems))

    def value(self, x, problems):
        return self.evaluate(x, problems).value

    def evaluate(self, x, problems):
        shift, slope = x - self.peaks[problems, None], self.slopes[problems, None]
        return Evaluation(np.sum(slope * x - self.rate * shift**2, axis=-1), slope - 2.0 * self.rate * shift)

    def evaluate_roughly(self, x, problems):
        return self.evaluate(x, problems)


class Holed(Smooth):
    """The same, but without a finite value where the first coordinate is above a half."""

    def evaluate(self, x, problems):
        value, gradient, _ = super().evaluate(x, problems)
        return Evaluation(np.where(x[..., 0] > 0.5, np.nan, value), gradient)


@pytest.mark.parametrize(
    "domain, resolution, kernel",
    [
        (Domain((Interval(), Choice(3), Lattice(5))), 201, Matern52()),
        (Domain((Interval(), Interval(), Choice(2))), 41, SquaredExponential()),
        (Domain((Lattice(7, 1), Interval(), Lattice(4), Choice(2))), 41, SquaredExponential()),
        (Domain((Choice(6), Choice(4), Interval())), 61, Matern52()),
    ],
    ids=["choice and lattice", "two continuous", "logarithmic lattice", "two choices"],
)
def test_it_reaches_the_best_of_brute_force(rng, domain, resolution, kernel):
    paths, candidates = paths_over(domain, rng, kernel=kernel)
    found = MixedSearch(domain).maximize(paths, candidates)
    reference = brute_force(paths, domain, resolution)
    assert is_legal(domain, found.x)
    assert np.mean(found.value >= reference - 1e-6) >= 0.95


@pytest.mark.parametrize(
    "domain", [Domain((Lattice(90), Choice(20))), Domain((Lattice(500, 1), Choice(4))), Domain((Lattice(3),) * 6)]
)
def test_small_domains_are_searched_completely(rng, domain):
    """Even from one candidate."""
    paths, candidates = paths_over(domain, rng, lengthscale=0.2)
    found = MixedSearch(domain, num_starts=1).maximize(paths, candidates[:1])
    values = paths(domain.everything())
    np.testing.assert_allclose(found.value, values.max(axis=1), rtol=1e-9)
    np.testing.assert_array_equal(found.x, domain.everything()[values.argmax(axis=1)])


@pytest.mark.parametrize(
    "domain",
    [Domain((Lattice(400), Choice(8))), Domain((Lattice(60), Lattice(60))), Domain((Lattice(1500, 1), Lattice(2)))],
    ids=["fine lattice", "coarse lattices", "logarithmic lattice"],
)
def test_larger_lattices_against_enumeration(rng, domain):
    paths, candidates = paths_over(domain, rng, lengthscale=0.4)
    found = MixedSearch(domain).maximize(paths, candidates)
    reference = paths(domain.everything()).max(axis=1)
    assert is_legal(domain, found.x)
    assert np.all(found.value <= reference + 1e-9)
    assert np.mean(found.value >= reference - 1e-9) >= 0.95


def test_values_and_gradients_are_those_at_the_result(rng):
    domain = Domain((Interval(), Choice(3), Lattice(100)))
    paths, candidates = paths_over(domain, rng)
    found = MixedSearch(domain).maximize(paths, candidates)
    there = paths.evaluate(found.x[:, None, :], np.arange(COUNT))
    np.testing.assert_allclose(found.value, there.value[:, 0], rtol=1e-10)
    np.testing.assert_allclose(found.gradient, there.gradient[:, 0], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("levels", [5, 100], ids=["coarse", "fine"])
def test_continuous_coordinates_have_no_slope_left(rng, levels):
    """Also beside a fine lattice, whose rounding moves the best place of the others."""
    domain = Domain((Interval(), Choice(3), Lattice(levels)))
    paths, candidates = paths_over(domain, rng)
    found = MixedSearch(domain).maximize(paths, candidates)
    free = (found.x[:, 0] > 0.0) & (found.x[:, 0] < 1.0)
    assert free.any()
    assert np.abs(found.gradient[free, 0]).max() < 1e-4


def test_each_forbidden_point_gives_way_to_the_next_best(rng):
    domain = Domain((Lattice(6), Choice(5)))
    paths, candidates = paths_over(domain, rng, count=1)
    order = np.argsort(-paths(domain.everything())[0])
    forbidden = Points(domain, np.zeros((0, domain.dimension)))
    for expected in domain.everything()[order]:
        found = MixedSearch(domain, forbidden).maximize(paths, candidates)
        np.testing.assert_array_equal(found.x[0], expected)
        forbidden |= Points(domain, found.x)
    assert len(forbidden) == 30
    assert MixedSearch(domain, forbidden).maximize(paths, candidates).value[0] == -np.inf


@pytest.mark.parametrize(
    "domain",
    [Domain((Lattice(400), Choice(8))), Domain((Lattice(10**15),)), Domain((Lattice(4), Choice(3)))],
    ids=["fine", "huge", "small"],
)
def test_forbidden_points_are_never_returned(rng, domain):
    paths, candidates = paths_over(domain, rng, count=5)
    forbidden, last = Points(domain, np.zeros((0, domain.dimension))), np.full(5, np.inf)
    for _ in range(2):
        found = MixedSearch(domain, forbidden).maximize(paths, candidates)
        assert not forbidden.has(found.x).any()
        assert is_legal(domain, found.x)
        assert np.all(found.value <= last + 1e-9)
        forbidden |= Points(domain, found.x)
        last = found.value


def test_a_forbidden_corner_of_a_continuous_domain(rng):
    objective, domain = Smooth([[0.5, 0.5]], slopes=5.0), cube(2)
    candidates = draw_candidates(64, np.zeros((0, 2)), rng)
    assert MixedSearch(domain).maximize(objective, candidates).x[0].tolist() == [1.0, 1.0]
    found = MixedSearch(domain, Points(domain, np.ones((1, 2)))).maximize(objective, candidates)
    assert found.x[0].tolist() != [1.0, 1.0]
    assert np.isfinite(found.value[0])


def test_everything_forbidden_is_worth_minus_infinity(rng):
    domain = Domain((Lattice(3), Choice(4)))
    paths, candidates = paths_over(domain, rng, count=4)
    found = MixedSearch(domain, Points(domain, domain.everything())).maximize(paths, candidates)
    assert np.all(found.value == -np.inf)
    assert is_legal(domain, found.x)


@pytest.mark.parametrize("peak", [0.0, 1e-16, 0.123456789, 0.5, 1.0])
def test_the_best_level_of_a_huge_lattice(rng, peak):
    """10^15 levels and 10^20 combinations of choices: only moves from point to point can find the best."""
    domain = Domain((Lattice(10**15), *(Choice(10),) * 20))
    candidates = draw_candidates(256, np.zeros((0, domain.dimension)), rng)
    target = domain.snap(np.concatenate([[peak], rng.random(200)]))
    found = MixedSearch(domain).maximize(Smooth(target), candidates)
    assert is_legal(domain, found.x)
    np.testing.assert_array_equal(found.x[0, 1:], target[1:])
    assert found.x[0, 0] == pytest.approx(target[0], abs=1e-7)


def test_one_best_level_of_a_fine_lattice_is_found_exactly(rng):
    domain = Domain((Lattice(1000), Lattice(5)))
    target = domain.snap(rng.random((20, 2)))
    found = MixedSearch(domain).maximize(Smooth(target), draw_candidates(128, np.zeros((0, 2)), rng))
    np.testing.assert_array_equal(found.x, target)


def test_the_same_arguments_give_the_same_result(rng):
    domain = Domain((Interval(), Choice(4), Lattice(10**6)))
    paths, candidates = paths_over(domain, rng)
    one = MixedSearch(domain).maximize(paths, candidates)
    np.random.default_rng().random(7)
    other = MixedSearch(domain).maximize(paths, candidates.copy())
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_backends_find_the_same_maxima(backend):
    domain = Domain((Interval(), Choice(3), Lattice(200)))
    results = []
    for place in (None, backend):
        rng = np.random.default_rng(11)
        paths, _ = sample_paths(rng, 5, 5, 0.4, SquaredExponential(), place)
        found = MixedSearch(domain).maximize(paths, draw_candidates(256, np.zeros((0, 5)), rng))
        results.append(to_numpy(found.x))
    backend.numpy(found.x)  # which complains about another namespace
    np.testing.assert_allclose(results[0], results[1], atol=1e-6)


def test_a_continuous_domain_is_left_to_the_box_search(rng):
    paths, candidates = paths_over(cube(2), rng)
    np.testing.assert_array_equal(
        MixedSearch(cube(2)).maximize(paths, candidates).x, BoxSearch().maximize(paths, candidates).x
    )


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_active_bounds(rng, sign):
    """Fine lattices have ends to press against, half a step inside the cube; what is held has none."""
    domain = Domain((Interval(), Lattice(200), Lattice(500, 1), Lattice(5), Choice(2), Interval(), Lattice(200)))
    middle = domain.snap(np.full(7, 0.5))
    slopes = sign * np.array([3.0, 3.0, 3.0, 3.0, 3.0, 0.0, 0.0])
    found = MixedSearch(domain).maximize(Smooth(middle, slopes), draw_candidates(256, np.zeros((0, 7)), rng))
    np.testing.assert_array_equal(found.active[0], [True, True, True, False, False, False, False])
    np.testing.assert_array_equal(found.x[0, :5], domain.ends[int(sign > 0)][:5])
    np.testing.assert_allclose(found.x[0, 5:], middle[5:], atol=1e-6)


def test_what_is_not_finite_is_never_returned(rng):
    domain = Domain((Interval(), Lattice(50), Choice(60)))
    peaks = domain.snap(np.concatenate([np.full((4, 1), 0.9), rng.random((4, 61))], axis=1))
    found = MixedSearch(domain).maximize(Holed(peaks), draw_candidates(256, np.zeros((0, 62)), rng))
    assert np.all(np.isfinite(found.value))
    assert np.all(found.x[:, 0] <= 0.5)
    assert np.all(found.x[:, 0] > 0.4)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_the_scale_of_the_function_does_not_matter(rng, scale):
    domain = Domain((Interval(), Lattice(1000), Choice(3)))
    peaks = domain.snap(rng.random((6, 5)))
    candidates = draw_candidates(256, np.zeros((0, 5)), rng)
    one = MixedSearch(domain).maximize(Smooth(peaks), candidates)
    other = MixedSearch(domain).maximize(Smooth(peaks, rate=scale), candidates)
    np.testing.assert_allclose(one.x, peaks, atol=1e-5)
    np.testing.assert_allclose(other.x, peaks, atol=1e-5)


@pytest.mark.parametrize("outside", [-3.0, 7.0])
def test_candidates_outside_the_cube_are_rounded_into_it(outside):
    domain = Domain((Interval(), Lattice(100), Choice(3)))
    found = MixedSearch(domain).maximize(Smooth(np.full((1, 5), 0.5)), np.full((3, 5), outside))
    assert is_legal(domain, found.x)
