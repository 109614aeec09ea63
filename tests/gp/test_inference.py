import itertools

import numpy as np
import pytest
from scipy import integrate

from tests.oracles.slice_sampling import slice_sample
from xstar.errors import DataError, SettingsError
from xstar.gp import (
    MAP,
    Fixed,
    Gamma,
    Hyperparameters,
    Matern52,
    Posterior,
    PosteriorMean,
    Prior,
    SliceSampling,
    SquaredExponential,
    draw_paths,
)
from xstar.gp.inference import infer_each_under_best
from xstar.gp.log_posterior import LogPosterior
from xstar.gp.observations import Observations
from xstar.numerics import arrays


def data(rng, n=30, d=2, noise=0.1, lengthscale=0.3):
    """A draw from the model itself."""
    h = Hyperparameters(np.full(d, lengthscale), 1.0, noise)
    X = rng.random((n, d))
    path = draw_paths(Posterior(SquaredExponential(), h, np.zeros((0, d)), np.zeros(0)), 1, rng, num_features=2000)
    return X, path(X)[0] + noise * rng.standard_normal(n)


def log_posterior(kernel, prior, theta, X, y):
    post = Posterior(kernel, Hyperparameters.from_log(theta), X, y)
    return float(post.log_marginal_likelihood()) + float(prior.log_density_and_gradient(theta)[0])


def log_prior(prior, theta):
    """Up to a constant, for Gamma(2, 2) lengthscales and for those with a common scale."""
    d = len(theta) - 2
    t, scales = theta[:d], np.exp(theta)
    rest = 2.0 * theta[d] - scales[d] + theta[-1] - 10.0 * scales[-1]
    if isinstance(prior.lengthscale, Gamma):
        return rest + 2.0 * np.sum(t - scales[:d])
    return rest - 0.5 * t @ np.linalg.solve(0.75**2 * np.eye(d) + 1.0, t)


ALL = [
    Fixed(Hyperparameters([0.3, 0.3], 1.0, 0.1)),
    MAP(),
    SliceSampling(num_samples=4, burn_in=2),
    PosteriorMean(SliceSampling(num_samples=4, burn_in=2)),
]


@pytest.mark.parametrize("inference", ALL, ids=lambda i: type(i).__name__)
@pytest.mark.parametrize("n", [0, 1, 12])
def test_every_inference_returns_a_sample_axis_whatever_the_data(backend, rng, inference, n):
    X, y = data(rng, n=12)
    inferred = inference.infer(Matern52(), backend.array(X[:n]), backend.array(y[:n]), rng)
    H = 4 if isinstance(inference, SliceSampling) else 1
    assert inferred.hyper.batch_shape == (H,)
    assert np.isfinite(backend.numpy(inferred.hyper.log())).all()
    post = Posterior(Matern52(), inferred.hyper, backend.array(X[:n]), backend.array(y[:n]))
    assert np.isfinite(backend.numpy(post.predict(backend.array(X))[0])).all()


@pytest.mark.parametrize("inference", ALL, ids=lambda i: type(i).__name__)
def test_batches_of_data_sets(backend, rng, inference):
    """Three unlike data sets: every result belongs to its own, as its density shows."""
    X, y = rng.random((3, 8, 2)), rng.standard_normal((3, 8)) * np.array([[0.2], [1.0], [5.0]])
    inferred = inference.infer(SquaredExponential(), backend.array(X), backend.array(y), rng)
    H = 4 if isinstance(inference, SliceSampling) else 1
    assert inferred.hyper.batch_shape == (3, H)
    if inferred.log_density is not None:
        theta, density = backend.numpy(inferred.hyper.log()), backend.numpy(inferred.log_density)
        for r, k in np.ndindex(3, H):
            expected = log_posterior(SquaredExponential(), Prior(), theta[r, k], X[r], y[r])
            assert density[r, k] == pytest.approx(expected, rel=1e-7)


def test_chains_of_a_batch_stay_with_their_data(rng):
    """One data set wants a noise of 0.003, the other of 2: all samples of each agree with it, none with the other."""
    X = rng.random((2, 40, 1))
    y = np.stack([np.sin(6.0 * X[0, :, 0]) + 0.003 * rng.standard_normal(40), 2.0 * rng.standard_normal(40)])
    noise = SliceSampling(num_samples=12, num_chains=3).infer(SquaredExponential(), X, y, rng).hyper.noise
    assert noise[0].max() < 0.1
    assert noise[1].min() > 0.5


def test_the_burn_in_is_what_comes_first(rng):
    """After a burn-in, samples are those of the later sweeps of the same run without one."""
    X, y = data(rng, n=10)
    whole = SliceSampling(num_samples=8, num_chains=1, burn_in=0, thin=1)
    later = SliceSampling(num_samples=3, num_chains=1, burn_in=5, thin=1)
    one = whole.infer(Matern52(), X, y, np.random.default_rng(4)).hyper.log()
    other = later.infer(Matern52(), X, y, np.random.default_rng(4)).hyper.log()
    np.testing.assert_allclose(one[5:], other)


def test_an_unfinished_search_is_reported(rng):
    X, y = data(rng, n=10)
    assert not MAP(max_iterations=1).infer(Matern52(), X, y, rng).converged


def test_nothing_is_printed_for_empty_data(rng, capfd):
    """LAPACK complains on its own to the standard output when given matrices of size zero."""
    MAP().infer(Matern52(), np.zeros((0, 1)), np.zeros(0), rng)
    assert capfd.readouterr() == ("", "")


def test_blocks_change_nothing(rng, monkeypatch):
    X, y = rng.random((2, 6, 2)), rng.standard_normal((2, 6))
    sampling = SliceSampling(num_samples=6)
    for rows in (slice(None), 0):
        whole = sampling.infer(Matern52(), X[rows], y[rows], np.random.default_rng(1)).hyper.log()
        monkeypatch.setattr(arrays, "BLOCK_ELEMENTS", 100)
        parts = sampling.infer(Matern52(), X[rows], y[rows], np.random.default_rng(1)).hyper.log()
        monkeypatch.undo()
        np.testing.assert_allclose(whole, parts, rtol=1e-6)


def test_map_is_a_mode_and_as_good_as_many_starts(rng):
    X, y = data(rng)
    found = MAP().infer(SquaredExponential(), X, y, rng)
    assert found.converged
    theta = found.hyper.log()[0]
    best = float(found.log_density[0])
    assert best == pytest.approx(log_posterior(SquaredExponential(), Prior(), theta, X, y), rel=1e-9)
    for _ in range(30):
        nearby = theta + 0.05 * rng.standard_normal(theta.shape)
        assert log_posterior(SquaredExponential(), Prior(), nearby, X, y) < best + 1e-6
    thorough = MAP(num_starts=30, max_iterations=300).infer(SquaredExponential(), X, y, rng)
    assert best == pytest.approx(float(thorough.log_density[0]), abs=1e-5)


def test_map_of_a_batch_is_the_map_of_each(rng):
    sets = [data(rng, n=20) for _ in range(3)]
    X, y = np.stack([s[0] for s in sets]), np.stack([s[1] for s in sets])
    together = MAP(num_starts=8).infer(Matern52(), X, y, rng)
    for r in range(3):
        alone = MAP(num_starts=8).infer(Matern52(), X[r], y[r], rng)
        np.testing.assert_allclose(together.log_density[r], alone.log_density, atol=1e-5)
        np.testing.assert_allclose(together.hyper.log()[r], alone.hyper.log(), atol=1e-2)


def test_map_recovers_the_truth_from_plenty_of_data(rng):
    X, y = data(rng, n=250, noise=0.1, lengthscale=0.3)
    hyper = MAP().infer(SquaredExponential(), X, y, rng).hyper
    np.testing.assert_allclose(hyper.lengthscales[0], 0.3, rtol=0.25)
    np.testing.assert_allclose(hyper.noise[0], 0.1, rtol=0.25)


def test_a_narrow_prior_wins_over_the_data(rng):
    X, y = data(rng, n=10)
    prior = Prior(Gamma(1e6, 1e6 / 0.7), Gamma(1e6, 1e6 / 3.0), Gamma(1e6, 1e6 / 0.5))
    hyper = MAP(prior).infer(Matern52(), X, y, rng).hyper
    np.testing.assert_allclose(np.exp(hyper.log()[0]), [0.7, 0.7, 3.0, 0.5], rtol=0.01)


def test_slice_samples_follow_the_posterior(rng):
    """One lengthscale free, the rest pinned by narrow priors: sampled mean and sd against quadrature.

    With about 1500 effective draws the mean has a standard error of sd / 39; 5 of these are allowed.
    """
    X, y = data(rng, n=8, d=1)
    pinned = 1e6
    prior = Prior(Gamma(2.0, 2.0), Gamma(pinned, pinned), Gamma(pinned, pinned / 0.1))
    sampling = SliceSampling(num_samples=4000, prior=prior, num_chains=10, burn_in=20, thin=1)
    inferred = sampling.infer(SquaredExponential(), X, y, rng)
    draws = inferred.hyper.log()[:, 0]

    def density(t, power=0):
        theta = np.array([t, 0.0, np.log(0.1)])
        return t**power * np.exp(log_posterior(SquaredExponential(), prior, theta, X, y) - peak)

    peak = max(
        log_posterior(SquaredExponential(), prior, np.array([t, 0.0, np.log(0.1)]), X, y)
        for t in np.linspace(-4, 2, 61)
    )
    z0, z1, z2 = (integrate.quad(density, -6.0, 3.0, args=(k,), limit=400)[0] for k in range(3))
    mean, sd = z1 / z0, np.sqrt(z2 / z0 - (z1 / z0) ** 2)
    size = float(inferred.effective_sample_size[0])
    assert size > 1500
    assert abs(draws.mean() - mean) < 5.0 * sd / np.sqrt(size)
    assert draws.std() == pytest.approx(sd, rel=0.1)
    assert inferred.r_hat[0] < 1.02


def test_slice_sampling_reports_its_quality():
    """On data with one explanation; between two of them, which other seeds have, chains hardly move."""
    rng = np.random.default_rng(1)
    X, y = data(rng, n=15)
    inferred = SliceSampling(num_samples=40, num_chains=4, burn_in=10).infer(SquaredExponential(), X, y, rng)
    assert inferred.r_hat.shape == inferred.effective_sample_size.shape == (4,)
    assert np.all(inferred.r_hat < 1.5)
    assert np.all(inferred.effective_sample_size > 4)
    assert inferred.evaluations > 0
    for k in (0, 39):
        expected = log_posterior(SquaredExponential(), Prior(), inferred.hyper.log()[k], X, y)
        assert float(inferred.log_density[k]) == pytest.approx(expected, rel=1e-8)


def test_without_data_slice_sampling_draws_from_the_prior(rng):
    inferred = SliceSampling(num_samples=3000, num_chains=10, burn_in=20, thin=1).infer(
        Matern52(), np.zeros((0, 1)), np.zeros(0), rng
    )
    logarithms = np.log(inferred.hyper.lengthscales[:, 0])
    assert logarithms.mean() == pytest.approx(0.0, abs=5.0 * 1.25 / np.sqrt(inferred.effective_sample_size[0]))
    assert logarithms.std() == pytest.approx(1.25, rel=0.1)
    assert inferred.hyper.noise.mean() == pytest.approx(0.1, rel=0.15)


@pytest.mark.parametrize(
    "kernel, n, d, noise, prior",
    [
        (SquaredExponential(), 4, 1, 0.1, Prior(Gamma(2.0, 2.0))),
        pytest.param(Matern52(), 20, 3, 0.3, Prior(Gamma(2.0, 2.0)), marks=pytest.mark.slow),
        pytest.param(Matern52(), 12, 3, 0.3, Prior(), marks=pytest.mark.slow),
    ],
)
def test_short_runs_agree_with_a_long_one_of_another_sampler(rng, kernel, n, d, noise, prior):
    """Pooled over 100 seeds, ten samples each: means and quartiles of theta against 6,000 coordinate-wise sweeps.

    In units of the posterior's standard deviation both are known to about 0.04; 0.2 are allowed.
    """
    X, y = data(rng, n=n, d=d, noise=noise)
    short = np.concatenate(
        [SliceSampling(prior=prior).infer(kernel, X, y, np.random.default_rng(s)).hyper.log() for s in range(100)]
    )
    squares = (X.T[:, :, None] - X.T[:, None, :]) ** 2
    lower, upper = prior.box(d)

    def log_density(theta):
        scales = np.exp(theta)
        (rho,) = kernel.profile(np.tensordot(scales[:d] ** -2.0, squares, 1), 0)
        factor = np.linalg.cholesky(scales[-2] ** 2 * rho + (scales[-1] ** 2 + 1e-12) * np.eye(n))
        whitened = np.linalg.solve(factor, y)
        return -0.5 * whitened @ whitened - np.log(np.diagonal(factor)).sum() + log_prior(prior, theta)

    long = slice_sample(log_density, prior.median(d), rng, sweeps=6020, width=2.0, lower=lower, upper=upper)[20:]
    spread = long.std(axis=0)
    np.testing.assert_allclose(short.mean(axis=0) / spread, long.mean(axis=0) / spread, atol=0.2)
    np.testing.assert_allclose(short.std(axis=0) / spread, 1.0, atol=0.2)
    levels = [0.25, 0.75]
    np.testing.assert_allclose(
        np.quantile(short, levels, axis=0) / spread, np.quantile(long, levels, axis=0) / spread, atol=0.2
    )


def test_the_kernel_with_the_more_probable_mode_is_taken(backend, rng):
    """A smooth function speaks for the smoother kernel, one with a kink against it."""
    X = np.linspace(0.0, 1.0, 30)[:, None]
    kernels = SquaredExponential(), Matern52()
    for y, expected in ((np.sin(6.0 * X[:, 0]), kernels[0]), (np.abs(X[:, 0] - 0.4) * 4.0 - 1.0, kernels[1])):
        heights = [float(MAP().infer(kernel, X, y, rng).log_density[0]) for kernel in kernels]
        assert kernels[int(np.argmax(heights))] == expected
        for inference in (MAP(), SliceSampling(num_samples=4)):
            told = Observations.check(backend.array(X[None]), backend.array(y[None]))
            (chosen,) = infer_each_under_best(kernels, inference, told, rng)
            assert chosen.kernel == expected
            assert np.isfinite(backend.numpy(chosen.inferred.log_density)).all()


def test_a_mode_is_searched_for_once(rng):
    """The choice between kernels costs the search under each of them, and the sampling none more."""
    X, y = data(rng, n=12)
    kernels = SquaredExponential(), Matern52()
    inference = SliceSampling()
    target = LogPosterior(kernels, Observations.check(X, y), Prior())
    searched = inference.mode_search.find_mode(target, np.random.default_rng(3)).evaluations
    told = Observations.check(X[None], y[None])
    (chosen,) = infer_each_under_best(kernels, inference, told, np.random.default_rng(3))
    alone = inference.infer(kernels[0], X, y, np.random.default_rng(3))
    assert searched < chosen.inferred.evaluations < alone.evaluations + searched


def test_known_hyperparameters_leave_no_choice_of_kernel(rng):
    (chosen,) = infer_each_under_best(
        [Matern52(), SquaredExponential()], ALL[0], Observations.check([[[0.5, 0.5]]], [[1.0]]), rng
    )
    assert chosen.kernel == Matern52()
    assert chosen.inferred.evaluations == 0


def test_every_data_set_has_its_own_kernel_and_samples(rng):
    """Each result belongs to its own data set, as its density under that kernel shows."""
    X, y = rng.random((3, 8, 2)), rng.standard_normal((3, 8)) * np.array([[0.2], [1.0], [3.0]])
    found = infer_each_under_best(
        [SquaredExponential(), Matern52()], SliceSampling(num_samples=2), Observations.check(X, y), rng
    )
    assert sorted(number for chosen in found for number in chosen.sets) == [0, 1, 2]
    for chosen in found:
        theta = chosen.inferred.hyper.log()
        for (place, r), k in itertools.product(enumerate(chosen.sets), range(2)):
            expected = log_posterior(chosen.kernel, Prior(), theta[place, k], X[r], y[r])
            assert chosen.inferred.log_density[place, k] == pytest.approx(expected)


def test_posterior_mean_is_the_mean_of_the_samples(rng):
    X, y = data(rng, n=10)
    sampling = SliceSampling(num_samples=12)
    sampled = sampling.infer(Matern52(), X, y, np.random.default_rng(3)).hyper
    mean = PosteriorMean(sampling).infer(Matern52(), X, y, np.random.default_rng(3)).hyper
    np.testing.assert_allclose(mean.lengthscales[0], sampled.lengthscales.mean(axis=0))
    np.testing.assert_allclose(mean.noise[0], sampled.noise.mean())


@pytest.mark.parametrize("inference", ALL, ids=lambda i: type(i).__name__)
def test_the_seed_decides(rng, inference):
    X, y = data(rng, n=10)
    one = inference.infer(Matern52(), X, y, np.random.default_rng(3)).hyper
    other = inference.infer(Matern52(), X, y, np.random.default_rng(3)).hyper
    np.testing.assert_array_equal(one.log(), other.log())


def test_backends_agree(backend, rng):
    X, y = data(rng, n=10)
    expected = MAP().infer(Matern52(), X, y, np.random.default_rng(3)).hyper.log()
    result = MAP().infer(Matern52(), backend.array(X), backend.array(y), np.random.default_rng(3)).hyper.log()
    np.testing.assert_allclose(backend.numpy(result), expected, atol=1e-4)


def test_known_noise_reaches_the_likelihood(rng):
    """Noise stated as large explains the scatter: the signal becomes smoother than when the noise is stated as tiny."""
    X = np.linspace(0.0, 1.0, 25)[:, None]
    y = np.sin(3.0 * X[:, 0]) + 0.4 * rng.standard_normal(25)
    noisy = MAP().infer(SquaredExponential(), X, y, rng, noise_sd=np.full(25, 0.4)).hyper
    clean = MAP().infer(SquaredExponential(), X, y, rng, noise_sd=np.full(25, 1e-3)).hyper
    assert noisy.lengthscales[0, 0] > 3.0 * clean.lengthscales[0, 0]


def test_fixed_keeps_a_sample_axis():
    hyper = Hyperparameters([[0.3], [0.4]], [1.0, 1.0], 0.1)
    inferred = Fixed(hyper).infer(Matern52(), [[0.5]], [1.0], np.random.default_rng(0))
    assert inferred.hyper.batch_shape == (2,)


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda: MAP(num_starts=0), "num_starts must be at least 1; received 0"),
        (lambda: SliceSampling(num_samples=0), "num_samples must be at least 1; received 0"),
        (lambda: SliceSampling(thin=1.5), "thin must be a whole number >= 1; received 1.5"),
        (lambda: MAP(num_starts=True), "num_starts must be a whole number >= 1; received True"),
        (lambda: MAP("broad"), r"prior must be a Prior, for example Prior\(\); received 'broad'"),
        (lambda: PosteriorMean(MAP()), "sampling must be a SliceSampling"),
        (lambda: Fixed({"noise": 1}), "hyper must be a Hyperparameters"),
        (lambda: Fixed(Hyperparameters(np.ones((2, 2, 1)), 1.0, 1.0)), r"at most one leading axis; received \(2, 2\)"),
        (lambda: SliceSampling(burn_in=-1), "burn_in must be at least 0; received -1"),
        (lambda: MAP(tolerance=0.0), "tolerance must be a number > 0 and finite; received 0.0"),
        (lambda: MAP(num_prior_draws=0), "num_prior_draws must be at least 1; received 0"),
    ],
)
def test_bad_settings_are_named(build, message):
    with pytest.raises(SettingsError, match=message):
        build()


def test_bad_data_are_named(rng):
    with pytest.raises(DataError, match="y must be finite"):
        MAP().infer(Matern52(), [[0.5]], [np.nan], rng)
    with pytest.raises(SettingsError, match=r"kernel must be a Kernel, for example SquaredExponential\(\)"):
        MAP().infer(Matern52, [[0.5]], [1.0], rng)
    with pytest.raises(SettingsError, match=r"rng must be a Generator"):
        SliceSampling().infer(Matern52(), [[0.5]], [1.0], 3)
    with pytest.raises(SettingsError, match="Fixed has 2 lengthscales, but the data have 1 coordinates"):
        ALL[0].infer(Matern52(), [[0.5]], [1.0], rng)


@pytest.mark.parametrize("seed", range(8))
def test_a_function_that_varies_quickly_is_not_taken_for_noise(seed):
    """Two explanations 15 nats apart: the better one is narrow, and few draws from the prior come near it."""
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.random((40, 2)), np.clip(0.3 + 0.1 * rng.standard_normal((4, 2)), 0.0, 1.0)])
    u = 1.6 * X - 0.5
    values = -np.sum(u**2 - 0.3 * np.cos(3.0 * np.pi * u), axis=1) + 0.03 * rng.standard_normal(44)
    y = (values - values.mean()) / values.std()
    thorough = MAP(num_starts=24, num_prior_draws=2048).infer(SquaredExponential(), X, y, np.random.default_rng(99))
    found = MAP().infer(SquaredExponential(), X, y, np.random.default_rng(seed))
    assert float(found.log_density[0]) > float(thorough.log_density[0]) - 0.1


@pytest.mark.parametrize(
    "inference", [MAP(), SliceSampling(num_samples=4), PosteriorMean(SliceSampling(num_samples=4))]
)
def test_a_tempered_posterior_is_that_of_a_power_of_the_likelihood(inference):
    X, y = np.random.default_rng(0).random((7, 2)), np.random.default_rng(1).standard_normal(7)
    half = inference.tempered(0.5)
    assert half.mode_search.power == 0.5
    assert half.tempered(0.5).mode_search.power == 0.25
    assert half.tempered(2.0) == inference
    data = Observations.check(X, y)
    theta = np.log([[0.3, 0.4, 1.1, 0.2]])
    whole, part = (LogPosterior([Matern52()], data, Prior(), power=power) for power in (1.0, 0.5))
    np.testing.assert_allclose(part.log_likelihood_of_all(theta), 0.5 * whole.log_likelihood_of_all(theta))
    one, other = (target.likelihood(theta[None], np.array([0])) for target in (whole, part))
    np.testing.assert_allclose(other.value, 0.5 * one.value)
    np.testing.assert_allclose(other.gradient, 0.5 * one.gradient)
    with pytest.raises(SettingsError, match="power"):
        inference.tempered(0.0)


def test_a_tempered_posterior_is_wider():
    X = np.linspace(0.0, 1.0, 12)[:, None]
    y = np.sin(6.0 * X[:, 0])
    sharp, wide = (
        SliceSampling(num_samples=200, thin=10, power=power).infer(Matern52(), X, y, np.random.default_rng(0)).hyper
        for power in (1.0, 0.25)
    )
    assert np.std(np.log(wide.lengthscales)) > 1.3 * np.std(np.log(sharp.lengthscales))


def test_known_hyperparameters_are_not_tempered():
    known = Fixed(Hyperparameters([0.3], 1.0, 0.1))
    assert known.tempered(0.5) is known
