import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import dense_gp, differences
from xstar.errors import DataError, SettingsError
from xstar.gp import Hyperparameters, Matern52, Posterior, SquaredExponential
from xstar.gp.likelihood import MarginalLikelihood
from xstar.gp.observations import Observations
from xstar.numerics import arrays

KERNELS = [(SquaredExponential(), dense_gp.squared_exponential), (Matern52(), dense_gp.matern52)]
BOTH = pytest.mark.parametrize("kernel, oracle", KERNELS, ids=["SquaredExponential", "Matern52"])


def problem(rng, n=9, d=2):
    return rng.random((n, d)), rng.standard_normal(n), Hyperparameters(np.linspace(0.3, 0.6, d), 1.4, 0.2)


@BOTH
def test_prediction_against_dense_algebra(backend, rng, kernel, oracle):
    X, y, h = problem(rng)
    Z = np.concatenate([rng.random((4, 2)), X[:2]])
    post = Posterior(kernel, h, backend.array(X), backend.array(y))
    mean, variance = (backend.numpy(part) for part in post.predict(backend.array(Z)))
    joint_mean, covariance = (backend.numpy(part) for part in post.joint(backend.array(Z)))
    expected_mean, expected_covariance = dense_gp.posterior(oracle, h.lengthscales, 1.4, np.full(9, 0.04), X, y, Z)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-9)
    np.testing.assert_allclose(joint_mean, expected_mean, rtol=1e-9)
    np.testing.assert_allclose(variance, np.diag(expected_covariance), rtol=1e-8)
    np.testing.assert_allclose(covariance, expected_covariance, rtol=1e-7, atol=1e-10)


@BOTH
@pytest.mark.parametrize("d", [1, 3])
def test_gradients_of_mean_and_variance_against_differences(backend, rng, kernel, oracle, d):
    X, y, h = problem(rng, d=d)
    x = rng.random(d)
    points = backend.array(np.stack([x, X[0]]))
    post = Posterior(kernel, h, backend.array(X), backend.array(y))
    mean, variance, mean_gradient, variance_gradient = (backend.numpy(part) for part in post.predict_gradient(points))
    host = Posterior(kernel, h, X, y)
    np.testing.assert_allclose(mean, host.predict(np.stack([x, X[0]]))[0], rtol=1e-10)
    np.testing.assert_allclose(variance, host.predict(np.stack([x, X[0]]))[1], rtol=1e-9)
    for k, gradient in enumerate((mean_gradient, variance_gradient)):
        expected = differences.gradient(lambda z, k=k: host.predict(z[None])[k][0], x, 1e-3)
        np.testing.assert_allclose(gradient[0], expected, rtol=1e-6, atol=1e-8)
    assert np.isfinite(mean_gradient).all()


@BOTH
def test_batches_of_hyperparameters_and_data_sets(backend, rng, kernel, oracle):
    """H = 3 hyperparameter samples for each of R = 2 data sets, points shared or one set for each."""
    X, y = rng.random((2, 1, 5, 2)), rng.standard_normal((2, 1, 5))
    h = Hyperparameters(0.2 + rng.random((3, 2)), 0.5 + rng.random(3), 0.1 + rng.random(3))
    Z = rng.random((2, 1, 4, 2))
    post = Posterior(kernel, h, backend.array(X), backend.array(y))
    assert post.batch_shape == (2, 3)
    mean, variance = (backend.numpy(part) for part in post.predict(backend.array(Z)))
    evidence = backend.numpy(post.log_marginal_likelihood())
    slope = backend.numpy(post.log_marginal_likelihood_gradient())
    gradients = [backend.numpy(part) for part in post.predict_gradient(backend.array(Z))]
    joint = backend.numpy(post.joint(backend.array(Z))[1])
    assert mean.shape == variance.shape == (2, 3, 4)
    assert slope.shape == (2, 3, 4)
    for r, k in np.ndindex(2, 3):
        noise = np.full(5, h.noise[k] ** 2)
        scale = h.lengthscales[k], h.amplitude[k]
        expected, covariance = dense_gp.posterior(oracle, *scale, noise, X[r, 0], y[r, 0], Z[r, 0])
        np.testing.assert_allclose(mean[r, k], expected, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(variance[r, k], np.diag(covariance), rtol=1e-7)
        assert evidence[r, k] == pytest.approx(dense_gp.log_evidence(oracle, *scale, noise, X[r, 0], y[r, 0]), rel=1e-9)
        alone = Posterior(kernel, Hyperparameters(*scale, h.noise[k]), X[r, 0], y[r, 0])
        np.testing.assert_allclose(slope[r, k], alone.log_marginal_likelihood_gradient(), rtol=1e-7, atol=1e-9)
        for one, other in zip(gradients, alone.predict_gradient(Z[r, 0]), strict=True):
            np.testing.assert_allclose(one[r, k], other, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(joint[r, k], covariance, rtol=1e-7, atol=1e-10)


@BOTH
def test_known_noise_of_single_observations(backend, rng, kernel, oracle):
    X, y, h = problem(rng, n=6)
    sd = np.array([0.5, np.nan, 0.01, np.nan, 0.0, 2.0])
    variances = np.where(np.isnan(sd), 0.04, sd**2)
    Z = rng.random((3, 2))
    post = Posterior(kernel, h, backend.array(X), backend.array(y), sd)
    expected, covariance = dense_gp.posterior(oracle, h.lengthscales, 1.4, variances, X, y, Z)
    mean, variance = post.predict(backend.array(Z))
    np.testing.assert_allclose(backend.numpy(mean), expected, rtol=1e-8)
    np.testing.assert_allclose(backend.numpy(variance), np.diag(covariance), rtol=1e-7)
    evidence = dense_gp.log_evidence(oracle, h.lengthscales, 1.4, variances, X, y)
    assert float(post.log_marginal_likelihood()) == pytest.approx(evidence, rel=1e-9)


@BOTH
@pytest.mark.parametrize("sd", [None, [0.3, np.nan, np.nan, 0.1, np.nan]])
@pytest.mark.parametrize("d", [1, 2, 6])
def test_likelihood_and_its_gradient(backend, rng, kernel, oracle, sd, d):
    X, y, h = problem(rng, n=5, d=d)
    theta = h.log()

    def evidence(t):
        e = np.exp(t)
        variances = np.full(5, e[-1] ** 2) if sd is None else np.where(np.isnan(sd), e[-1] ** 2, np.square(sd))
        return dense_gp.log_evidence(oracle, e[:-2], e[-2], variances, X, y)

    post = Posterior(kernel, h, backend.array(X), backend.array(y), sd)
    assert float(post.log_marginal_likelihood()) == pytest.approx(evidence(theta), rel=1e-10)
    gradient = backend.numpy(post.log_marginal_likelihood_gradient())
    np.testing.assert_allclose(gradient, differences.gradient(evidence, theta), rtol=1e-7, atol=1e-8)


def test_likelihood_of_many_vectors_at_once(backend, rng):
    X, y = rng.random((2, 6, 2)), rng.standard_normal((2, 6))
    theta = 0.5 * rng.standard_normal((2, 3, 4)) - 1.0
    data = Observations.check(backend.array(X), backend.array(y))
    likelihood = MarginalLikelihood(Matern52(), data)
    value, gradient = (backend.numpy(part) for part in likelihood.value_and_gradient(backend.array(theta)))
    np.testing.assert_allclose(backend.numpy(likelihood.value(backend.array(theta))), value, rtol=1e-12)
    for r, k in np.ndindex(2, 3):
        post = Posterior(Matern52(), Hyperparameters.from_log(theta[r, k]), X[r], y[r])
        assert value[r, k] == pytest.approx(float(post.log_marginal_likelihood()), rel=1e-10)
        np.testing.assert_allclose(gradient[r, k], post.log_marginal_likelihood_gradient(), rtol=1e-8)
    second = likelihood.take(np.array([1]))
    np.testing.assert_allclose(backend.numpy(second.value(backend.array(theta[1:]))), value[1:], rtol=1e-12)


@BOTH
@pytest.mark.parametrize("n, k", [(0, 2), (7, 1), (7, 3)])
def test_extension_equals_starting_anew(backend, rng, kernel, oracle, n, k):
    X, y, h = problem(rng, n=n + k)
    sd = np.where(np.arange(n + k) % 2 == 0, np.nan, 0.3)
    Z = backend.array(rng.random((4, 2)))
    whole = Posterior(kernel, h, backend.array(X), backend.array(y), sd)
    start = Posterior(kernel, h, backend.array(X[:n]), backend.array(y[:n]), sd[:n])
    longer = start.extend(backend.array(X[n:]), backend.array(y[n:]), sd[n:])
    for one, other in zip(whole.predict(Z), longer.predict(Z), strict=True):
        np.testing.assert_allclose(backend.numpy(one), backend.numpy(other), rtol=1e-8)
    assert float(whole.log_marginal_likelihood()) == pytest.approx(float(longer.log_marginal_likelihood()), rel=1e-9)
    assert start.data.count == n


def test_extension_of_a_batch_and_with_unknown_noise(backend, rng):
    X, y, _ = problem(rng, n=6)
    h = Hyperparameters([[0.3, 0.4], [0.5, 0.6]], [1.0, 2.0], 0.1)
    start = Posterior(SquaredExponential(), h, backend.array(X[:4]), backend.array(y[:4]), [0.2, 0.3, 0.2, 0.1])
    longer = start.extend(backend.array(X[4:]), backend.array(y[4:]))
    whole = Posterior(SquaredExponential(), h, X, y, [0.2, 0.3, 0.2, 0.1, np.nan, np.nan])
    Z = rng.random((3, 2))
    np.testing.assert_allclose(backend.numpy(longer.predict(backend.array(Z))[0]), whole.predict(Z)[0], rtol=1e-8)


@BOTH
def test_without_data_the_posterior_is_the_prior(backend, kernel, oracle):
    h = Hyperparameters([0.3, 0.3], 1.5, 0.1)
    post = Posterior(kernel, h, backend.array(np.zeros((0, 2))), backend.array(np.zeros(0)))
    Z = backend.array([[0.1, 0.2], [0.5, 0.9]])
    mean, variance, mean_gradient, variance_gradient = (backend.numpy(part) for part in post.predict_gradient(Z))
    np.testing.assert_array_equal(mean, 0.0)
    np.testing.assert_allclose(variance, 2.25)
    np.testing.assert_array_equal(mean_gradient, np.zeros((2, 2)))
    np.testing.assert_array_equal(variance_gradient, np.zeros((2, 2)))
    assert float(post.log_marginal_likelihood()) == 0.0


def test_blocks_change_nothing(backend, rng, monkeypatch):
    X, y, h = problem(rng)
    Z = backend.array(rng.random((40, 2)))
    post = Posterior(Matern52(), h, backend.array(X), backend.array(y))
    whole = post.predict(Z), post.predict_gradient(Z)
    monkeypatch.setattr(arrays, "BLOCK_ELEMENTS", 64)
    for ones, others in zip(whole, (post.predict(Z), post.predict_gradient(Z)), strict=True):
        for one, other in zip(ones, others, strict=True):
            np.testing.assert_allclose(backend.numpy(one), backend.numpy(other), rtol=1e-12, atol=1e-14)


def test_everything_lives_beside_X(backend, rng):
    """Hyperparameters given as lists follow the data; y and Z may be plain lists."""
    X, y, _ = problem(rng)
    post = Posterior(SquaredExponential(), Hyperparameters([0.3, 0.3], 1.0, 0.1), backend.array(X), y.tolist())
    mean, _ = post.predict([[0.5, 0.5]])
    assert backend.numpy(mean).shape == (1,)


def test_later_changes_of_the_data_do_not_matter(rng):
    X, y, h = problem(rng)
    post = Posterior(SquaredExponential(), h, X, y)
    before = Posterior(SquaredExponential(), h, X.copy(), y.copy()).predict(X)[0]
    y[:] = 99.0
    X[:] = 0.0
    np.testing.assert_allclose(post.predict(post.data.X)[0], before)


@pytest.mark.parametrize("noise", [0.0, 1e-10])
def test_duplicated_noiseless_rows_are_survived_with_jitter(rng, noise):
    X, y, _ = problem(rng)
    X, y = np.repeat(X, 3, axis=0), np.repeat(y, 3)
    post = Posterior(SquaredExponential(), Hyperparameters([0.5, 0.5], 1.0, noise), X, y)
    mean, variance = post.predict(X)
    assert np.all((post.jitter > 0.0) & (post.jitter < 1e-6))
    np.testing.assert_allclose(mean, y, atol=1e-4)
    assert np.all((variance >= 0.0) & (variance < 1e-4))


def test_one_very_noisy_row_does_not_blur_the_others_when_jitter_is_needed(rng):
    X, y, _ = problem(rng)
    X, y = np.concatenate([X, X]), np.concatenate([y, y])
    sd = np.full(18, 0.0)
    sd[0] = 1e8
    post = Posterior(SquaredExponential(), Hyperparameters([0.5, 0.5], 1.0, 0.0), X, y, sd)
    np.testing.assert_allclose(post.predict(X)[0], y, atol=1e-4)


@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-6])
def test_extension_by_a_row_that_is_already_there(rng, noise):
    X, y, _ = problem(rng)
    post = Posterior(SquaredExponential(), Hyperparameters([0.3, 0.3], 1.0, noise), X, y)
    longer = post.extend(X[:2], y[:2])
    assert longer.jitter.shape == (11,)
    np.testing.assert_allclose(longer.predict(X)[0], post.predict(X)[0], atol=1e-4)


def test_noise_that_changes_later_does_not_matter(rng):
    X, y, h = problem(rng)
    sd = np.full(9, 0.1)
    post = Posterior(SquaredExponential(), h, X, y, sd)
    sd[:] = 99.0
    np.testing.assert_array_equal(post.data.noise_sd, 0.1)


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 5))
def test_the_order_of_data_is_irrelevant_and_more_of_them_never_add_variance(seed, n, d):
    """Over four decades of lengthscales and six of amplitudes, with noise of 3 % of the amplitude or more."""
    rng = np.random.default_rng(seed)
    X, Z = rng.random((n, d)), rng.random((6, d))
    amplitude = 10.0 ** rng.uniform(-3, 3)
    y = amplitude * rng.standard_normal(n)
    h = Hyperparameters(10.0 ** rng.uniform(-2, 2, d), amplitude, amplitude * 10.0 ** rng.uniform(-1.5, 1))
    order = rng.permutation(n)
    mean, variance = Posterior(Matern52(), h, X, y).predict(Z)
    other_mean, other_variance = Posterior(Matern52(), h, X[order], y[order]).predict(Z)
    np.testing.assert_allclose(mean, other_mean, rtol=1e-7, atol=1e-9 * amplitude)
    np.testing.assert_allclose(variance, other_variance, rtol=1e-7, atol=1e-9 * amplitude**2)
    _, before = Posterior(Matern52(), h, X[:-1], y[:-1]).predict(Z)
    assert np.all(variance <= before + 1e-9 * amplitude**2)
    assert np.all(before <= float(h.variance))


@given(st.floats(-6.0, 6.0), st.floats(0.1, 10.0))
def test_scaling_of_values_scales_the_posterior(log10_scale, ratio):
    """y, amplitude and noise multiplied by c: mean by c, variance by c^2."""
    rng = np.random.default_rng(1)
    c = 10.0**log10_scale
    X, y, Z = rng.random((6, 2)), rng.standard_normal(6), rng.random((3, 2))
    one = Posterior(SquaredExponential(), Hyperparameters([0.3, 0.4], ratio, 0.1), X, y).predict(Z)
    other = Posterior(SquaredExponential(), Hyperparameters([0.3, 0.4], c * ratio, c * 0.1), X, c * y).predict(Z)
    np.testing.assert_allclose(other[0], c * one[0], rtol=1e-7)
    np.testing.assert_allclose(other[1], c * c * one[1], rtol=1e-7)


HYPER = Hyperparameters([0.3, 0.3], 1.0, 0.1)


@pytest.mark.parametrize(
    "X, y, sd, message",
    [
        ([[0.1, np.nan]], [1.0], None, r"^X must be finite; received 1 NaN or infinite of 2 values"),
        ([[0.1, 0.2]], [np.inf], None, r"^y must be finite"),
        ([0.1, 0.2], [1.0], None, r"^X must have shape \(\.\.\., n, d\).*received \(2,\)\. A single point is a row"),
        ([[0.1, 0.2]], [1.0, 2.0], None, r"^y must have one value per row of X; received shape \(2,\) for X"),
        ([[0.1, 0.2]], 1.0, None, r"^y must have one value per row of X; received shape \(\)"),
        ([[0.1, 0.2, 0.3]], [1.0], None, r"^X has 3 coordinates, but hyperparameters have 2 lengthscales"),
        ([[0.1, 0.2]], [1.0], [-0.1], r"^noise_sd must be >= 0, or NaN .*; received 1 negative"),
        ([[0.1, 0.2]], [1.0], [0.1, 0.2], r"^noise_sd must have one entry per value of y; received shape \(2,\)"),
        ([[0.1, 0.2]], [1.0], ["a"], r"^noise_sd must be numbers"),
        ([["a", "b"]], [1.0], None, r"^X must be numbers"),
        ([], [], None, r"^X must have shape \(\.\.\., n, d\).*received \(0,\)"),
    ],
)  # fmt: skip
def test_bad_data_are_named(X, y, sd, message):
    with pytest.raises(DataError, match=message):
        Posterior(SquaredExponential(), HYPER, X, y, sd)


def test_leading_axes_that_do_not_fit_are_named(rng):
    with pytest.raises(DataError, match=r"leading axes of X, y and noise_sd must agree; received shapes \(2, 4, 2\)"):
        Posterior(SquaredExponential(), HYPER, rng.random((2, 4, 2)), rng.random((3, 4)))
    three = Hyperparameters(np.full((3, 2), 0.3), 1.0, 0.1)
    with pytest.raises(DataError, match=r"hyperparameters, \(3,\), do not fit those of the data, \(2,\)"):
        Posterior(SquaredExponential(), three, rng.random((2, 4, 2)), rng.random((2, 4)))


MASKED = np.ma.array([[0.1, 0.2]], mask=[[True, False]])


@pytest.mark.parametrize(
    "bad", [None, "abc", [["0.1", "0.2"]], [[0.1 + 1j, 0.2]], [[10**400, 1.0]], [[None, 0.1]], MASKED]
)
def test_what_is_not_a_table_of_real_numbers_is_refused(bad):
    with pytest.raises(DataError, match=r"^X must be numbers that form a regular array; received"):
        Posterior(SquaredExponential(), HYPER, bad, [1.0])


def test_a_kernel_class_or_foreign_hyperparameters_are_refused():
    with pytest.raises(SettingsError, match=r"kernel must be a Kernel, for example SquaredExponential\(\); received"):
        Posterior(SquaredExponential, HYPER, [[0.1, 0.2]], [1.0])
    with pytest.raises(SettingsError, match=r"hyper must be a Hyperparameters, for example"):
        Posterior(SquaredExponential(), {"noise": 0.1}, [[0.1, 0.2]], [1.0])


def test_read_only_data_are_welcome(backend, rng):
    X, y, h = problem(rng)
    sd = np.full(9, 0.1)
    for array in (X, y, sd):
        array.flags.writeable = False
    post = Posterior(SquaredExponential(), h, backend.array(X), y, sd)
    assert np.isfinite(backend.numpy(post.predict(X)[0])).all()


def test_bad_points_are_named(rng):
    pair = Hyperparameters(np.full((2, 2), 0.3), 1.0, 0.1)
    two = Posterior(SquaredExponential(), pair, rng.random((3, 2)), rng.random(3))
    for use in (two.predict, two.predict_gradient, two.joint, lambda Z: two.extend(Z, np.zeros((3, 4)))):
        with pytest.raises(DataError, match=r"leading axes of X, \(3,\), do not fit those here, \(2,\)"):
            use(np.zeros((3, 4, 2)))
    post = Posterior(SquaredExponential(), HYPER, rng.random((3, 2)), rng.random(3))
    with pytest.raises(DataError, match=r"X must have 2 coordinates on its last axis; received shape \(1, 3\)"):
        post.predict([[0.1, 0.2, 0.3]])
    with pytest.raises(DataError, match=r"X must be finite"):
        post.joint([[math.nan, 0.2]])
    with pytest.raises(DataError, match=r"X must have 2 coordinates"):
        post.extend([[0.1]], [1.0])
