import numpy as np
import pytest
from scipy import stats

from tests.oracles import differences
from xstar.errors import DataError, SettingsError
from xstar.gp import CommonScale, Gamma, Hyperparameters, Prior


def test_numbers_and_lists_become_arrays():
    h = Hyperparameters(lengthscales=[0.3, 0.5], amplitude=2, noise=1e-3)
    assert h.dimension == 2
    assert h.batch_shape == ()
    assert float(h.variance) == 4.0
    assert float(h.noise_variance) == pytest.approx(1e-6)
    assert h.lengthscales.dtype == np.float64


def test_leading_axes_are_broadcast(backend):
    h = Hyperparameters(backend.array(np.full((3, 1, 2), 0.3)), 1.0, backend.array([0.1, 0.2]))
    assert h.batch_shape == (3, 2)
    assert h.lengthscales.shape == (3, 2, 2)
    assert h.expand().batch_shape == (3, 2, 1)
    flat = h.flatten()
    assert flat.batch_shape == (6,)
    np.testing.assert_array_equal(backend.numpy(flat.noise), [0.1, 0.2] * 3)
    np.testing.assert_array_equal(backend.numpy(flat.take(np.array([1, 3])).noise), [0.2, 0.2])


def test_logarithms_and_back(backend, rng):
    theta = rng.standard_normal((4, 5))
    h = Hyperparameters.from_log(backend.array(theta))
    assert h.dimension == 3
    np.testing.assert_allclose(backend.numpy(h.log()), theta, atol=1e-14)


def test_no_noise_has_no_logarithm_but_is_legal():
    assert Hyperparameters([0.3], 1.0, 0.0).log()[-1] == -np.inf


def test_later_changes_of_the_input_do_not_matter():
    lengthscales = np.array([0.3, 0.4])
    h = Hyperparameters(lengthscales, 1.0, 0.1)
    lengthscales[0] = 99.0
    assert float(h.lengthscales[0]) == 0.3


@pytest.mark.parametrize(
    "arguments, message",
    [
        (([0.3, -0.1], 1.0, 0.1), r"lengthscales must be > 0 .*received -0.1"),
        (([0.3], 0.0, 0.1), r"amplitude must be > 0 .*received 0.0"),
        (([0.3], 1.0, -1e-3), r"noise must be >= 0 .*received -0.001"),
        ((0.3, 1.0, 0.1), r"lengthscales must have one entry per coordinate.*received shape \(\)"),
        (([], 1.0, 0.1), r"lengthscales must have one entry per coordinate.*received shape \(0,\)"),
        (([0.3], [1.0, 2.0], [0.1, 0.1, 0.1]), r"leading axes.*\(1,\), \(2,\) and \(3,\)"),
    ],
)
def test_bad_values_are_named(arguments, message):
    with pytest.raises(SettingsError, match=message):
        Hyperparameters(*arguments)


def test_nan_is_named():
    with pytest.raises(DataError, match="amplitude must be finite"):
        Hyperparameters([0.3], np.nan, 0.1)


def test_prior_density_is_that_of_gamma_variables_in_log_space(backend, rng):
    prior = Prior(lengthscale=[Gamma(2.5, 5.0), Gamma(3.0, 1.0)], amplitude=Gamma(1.5, 0.7), noise=Gamma(1.0, 8.0))
    theta = rng.standard_normal((6, 4))
    value, gradient = prior.log_density_and_gradient(backend.array(theta))
    marginals = [(2.5, 5.0), (3.0, 1.0), (1.5, 0.7), (1.0, 8.0)]
    expected = sum(
        stats.gamma(a, scale=1.0 / b).logpdf(np.exp(theta[:, k])) + theta[:, k] for k, (a, b) in enumerate(marginals)
    )
    np.testing.assert_allclose(backend.numpy(value), expected, rtol=1e-10)
    slope = differences.gradient(lambda t: prior.log_density_and_gradient(t)[0], theta[0])
    np.testing.assert_allclose(backend.numpy(gradient)[0], slope, rtol=1e-7)


def test_lengthscales_with_a_common_scale_are_correlated_log_normal_variables(backend, rng):
    prior = Prior(lengthscale=CommonScale(median=0.7, common=0.8, own=0.5))
    covariance = 0.5**2 * np.eye(3) + 0.8**2
    theta = rng.standard_normal((6, 5))
    value, gradient = prior.log_density_and_gradient(backend.array(theta))
    expected = stats.multivariate_normal(np.full(3, np.log(0.7)), covariance).logpdf(theta[:, :3])
    for k, (a, b) in enumerate([(2.0, 1.0), (1.0, 10.0)], start=3):
        expected += stats.gamma(a, scale=1.0 / b).logpdf(np.exp(theta[:, k])) + theta[:, k]
    np.testing.assert_allclose(backend.numpy(value), expected, rtol=1e-10)
    slope = differences.gradient(lambda t: prior.log_density_and_gradient(t)[0], theta[0])
    np.testing.assert_allclose(backend.numpy(gradient)[0], slope, rtol=1e-6)
    draws = prior.from_normal(prior.draw_scores(20_000, 3, rng))[:, :3]
    np.testing.assert_allclose(np.cov(draws.T), covariance, atol=0.04)
    np.testing.assert_allclose(draws.mean(axis=0), np.log(0.7), atol=0.04)


@pytest.mark.parametrize("field", ["median", "common", "own"])
def test_a_common_scale_that_makes_no_sense_is_refused(field):
    with pytest.raises(SettingsError, match=f"{field} of a CommonScale must be a number > 0"):
        CommonScale(**{field: 0.0})


def test_prior_draws_follow_the_prior_and_stay_in_the_box(rng):
    prior = Prior(Gamma(2.0, 2.0))
    draws = prior.from_normal(prior.draw_scores(20_000, 2, rng))
    lower, upper = prior.box(2)
    assert np.all((draws >= lower - 1e-9) & (draws <= upper + 1e-9))
    assert stats.kstest(np.exp(draws[:, 0]), stats.gamma(2.0, scale=0.5).cdf).pvalue > 1e-4
    np.testing.assert_allclose(np.median(draws, axis=0), prior.median(2), atol=0.05)


def test_the_stated_ranges_of_the_default_prior():
    prior = Prior()
    for gamma, low, high in ((prior.lengthscale, 0.13, 7.8), (prior.amplitude, 0.36, 4.7), (prior.noise, 0.005, 0.3)):
        assert gamma.quantile(0.05) == pytest.approx(low, rel=0.03)
        assert gamma.quantile(0.95) == pytest.approx(high, rel=0.03)


@pytest.mark.parametrize(
    "shape, rate", [(0.0, 1.0), (1.0, -2.0), (np.nan, 1.0), (1.0, np.inf), ("a", 1.0), (1.0, True)]
)
def test_bad_gamma_parameters_are_refused(shape, rate):
    with pytest.raises(SettingsError, match=r"of a Gamma must be a number > 0 and finite; received"):
        Gamma(shape, rate)


def test_small_shapes_have_a_box_and_draws_without_warning(rng):
    prior = Prior(noise=Gamma(0.01, 1.0))
    lower, upper = prior.box(1)
    assert np.isfinite(lower).all()
    assert np.isfinite(prior.from_normal(prior.draw_scores(1000, 1, rng))).all()
    assert np.all(lower < upper)


def test_the_box_holds_nearly_all_of_the_prior():
    lower, upper = (np.exp(end) for end in Prior(Gamma(2.0, 2.0)).box(1))
    for k, (shape, rate) in enumerate([(2.0, 2.0), (2.0, 1.0), (1.0, 10.0)]):
        assert stats.gamma(shape, scale=1.0 / rate).cdf(lower[k]) == pytest.approx(1e-6, rel=1e-3)
        assert stats.gamma(shape, scale=1.0 / rate).sf(upper[k]) == pytest.approx(1e-6, rel=1e-3)


@pytest.mark.parametrize("build", [lambda: Prior(0.3), lambda: Prior([0.3, 0.3]), lambda: Prior(noise=None)])
def test_a_prior_that_is_not_a_gamma_is_refused(build):
    with pytest.raises(SettingsError, match=r"the prior of the (lengthscale|noise) must be a Gamma, for example Gamma"):
        build()


def test_hyperparameters_can_be_compared_and_hashed():
    one, other = Hyperparameters([0.3], 1.0, 0.1), Hyperparameters([0.3], 1.0, 0.1)
    assert one != other
    assert len({one, other, one}) == 2


def test_a_prior_for_other_dimensions_is_refused():
    with pytest.raises(SettingsError, match="2 lengthscale priors for 3 coordinates"):
        Prior(lengthscale=[Gamma(2.0, 2.0)] * 2).box(3)
