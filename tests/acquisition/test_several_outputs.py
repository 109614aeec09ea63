"""Joint PES and expected hypervolume improvement: gradients, limits, and sampling."""

import numpy as np
import pytest

from tests.oracles import differences
from tests.oracles.joint_information import Output, joint_information
from xstar.acquisition import PES, JointLogEI, JointPES
from xstar.errors import DataError, SettingsError
from xstar.gp import Hyperparameters, Matern52, Outputs, Posterior, SquaredExponential, draw_paths
from xstar.numerics.pareto import hypervolume, nondominated
from xstar.search import cube

SE = SquaredExponential()


def posterior(seed, d=2, H=3, n=8, kernel=SE):
    rng = np.random.default_rng(seed)
    scales = np.full(d, 0.25 * np.sqrt(d))
    hyper = Hyperparameters(scales * (0.8 + 0.4 * rng.random((H, d))), 0.8 + 0.4 * rng.random(H), 0.05)
    prior = Posterior(kernel, Hyperparameters(scales, 1.0, 0.05), np.zeros((0, d)), np.zeros(0))
    X = np.random.default_rng(0).random((n, d))
    return Posterior(kernel, hyper, X, draw_paths(prior, 1, rng)(X)[0])


def outputs(kind, d=2, kernel=SE):
    return {
        "one": lambda: Outputs((posterior(1, d, kernel=kernel),)),
        "constrained": lambda: Outputs((posterior(1, d, kernel=kernel),), (posterior(2, d, kernel=kernel),), (0.0,)),
        "two": lambda: Outputs((posterior(1, d, kernel=kernel), posterior(2, d, kernel=kernel))),
        "both": lambda: Outputs(
            (posterior(1, d, kernel=kernel), posterior(2, d)), (posterior(3, d), posterior(4, d)), (-0.5, -0.5)
        ),
        "infeasible": lambda: Outputs((posterior(1, d),), (posterior(2, d),), (4.0,)),
    }[kind]()


KINDS = pytest.mark.parametrize("kind", ["one", "constrained", "two", "both", "infeasible"])


@KINDS
@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("kernel", [SE, Matern52()], ids=["SquaredExponential", "Matern52"])
def test_the_gradient_of_joint_information(rng, kind, d, kernel):
    score = JointPES(12, num_features=100).prepare(outputs(kind, d, kernel), np.random.default_rng(1))
    X = rng.random((6, d))
    value, gradient = score.value_and_gradient(X)
    np.testing.assert_allclose(value, score(X))
    np.testing.assert_allclose(score.by_output(X).sum(axis=0), value, atol=1e-12)
    scale = max(np.abs(gradient).max(), 1e-3)
    np.testing.assert_allclose(
        gradient / scale, differences.gradient(lambda s: score(X + s), np.zeros(d), 1e-5) / scale, atol=2e-5
    )


@KINDS
def test_information_is_finite_and_never_below_zero(kind):
    score = JointPES(12, num_features=100).prepare(outputs(kind), np.random.default_rng(1))
    each = score.by_output(np.random.default_rng(2).random((200, 2)))
    assert np.all(np.isfinite(each))
    assert np.all(each >= 0.0)


def test_one_output_is_pes():
    post = posterior(1)
    joint = JointPES(20).prepare(Outputs((post,)), np.random.default_rng(1))
    alone = PES(20).prepare(post, np.random.default_rng(1))
    X = np.random.default_rng(2).random((20, 2))
    np.testing.assert_allclose(joint(X), alone(X), rtol=1e-6, atol=1e-9)


def test_a_constraint_that_always_holds_tells_nothing():
    score = JointPES(20).prepare(Outputs((posterior(1),), (posterior(2),), (-20.0,)), np.random.default_rng(1))
    objective, constraint = score.by_output(np.random.default_rng(2).random((50, 2)))
    assert constraint.max() < 1e-6 < objective.max()


def test_pending_points_are_counted_on():
    together, x = outputs("both"), np.array([[0.4, 0.6]])
    before = JointPES(20).prepare(together, np.random.default_rng(1))
    after = JointPES(20).prepare(together, np.random.default_rng(1), pending=x)
    assert after(x)[0] < 0.3 * before(x)[0]


def on_grid(post, grid):
    mean, covariance = post.joint(grid)
    return Output(mean, covariance, 0.1)


@pytest.mark.parametrize("kind", ["constrained", "two"])
def test_joint_information_against_rejection_sampling(kind):
    """In one dimension, on a data set on which there is much to learn."""
    hyper, X = Hyperparameters([0.2], 1.0, 0.1), np.array([[0.05], [0.3], [0.55], [0.9]])
    first = Posterior(SE, hyper, X, np.array([-0.5, 0.8, 0.2, -0.3]))
    second = Posterior(SE, hyper, X, np.array([0.7, 0.2, -0.4, 0.9]))
    grid = np.linspace(0.0, 1.0, 41)[:, None]
    constrained = kind == "constrained"
    truth = joint_information(
        [on_grid(first, grid)] if constrained else [on_grid(first, grid), on_grid(second, grid)],
        [on_grid(second, grid)] if constrained else [], [0.0] if constrained else [], np.random.default_rng(0),
        outer=30, samples=40_000,
    )  # fmt: skip
    both = Outputs((first,), (second,), (0.0,)) if constrained else Outputs((first, second))
    score = JointPES(100).prepare(both, np.random.default_rng(1))(grid)
    assert np.corrcoef(score, truth.total)[0, 1] > 0.9
    assert truth.total[np.argmax(score)] > 0.85 * truth.total.max()


@pytest.mark.parametrize("kind", ["one", "constrained", "two", "both"])
@pytest.mark.parametrize("found", [True, False])
def test_the_gradient_of_expected_improvement(rng, kind, found):
    together = outputs(kind)
    values = np.stack([post.data.y[0, 0] for post in together.objectives], axis=-1)
    front = values[nondominated(values)] if found else values[:0]
    score = JointLogEI().prepare(together, front, values.min(axis=0) - 0.1)
    X = rng.random((6, 2))
    value, gradient = score.value_and_gradient(X)
    np.testing.assert_allclose(value, score(X))
    np.testing.assert_allclose(
        gradient, differences.gradient(lambda s: score(X + s), np.zeros(2)), rtol=2e-5, atol=1e-5
    )


@pytest.mark.parametrize("J", [1, 2, 3])
def test_expected_improvement_against_sampling(rng, J):
    posts = tuple(posterior(k, H=2) for k in range(J))
    limit = posterior(7, H=2)
    values = np.stack([post.data.y[0, 0] for post in Outputs(posts).objectives], axis=-1)
    front, reference = values[nondominated(values)], values.min(axis=0) - 0.5
    X = rng.random((40, 2))
    score = JointLogEI().prepare(Outputs(posts, (limit,), (-0.2,)), front, reference)(X)
    x, before = X[[np.argmax(score)]], hypervolume(front, reference)
    gains = []
    for h in range(2):
        moments = [post.predict(x) for post in (*posts, limit)]
        draws = np.stack(
            [mean[h, 0] + np.sqrt(variance[h, 0]) * rng.standard_normal(8_000) for mean, variance in moments], axis=-1
        )
        gains += [
            (hypervolume(np.concatenate([front, draw[None, :-1]]), reference) - before) * (draw[-1] >= -0.2)
            for draw in draws
        ]
    error = 4.0 * np.std(gains) / np.sqrt(len(gains))
    assert np.exp(score.max()) == pytest.approx(np.mean(gains), abs=error)


def test_what_does_not_fit_is_refused():
    post = posterior(1)
    with pytest.raises(SettingsError, match="at least one posterior"):
        Outputs(())
    with pytest.raises(SettingsError, match="as many bounds"):
        Outputs((post,), (post,))
    with pytest.raises(DataError, match="the same dimension"):
        Outputs((post, posterior(1, d=1)))
    with pytest.raises(DataError, match="the same batch_shape"):
        Outputs((post, posterior(1, H=2)))
    with pytest.raises(SettingsError, match="domain has 1 columns"):
        JointPES().prepare(Outputs((post,)), np.random.default_rng(0), domain=cube(1))


@pytest.mark.extras
@pytest.mark.parametrize("kind", ["constrained", "two"])
def test_torch_gives_the_same(rng, kind):
    import torch

    here, X, scores = outputs(kind), rng.random((5, 2)), []
    for place in (np.asarray, torch.asarray):
        moved = []
        for post in here.posteriors:
            own = post.hyper.take(np.array([0])).reshaped((-1,))
            X_own, y_own = (place(part[0, 0].copy()) for part in (post.data.X, post.data.y))
            moved.append(Posterior(post.kernel, own, X_own, y_own))
        count = len(here.objectives)
        there = Outputs(tuple(moved[:count]), tuple(moved[count:]), here.bounds)
        joint = JointPES(10, num_features=64).prepare(there, np.random.default_rng(0), pending=place(X[:1]))
        improvement = JointLogEI().prepare(there, np.zeros((1, count)), np.full(count, -2.0))
        scores.append(
            [np.asarray(part) for score in (joint, improvement) for part in score.value_and_gradient(place(X))]
        )
    for one, other in zip(*scores, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
