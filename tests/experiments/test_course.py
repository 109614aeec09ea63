"""Every method meets the same start and the same noise, and recommends after every evaluation."""

import numpy as np
import pytest

import xstar
from experiments import course
from experiments.course import START, noise_of, start_of, take_course
from experiments.methods import CONTENDERS, PEERS, TITLES
from experiments.problems import find_problem
from xstar.gp import Fixed, PosteriorMean, SliceSampling, SquaredExponential

METHODS = ["random", "ei", "thompson"]
EVALUATIONS = 6


@pytest.fixture(scope="module", params=["cosines", "within-model"])
def courses(request):
    """A problem's name, and courses by method and repeat."""
    repeats = range(2)
    return request.param, {
        (method, repeat): take_course(request.param, method, repeat, EVALUATIONS)
        for method in METHODS
        for repeat in repeats
    }


def noise(name, repeat, taken):
    return taken.y - find_problem(name, repeat).values(taken.X)


class TestTheSameForAll:
    def test_start(self, courses):
        _, taken = courses
        for repeat in range(2):
            for method in METHODS:
                np.testing.assert_array_equal(taken[method, repeat].X[:START], start_of(2, repeat))

    def test_noise(self, courses):
        name, taken = courses
        for repeat in range(2):
            expected = find_problem(name).noise * noise_of(EVALUATIONS, repeat)
            for method in METHODS:
                np.testing.assert_allclose(noise(name, repeat, taken[method, repeat]), expected, rtol=0, atol=1e-10)

    def test_methods_go_different_ways(self, courses):
        _, taken = courses
        ways = [taken[method, 0].X[START:] for method in METHODS]
        assert all(np.any(ways[i] != ways[j]) for i, j in ((0, 1), (0, 2), (1, 2)))

    def test_repeats_differ(self, courses):
        name, taken = courses
        for method in METHODS:
            first, second = taken[method, 0], taken[method, 1]
            assert not np.any(np.all(first.X == second.X, axis=1))
            assert np.all(noise(name, 0, first) != noise(name, 1, second))


class TestRecord:
    def test_shapes(self, courses):
        _, taken = courses
        for one in taken.values():
            assert one.X.shape == (EVALUATIONS, 2)
            assert one.y.shape == (EVALUATIONS,)
            assert one.recommended.shape == (EVALUATIONS - START + 1, 2)
            assert one.regret.shape == (EVALUATIONS - START + 1,)
            assert np.all((one.X >= 0.0) & (one.X <= 1.0))
            assert np.all((one.recommended >= 0.0) & (one.recommended <= 1.0))
            assert one.cpu_seconds > 0.0
            assert one.degraded == 0

    def test_regret(self, courses):
        name, taken = courses
        for (_, repeat), one in taken.items():
            problem = find_problem(name, repeat)
            np.testing.assert_allclose(one.regret, [problem.regret(x[None])[0] for x in one.recommended], atol=1e-13)
            assert np.all(one.regret >= 0.0)

    def test_first_recommendation_knows_the_start_only(self):
        """With known hyperparameters, methods share the model: so they do their first recommendation."""
        firsts = [take_course("within-model", method, 2, START + 1).recommended[0] for method in METHODS]
        height = find_problem("within-model", 2).values(np.array(firsts))
        np.testing.assert_allclose(height, height[0], rtol=0, atol=1e-6)

    def test_nothing_but_the_start(self):
        taken = take_course("cosines", "ei", 0, START)
        assert taken.recommended.shape == (1, 2)
        assert taken.cpu_seconds == 0.0

    def test_more_evaluations_begin_the_same(self):
        short, long = (take_course("cosines", "ei", 1, count) for count in (START + 1, START + 3))
        np.testing.assert_array_equal(short.X, long.X[: START + 1])
        np.testing.assert_array_equal(short.y, long.y[: START + 1])
        np.testing.assert_array_equal(short.recommended, long.recommended[:2])

    def test_deterministic(self):
        first, again = (take_course("cosines", "thompson", 3, EVALUATIONS) for _ in range(2))
        for part in ("X", "y", "recommended", "regret"):
            np.testing.assert_array_equal(getattr(first, part), getattr(again, part))

    def test_suggestions_of_simpler_methods_are_counted(self, monkeypatch):
        real = xstar.Optimizer.ask

        def ask(self):
            trial = real(self)
            trial.diagnostics["fallback"] = "made up"
            return trial

        monkeypatch.setattr(course.xstar.Optimizer, "ask", ask)
        assert take_course("cosines", "random", 0, START + 2).degraded == 2


class TestDraws:
    @pytest.mark.parametrize("dimension", [2, 6])
    def test_start_is_a_latin_hypercube(self, dimension):
        for repeat in range(20):
            x = start_of(dimension, repeat)
            assert x.shape == (START, dimension)
            assert np.all(np.sort(np.floor(START * x), axis=0) == np.arange(START)[:, None])
        assert len({start_of(dimension, repeat).tobytes() for repeat in range(20)}) == 20

    def test_noise_is_standard_normal(self):
        """20 000 draws: mean and variance at 4.5 standard errors, wrong with probability 1e-5 for other seeds."""
        draws = np.array([noise_of(50, repeat) for repeat in range(400)])
        assert abs(draws.mean()) < 4.5 / np.sqrt(draws.size)
        assert abs(np.mean(draws**2) - 1.0) < 4.5 * np.sqrt(2.0 / draws.size)
        assert len(np.unique(draws)) == draws.size

    def test_noise_of_longer_runs_begins_the_same(self):
        np.testing.assert_array_equal(noise_of(40, 7), noise_of(60, 7)[:40])


class TestMethods:
    def test_unknown(self):
        with pytest.raises(ValueError, match="'pse'"):
            take_course("cosines", "pse", 0, EVALUATIONS)
        with pytest.raises(ValueError, match="no problem 'cosine'"):
            take_course("cosine", "pes", 0, EVALUATIONS)

    def test_titles(self):
        assert list(TITLES) == [*CONTENDERS, *PEERS]
        assert len(set(TITLES.values())) == len(TITLES)
        assert len({contender.color for contender in CONTENDERS.values()}) == len(CONTENDERS)

    @pytest.mark.parametrize("name", CONTENDERS)
    def test_known_hyperparameters_are_given_to_all(self, name):
        method = CONTENDERS[name].method(find_problem("within-model"))
        assert [type(kernel) for kernel in method.kernels] == [SquaredExponential]
        assert isinstance(method.inference, Fixed)
        known = method.inference.hyper
        np.testing.assert_allclose(np.asarray(known.lengthscales) ** 2, 0.1)
        assert not method.standardizes

    @pytest.mark.parametrize("name", ["pes-2014", "pes-nb", "es", "ei"])
    def test_the_papers_model(self, name):
        method = CONTENDERS[name].method(find_problem("branin"))
        assert [type(kernel) for kernel in method.kernels] == [SquaredExponential]
        averages = name in ("pes-2014", "ei")
        assert isinstance(method.inference, SliceSampling if averages else PosteriorMean)

    @pytest.mark.parametrize("name", ["pes", "logei", "mes", "thompson"])
    def test_the_others_choose_the_kernel(self, name):
        assert len(CONTENDERS[name].method(find_problem("branin")).kernels) > 1
