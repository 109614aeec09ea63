"""Optuna's studies with several objectives or with constraints: outputs with values, not failures."""

import copy
import math
import pickle

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.samplers import RandomSampler
from optuna.storages import RDBStorage
from optuna.trial import TrialState, create_trial

from xstar import Method, Optimizer, Real
from xstar.acquisition import LogEI
from xstar.errors import DataError, SettingsError
from xstar.goals import Constraint
from xstar.gp import MAP, Matern52
from xstar.integrations import dashboard
from xstar.integrations.optuna import XstarSampler, load_optimizer, records
from xstar.numerics.pareto import hypervolume

QUICK = Method(Matern52(), MAP(), acquisition=LogEI())
LINE = {"x": FloatDistribution(0.0, 1.0)}
SQUARE = {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0)}
BOTH = ["minimize", "maximize"]
EXPERIMENTAL = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")


@pytest.fixture(autouse=True)
def quiet():
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


@pytest.fixture
def database(tmp_path):
    """Opens one SQLite file, as another process would."""
    opened = []

    def connect():
        opened.append(RDBStorage(f"sqlite:///{tmp_path}/study.db"))
        return opened[-1]

    yield connect
    for storage in opened:
        storage.scoped_session.remove()
        storage.engine.dispose()


def sampler(search_space=None, method=QUICK, **settings):
    return XstarSampler(seed=0, method=method, search_space=search_space, **settings)


def study_of(sampler, directions=("minimize",), storage=None):
    return optuna.create_study(
        storage=storage, sampler=sampler, directions=directions, study_name="s", load_if_exists=storage is not None
    )


def add(study, params, values=None, state=TrialState.COMPLETE, distributions=LINE, **details):
    """Put a trial into a study."""
    study.add_trial(create_trial(state=state, values=values, params=params, distributions=distributions, **details))


def params_of(study):
    return [trial.params for trial in study.trials]


def shared_of_next(study, distributions):
    """How the next suggestion comes about."""
    number = study.ask(distributions).number
    return records.shared(study.trials[number])


def square(trial):
    return trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)


def two(trial):
    """From (0, 0) to (1, 1), which are the best of one and of the other."""
    x, y = square(trial)
    return x**2 + y**2, -((x - 1.0) ** 2) - (y - 1.0) ** 2


def outside(x, y):
    """How far a point is inside the disk that is forbidden."""
    return 0.25 - (x - 0.2) ** 2 - (y - 0.2) ** 2


def near(x, y):
    """Least in the middle of the disk, and 0.16 at its edge in (0.7, 0.2)."""
    return (x - 0.3) ** 2 + (y - 0.2) ** 2


def constrained(trial):
    x, y = square(trial)
    trial.set_constraint("disk", outside(x, y))
    return near(x, y)


# Several objectives


def zdt1(trial):
    x = [trial.suggest_float(f"x{k}", 0.0, 1.0) for k in range(3)]
    g = 1.0 + 9.0 * (x[1] + x[2]) / 2.0
    return x[0], g * (1.0 - math.sqrt(x[0] / g))


def volume(study):
    return hypervolume(-np.array([trial.values for trial in study.trials]), -np.array([1.1, 10.0]))


@pytest.mark.parametrize("method", ["pes", "logei"])
def test_a_front_is_found_in_fewer_trials_than_by_chance(method):
    """Of 10.7 that there is to dominate, at random 25 trials leave 2.7."""
    ours = study_of(XstarSampler(seed=0, method=method, noise=0.0), ["minimize", "minimize"])
    chance = study_of(RandomSampler(seed=0), ["minimize", "minimize"])
    for study in (ours, chance):
        study.optimize(zdt1, 25)
    assert volume(chance) < 8.1
    assert volume(ours) > volume(chance) + 1.5
    assert {trial.diagnostics.get("method") for trial in load_optimizer(ours).trials[4:]} == {method}


def test_suggestions_are_those_of_the_optimizer_also_after_the_study_is_reopened(database):
    opt = Optimizer(
        {"x": Real(0.0, 1.0), "y": Real(0.0, 1.0)}, method=QUICK,
        objectives={"value_0": "minimize", "value_1": "maximize"},
    )  # fmt: skip
    for _ in range(8):
        trial = opt.ask()
        x, y = trial.x
        opt.tell(trial, {"value_0": x**2 + y**2, "value_1": -((x - 1.0) ** 2) - (y - 1.0) ** 2})
    for count in (5, 3):
        study = study_of(sampler(SQUARE), BOTH, database())
        study.optimize(two, count)
    assert params_of(study) == [trial.params for trial in opt.trials]
    assert load_optimizer(study).trials == opt.trials


def test_what_is_known_of_several_objectives():
    study = study_of(sampler(), BOTH)
    study.optimize(two, 12)
    opt = load_optimizer(study)
    assert {name: item.direction for name, item in opt.goals.objectives.items()} == {
        "value_0": "minimize", "value_1": "maximize",
    }  # fmt: skip
    assert [trial.value for trial in opt.trials] == [None] * 12
    assert [list(trial.values.values()) for trial in opt.trials] == [trial.values for trial in study.trials]
    front = opt.pareto()
    assert {trial.number for trial in front.trials} == {trial.number for trial in study.best_trials}
    assert all(set(point.outputs) == {"value_0", "value_1"} for point in front.recommended)
    assert len(opt.where(20).params["x"]) >= 20
    why = opt.explain(8)
    assert why.method == "logei"
    assert set(why.outputs) == {"value_0", "value_1"}
    with pytest.raises(SettingsError, match="several objectives have no single best point"):
        opt.recommend()


@EXPERIMENTAL
@pytest.mark.parametrize(
    "given, names",
    [
        (["loss", "size"], ["loss", "size"]),
        (["loss", "loss"], ["value_0", "value_1"]),
        (["loss", ""], ["value_0", "value_1"]),
    ],
)
def test_objectives_are_called_by_the_names_of_the_study(given, names):
    study = study_of(sampler(LINE), BOTH)
    study.set_metric_names(given)
    assert list(load_optimizer(study).goals.names) == names


@EXPERIMENTAL
def test_a_single_objective_may_have_a_name_too():
    study = study_of(sampler(LINE))
    study.set_metric_names(["loss"])
    add(study, {"x": 0.5}, [1.0], constraints={"heat": -1.0})
    assert load_optimizer(study).goals.names == ("loss", "heat")


def test_values_that_are_not_finite_are_missing_and_without_any_a_trial_has_failed():
    study = study_of(sampler(LINE), BOTH)
    for values in ([1.0, 2.0], [math.inf, 3.0], [math.inf, -math.inf]):
        add(study, {"x": 0.5}, values)
    add(study, {"x": 0.6}, state=TrialState.FAIL)
    add(study, {"x": 0.7}, state=TrialState.PRUNED)
    told = load_optimizer(study).trials
    assert [trial.values for trial in told] == [{"value_0": 1.0, "value_1": 2.0}, {"value_1": 3.0}, {}, {}]
    assert [trial.state for trial in told] == ["done", "done", "failed", "failed"]
    assert told[2].reason == "values were [inf, -inf]"
    assert load_optimizer(study).explain({"x": 0.6}).feasibility < 1.0


def test_the_last_of_several_trials_tests_a_compromise():
    purposes = []
    for n_trials in (None, 9):
        study = study_of(sampler(SQUARE, "pes", n_trials=n_trials, noise=0.0), BOTH)
        study.optimize(two, 9)
        purposes.append(load_optimizer(study).trials[8].diagnostics["purpose"])
    assert purposes[0] != "confirm"
    assert purposes[1] == "confirm"


def test_failures_of_studies_with_several_objectives_teach_where_not_to_go():
    study = study_of(sampler(SQUARE), BOTH)

    def objective(trial):
        if square(trial)[0] > 0.6:
            raise RuntimeError("the oven is too hot")
        return two(trial)

    study.optimize(objective, 16, catch=(RuntimeError,))
    failed = [trial.state == "failed" for trial in load_optimizer(study).trials]
    assert any(failed)
    assert sum(failed[-6:]) <= 2
    assert all(point.params["x"] < 0.65 for point in load_optimizer(study).pareto().recommended)


def test_mixed_spaces_with_branches(caplog):
    study = study_of(sampler(), BOTH)

    def objective(trial):
        x, kind = trial.suggest_float("x", 1e-3, 1.0, log=True), trial.suggest_categorical("kind", ["a", "b"])
        k = trial.suggest_int("k", 1, 4)
        if kind == "a":
            x += trial.suggest_float("only a", 0.0, 0.1)
        return x * k, x + k - (kind == "a")

    study.optimize(objective, 9)
    with pytest.warns(UserWarning, match='not in the model: "only a"'):
        opt = load_optimizer(study)
    assert set(opt.space.parameters) == {"x", "kind", "k"}
    assert [trial.diagnostics.get("method") for trial in opt.trials[5:]] == ["logei"] * 4
    assert "sampled independently" in caplog.text


def test_threads_share_a_sampler():
    study = study_of(sampler(noise=0.0), BOTH)
    study.optimize(two, 10, n_jobs=2)
    assert len({tuple(sorted(params.items())) for params in params_of(study)}) == 10


def test_trials_asked_for_together_are_those_of_a_batch():
    study = study_of(sampler(SQUARE, noise=0.0), BOTH)
    study.optimize(two, 5)
    opt = load_optimizer(study)
    assert [study.ask(SQUARE).params for _ in range(3)] == [trial.params for trial in opt.ask(3)]
    assert [trial.state for trial in load_optimizer(study).trials[5:]] == ["pending"] * 3


def test_enqueued_trials_run_as_they_are_and_the_rest_of_a_part_is_suggested():
    study = study_of(sampler(SQUARE), BOTH)
    study.optimize(two, 5)
    study.enqueue_trial({"x": 0.125, "y": 0.25})
    study.enqueue_trial({"x": 0.5})
    assert load_optimizer(study).trials[-1].state == "pending"
    study.optimize(two, 2)
    assert params_of(study)[5] == {"x": 0.125, "y": 0.25}
    assert params_of(study)[6]["x"] == 0.5
    assert "y" in records.shared(study.trials[6])["params"]


def test_the_information_of_each_output_is_shared():
    study = study_of(sampler(SQUARE, "pes-alone"), BOTH)
    study.optimize(two, 5)
    told = load_optimizer(study).trials[4].diagnostics
    assert told["bits"] == pytest.approx(sum(told["bits_by_output"].values()))
    assert set(told["bits_by_output"]) == {"value_0", "value_1"}


def test_methods_for_one_output_say_so():
    with pytest.raises(SettingsError, match=r"method 'mes' is for one output"):
        study_of(sampler(LINE, "mes"), BOTH).ask(LINE)


# Constraints


@pytest.mark.parametrize("method", ["pes", "logei"])
def test_the_best_feasible_trial_is_close_to_the_optimum(method):
    """The unconstrained optimum is infeasible; the constrained one has 0.16."""
    study = study_of(XstarSampler(seed=0, method=method, n_trials=20))
    study.optimize(constrained, 20)
    assert 0.16 <= study.best_value < 0.165
    opt = load_optimizer(study)
    best = opt.recommend()
    assert best.params == pytest.approx({"x": 0.7, "y": 0.2}, abs=0.05)
    assert best.feasibility > 0.9
    assert set(best.outputs) == {"value", "disk"}
    assert near(**opt.best_observed.params) == study.best_value


@pytest.mark.parametrize("stored", [False, True], ids=["memory", "sqlite"])
def test_violated_constraints_are_outputs_with_values(stored, database):
    study = study_of(sampler(LINE), ["maximize"], database() if stored else None)

    def objective(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        trial.set_constraint("never", -1.0)
        trial.set_constraint("heat", x - 0.5)
        return x

    study.optimize(objective, 12)
    opt = load_optimizer(study)
    assert opt.goals.constraints == {"heat": Constraint("<=", 0.0), "never": Constraint("<=", 0.0)}
    assert [trial.state for trial in opt.trials] == ["done"] * 12
    assert [(trial.value, trial.values) for trial in opt.trials] == [
        (x, {"value": x, "heat": x - 0.5, "never": -1.0}) for x in (trial.params["x"] for trial in study.trials)
    ]
    assert max(trial.params["x"] for trial in study.trials) > 0.5
    assert 0.45 < study.best_value <= 0.5


def test_constraints_are_told_by_a_function_or_by_the_objective():
    """The deprecated way of Optuna's samplers, and the way of Optuna 5."""

    def by_function(trial):
        x, y = square(trial)
        trial.set_user_attr("constraints", (outside(x, y), x - 2.0))
        return near(x, y)

    def by_objective(trial):
        x, y = square(trial)
        trial.set_constraint("a", outside(x, y))
        trial.set_constraint("b", x - 2.0)
        return near(x, y)

    one = study_of(sampler(constraints_func=lambda trial: trial.user_attrs["constraints"]))
    other = study_of(sampler())
    one.optimize(by_function, 10)
    other.optimize(by_objective, 10)
    assert params_of(one) == params_of(other)
    assert one.best_trial.number == other.best_trial.number, "Optuna understands both"
    assert list(load_optimizer(one).goals.constraints) == ["constraint_0", "constraint_1"]
    assert list(load_optimizer(other).goals.constraints) == ["a", "b"]


def test_a_function_is_asked_about_trials_with_values_only():
    asked = []
    study = study_of(sampler(constraints_func=lambda trial: asked.append(trial.number)))
    for state, value in ((TrialState.COMPLETE, 1.0), (TrialState.PRUNED, None), (TrialState.FAIL, None)):
        study.tell(study.ask(LINE), value, state)
    assert asked == [0, 1]
    assert load_optimizer(study).goals is None, "it has returned None"


def test_a_function_that_returns_nan_is_refused_as_by_the_samplers_of_optuna():
    study = study_of(sampler(constraints_func=lambda trial: [math.nan]))
    with pytest.raises(ValueError, match="Constraint values cannot be NaN"):
        study.tell(study.ask(LINE), 1.0)
    assert load_optimizer(study).goals is None


def test_before_any_constraint_there_are_none_and_what_is_missing_is_missing():
    study = study_of(sampler(LINE))
    add(study, {"x": 0.1}, [1.0])
    assert load_optimizer(study).goals is None
    assert load_optimizer(study).trials[0].values == {}
    add(study, {"x": 0.2}, [2.0], constraints={"heat": 0.5})
    add(study, {"x": 0.3}, [3.0], constraints={"weight": -0.5})
    add(study, {"x": 0.4}, [4.0], system_attrs={"constraints": None})
    add(study, {"x": 0.5}, [5.0], system_attrs={"constraints": [None, 0.25]})
    add(study, {"x": 0.6}, [6.0], constraints={"heat": -math.inf})
    opt = load_optimizer(study)
    assert opt.goals.names == ("value", "constraint_1", "heat", "weight")
    assert [trial.values for trial in opt.trials] == [
        {"value": 1.0}, {"value": 2.0, "heat": 0.5}, {"value": 3.0, "weight": -0.5}, {"value": 4.0},
        {"value": 5.0, "constraint_1": 0.25}, {"value": 6.0},
    ]  # fmt: skip
    assert shared_of_next(study, LINE)["fallback"] is None


def test_missing_constraints_do_no_harm():
    study = study_of(sampler())

    def objective(trial):
        x, y = square(trial)
        if trial.number % 3:
            trial.set_constraint("disk", outside(x, y))
        return near(x, y)

    study.optimize(objective, 18)
    best = load_optimizer(study).recommend()
    assert best.params == pytest.approx({"x": 0.7, "y": 0.2}, abs=0.1)


def test_constraints_of_trials_that_do_not_count_are_not_waited_for():
    """Else nothing would ever be known of them, and suggestions would only fill the space."""
    study = study_of(sampler(SQUARE))
    study.optimize(constrained, 5)
    add(study, {"x": 0.5}, [1.0], constraints={"of another space": 1.0})
    add(study, {"x": 0.5, "y": 0.5}, [1.0], distributions=SQUARE, constraints={"back": 1.0},
        user_attrs={"xstar:withdrawn": True})  # fmt: skip
    add(study, {"x": 0.5, "y": 0.5}, state=TrialState.FAIL, distributions=SQUARE, constraints={"failed": 1.0})
    with pytest.warns(UserWarning, match="not in the model"):
        assert load_optimizer(study).goals.names == ("value", "disk")
    assert shared_of_next(study, SQUARE)["method"] == "logei"


def test_failures_are_a_third_thing():
    study = study_of(sampler(LINE))
    add(study, {"x": 0.2}, [1.0], constraints={"heat": 1.0})
    add(study, {"x": 0.4}, state=TrialState.FAIL, constraints={"heat": 1.0})
    add(study, {"x": 0.6}, [math.inf], constraints={"heat": -1.0})
    add(study, {"x": 0.8}, [1.0], constraints={"heat": math.inf})
    told = load_optimizer(study).trials
    assert [(trial.state, trial.reason) for trial in told] == [
        ("done", None), ("failed", "failed"), ("failed", "value was inf"), ("failed", "constraint 'heat' was inf"),
    ]  # fmt: skip


def test_a_study_in_which_nothing_is_feasible_goes_on():
    study = study_of(sampler(method="pes"))

    def objective(trial):
        x, y = square(trial)
        trial.set_constraint("never", 1.0 + x)
        return near(x, y)

    study.optimize(objective, 8)
    opt = load_optimizer(study)
    assert opt.best_observed is None
    assert opt.recommend().feasibility < 0.5
    assert opt.trials[-1].diagnostics["method"] == "pes"
    assert len(opt.where(20)) >= 20


def test_several_objectives_may_have_constraints():
    study = study_of(sampler(), BOTH)

    def objective(trial):
        x, y = square(trial)
        trial.set_constraint("disk", outside(x, y))
        return two(trial)

    study.optimize(objective, 12)
    front = load_optimizer(study).pareto()
    assert {trial.number for trial in front.trials} == {trial.number for trial in study.best_trials}
    assert all(outside(**point.params) < 0.05 for point in front.recommended)


@pytest.mark.parametrize("last", [None, 1.5])
def test_constraints_of_pruned_trials_count(last):
    """Many prune a trial as soon as a constraint is violated, without a value."""
    study = study_of(sampler(LINE))
    add(study, {"x": 0.1}, [2.0], constraints={"heat": -1.0})
    reports = {} if last is None else {0: last}
    add(study, {"x": 0.2}, state=TrialState.PRUNED, constraints={"heat": 1.0}, intermediate_values=reports)
    told = load_optimizer(study).trials[1]
    assert (told.state, told.value) == ("done", None if last is None else 2.0)
    assert told.values == ({} if last is None else {"value": 2.0}) | {"heat": 1.0}
    study.sampler = sampler(LINE, use_pruned=False)
    assert [trial.number for trial in load_optimizer(study).trials] == [0]


@pytest.mark.parametrize(
    "keys, names",
    [
        (("b", "a"), ("a", "b")),
        (("10", "9"), ("constraint_9", "constraint_10")),
        (("0", "constraint_0"), ("constraint_0", "constraint_constraint_0")),
        (("value", ""), ("constraint_", "constraint_value")),
    ],
)
def test_every_constraint_has_a_name_of_its_own(keys, names):
    study = study_of(sampler(LINE))
    add(study, {"x": 0.1}, [2.0], constraints=dict.fromkeys(keys, 0.0))
    assert load_optimizer(study).goals.names == ("value", *names)


# Noise


def test_noise_is_told_by_the_name_of_an_output():
    study = study_of(sampler(LINE))
    for sd in (0.1, {"value": 0.2, "heat": 0.3, "other": 1.0}, {"heat": "low"}, None):
        add(study, {"x": 0.5}, [1.0], constraints={"heat": 0.0}, user_attrs={"xstar:sd": sd})
    told = load_optimizer(study).trials
    assert [trial.sds for trial in told] == [{"value": 0.1}, {"value": 0.2, "heat": 0.3}, {}, {}]
    assert [trial.sd for trial in told] == [0.1, 0.2, None, None]


def test_of_several_objectives_one_number_is_no_noise(caplog):
    study = study_of(sampler(LINE), BOTH)
    add(study, {"x": 0.5}, [1.0, 2.0], user_attrs={"xstar:sd": 0.1})
    add(study, {"x": 0.5}, [1.0, 2.0], user_attrs={"xstar:sd": {"value_1": 0.1}})
    assert [trial.sds for trial in load_optimizer(study).trials] == [{}, {"value_1": 0.1}]
    assert "the noise of trial 0 is ignored: of several objectives, it is by name" in caplog.text


def test_the_noise_of_a_sampler_may_be_that_of_some_outputs():
    study = study_of(sampler(LINE, noise={"heat": 0.25, "value": 0.5}))
    add(study, {"x": 0.1}, [1.0])
    assert load_optimizer(study).noise == 0.5
    add(study, {"x": 0.2}, [1.0], constraints={"heat": 0.0})
    opt = load_optimizer(study)
    assert [opt.output(name).noise for name in opt.goals.names] == [0.5, 0.25]
    assert load_optimizer(study_of(sampler(LINE, noise={"value_1": 0.5}), BOTH)).output("value_0").noise is None
    with pytest.raises(DataError, match="noise of 'heat' must be a standard deviation"):
        sampler(noise={"heat": -1.0})


# The same again


@pytest.mark.parametrize("directions, objective", [(["minimize"], constrained), (BOTH, two)])
def test_the_same_seed_suggests_the_same(directions, objective):
    runs = []
    for _ in range(2):
        study = study_of(sampler(), directions)
        study.optimize(objective, 8)
        runs.append(params_of(study))
    assert runs[0] == runs[1]


def test_a_constrained_study_that_is_continued_is_the_one_that_was_not_interrupted(database):
    whole = study_of(sampler())
    whole.optimize(constrained, 10)
    for _ in range(2):
        study = study_of(sampler(), storage=database())
        study.optimize(constrained, 5)
    assert params_of(study) == params_of(whole)


@pytest.mark.parametrize("copied", [lambda given: pickle.loads(pickle.dumps(given)), copy.deepcopy])
def test_a_copy_of_a_sampler_suggests_the_same(copied):
    study = study_of(sampler(SQUARE))
    study.optimize(constrained, 6)
    twin = study_of(copied(study.sampler))
    for trial in study.trials:
        twin.add_trial(trial)
    assert twin.ask(SQUARE).params == study.ask(SQUARE).params


def test_models_are_fitted_once_for_the_same_results(monkeypatch):
    from xstar.engine import cache

    study, fits, fit = study_of(sampler(SQUARE), BOTH), [], cache.fit
    study.optimize(two, 4)
    monkeypatch.setattr(cache, "fit", lambda *args: fits.append(1) or fit(*args))
    for _ in range(3):
        study.ask(SQUARE)
    assert len(fits) == 2, "one for each objective"


# Pictures

PICTURES = [f"xstar-{name}" for name in ("front", "information", "optimum", "importance", "calibration", "regret")]


@pytest.mark.parametrize(
    "directions, objective, count, drawn",
    [
        (["minimize"], constrained, 5, PICTURES),
        (["minimize"], constrained, 1, PICTURES),
        (BOTH, two, 5, PICTURES),
        (BOTH, two, 0, []),
    ],
)
def test_the_dashboard_has_the_pictures_that_mean_something(directions, objective, count, drawn):
    study = study_of(sampler(SQUARE), directions)
    study.optimize(objective, count)
    assert dashboard.save_figures(study, load_optimizer(study)) == drawn


def test_nothing_is_drawn_while_nothing_is_known_of_the_objective():
    study = study_of(sampler(LINE))
    add(study, {"x": 0.5}, state=TrialState.PRUNED, constraints={"heat": 1.0})
    assert dashboard.draw(load_optimizer(study)) == {}


def test_a_finite_space_may_be_exhausted():
    study = study_of(sampler(noise=0.0), BOTH)
    study.optimize(lambda trial: (trial.suggest_int("k", 0, 2), 2.0), 5)
    assert sorted(params["k"] for params in params_of(study)[:3]) == [0, 1, 2]
    assert load_optimizer(study).space.parameters["k"] == records.to_parameter(IntDistribution(0, 2))
