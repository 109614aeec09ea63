"""Many optimizations at once are the same as one after the other."""

import numpy as np
import pytest

from experiments.lockstep import Study, run
from xstar.acquisition import EI, PES
from xstar.gp import Fixed, Hyperparameters, Posterior, SliceSampling, SquaredExponential, draw_paths
from xstar.numerics.streams import Streams

R, D, NOISE = 3, 2, 1e-3
HYPER = Hyperparameters(np.full(D, 0.35), 1.0, NOISE)
START = np.random.default_rng(0).random((R, 3, D))


def functions():
    draws = Streams([np.random.default_rng([r, 1]) for r in range(R)], np.random.default_rng(0))
    return draw_paths(Posterior(SquaredExponential(), HYPER, np.zeros((R, 0, D)), np.zeros((R, 0))), 1, draws)


PATHS = functions()


def study(rows, inference):
    return Study(lambda x: PATHS.value(x, np.asarray(rows)), NOISE, inference)


def optimize(rows, acquisition, evaluations, inference=None, **settings):
    task = study(rows, Fixed(HYPER) if inference is None else inference)
    settings = {"like": np.empty(0), **settings}
    return run(task, acquisition, START[rows], evaluations, rows, **settings)


@pytest.mark.parametrize("acquisition", [PES(12, 128), EI(), None], ids=["PES", "EI", "random"])
def test_a_problem_takes_the_same_course_alone(acquisition):
    together = optimize([0, 1, 2], acquisition, 5, threads=2)
    assert together.X.shape == (R, 8, D)
    assert together.y.shape == (R, 8)
    assert together.recommended.shape == (R, 6, D)
    assert together.value.shape == (R, 6)
    for r in range(R):
        alone = optimize([r], acquisition, 5)
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


def test_another_backend_makes_the_same_suggestions():
    torch = pytest.importorskip("torch")
    like = torch.empty(0, dtype=torch.float64)
    paths = draw_paths(
        Posterior(SquaredExponential(), HYPER, torch.zeros((R, 0, D)), torch.zeros((R, 0))), 1,
        Streams([np.random.default_rng([r, 1]) for r in range(R)], np.random.default_rng(0)),
    )  # fmt: skip
    task = Study(lambda x: paths.value(x, np.arange(R)), NOISE, Fixed(HYPER))
    there = run(task, PES(12, 128), START, 4, range(R), like=like)
    here = optimize([0, 1, 2], PES(12, 128), 4)
    np.testing.assert_allclose(there.X, here.X, atol=1e-6)
