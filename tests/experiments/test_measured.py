"""The measured problems are what their samples say, and their maxima are maxima."""

import numpy as np
import pytest
from scipy.optimize import minimize

from experiments.problems.measured import fullerenes, hydrogen, nnet, portfolio
from experiments.sampling.truth import DATA, load

MAKERS = {"nnet": nnet, "portfolio": portfolio, "fullerenes": fullerenes}
DIMENSIONS = {"nnet": 2, "portfolio": 2, "fullerenes": 3}


def search(problem, runs, rng):
    """The largest value that climbs from random points find with difference quotients alone."""
    d = problem.dimension

    def descent(x):
        near = np.clip(x + np.vstack([np.zeros(d), 1e-6 * np.eye(d), -1e-6 * np.eye(d)]), 0.0, 1.0)
        value, ahead, behind = np.split(problem.values(near), [1, 1 + d])
        width = np.diagonal(near[1 : 1 + d] - near[1 + d :])
        return -value[0], -(ahead - behind) / width

    ends = [minimize(descent, x, jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * d) for x in rng.random((runs, d))]
    return max(-end.fun for end in ends)


def sampled_function(x):
    """A hill on the unit square, on top of 2, with its maximum 5 at (0.3, 0.6)."""
    return 2.0 + 3.0 * np.exp(-8.0 * np.sum((x - [0.3, 0.6]) ** 2, axis=1))


def table(rows, rng, noise=0.1):
    x = np.vstack([[0.0, 0.0], [1.0, 1.0], rng.random((rows - 2, 2))])
    y = sampled_function(x) + noise * rng.standard_normal(rows)
    return np.column_stack([6.0 + 3.0 * x[:, 0], 2.0 * x[:, 1], y])


def write(path, rows, header="pH,nitrogen,hydrogen"):
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("name", MAKERS)
class TestStored:
    def test_interface(self, name, rng):
        problem = MAKERS[name]()
        assert (problem.name, problem.dimension, problem.evaluations) == (name, DIMENSIONS[name], 40)
        assert problem.noise > 0.0
        assert MAKERS[name]() is problem
        x = rng.random((5, problem.dimension))
        values = problem.values(x)
        assert values.shape == (5,)
        np.testing.assert_allclose([problem.values(row[None])[0] for row in x], values, rtol=0, atol=1e-11)

    def test_maximum(self, name, rng):
        problem = MAKERS[name]()
        assert np.all((problem.maximizer >= 0.0) & (problem.maximizer <= 1.0))
        assert problem.values(problem.maximizer[None])[0] == pytest.approx(problem.maximum, abs=1e-9)
        assert problem.regret(problem.maximizer[None])[0] <= 1e-9
        assert np.max(problem.values(rng.random((20_000, problem.dimension)))) <= problem.maximum
        assert search(problem, 40, rng) == pytest.approx(problem.maximum, abs=1e-7)
        assert search(problem, 40, rng) <= problem.maximum + 1e-9

    @pytest.mark.slow
    def test_maximum_is_found_again(self, name):
        truth, maximizer, _ = load(DATA / f"{name}.npz")
        np.testing.assert_allclose(truth.maximizer(), maximizer, rtol=0, atol=1e-5)

    def test_evidence_chose_the_kernel(self, name):
        truth, _, _ = load(DATA / f"{name}.npz")
        assert truth.kernel == max(truth.log_evidence, key=truth.log_evidence.get)


@pytest.mark.parametrize("name", ["nnet", "portfolio"])
def test_residuals_have_the_fitted_noise(name):
    truth, _, _ = load(DATA / f"{name}.npz")
    assert truth.X.shape == (1000, 2)
    assert np.all((truth.X >= 0.0) & (truth.X <= 1.0))
    residuals = truth.y - truth.values(truth.X)
    assert np.std(residuals) == pytest.approx(truth.noise, rel=0.03)
    assert abs(np.mean(residuals)) < 0.01 * truth.noise
    # What is left of the samples does not depend on where they are: quarters of the square agree with the whole.
    for quarter in range(4):
        inside = (2 * (truth.X[:, 0] > 0.5) + (truth.X[:, 1] > 0.5)) == quarter
        assert abs(np.mean(residuals[inside])) < 3.5 * truth.noise / np.sqrt(inside.sum())


@pytest.mark.parametrize("name", ["nnet", "portfolio"])
def test_hyperparameters_are_a_mode(name):
    truth, _, _ = load(DATA / f"{name}.npz")
    # The evidence of 1000 samples outweighs the prior, whose own slope is a few units.
    assert np.max(np.abs(truth.posterior.log_marginal_likelihood_gradient())) < 8.0
    assert float(truth.posterior.log_marginal_likelihood()) == pytest.approx(truth.log_evidence[truth.kernel], abs=1e-6)


def test_maxima_where_the_documents_say():
    """Inside the square for NNet and Portfolio; at the lowest temperature for Fullerenes."""
    for problem in (nnet(), portfolio()):
        assert np.all((problem.maximizer > 0.1) & (problem.maximizer < 0.9))
    assert fullerenes().maximizer[2] == 0.0
    assert np.all((fullerenes().maximizer[:2] > 0.1) & (fullerenes().maximizer[:2] < 0.9))


class TestHydrogen:
    def test_from_a_table(self, tmp_path, rng):
        problem = hydrogen(write(tmp_path / "h2.csv", table(66, rng)))
        assert (problem.name, problem.dimension, problem.evaluations) == ("hydrogen", 2, 40)
        assert problem.noise == pytest.approx(0.1, rel=0.3)
        np.testing.assert_allclose(problem.maximizer, [0.3, 0.6], atol=0.08)
        assert problem.maximum == pytest.approx(5.0, abs=0.2)
        x = rng.random((500, 2))
        assert np.sqrt(np.mean((problem.values(x) - sampled_function(x)) ** 2)) < 0.1
        assert search(problem, 20, rng) <= problem.maximum + 1e-9

    def test_spelling_of_the_table(self, tmp_path, rng):
        rows = table(12, rng)
        plain = hydrogen(write(tmp_path / "a.csv", rows))
        other = tmp_path / "b.csv"
        lines = [" Hydrogen ,run,PH,Nitrogen", "", *(f"{h},7,{p},{n}" for p, n, h in rows), ""]
        other.write_bytes("\r\n".join(lines).encode("utf-8-sig"))
        np.testing.assert_array_equal(hydrogen(str(other)).maximizer, plain.maximizer)

    def test_bad_tables(self, tmp_path, rng):
        good = [[str(cell) for cell in row] for row in table(12, rng)]
        path = tmp_path / "h2.csv"
        with pytest.raises(ValueError, match="XSTAR_HYDROGEN_CSV"):
            hydrogen("")
        with pytest.raises(ValueError, match="cannot be read"):
            hydrogen(tmp_path / "nowhere.csv")
        path.write_bytes(b"\xff\xfe\x00\x81")
        with pytest.raises(ValueError, match="cannot be read"):
            hydrogen(path)
        path.write_text("", encoding="utf-8")
        with pytest.raises(ValueError, match="found: nothing"):
            hydrogen(path)
        with pytest.raises(ValueError, match=r"lacks nitrogen \(found: pH, N, hydrogen\)"):
            hydrogen(write(path, good, header="pH,N,hydrogen"))
        with pytest.raises(ValueError, match=r"row 14: .* must be numbers"):
            hydrogen(write(path, [*good, ["7.0", "much", "1.0"]]))
        with pytest.raises(ValueError, match=r"row 14: .* must be numbers"):
            hydrogen(write(path, [*good, ["7.0"]]))
        with pytest.raises(ValueError, match=r"row 14: .* must be finite"):
            hydrogen(write(path, [*good, ["7.0", "nan", "1.0"]]))
        with pytest.raises(ValueError, match="has 9 measurements"):
            hydrogen(write(path, good[:9]))
        with pytest.raises(ValueError, match="two different values"):
            hydrogen(write(path, [["7.0", n, h] for _, n, h in good]))
