"""XstarSampler and load_optimizer: what Optuna's own suite does not ask of a sampler."""

import copy
import itertools
import json
import math
import pickle
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from datetime import timedelta

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import PartialFixedSampler, RandomSampler
from optuna.storages import JournalStorage, RDBStorage, RetryHeartbeatStaleTrialCallback
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState, create_trial

import xstar
from tests.waiting import HANG, finish
from xstar import Categorical, Integer, Method, Optimizer, Ordinal, Real, Space
from xstar.acquisition import LogEI
from xstar.engine import cache
from xstar.errors import DataError, SettingsError, SpaceError, TrialError
from xstar.gp import MAP, Matern52
from xstar.integrations.optuna import XstarSampler, load_optimizer, records
from xstar.integrations.optuna.sampler import SharingSettings
from xstar.search import SAME_POINT

SAMPLER_LOG = "xstar.integrations.optuna.sampler"
QUICK = Method(Matern52(), MAP(), acquisition=LogEI())
BOTH = pytest.mark.parametrize("direction", ["maximize", "minimize"])
EXPERIMENTAL = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
LINE = {"x": FloatDistribution(0.0, 1.0)}
SQUARE = {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0)}
MIXED = {
    "lr": FloatDistribution(1e-4, 1.0, log=True),
    "layers": IntDistribution(1, 6),
    "kind": CategoricalDistribution(["relu", None, True, 2]),
    "dropout": FloatDistribution(0.0, 0.9, step=0.15),
}
SAME_MIXED = {
    "lr": Real(1e-4, 1.0, log=True),
    "layers": Integer(1, 6),
    "kind": Categorical(["relu", None, True, 2]),
    "dropout": Real(0.0, 0.9, step=0.15),
}


@pytest.fixture(autouse=True)
def quiet():
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


@pytest.fixture
def database(tmp_path):
    """Opens one SQLite file, as another process would: every call is a storage with a cache of its own."""
    opened = []

    def connect(**settings):
        opened.append(RDBStorage(f"sqlite:///{tmp_path}/study.db", **settings))
        return opened[-1]

    connect.path = tmp_path / "study.db"
    yield connect
    for storage in opened:
        storage.scoped_session.remove()
        storage.engine.dispose()


def sampler(search_space=None, method=QUICK, seed=0, **settings):
    return XstarSampler(seed=seed, method=method, search_space=search_space, **settings)


def study_of(sampler, direction="maximize", storage=None):
    return optuna.create_study(
        storage=storage, sampler=sampler, direction=direction, study_name="s", load_if_exists=storage is not None
    )


def evaluate(study, distributions, function, count):
    """Run some trials; their parameters."""
    study.optimize(lambda trial: function(suggested(trial, distributions)), count)
    return [trial.params for trial in study.trials]


def suggested(trial, distributions):
    return {name: trial._suggest(name, distribution) for name, distribution in distributions.items()}


def add(study, params, value=None, state=TrialState.COMPLETE, distributions=LINE, age=0.0, **details):
    """Put a trial into a study; `age` in seconds."""
    trial = create_trial(state=state, value=value, params=params, distributions=distributions, **details)
    if trial.datetime_start is not None:
        trial.datetime_start -= timedelta(seconds=age)
    study.add_trial(trial)


def line_study(values=((0.1, -0.04), (0.5, -0.04), (0.9, -0.36)), sign=1.0, **settings):
    """A study of a bump at 0.3 with three trials, or of the given ones."""
    study = study_of(sampler(LINE, **settings), "maximize" if sign > 0 else "minimize")
    for x, value in values:
        add(study, {"x": x}, sign * value)
    return study


def states(study):
    return {trial.number: trial.state for trial in load_optimizer(study).trials}


def values(study):
    return {trial.number: trial.value for trial in load_optimizer(study).trials}


def bump(x, center=0.3):
    return -((x - center) ** 2)


def hill(params):
    return bump(params["x"], 0.3) + bump(params["y"], 0.6)


def mixed_value(params):
    steps = abs(params["layers"] - 4) + abs(params["dropout"] - 0.3)
    return bump(math.log10(params["lr"]), -2.0) - 0.1 * steps + 0.5 * (params["kind"] == "relu")


# The suggestions are those of Optimizer


@pytest.fixture(scope="module")
def suggestions():
    """What Optimizer suggests, by direction: eight trials by PES."""
    found = {}
    for direction, sign in (("maximize", 1.0), ("minimize", -1.0)):
        opt = Optimizer(SAME_MIXED, direction, "pes", 3)
        for _ in range(8):
            trial = opt.ask()
            opt.tell(trial, sign * mixed_value(trial.params))
        found[direction] = [trial.params for trial in opt.trials]
        assert [trial.diagnostics["method"] for trial in opt.trials] == ["space-filling"] * 5 + ["pes"] * 3
    return found


@BOTH
def test_suggestions_in_memory_are_those_of_the_optimizer(suggestions, direction):
    sign = 1.0 if direction == "maximize" else -1.0
    study = study_of(sampler(MIXED, "pes", 3), direction)
    assert evaluate(study, MIXED, lambda params: sign * mixed_value(params), 8) == suggestions[direction]


@BOTH
def test_suggestions_in_a_database_are_those_of_the_optimizer_also_after_it_is_reopened(
    suggestions, direction, database
):
    sign = 1.0 if direction == "maximize" else -1.0
    for count in (6, 2):
        study = study_of(sampler(MIXED, "pes", 3), direction, database())
        params = evaluate(study, MIXED, lambda params: sign * mixed_value(params), count)
    assert params == suggestions[direction]


def test_failures_known_noise_and_pending_trials_are_those_of_the_optimizer():
    study, opt = study_of(sampler(SQUARE)), Optimizer({"x": Real(0, 1), "y": Real(0, 1)}, method=QUICK)
    for number in range(11):
        trial, twin = study.ask(SQUARE), opt.ask()
        assert trial.params == twin.params
        if number in (1, 6):
            study.tell(trial, state=TrialState.FAIL)
            opt.fail(twin)
        elif number == 4:
            trial.set_user_attr("xstar:sd", 0.02)
            study.tell(trial, hill(trial.params))
            opt.tell(twin, hill(twin.params), sd=0.02)
        elif number != 7:
            study.tell(trial, hill(trial.params))
            opt.tell(twin, hill(twin.params))
    told = load_optimizer(study).trials
    assert told == opt.trials
    assert [trial.number for trial in told if trial.state == "failed"] == [1, 6]
    assert [trial.number for trial in told if trial.state == "pending"] == [7]


def test_settings_reach_the_optimizer():
    study = line_study(noise=0.25, n_startup_trials=2, seed=7)
    opt = load_optimizer(study)
    assert (opt.noise, opt.num_initial, opt.seed, opt.direction) == (0.25, 2, 7, "maximize")
    assert opt.method is QUICK
    assert opt.space == xstar.Space(x=Real(0.0, 1.0))
    assert load_optimizer(study, sampler(LINE, "ei", 8)).method_name == "ei"


@pytest.mark.parametrize("count, startup, methods", [(5, 2, 2), (5, 0, 1), (6, 4, 4)])
def test_startup_trials_fill_the_space(count, startup, methods):
    study = study_of(sampler(SQUARE, n_startup_trials=startup))
    evaluate(study, SQUARE, hill, count)
    told = [trial.diagnostics["method"] for trial in load_optimizer(study).trials]
    assert told == ["space-filling"] * methods + ["logei"] * (count - methods)


@pytest.mark.parametrize("n_trials, confirmed", [(None, []), (6, [5]), (1, [])])
def test_one_trial_tests_what_is_recommended(n_trials, confirmed):
    """The last of those that were announced, and none of those that come after it."""
    study = study_of(sampler(LINE, n_trials=n_trials, noise=0.0))
    evaluate(study, LINE, lambda params: -((params["x"] - 0.3) ** 2), 8)
    told = load_optimizer(study).trials
    assert [trial.number for trial in told if trial.diagnostics.get("purpose") == "confirm"] == confirmed


# Without a search space: what trials have in common


def test_the_first_trial_is_independent_and_all_others_are_relative():
    study = study_of(sampler())
    evaluate(study, MIXED, mixed_value, 6)
    shared = [records.shared(trial) for trial in study.trials]
    assert shared[0] == {}
    for trial, told in zip(study.trials[1:], shared[1:], strict=True):
        internal = {name: trial.distributions[name].to_internal_repr(value) for name, value in trial.params.items()}
        assert told["params"] == internal


def test_parameters_have_exact_python_types_and_legal_values(database):
    study = study_of(sampler(), storage=database())
    seen = []
    study.optimize(lambda trial: mixed_value(seen.append(suggested(trial, MIXED)) or seen[-1]), 9)
    stored = optuna.load_study(study_name="s", storage=database()).trials
    assert [trial.params for trial in stored] == seen
    for params in seen:
        assert [type(params[name]) for name in ("lr", "layers", "dropout")] == [float, int, float]
        assert any(
            type(params["kind"]) is type(choice) and params["kind"] == choice for choice in MIXED["kind"].choices
        )
        assert 1e-4 <= params["lr"] <= 1.0
        assert 1 <= params["layers"] <= 6
        assert params["dropout"] in (0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9)


def test_parameters_of_conditional_branches_are_not_modelled(caplog):
    study = study_of(sampler())

    def objective(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        if trial.number % 2:
            return bump(x) - trial.suggest_float("odd", 0.0, 1.0)
        return bump(x) - trial.suggest_int("even", 0, 5)

    study.optimize(objective, 7)
    with pytest.warns(UserWarning, match="not in the model") as warned:
        opt = load_optimizer(study)
    (said,) = [str(warning.message) for warning in warned]
    assert (
        'not in the model: "even" (4 of 7 results), "odd" (3 of 7 results); only what all results have can be' in said
    )
    assert warned[0].filename == __file__, "where it was loaded"
    assert list(opt.space.parameters) == ["x"]
    assert len(opt.trials) == 7
    assert [list(records.shared(trial)["params"]) for trial in study.trials[2:]] == [["x"]] * 5
    odd = [trial.params["odd"] for trial in study.trials if "odd" in trial.params]
    assert len(set(odd)) == 3, "drawn anew for every trial"
    told = [record.getMessage() for record in caplog.records if record.name == SAMPLER_LOG]
    assert sum("'odd'" in message for message in told) == 1
    assert sum("'even'" in message for message in told) == 1
    assert not any("'x'" in message for message in told)
    assert all("sampled independently" in message for message in told)


def test_parameters_that_a_search_space_does_not_name_are_said_to_be_left_out():
    study = study_of(sampler(LINE))
    evaluate(study, {**LINE, "k": IntDistribution(1, 5)}, lambda params: bump(params["x"]), 4)
    with pytest.warns(UserWarning, match=r'"k" \(4 of 4 results\); the definition or search space does not name them'):
        load_optimizer(study)


def test_a_search_space_may_have_parameters_that_say_more_than_distributions():
    """An order, descriptors and units reach the model; Optuna sees choices."""
    parameters = {"x": Real(0.0, 1.0, unit="mm"), "batch": Ordinal([16, 32, 64])}
    study = study_of(sampler(parameters))
    distributions = {name: records.to_distribution(parameter) for name, parameter in parameters.items()}
    evaluate(study, distributions, lambda params: bump(params["x"]) + params["batch"] / 64, 5)
    opt = load_optimizer(study)
    assert opt.space == Space(parameters)
    assert [trial.params for trial in opt.trials] == [trial.params for trial in study.trials]
    changed = {**distributions, "batch": CategoricalDistribution([16, 32, 64, 128])}
    assert records.to_space(changed, parameters).parameters["batch"] == Categorical([16, 32, 64, 128])


def test_the_warning_of_independent_parameters_can_be_turned_off(caplog):
    study = study_of(sampler(warn_independent_sampling=False))
    for name in "abc":
        study.optimize(lambda trial, name=name: trial.suggest_float(name, 0.0, 1.0), 1)
    assert [list(trial.params) for trial in study.trials] == [["a"], ["b"], ["c"]]
    assert caplog.records == []


def test_an_independent_sampler_is_used_and_told_of_the_trials():
    class Recorder(RandomSampler):
        calls = ()

        def before_trial(self, study, trial):
            self.calls += (("before", trial.number),)

        def sample_independent(self, study, trial, param_name, param_distribution):
            self.calls += ((param_name, trial.number),)
            return 0.125

        def after_trial(self, study, trial, state, values):
            self.calls += (("after", trial.number),)

        def reseed_rng(self):
            self.calls += ("reseed",)

    recorder = Recorder()
    study = study_of(sampler(independent_sampler=recorder))
    assert evaluate(study, LINE, lambda params: bump(**params), 2)[0] == {"x": 0.125}
    study.sampler.reseed_rng()
    assert recorder.calls == (("before", 0), ("x", 0), ("after", 0), ("before", 1), ("after", 1), "reseed")


def test_the_order_of_suggest_calls_changes_nothing():
    orders = [list(MIXED), list(MIXED)[::-1]]
    runs = [evaluate(study_of(sampler()), {name: MIXED[name] for name in names}, mixed_value, 7) for names in orders]
    assert runs[0] == runs[1]


# Pending trials


def test_trials_asked_for_together_are_distinct_and_those_of_a_batch():
    study = study_of(sampler(SQUARE, noise=0.0))
    evaluate(study, SQUARE, hill, 4)
    opt = load_optimizer(study)
    batch = [study.ask(SQUARE).params for _ in range(4)]
    assert batch == [trial.params for trial in opt.ask(4)]
    rows = np.array([[params["x"], params["y"]] for params in batch])
    gaps = [np.max(np.abs(rows[i] - rows[j])) for i, j in itertools.combinations(range(4), 2)]
    assert min(gaps) > 0.01


@pytest.mark.parametrize("age, pending", [(0.0, True), (90.0, True), (110.0, False)])
def test_a_running_trial_moves_the_next_suggestion_until_it_is_stale(age, pending):
    aim = line_study(stale_after=100.0, noise=0.0)
    add(aim, {"x": 0.0}, state=TrialState.RUNNING, age=1000.0)
    point = aim.ask(LINE).params
    study = line_study(stale_after=100.0, noise=0.0)
    add(study, point, state=TrialState.RUNNING, age=age)
    found = study.ask(LINE)
    assert found.number == 4
    assert (3 in states(study)) == pending
    assert (found.params != point) == pending
    if pending:
        assert states(study)[3] == "pending"
        assert abs(found.params["x"] - point["x"]) > 0.01


def test_without_an_age_limit_a_running_trial_counts_for_ever():
    study = line_study(stale_after=None)
    add(study, {"x": 0.2}, state=TrialState.RUNNING, age=1e8)
    assert states(study)[3] == "pending"
    study.sampler = sampler(LINE)
    assert 3 not in states(study), "by default a day is enough"


def test_a_stale_trial_that_is_told_after_all_counts():
    study = line_study(stale_after=100.0)
    add(study, {"x": 0.2}, state=TrialState.RUNNING, age=1000.0)
    assert 3 not in values(study)
    study.tell(3, -0.01)
    assert values(study)[3] == -0.01


def test_a_stale_trial_near_the_suggestion_does_not_have_it_made_again(monkeypatch):
    aim = line_study(stale_after=100.0)
    add(aim, {"x": 0.0}, state=TrialState.RUNNING, age=1000.0)
    point = aim.ask(LINE).params
    study = line_study(stale_after=100.0)
    add(study, point, state=TrialState.RUNNING, age=1000.0)
    calls = spy_on_proposals(monkeypatch)
    assert study.ask(LINE).params == point
    assert calls == [4], "nobody has taken the point meanwhile"


@EXPERIMENTAL
@pytest.mark.filterwarnings("ignore:Heartbeat of storage")
def test_a_running_trial_whose_heartbeat_has_stopped_is_not_pending(database):
    study = study_of(sampler(LINE), storage=database(heartbeat_interval=1, grace_period=60))
    add(study, {"x": 0.1}, 0.0)
    silent, alive, without = (study.ask(LINE) for _ in range(3))
    for trial in (silent, alive):
        study._storage.record_heartbeat(trial._trial_id)
    assert list(states(study)) == [0, 1, 2, 3]
    _stop_heartbeat(database.path, silent)
    assert list(states(study)) == [0, 2, 3]
    assert states(study)[without.number] == "pending", "trials that were asked for by hand have no heartbeat"


@EXPERIMENTAL
@pytest.mark.filterwarnings("ignore:Heartbeat of storage")
def test_a_trial_that_died_and_is_retried_is_neither_a_failure_nor_a_second_point(database):
    retry = RetryHeartbeatStaleTrialCallback(max_retry=1)
    storage = database(heartbeat_interval=1, grace_period=60, heartbeat_stale_trial_callback=retry)
    study = study_of(sampler(LINE), storage=storage)
    evaluate(study, LINE, lambda params: bump(**params), 3)
    dead = study.ask(LINE)
    storage.record_heartbeat(dead._trial_id)
    _stop_heartbeat(database.path, dead)
    evaluate(study, LINE, lambda params: bump(**params), 1)
    assert [trial.state for trial in study.trials[3:]] == [TrialState.FAIL, TrialState.COMPLETE]
    assert study.trials[4].params == dead.params
    opt = load_optimizer(study)
    assert [trial.number for trial in opt.trials] == [0, 1, 2, 4]
    assert opt.recommend().feasibility == 1.0


def _stop_heartbeat(path, trial):
    """As if the last one had been an hour ago."""
    with closing(sqlite3.connect(path)) as connection, connection:
        changed = connection.execute(
            "UPDATE trial_heartbeats SET heartbeat = datetime('now', '-1 hour') WHERE trial_id = ?", [trial._trial_id]
        )
        assert changed.rowcount == 1


@pytest.fixture(params=["sqlite", "journal"])
def another(request, tmp_path, database):
    """Opens the same storage anew."""
    path = str(tmp_path / "journal.log")
    return database if request.param == "sqlite" else lambda: JournalStorage(JournalFileBackend(path))


def test_suggestions_are_visible_to_others_before_the_objective_asks_for_them(another):
    study = study_of(sampler(MIXED), storage=another())
    evaluate(study, MIXED, mixed_value, 6)
    trial = study.ask()
    trial.suggest_int("layers", 1, 6)
    other = optuna.load_study(study_name="s", storage=another(), sampler=sampler(MIXED, seed=1))
    assert list(other.trials[-1].params) == ["layers"]
    pending = load_optimizer(other).trials[-1]
    assert (pending.number, pending.state) == (6, "pending")
    assert pending.diagnostics == {
        "method": "logei", "fallback": None, "kernel": "Matern52", "inference_converged": True,
    }  # fmt: skip
    assert suggested(trial, MIXED) == pending.params
    assert other.ask(MIXED).params != pending.params


def test_many_parameters_with_long_names_are_shared_in_pieces_that_every_database_holds(database):
    names = [f'{i}: größe des λ-параметр «{"嵐" * (i % 40)}» "\\{chr(7)}' for i in range(100)]
    space = {name: FloatDistribution(0.0, 1.0) for name in names}
    study = study_of(sampler(space), storage=database())
    trial = study.ask()
    trial.suggest_float(names[0], 0.0, 1.0)
    other = optuna.load_study(study_name="s", storage=database(), sampler=sampler(space))
    (seen,) = load_optimizer(other).trials
    assert len(other.trials[0].params) == 1
    assert seen.params == trial.relative_params
    assert list(seen.params) == names
    with closing(sqlite3.connect(database.path)) as connection:
        stored = [text for (text,) in connection.execute("SELECT value_json FROM trial_system_attributes")]
    assert len(stored) > 10
    assert max(map(len, stored)) <= 2045


def share(study, trial, params):
    share_as(study, trial._get_latest_trial(), params)


def share_as(study, frozen, params):
    distributions = {name: FloatDistribution(0.0, 1.0) for name in params}
    records.share(study, frozen, xstar.Trial(frozen.number, params), distributions)


def test_quotes_and_backslashes_fit_too(database):
    study = study_of(None, storage=database())
    worst = {'"\\' * 100 + str(i): 0.5 for i in range(30)}
    share(study, study.ask(), worst)
    (seen,) = optuna.load_study(study_name="s", storage=database()).trials
    assert records.shared(seen) == {"params": worst}
    assert len(seen.system_attrs) > 10
    assert max(len(json.dumps(piece)) for piece in seen.system_attrs.values()) <= 2045


@pytest.mark.parametrize("length", [records.PIECE - 1, records.PIECE, records.PIECE + 1, 3 * records.PIECE])
def test_pieces_may_be_full(length, database):
    params = {"x" * (length - len(json.dumps({"params": {"": 0.5}}))): 0.5}
    assert len(json.dumps({"params": params})) == length
    study = study_of(None, storage=database())
    share(study, study.ask(), params)
    assert records.shared(optuna.load_study(study_name="s", storage=database()).trials[0]) == {"params": params}


def test_pieces_that_are_missing_say_nothing():
    study = study_of(None)
    share(study, study.ask(), {"x" * 2500: 0.5})
    (trial,) = study.trials
    assert list(trial.system_attrs) == [f"{records.SHARED}:{i}" for i in range(3)]
    for gone in list(trial.system_attrs):
        rest = {name: piece for name, piece in trial.system_attrs.items() if name != gone}
        assert records.shared(create_trial(state=TrialState.RUNNING, system_attrs=rest)) == {}


def test_what_is_shared_again_replaces_what_was_shared_before():
    study = study_of(None)
    trial = study.ask()
    for params in ({"x" * 2500: 0.5}, {"x": 0.25}, {"x" * 1500: 0.75}):
        share(study, trial, params)
        assert records.shared(study.trials[0]) == {"params": params}


# Two workers at the same time


def test_trials_that_are_just_being_chosen_are_counted_on_as_in_a_batch():
    batch = [trial.params for trial in load_optimizer(line_study(noise=0.0)).ask(3)]
    for place in range(3):
        study = line_study(noise=0.0)
        together = [study.ask() for _ in range(3)]
        assert suggested(together[place], LINE) == batch[place]


@pytest.mark.parametrize("why", ["withdrawn", "stale", "old"])
def test_nobody_chooses_for_a_trial_that_does_not_count(monkeypatch, why):
    study = line_study(stale_after=5.0 if why == "stale" else 1000.0)
    attributes = {"user_attrs": {"xstar:withdrawn": True}} if why == "withdrawn" else {}
    add(study, {}, state=TrialState.RUNNING, distributions={}, age=100.0 if why == "old" else 10.0, **attributes)
    calls = spy_on_proposals(monkeypatch)
    study.ask(LINE)
    assert calls == [4]


def spy_on_proposals(monkeypatch, meanwhile=None):
    """The numbers of the trials proposed; `meanwhile` happens after each proposal, before it is shared."""
    calls, propose = [], Optimizer.propose

    def spy(self, number, fixed=None, **more):
        suggestion = propose(self, number, fixed, **more)
        calls.append(number)
        if meanwhile is not None:
            meanwhile(suggestion)
        return suggestion

    monkeypatch.setattr(Optimizer, "propose", spy)
    return calls


@pytest.mark.parametrize("done", [1, 6], ids=["design", "model"])
@pytest.mark.parametrize("how", ["params", "shared", "enqueued"])
def test_a_point_that_another_worker_has_taken_meanwhile_is_left_to_it(monkeypatch, done, how):
    study = study_of(sampler(SQUARE))
    evaluate(study, SQUARE, hill, done)
    taken = []

    def rival(suggestion):
        if taken:
            return
        taken.append(suggestion.params)
        if how == "params":
            add(study, suggestion.params, state=TrialState.RUNNING, distributions=SQUARE)
        elif how == "shared":
            text = json.dumps({"params": dict(suggestion.params)})
            add(study, {}, state=TrialState.RUNNING, distributions={}, system_attrs={f"{records.SHARED}:0": text})
        else:
            attributes = {"fixed_params": dict(suggestion.params)}
            add(study, {}, state=TrialState.RUNNING, distributions={}, system_attrs=attributes)

    calls = spy_on_proposals(monkeypatch, rival)
    trial = study.ask(SQUARE)
    assert calls == [done, done]
    assert max(abs(trial.params[name] - taken[0][name]) for name in SQUARE) >= SharingSettings().close
    assert records.shared(study.trials[done])["params"] == trial.params


def test_a_point_to_which_another_worker_has_moved_is_left_to_it(monkeypatch):
    """It was pending somewhere else before, so that there seemed to be no news of it."""
    study = line_study()
    rival = study.ask()
    share(study, rival, {"x": 0.05})
    taken = []

    def move(suggestion):
        if not taken:
            taken.append(suggestion.params["x"])
            share(study, rival, {"x": taken[0]})

    calls = spy_on_proposals(monkeypatch, move)
    trial = study.ask(LINE)
    assert calls == [trial.number] * 2
    assert abs(trial.params["x"] - taken[0]) > SAME_POINT


def test_of_two_at_the_same_point_the_later_trial_leaves_it(monkeypatch):
    study, looks = line_study(), []
    monkeypatch.setattr(study.sampler, "_sharing", SharingSettings(yield_seconds=1e9))

    def rival(suggestion):
        if not looks:
            add(study, {}, state=TrialState.RUNNING, distributions={})
            share_as(study, study.trials[-1], suggestion.params)

    def leave(seconds):
        looks.append(seconds)
        records.unshare(study, study.trials[-1])

    monkeypatch.setattr(time, "sleep", leave)
    calls = spy_on_proposals(monkeypatch, rival)
    trial = study.ask(LINE)
    assert calls == [3], "the earlier trial keeps its point"
    assert len(looks) == 1
    assert records.shared(study.trials[3])["params"] == trial.params


def test_points_elsewhere_are_no_reason_to_suggest_again(monkeypatch):
    study = line_study()

    def rival(suggestion):
        elsewhere = 1.0 if suggestion.params["x"] < 0.5 else 0.0
        add(study, {"x": elsewhere}, state=TrialState.RUNNING)
        add(study, {"x": elsewhere}, 0.0)
        add(study, {}, state=TrialState.RUNNING, distributions={})

    calls = spy_on_proposals(monkeypatch, rival)
    study.ask(LINE)
    assert calls == [3]


def test_points_that_were_pending_before_are_no_reason_to_suggest_again(monkeypatch):
    space = {"k": IntDistribution(0, 1)}
    study = study_of(sampler(space))
    for k in (0, 1):
        add(study, {"k": k}, float(k), distributions=space)
        add(study, {"k": k}, state=TrialState.RUNNING, distributions=space)
    calls = spy_on_proposals(monkeypatch)
    assert study.ask(space).params["k"] in (0, 1), "with noise, repeating a pending point is better than nothing"
    assert calls == [4]


def test_a_rival_that_is_always_faster_does_not_hold_up_the_study(monkeypatch):
    study = line_study()
    monkeypatch.setattr(study.sampler, "_sharing", SharingSettings(attempts_at_another_point=4))
    calls = spy_on_proposals(monkeypatch, lambda suggestion: add(study, suggestion.params, state=TrialState.RUNNING))
    assert 0.0 <= study.ask(LINE).params["x"] <= 1.0
    assert calls == [3] * 4


def test_two_threads_share_a_sampler():
    study = study_of(sampler(noise=0.0))
    study.optimize(lambda trial: hill(suggested(trial, SQUARE)), 12, n_jobs=2)
    assert [trial.state for trial in study.trials] == [TrialState.COMPLETE] * 12
    assert len({tuple(sorted(trial.params.items())) for trial in study.trials}) == 12
    assert len(load_optimizer(study).trials) == 12


WORKER = """
import sys, time
import optuna
from xstar import Method
from xstar.acquisition import LogEI
from xstar.gp import MAP, Matern52
from xstar.integrations.optuna import XstarSampler

def objective(trial):
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    trial.set_user_attr("worker", sys.argv[2])
    until = time.monotonic() + 1200
    while len({seen.user_attrs.get("worker", sys.argv[2]) for seen in study.trials}) < 2 and time.monotonic() < until:
        time.sleep(0.02)  # the first trial waits for the other worker's
    return -((x - 0.3) ** 2) - (y - 0.6) ** 2

optuna.logging.set_verbosity(optuna.logging.ERROR)
sampler = XstarSampler(seed=0, noise=0.0, method=Method(Matern52(), MAP(), acquisition=LogEI()))
study = optuna.load_study(study_name="s", storage=sys.argv[1], sampler=sampler)
study.optimize(objective, 8)
"""


def test_two_processes_share_a_database(database):
    study = study_of(sampler(noise=0.0), storage=database())
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, f"sqlite:///{database.path}", name],
            stderr=subprocess.PIPE, text=True,
        )
        for name in ("one", "other")
    ]  # fmt: skip
    try:
        for worker in workers:
            finish(worker)
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()
    trials = study.trials
    assert [trial.number for trial in trials] == list(range(16))
    assert {trial.state for trial in trials} == {TrialState.COMPLETE}
    assert [trial.user_attrs["worker"] for trial in trials].count("one") == 8
    assert len({tuple(sorted(trial.params.items())) for trial in trials}) == 16
    assert all(records.shared(trial) for trial in trials[2:]), "only the first of each worker is drawn at random"
    assert study.best_value > -0.05


# Failures


def test_failures_teach_where_not_to_go():
    study = study_of(sampler(LINE))

    def objective(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        if x > 0.5:
            raise RuntimeError("the oven is too hot")
        return x

    study.optimize(objective, 16, catch=(RuntimeError,))
    failed = [trial.state == TrialState.FAIL for trial in study.trials]
    assert any(failed)
    assert sum(failed[-8:]) <= 3, "although values rise toward the failing half"
    assert max(trial.params["x"] for trial in study.trials[-8:]) < 0.75
    opt = load_optimizer(study)
    assert [trial.state == "failed" for trial in opt.trials] == failed
    best = opt.recommend()
    assert best.feasibility < 1.0
    assert best.params["x"] < 0.55
    assert opt.explain({"x": 0.95}).feasibility < best.feasibility


def test_a_study_that_has_only_failed_goes_on():
    study = study_of(sampler())

    def objective(trial):
        suggested(trial, SQUARE)
        raise RuntimeError

    study.optimize(objective, 5, catch=(RuntimeError,))
    assert len({trial.params["x"] for trial in study.trials}) == 5
    opt = load_optimizer(study)
    assert [trial.state for trial in opt.trials] == ["failed"] * 5
    with pytest.raises(TrialError, match=r"nothing has been told yet"):
        opt.recommend()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("stored", [False, True], ids=["memory", "sqlite"])
def test_values_that_are_not_finite_are_failures(value, stored, database):
    study = study_of(sampler(), storage=database() if stored else None)
    evaluate(study, LINE, lambda params: bump(**params), 3)
    evaluate(study, LINE, lambda _: value, 1)
    evaluate(study, LINE, lambda params: bump(**params), 1)
    opt = load_optimizer(study)
    assert [trial.state for trial in opt.trials] == ["done"] * 3 + ["failed", "done"]
    assert opt.recommend().feasibility < 1.0
    assert math.isfinite(opt.recommend().mean)


def test_why_a_trial_failed_may_be_told():
    study = line_study()
    add(study, {"x": 0.8}, state=TrialState.FAIL, user_attrs={"xstar:reason": "no oven"})
    add(study, {"x": 0.9}, state=TrialState.FAIL)
    add(study, {"x": 0.7}, math.inf)
    assert [trial.reason for trial in load_optimizer(study).trials[3:]] == ["no oven", "failed", "value was inf"]


def test_retried_trials_are_no_failures():
    study = line_study()
    add(study, {"x": 0.7}, state=TrialState.FAIL)
    add(study, {"x": 0.7}, state=TrialState.FAIL, system_attrs={"failed_trial": 3, "retry_history": [3]})
    assert list(states(study)) == [0, 1, 2, 4], "the last attempt counts, as long as it is the last"
    add(study, {"x": 0.7}, -0.16, system_attrs={"failed_trial": 3, "retry_history": [3, 4]})
    assert list(states(study)) == [0, 1, 2, 5]
    assert load_optimizer(study).recommend().feasibility == 1.0


@pytest.mark.parametrize("state, value", [(TrialState.COMPLETE, 9.0), (TrialState.FAIL, None)])
def test_withdrawn_trials_do_not_count(state, value):
    study = line_study()
    before = study.ask(LINE).params
    study = line_study()
    study.add_trial(create_trial(state=TrialState.WAITING))  # number 3, as above
    add(study, {"x": 0.7}, value, state, user_attrs={"xstar:withdrawn": "the oven was off"})
    assert list(states(study)) == [0, 1, 2]
    trial = study.ask(LINE)
    assert (trial.number, trial.params) == (3, before)
    assert load_optimizer(study).recommend().feasibility == 1.0


def test_a_running_trial_can_be_withdrawn():
    study = line_study()
    trial = study.ask(LINE)
    assert 3 in states(study)
    trial.set_user_attr("xstar:withdrawn", True)
    assert 3 not in states(study)


# Pruned trials


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["maximize", "minimize"])
def test_pruned_trials_are_no_better_than_the_median_of_complete_ones(sign):
    study = line_study([(0.1, 1.0), (0.5, 5.0), (0.9, 2.0)], sign)
    for x, last in ((0.2, 7.0), (0.3, 1.5), (0.4, -3.0)):
        reports = {0: sign * 100.0, 7: sign * last, 3: sign * 50.0}
        add(study, {"x": x}, state=TrialState.PRUNED, intermediate_values=reports)
    add(study, {"x": 0.6}, sign * math.inf)
    told = values(study)
    assert [told[number] for number in (3, 4, 5)] == [sign * 2.0, sign * 1.5, sign * -3.0]
    assert [trial.state for trial in load_optimizer(study).trials] == ["done"] * 6 + ["failed"]


def test_pruned_trials_without_a_value_say_nothing():
    study = line_study()
    add(study, {"x": 0.2}, state=TrialState.PRUNED)
    add(study, {"x": 0.2}, state=TrialState.PRUNED, intermediate_values={0: -0.1, 1: math.nan})
    assert list(states(study)) == [0, 1, 2]


def test_pruned_trials_may_be_ignored():
    study = line_study(use_pruned=False)
    add(study, {"x": 0.2}, state=TrialState.PRUNED, intermediate_values={0: -0.1})
    assert list(states(study)) == [0, 1, 2]
    assert list(values(study_with_default_settings(study))) == [0, 1, 2, 3]


def study_with_default_settings(study):
    study.sampler = sampler(LINE)
    return study


def test_pruned_trials_say_nothing_before_there_is_a_median():
    study = line_study([])
    add(study, {"x": 0.2}, state=TrialState.PRUNED, intermediate_values={0: -0.1})
    add(study, {"x": 0.4}, math.inf)
    assert states(study) == {1: "failed"}
    assert 0.0 <= study.ask(LINE).params["x"] <= 1.0


def test_a_study_with_a_pruner(database):
    pruner = optuna.pruners.MedianPruner(n_startup_trials=2, n_warmup_steps=0)
    study = optuna.create_study(storage=database(), sampler=sampler(LINE), pruner=pruner, direction="maximize")

    def objective(trial):
        x = trial.suggest_float("x", 0.0, 1.0)
        for step in range(3):
            trial.report(bump(x) - 1.0 / (1 + step), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return bump(x)

    study.optimize(objective, 10)
    pruned = [trial for trial in study.trials if trial.state == TrialState.PRUNED]
    assert pruned
    median = float(np.median([trial.value for trial in study.trials if trial.state == TrialState.COMPLETE]))
    told = values(study)
    assert len(told) == 10
    for trial in pruned:
        assert told[trial.number] == min(trial.intermediate_values[trial.last_step], median)


# Known noise


def test_known_noise_belongs_to_its_value():
    study = line_study()
    for sd in (0.02, 0, None):
        add(study, {"x": 0.3}, 0.5, user_attrs={"xstar:sd": sd})
    assert [trial.sd for trial in load_optimizer(study).trials] == [None, None, None, 0.02, 0, None]


def test_a_value_with_little_noise_is_believed():
    predictions = []
    for sd in (1e-4, 1.0):
        study = line_study([])
        for x in np.linspace(0.0, 1.0, 6):
            add(study, {"x": float(x)}, 1.0 if x == 0.4 else 0.0, user_attrs={"xstar:sd": sd})
        predictions.append(load_optimizer(study).predict([{"x": 0.4}])[0][0])
    assert predictions[0] == pytest.approx(1.0, abs=0.01)
    assert predictions[1] < 0.6


@pytest.mark.parametrize("sd", ["0.1", -0.1, math.nan, math.inf, True, [0.1]], ids=str)
def test_noise_that_is_no_standard_deviation_does_not_break_the_study(sd, database):
    study = study_of(sampler(LINE), storage=database())
    evaluate(study, LINE, lambda params: bump(**params), 3)
    add(study, {"x": 0.3}, 0.0, user_attrs={"xstar:sd": sd})
    assert [trial.sd for trial in load_optimizer(study).trials] == [None] * 4
    assert 0.0 <= study.ask(LINE).params["x"] <= 1.0


# Ranges that change


@pytest.mark.parametrize(
    "old, new",
    [
        (FloatDistribution(0.0, 1.0), FloatDistribution(0.4, 0.6)),
        (FloatDistribution(0.0, 1.0), FloatDistribution(-5.0, 5.0)),
        (FloatDistribution(0.0, 1.0), FloatDistribution(10.0, 11.0)),
        (FloatDistribution(0.0, 1.0), FloatDistribution(0.0, 0.9, step=0.3)),
        (IntDistribution(0, 8), IntDistribution(2, 32, step=10)),
        (IntDistribution(0, 8), IntDistribution(100, 200)),
    ],
    ids=["narrower", "wider", "disjoint", "steps", "whole steps", "whole and disjoint"],
)
def test_old_trials_teach_in_a_new_range(old, new):
    study = study_of(sampler())
    for u in (0.0, 0.25, 0.5, 0.75, 1.0):
        add(study, {"x": type(old.low)(old.low + u * (old.high - old.low))}, bump(u, 0.4), distributions={"x": old})
    suggestions = evaluate(study, {"x": new}, lambda params: -params["x"] / new.high, 4)[5:]
    assert all(new._contains(new.to_internal_repr(params["x"])) for params in suggestions)
    assert all(type(params["x"]) is type(new.low) for params in suggestions)
    opt = load_optimizer(study)
    assert opt.space.parameters["x"] == records.to_parameter(new)
    assert len(opt.trials) == 9
    assert opt.space.contains(opt.recommend().params)
    for trial in study.trials[6:]:
        assert records.shared(trial)["params"] == {"x": new.to_internal_repr(trial.params["x"])}


@pytest.mark.filterwarnings("ignore:study .* not in the model")
@pytest.mark.parametrize(
    "old, new, values_before, known",
    [
        (FloatDistribution(-1.0, 1.0), FloatDistribution(1e-3, 1.0, log=True), [-1.0, -0.5, 0.0, 0.5, 1.0], 2),
        (FloatDistribution(1e-3, 1.0, log=True), FloatDistribution(-1.0, 1.0), [1e-3, 0.01, 1.0], 3),
        (IntDistribution(0, 8), IntDistribution(1, 1024, log=True), [0, 4, 8], 2),
    ],
    ids=["to log", "from log", "whole to log"],
)
def test_old_trials_teach_on_another_scale_if_they_have_a_place_there(old, new, values_before, known):
    study = study_of(sampler())
    for value in values_before:
        add(study, {"x": value}, bump(value), distributions={"x": old})
    add(study, {"x": new.high}, bump(new.high), distributions={"x": new})  # Optuna lets only added trials change it
    assert len(load_optimizer(study).trials) == known + 1
    suggestions = evaluate(study, {"x": new}, lambda params: bump(**params), 4)[-4:]
    assert all(new._contains(params["x"]) for params in suggestions)
    assert len(load_optimizer(study).trials) == known + 5
    for trial in study.trials[-4:]:
        assert records.shared(trial)["params"] == trial.params


def test_trials_that_lack_a_parameter_say_nothing():
    study = study_of(sampler(SQUARE))
    evaluate(study, SQUARE, hill, 3)
    add(study, {"x": 0.5}, 1.0)
    for state in (TrialState.FAIL, TrialState.RUNNING, TrialState.WAITING):
        add(study, {"x": 0.5}, state=state)
    with pytest.warns(UserWarning, match=r'not in the model: 1 of 4 results; they lack "y"\.$'):
        assert list(states(study)) == [0, 1, 2]


def test_a_parameter_that_is_held_fixed_later_says_the_same_to_the_sampler_and_to_load_optimizer(monkeypatch):
    used, propose = [], Optimizer.propose
    monkeypatch.setattr(
        Optimizer, "propose", lambda self, *rest, **more: used.append(self) or propose(self, *rest, **more)
    )
    study = study_of(sampler())
    evaluate(study, {**LINE, "k": IntDistribution(1, 5)}, lambda params: bump(params["x"]) + params["k"], 6)
    evaluate(study, {**LINE, "k": IntDistribution(3, 3)}, lambda params: bump(params["x"]) + params["k"], 2)
    with pytest.warns(UserWarning, match="results; their values do not fit the parameters as they are now"):
        told = {trial.number for trial in load_optimizer(study).trials} - {7}
    assert {trial.number for trial in used[-1].trials} == told


def test_parameters_with_one_value_do_no_harm():
    space = {**LINE, "one": IntDistribution(3, 3), "only": CategoricalDistribution(["a"])}
    for known in (None, space):
        study = study_of(sampler(known))
        params = evaluate(study, space, lambda params: bump(params["x"]), 5)
        assert all((point["one"], point["only"]) == (3, "a") for point in params)
        assert load_optimizer(study).recommend().params.keys() == space.keys()
        assert list(records.shared(study.trials[-1])["params"]) == ["x"]


def test_a_running_trial_with_a_parameter_of_one_value_is_pending():
    space = {**LINE, "one": IntDistribution(3, 3)}
    study = study_of(sampler(space))
    evaluate(study, space, lambda params: bump(params["x"]), 4)
    trial = study.ask()
    x = trial.suggest_float("x", 0.0, 1.0)
    pending = load_optimizer(study).trials[-1]
    assert (pending.number, pending.state, pending.params) == (4, "pending", {"x": x, "one": 3})


# Choices


@pytest.mark.parametrize("given", [False, True], ids=["found", "given"])
def test_a_choice_that_does_not_equal_itself(given, database):
    space = {"c": CategoricalDistribution([math.nan, 1.0, "a"]), **LINE}
    for count in (5, 4):
        study = study_of(sampler(space if given else None), storage=database())
        params = evaluate(study, space, lambda params: bump(params["x"]) + (params["c"] == "a"), count)
    assert any(isinstance(point["c"], float) and math.isnan(point["c"]) for point in params)
    opt = load_optimizer(study)
    assert len(opt.trials) == 9
    assert opt.recommend().params["c"] == "a"


def test_an_enqueued_choice_that_does_not_equal_itself_is_pending(database):
    space = {"c": CategoricalDistribution([math.nan, 1.0, "a"])}
    study = study_of(sampler(space), storage=database())
    evaluate(study, space, lambda params: float(params["c"] == "a"), 2)
    study.enqueue_trial({"c": math.nan})
    assert states(study)[2] == "pending"


@pytest.mark.parametrize("stored", [False, True], ids=["memory", "sqlite"])
def test_choices_of_every_kind_keep_their_kind(stored, database):
    choices = [None, True, "a", 2, 0.5, ""]
    space = {"c": CategoricalDistribution(choices)}
    study = study_of(sampler(noise=0.0), storage=database() if stored else None)
    seen = []
    study.optimize(lambda trial: float(choices.index(seen.append(suggested(trial, space)["c"]) or seen[-1])), 6)
    assert {(type(choice), choice) for choice in seen} == {(type(choice), choice) for choice in choices}
    assert load_optimizer(study).recommend().params == {"c": ""}


# Enqueued trials


def test_enqueued_trials_are_pending_and_then_run_as_they_are():
    study = study_of(sampler(SQUARE))
    evaluate(study, SQUARE, hill, 4)
    study.enqueue_trial({"x": 0.125, "y": 0.25})
    waiting = load_optimizer(study).trials[-1]
    assert (waiting.number, waiting.state, waiting.params) == (4, "pending", {"x": 0.125, "y": 0.25})
    assert evaluate(study, SQUARE, hill, 2)[4] == {"x": 0.125, "y": 0.25}
    assert values(study)[4] == hill({"x": 0.125, "y": 0.25})
    assert len(values(study)) == 6


def test_the_rest_of_a_partly_enqueued_trial_is_suggested():
    study = study_of(sampler(SQUARE))
    evaluate(study, SQUARE, hill, 4)
    study.enqueue_trial({"x": 0.125})
    assert 4 not in states(study), "half a point is none"
    expected = load_optimizer(study).ask(fixed={"x": 0.125}).params
    trial = study.ask()
    y = trial.suggest_float("y", 0.0, 1.0)
    assert expected == {"x": 0.125, "y": y}
    pending = load_optimizer(study).trials[-1]
    assert (pending.number, pending.state, pending.params) == (4, "pending", {"x": 0.125, "y": y})
    assert records.shared(study.trials[4])["params"] == expected
    assert trial.suggest_float("x", 0.0, 1.0) == 0.125
    study.tell(trial, 0.0)
    assert load_optimizer(study).trials[-1].params == {"x": 0.125, "y": y}


def test_an_enqueued_trial_does_not_stand_in_its_own_way(caplog):
    study = study_of(sampler(SQUARE, noise=0.0))
    evaluate(study, SQUARE, hill, 4)
    study.enqueue_trial({"x": 0.125, "y": 0.25})
    trial = study.ask()
    trial.suggest_float("new", 0.0, 1.0)  # of no enqueued value, so that the sampler is asked
    assert [record.getMessage() for record in caplog.records if "repeats" in record.getMessage()] == []
    assert records.shared(study.trials[4])["params"] == {"x": 0.125, "y": 0.25}


@pytest.mark.filterwarnings("ignore:Fixed parameter x with value 1.5 is out of range")
@pytest.mark.parametrize("fixed", [{"x": 1.5}, {"x": 0.125, "unknown": 3}])
def test_what_is_enqueued_need_not_fit(fixed):
    study = study_of(sampler(SQUARE))
    evaluate(study, SQUARE, hill, 4)
    study.enqueue_trial(fixed)
    assert evaluate(study, SQUARE, hill, 2)[4]["x"] == fixed["x"]
    assert len(values(study)) == 6


@EXPERIMENTAL
@pytest.mark.parametrize("space", [None, SQUARE], ids=["found", "given"])
def test_some_parameters_may_be_held_fixed(space):
    base = sampler(space)
    study = study_of(base)
    evaluate(study, SQUARE, hill, 5)
    study.sampler = PartialFixedSampler({"y": 0.6}, base)
    evaluate(study, SQUARE, hill, 5)
    for trial in study.trials[5:]:
        assert trial.params["y"] == 0.6
        assert records.shared(trial)["params"] == {"x": trial.params["x"]}
        assert records.shared(trial)["method"] == "logei"
    study.sampler = base
    assert set(study.ask(SQUARE).params) == {"x", "y"}
    assert len(load_optimizer(study).trials) == 11


# Copies, determinism, resuming


@pytest.mark.parametrize("copied", [lambda given: pickle.loads(pickle.dumps(given)), copy.deepcopy])
def test_a_copy_of_a_sampler_suggests_the_same(copied):
    study = study_of(sampler(SQUARE))
    evaluate(study, SQUARE, hill, 5)
    twin = study_of(copied(study.sampler))
    for trial in study.trials:
        twin.add_trial(trial)
    assert twin.ask(SQUARE).params == study.ask(SQUARE).params
    evaluate(twin, SQUARE, hill, 1)
    assert study.sampler._models is not twin.sampler._models


@pytest.mark.parametrize("space", [None, SQUARE], ids=["found", "given"])
def test_the_same_seed_suggests_the_same_and_another_one_something_else(space):
    runs = [evaluate(study_of(sampler(space, seed=seed)), SQUARE, hill, 6) for seed in (5, 5, 6)]
    assert runs[0] == runs[1]
    # Two seeds may both choose a corner; that they agree more often would be no chance.
    assert sum(one != other for one, other in zip(runs[0], runs[2], strict=True)) >= 5


def test_independent_parameters_depend_on_seed_number_and_name():
    draws = {}
    for seed, number, name in itertools.product((0, 1), (0, 1), "ab"):
        study = study_of(sampler(seed=seed))
        for _ in range(number):
            study.tell(study.ask(), state=TrialState.FAIL)
        draws[seed, number, name] = study.ask({name: FloatDistribution(0.0, 1.0)}).params[name]
    assert len(set(draws.values())) == 8
    both = study_of(sampler()).ask({"b": FloatDistribution(0.0, 1.0), "a": FloatDistribution(0.0, 1.0)}).params
    assert both == {"b": draws[0, 0, "b"], "a": draws[0, 0, "a"]}


def test_without_a_seed_one_is_drawn():
    assert XstarSampler().seed == 0, "as everywhere"
    one, other = XstarSampler(seed=None, method=QUICK), XstarSampler(seed=None, method=QUICK)
    assert one.seed != other.seed
    runs = [evaluate(study_of(given), LINE, lambda params: bump(**params), 4) for given in (one, other)]
    assert runs[0] != runs[1]
    assert runs[0] == evaluate(study_of(sampler(seed=one.seed)), LINE, lambda params: bump(**params), 4)


@pytest.mark.parametrize("space", [None, SQUARE], ids=["found", "given"])
def test_a_study_that_is_continued_is_the_one_that_was_not_interrupted(space, database):
    whole = evaluate(study_of(sampler(space)), SQUARE, hill, 10)
    for _ in range(2):
        study = study_of(sampler(space), storage=database())
        evaluate(study, SQUARE, hill, 5)
    assert [trial.number for trial in study.trials] == list(range(10))
    assert [trial.params for trial in study.trials] == whole
    assert values(study) == {trial.number: trial.value for trial in study.trials}


def test_a_model_is_used_again_only_while_the_results_are_the_same(monkeypatch):
    fits, fit = [], cache.fit
    monkeypatch.setattr(cache, "fit", lambda settings, evidence: fits.append(evidence) or fit(settings, evidence))
    study = line_study()
    trials = [study.ask(LINE) for _ in range(3)]
    assert len(fits) == 1
    study.tell(trials[0], 0.5)
    study.ask(LINE)
    assert [evidence.count for evidence in fits] == [3, 4]


def test_a_finite_space_without_noise_may_be_exhausted():
    space = {"k": IntDistribution(0, 2)}
    study = study_of(sampler(noise=0.0))
    params = evaluate(study, space, lambda params: -abs(params["k"] - 1), 6)
    assert sorted(point["k"] for point in params[:3]) == [0, 1, 2]
    assert all(point["k"] in (0, 1, 2) for point in params[3:])
    assert load_optimizer(study).recommend().params == {"k": 1}


def test_what_is_said_of_an_exhausted_space_is_true(caplog):
    study = study_of(sampler(noise=0.0))
    evaluate(study, {"k": IntDistribution(0, 2)}, lambda params: params["k"], 5)
    told = [record.getMessage() for record in caplog.records]
    assert sum("repeats a point" in message for message in told) == 2
    assert not any("not part of all complete trials" in message for message in told)


def test_what_is_said_of_a_changed_range_is_true(caplog):
    study = line_study()
    study.sampler = sampler()
    evaluate(study, {"x": FloatDistribution(10.0, 11.0)}, lambda params: params["x"], 1)
    assert not any("not part of all complete trials" in record.getMessage() for record in caplog.records)


# What a study says


@BOTH
def test_a_study_says_what_is_known_about_the_optimum(direction, database):
    sign = 1.0 if direction == "maximize" else -1.0
    study = study_of(sampler(), direction, database())
    evaluate(study, MIXED, lambda params: sign * mixed_value(params), 9)
    opt = load_optimizer(optuna.load_study(study_name="s", storage=database(), sampler=sampler()))
    assert opt.direction == direction
    best = opt.recommend()
    assert opt.space.contains(best.params)
    assert sign * best.mean == pytest.approx(max(sign * trial.value for trial in study.trials), abs=1.0)
    optima = opt.where(40)
    assert len(optima) == 40
    assert optima.params.keys() == MIXED.keys()
    why = opt.explain(8)
    assert why.params == study.trials[8].params
    assert why.method == "logei"
    assert why.bits >= 0.0
    assert opt.explain(0).method is None, "the first trial was drawn at random"


def test_what_is_told_to_a_loaded_optimizer_does_not_reach_the_study():
    study = line_study()
    before = [copy.deepcopy(trial) for trial in study.trials]
    opt = load_optimizer(study)
    opt.tell(opt.ask(), 5.0)
    opt.fail(0, replace=True)
    assert study.trials == before
    assert list(states(study)) == [0, 1, 2]


def test_a_study_of_another_sampler_can_be_loaded():
    study = study_of(RandomSampler(seed=0))
    evaluate(study, LINE, lambda params: bump(**params), 6)
    opt = load_optimizer(study)
    assert (opt.method_name, opt.seed, len(opt.trials)) == ("pes", 0, 6)
    assert load_optimizer(study, sampler()).recommend().params["x"] == pytest.approx(0.3, abs=0.2)


# Complaints


@pytest.mark.parametrize("running", [False, True])
def test_an_empty_study_cannot_be_loaded(running):
    study = study_of(sampler())
    if running:
        study.ask(LINE)
    with pytest.raises(SettingsError, match=r"'s' has no complete trial yet.*pass search_space="):
        load_optimizer(study)
    assert len(load_optimizer(study, sampler(LINE)).trials) == running


@pytest.mark.parametrize(
    "settings, error, message",
    [
        ({"method": "bayes"}, SettingsError, r'method must be one of "pes".*received \'bayes\''),
        ({"method": None}, SettingsError, r"method must be one of"),
        ({"seed": -1}, SettingsError, r"seed must be at least 0; received -1"),
        ({"seed": 1.5}, SettingsError, r"seed must be a whole number"),
        ({"seed": "1"}, SettingsError, r"seed must be a whole number"),
        ({"n_startup_trials": -1}, SettingsError, r"n_startup_trials must be at least 0"),
        ({"n_startup_trials": 2.0}, SettingsError, r"n_startup_trials must be a whole number"),
        ({"noise": -0.1}, DataError, r"noise must be a standard deviation"),
        ({"noise": "low"}, DataError, r"noise must be a standard deviation"),
        ({"stale_after": 0.0}, SettingsError, r"stale_after must be a number > 0"),
        ({"stale_after": "1 h"}, SettingsError, r"stale_after must be a number > 0"),
        ({"search_space": {"x": (0.0, 1.0)}}, (SettingsError, SpaceError), r"x.*FloatDistribution"),
    ],
)
def test_settings_that_make_no_sense_are_refused_at_once(settings, error, message):
    with pytest.raises(error, match=message):
        XstarSampler(**settings)


def test_the_search_space_of_a_sampler_is_its_own():
    space = dict(SQUARE)
    own = sampler(space)
    space.clear()
    assert own.infer_relative_search_space(study_of(own), None).keys() == SQUARE.keys()


@pytest.mark.parametrize(
    "distribution", [*MIXED.values(), IntDistribution(2, 11, step=3), IntDistribution(1, 9, log=True)]
)
def test_distributions_and_parameters_are_the_same_thing(distribution):
    assert records.to_distribution(records.to_parameter(distribution)) == distribution


def test_xstar_itself_does_not_import_optuna():
    code = "import sys, xstar; xstar.Optimizer, xstar.optimize; assert 'optuna' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=HANG)
