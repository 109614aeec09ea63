"""The sampled models: their laws, and that stored samples can be drawn again."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from experiments.sampling import chemistry, nnet, portfolio, refit
from experiments.sampling.truth import DATA, fit, load, save

GARCH = portfolio.Garch.load()
INNOVATIONS = portfolio.Innovations(GARCH)


class TestTruth:
    def test_recovers_a_function(self, rng):
        X = rng.random((150, 2))
        f = 10.0 + 2.0 * np.sin(4.0 * X[:, 0]) * X[:, 1]
        truth = fit(X, f + 0.3 * rng.standard_normal(150), seed=1)
        assert truth.noise == pytest.approx(0.3, rel=0.2)
        assert np.sqrt(np.mean((truth.values(X) - f) ** 2)) < 0.12

    def test_saved_and_loaded(self, tmp_path, rng):
        X = rng.random((20, 2))
        truth = fit(X, X.sum(axis=1), seed=1)
        maximizer = save(truth, tmp_path / "sub" / "t.npz", {"seed": 1})
        again, there, about = load(tmp_path / "sub" / "t.npz")
        np.testing.assert_array_equal(there, maximizer)
        np.testing.assert_array_equal(again.values(X), truth.values(X))
        assert (about, again.noise, again.log_evidence) == ({"seed": 1}, truth.noise, truth.log_evidence)
        first = (tmp_path / "sub" / "t.npz").read_bytes()
        save(truth, tmp_path / "sub" / "t.npz", {"seed": 1})
        assert (tmp_path / "sub" / "t.npz").read_bytes() == first

    def test_constant_values(self, rng):
        with pytest.raises(ValueError, match="values that differ"):
            fit(rng.random((10, 2)), np.ones(10), seed=1)


class TestNNet:
    def test_ranges(self):
        assert nnet.settings_at(np.zeros(2)) == pytest.approx((1e-5, 5))
        assert nnet.settings_at(np.ones(2)) == pytest.approx((1e2, 500))
        decay, iterations = nnet.settings_at(np.array([0.5, 0.5]))
        assert decay == pytest.approx(np.sqrt(1e-3))
        assert iterations == 50

    def test_stored_samples_are_drawn_again(self):
        data = nnet.housing()
        assert data.X.shape == (506, 12)
        stored, _, about = load(DATA / "nnet.npz")
        np.testing.assert_array_equal(stored.X, nnet.design())
        assert about["seed"] == nnet.SEED
        # Rounding grows with the iterations of a training: the shortest ones can be repeated on any machine.
        for index in np.argsort(stored.X[:, 1])[:5]:
            assert nnet.sample(int(index), data) == pytest.approx(stored.y[index], abs=1e-6)


class TestPortfolio:
    def test_weights(self, rng):
        shares = portfolio.weights(rng.random((100, 2)))
        assert np.all(shares >= 0.0)
        np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=0, atol=1e-15)
        corners = portfolio.weights(np.array([[1.0, 0.3], [0.0, 1.0], [0.0, 0.0]]))
        np.testing.assert_array_equal(corners, np.eye(3))

    def test_sharpe_by_hand(self, rng):
        years = rng.normal(0.1, 0.2, (50, 3))
        x = np.array([[1.0, 0.0], [0.4, 0.25]])
        growth = 0.4 * np.exp(years[:, 0]) + 0.15 * np.exp(years[:, 1]) + 0.45 * np.exp(years[:, 2])
        whole = [years[:, 0], np.log(growth)]
        np.testing.assert_allclose(portfolio.sharpe(x, years), [r.mean() / r.std(ddof=1) for r in whole], rtol=1e-12)

    def test_stationary(self):
        assert np.all(GARCH.alpha + GARCH.beta < 1.0)
        assert np.all(GARCH.omega > 0.0)
        assert np.all(GARCH.df > 4.0)
        assert np.all(np.linalg.eigvalsh(GARCH.correlation) > 0.0)

    def test_table_of_innovations(self, rng):
        """The interpolated transform is that of the quantile functions, to 1e-5 of its size."""
        t = -np.abs(rng.standard_t(GARCH.copula_df, (20_000, 3)))
        exact = np.stack([portfolio.exact_innovation(t[:, i], GARCH.copula_df, GARCH.df[i]) for i in range(3)], axis=-1)
        np.testing.assert_allclose(INNOVATIONS.transform(t), exact, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(INNOVATIONS.transform(-t), -exact, rtol=1e-5, atol=1e-6)

    def test_marginals(self):
        """Student t of unit variance, by Kolmogorov and Smirnov; three seeds in ten thousand would fail."""
        e = INNOVATIONS.draw(20_000, np.random.default_rng(1))
        for i, df in enumerate(GARCH.df):
            assert stats.kstest(e[:, i] * np.sqrt(df / (df - 2.0)), stats.t(df).cdf).pvalue > 1e-4

    def test_kendall_tau_of_the_copula(self):
        """tau = 2 / pi arcsin(R), within four standard errors of at most sqrt(4 / (9 n)) each."""
        n = 20_000
        e = INNOVATIONS.draw(n, np.random.default_rng(2))
        for i, j in ((0, 1), (0, 2), (1, 2)):
            tau = stats.kendalltau(e[:, i], e[:, j]).statistic
            assert tau == pytest.approx(
                2.0 / np.pi * np.arcsin(GARCH.correlation[i, j]), abs=4.0 * np.sqrt(4 / (9 * n))
            )

    def test_tails_of_the_copula(self):
        """Few degrees of freedom bring extremes together, by which a fit of the copula finds them again."""
        heavy = replace(GARCH, copula_df=4.0)
        e = portfolio.Innovations(heavy).draw(8_000, np.random.default_rng(3))
        scaled = e * np.sqrt(heavy.df / (heavy.df - 2.0))
        correlation, df = refit.fit_copula(stats.t.cdf(scaled, heavy.df))
        assert df == pytest.approx(4.0, rel=0.1)
        np.testing.assert_allclose(correlation, GARCH.correlation, atol=0.05)

    def test_recursion_step_by_step(self):
        days = portfolio.simulate(GARCH, INNOVATIONS, 30, 2, np.random.default_rng(4))
        e = INNOVATIONS.draw(60, np.random.default_rng(4)).reshape(30, 2, 3)
        for path in range(2):
            for i in range(3):
                h = GARCH.next_variance[i]
                for day in range(30):
                    shock = np.sqrt(h) * e[day, path, i]
                    assert days[day, path, i] == pytest.approx(GARCH.mean[i] + shock, rel=1e-12)
                    h = GARCH.omega[i] + GARCH.alpha[i] * shock**2 + GARCH.beta[i] * h

    def test_variance_goes_to_its_long_run_value(self):
        """E h_t = H + (alpha + beta)^t (h_0 - H) with H = omega / (1 - alpha - beta), to 5 %.

        The fitted models need years to forget their start, so that one which forgets it soon is looked at as well.
        """
        quick = replace(GARCH, omega=0.2 * GARCH.omega / GARCH.omega, beta=0.9 - GARCH.alpha)
        np.testing.assert_allclose(quick.long_run_variance, 2.0, rtol=1e-12)
        shocks = portfolio.simulate(quick, INNOVATIONS, 160, 8_000, np.random.default_rng(5)) - quick.mean
        np.testing.assert_allclose(np.mean(shocks[120:] ** 2, axis=(0, 1)), 2.0, rtol=0.05)
        shocks = portfolio.simulate(GARCH, INNOVATIONS, 60, 20_000, np.random.default_rng(6)) - GARCH.mean
        limit = GARCH.long_run_variance
        for day in (0, 30, 59):
            expected = limit + (GARCH.alpha + GARCH.beta) ** day * (GARCH.next_variance - limit)
            np.testing.assert_allclose(np.mean(shocks[day] ** 2, axis=0), expected, rtol=0.05)

    def test_stored_samples_are_drawn_again(self):
        stored, _, about = load(DATA / "portfolio.npz")
        np.testing.assert_array_equal(stored.X, portfolio.design())
        assert (about["seed"], about["paths"], about["days"]) == (portfolio.SEED, 1000, 252)
        for index in (0, 1, 499, 999):
            assert portfolio.sample(index, GARCH, INNOVATIONS) == pytest.approx(stored.y[index], abs=1e-6)

    def test_surface_against_many_paths(self):
        """The fitted mean is the Sharpe ratio of 20 times as many paths, within four standard errors of that.

        All points share the paths, and with them most of the error: it is as large for many points as for one.
        """
        truth, _, _ = load(DATA / "portfolio.npz")
        daily = portfolio.simulate(GARCH, INNOVATIONS, portfolio.DAYS, 20_000, np.random.default_rng(7))
        x = np.random.default_rng(8).random((50, 2))
        error = truth.values(x) - portfolio.sharpe(x, daily.sum(axis=0) / 100.0)
        assert np.sqrt(np.mean(error**2)) < 4.0 * truth.noise / np.sqrt(20)

    def test_filter_of_arch(self):
        """The conditional variances that the package arch computes from our paths are those that made them."""
        import arch

        days = 800
        returns = portfolio.simulate(GARCH, INNOVATIONS, days, 1, np.random.default_rng(9))[:, 0, :]
        e = INNOVATIONS.draw(days, np.random.default_rng(9))
        for i in range(3):
            model = arch.arch_model(returns[:, i], mean="Constant", vol="GARCH", p=1, q=1, dist="t", rescale=False)
            parameters = [GARCH.mean[i], GARCH.omega[i], GARCH.alpha[i], GARCH.beta[i], GARCH.df[i]]
            # Its filter starts from another variance, which beta^600 has made to be forgotten.
            np.testing.assert_allclose(model.fix(parameters).std_resid[-200:], e[-200:, i], rtol=1e-5, atol=1e-7)

    def test_fit_of_arch(self):
        quick = replace(GARCH, beta=0.9 - GARCH.alpha, alpha=GARCH.alpha + 0.05)
        returns = portfolio.simulate(quick, INNOVATIONS, 6_000, 1, np.random.default_rng(10))[:, 0, 0]
        found, residuals = refit.fit_garch(returns)
        assert found["alpha"] == pytest.approx(quick.alpha[0], abs=0.03)
        assert found["beta"] == pytest.approx(quick.beta[0], abs=0.06)
        assert found["df"] == pytest.approx(quick.df[0], rel=0.25)
        assert np.std(residuals) == pytest.approx(1.0, abs=0.05)
        variance = ((returns[-1] - found["mean"]) / residuals[-1]) ** 2
        ahead = found["omega"] + found["alpha"] * (returns[-1] - found["mean"]) ** 2 + found["beta"] * variance
        assert found["next_variance"] == pytest.approx(ahead, rel=1e-9)


class TestFullerenes:
    def test_retold_in_points_of_our_own(self, rng):
        """Values at the grid say the same as the fit, at any point, to 1e-4 of the range."""
        X = rng.random((120, 3))
        truth = fit(X, np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.05 * rng.standard_normal(120), seed=1)
        own, x = chemistry.retold(truth), rng.random((500, 3))
        assert own.X.shape == (chemistry.KNOTS**3, 3)
        assert own.noise == truth.noise
        np.testing.assert_allclose(own.values(x), truth.values(x), rtol=0, atol=1e-4)

    def test_stored(self):
        stored, _, about = load(DATA / "fullerenes.npz")
        np.testing.assert_array_equal(stored.X, chemistry.own_points(3))
        assert about["largest difference from the fitted mean"] < 1e-5
        assert np.all((stored.y > 0.0) & (stored.y < 1.0))

    def test_stored_is_fitted_again(self):
        stored, _, about = load(DATA / "fullerenes.npz")
        truth = chemistry.measured_fullerenes()
        assert len(truth.y) == about["measurements"] == 246
        assert truth.noise == pytest.approx(stored.noise, rel=1e-4)
        np.testing.assert_allclose(stored.values(truth.X), truth.values(truth.X), rtol=0, atol=1e-4)
        assert np.std(truth.y - truth.values(truth.X)) == pytest.approx(truth.noise, rel=0.25)

    def test_missing_package(self, monkeypatch):
        def absent(name):
            raise chemistry.metadata.PackageNotFoundError(name)

        monkeypatch.setattr(chemistry.metadata, "files", absent)
        with pytest.raises(RuntimeError, match="pip install mopti"):
            chemistry.measured_fullerenes()
