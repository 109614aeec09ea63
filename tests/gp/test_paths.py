import copy
import math
from dataclasses import replace

import numpy as np
import pytest

from tests.oracles import differences
from xstar.errors import DataError, SettingsError
from xstar.gp import Hyperparameters, Matern52, Posterior, SquaredExponential, draw_paths
from xstar.gp.features import draw_features
from xstar.gp.paths import _draw_weights
from xstar.numerics import arrays

BOTH = pytest.mark.parametrize("kernel", [SquaredExponential(), Matern52()], ids=["SquaredExponential", "Matern52"])
KINDS = pytest.mark.parametrize("kind", ["exact", "weights"])
COUNT = 10_000


def posterior(kernel, rng, n=8, d=2, noise=0.1, sd=None):
    X = rng.random((n, d))
    return Posterior(kernel, Hyperparameters(np.full(d, 0.35), 1.2, noise), X, np.sin(5.0 * X[:, 0]) + X[:, -1], sd)


def assert_moments(values, mean, covariance, allowance):
    """Sample moments of `COUNT` draws against exact ones.

    Mean within 5 standard errors, each covariance within 5 of its (sqrt(v_i v_j + c_ij^2) / sqrt(N)), plus what the
    finite number of features may add (`allowance`). With fewer than 100 comparisons a correct sampler fails
    with a probability below 1e-4, and the seed is fixed.
    """
    variance = np.diag(covariance)
    np.testing.assert_array_less(np.abs(values.mean(axis=0) - mean), 5.0 * np.sqrt(variance / COUNT) + allowance)
    spread = np.sqrt(np.outer(variance, variance) + covariance**2)
    error = np.abs(np.cov(values.T) - covariance)
    np.testing.assert_array_less(error, 5.0 * spread / math.sqrt(COUNT) + allowance + 1e-12)


@BOTH
@KINDS
def test_moments_of_many_paths_at_and_away_from_the_data(rng, kernel, kind):
    """Exact paths have the exact moments up to sampling error: their features are fresh for each path.

    The paper's weights condition the features themselves, so their moments carry an error of order 1 / sqrt(m).
    """
    post = posterior(kernel, rng)
    Z = np.concatenate([post.data.X[:2], rng.random((3, 2)), [[0.0, 1.0]]])
    # 128 features for each of the exact paths; 1024 for the weights, whose posterior they approximate.
    settings = {"num_features": 128} if kind == "exact" else {"num_features": 1024}
    values = np.concatenate([draw_paths(post, 500, rng, kind=kind, **settings)(Z) for _ in range(COUNT // 500)])
    mean, covariance = post.joint(Z)
    assert_moments(values, mean, covariance, 0.0 if kind == "exact" else 0.02)


def test_known_noise_of_single_observations_enters_the_paths(rng):
    sd = np.array([0.5, np.nan, 1e-3, np.nan, 1.0, 0.2, 0.1, 0.3])
    post = posterior(SquaredExponential(), rng, sd=sd)
    mean, covariance = post.joint(post.data.X)
    for kind, allowance in (("exact", 0.0), ("weights", 0.02)):
        values = np.concatenate(
            [draw_paths(post, 1000, rng, kind=kind, num_features=512)(post.data.X) for _ in range(COUNT // 1000)]
        )
        assert_moments(values, mean, covariance, allowance)


def test_prior_paths_have_the_prior_covariance(rng):
    post = Posterior(Matern52(), Hyperparameters([0.4], 1.5, 0.1), np.zeros((0, 1)), np.zeros(0))
    Z = np.array([[0.1], [0.2], [0.9]])
    values = draw_paths(post, COUNT, rng, num_features=64)(Z)
    assert_moments(values, np.zeros(3), post.joint(Z)[1], 0.0)


@KINDS
def test_noiseless_exact_paths_interpolate(rng, kind):
    post = posterior(SquaredExponential(), rng, noise=1e-6)
    values = draw_paths(post, 20, rng, kind=kind)(post.data.X)
    np.testing.assert_allclose(values, np.broadcast_to(post.data.y, (20, 8)), atol=1e-4)


@pytest.mark.parametrize("n, m", [(6, 40), (40, 6), (12, 12)])
def test_both_ways_to_draw_weights_have_the_stated_distribution(rng, n, m):
    """n < m goes through the n x n system, n >= m through the m x m one; mean and covariance are those of the paper."""
    kernel, noise = SquaredExponential(), 0.3
    h = Hyperparameters([[0.4, 0.4]], [1.0], [noise])
    X, y = rng.random((n, 2)), rng.standard_normal(n)
    phi = draw_features(kernel, h, m, rng)(X)
    precision = phi[0].T @ phi[0] / noise**2 + np.eye(m)
    covariance = np.linalg.inv(precision)
    mean = covariance @ phi[0].T @ y / noise**2
    many = np.broadcast_to(phi, (COUNT, n, m))
    theta = _draw_weights(
        many, np.broadcast_to(y, (COUNT, n)), np.full((COUNT, n), noise**2),
        rng.standard_normal((COUNT, m)), rng.standard_normal((COUNT, n)),
    )  # fmt: skip
    assert_moments(theta, mean, covariance, 0.0)


def test_weights_without_noise_fit_as_well_as_they_can(rng):
    """Many features interpolate; fewer features than data give the least-squares fit."""
    post = posterior(SquaredExponential(), rng, n=30, noise=0.0)
    many = draw_paths(post, 3, rng, kind="weights", num_features=2048)
    np.testing.assert_allclose(many(post.data.X), np.broadcast_to(post.data.y, (3, 30)), atol=1e-3)
    few = draw_paths(post, 3, rng, kind="weights", num_features=8)
    for phi, values in zip(few.features(post.data.X), few(post.data.X), strict=True):
        best = phi @ np.linalg.lstsq(phi, post.data.y)[0]
        np.testing.assert_allclose(values, best, atol=1e-3)


def test_jitter_is_drawn_as_noise(rng):
    """A factor with jitter 0.04 and no noise is that of a noise of 0.2: the same paths."""
    post = posterior(SquaredExponential(), rng, noise=0.2)
    same = copy.copy(post)
    same.hyper = Hyperparameters(post.hyper.lengthscales, post.hyper.amplitude, 0.0)
    same.jitter = np.full(8, 0.04)
    one = draw_paths(post, 5, np.random.default_rng(2))(post.data.X)
    other = draw_paths(same, 5, np.random.default_rng(2))(post.data.X)
    np.testing.assert_allclose(one, other, rtol=1e-12)


@KINDS
def test_no_points_have_no_values(rng, kind):
    paths = draw_paths(posterior(Matern52(), rng), 3, rng, kind=kind)
    nothing = np.zeros((0, 2))
    assert paths(nothing).shape == paths.screen(nothing).shape == (3, 0)
    assert paths.derivatives(nothing).hessian.shape == (3, 0, 2, 2)


@BOTH
@KINDS
@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_derivatives_against_differences(backend, kernel, kind, d):
    draws = np.random.default_rng(8)
    post = posterior(kernel, np.random.default_rng(7), d=d)
    paths = draw_paths(post, 3, draws, kind=kind, num_features=50)
    x = np.random.default_rng(9).random(d)
    slope = differences.gradient(lambda z: paths(z[None])[:, 0], x, 2e-4)
    bend = differences.gradient(lambda z: paths.derivatives(z[None]).gradient[:, 0], x, 2e-4)
    beside = Posterior(kernel, post.hyper, backend.array(post.data.X), backend.array(post.data.y))
    same = draw_paths(beside, 3, np.random.default_rng(8), kind=kind, num_features=50)
    value, gradient, hessian = (backend.numpy(part) for part in same.derivatives(backend.array(x[None])))
    np.testing.assert_allclose(value[:, 0], paths(x[None])[:, 0], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(gradient[:, 0], slope, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(hessian[:, 0], bend, rtol=1e-5, atol=1e-4)
    np.testing.assert_array_equal(hessian, np.swapaxes(hessian, -1, -2))


@KINDS
def test_every_backend_sees_the_same_paths(backend, rng, kind):
    post = posterior(Matern52(), rng)
    Z = rng.random((7, 2))
    expected = draw_paths(post, 4, np.random.default_rng(1), kind=kind)(Z)
    beside = Posterior(Matern52(), post.hyper, backend.array(post.data.X), backend.array(post.data.y))
    result = draw_paths(beside, 4, np.random.default_rng(1), kind=kind)(backend.array(Z))
    np.testing.assert_allclose(backend.numpy(result), expected, rtol=1e-8, atol=1e-10)


@KINDS
def test_batches_of_posteriors(backend, rng, kind):
    """Two data sets, three hyperparameter samples, four paths: each agrees with its own data."""
    X, y = rng.random((2, 1, 5, 2)), rng.standard_normal((2, 1, 5))
    h = Hyperparameters(0.3 + 0.3 * rng.random((3, 2)), 1.0 + rng.random(3), 1e-4)
    post = Posterior(SquaredExponential(), h, backend.array(X), backend.array(y))
    paths = draw_paths(post, 4, rng, kind=kind, num_features=300)
    assert paths.batch_shape == (2, 3, 4)
    own = np.broadcast_to(X[:, :, None], (2, 3, 4, 5, 2))
    values = backend.numpy(paths(backend.array(own)))
    np.testing.assert_allclose(values, np.broadcast_to(y[:, :, None], (2, 3, 4, 5)), atol=5e-3)
    Z = rng.random((6, 2))
    shared = backend.numpy(paths(backend.array(Z)))
    spread = backend.numpy(paths(backend.array(np.broadcast_to(Z, (2, 3, 4, 6, 2)))))
    np.testing.assert_allclose(shared, spread, rtol=1e-9, atol=1e-9)
    value, gradient, hessian = paths.derivatives(backend.array(own))
    np.testing.assert_allclose(backend.numpy(value), values, rtol=1e-8, atol=1e-8)
    assert gradient.shape == (2, 3, 4, 5, 2)
    assert hessian.shape == (2, 3, 4, 5, 2, 2)


def batch_of(backend, rng, noise=1e-4, R=2, H=3, n=5):
    """R data sets with H hyperparameter samples each."""
    X, y = rng.random((R, 1, n, 2)), rng.standard_normal((R, 1, n))
    h = Hyperparameters(0.3 + 0.3 * rng.random((R, H, 2)), 1.0 + rng.random((R, H)), noise)
    return Posterior(SquaredExponential(), h, backend.array(X), backend.array(y)), X, y


@KINDS
@pytest.mark.parametrize("num_sets", [1, 2, 4])
def test_paths_that_share_features(backend, rng, kind, num_sets):
    """Each agrees with its own data, and is the same alone as among others."""
    post, X, y = batch_of(backend, rng)
    paths = draw_paths(post, 4, rng, kind=kind, num_features=300, num_sets=num_sets)
    assert paths.batch_shape == (2, 3, 4)
    assert paths.num_problems == 24
    assert paths.features.frequencies.shape == (6 * num_sets, 300, 2)
    assert paths.weights.shape == (6 * num_sets, 4 // num_sets, 300)
    own = np.broadcast_to(X[:, :, None], (2, 3, 4, 5, 2))
    values = backend.numpy(paths(backend.array(own)))
    np.testing.assert_allclose(values, np.broadcast_to(y[:, :, None], (2, 3, 4, 5)), atol=5e-3)
    Z = rng.random((6, 2))
    shared = backend.numpy(paths(backend.array(Z)))
    at = backend.array(np.broadcast_to(Z, (2, 3, 4, 6, 2)))
    np.testing.assert_allclose(backend.numpy(paths(at)), shared, rtol=1e-9, atol=1e-9)
    whole = [backend.numpy(part) for part in paths.derivatives(at)]
    np.testing.assert_allclose(whole[0], shared, rtol=1e-8, atol=1e-8)
    rows = np.array([17, 3, 22, 3])
    x = backend.array(np.broadcast_to(Z, (4, 6, 2)))
    for one, other in zip(whole, paths.evaluate(x, rows), strict=True):
        np.testing.assert_allclose(one.reshape(24, *one.shape[3:])[rows], backend.numpy(other), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(backend.numpy(paths.value(x, rows)), shared.reshape(24, 6)[rows], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(backend.numpy(paths.take(rows)(x)), shared.reshape(24, 6)[rows], rtol=1e-8, atol=1e-8)


@KINDS
def test_as_many_sets_as_paths_is_the_default(rng, kind):
    post = posterior(Matern52(), rng)
    one, other = (
        draw_paths(post, 4, np.random.default_rng(1), kind=kind, num_sets=sets)(post.data.X) for sets in (None, 4)
    )
    np.testing.assert_array_equal(one, other)


@BOTH
@KINDS
def test_moments_of_paths_that_share_features(rng, kernel, kind):
    """One path of each of many fresh sets has the moments of the posterior; two of a set have no covariance."""
    one = posterior(kernel, rng)
    Z = np.concatenate([one.data.X[:2], rng.random((3, 2)), [[0.0, 1.0]]])
    mean, covariance = one.joint(Z)
    features, allowance = (128, 0.0) if kind == "exact" else (512, 0.03)
    many = Hyperparameters(np.full((250, 2), 0.35), 1.2, 0.1)
    post = Posterior(kernel, many, one.data.X, one.data.y)
    drawn = [draw_paths(post, 4, rng, kind=kind, num_features=features, num_sets=2)(Z) for _ in range(COUNT // 500)]
    pairs = np.concatenate(drawn).reshape(COUNT, 2, len(Z))
    for values in (pairs[:, 0], pairs[:, 1]):
        assert_moments(values, mean, covariance, allowance)
    deviation = pairs - mean
    cross = np.einsum("ni,nj->ij", deviation[:, 0], deviation[:, 1]) / COUNT
    variance = np.diag(covariance)
    # A set of few features has a mean of its own, which weights carry into all paths of the set.
    limit = 5.0 * np.sqrt(np.outer(variance, variance) / COUNT) + allowance
    np.testing.assert_array_less(np.abs(cross), limit)


@KINDS
@pytest.mark.parametrize("elements", [100, 9000])
def test_blocks_change_nothing_where_features_are_shared(rng, monkeypatch, kind, elements):
    post, X, _ = batch_of(Numpy(), rng)
    own, each = rng.random((2, 3, 4, 5, 2)), rng.random((2, 33, 2))

    def everything():
        paths = draw_paths(post, 4, np.random.default_rng(3), kind=kind, num_sets=2)
        return [paths(X[0, 0]), paths(own), paths.screen(each), *paths.derivatives(own)]

    whole = everything()
    monkeypatch.setattr(arrays, "BLOCK_ELEMENTS", elements)
    for one, other in zip(whole, everything(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


class Numpy:
    """Where a test needs no other backend."""

    array = staticmethod(np.asarray)


@KINDS
@pytest.mark.parametrize("num_sets", [None, 2])
def test_screening_groups_of_paths_at_their_own_points(backend, rng, kind, num_sets):
    """Points (R, n, d) are for R groups of paths in a row."""
    post, _, _ = batch_of(backend, rng, noise=1e-2)
    paths = draw_paths(post, 4, rng, kind=kind, num_features=200, num_sets=num_sets)
    for R in (1, 2, 6):
        Z = rng.random((R, 30, 2))
        screened = backend.numpy(paths.screen(backend.array(Z)))
        assert screened.shape == (24, 30)
        at = np.repeat(Z, 24 // R, axis=0).reshape(2, 3, 4, 30, 2)
        exact = backend.numpy(paths(backend.array(at))).reshape(24, 30)
        np.testing.assert_allclose(screened, exact, atol=1e-4)
        for r in range(R):
            rows = slice(r * 24 // R, (r + 1) * 24 // R)
            same = backend.numpy(paths.screen(backend.array(Z[r])))[rows]
            np.testing.assert_allclose(screened[rows], same, atol=2e-5)


@BOTH
@KINDS
def test_rough_derivatives_are_close(backend, rng, kernel, kind):
    post = posterior(kernel, rng)
    beside = Posterior(kernel, post.hyper, backend.array(post.data.X), backend.array(post.data.y))
    paths = draw_paths(beside, 6, rng, kind=kind, num_features=100, num_sets=2)
    for rows in (np.arange(6), np.array([4, 1])):
        x = backend.array(rng.random((len(rows), 5, 2)))
        for rough, exact in zip(paths.evaluate_roughly(x, rows), paths.evaluate(x, rows), strict=True):
            assert rough.dtype == backend.xp.float64
            one, other = backend.numpy(rough), backend.numpy(exact)
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4 * np.abs(other).max())


def test_screening_is_close_to_the_values(backend, rng):
    post = posterior(SquaredExponential(), rng, noise=1e-3)
    beside = Posterior(SquaredExponential(), post.hyper, backend.array(post.data.X), backend.array(post.data.y))
    paths = draw_paths(beside, 5, rng)
    Z = backend.array(rng.random((50, 2)))
    np.testing.assert_allclose(backend.numpy(paths.screen(Z)), backend.numpy(paths(Z)), atol=2e-5)


def test_some_paths_at_their_own_points(backend, rng):
    post = posterior(Matern52(), rng)
    beside = Posterior(Matern52(), post.hyper, backend.array(post.data.X), backend.array(post.data.y))
    paths = draw_paths(beside, 5, rng)
    x = rng.random((5, 3, 2))
    whole = [backend.numpy(part) for part in paths.evaluate(backend.array(x), np.arange(5))]
    for chosen in ([3, 1], [4, 3, 2, 1, 0]):
        part = [backend.numpy(part) for part in paths.evaluate(backend.array(x[chosen]), np.array(chosen))]
        for one, other in zip(whole, part, strict=True):
            np.testing.assert_allclose(one[chosen], other, rtol=1e-9, atol=1e-10)


@KINDS
@pytest.mark.parametrize("elements", [100, 9000])
def test_blocks_change_nothing(rng, monkeypatch, kind, elements):
    """Neither blocks of points nor blocks of paths, in drawing and in evaluating."""
    post = posterior(SquaredExponential(), rng)
    shared, own = rng.random((33, 2)), rng.random((4, 5, 2))

    def everything():
        paths = draw_paths(post, 4, np.random.default_rng(3), kind=kind)
        return [paths(shared), paths(own), paths.screen(shared), *paths.derivatives(shared), *paths.derivatives(own)]

    whole = everything()
    monkeypatch.setattr(arrays, "BLOCK_ELEMENTS", elements)
    for one, other in zip(whole, everything(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def test_bad_settings_are_named(rng):
    post = posterior(SquaredExponential(), rng)
    for bad in (0, 3.0, "3", True):
        with pytest.raises(SettingsError, match="num_paths must be"):
            draw_paths(post, bad, rng)
    with pytest.raises(SettingsError, match="rng must be a Generator"):
        draw_paths(post, 1, 5)
    with pytest.raises(SettingsError, match="post must be a Posterior"):
        draw_paths(post.hyper, 1, rng)
    with pytest.raises(DataError, match=r"leading axes of X, \(3,\), do not fit those here, \(2,\)"):
        draw_paths(post, 2, rng)(np.zeros((3, 4, 2)))
    with pytest.raises(DataError, match=r"X has leading axes \(3, 2\), more than the paths have, \(2,\)"):
        draw_paths(post, 2, rng)(np.zeros((3, 2, 4, 2)))
    with pytest.raises(SettingsError, match='kind must be "exact" or "weights"; received \'both\''):
        draw_paths(post, 1, rng, kind="both")
    with pytest.raises(DataError, match="X must have 2 coordinates"):
        draw_paths(post, 1, rng)(np.zeros((1, 3)))
    for bad, message in (
        (0, "num_sets must be at least 1; received 0"),
        (2.0, "num_sets must be a whole number >= 1; received 2.0"),
        (True, "num_sets must be a whole number >= 1; received True"),
        (3, "num_sets must be a divisor of num_paths=4; received 3"),
        (8, "num_sets must be a divisor of num_paths=4; received 8"),
    ):
        with pytest.raises(SettingsError, match=message):
            draw_paths(post, 4, rng, num_sets=bad)


@pytest.mark.parametrize("curved", [[], [1], [0, 2]])
def test_second_derivatives_between_some_coordinates(rng, curved):
    hyper = Hyperparameters([0.3, 0.5, 0.4], 1.2, 0.1)
    post = Posterior(Matern52(), hyper, rng.random((6, 3)), rng.standard_normal(6))
    paths = draw_paths(post, 4, rng, num_features=60)
    X = rng.random((5, 3))
    full, part = paths.derivatives(X), replace(paths, curved=np.array(curved, dtype=np.int64)).derivatives(X)
    shown = np.zeros((3, 3), dtype=bool)
    shown[np.ix_(curved, curved)] = True
    np.testing.assert_allclose(part.hessian, np.where(shown, full.hessian, 0.0), rtol=1e-12)
    np.testing.assert_allclose(part.gradient, full.gradient, rtol=1e-12)
