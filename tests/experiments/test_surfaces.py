"""The truth of figure 1 against quadrature, and its surfaces."""

import functools
import json
import math

import numpy as np
import pytest
from scipy.stats import norm

from experiments import rejection, surfaces
from experiments.problems import find_problem
from experiments.rejection import information_gain, joint_draws, regular_grid, spacing_bias, spacing_entropy
from experiments.surfaces import METHODS, TRUTH, data_set, likeness

NORMAL = 0.5 * math.log(2.0 * math.pi * math.e)
"""The entropy of a standard normal variable."""


class TestSpacingEntropy:
    @pytest.mark.parametrize("n", [60, 400, 1500])
    @pytest.mark.parametrize("scale", [1e-3, 20.0])
    def test_normal(self, rng, n, scale):
        """One column is off by about (2n)^-1/2, the mean of 300 by a 17th of it; so is the bias, of 400."""
        found = spacing_entropy(5.0 + scale * rng.standard_normal((n, 300))) - spacing_bias(n)
        assert np.mean(found) == pytest.approx(NORMAL + math.log(scale), abs=5.0 * (1 / 300 + 1 / 400) ** 0.5 / n**0.5)
        assert np.std(found) < 1.5 / n**0.5

    def test_uniform(self, rng):
        """Not the law that the bias is of."""
        found = spacing_entropy(rng.uniform(0.0, 3.0, (1500, 50))) - spacing_bias(1500)
        assert np.mean(found) == pytest.approx(math.log(3.0), abs=0.02)

    def test_columns_and_order(self, rng):
        samples = rng.standard_normal((100, 3))
        together = spacing_entropy(samples)
        assert together.shape == (3,)
        np.testing.assert_allclose([spacing_entropy(samples[::-1, [k]])[0] for k in range(3)], together, rtol=1e-14)

    def test_all_the_same(self):
        assert np.all(np.isfinite(spacing_entropy(np.ones((20, 2)))))


class TestGridAndDraws:
    def test_grid(self):
        grid = regular_grid(3, 2)
        assert grid.tolist() == [[a, b] for a in (0, 0.5, 1) for b in (0, 0.5, 1)]

    def test_moments(self, rng):
        """More draws than one block. Means and covariances within 5 of their standard deviations."""
        factor = rng.standard_normal((4, 4))
        mean, covariance, count = np.array([0.0, 3.0, -2.0, 1.0]), factor @ factor.T, 20_001
        draws = joint_draws(mean, covariance, count, rng)
        assert draws.shape == (count, 4)
        variance = np.diag(covariance)
        assert np.all(np.abs(draws.mean(axis=0) - mean) < 5.0 * (variance / count) ** 0.5)
        off = np.abs(np.cov(draws.T) - covariance)
        assert np.all(off < 5.0 * ((np.outer(variance, variance) + covariance**2) / count) ** 0.5)

    def test_singular(self, rng):
        """Neighbors on a fine grid are all but the same."""
        draws = joint_draws(np.zeros(5), np.ones((5, 5)), 1000, rng)
        assert np.all(np.ptp(draws, axis=1) < 1e-3)
        assert np.std(draws[:, 0]) == pytest.approx(1.0, abs=0.15)


def exact_gain(mean, sd, noise):
    """Of independent normal cells, by quadrature: H[y_i] - sum_j P(j is best) H[y_i | j is best]."""
    f = np.linspace(-9.0, 9.0, 3001)
    step = f[1] - f[0]
    density = [norm.pdf(f, m, s) for m, s in zip(mean, sd, strict=True)]
    below = [norm.cdf(f, m, s) for m, s in zip(mean, sd, strict=True)]
    blur = norm.pdf(f[:, None] - f, scale=noise) * step
    cells = range(len(mean))

    def product(parts):
        return functools.reduce(np.multiply, parts, np.ones_like(f))

    gain = np.array([0.5 * math.log(2.0 * math.pi * math.e * (s**2 + noise**2)) for s in sd])
    for best in cells:
        wins = density[best] * product(below[k] for k in cells if k != best)
        chance = wins.sum() * step
        for i in cells:
            joint = wins
            if i != best:
                # p(f_i, best above f_i and above the rest): the tail over f_best, from the right.
                tail = density[best] * product(below[k] for k in cells if k not in (best, i))
                joint = density[i] * (np.cumsum(tail[::-1])[::-1] - 0.5 * tail) * step
            y = blur @ (joint / chance)
            gain[i] += chance * np.sum(y * np.log(np.maximum(y, 1e-300))) * step
    return gain


class TestInformationGain:
    @pytest.mark.parametrize("noise", [0.1, 1.0])
    def test_independent_cells(self, rng, monkeypatch, noise):
        """The entropy of 8000 draws is off by 0.008 (one sd), that of skewed laws by a bias of about as much."""
        monkeypatch.setattr(rejection, "MOST", 8000)
        mean, sd = np.array([0.0, 0.5, -0.3]), np.array([1.0, 0.6, 1.5])
        draws = joint_draws(mean, np.diag(sd**2), 40_000, rng)
        found = information_gain(np.zeros((3, 1)), draws, sd**2, noise, rng)
        np.testing.assert_allclose(found.gain, exact_gain(mean, sd, noise), atol=0.025)
        assert found.coverage == 1.0
        assert found.counts.sum() == len(draws)

    def test_exact_gain_of_two_alike(self):
        """The larger of two standard normal values has variance 1 - 1/pi: the oracle's own check.

        Given which one is larger, each is skew normal: less than the entropy of a normal with that variance.
        """
        gain = exact_gain([0.0, 0.0], [1.0, 1.0], 0.05)
        assert gain[0] == pytest.approx(gain[1], rel=1e-9)
        assert gain[0] >= -0.5 * math.log(1.0 - 1.0 / math.pi)
        assert gain[0] == pytest.approx(-0.5 * math.log(1.0 - 1.0 / math.pi), abs=0.02)

    def test_nothing_to_learn(self, rng):
        """The best cell is known: an observation tells nothing, however few the draws.

        The entropy of 100 draws is off by 0.08 (one sd), the mean of 200 cells by 0.006; uncorrected, by 0.1.
        """
        mean = np.r_[50.0, np.zeros(199)]
        draws = joint_draws(mean, np.eye(200), 100, rng)
        found = information_gain(np.zeros((200, 1)), draws, np.ones(200), 0.1, rng)
        assert found.counts.tolist() == [100] + [0] * 199
        assert np.mean(found.gain) == pytest.approx(0.0, abs=0.04)
        assert np.std(found.gain) < 0.15

    def test_coverage(self, rng):
        """Cells that win seldom are left out, and said so."""
        draws = np.zeros((1000, 3), dtype=np.float32)
        draws[:, 0] = 1.0
        draws[: rejection.FEWEST - 1, 1] = 2.0
        draws[-rejection.FEWEST :, 2] = 2.0
        found = information_gain(np.zeros((3, 1)), draws, np.ones(3), 0.1, rng)
        left_out = rejection.FEWEST - 1
        assert found.counts.tolist() == [1000 - left_out - rejection.FEWEST, left_out, rejection.FEWEST]
        assert found.coverage == pytest.approx(1.0 - left_out / 1000)


class TestDataSet:
    def test_measures_the_function(self):
        post, problem = data_set(1), find_problem("within-model", 1)
        X, y = np.asarray(post.data.X), np.asarray(post.data.y)
        assert X.shape == (10, 2)
        assert np.all((X >= 0.0) & (X <= 1.0))
        off = y - problem.values(X)
        assert 0.0 < np.abs(off).max() < 5.0 * problem.noise, "noise, and no more than that"
        assert float(post.hyper.noise) == problem.noise

    def test_is_the_same_each_time(self):
        first, second, other = data_set(0), data_set(0), data_set(1)
        np.testing.assert_array_equal(first.data.X, second.data.X)
        np.testing.assert_array_equal(first.data.y, second.data.y)
        assert not np.array_equal(first.data.X, other.data.X)


class TestLikeness:
    def test_perfect_and_reversed(self, rng):
        truth = rng.random(50)
        found = likeness({TRUTH: truth, "same": 3.0 * truth + 1.0, "reversed": -truth})
        assert list(found) == ["same", "reversed"]
        assert found["same"] == pytest.approx({"pearson": 1.0, "spearman": 1.0, "attained": 1.0})
        worst = truth.min() / truth.max()
        assert found["reversed"] == pytest.approx({"pearson": -1.0, "spearman": -1.0, "attained": worst})

    def test_ranks(self):
        """What keeps the order has Spearman's correlation 1, but not Pearson's."""
        truth = np.linspace(0.0, 5.0, 30)
        found = likeness({TRUTH: truth, "bent": np.exp(truth)})["bent"]
        assert found["spearman"] == pytest.approx(1.0)
        assert found["pearson"] < 0.9

    def test_attained(self):
        assert likeness({TRUTH: np.array([1.0, 4.0, 2.0]), "off": np.array([0.0, 1.0, 2.0])})["off"]["attained"] == 0.5


class TestSurfaces:
    def test_are_the_same_each_time(self):
        first, second = (surfaces.surfaces(0, draws=500, side=7) for _ in range(2))
        assert list(first) == [TRUTH, *METHODS]
        for name, surface in first.items():
            assert surface.shape == (49,)
            np.testing.assert_array_equal(surface, second[name])

    def test_resemble_the_truth(self):
        """On a coarse grid, over three data sets."""
        found = [likeness(surfaces.surfaces(number, draws=8000, side=21)) for number in range(3)]
        for row in found:
            assert row["PES of xstar"]["pearson"] > 0.8
            assert row["PES of xstar"]["attained"] > 0.7
        of = {name: np.mean([row[name]["pearson"] for row in found]) for name in METHODS}
        assert of["PES of xstar"] > of["PES, 2014"]
        assert of["PES of xstar"] > of["ES"]

    def test_measured_saved_and_loaded(self, tmp_path, monkeypatch):
        whole, told = surfaces.surfaces, []
        monkeypatch.setattr(surfaces, "surfaces", lambda number, draws: whole(number, draws, side=7))
        content = surfaces.measure(2, draws=500, report=told.append)
        assert told == [0, 1]
        assert [row["data_set"] for row in content["likeness"]] == [0, 1]
        assert content["draws"] == 500
        assert content["measured_at"] == data_set(0).data.X.tolist()
        assert content["versions"]["numpy"] == np.__version__
        shown = whole(0, 500, side=7)
        assert {name: row for name, row in content["likeness"][0].items() if name != "data_set"} == likeness(shown)
        for name, surface in shown.items():
            np.testing.assert_allclose(content["surfaces"][name], surface, rtol=1e-3)
        surfaces.save(tmp_path / "sub" / "figure1.json", content)
        assert surfaces.load(tmp_path / "sub" / "figure1.json") == content == json.loads(json.dumps(content))
