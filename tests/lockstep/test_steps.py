"""Many optimizations at once are the same as one after the other."""

import numpy as np
import pytest

from xstar import Method, Optimizer
from xstar.acquisition import EI, MES, PES, LogEI, Thompson
from xstar.gp import (
    MAP,
    Fixed,
    Hyperparameters,
    Matern52,
    Posterior,
    PosteriorMean,
    SliceSampling,
    SquaredExponential,
    draw_paths,
)  # fmt: skip
from xstar.gp.inference import infer_each_under_best
from xstar.gp.observations import Observations
from xstar.lockstep import Problems, run
from xstar.lockstep.streams import Streams

R, D, NOISE = 3, 2, 1e-3
HYPER = Hyperparameters(np.full(D, 0.35), 1.0, NOISE)
START = np.random.default_rng(0).random((R, 3, D))


def functions():
    draws = Streams([np.random.default_rng([r, 1]) for r in range(R)], np.random.default_rng(0))
    return draw_paths(Posterior(SquaredExponential(), HYPER, np.zeros((R, 0, D)), np.zeros((R, 0))), 1, draws)


PATHS = functions()


def optimize(rows, acquisition, evaluations, inference=None, kernel=None, **settings):
    method = Method(kernel or SquaredExponential(), inference or Fixed(HYPER), acquisition)
    task = Problems(lambda x: PATHS.value(x, np.asarray(rows)), NOISE, method)
    return run(task, START[rows], evaluations, rows, **settings)


@pytest.mark.parametrize("acquisition", [PES(12, 128), EI(), None], ids=["PES", "EI", "random"])
def test_a_problem_takes_the_same_course_alone(acquisition):
    together = optimize([0, 1, 2], acquisition, 12, threads=2)
    assert together.X.shape == (R, 15, D)
    assert together.y.shape == (R, 15)
    assert together.recommended.shape == (R, 13, D)
    assert together.value.shape == (R, 13)
    for r in range(R):
        alone = optimize([r], acquisition, 12)
        np.testing.assert_allclose(alone.X[0], together.X[r], atol=1e-5)
        np.testing.assert_allclose(alone.y[0], together.y[r], atol=1e-4)


def test_the_record_is_of_what_happened():
    record = optimize([0, 1, 2], PES(12, 128), 8)
    np.testing.assert_array_equal(record.X[:, :3], START)
    exact = PATHS.value(record.X, np.arange(R))
    assert np.abs(record.y - exact).max() < 6.0 * NOISE
    np.testing.assert_allclose(record.value, PATHS.value(record.recommended, np.arange(R)), atol=1e-12)
    best = PATHS.value(np.broadcast_to(np.random.default_rng(1).random((500, D)), (R, 500, D)), np.arange(R)).max(
        axis=1
    )
    assert np.all(record.value[:, -1] > best - 0.05), "eight evaluations find the maximum of a smooth function"


def test_hyperparameters_may_be_sampled_at_every_step():
    steps = []
    record = optimize([0, 1, 2], PES(8, 128), 4, SliceSampling(num_samples=3), after=steps.append)
    assert steps == [1, 2, 3, 4]
    assert np.isfinite(record.value).all()
    assert np.all((record.X >= 0.0) & (record.X <= 1.0))


@pytest.mark.extras
def test_another_backend_makes_the_same_suggestions():
    there = optimize([0, 1, 2], PES(12, 128), 4, compute="torch:cpu")
    here = optimize([0, 1, 2], PES(12, 128), 4)
    np.testing.assert_allclose(there.X, here.X, atol=1e-6)


@pytest.mark.parametrize(
    "acquisition",
    [PES(8, 128), PES(8, 128, boundary="paper", incumbent="paper", paths="weights"), EI(), LogEI(), MES(8), Thompson()],
    ids=["PES", "PES of 2014", "EI", "LogEI", "MES", "Thompson"],
)
@pytest.mark.parametrize("inference", [SliceSampling(num_samples=3), PosteriorMean()], ids=["sampled", "mean"])
def test_every_method_with_a_choice_of_kernels(acquisition, inference):
    record = optimize([0, 1, 2], acquisition, 3, inference, (SquaredExponential(), Matern52()))
    assert np.isfinite(record.value).all()
    assert np.all((record.X >= 0.0) & (record.X <= 1.0))


def test_each_problem_has_the_kernel_under_which_its_data_are_most_probable():
    rng = np.random.default_rng(0)
    X = rng.random((4, 30, 1))
    y = np.sin(7.0 * X[..., 0])
    y[[1, 3]] = np.abs(np.sin(9.0 * X[[1, 3], :, 0]))
    y = (y - y.mean(axis=1, keepdims=True)) / y.std(axis=1, keepdims=True)
    kernels = (SquaredExponential(), Matern52())
    chosen = infer_each_under_best(kernels, MAP(), Observations.check(X, y), np.random.default_rng(1))
    assert [type(group.kernel) for group in chosen] == [SquaredExponential, Matern52], "there is a choice to be made"
    assert sorted(np.concatenate([group.sets for group in chosen]).tolist()) == [0, 1, 2, 3]
    for group in chosen:
        for place, number in enumerate(group.sets):
            own = Observations.check(X[number][None], y[number][None])
            (alone,) = infer_each_under_best(kernels, MAP(), own, np.random.default_rng(1))
            assert type(alone.kernel) is type(group.kernel)
            found, expected = group.inferred.hyper.lengthscales[place], alone.inferred.hyper.lengthscales[0]
            np.testing.assert_allclose(found, expected, rtol=1e-2)


def test_values_of_any_scale_are_optimized_alike():
    def course(scale):
        method = Method(SquaredExponential(), MAP(), LogEI())
        task = Problems(lambda x: scale * PATHS.value(x, np.arange(R)) + 7.0 * scale, scale * 0.01, method)
        return run(task, START, 4, range(R)).X

    np.testing.assert_allclose(course(1.0), course(1024.0), atol=1e-6)


def test_noise_may_be_given():
    draws = np.random.default_rng(5).standard_normal((R, 5))
    record = optimize([0, 1, 2], None, 2, draws=draws)
    exact = PATHS.value(record.X, np.arange(R))
    np.testing.assert_allclose((record.y - exact) / NOISE, draws, atol=1e-8)


def test_asking_what_is_believed_changes_nothing_and_is_each_problem_s_own():
    together = optimize([0, 1, 2], PES(12, 128), 6, ask_after=[5, 9], num_draws=40)
    np.testing.assert_array_equal(together.X, optimize([0, 1, 2], PES(12, 128), 6).X)
    assert [belief.evaluations for belief in together.beliefs] == [5, 9]
    last = together.beliefs[-1]
    assert last.x_star.shape == (R, 40, D)
    assert last.left.shape == (R, 40)
    assert np.all(last.left >= 0.0)
    alone = optimize([1], PES(12, 128), 6, ask_after=[9], num_draws=40).beliefs[0]
    np.testing.assert_allclose(alone.x_star[0], last.x_star[1], atol=1e-4)
    np.testing.assert_allclose([alone.mean[0], alone.sd[0]], [last.mean[1], last.sd[1]], atol=1e-4)


@pytest.mark.parametrize("inference", [Fixed(HYPER), MAP()], ids=["known", "learned"])
def test_what_is_believed_is_what_an_optimizer_says(inference):
    record = optimize([0, 1, 2], PES(12, 128), 5, inference, ask_after=[8], num_draws=400)
    (belief,) = record.beliefs
    method = Method(SquaredExponential(), inference, PES(12, 128))
    for r in range(R):
        opt = Optimizer([(0.0, 1.0)] * D, method=method, noise=NOISE if isinstance(inference, Fixed) else None)
        for x, y in zip(record.X[r], record.y[r], strict=True):
            opt.tell(x, float(y))
        where = opt.where(400)
        best = where.recommendation
        np.testing.assert_allclose(best.x, record.recommended[r, -1], atol=1e-2)
        assert belief.mean[r] == pytest.approx(best.mean, abs=0.05)
        assert belief.sd[r] == pytest.approx(best.sd, rel=0.2, abs=5e-3)
        # 400 draws each: two shares differ by 0.03 or so by chance.
        ours, theirs = ((drawn[:, None] > [0.003, 0.03, 0.3]).mean(axis=0) for drawn in (belief.left[r], where.regret))
        np.testing.assert_allclose(ours, theirs, atol=0.12)
