"""Optimizers of several outputs, as users meet them."""

import itertools
import json
import math
import warnings

import numpy as np
import pytest

import xstar
from xstar.acquisition import MES
from xstar.errors import DataError, FileError, SettingsError, TrialError
from xstar.goals import Goals

UNIT = {"x": xstar.Real(0.0, 1.0), "y": xstar.Real(0.0, 1.0)}


def constrained(params):
    """A parabola whose top is beyond x + y <= 1; best there at (0.55, 0.45) with -0.045."""
    x, y = params["x"], params["y"]
    return {"gain": -((x - 0.7) ** 2) - (y - 0.6) ** 2, "sum": x + y}


def compromise(params):
    x, y = params["x"], params["y"]
    return {"gain": x * (1.0 + 0.2 * y), "cost": x**2 + (y - 0.5) ** 2}


def run(count, function=constrained, space=UNIT, **settings):
    settings = {"objectives": {"gain": "maximize"}, "constraints": {"sum": ("<=", 1.0)}, "seed": 0, **settings}
    opt = xstar.Optimizer(space, **settings)
    for _ in range(count):
        trial = opt.ask()
        opt.tell(trial, function(trial.params))
    return opt


def both(count, **settings):
    goals = {"gain": "maximize", "cost": xstar.Objective("minimize", reference=2.0)}
    return run(count, compromise, objectives=goals, constraints=None, **settings)


@pytest.fixture(scope="module")
def known():
    return run(14)


@pytest.fixture(scope="module")
def front():
    return both(14)


class TestConstraints:
    def test_the_recommendation_is_the_best_feasible_point(self, known):
        found = known.recommend()
        assert found.params["x"] == pytest.approx(0.55, abs=0.01)
        assert found.params["y"] == pytest.approx(0.45, abs=0.01)
        assert found.mean == pytest.approx(-0.045, abs=1e-3)
        assert found.feasibility >= 0.9499
        assert list(found.outputs) == ["gain", "sum"]
        assert found.outputs["sum"].mean <= 1.0
        assert found.outputs["gain"].sd > 0.0
        assert "sum " in str(found)

    def test_the_best_point_evaluated_meets_the_constraints(self, known):
        assert known.best_observed.values["sum"] <= 1.0
        assert known.best_observed.value > -0.06
        assert known.recommend(tested=True).confirmed

    def test_where_the_optimum_is(self, known):
        where = known.where(100)
        low, high = where.interval("x")
        assert 0.5 < low <= high < 0.6
        assert 0.0 <= where.regret_quantile() < 0.02

    def test_an_explanation_has_the_bits_of_each_output(self, known):
        told = known.explain({"x": 0.9, "y": 0.2})
        assert told.bits == pytest.approx(sum(output.bits for output in told.outputs.values()))
        assert "bits" in dict(told.lines)["sum"]
        assert told.outputs["sum"].mean == pytest.approx(1.1, abs=0.02)

    def test_minimizing_is_maximizing_what_has_another_sign(self, known):
        def turned(params):
            values = constrained(params)
            return {"loss": -values["gain"], "rest": -values["sum"]}

        other = run(14, turned, objectives={"loss": "minimize"}, constraints={"rest": (">=", -1.0)})
        assert [trial.params for trial in other.trials] == [trial.params for trial in known.trials]

    def test_names_and_the_order_of_telling_change_nothing(self, known):
        renamed = run(
            0, objectives={"a": "maximize"}, constraints={"b": ("<=", 1.0)},
        )  # fmt: skip
        for trial in reversed(known.trials):
            gain, total = trial.values.values()
            renamed.tell(trial.params, {"b": total, "a": gain})
        assert renamed.propose(14).params == known.propose(14).params

    def test_units_change_next_to_nothing(self, known):
        def scaled(params):
            values = constrained(params)
            return {"gain": 1e6 * values["gain"] + 5.0, "sum": 1e-3 * values["sum"]}

        other = run(0, constraints={"sum": ("<=", 1e-3)})
        for trial in known.trials:
            other.tell(trial.params, scaled(trial.params))
        here, there = known.recommend().params, other.recommend().params
        assert all(here[name] == pytest.approx(there[name], abs=1e-3) for name in here)

    def test_without_objectives_the_one_is_called_value(self):
        opt = xstar.Optimizer(UNIT, "minimize", constraints={"sum": (">=", 0.5)})
        assert str(opt.goals) == "minimize value, sum >= 0.5"
        assert opt.direction == "minimize"


class TestFeasibilityFirst:
    def test_nothing_feasible_yet(self):
        """A disk of 2 % of the square: it is looked for first, and found."""

        def disk(params):
            far = math.hypot(params["x"] - 0.8, params["y"] - 0.25)
            return {"gain": params["x"], "sum": far}

        opt = run(14, disk, constraints={"sum": ("<=", 0.08)})
        purposes = [trial.diagnostics.get("purpose") for trial in opt.trials]
        assert "feasible" in purposes
        assert opt.best_observed is not None
        assert opt.recommend().feasibility > 0.5
        sought = next(trial for trial in opt.trials if trial.diagnostics.get("purpose") == "feasible")
        assert "all constraints hold" in opt.explain(sought).reason

    @pytest.mark.parametrize("bound", [-5.0, -1e9])
    def test_all_is_infeasible(self, bound):
        opt = run(8, constraints={"sum": ("<=", bound)})
        found = opt.recommend()
        assert found.feasibility < 0.5
        assert found.params["x"] + found.params["y"] < 0.4  # what violates least
        assert opt.best_observed is None
        assert math.isfinite(opt.where(20).regret_quantile())
        assert len(opt.pareto().trials) == 0

    def test_contradictory_constraints(self):
        def twice(params):
            values = constrained(params)
            return {**values, "again": values["sum"]}

        opt = run(8, twice, constraints={"sum": ("<=", 0.4), "again": (">=", 1.6)})
        assert opt.recommend().feasibility < 0.5

    @pytest.mark.parametrize("value", [0.0, 1.0, 2.0])
    def test_a_constraint_that_is_constant(self, value):
        opt = run(8, lambda params: {**constrained(params), "sum": value})
        assert math.isfinite(opt.recommend().mean)
        assert all(trial.diagnostics["fallback"] is None for trial in opt.trials)


class TestSeveralObjectives:
    def test_the_front_is_not_dominated(self, front):
        found = front.pareto()
        assert 5 <= len(found) <= 20
        values = np.array([[point.outputs["gain"].mean, -point.outputs["cost"].mean] for point in found.recommended])
        for one, other in itertools.permutations(values, 2):
            assert np.any(one > other)
        assert {trial.number for trial in found.trials} <= set(range(14))
        assert found.reference["cost"] == 2.0
        assert "compromises" in str(found)
        assert "<table" in found._repr_html_()

    def test_it_dominates_nearly_all_there_is(self, front):
        grid = np.linspace(0.0, 1.0, 201)
        best = [compromise({"x": x, "y": y}) for x in grid for y in grid[::8]]
        every = np.array([[value["gain"], -value["cost"]] for value in best])
        found = front.pareto()
        reference = np.array([found.reference["gain"], -2.0])
        from xstar.numerics.pareto import hypervolume

        assert found.hypervolume > 0.95 * hypervolume(every, reference)

    def test_what_is_left_is_a_share_of_the_hypervolume(self, front):
        where = front.where(50)
        assert isinstance(where, xstar.FrontPosterior)
        assert np.all(where.share_left >= 0.0)
        assert np.quantile(where.share_left, 0.95) < 0.1
        assert "of the hypervolume" in str(where)
        assert where.front.recommended

    def test_one_best_point_is_not_asked_for(self, front):
        with pytest.raises(SettingsError, match=r"pareto\(\) has the compromises"):
            front.recommend()
        assert front.best_observed is None

    def test_confirmations_raise_the_hypervolume(self, front):
        assert "confirm" in [trial.diagnostics.get("purpose") for trial in front.trials]
        assert front.propose(99, last=True).diagnostics["purpose"] == "confirm"

    def test_one_output_is_a_study_of_its_own(self, front):
        cost = front.output("cost")
        assert cost.direction == "minimize"
        assert cost.predict([{"x": 0.5, "y": 0.5}])[0][0] == pytest.approx(0.25, abs=0.01)
        assert len(cost.trials) == 14
        assert cost.recommend().mean < 0.1
        with pytest.raises(SettingsError, match="no output 'price'"):
            front.output("price")
        with pytest.raises(SettingsError, match=r"output\('gain'\)"):
            front.predict([{"x": 0.5, "y": 0.5}])

    def test_with_constraints(self):
        opt = run(
            12, lambda params: {**compromise(params), "sum": params["x"] + params["y"]},
            objectives={"gain": "maximize", "cost": "minimize"}, constraints={"sum": ("<=", 1.0)},
        )  # fmt: skip
        assert all(point.feasibility >= 0.94 for point in opt.pareto().recommended)
        assert all(trial.values["sum"] <= 1.0 for trial in opt.pareto().trials)

    def test_three_objectives(self):
        opt = run(
            8, lambda params: {**compromise(params), "rest": params["y"]},
            objectives={"gain": "maximize", "cost": "minimize", "rest": "minimize"}, constraints=None,
        )  # fmt: skip
        assert len(opt.pareto()) > 3
        assert all(trial.diagnostics["fallback"] is None for trial in opt.trials)


class TestTelling:
    def test_a_missing_output_is_told_later(self):
        opt = run(0)
        trial = opt.ask()
        opt.tell(trial, {"gain": 1.0, "sum": None})
        told = opt.tell(trial, {"sum": 0.5}, sd={"sum": 0.1})
        assert (told.values, told.sds, told.value) == ({"gain": 1.0, "sum": 0.5}, {"sum": 0.1}, 1.0)
        with pytest.raises(TrialError, match="replace=True"):
            opt.tell(trial, {"sum": 0.6})
        assert opt.tell(trial, {"gain": 2.0, "sum": 0.7}, replace=True).values == {"gain": 2.0, "sum": 0.7}

    def test_a_study_in_which_outputs_are_missing(self):
        opt = run(0)
        for k in range(10):
            trial = opt.ask()
            values = constrained(trial.params)
            opt.tell(trial, values if k % 3 else {"sum": values["sum"]})
        assert all(trial.diagnostics["fallback"] is None for trial in opt.trials)
        assert math.isfinite(opt.recommend().mean)
        assert len(opt.output("gain").trials) == 10

    def test_an_output_that_was_never_told(self):
        opt = run(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", xstar.DegradedWarning)
            for _ in range(5):
                trial = opt.ask()
                opt.tell(trial, {"gain": trial.params["x"]})
        assert "sum" in trial.diagnostics["fallback"]
        with pytest.raises(TrialError, match="nothing has been told yet of sum"):
            opt.recommend()

    @pytest.mark.parametrize("values", [None, {}, {"gain": math.nan, "sum": None}])
    def test_nothing_at_all_is_a_failure(self, values):
        opt = run(0)
        assert opt.tell(opt.ask(), values).state == "failed"

    def test_failures_are_a_third_thing(self):
        opt = run(0)
        for _ in range(12):
            trial = opt.ask()
            if trial.params["x"] > 0.6:
                opt.fail(trial, "spilled")
            else:
                opt.tell(trial, constrained(trial.params))
        found = opt.recommend()
        assert found.params["x"] < 0.62
        assert found.params["x"] + found.params["y"] <= 1.001
        assert sum(trial.state == "failed" for trial in opt.trials) >= 1

    def test_values_with_noise(self):
        opt = run(0)
        told = opt.tell(opt.ask(), {"gain": xstar.Value(1.0, sd=0.2), "sum": 0.5})
        assert told.sds == {"gain": 0.2}
        with pytest.raises(DataError, match="given twice"):
            opt.tell(opt.ask(), {"gain": xstar.Value(1.0, sd=0.2)}, sd={"gain": 0.1})

    @pytest.mark.parametrize(
        ("value", "sd", "message"),
        [
            (1.0, None, "a dictionary such as"),
            ({"price": 1.0}, None, "no output 'price'"),
            ({"gain": "much"}, None, "one number"),
            ({"gain": 1.0}, 0.1, "sd is a dictionary"),
            ({"gain": 1.0}, {"gain": -1.0}, "sd of 'gain'"),
            ({"gain": 1.0}, {"price": 1.0}, "no output 'price'"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, value, sd, message):
        opt = run(0)
        with pytest.raises(DataError, match=message):
            opt.tell(opt.ask(), value, sd)

    def test_a_dictionary_for_one_output(self):
        with pytest.raises(DataError, match="objectives= and constraints="):
            xstar.Optimizer(UNIT).tell({"x": 0.1, "y": 0.2}, {"gain": 1.0})


class TestSettings:
    @pytest.mark.parametrize(
        ("objectives", "constraints", "message"),
        [
            ({}, None, "at least one output"),
            ({"a": "up"}, None, '"maximize" or "minimize"'),
            (["a"], None, "a dictionary of outputs"),
            ({"a": "maximize"}, {"a": ("<=", 1.0)}, "an objective and a constraint"),
            ({"a": "maximize"}, {"b": ("<", 1.0)}, '"<=" or ">="'),
            ({"a": "maximize"}, {"b": 1.0}, "a pair such as"),
            ({"a": "maximize"}, {"b": ("<=", math.nan)}, "a finite number"),
            ({"a": "maximize"}, {"b": ("<=", "0.5")}, "a finite number"),
            ({3: "maximize"}, None, "the name of an output"),
        ],
    )
    def test_goals_that_make_no_sense(self, objectives, constraints, message):
        with pytest.raises(SettingsError, match=message):
            xstar.Optimizer(UNIT, objectives=objectives, constraints=constraints)

    @pytest.mark.parametrize("method", ["es", "mes", "pes-2014", xstar.Method(acquisition=MES())])
    def test_methods_for_one_output(self, method):
        with pytest.raises(SettingsError, match="is for one output"):
            run(0, method=method)

    @pytest.mark.parametrize("method", ["pes-alone", "logei", "ei", "thompson", "random"])
    def test_other_methods(self, method):
        opt = run(6, method=method)
        assert all(trial.diagnostics["fallback"] is None for trial in opt.trials)
        assert math.isfinite(opt.recommend().mean)

    def test_noise_by_name(self):
        opt = run(6, noise={"sum": 0.0})
        assert opt.output("sum").noise == 0.0
        assert opt.output("gain").noise is None
        with pytest.raises(SettingsError, match="one number for one output"):
            xstar.Optimizer(UNIT, noise={"sum": 0.0})
        with pytest.raises(DataError, match="no output 'price'"):
            run(0, noise={"price": 0.0})

    def test_there_is_one_output(self):
        with pytest.raises(SettingsError, match="there is one output"):
            xstar.Optimizer(UNIT).pareto()

    def test_goals_in_words(self):
        goals = Goals.check({"a": "maximize", "b": "minimize"}, {"c": (">=", 2.0)})
        assert str(goals) == "maximize a, minimize b, c >= 2"
        assert goals.are_met({"c": 2.0})
        assert not goals.are_met({"c": 1.9})
        assert not goals.are_met({})


class TestAsking:
    def test_batches_are_apart_and_count_on_each_other(self, known):
        batch = known.with_trials(known.trials).ask(3)
        rows = np.array([list(trial.params.values()) for trial in batch])
        assert min(np.abs(a - b).max() for a, b in itertools.combinations(rows, 2)) > 1e-6

    def test_a_part_that_is_fixed(self, known):
        opt = known.with_trials(known.trials)
        assert opt.ask(fixed={"x": 0.2}).params["x"] == 0.2
        assert opt.recommend(fixed={"x": 0.2}).params["x"] == pytest.approx(0.2)

    def test_mixed_spaces(self):
        space = {"x": xstar.Real(0.0, 1.0), "n": xstar.Integer(1, 5), "kind": xstar.Categorical(["a", "b", "c"])}

        def mixed(params):
            bonus = {"a": 0.0, "b": 0.5, "c": 0.2}[params["kind"]]
            return {"gain": params["x"] + bonus, "sum": params["x"] + 0.2 * params["n"]}

        opt = run(12, mixed, space)
        assert opt.recommend().params["kind"] == "b"
        assert opt.recommend().outputs["sum"].mean <= 1.01

    def test_lattices_without_noise_are_exhausted(self):
        space = {"n": xstar.Integer(1, 3), "m": xstar.Integer(1, 2)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", xstar.DegradedWarning)  # in the end nothing is left to learn
            opt = run(6, lambda params: {"gain": params["n"], "sum": params["m"]}, space, noise=0.0)
        assert opt.exhausted
        with pytest.raises(xstar.SpaceExhausted):
            opt.ask()
        assert opt.recommend().params == {"n": 3, "m": 1}

    def test_replicates(self):
        opt = run(8, noise=0.1)
        params = opt.trials[0].params
        for _ in range(3):
            opt.tell(params, constrained(params))
        assert math.isfinite(opt.recommend().mean)


class TestFiles:
    def test_saved_and_loaded(self, known, tmp_path):
        path = tmp_path / "study.json"
        known.save(path)
        again = xstar.Optimizer.load(path)
        assert again.trials == known.trials
        assert again.goals == known.goals
        assert again.propose(14).params == known.propose(14).params

    def test_references_and_missing_outputs(self, tmp_path):
        opt = both(0, noise={"cost": 0.1})
        opt.tell({"x": 0.1, "y": 0.2}, {"gain": 1.0}, sd={"gain": 0.3})
        opt.save(tmp_path / "study.json")
        again = xstar.Optimizer.load(tmp_path / "study.json")
        assert (again.goals, again.trials) == (opt.goals, opt.trials)
        assert again.output("cost").noise == 0.1

    def test_one_output_is_written_as_before(self, tmp_path):
        opt = xstar.Optimizer(UNIT)
        opt.tell({"x": 0.1, "y": 0.2}, 1.0)
        opt.save(tmp_path / "study.json")
        stored = json.loads((tmp_path / "study.json").read_text(encoding="utf-8"))
        assert stored["version"] == 1
        assert "outputs" not in stored
        assert "values" not in stored["trials"][0]

    @pytest.mark.parametrize(
        "damage",
        [
            lambda stored: stored["outputs"]["objectives"].clear(),
            lambda stored: stored["outputs"].update(constraints=3),
            lambda stored: stored["trials"][0].update(values={"gain": "much"}),
            lambda stored: stored["trials"][0].update(values={"price": 1.0}),
            lambda stored: stored["trials"][0].update(sds={"sum": -1.0}),
        ],
    )
    def test_damaged_files(self, known, tmp_path, damage):
        path = tmp_path / "study.json"
        known.save(path)
        stored = json.loads(path.read_text(encoding="utf-8"))
        damage(stored)
        path.write_text(json.dumps(stored), encoding="utf-8")
        with pytest.raises(FileError, match="is damaged"):
            xstar.Optimizer.load(path)


@pytest.mark.parametrize("method", ["pes", "logei"])
def test_batches_of_any_method_do_not_gather_at_one_place(known, method):
    opt = run(0, method=method)
    for trial in known.trials[:6]:
        opt.tell(trial.params, trial.values)
    rows = np.array([list(trial.params.values()) for trial in opt.ask(4)])
    assert min(np.abs(a - b).max() for a, b in itertools.combinations(rows, 2)) > 0.003


def test_what_is_recommended_late_is_feasible():
    """The better the model knows the edge, the closer to it the recommendation: and never beyond."""
    opt = run(20, noise=0.0)
    assert constrained(opt.recommend().params)["sum"] <= 1.0
    assert any(point.confirmed for point in both(12).pareto().recommended)


def test_without_noise_a_failure_is_final():
    opt = run(0, space={"n": xstar.Integer(1, 3)}, noise=0.0)
    for trial in opt.ask(3):
        opt.fail(trial, "spilled")
    assert opt.exhausted
    with pytest.raises(xstar.SpaceExhausted):
        opt.ask()


def test_information_of_many_points_is_that_of_each(monkeypatch):
    from xstar.numerics import arrays

    front = both(4)
    points = [{"x": x, "y": 1.0 - x} for x in np.linspace(0.0, 1.0, 7)]
    whole = front.information(points)
    monkeypatch.setattr(arrays, "BLOCK_ELEMENTS", 1)
    np.testing.assert_allclose(front.information(points), whole, rtol=1e-6)


def test_how_sure_a_recommendation_is_can_be_set(known):
    careful = xstar.Method(model=xstar.methods.ModelSettings(sure=0.999))
    opt = run(0, method=careful)
    for trial in known.trials[:9]:
        opt.tell(trial.params, trial.values)
    usual = known.with_trials(known.trials[:9]).recommend()
    assert opt.recommend().feasibility >= 0.998
    assert opt.recommend().outputs["sum"].mean < usual.outputs["sum"].mean
    with pytest.raises(SettingsError, match="sure"):
        xstar.methods.ModelSettings(sure=1.5)
