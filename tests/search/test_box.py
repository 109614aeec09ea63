import numpy as np
import pytest
from scipy.optimize import minimize

from xstar.errors import DataError, SettingsError
from xstar.gp import Hyperparameters, Matern52, Posterior, SquaredExponential, draw_paths
from xstar.numerics.arrays import to_numpy
from xstar.numerics.ascent import Evaluation
from xstar.search import BoxSearch, SearchSettings, draw_candidates
from xstar.search.box import pick_basins
from xstar.search.candidates import draw_grouped


def sample_paths(rng, count, d, lengthscale, kernel, backend=None, n=20):
    h = Hyperparameters(np.full(d, lengthscale), 1.0, 1e-3)
    X = rng.random((n, d))
    y = draw_paths(Posterior(kernel, h, np.zeros((0, d)), np.zeros(0)), 1, rng)(X)[0]
    place = np.asarray if backend is None else backend.array
    return draw_paths(Posterior(kernel, h, place(X), place(y)), count, rng), place(X)


class GradientOnly:
    """The same functions without their Hessian."""

    def __init__(self, paths):
        self.paths = paths
        self.num_problems, self.dimension = paths.num_problems, paths.dimension
        self.screen = paths.screen

    def evaluate(self, x, problems):
        return self.paths.evaluate(x, problems)._replace(hessian=None)

    def evaluate_roughly(self, x, problems):
        return self.paths.evaluate_roughly(x, problems)._replace(hessian=None)


def best_of_many(paths, p, starts):
    """Best of many L-BFGS-B runs on one path."""

    def negative(z):
        value, gradient, _ = paths.evaluate(np.broadcast_to(z, (1, 1, len(z))), np.array([p]))
        return -value[0, 0], -gradient[0, 0]

    bounds = [(0.0, 1.0)] * starts.shape[1]
    return max(-minimize(negative, z, jac=True, method="L-BFGS-B", bounds=bounds).fun for z in starts)


@pytest.mark.parametrize(
    "d, lengthscale, kernel, share",
    [
        (2, 0.316, SquaredExponential(), 0.97),
        pytest.param(6, 0.5, SquaredExponential(), 0.9, marks=pytest.mark.slow),
        pytest.param(2, 0.3, Matern52(), 0.97, marks=pytest.mark.slow),
    ],
)
def test_it_reaches_the_best_of_many_scipy_runs(rng, d, lengthscale, kernel, share):
    """The statement of `benchmarks.search`, on fewer paths and 20 runs for each."""
    paths, X = sample_paths(rng, 30, d, lengthscale, kernel)
    candidates, starts = draw_candidates(1024, X, rng), rng.random((20, d))
    reference = np.array([best_of_many(paths, p, starts) for p in range(30)])
    for objective in (paths, GradientOnly(paths)):
        found = BoxSearch().maximize(objective, candidates)
        assert np.mean(found.value >= reference - 1e-6) >= share
        assert np.mean(found.converged) >= 0.95


@pytest.mark.parametrize("newton", [True, False], ids=["newton", "quasi-newton"])
def test_maxima_satisfy_the_first_order_conditions(backend, rng, newton):
    paths, X = sample_paths(rng, 8, 3, 0.4, SquaredExponential(), backend)
    found = BoxSearch().maximize(paths if newton else GradientOnly(paths), draw_candidates(256, X, rng))
    x, gradient, active = (backend.numpy(part) for part in (found.x, found.gradient, found.active))
    assert x.shape == gradient.shape == active.shape == (8, 3)
    assert np.all((x >= 0.0) & (x <= 1.0))
    np.testing.assert_array_equal(x[active], (gradient[active] > 0.0).astype(float))
    assert np.abs(gradient[~active]).max(initial=0.0) < 1e-4
    exact = backend.numpy(paths.derivatives(backend.array(x[:, None, :])).value)[:, 0]
    np.testing.assert_allclose(backend.numpy(found.value), exact, rtol=1e-9)


def test_backends_find_the_same_maxima(backend):
    results = []
    for place in (None, backend):
        rng = np.random.default_rng(11)
        paths, X = sample_paths(rng, 5, 2, 0.3, SquaredExponential(), place)
        results.append(to_numpy(BoxSearch().maximize(paths, draw_candidates(256, X, rng)).x))
    np.testing.assert_allclose(results[0], results[1], atol=1e-6)


def test_more_problems_change_nothing(rng):
    paths, X = sample_paths(rng, 6, 2, 0.3, SquaredExponential())
    candidates = draw_candidates(256, X, rng)
    together = BoxSearch().maximize(paths, candidates)
    alone = BoxSearch().maximize(paths.take(np.array([4])), candidates)
    np.testing.assert_allclose(together.x[4], alone.x[0], atol=1e-9)


class Hills:
    """Two Gaussian hills: a broad low one, and a narrow high one that holds few candidates."""

    num_problems, dimension = 1, 2
    centers, heights, widths = np.array([[0.3, 0.3], [0.9, 0.85]]), np.array([1.0, 1.5]), np.array([0.3, 0.05])

    def screen(self, X):
        return self.evaluate(X[None], None).value

    def evaluate(self, x, problems):
        shift = x[..., None, :] - self.centers
        bump = self.heights * np.exp(-0.5 * np.sum(shift**2, axis=-1) / self.widths**2)
        slope = -np.sum((bump / self.widths**2)[..., None] * shift, axis=-2)
        return Evaluation(np.sum(bump, axis=-1), slope)

    def evaluate_roughly(self, x, problems):
        return self.evaluate(x, problems)


def test_a_narrow_hill_is_found_among_many_candidates_of_a_broad_one(rng):
    found = BoxSearch(num_starts=4).maximize(Hills(), draw_candidates(512, np.zeros((0, 2)), rng))
    np.testing.assert_allclose(found.x[0], [0.9, 0.85], atol=1e-2)


def test_basins_come_first_then_the_rest_by_value():
    candidates = np.linspace(0.0, 1.0, 11)[:, None]
    values = np.array([[0.0, 1.0, 5.0, 4.5, 4.0, 0.0, -1.0, -2.0, 0.5, -1.0, -2.0]])
    np.testing.assert_array_equal(pick_basins(values, candidates, 4)[0], [2, 8, 3, 4])


def test_nan_is_never_a_start_while_something_else_is_left(rng):
    candidates = rng.random((50, 2))
    values = rng.random((3, 50))
    values[:, ::2] = np.nan
    values[0, 1] = np.inf
    picked = pick_basins(values, candidates, 24)
    assert np.isfinite(np.take_along_axis(values, picked, axis=1)).all()
    assert pick_basins(np.full((2, 50), np.nan), candidates, 3).shape == (2, 3)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_few_candidates_are_enough(rng, count):
    found = BoxSearch().maximize(Hills(), rng.random((count, 2)))
    assert found.x.shape == (1, 2)


def test_candidates_cover_the_cube_the_data_and_the_neighbourhood(backend, rng):
    known, around = rng.random((7, 3)), np.array([[0.0, 0.5, 1.0]])
    points = backend.numpy(
        draw_candidates(64, backend.array(known), rng, around=around, settings=SearchSettings(num_perturbations=5))
    )
    assert points.shape == (64 + 7 + 1 + 15, 3)
    assert np.all((points >= 0.0) & (points <= 1.0))
    np.testing.assert_array_equal(points[64:71], known)
    np.testing.assert_array_equal(points[71], around[0])
    distance = np.abs(points[72:] - around).max(axis=1).reshape(3, 5)
    assert np.all(distance[2] < 0.01)
    assert distance[0].max() > 0.01


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda: BoxSearch(num_starts=0), "num_starts must be at least 1; received 0"),
        (lambda: BoxSearch(tolerance=0.0), "tolerance must be a number > 0 and < 1; received 0.0"),
        (
            lambda: draw_candidates(0, np.zeros((0, 2)), np.random.default_rng(0)),
            "count must be at least 1; received 0",
        ),
    ],
)
def test_bad_settings_are_named(build, message):
    with pytest.raises(SettingsError, match=message):
        build()


def test_bad_candidates_are_named():
    for bad, message in (
        (np.zeros((3, 4)), r"candidates must have 2 coordinates on its last axis; received shape \(3, 4\)"),
        (np.zeros((0, 2)), "candidates must have at least one row; received none"),
        (np.zeros((2, 3, 2)), r"candidates must have shape \(n, d\); received \(2, 3, 2\)"),
        ([[0.1, np.nan]], "candidates must be finite"),
    ):
        with pytest.raises(DataError, match=message):
            BoxSearch().maximize(Hills(), bad)
    with pytest.raises(DataError, match="known must be finite"):
        draw_candidates(4, [[np.nan, 0.0]], np.random.default_rng(0))
    with pytest.raises(DataError, match=r"around must have shape .* A single point is a row"):
        draw_candidates(4, [[0.1, 0.0]], np.random.default_rng(0), around=[0.1, 0.2])


def test_candidates_may_be_a_list_or_of_another_namespace(backend, rng):
    paths, _ = sample_paths(rng, 2, 2, 0.3, SquaredExponential(), backend)
    candidates = rng.random((20, 2))
    one = BoxSearch().maximize(paths, candidates.tolist())
    other = BoxSearch().maximize(paths, backend.array(candidates))
    np.testing.assert_array_equal(backend.numpy(one.x), backend.numpy(other.x))


class Watched:
    """An objective that remembers how many climbs each call evaluates, roughly and exactly."""

    num_problems, dimension = 1, 2

    def __init__(self, function):
        self.function, self.rough_widths, self.exact_widths = function, [], []

    def screen(self, X):
        return self.function(X[None])[0]

    def evaluate_roughly(self, x, problems):
        self.rough_widths.append(x.shape[1])
        return Evaluation(*self.function(x))

    def evaluate(self, x, problems):
        self.exact_widths.append(x.shape[1])
        return Evaluation(*self.function(x))


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_the_scale_of_the_function_does_not_matter(scale):
    """A climb that ran out of iterations on the high hill still beats one that finished on the low hill."""

    def function(x):
        value, gradient, _ = Hills().evaluate(x, None)
        return scale * value, scale * gradient

    candidates = np.array([[0.3, 0.3], [0.31, 0.3], [0.85, 0.8], [0.86, 0.8]])
    found = BoxSearch(max_iterations=5).maximize(Watched(function), candidates)
    assert found.value[0] > 1.2 * scale


def test_repeated_candidates_are_one_start():
    objective = Watched(lambda x: Hills().evaluate(x, None)[:2])
    BoxSearch(num_starts=9).maximize(objective, np.repeat([[0.2, 0.2], [0.6, 0.6], [0.9, 0.8]], 5, axis=0))
    assert objective.rough_widths[0] == 3


def waves(x):
    """Many hills of nearly the same height, each climb on its own."""
    rate = 8.0 * np.pi
    value = np.sin(rate * x).sum(axis=-1) + 0.1 * x.sum(axis=-1)
    return value, rate * np.cos(rate * x) + 0.1


def test_all_climbs_begin_roughly_and_two_are_finished(rng):
    objective = Watched(waves)
    found = BoxSearch(num_starts=9, tolerance=1e-12).maximize(objective, draw_candidates(1024, np.zeros((0, 2)), rng))
    assert objective.rough_widths[:2] == [9, 9]
    assert len(objective.rough_widths) <= 1 + 5
    assert objective.exact_widths[0] == SearchSettings().num_finished == 2
    assert max(objective.exact_widths) == 2
    np.testing.assert_allclose(found.gradient, 0.0, atol=1e-6)


@pytest.mark.parametrize("d, starts", [(1, 6), (2, 8), (6, 16), (10, 24), (15, 24)])
def test_the_number_of_starts_and_of_rough_steps(rng, d, starts):
    objective = Watched(waves)
    objective.dimension = d
    BoxSearch().maximize(objective, rng.random((200, d)))
    assert objective.rough_widths[0] == starts
    assert 2 <= len(objective.rough_widths) <= 1 + 5 + d // 4


def test_as_many_starts_as_are_finished_are_climbed_exactly_at_once(rng):
    objective = Watched(waves)
    BoxSearch(num_starts=2).maximize(objective, rng.random((50, 2)))
    assert objective.rough_widths == []
    assert objective.exact_widths[0] == 2


def test_the_result_is_exact_however_rough_the_first_climb_is(rng):
    """Rough values with an error of a hundredth of a hill, and rough slopes: the maximum is that of the exact ones."""

    class Rough(Hills):
        def evaluate_roughly(self, x, problems):
            value, slope, _ = self.evaluate(x, problems)
            return Evaluation(value + 0.01 * np.sin(50.0 * x.sum(axis=-1)), slope * 1.01)

    candidates = draw_candidates(512, np.zeros((0, 2)), rng)
    found, exact = (BoxSearch().maximize(objective, candidates) for objective in (Rough(), Hills()))
    np.testing.assert_allclose(found.x, exact.x, atol=1e-5)
    np.testing.assert_allclose(found.value, exact.value, rtol=1e-10)
    np.testing.assert_allclose(found.value, Hills().evaluate(found.x[:, None], None).value[:, 0], rtol=1e-14)


def groups_of_paths(rng, backend, R=3):
    """R data sets with two paths each, a design for all, and candidates about the data of each."""
    X, y = rng.random((R, 1, 6, 2)), rng.standard_normal((R, 1, 6))
    hyper = Hyperparameters(np.full((R, 1, 2), 0.3), 1.0, 1e-2)
    post = Posterior(Matern52(), hyper, backend.array(X), backend.array(y))
    known = backend.array(X[:, 0])
    return draw_paths(post, 2, rng, num_features=200), draw_grouped(128, known, rng, around=known[:, :2, :])


def test_groups_of_functions_have_candidates_of_their_own(backend, rng):
    """The same maxima as group by group."""
    paths, (design, own) = groups_of_paths(rng, backend)
    together = BoxSearch().maximize(paths, design, own)
    x, value = backend.numpy(together.x), backend.numpy(together.value)
    assert x.shape == (6, 2)
    for r in range(3):
        rows = np.arange(2 * r, 2 * r + 2)
        alone = BoxSearch().maximize(paths.take(rows), design, own[r : r + 1, ...])
        np.testing.assert_allclose(value[rows], backend.numpy(alone.value), rtol=1e-9)
        np.testing.assert_allclose(x[rows], backend.numpy(alone.x), atol=1e-6)


class Needles:
    """One narrow hill for each function, which no design sees, on a plain without any slope."""

    num_problems, dimension, width = 4, 2, 0.01
    centers = np.array([[0.123, 0.456], [0.789, 0.234], [0.555, 0.921], [0.052, 0.777]])

    def screen(self, X):
        groups = np.broadcast_to(X, (1, *X.shape)) if X.ndim == 2 else X
        return self.evaluate(np.repeat(groups, 4 // len(groups), axis=0), np.arange(4)).value

    def evaluate(self, x, problems):
        shift = x - self.centers[problems, None]
        inside = np.maximum(1.0 - np.sum(shift**2, axis=-1) / self.width**2, 0.0)
        return Evaluation(inside**2, -4.0 * inside[..., None] * shift / self.width**2)

    evaluate_roughly = evaluate


def test_own_candidates_are_climbed_from(rng):
    """Each function's own lead to its needle; those of another function, and the design, do not."""
    design = draw_candidates(16, np.zeros((0, 2)), rng)
    assert np.max(Needles().screen(design)) == 0.0
    own = Needles.centers[:, None] + 0.003 * rng.uniform(-1.0, 1.0, (4, 6, 2))
    found = BoxSearch().maximize(Needles(), design, own)
    np.testing.assert_allclose(found.x, Needles.centers, atol=1e-4)
    astray = BoxSearch().maximize(Needles(), design, own[[1, 2, 3, 0]])
    np.testing.assert_array_equal(astray.value, 0.0)
    # Two groups of two functions each.
    paired = np.concatenate([own[:2].reshape(1, 12, 2), own[2:].reshape(1, 12, 2)])
    np.testing.assert_allclose(BoxSearch().maximize(Needles(), design, paired).x, Needles.centers, atol=1e-4)


def test_own_candidates_need_not_be_inside_nor_finite(rng):
    """They are moved into the cube; one without a value is the last to be climbed from."""

    class Holed(Needles):
        def screen(self, X):
            return np.where(np.broadcast_to(X, (4, *X.shape[-2:]))[..., 0] > 0.99, np.nan, super().screen(X))

    own = np.concatenate([np.full((4, 1, 2), 3.0), Needles.centers[:, None] + 0.002], axis=1)
    found = BoxSearch().maximize(Holed(), draw_candidates(16, np.zeros((0, 2)), rng), own)
    np.testing.assert_allclose(found.x, Needles.centers, atol=1e-4)


def test_candidates_of_several_problems_share_design_and_offsets(rng):
    known, around = rng.random((3, 7, 2)), 0.4 + 0.2 * rng.random((3, 2, 2))
    design, own = draw_grouped(64, known, np.random.default_rng(1), around=around)
    assert design.shape == (64, 2)
    assert own.shape == (3, 7 + 2 + 3 * 2 * 8, 2)
    np.testing.assert_array_equal(own[:, :7], known)
    np.testing.assert_array_equal(own[:, 7:9], around)
    offsets = own[:, 9:] - np.tile(np.repeat(around, 8, axis=1), (1, 3, 1))
    narrow = np.abs(offsets[0]).max(axis=-1) < 0.3  # the others may have been moved into the cube
    np.testing.assert_allclose(
        offsets[:, narrow], np.broadcast_to(offsets[0, narrow], (3, narrow.sum(), 2)), atol=1e-15
    )
    for r in range(3):
        alone = draw_candidates(64, known[r], np.random.default_rng(1), around=around[r])
        np.testing.assert_array_equal(np.concatenate([design, own[r]]), alone)


def test_one_problem_has_candidates_of_its_own_too(backend, rng):
    known, around = rng.random((7, 2)), rng.random((2, 2))
    design, own = draw_grouped(
        64, backend.array(known[None]), np.random.default_rng(1), around=backend.array(around[None])
    )
    expected = draw_candidates(64, known, np.random.default_rng(1), around=around)
    np.testing.assert_array_equal(np.concatenate([backend.numpy(design), backend.numpy(own)[0]]), expected)
