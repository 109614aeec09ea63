"""The benchmark of several outputs: its instances, its other methods against Monte Carlo, and what it keeps."""

import json

import numpy as np
import pytest

from benchmarks import accuracy_outputs, measure
from benchmarks.accuracy_outputs import (
    Settings,
    compare,
    constrained_improvement,
    find_instance,
    find_truth,
    hypervolume_improvement,
    keep_truth,
    methods,
    rows_of,
    store,
    two_objectives_improvement,
    variance_reduction,
)
from experiments.rejection import regular_grid
from tests.oracles import dense_gp

FEW = Settings(outer=40, draws=5000, kept=0, fewest=50)
GRID = regular_grid(60, 1)


def draws_of(instance, points, count, rng):
    mean, variance = instance.predict(points)
    return mean[:, None] + np.sqrt(variance)[:, None] * rng.standard_normal((len(mean), count, len(points)))


@pytest.mark.parametrize("kind", ["constrained", "objectives"])
@pytest.mark.parametrize("d", [1, 2])
def test_instances(kind, d):
    """The same for the same seed; the library's posterior is that of the textbook, from which the truth is made."""
    instance, again, other = (find_instance(kind, d, seed) for seed in (4, 4, 5))
    np.testing.assert_array_equal(instance.y, again.y)
    assert not np.array_equal(instance.y[:, :6], other.y[:, :6])
    assert len(instance.bounds) == (kind == "constrained")
    assert 6 <= len(instance.X) <= 10
    points = regular_grid(5, d)
    mean, variance = instance.predict(points)
    for k in range(2):
        lengthscales, variances = instance.lengthscales[k], np.full(len(instance.X), instance.noise[k] ** 2)
        expected, covariance = dense_gp.posterior(
            dense_gp.squared_exponential, lengthscales, 1.0, variances, instance.X, instance.y[k], points
        )
        np.testing.assert_allclose(mean[k], expected, atol=1e-8)
        np.testing.assert_allclose(variance[k], np.diag(covariance), atol=1e-8)


class TestMethods:
    """A mean of 200,000 draws is off by 0.0022 of their standard deviation, which is 1 at the most here."""

    def test_constrained_improvement(self, rng):
        instance = find_instance("constrained", 1, 0)
        at_data, _ = instance.predict(instance.X)
        best = at_data[0, at_data[1] >= instance.bounds[0]].max()
        objective, constraint = draws_of(instance, GRID[::6], 200_000, rng)
        improvement = np.maximum(objective - best, 0.0) * (constraint >= instance.bounds[0])
        found = constrained_improvement(instance, GRID[::6])
        np.testing.assert_allclose(found, improvement.mean(axis=0), atol=0.01)

    def test_feasible_nowhere(self):
        """Then it looks for what is."""
        instance = find_instance("constrained", 1, 0)._replace(bounds=(4.0,))
        mean, variance = instance.predict(GRID)
        found = constrained_improvement(instance, GRID)
        assert np.argmax(found) == np.argmax((mean[1] - 4.0) / np.sqrt(variance[1]))

    def test_hypervolume(self, rng):
        """Areas by counting: of the cells of a fine lattice above the front, those that a draw covers."""
        front = np.array([[0.2, 0.9], [0.6, 0.5], [0.5, 0.4], [0.9, -0.2], [-1.0, 2.0]])
        reference = np.array([0.0, 0.0])
        mean, sd = np.array([[0.5], [0.6]]), np.array([[0.3], [0.2]])
        draws = (mean + sd * rng.standard_normal((2, 20_000)))[..., None, None]
        side = (np.arange(100) + 0.5) / 40.0
        a, b = np.meshgrid(side, side, indexing="ij")
        free = ~np.any([(a < p) & (b < q) for p, q in front], axis=0)
        areas = [np.sum(free & (a < f) & (b < g)) / 1600.0 for f, g in zip(draws[0], draws[1], strict=True)]
        found = hypervolume_improvement(mean, sd, front, reference)
        assert found.shape == (1,)
        assert found[0] == pytest.approx(np.mean(areas), abs=0.006)

    def test_nothing_above_the_reference(self):
        """All of the quadrant is gained: the product of two expected excesses."""
        mean, sd = np.zeros((2, 1)), np.ones((2, 1))
        found = hypervolume_improvement(mean, sd, np.array([[-1.0, -2.0]]), np.zeros(2))
        assert found[0] == pytest.approx(1.0 / (2.0 * np.pi), abs=1e-12)

    def test_surfaces(self):
        assert variance_reduction(find_instance("constrained", 1, 1), GRID).shape == (2, 60)
        surface = two_objectives_improvement(find_instance("objectives", 1, 1), GRID)
        assert surface.shape == (60,)
        assert np.all(surface >= 0.0)


class TestTruths:
    def test_a_truth_compared_with_itself(self):
        truth = find_truth(find_instance("constrained", 1, 0), FEW, 0)
        itself = compare(truth.by_output, truth)
        assert itself["attained"] == itself["level"] == pytest.approx(1.0)
        assert [itself["pearson"], *itself["share"]] == pytest.approx([1.0] * 3)
        assert compare(truth.total, truth)["share"] is None
        assert compare(np.zeros(60) + GRID[:, 0], truth)["pearson"] < 0.9

    @pytest.mark.parametrize("kind", ["constrained", "objectives"])
    @pytest.mark.parametrize("kept", [0, 100])
    def test_kept(self, tmp_path, kind, kept, monkeypatch):
        """Read again as it was written; sampled again with other settings, or for another instance."""
        path, instance, settings = tmp_path / "new" / "a.npz", find_instance(kind, 1, 0), FEW._replace(kept=kept)
        written = keep_truth(path, instance, settings, 0)
        sample, asked = find_truth, []

        def count(*arguments):
            asked.append(arguments)
            return sample(*arguments)

        monkeypatch.setattr(accuracy_outputs, "find_truth", count)
        read = keep_truth(path, instance, settings, 0)
        assert not asked
        for name, value in written._asdict().items():
            if value is None:
                assert getattr(read, name) is None
            elif name == "sets":
                assert read.sets == value
            else:
                np.testing.assert_array_equal(getattr(read, name), value)
        keep_truth(path, instance, settings._replace(outer=41), 0)
        assert len(asked) == 1
        keep_truth(path, find_instance(kind, 1, 1), settings._replace(outer=41), 1)
        assert len(asked) == 2

    def test_rows_and_results(self, tmp_path, monkeypatch):
        """Those of other kinds and dimensions stay when one is measured again."""
        monkeypatch.setattr(measure, "RESULTS", tmp_path / "benchmarks" / "results")
        measure.RESULTS.mkdir(parents=True)
        for kind, instances in (("constrained", (0, 2)), ("objectives", (0,)), ("constrained", (2,))):
            compared = {"variance": variance_reduction}
            rows = [row for seed in instances for row in rows_of(kind, 1, seed, FEW, compared, None)]
            assert [row["method"] for row in rows] == ["random", "variance"] * len(instances)
            store(rows, {f"{kind}_1d": FEW._asdict()})
        found = json.loads((measure.RESULTS / "accuracy_outputs.json").read_text())
        seeds = [(row["kind"], row["seed"]) for row in found["rows"]]
        assert seeds == [("objectives", 0)] * 2 + [("constrained", 2)] * 2
        assert set(found["settings"]) == {"constrained_1d", "objectives_1d"}

    def test_an_instance_that_leaves_nothing_to_learn(self):
        """The second of these: all but one draw in a thousand have their optimum in the same cell."""
        assert not rows_of("constrained", 1, 1, FEW, {}, None)

    def test_without_ours(self, monkeypatch, capsys):
        monkeypatch.setattr(accuracy_outputs, "_ours", lambda module, name: None)
        assert list(methods("objectives")) == ["variance", "EHVI"]
        assert "JointPES cannot be imported" in capsys.readouterr().out

    def test_ours_is_asked_for_each_output(self, monkeypatch):
        """Variants by their settings; objectives, constraints and bounds as the instance has them."""
        told = []

        class Stand:
            def __init__(self, **settings):
                told.append(settings)

            def prepare(self, outputs, rng):
                return self

            def by_output(self, X):
                return np.ones((2, len(X)))

        monkeypatch.setattr(accuracy_outputs, "_ours", lambda module, name: Stand)
        compared = methods("constrained", [{}, {"num_points": 1}])
        assert list(compared)[2:] == ["JointPES()", "JointPES(num_points=1)"]
        instance = find_instance("constrained", 1, 0)
        assert compared["JointPES(num_points=1)"](instance, GRID).shape == (2, 60)
        outputs, settings = told
        assert [len(outputs["objectives"]), len(outputs["constraints"]), outputs["bounds"]] == [1, 1, instance.bounds]
        assert settings == {"num_samples": 100, "num_points": 1}

    def test_the_command(self, tmp_path, monkeypatch, capsys):
        monkeypatch.setattr(accuracy_outputs, "_ours", lambda module, name: None)
        monkeypatch.setitem(accuracy_outputs.SETTINGS, ("objectives", 1), FEW)
        arguments = "--kind objectives --dimension 1 --instances 1 --draws 20000 --no-save --truths"
        accuracy_outputs.main([*arguments.split(), str(tmp_path)])
        shown = capsys.readouterr().out
        for name in ("random", "variance", "EHVI", "standard error"):
            assert name in shown
        assert (tmp_path / "objectives_1d_0.npz").exists()
