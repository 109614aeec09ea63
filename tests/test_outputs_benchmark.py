"""The instruments that constraints and several objectives are measured with: problems, regrets, runs, comparisons."""

import importlib.util
import json
import math
import types

import numpy as np
import pytest

import xstar
from benchmarks import measure
from benchmarks.outputs import optima, peers, regrets, runs, table
from benchmarks.outputs.hypervolume import hypervolume, nondominated
from benchmarks.outputs.problems import MAKERS, NAMES, OutputProblem, problem, spread
from benchmarks.outputs.runs import Job

ONE = [name for name in NAMES if not problem(name).several]
SEVERAL = [name for name in NAMES if problem(name).several]


def published(name):
    """The best value as it is printed, where that is less exact, and how exactly."""
    return {
        "gramacy": (0.5998, 1e-4), "branin-disk": (0.397887, 1e-6), "spring": (0.012665, 1e-6),
        "welded-beam": (1.724852, 1e-6), "pressure-vessel": (5885.33, 1e-2), "speed-reducer": (2996.3482, 1e-4),
    }.get(name)  # fmt: skip


class TestHypervolume:
    def test_in_one_and_two_dimensions(self):
        assert hypervolume(np.array([[0.5], [0.25]]), np.array([1.0])) == 0.75
        stairs = np.array([[0.0, 0.5], [0.5, 0.0], [0.5, 0.5], [2.0, -1.0]])
        assert hypervolume(stairs, np.array([1.0, 1.0])) == 0.75
        assert hypervolume(np.zeros((0, 2)), np.ones(2)) == 0.0

    @pytest.mark.parametrize("m", [2, 3, 4, 5])
    @pytest.mark.parametrize("digits", [None, 1])
    def test_is_the_share_of_random_points_that_are_dominated(self, m, digits, rng):
        """Ties included; five standard errors."""
        points = rng.random((12, m)) ** 0.5 * 1.1
        points = points if digits is None else points.round(digits)
        everywhere = rng.random((40_000, m))
        share = np.any(np.all(points[:, None, :] <= everywhere, axis=2), axis=0).mean()
        assert hypervolume(points, np.ones(m)) == pytest.approx(share, abs=5.0 * (0.25 / 40_000) ** 0.5)

    @pytest.mark.parametrize("m", [3, 4])
    def test_sweep_and_slices_agree(self, m, rng):
        """An objective that does nothing but add a thickness of one half."""
        points = rng.random((60, m - 1))
        thick = np.column_stack([points, np.full(60, 0.5)])
        assert hypervolume(thick, np.ones(m)) == pytest.approx(0.5 * hypervolume(points, np.ones(m - 1)), rel=1e-12)

    @pytest.mark.parametrize("m", [1, 2, 3, 4])
    def test_nondominated(self, m, rng):
        points = rng.integers(0, 6, (80, m)).astype(float)
        dominated = np.array([np.any(np.all(points <= p, axis=1) & np.any(points < p, axis=1)) for p in points])
        kept = nondominated(points)
        assert not np.any(kept & dominated)
        fronts = [{tuple(p) for p in points[which]} for which in (kept, ~dominated)]
        assert fronts[0] == fronts[1]
        assert kept.sum() == len(fronts[0]), "of equal points one is kept"


class TestProblems:
    @pytest.mark.parametrize("name", ONE)
    def test_the_stated_optimum_is_feasible_and_has_its_value(self, name):
        task = problem(name)
        U = np.array(task.optimizer)
        x = task.in_cube(U)
        assert np.all((x >= -1e-12) & (x <= 1.0 + 1e-12))
        values = task.values(x)
        assert values[next(iter(task.objectives))][0] == pytest.approx(task.optimum, rel=1e-6)
        limits = np.array([limit for _, limit in task.constraints.values()])
        assert np.all(task.violations(values)[0] <= 1e-5 * np.maximum(np.abs(limits), 1.0)), "but for rounding"
        assert task.worst > task.optimum
        if published(name) is not None:
            value, exactly = published(name)
            assert task.optimum == pytest.approx(value, abs=exactly)

    @pytest.mark.parametrize("name", ONE)
    def test_a_search_comes_to_the_optimum_and_not_below(self, name):
        task = problem(name)
        found = optima.climb(task, 12 if task.dimension < 3 else 4, seed=1)
        assert found.loss >= task.optimum - 1e-6 * abs(task.optimum)
        assert found.loss <= task.optimum + 0.2 * abs(task.optimum)
        worst = optima.climb(task, 4, seed=1, sign=-1.0)
        assert worst.loss <= task.worst * (1.0 + 1e-4)

    @pytest.mark.parametrize("name", [name for name in SEVERAL if name != "digits"])
    def test_a_search_comes_near_the_largest_hypervolume_and_not_above(self, name):
        task = problem(name)
        points = optima.front(task, 3000, 6, seed=1)
        found = hypervolume(points, task.signs * np.array(task.reference))
        assert 0.97 * task.hypervolume <= found <= task.hypervolume

    def test_hypervolumes_by_formula(self):
        """Of curves that are known, by many points on them."""
        f = np.linspace(0.0, 1.0, 100_001)
        curves = {
            "zdt1-4": 1.0 - np.sqrt(f), "zdt2-4": 1.0 - f**2, "dtlz2-4": np.sqrt(1.0 - f**2),
            "zdt3-4": 1.0 - np.sqrt(f) - f * np.sin(10.0 * math.pi * f),
        }  # fmt: skip
        for name, g in curves.items():
            volume = hypervolume(np.column_stack([f, g]), np.array(problem(name).reference))
            assert volume == pytest.approx(problem(name).hypervolume, rel=1e-4)
            assert volume <= problem(name).hypervolume + 1e-8

    def test_of_another_dimension(self):
        task = problem("zdt1-6")
        assert task.dimension == 6
        x = np.array([0.25, 0.0, 0.0, 0.0, 0.0, 0.0])
        assert task.evaluate(x) == {"f": 0.25, "g": 0.5}
        assert runs.start_of(task, 0).shape == (14, 6)

    def test_unknown(self):
        with pytest.raises(KeyError, match="no problem 'branin'; there are gardner1, gardner2"):
            problem("branin")

    def test_branin_where_currin_is_at_its_edge(self):
        values = problem("branin-currin").values(np.array([[0.5, 0.0], [0.5, 1e-9]]))
        assert values["currin"][0] == pytest.approx(values["currin"][1], rel=1e-6)

    @pytest.mark.parametrize("name", [name for name in NAMES if name != "digits"])
    def test_outputs_are_numbers_everywhere(self, name, rng):
        task = problem(name)
        corners = np.stack(np.meshgrid(*[[0.0, 1.0]] * task.dimension), axis=-1).reshape(-1, task.dimension)
        values = task.values(np.vstack([corners, rng.random((100, task.dimension))]))
        assert tuple(values) == task.outputs
        assert all(np.all(np.isfinite(found)) for found in values.values())
        assert all(found > 0.0 for found in spread(task).values())

    def test_forests_are_the_same_each_time(self):
        task = problem("digits")
        x = np.array([0.5, 0.6, 0.4])
        first = task.evaluate(x)
        assert first == task.evaluate(x + 1e-6)
        assert 0.5 < first["accuracy"] < 1.0
        assert task.signs.tolist() == [-1.0, 1.0], "more accuracy, less size"
        assert task.losses(first)[0].tolist() == [-first["accuracy"], first["size"]]

    def test_noise(self):
        task = problem("gardner1", 0.1)
        x = np.array([0.2, 0.3])
        told = [task.evaluate(x, np.random.default_rng(seed))["c"] for seed in range(200)]
        exact = task.evaluate(x)["c"]
        assert np.std(told) == pytest.approx(0.1 * spread(task)["c"], rel=0.25)
        assert np.mean(told) == pytest.approx(exact, abs=4.0 * np.std(told) / 200**0.5)


def hill(constraints=None, **settings):
    """x0, to be maximized, on the unit square."""
    return OutputProblem(
        "hill", ((0.0, 1.0),) * 2, lambda U: {"f": U[:, 0], "c": U[:, 1]}, {"f": "maximize"}, constraints or {},
        optimum=1.0, worst=-0.5, **settings,
    )  # fmt: skip


class TestRegrets:
    X = np.array([[0.9, 0.8], [0.25, 0.25], [0.75, 0.0], [0.5, 0.0]])

    def test_of_one_objective(self):
        assert regrets.evaluated(hill(), self.X) == pytest.approx([0.1, 0.1, 0.1, 0.1])
        limited = hill({"c": ("<=", 0.5)})
        assert regrets.evaluated(limited, self.X) == pytest.approx([1.5, 0.75, 0.25, 0.25]), "infeasible: the worst"
        assert regrets.recommended(limited, self.X[:1]) == pytest.approx(1.5)
        assert regrets.recommended(limited, self.X[3:]) == pytest.approx(0.5)
        other = hill({"c": (">=", 0.5)})
        assert regrets.evaluated(other, self.X[::-1]) == pytest.approx([1.5, 1.5, 1.5, 0.1])

    def test_of_several(self):
        task = OutputProblem(
            "plane", ((0.0, 1.0),) * 2, lambda U: {"f": U[:, 0], "g": U[:, 1], "c": U[:, 0]},
            {"f": "minimize", "g": "maximize"}, {"c": (">=", 0.3)}, reference=(1.0, 0.0), hypervolume=1.0,
        )  # fmt: skip
        X = np.array([[0.25, 0.75], [0.75, 1.0], [0.5, 0.5], [0.75, 0.25]])
        assert regrets.evaluated(task, X) == pytest.approx([1.0, 0.75, 0.625, 0.625])
        assert regrets.recommended(task, X[1:2]) == pytest.approx(0.75)
        assert regrets.recommended(task, X[:1]) == 1.0, "infeasible"
        assert regrets.recommended(task, np.zeros((0, 2))) == 1.0


class TestPeers:
    def test_what_is_best_of_what_was_told(self):
        task = hill({"c": ("<=", 0.5)})
        record = peers.Record(task)
        for x in TestRegrets.X:
            record.add(x, task.evaluate(x))
        assert record.best(record.values).tolist() == [[0.75, 0.0]]
        means = {**record.values, "c": np.array([0.0, 1.0, 1.0, 0.2])}
        assert record.best(means).tolist() == [[0.9, 0.8]], "by other values"
        none = {**record.values, "c": np.array([2.0, 1.0, 0.6, 0.7])}
        assert record.best(none).tolist() == [[0.75, 0.0]], "the least infeasible"

    def test_what_to_do_without_a_library(self, monkeypatch):
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        with pytest.raises(ModuleNotFoundError, match=r"botorch needs torch and botorch, .*`make peers`"):
            peers.begin("botorch", hill(), 0, 6)

    def test_unknown(self):
        with pytest.raises(ValueError, match=r"no method 'cma'; there are xstar, "):
            peers.begin("cma", hill(), 0, 6)

    @pytest.mark.parametrize("name", ["gramacy", "zdt1-4", "c2-dtlz2-4"])
    @pytest.mark.parametrize("method", ["optuna-tpe", "optuna-nsga2", "random"])
    def test_same_repeat_same_run(self, method, name):
        first, again, other = (runs.run(Job(name, method, repeat, 5, 0.0)) for repeat in (3, 3, 4))
        assert {**first, "cpu_seconds": 0.0} == {**again, "cpu_seconds": 0.0}
        assert first["evaluated"] != other["evaluated"]
        assert first["degraded"] == 0

    @pytest.mark.parametrize("method", ["optuna-tpe", "optuna-nsga2"])
    def test_studies_know_what_is_feasible(self, method):
        task = problem("gardner2")
        session = peers.begin(method, task, 0, 6)
        X = np.vstack([runs.start_of(task, 0), task.in_cube(np.add(task.optimizer, [0.0, 0.01]))])
        for x in X:
            session.tell(x, task.evaluate(x))
        assert session.study.best_trial.number == 6
        session.tell(session.ask(), task.evaluate(X[0]))
        assert [trial.state.name for trial in session.study.trials] == ["COMPLETE"] * 8
        assert session.recommend() == pytest.approx(X[6:7])

    @pytest.mark.extras
    @pytest.mark.parametrize("name", ["gardner1", "branin-currin", "c2-dtlz2-2"])
    @pytest.mark.parametrize(
        "method, noise",
        [("optuna-gp", 0.0), ("optuna-gp", 0.1), ("optuna-gp-exact", 0.0), ("botorch", 0.1), ("botorch-exact", 0.0)],
    )
    def test_those_with_models_are_better_than_their_start(self, method, name, noise, monkeypatch):
        monkeypatch.setattr("experiments.peers.NUM_RESTARTS", 2)
        monkeypatch.setattr("experiments.peers.RAW_SAMPLES", 64)
        row = runs.run(Job(name, method, 0, 7, noise))
        assert row["degraded"] == 0
        assert row["evaluated"][-1] < row["evaluated"][0]


class TestRuns:
    def test_starts_are_shared(self):
        rows = [runs.run(Job("branin-disk", method, 1, 10, 0.0)) for method in ("random", "optuna-tpe")]
        assert rows[0]["evaluated"][0] == rows[1]["evaluated"][0]
        assert rows[0]["start"] == 6
        for row in rows:
            assert len(row["evaluated"]) == 20 - 6 + 1
            assert list(row["recommended"]) == [str(n) for n in range(6, 21, 2)]
            assert np.all(np.diff(row["evaluated"]) <= 0.0)
            assert row["recommended"]["20"] == row["evaluated"][-1], "without noise the best one is known"

    def test_rows_are_kept_and_not_made_again(self, tmp_path, monkeypatch):
        monkeypatch.setattr(measure, "RESULTS", tmp_path / "benchmarks" / "results")
        (tmp_path / "benchmarks").mkdir()
        jobs = [Job("gardner1", "random", repeat, 4, 0.0) for repeat in range(3)]
        runs.keep([runs.run(job) for job in jobs[1:]], "tried")
        assert runs.missing(jobs, "tried") == jobs[:1]
        runs.keep([runs.run(jobs[0])], "tried")
        rows = json.loads((measure.RESULTS / "tried.json").read_text())["rows"]
        assert [row["repeat"] for row in rows] == [0, 1, 2]
        assert runs.missing(jobs, "tried") == []


class TestTable:
    @pytest.fixture
    def rows(self):
        """Another method beside random points, better by one in the end, and worse before."""
        found = [runs.run(Job("gardner1", "random", repeat, 20, 0.0)) for repeat in range(3)]
        better = []
        for row in found:
            evaluated = [value + 0.5 for value in row["evaluated"]]
            evaluated[-1] -= 1.5 - 0.1 * row["repeat"]
            better.append({**row, "method": "optuna-tpe", "evaluated": evaluated})
        return found + better

    def test_differences_are_paired(self, rows):
        mine, others = rows[3:], rows[:3]
        assert table.shown(rows[0]) == (20, 40)
        early = table.difference(mine, others, "evaluated", 20)
        assert early == (pytest.approx(0.5), pytest.approx(0.0, abs=1e-12), 3)
        late = table.difference(mine[::-1], others, "evaluated", 40)
        assert late.mean == pytest.approx(-0.9)
        assert late.half == pytest.approx(4.3027 * 0.1 / 3**0.5, rel=1e-3), "Student's, of two degrees of freedom"
        assert table.difference(mine[:1], others, "evaluated", 40).half == np.inf
        assert table.difference(mine[:1], others[1:], "evaluated", 40).repeats == 0

    def test_lines(self, rows):
        printed = table.lines(rows, "random")
        assert len(printed) == 4
        assert "gardner1" in printed[0]
        assert "difference to random" in printed[0]
        assert "evaluated 20" in printed[1]
        assert "recommended 40" in printed[1]
        assert "+0.50±0.00" in printed[3]
        assert "-0.90±0.25" in printed[3]
        assert table.lines(rows[3:], "random")[0].endswith("difference to optuna-tpe, paired")


def test_every_problem_has_a_name():
    assert len(NAMES) == len(MAKERS)
    assert {problem(name).name for name in NAMES} == set(NAMES)


class TestOurs:
    """Only how it is called; what it does is not the benchmark's to test."""

    class Stub:
        """Remembers what it was told."""

        def __init__(self, space, **settings):
            self.space, self.settings, self.told = space, settings, []

        def ask(self):
            return types.SimpleNamespace(params=dict.fromkeys(self.space.parameters, 0.125))

        def tell(self, trial, outputs):
            self.told.append((trial, outputs))

        def recommend(self):
            return types.SimpleNamespace(params=dict.fromkeys(self.space.parameters, 0.5))

        def pareto(self):
            points = (dict.fromkeys(self.space.parameters, x) for x in (0.25, 0.75))
            return types.SimpleNamespace(recommended=[types.SimpleNamespace(params=params) for params in points])

    @pytest.fixture(autouse=True)
    def stub(self, monkeypatch):
        monkeypatch.setattr(xstar, "Optimizer", self.Stub)

    def test_one_objective(self):
        task = problem("gardner1")
        session = peers.begin("xstar:logei", task, 7, 6)
        assert session.opt.settings == {
            "objectives": {"f": "minimize"}, "constraints": {"c": ("<=", 0.5)}, "seed": 7, "num_initial": 6,
            "method": "logei",
        }  # fmt: skip
        session.tell(np.array([0.5, 1.0]), {"f": 1.0, "c": 0.0})
        x = session.ask()
        session.tell(x, {"f": 2.0, "c": 0.5})
        (first, _), (trial, outputs) = session.opt.told
        assert first == {"x0": 0.5, "x1": 1.0}
        assert trial.params == {"x0": 0.125, "x1": 0.125}
        assert outputs == {"f": 2.0, "c": 0.5}
        assert session.recommend().tolist() == [[0.5, 0.5]]

    def test_several_objectives(self):
        session = peers.begin("xstar", problem("branin-currin"), 0, 6)
        assert session.opt.settings["objectives"] == {
            "branin": xstar.Objective("minimize", 18.0), "currin": xstar.Objective("minimize", 6.0)
        }  # fmt: skip
        assert "constraints" not in session.opt.settings
        assert session.recommend().tolist() == [[0.25, 0.25], [0.75, 0.75]]
