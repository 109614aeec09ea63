"""Runs of functions with several outputs: what they return, when they end, what is said of what makes no sense."""

import io
import math
import sys

import numpy as np
import pytest

import xstar
from xstar import Method, Optimizer, Real, Value
from xstar.acquisition import LogEI
from xstar.engine.stopping import Tolerance
from xstar.errors import DataError, SettingsError
from xstar.gp import MAP, Matern52

QUICK = Method(Matern52(), MAP(), acquisition=LogEI())
LINE = [(0.0, 1.0)]
BOUNDED = {"objectives": {"yield": "maximize"}, "constraints": {"impurity": ("<=", 0.5)}}
FRONT = {"objectives": {"yield": "maximize", "cost": "minimize"}}


@pytest.fixture(autouse=True)
def few_samples(monkeypatch):
    """A result draws 200 optima; 20 are enough here."""
    where = Optimizer.where
    monkeypatch.setattr(Optimizer, "where", lambda self, num_samples=20: where(self, min(num_samples, 20)))


def bounded(x):
    """The best feasible point is 0.5."""
    return {"yield": 1.0 - (x[0] - 0.8) ** 2, "impurity": x[0]}


def compromises(x):
    """All points from 0 to 0.8 are of the Pareto set."""
    return {"yield": 1.0 - (x[0] - 0.8) ** 2, "cost": x[0] ** 2}


def test_the_best_point_within_a_bound():
    result = xstar.maximize(bounded, LINE, 10, method=QUICK, noise=0.0, **BOUNDED)
    assert result.x[0] == pytest.approx(0.5, abs=0.03)
    assert result.value == result.recommendation.outputs["yield"].mean == pytest.approx(0.91, abs=0.03)
    assert result.recommendation.feasibility >= 0.94
    assert result.pareto is None
    assert result.success
    assert result.best_observed.values["impurity"] <= 0.5
    assert all(set(trial.values) == {"yield", "impurity"} for trial in result.trials)
    text = str(result)
    assert "value there: yield 0.9" in text
    assert "best observed: #" in text
    assert "->  yield 0.9" in text
    assert "impurity" in result._repr_html_()


def test_a_constraint_alone_bounds_the_value():
    def f(x):
        return {"value": (x[0] - 0.8) ** 2, "impurity": x[0]}

    result = xstar.minimize(f, LINE, 9, method=QUICK, constraints={"impurity": ("<=", 0.5)})
    assert result.optimizer.goals.single == "value"
    assert result.x[0] == pytest.approx(0.5, abs=0.05)


def test_several_objectives_have_compromises_and_no_best_point():
    result = xstar.maximize(compromises, LINE, 10, method=QUICK, noise=0.0, **FRONT)
    assert result.params is result.x is result.value is result.fun is result.sd is result.tested is None
    assert result.recommendation is result.best_observed is None
    assert result.success
    assert not result.confirmed
    assert len(result.pareto) > 3
    assert all(point.x[0] < 0.85 for point in result.pareto.recommended)
    text = str(result)
    assert "recommended compromises" in text
    assert "of the hypervolume" in text
    assert text.count("(evaluated)") + text.count("(not evaluated yet)") <= 8
    assert "more between them" in text
    assert "Recommended compromises" in result._repr_html_()
    assert "Recommended compromises" in result.optimizer._repr_html_()
    assert "maximize yield, minimize cost" in repr(result.optimizer)


@pytest.mark.parametrize("run", [xstar.maximize, xstar.minimize, xstar.optimize])
def test_several_objectives_go_their_own_ways_whichever_function_is_called(run):
    result = run(compromises, LINE, 4, method=QUICK, **FRONT)
    assert [trial.x[0] for trial in result.trials] == [
        trial.x[0] for trial in xstar.maximize(compromises, LINE, 4, method=QUICK, **FRONT).trials
    ]


def test_a_single_objective_goes_the_way_of_the_function():
    with pytest.raises(SettingsError, match=r"'cost' is to minimize, not to maximize; call xstar\.minimize"):
        xstar.maximize(compromises, LINE, 4, objectives={"cost": "minimize"})
    opt = Optimizer(LINE, method=QUICK, objectives={"cost": "minimize"})
    with pytest.raises(SettingsError, match="the optimizer is one to minimize, not to maximize"):
        xstar.maximize(compromises, budget=4, optimizer=opt)
    assert xstar.optimize(lambda x: x[0], budget=4, optimizer=opt).value < 0.1


def test_an_optimizer_has_its_own_outputs():
    opt = Optimizer(LINE, method=QUICK, **FRONT)
    with pytest.raises(SettingsError, match="objectives and constraints are the optimizer's own"):
        xstar.maximize(compromises, budget=4, optimizer=opt, constraints={"impurity": ("<=", 0.5)})
    assert len(xstar.maximize(compromises, budget=4, optimizer=opt).trials) == 4


def test_outputs_may_have_their_noise_with_them():
    def f(params):
        return {"yield": Value(params["x"], sd=0.1), "impurity": Value(params["x"])}

    result = xstar.maximize(f, {"x": Real(0.0, 1.0)}, 4, method=QUICK, **BOUNDED)
    assert result.trials[0].sds == {"yield": 0.1}
    assert result.trials[0].sd == 0.1


def test_what_is_missing_is_not_known_and_only_nothing_is_a_failure():
    calls = iter([{"yield": 1.0}, {"impurity": 0.3}, {}, None, {"yield": math.nan, "impurity": None}])
    result = xstar.maximize(lambda x: next(calls), LINE, 5, method=QUICK, num_initial=9, **BOUNDED)
    assert [trial.state for trial in result.trials] == ["done", "done", "failed", "failed", "failed"]
    assert result.trials[0].values == {"yield": 1.0}
    assert result.best_observed is None


def test_an_output_that_never_comes_leaves_nothing_to_recommend():
    with pytest.warns(xstar.DegradedWarning, match="nothing has been told of impurity"):
        result = xstar.maximize(lambda x: {"yield": x[0]}, LINE, 5, method=QUICK, **BOUNDED)
    assert not result.success
    assert result.nfev == 5
    assert "5 evaluations" in str(result)
    assert result.optimizer._repr_html_()


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (3.0, "there are several outputs, so their values are a dictionary"),
        ({"yeild": 3.0}, 'no output \'yeild\'; the outputs are "yield", "impurity"'),
        ({"yield": "high", "impurity": 0.1}, "a value must be one number; received 'high'"),
        ((3.0, 0.1), "there are several outputs"),
        ("3.0", "there are several outputs"),
    ],
)
def test_what_is_no_dictionary_of_the_outputs_ends_a_run_with_a_clear_error(returned, message):
    with pytest.raises(DataError, match=message) as caught:
        xstar.maximize(lambda x: returned, LINE, 4, method=QUICK, **BOUNDED)
    assert 'return its outputs by name: {"yield": ..., "impurity": ...}' in caught.value.__notes__[0]


def test_outputs_of_a_function_of_one_are_refused_with_the_way_out():
    with pytest.raises(DataError, match=r"'yield' is neither\. Several outputs are named"):
        xstar.maximize(bounded, LINE, 4)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"target": 3.0}, "target= is for one objective"),
        ({"patience": 3}, "patience= is for one objective"),
        ({"tolerance": 5.0}, "share of the hypervolume, below 1; received 5"),
    ],
)
def test_rules_of_one_objective_are_refused_for_several(given, message):
    def never(x):
        raise AssertionError

    with pytest.raises(SettingsError, match=message):
        xstar.maximize(never, LINE, 4, **FRONT, **given)


def test_tolerance_of_one_objective_waits_for_a_feasible_recommendation():
    result = xstar.maximize(bounded, LINE, 25, method=QUICK, noise=0.0, tolerance=0.05, **BOUNDED)
    assert result.stop_reason == "tolerance"
    assert result.recommendation.feasibility >= 0.94
    assert result.x[0] == pytest.approx(0.5, abs=0.1)


def test_where_nothing_is_feasible_no_tolerance_is_met():
    result = xstar.maximize(
        lambda x: {"yield": x[0], "impurity": 3.0 + x[0]}, LINE, 6, method=QUICK, tolerance=100.0, **BOUNDED
    )
    assert result.stop_reason == "budget"
    assert result.recommendation.feasibility < 0.5
    assert "feasible with probability" in str(result)


def test_tolerance_of_several_objectives_is_a_share_of_the_hypervolume():
    result = xstar.maximize(compromises, LINE, 25, method=QUICK, noise=0.0, tolerance=0.3, **FRONT)
    assert result.stop_reason == "tolerance"
    assert Tolerance(0.3).left(result.where) == pytest.approx(
        np.quantile(result.where.share_left, 0.95, method="higher")
    )
    assert Tolerance(0.3).left(result.where) <= 0.3


def test_a_target_is_reached_within_the_bounds_only():
    result = xstar.maximize(bounded, LINE, 15, method=QUICK, noise=0.0, target=0.85, **BOUNDED)
    assert result.stop_reason == "target"
    assert result.best_observed.value >= 0.85
    assert result.best_observed.values["impurity"] <= 0.5


def test_patience_counts_better_values_within_the_bounds():
    result = xstar.maximize(lambda x: {"yield": 1.0, "impurity": 0.0}, LINE, 15, num_initial=9, patience=3, **BOUNDED)
    assert result.stop_reason == "patience"
    assert result.nfev == 4


def test_callbacks_and_failures_end_runs_of_several_outputs():
    seen = []
    result = xstar.maximize(
        compromises, LINE, 9, method=QUICK, callback=lambda opt, trial: seen.append(trial.values) or len(seen) == 3,
        **FRONT,
    )  # fmt: skip
    assert result.stop_reason == "callback"
    assert all(values.keys() == {"yield", "cost"} for values in seen)
    result = xstar.maximize(lambda x: {"yield": math.nan}, LINE, 9, method=QUICK, max_failures=2, **FRONT)
    assert result.stop_reason == "failures"
    assert not result.success
    assert result.pareto is None


def test_the_last_evaluation_confirms_a_compromise():
    result = xstar.maximize(compromises, LINE, 9, noise=0.0, **FRONT)
    assert result.trials[-1].diagnostics["purpose"] == "confirm"
    assert result.trials[-1] in result.pareto.trials


def test_values_that_are_known_are_dictionaries_too():
    known = {"yield": Value(0.3, sd=0.01), "cost": 0.2}
    result = xstar.maximize(
        compromises, LINE, 4, method=QUICK, x0=[[0.1], [0.2]], y0=[known, {"yield": 0.4}],
        **FRONT,
    )  # fmt: skip
    assert len(result.trials) == 6
    assert result.trials[0].values == {"yield": 0.3, "cost": 0.2}
    assert result.trials[0].sds == {"yield": 0.01}
    assert result.trials[1].values == {"yield": 0.4}
    single = xstar.maximize(compromises, LINE, 1, method=QUICK, x0=[0.1], y0=known, **FRONT)
    assert single.trials[0].values == {"yield": 0.3, "cost": 0.2}
    with pytest.raises(DataError, match="no output 'yeild'"):
        xstar.maximize(compromises, LINE, 1, x0=[0.1], y0={"yeild": 0.3}, **FRONT)


def test_a_saved_run_of_several_outputs_goes_on(tmp_path):
    path = tmp_path / "study.json"
    whole = xstar.maximize(compromises, LINE, 7, method="logei", **FRONT)
    xstar.maximize(compromises, LINE, 5, method="logei", save=path, **FRONT)
    rest = xstar.maximize(compromises, budget=2, optimizer=Optimizer.load(path))
    assert [trial.values for trial in rest.trials[:6]] == [trial.values for trial in whole.trials[:6]]


def test_a_bar_on_a_terminal_says_how_several_outputs_stand(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for function, goals, shown in ((bounded, BOUNDED, "best 0."), (compromises, FRONT, "not dominated")):
        monkeypatch.setattr(sys, "stderr", terminal := Terminal())
        xstar.maximize(function, LINE, 5, method=QUICK, **goals)
        assert shown in terminal.getvalue()
        assert "< " in terminal.getvalue()


def test_a_first_value_has_its_front():
    opt = Optimizer(LINE, method=QUICK, **FRONT)
    opt.tell([0.5], compromises([0.5]))
    assert [trial.number for trial in opt.pareto().trials] == [0]
