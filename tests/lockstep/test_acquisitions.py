"""Several problems prepared and searched at once: each is what it would be alone, with the same draws."""

import numpy as np
import pytest

from xstar.acquisition import EI, ES, MES, PES, LogEI, Prepared, Thompson
from xstar.acquisition.mean import MeanScore
from xstar.errors import DataError, SettingsError
from xstar.feasibility import Feasibility
from xstar.gp import Hyperparameters, Matern52, Posterior, SquaredExponential
from xstar.lockstep.streams import Streams
from xstar.numerics import arrays
from xstar.search import BoxSearch, Domain, Interval, Lattice, MixedSearch
from xstar.search.candidates import draw_grouped

R, H = 3, 2


class Mean:
    """The posterior mean, prepared like an acquisition."""

    def prepare(self, post, rng):
        return Prepared(MeanScore(post.by_problem()))


DRAWING = {
    "PES": PES(8, 100),
    "PES-2014": PES(8, 100, boundary="paper", incumbent="paper", paths="weights"),
    "MES": MES(8, 100),
    "Thompson": Thompson(1, 100),
}
ALL = {**DRAWING, "EI": EI(), "LogEI": LogEI(), "mean": Mean()}
EVERY = pytest.mark.parametrize("acquisition", ALL.values(), ids=ALL)


def data(n=7, d=2, seed=0):
    """Points, values and hyperparameters of R problems, no two of them alike."""
    rng = np.random.default_rng(seed)
    X = rng.random((R, 1, n, d))
    y = np.sin(5.0 * X[..., 0] + np.arange(R)[:, None, None]) + (1.0 + np.arange(R))[:, None, None] * X[..., -1]
    lengthscales = 0.25 + 0.3 * rng.random((R, H, d))
    return X, y, lengthscales, 1.0 + rng.random((R, H)), 0.02 + 0.1 * rng.random((R, H))


def together(parts, kernel, place=np.asarray):
    X, y, lengthscales, amplitude, noise = parts
    return Posterior(kernel, Hyperparameters(lengthscales, amplitude, noise), place(X), place(y))


def alone(parts, kernel, r, place=np.asarray):
    """Problem r as a user without others would have it: data (n, d), hyperparameters (H,)."""
    X, y, lengthscales, amplitude, noise = (part[r] for part in parts)
    return Posterior(kernel, Hyperparameters(lengthscales, amplitude, noise), place(X[0]), place(y[0]))


def streams(problems, threads=1):
    """A generator for each problem, and the same common one whatever the problems."""
    return Streams([np.random.default_rng(r) for r in problems], np.random.default_rng(99), threads)


def torch(*cases):
    """The cases, for torch."""
    return [pytest.param("torch", *case, marks=pytest.mark.extras) for case in cases]


def all_scores(acquisition, parts, kernel, place=np.asarray):
    """The score of all problems, and those of each alone."""
    whole = acquisition.prepare(together(parts, kernel, place), streams(range(R)))
    singles = [acquisition.prepare(alone(parts, kernel, r, place), streams([r])) for r in range(R)]
    return whole, singles


def exact(score, x, problems):
    """Values and gradients of some problems at their own points."""
    return score.evaluate(x, np.asarray(problems))[:2]


def assert_same(one, other):
    """To 1e-6 of the largest."""
    np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6 * np.abs(other).max())


@EVERY
@pytest.mark.parametrize("kernel", [SquaredExponential(), Matern52()], ids=["SquaredExponential", "Matern52"])
@pytest.mark.parametrize(
    "backend, n, d",
    [("numpy", 7, 2), ("numpy", 1, 1), ("numpy", 12, 4), ("array_api_strict", 1, 1), *torch((7, 2), (1, 1), (12, 4))],
    indirect=["backend"],
)
def test_each_problem_is_as_it_is_alone(backend, acquisition, kernel, n, d):
    """One case is enough for the standard, which is slow."""
    parts = data(n, d)
    whole, singles = all_scores(acquisition, parts, kernel, backend.array)
    assert whole.num_problems == R
    x = np.random.default_rng(7).random((R, 5, d))
    value, gradient = (backend.numpy(part) for part in exact(whole, backend.array(x), range(R)))
    assert value.shape == (R, 5)
    assert gradient.shape == (R, 5, d)
    screened = backend.numpy(whole.screen(x))
    for r, single in enumerate(singles):
        own = backend.array(x[r : r + 1])
        one_value, one_gradient = (backend.numpy(part) for part in exact(single, own, [0]))
        assert_same(value[r], one_value[0])
        assert_same(gradient[r], one_gradient[0])
        np.testing.assert_allclose(screened[r], backend.numpy(single.screen(x[r]))[0], rtol=1e-5, atol=2e-5)


@EVERY
def test_one_problem_with_leading_axes_is_one_without(acquisition):
    parts = data()
    X = np.random.default_rng(7).random((6, 2))
    for r in range(R):
        leading = together(tuple(part[r : r + 1] for part in parts), SquaredExponential())
        one = acquisition.prepare(leading, streams([r])).value_and_gradient(X)
        other = acquisition.prepare(alone(parts, SquaredExponential(), r), streams([r])).value_and_gradient(X)
        for first, second in zip(one, other, strict=True):
            assert first.shape == second.shape == (6, 2)[: first.ndim]
            assert_same(first, second)


@pytest.mark.parametrize("acquisition", DRAWING.values(), ids=DRAWING)
def test_a_generator_is_a_stream_of_one(acquisition):
    """Without a design that all share, the two see the same numbers."""
    post, X = alone(data(), SquaredExponential(), 0), np.random.default_rng(7).random((6, 2))
    rng = np.random.default_rng(3)
    one = acquisition.prepare(post, rng)(X)
    same = np.random.default_rng(3)
    other = acquisition.prepare(post, Streams([same], same))(X)
    assert_same(one, other)


@EVERY
def test_threads_and_blocks_change_nothing(acquisition, monkeypatch):
    post, x = together(data(), SquaredExponential()), np.random.default_rng(7).random((R, 40, 2))
    expected = exact(acquisition.prepare(post, streams(range(R))), x, range(R))
    threaded = exact(acquisition.prepare(post, streams(range(R), threads=3)), x, range(R))
    for one, other in zip(expected, threaded, strict=True):
        np.testing.assert_array_equal(one, other)
    monkeypatch.setattr(arrays, "BLOCK_ELEMENTS", 2000)
    in_blocks = exact(acquisition.prepare(post, streams(range(R))), x, range(R))
    for one, other in zip(expected, in_blocks, strict=True):
        assert_same(one, other)


@EVERY
@pytest.mark.parametrize("problems", [[0], [2], [2, 0], [0, 1, 2], [1, 2, 0], [1, 1]])
def test_some_of_the_problems(acquisition, problems):
    score = acquisition.prepare(together(data(), Matern52()), streams(range(R)))
    x = np.random.default_rng(7).random((R, 5, 2))
    rows = np.array(problems)
    value, gradient = exact(score, x, range(R))
    for _ in range(2):  # the second time from what was kept
        np.testing.assert_allclose(score.value(x[rows], rows), value[rows], rtol=1e-9, atol=1e-10)
        some = score.evaluate(x[rows], rows)
        np.testing.assert_allclose(some.value, value[rows], rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(some.gradient, gradient[rows], rtol=1e-8, atol=1e-9)
        rough = score.evaluate_roughly(x[rows], rows)
        np.testing.assert_allclose(rough.value, value[rows], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(score.value(x, np.arange(R)), value, rtol=1e-9, atol=1e-10)


@EVERY
def test_called_as_a_function(acquisition):
    """Points of each problem, or the same for all."""
    score = acquisition.prepare(together(data(), Matern52()), streams(range(R)))
    x = np.random.default_rng(7).random((R, 5, 2))
    value, gradient = exact(score, x, range(R))
    np.testing.assert_allclose(score(x), value, rtol=1e-10)
    for one, other in zip(score.value_and_gradient(x), (value, gradient), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)
    same = np.broadcast_to(x[0], x.shape)
    np.testing.assert_allclose(score(x[0]), score(same), rtol=1e-10)
    np.testing.assert_allclose(score.screen(x[0]), score.screen(same), rtol=1e-10)
    with pytest.raises(DataError, match="X must have 2 coordinates"):
        score(x[..., :1])


@EVERY
@pytest.mark.parametrize("backend", ["numpy", *torch(())], indirect=True)
def test_a_search_of_all_finds_what_searches_of_each_find(backend, acquisition):
    parts = data()
    whole, singles = all_scores(acquisition, parts, SquaredExponential(), backend.array)
    X = backend.array(parts[0][:, 0])
    design, more = draw_grouped(128, X, np.random.default_rng(4), around=X[:, :2, :])
    found = BoxSearch().maximize(whole, design, more)
    assert found.x.shape == (R, 2)
    value, x = backend.numpy(found.value), backend.numpy(found.x)
    for r, single in enumerate(singles):
        own = BoxSearch().maximize(single, design, more[r : r + 1, ...])
        one_value, one_x = backend.numpy(own.value)[0], backend.numpy(own.x)[0]
        np.testing.assert_allclose(value[r], one_value, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(x[r], one_x, atol=1e-3)


@pytest.mark.parametrize("acquisition", [PES(8, 100), MES(8, 100)], ids=["PES", "MES"])
def test_the_samples_are_those_of_each(acquisition):
    """Maximizers and maxima, before anything is made of them."""
    parts = data()
    whole, singles = all_scores(acquisition, parts, SquaredExponential())
    for r, single in enumerate(singles):
        if isinstance(acquisition, PES):
            np.testing.assert_allclose(whole.score.maximizers.x[r], single.score.maximizers.x[0], atol=1e-5)
            np.testing.assert_allclose(whole.score.maximizers.value[r], single.score.maximizers.value[0], rtol=1e-8)
        else:
            np.testing.assert_allclose(whole.score.maxima[r], single.score.maxima[0], rtol=1e-8)


def test_problems_with_fewer_competitors_have_none_in_their_place():
    """Where all maximizers of a problem are at one place, it has one competing point; others have theirs."""
    parts = data()
    X, y = parts[0], parts[1].copy()
    y[1] = -40.0 * np.sum((X[1] - 0.5) ** 2, axis=-1)  # a steep hill: all paths agree where its top is
    parts = (X, y, *parts[2:])
    whole, singles = all_scores(PES(20, 200), parts, SquaredExponential())
    x = np.random.default_rng(7).random((R, 6, 2))
    competitors = [single.score.conditioned.functionals.competitors.shape[-2] for single in singles]
    assert min(competitors) == competitors[1] < max(competitors)
    value, gradient = exact(whole, x, range(R))
    for r, single in enumerate(singles):
        one_value, one_gradient = exact(single, x[r : r + 1], [0])
        assert_same(value[r], one_value[0])
        assert_same(gradient[r], one_gradient[0])


def test_known_noise_of_single_observations():
    """Also where each problem has its own."""
    X, y, lengthscales, amplitude, noise = data()
    sd = np.where(np.random.default_rng(5).random(y.shape) < 0.5, np.nan, 0.2)
    hyper = Hyperparameters(lengthscales, amplitude, noise)
    x = np.random.default_rng(7).random((R, 6, 2))
    for acquisition in ALL.values():
        whole = acquisition.prepare(Posterior(Matern52(), hyper, X, y, sd), streams(range(R)))
        value, gradient = exact(whole, x, range(R))
        for r in range(R):
            own = Hyperparameters(lengthscales[r], amplitude[r], noise[r])
            single = acquisition.prepare(Posterior(Matern52(), own, X[r, 0], y[r, 0], sd[r, 0]), streams([r]))
            one_value, one_gradient = exact(single, x[r : r + 1], [0])
            assert_same(value[r], one_value[0])
            assert_same(gradient[r], one_gradient[0])


@EVERY
def test_without_data(acquisition):
    parts = data(n=0)
    x = np.random.default_rng(7).random((R, 6, 2))
    whole, singles = all_scores(acquisition, parts, SquaredExponential())
    value, gradient = exact(whole, x, range(R))
    for r, single in enumerate(singles):
        one_value, one_gradient = exact(single, x[r : r + 1], [0])
        assert_same(value[r], one_value[0])
        assert_same(gradient[r], one_gradient[0])


@EVERY
@pytest.mark.parametrize("lead", [(1, H), (H,)], ids=["(1, H)", "(H,)"])
def test_hyperparameters_shared_by_all_problems(acquisition, lead):
    X, y, *scales = data()
    x = np.random.default_rng(7).random((R, 6, 2))
    shared = Hyperparameters(*(part[0].reshape(*lead, *part.shape[2:]) for part in scales))
    spread = Hyperparameters(*(np.repeat(part[:1], R, axis=0) for part in scales))
    one, other = (
        acquisition.prepare(Posterior(Matern52(), hyper, X, y), streams(range(R))) for hyper in (shared, spread)
    )
    for problems in ([0, 1, 2], [2, 0]):
        for first, second in zip(exact(one, x[problems], problems), exact(other, x[problems], problems), strict=True):
            assert_same(first, second)


@pytest.mark.parametrize("acquisition", DRAWING.values(), ids=DRAWING)
@pytest.mark.parametrize("count", [2, 6])
def test_streams_of_other_problems_are_named(acquisition, count):
    with pytest.raises(SettingsError):
        acquisition.prepare(together(data(), SquaredExponential()), streams(range(count)))


@pytest.mark.parametrize("name", list(ALL))
def test_data_outside_the_cube_are_those_of_their_problem(name):
    """Nothing of problem 1 is inside: the others must not notice, or it is refused."""
    parts = data()
    parts = (parts[0] + np.array([0.0, 2.0, 0.0])[:, None, None, None], *parts[1:])
    x = np.random.default_rng(7).random((R, 6, 2))
    if name == "PES-2014":
        with pytest.raises(SettingsError, match="needs data inside the cube for every problem, or for none"):
            all_scores(ALL[name], parts, SquaredExponential())
        return
    whole, singles = all_scores(ALL[name], parts, SquaredExponential())
    value, _ = exact(whole, x, range(R))
    for r, single in enumerate(singles):
        assert_same(value[r], exact(single, x[r : r + 1], [0])[0][0])


def test_entropy_search_is_for_one_problem():
    post = together(data(), SquaredExponential())
    for rng in (np.random.default_rng(0), streams(range(R))):
        with pytest.raises(SettingsError, match="ES is for one problem at a time"):
            ES(8).prepare(post, rng)


@pytest.mark.parametrize("acquisition", [PES(8, 100), MES(8, 100), EI(), LogEI(), Thompson(1, 100), ES(8)])
def test_what_is_for_one_problem_at_a_time_is_refused(acquisition):
    post, points = together(data(), SquaredExponential()), np.array([[0.5, 0.5]])
    feasibility = Feasibility.fit(points, 1.0 - 0.5 * points)
    for more in ({"pending": points}, {"restriction": feasibility}):
        with pytest.raises(SettingsError, match="for one problem at a time"):
            acquisition.prepare(post, streams(range(R)), **more)


@pytest.mark.parametrize("acquisition", [PES(8, 100), MES(8, 100), LogEI(), Thompson(1, 100)])
def test_domains_that_are_not_continuous_are_refused(acquisition):
    """In drawing maximizers, or in the search itself."""
    parts, domain = data(), Domain((Interval(), Lattice(5)))
    known = parts[0][:, 0]
    design, own = draw_grouped(64, known, np.random.default_rng(4), around=known[:, :2])
    with pytest.raises(SettingsError, match="several problems at a time need a continuous domain"):
        MixedSearch(domain).maximize(
            acquisition.prepare(together(parts, SquaredExponential()), streams(range(R)), domain=domain), design, own
        )


def test_several_paths_of_several_problems_are_the_envelopes_of_each():
    x = np.random.default_rng(7).random((R, 6, 2))
    whole, singles = all_scores(Thompson(2, 100), data(), SquaredExponential())
    value, gradient = exact(whole, x, range(R))
    for r, single in enumerate(singles):
        one_value, one_gradient = exact(single, x[r : r + 1], [0])
        assert_same(value[r], one_value[0])
        assert_same(gradient[r], one_gradient[0])


def test_axes_that_are_not_those_of_problems_are_named():
    X, y, lengthscales, *_ = data()
    hyper = Hyperparameters(lengthscales[0, 0], 1.0, 0.1)
    for points, values in ((X[:, 0], y[:, 0]), (X[:, :, None], y[:, :, None])):
        with pytest.raises(DataError, match=r"several data sets need leading axes \(R, 1\) of X"):
            EI().prepare(Posterior(SquaredExponential(), hyper, points, values), streams(range(R)))
