"""Ask, tell, fail, withdraw, and what is known in between."""

import math
import os
import pickle
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from xstar import Categorical, Integer, Method, Optimizer, Real, Space, SpaceExhausted, Trial, Value
from xstar.acquisition import PES, LogEI
from xstar.engine import Models, cache
from xstar.engine import model as engine_model
from xstar.errors import DataError, SettingsError, SpaceError, TrialError, XstarError
from xstar.gp import MAP, Fixed, Hyperparameters, Matern52
from xstar.methods import METHODS
from xstar.search import Points

QUICK = Method(Matern52(), MAP(), acquisition=LogEI())
SMALL_PES = Method(Matern52(), MAP(), acquisition=PES(num_samples=10, num_features=128))
BOTH = pytest.mark.parametrize("method", [QUICK, SMALL_PES], ids=["logei", "pes"])
LINE = [(0.0, 1.0)]
MIXED = {
    "lr": Real(1e-5, 1e-1, log=True),
    "width": Real(-3.0, 5.0),
    "layers": Integer(1, 6),
    "batch": Integer(1, 4096, log=True),
    "activation": Categorical(["relu", None, 0.5]),
    "bias": Categorical([True, False]),
}
PYTHON_TYPES = {"lr": float, "width": float, "layers": int, "batch": int, "bias": bool}


SMALL = {"x": Real(0.0, 1.0), "k": Integer(1, 6), "c": Categorical(["u", "v", "w"])}


def bump(x, center=0.3):
    return -((x - center) ** 2)


def mixed_value(params):
    return bump(math.log10(params["lr"]), -3.0) - abs(params["layers"] - 4) + (params["activation"] == "relu")


def small_value(params):
    return bump(params["x"]) - 0.1 * abs(params["k"] - 4) + 0.5 * (params["c"] == "v")


def told(xs=(0.1, 0.5, 0.9), function=bump, space=LINE, method=QUICK, **settings):
    """An optimizer that has been told a function's values."""
    opt = Optimizer(space, method=method, **settings)
    for x in xs:
        opt.tell([x], function(x))
    return opt


def search(opt, function, count):
    for _ in range(count):
        trial = opt.ask()
        opt.tell(trial, function(trial.params))
    return [trial.params for trial in opt.trials]


# The life of a trial


def test_a_trial_is_asked_told_and_remembered():
    opt = Optimizer(LINE, method=QUICK)
    trial = opt.ask()
    assert (trial.number, trial.state, trial.value) == (0, "pending", None)
    done = opt.tell(trial, 3, sd=0.5)
    assert opt.trials == (done,)
    assert (done.number, done.state, done.value, done.sd, done.params) == (0, "done", 3.0, 0.5, trial.params)
    assert isinstance(done.value, float)
    assert trial.state == "pending", "a record does not change behind one's back"
    assert "1 done" in repr(opt)


def test_a_second_result_is_refused_unless_it_replaces_the_first():
    opt = Optimizer(LINE, method=QUICK)
    trial = opt.ask()
    opt.tell(trial, 1.0, 0.1)
    with pytest.raises(TrialError, match=r"trial 0 is done already; use replace=True to correct it"):
        opt.tell(trial, 2.0)
    with pytest.raises(TrialError, match=r"trial 0 is done already"):
        opt.fail(trial)
    assert opt.trials[0].value == 1.0
    assert opt.tell(trial, 2.0, replace=True).value == 2.0
    assert opt.trials[0].sd is None
    failed = opt.fail(trial, "it was a mistake", replace=True)
    assert (failed.state, failed.value, failed.reason) == ("failed", None, "it was a mistake")
    with pytest.raises(TrialError, match=r"trial 0 is failed already"):
        opt.tell(trial, 2.0)
    assert opt.tell(trial, 3.0, replace=True).reason is None
    assert len(opt.trials) == 1


@pytest.mark.parametrize("reference", [1, np.int64(1)])
def test_tell_fail_and_withdraw_by_number(reference):
    opt = Optimizer({"x": Real(0.0, 1.0)}, method=QUICK)
    opt.ask(2)
    opt.tell(reference, 7.0)
    assert [trial.value for trial in opt.trials] == [None, 7.0]
    assert opt.withdraw(reference).state == "withdrawn"
    assert opt.fail(reference, replace=True).state == "failed"


@pytest.mark.parametrize("number", [-1, 2, 99])
def test_numbers_of_no_trial_are_refused(number):
    opt = Optimizer([(0.0, 1.0)] * 2, method=QUICK)
    opt.ask(2)
    for use in (lambda: opt.tell(number, 1.0), lambda: opt.fail(number), lambda: opt.withdraw(number)):
        with pytest.raises(TrialError, match=rf"there is no trial {number}; the numbers go from 0 to 1"):
            use()


@pytest.mark.parametrize("number", [1, 1.0, np.int64(1), np.float64(1.0), np.array(1), np.array(1.0)])
def test_with_one_parameter_a_bare_number_is_neither_a_trial_nor_a_point(number):
    """tell(1, v) could be the value of trial 1 or of the point 1: it is asked which."""
    opt = Optimizer([(0.0, 5.0)], method=QUICK)
    opt.ask(3)
    for use in (lambda: opt.tell(number, 7.0), lambda: opt.fail(number), lambda: opt.explain(number)):
        with pytest.raises(TrialError, match=r"may be the number of a trial or a point: write a point as \[.*1"):
            use()
    assert all(trial.state == "pending" for trial in opt.trials)
    assert opt.tell([float(number)], 7.0).params == {"x0": 1.0}
    assert opt.tell(opt.trials[1], 6.0).number == 1


@pytest.mark.parametrize("space", [[(0.0, 5.0)] * 2, {"x": Real(0.0, 5.0)}], ids=["bounds", "named"])
def test_a_number_with_decimals_is_never_a_trial(space):
    opt = Optimizer(space, method=QUICK)
    opt.ask(2)
    with pytest.raises(SpaceError, match=r"received 1\.0"):
        opt.tell(1.0, 7.0)
    assert all(trial.state == "pending" for trial in opt.trials)


@pytest.mark.parametrize("name", ["space", "direction", "method", "seed", "noise", "num_initial", "threads", "compute"])
def test_settings_do_not_change(name):
    opt = told()
    with pytest.raises(AttributeError):
        setattr(opt, name, getattr(opt, name))


@pytest.mark.parametrize("trial", [
    Trial(0, {"x0": 0.5}, "done"), Trial(0, {"x0": 0.5}, "complete", 1.0), Trial(0, {"x0": 0.5}, "failed", 1.0),
])  # fmt: skip
def test_trials_from_elsewhere_that_contradict_themselves_are_refused(trial):
    with pytest.raises(TrialError, match=r"trial 0 is '\w+' and has the value"):
        Optimizer.from_trials([trial], LINE)


def test_a_subclass_stays_one(tmp_path):
    class Own(Optimizer):
        pass

    opt = Own.from_trials([], LINE)
    opt.save(tmp_path / "study.json")
    assert all(type(other) is Own for other in (opt, opt.with_trials([]), Own.load(tmp_path / "study.json")))


@pytest.mark.parametrize("use", [
    lambda opt: opt.ask(fixed=["x0"]), lambda opt: opt.propose(3, 5), lambda opt: opt.predict(5),
    lambda opt: opt.predict(None), lambda opt: opt.withdraw(True),
])  # fmt: skip
def test_what_is_no_point_is_named(use):
    with pytest.raises(XstarError, match=r"dictionary|points must be a list|withdraw takes a trial"):
        use(told())


def test_a_recommendation_is_searched_for_once(monkeypatch):
    opt = told()
    searches = []
    honest = engine_model.Model.maximize
    monkeypatch.setattr(
        engine_model.Model, "maximize", lambda self, *args, **more: searches.append(1) or honest(self, *args, **more)
    )
    for _ in range(2):
        opt.recommend()
        opt.where(5)
    assert len(searches) == 1


def test_parameters_of_a_pending_trial_complete_it():
    opt = Optimizer(Space(MIXED), method=QUICK)
    first, second = opt.ask(2)
    told = opt.tell(dict(second.params), 5.0)
    assert told.number == second.number
    assert [trial.state for trial in opt.trials] == ["pending", "done"]
    again = opt.tell(dict(second.params), 6.0)
    assert again.number == 2, "the trial is no longer pending: another result of the same parameters"
    assert opt.trials[first.number].state == "pending"


def test_choices_that_are_equal_but_not_the_same_are_told_apart():
    opt = Optimizer(Space(c=Categorical([1, True, 1.0])), method=QUICK, noise=0.0)
    for trial in opt.ask(3)[::-1]:
        assert opt.tell(dict(trial.params), 0.5).number == trial.number


def test_parameters_nobody_asked_for_are_data_with_proper_types():
    opt = Optimizer({"x": Real(0, 1), "k": Integer(1, 5)}, method=QUICK)
    trial = opt.tell({"x": np.float32(0.5), "k": 3.0}, 1.0)
    assert trial.params == {"x": 0.5, "k": 3}
    assert [type(value) for value in trial.params.values()] == [float, int]
    assert trial.diagnostics == {}
    assert opt.fail({"x": 0.1, "k": 1}, "no oven").reason == "no oven"


@pytest.mark.parametrize(
    "params, message",
    [
        ({"x": 0.5}, r"'k' is missing"),
        ({"x": 0.5, "k": 1, "z": 2}, r"there is no parameter 'z'"),
        ({"x": "high", "k": 1}, r'"x" needs a finite number'),
        ({"x": 0.5, "k": 1.5}, r'"k" needs a whole number'),
        ([0.5, 1], r"given as a dictionary"),
        (True, r"given as a dictionary"),
    ],
)
def test_parameters_that_are_none_of_the_space_are_refused(params, message):
    opt = Optimizer({"x": Real(0, 1), "k": Integer(1, 5)}, method=QUICK)
    for use in (lambda: opt.tell(params, 1.0), lambda: opt.explain(params), lambda: opt.predict([params])):
        with pytest.raises(SpaceError, match=message):
            use()
    assert opt.trials == ()


def test_a_trial_of_another_optimizer_is_refused():
    one, other = Optimizer(LINE, method=QUICK, seed=1), Optimizer(LINE, method=QUICK, seed=2)
    one.ask()
    foreign = other.ask()
    for use in (lambda: one.tell(foreign, 1.0), lambda: one.fail(foreign), lambda: one.withdraw(foreign)):
        with pytest.raises(TrialError, match=r"is it from another one\?"):
            use()
    assert one.trials[0].state == "pending"


BAD_VALUES = [
    "0.5", b"0.5", True, np.True_, [1.0, 2.0], np.zeros(2), [], {}, object(), 1 + 2j, np.complex128(1 + 2j), 10**400,
]  # fmt: skip


@pytest.mark.parametrize("value", BAD_VALUES, ids=lambda value: f"{type(value).__name__} {value!r}"[:24])
def test_what_is_not_one_number_is_refused(value):
    opt = Optimizer(LINE, method=QUICK)
    trial = opt.ask()
    with pytest.raises(DataError, match=r"a value must be one number; received"):
        opt.tell(trial, value)
    assert opt.trials == (trial,), "nothing was told"


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2.0), np.int8(2), np.array(2.0), np.array([[2.0]])])
def test_every_kind_of_one_number_is_welcome(value):
    opt = Optimizer(LINE, method=QUICK)
    assert opt.tell(opt.ask(), value).value == 2.0


@pytest.mark.extras
def test_a_tensor_of_a_training_loop_is_one_number():
    import torch

    opt = Optimizer(LINE, method=QUICK)
    assert opt.tell(opt.ask(), torch.tensor(2.0)).value == 2.0
    assert opt.tell(opt.ask(), torch.tensor(2.0, requires_grad=True)).value == 2.0


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf, np.float32("nan"), np.array([np.inf])])
def test_values_that_are_not_finite_are_failures(value):
    opt = Optimizer(LINE, method=QUICK)
    trial = opt.tell(opt.ask(), value, sd=0.1)
    assert (trial.state, trial.value, trial.sd) == ("failed", None, None)
    assert trial.reason == f"value was {value!r}"


@pytest.mark.parametrize("sd", [-0.1, math.nan, math.inf, "0.1", True, [0.1, 0.2]])
def test_a_bad_sd_is_refused(sd):
    opt = Optimizer(LINE, method=QUICK)
    trial = opt.ask()
    with pytest.raises(DataError, match=r"sd must be a standard deviation, a number >= 0; received"):
        opt.tell(trial, 1.0, sd)
    assert opt.trials == (trial,)
    with pytest.raises(DataError, match=r"noise must be a standard deviation"):
        Optimizer(LINE, noise=sd)


def test_withdraw_takes_trials_and_numbers_only():
    opt = Optimizer(LINE, method=QUICK)
    trial = opt.ask()
    with pytest.raises(TrialError, match=r"withdraw takes a trial or its number"):
        opt.withdraw(trial.params)
    opt.withdraw(trial)
    with pytest.raises(TrialError, match=r"trial 0 is withdrawn already"):
        opt.tell(trial, 1.0)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"direction": "up"}, r'direction must be "maximize" or "minimize"; received \'up\''),
        ({"method": "bayes"}, r'method must be one of "pes", .*"random", or a Method\(\.\.\.\); received \'bayes\''),
        ({"method": LogEI()}, r"method must be one of"),
        ({"seed": -1}, r"seed must be at least 0"),
        ({"seed": 0.5}, r"seed must be a whole number"),
        ({"num_initial": 0}, r"num_initial must be at least 1"),
        ({"threads": 0}, r"threads must be at least 1"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(SettingsError, match=message):
        Optimizer(LINE, **settings)


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "2"])
def test_a_batch_has_a_whole_number_of_points(count):
    with pytest.raises(SettingsError, match=r"count must be"):
        Optimizer(LINE, method=QUICK).ask(count)


# What is known


def test_before_any_value_there_is_nothing_to_recommend():
    opt = Optimizer(LINE, method=QUICK)
    trial = opt.ask()
    opt.fail([0.5])
    assert opt.best_observed is None
    for use in (opt.recommend, opt.where, lambda: opt.predict([[0.5]]), lambda: opt.information([[0.5]])):
        with pytest.raises(TrialError, match=r"nothing has been told yet"):
            use()
    with pytest.raises(TrialError, match=r"nothing has been told yet but this trial"):
        opt.explain(trial)


@pytest.mark.parametrize("direction, best", [("maximize", 1), ("minimize", 2)])
def test_best_observed_is_the_best_of_the_legal_values(direction, best):
    opt = Optimizer(LINE, direction, QUICK)
    for x, value in ((0.1, 0.0), (0.2, 2.0), (0.3, -5.0), (1.5, 99.0), (-0.5, -99.0)):
        opt.tell([x], value)
    opt.fail([0.4])
    assert opt.best_observed == opt.trials[best]
    opt.withdraw(best)
    assert opt.best_observed != opt.trials[best]


@BOTH
def test_a_minimization_mirrors_the_maximization_of_negated_values(method):
    up, down = Optimizer(SMALL, "maximize", method), Optimizer(SMALL, "minimize", method)
    assert search(up, small_value, 7) == search(down, lambda params: -small_value(params), 7)
    best, worst = up.recommend(), down.recommend()
    assert best.params == worst.params
    assert (best.mean, best.sd) == (-worst.mean, worst.sd)
    np.testing.assert_array_equal(up.where(8).regret, down.where(8).regret)
    assert up.best_observed.number == down.best_observed.number


def test_a_recommendation_is_near_the_optimum_and_predicts_its_value():
    opt = told(np.linspace(0.0, 1.0, 9), noise=0.0)
    best = opt.recommend()
    assert best.params["x0"] == pytest.approx(0.3, abs=0.02)
    assert abs(best.mean) < 3 * best.sd + 1e-3
    mean, sd = opt.predict([[0.0], [0.5], best.x])
    np.testing.assert_allclose(mean[:2], [bump(0.0), bump(0.5)], atol=1e-4)
    assert (mean[2], sd[2]) == pytest.approx((best.mean, best.sd))


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name in {"es", "pes-nb", "pes-2014"} else []) for name in METHODS],
)
def test_every_method_suggests_legal_parameters_of_python_types(name):
    opt = Optimizer(MIXED, method=name, num_initial=4)
    search(opt, mixed_value, 2)
    opt.fail(opt.ask())
    pending, trial = opt.ask(2)
    assert trial.diagnostics["method"] == name, "the method itself made the suggestion"
    assert trial.params != pending.params
    for params in (trial.params, pending.params):
        assert list(params) == list(MIXED)
        assert opt.space.contains(params)
        assert all(type(params[key]) is kind for key, kind in PYTHON_TYPES.items())
        assert any(params["activation"] is choice for choice in MIXED["activation"].choices)


# Points that are not asked for twice


LATTICE = {"a": Integer(0, 2), "b": Categorical(["x", "y", "z"])}


def test_values_that_are_noisy_but_would_be_the_same_again_are_not_repeated():
    opt = Optimizer({"k": Integer(0, 3)}, seed=0)
    for _ in range(4):
        trial = opt.ask(repeat=False)
        opt.tell(trial, -abs(trial.params["k"] - 1.0), sd=0.5)
    assert sorted(trial.params["k"] for trial in opt.trials) == [0, 1, 2, 3]
    with pytest.raises(SpaceExhausted):
        opt.ask(repeat=False)
    assert len(opt.ask(2)) == 2, "of what may be repeated"


@pytest.mark.parametrize("method", [QUICK, Method(Matern52(), MAP(), acquisition=None)], ids=["logei", "random"])
def test_without_noise_every_point_of_a_lattice_is_asked_for_once(method):
    opt = Optimizer(LATTICE, method=method, noise=0.0)
    opt.tell({"a": 1, "b": "y"}, 3.0)
    opt.fail({"a": 0, "b": "x"})
    batch = opt.ask(2)
    points = search(opt, lambda params: params["a"] + 0.1 * ord(params["b"]), 5)
    assert len({tuple(point.values()) for point in points}) == 9
    for trial in batch:
        opt.tell(trial, 1.0)
    with pytest.raises(SpaceExhausted, match=r"all 9 points of the space have been evaluated or are pending"):
        opt.ask()
    assert opt.recommend().params in points


def test_a_batch_is_shorter_when_the_space_runs_out():
    opt = Optimizer(LATTICE, method=QUICK, noise=0.0)
    assert len(opt.ask(5)) == 5
    assert len(opt.ask(10)) == 4
    assert len({tuple(trial.params.values()) for trial in opt.trials}) == 9
    with pytest.raises(SpaceExhausted):
        opt.ask(2)
    opt.withdraw(3)
    assert opt.ask().params == opt.trials[3].params


def test_values_told_as_exact_exhaust_a_space_too():
    opt = Optimizer(LATTICE, method=QUICK)
    for a in range(3):
        for b in "xyz":
            opt.tell({"a": a, "b": b}, a + 0.1 * ord(b), sd=0.0)
    with pytest.raises(SpaceExhausted):
        opt.ask()


def test_with_noise_points_may_be_repeated():
    opt = Optimizer({"k": Integer(0, 2)}, method=QUICK, noise=0.5)
    noise = np.random.default_rng(0)
    points = search(opt, lambda params: params["k"] + 0.5 * noise.standard_normal(), 8)
    assert [point["k"] for point in points].count(2) > 1, "the best point deserves another look"


@BOTH
def test_a_batch_is_of_distinct_points_away_from_each_other(method):
    opt = told((0.1, 0.4, 0.7, 1.0), lambda x: math.sin(6.0 * x), method=method)
    xs = sorted(trial.params["x0"] for trial in opt.ask(3))
    assert np.diff(xs).min() > 1e-4


ROUNDED = [
    {"x": Real(1e-5, 1e-1, log=True)}, {"x": Real(3.0, 7.0), "y": Real(1e-3, 10.0, log=True)}, [(100.0, 101.3)],
    {"x": Real(1e9, 1e9 + 1e-6)}, {"x": Real(0.3, 0.7), "c": Categorical(["u", "v"])},
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::xstar.DegradedWarning")
@pytest.mark.parametrize("space", ROUNDED, ids=["log", "two", "shifted", "a few floats", "mixed"])
@pytest.mark.parametrize("value", [lambda k: 1.0, lambda k: k % 3.0], ids=["no signal", "signal"])
def test_a_batch_after_failures_has_no_point_twice(space, value):
    opt = Optimizer(space, method=QUICK, num_initial=3)
    for k in range(5):
        trial = opt.ask()
        _ = opt.fail(trial) if k < 2 else opt.tell(trial, value(k))
    shown = [tuple(trial.params.values()) for trial in opt.ask(4)]
    assert len(set(shown)) == 4


def test_an_evaluated_point_is_met_again_however_it_was_rounded():
    space = Space(x=Real(1e-5, 1e-1, log=True), y=Real(3.0, 7.0))
    rows = np.random.default_rng(0).random((500, 2))
    shown = np.array([space.encode(space.decode(row)) for row in rows])
    assert np.any(shown != rows, axis=1).mean() > 0.5
    known = Points(space.domain, shown)
    assert known.has(rows).all()
    assert not known.has(rows + 1e-6).any(), "closeness is a matter of the range"


def test_a_space_of_one_point():
    opt = Optimizer({"x": Real(2.0, 2.0), "c": Categorical(["only"]), "k": Integer(3, 3)}, method=QUICK, noise=0.0)
    point = {"x": 2.0, "c": "only", "k": 3}
    trial = opt.ask()
    assert trial.params == point
    opt.tell(trial, 1.5)
    with pytest.raises(SpaceExhausted):
        opt.ask()
    best = opt.recommend()
    assert best.params == point
    assert best.mean == pytest.approx(1.5)
    assert opt.where(4).intervals() == {"x": (2.0, 2.0), "c": {"only": 1.0}, "k": (3, 3)}
    noisy = Optimizer({"x": Real(2.0, 2.0)}, method=QUICK)
    noisy.tell(noisy.ask(), 1.0)
    assert noisy.ask().params == {"x": 2.0}


def test_a_fixed_parameter_keeps_its_value():
    opt = Optimizer({"x": Real(0.0, 1.0), "k": Integer(7, 7)}, method=QUICK)
    assert all(point["k"] == 7 for point in search(opt, lambda params: bump(params["x"]), 5))
    with pytest.raises(SpaceError, match=r'"k" is fixed at 7; received 8'):
        opt.tell({"x": 0.5, "k": 8}, 1.0)


def test_integers_up_to_a_quadrillion():
    high = 10**15
    opt = Optimizer({"k": Integer(0, high), "c": Categorical(["a", "b"])}, method=QUICK, noise=0.0)
    points = search(opt, lambda params: bump(params["k"] / high), 12)
    assert all(type(point["k"]) is int and 0 <= point["k"] <= high for point in points)
    assert len({tuple(point.values()) for point in points}) == 12
    assert opt.recommend().params["k"] / high == pytest.approx(0.3, abs=0.05)
    exact = opt.tell({"k": high - 1, "c": "a"}, -1.0)
    assert exact.params["k"] == high - 1
    assert opt.space.decode(opt.space.encode(exact.params)) == exact.params


# A suggestion is a pure function of settings, seed, data and number


@BOTH
def test_the_same_seed_and_data_give_the_same_suggestions(method):
    runs = [search(Optimizer(SMALL, method=method, seed=4), small_value, 6) for _ in range(2)]
    assert runs[0] == runs[1]
    assert runs[0] != search(Optimizer(SMALL, method=method, seed=5), small_value, 6)


def test_a_seed_that_is_drawn_is_remembered():
    opt = Optimizer(LINE, method=QUICK, seed=None)
    assert opt.seed != Optimizer(LINE, method=QUICK, seed=None).seed
    assert Optimizer(LINE, method=QUICK, seed=opt.seed).ask() == opt.ask()


@BOTH
def test_asking_what_is_known_does_not_change_the_next_suggestion(method):
    plain, curious = told(method=method), told(method=method)
    curious.recommend()
    curious.explain([0.4])
    curious.where(5)
    assert curious.ask().params == plain.ask().params


@BOTH
def test_the_order_of_telling_is_irrelevant(method):
    opts = [Optimizer(SMALL, method=method) for _ in range(2)]
    for opt, turn in zip(opts, (1, -1), strict=True):
        for trial in opt.ask(5)[::turn]:
            if trial.number == 2:
                opt.fail(trial)
            else:
                opt.tell(trial, small_value(trial.params), sd=0.1 if trial.number == 3 else None)
    assert opts[0].ask() == opts[1].ask()
    assert opts[0].recommend() == opts[1].recommend()


@BOTH
def test_the_order_of_declaration_is_irrelevant(method):
    one = Optimizer(SMALL, method=method)
    other = Optimizer(dict(reversed(SMALL.items())), method=method)
    assert search(one, small_value, 6) == search(other, small_value, 6)
    assert list(other.trials[0].params) == list(reversed(SMALL))
    assert one.recommend() == other.recommend()


@BOTH
def test_a_withdrawn_result_is_as_if_never_told(method):
    opt, never = told(method=method), told(method=method)
    for kind in (opt.tell, lambda params, _: opt.fail(params)):
        opt.withdraw(kind([0.3], 50.0))
    for _ in range(2):
        never.withdraw(never.ask())
    assert opt.predict([[0.3]]) == never.predict([[0.3]])
    assert opt.ask() == never.ask()


@BOTH
def test_a_corrected_result_is_as_if_told_right_at_once(method):
    opt, right = told((0.1, 0.5), method=method), told((0.1, 0.5), method=method)
    opt.recommend()
    opt.tell(opt.trials[1], 4.0, replace=True)
    right.withdraw(1)
    right.tell([0.5], 4.0)
    opt.withdraw(opt.ask())
    assert opt.ask() == right.ask()
    assert opt.recommend() == right.recommend()


FIRST_QUESTION = """
import xstar
opt = xstar.Optimizer([(0.0, 1.0)], noise=0.0)
for x in (0.0, 0.2, 0.4, 0.7, 1.0):
    opt.tell([x], -((x - 0.3) ** 2))
print(opt.where(20).regret.tolist(), opt.ask().params)
"""


def test_the_threads_of_the_machine_have_no_say_in_the_first_answer_of_a_process():
    """SciPy's own BLAS is loaded late; it is one thread for it, too."""
    answers = set()
    for count in ("1", "2"):
        threads = {"OMP_NUM_THREADS": count, "OPENBLAS_NUM_THREADS": count}
        done = subprocess.run(
            [sys.executable, "-c", FIRST_QUESTION], env={**os.environ, **threads}, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        answers.add(done.stdout)
    assert len(answers) == 1


@BOTH
def test_threads_change_nothing_but_rounding(method):
    one, two, any_number = (told(np.linspace(0.0, 1.0, 9), method=method, threads=count) for count in (1, 2, None))
    x = one.ask().params["x0"]
    assert two.ask().params["x0"] == pytest.approx(x, rel=1e-6)
    assert any_number.ask().params["x0"] == pytest.approx(x, rel=1e-6)
    assert two.recommend().params["x0"] == pytest.approx(one.recommend().params["x0"], rel=1e-6)


def test_a_pickled_optimizer_goes_on_as_before():
    opt = told()
    assert pickle.loads(pickle.dumps(opt)).ask() == opt.ask()


# The values


@pytest.mark.parametrize(
    "shift, scale", [(0.0, 1e12), (0.0, 1e-12), (0.0, 3e-200), (-7.0, 1.0), (1e5, 1.0), (1e7, 1e12)]
)
@pytest.mark.parametrize("count", [3, 8])
def test_shift_and_scale_of_values_change_nothing(shift, scale, count):
    xs, Z = np.linspace(0.0, 1.0, count), [[0.05], [0.33], [0.8]]
    one = told(xs, lambda x: math.sin(7.0 * x) - 40.0 * (x > 0.9))
    other = told(xs, lambda x: scale * (math.sin(7.0 * x) - 40.0 * (x > 0.9)) + shift)
    for a, b, origin in zip(one.predict(Z), other.predict(Z), (shift, 0.0), strict=True):
        np.testing.assert_allclose((b - origin) / scale, a, rtol=1e-4, atol=1e-6)
    assert one.ask().params["x0"] == pytest.approx(other.ask().params["x0"], abs=1e-3)


@pytest.mark.parametrize("scale", [1.0, 1e12, 1e-12, 1e-170, 1e200])
def test_replicates_of_known_noise_are_pooled_by_their_precision(scale):
    apart, pooled = told(function=lambda x: scale * x), told(function=lambda x: scale * x)
    apart.tell([0.3], 4.0 * scale, sd=0.1 * scale)
    apart.tell([0.3], 5.0 * scale, sd=0.2 * scale)
    weights = np.array([1 / 0.1**2, 1 / 0.2**2])
    pooled.tell([0.3], scale * weights @ [4.0, 5.0] / weights.sum(), sd=scale / math.sqrt(weights.sum()))
    for a, b in zip(apart.predict([[0.2], [0.3]]), pooled.predict([[0.2], [0.3]]), strict=True):
        np.testing.assert_allclose(a / scale, b / scale, rtol=1e-6)


def test_an_exact_replicate_outweighs_noisy_ones():
    opt = told()
    opt.tell([0.3], 4.0, sd=2.0)
    opt.tell([0.3], 1.0, sd=0.0)
    mean, sd = opt.predict([[0.3]])
    assert mean[0] == pytest.approx(1.0, abs=1e-3)
    assert sd[0] < 1e-3


def test_noise_that_was_told_is_believed():
    def predicted_sd(sd):
        opt = Optimizer(LINE, method=QUICK)
        for x in (0.1, 0.5, 0.9):
            opt.tell([x], bump(x), sd)
        return opt.predict([[0.5]])[1][0]

    assert predicted_sd(1e-6) < predicted_sd(0.01) < predicted_sd(0.1)


@BOTH
@pytest.mark.parametrize(
    "space", [LINE, {"x0": Integer(0, 1)}, {"x0": Integer(0, 100)}], ids=["real", "0..1", "0..100"]
)
def test_data_outside_the_bounds_teach_but_are_never_suggested(method, space):
    opt, without = (Optimizer(space, method=method, num_initial=1) for _ in range(2))
    for x in (0, 1):
        for each in (opt, without):
            each.tell({"x0": x}, float(x))
    for x, value in ((-1, -3.0), (200, 50.0)):
        opt.tell({"x0": x}, value)
    legal = {"x0": 1}
    assert opt.predict([legal])[0][0] != pytest.approx(without.predict([legal])[0][0], rel=1e-6)
    points = [*opt.ask(2), opt.recommend()]
    assert all(opt.space.contains(point.params) for point in points)
    assert all(0 <= x <= 100 for x in opt.where(10).params["x0"])


@BOTH
def test_one_observation_is_enough(method):
    opt = told((0.5,), method=method, num_initial=1)
    trial = opt.ask()
    assert trial.diagnostics["fallback"] is None
    assert trial.diagnostics["method"] != "space-filling"
    assert abs(trial.params["x0"] - 0.5) > 0.05, "somewhere else than where the value is known"
    assert opt.predict([[0.5]])[0][0] == pytest.approx(bump(0.5), abs=0.05)


def test_failures_only():
    opt = Optimizer(LINE, method=QUICK, num_initial=2)
    for x in (0.1, 0.15, 0.2, 0.25, 0.3):
        opt.fail([x])
    assert opt.best_observed is None
    for _ in range(4):
        trial = opt.ask()
        assert trial.diagnostics["method"] == "space-filling"
        assert trial.params["x0"] > 0.35, "away from the failures"
        opt.withdraw(trial)


# Explanations and the place of the optimum


def wavy():
    return told((0.05, 0.3, 0.5, 0.7, 0.95), lambda x: math.sin(9.0 * x), method=SMALL_PES)


def test_explanation_of_a_pending_trial():
    opt = wavy()
    trial = opt.ask()
    why = opt.explain(trial)
    assert why.params == trial.params
    assert why.bits > 0.0
    assert why.method == "pes"
    assert why.fallback is None
    assert why.feasibility == 1.0
    assert (why.mean, why.sd) == pytest.approx([part[0] for part in opt.predict([trial.params])])
    assert why.nearest == pytest.approx(min(abs(trial.x[0] - other.x[0]) for other in opt.trials[:-1]))
    assert opt.explain(trial) == opt.explain(dict(trial.params)) == why
    assert "suggested by           pes" in str(why)
    assert "bits about where the optimum is" in str(why)


def test_explanation_of_parameters():
    opt = wavy()
    known, unknown = opt.explain([0.3]), opt.explain([0.85])
    assert known.nearest == 0.0
    assert unknown.nearest == pytest.approx(0.1)
    assert known.method is None
    assert known.exploration < unknown.exploration <= 1.0
    assert known.bits < unknown.bits
    assert "suggested by" not in str(known)
    assert opt.information([[0.3], [0.85]]) == pytest.approx([known.bits, unknown.bits])


def test_the_own_result_of_a_trial_has_no_part_in_its_explanation():
    ordinary, odd = wavy(), wavy()
    one, other = ordinary.tell([0.4], 0.5), odd.tell([0.4], 300.0)
    assert ordinary.explain(one) == odd.explain(other) == wavy().explain([0.4])
    failed = wavy()
    assert failed.explain(failed.fail([0.4])) == wavy().explain([0.4])


def test_explanation_after_failures_has_a_probability_of_feasibility():
    opt = wavy()
    for x in (0.9, 0.92, 0.97, 1.0):
        opt.fail([x])
    near, far = opt.explain([0.91]), opt.explain([0.3])
    assert near.feasibility < 0.5 < far.feasibility < 1.0
    assert "P(feasible)" in str(near)


def test_where_the_optimum_is():
    opt = told((0.0, 0.15, 0.35, 0.6, 0.8, 1.0), noise=0.0)
    where = opt.where(100)
    assert len(where) == len(where.params["x0"]) == 100
    low, high = where.interval("x0", 0.99)
    assert 0.0 <= low < 0.3 < high <= 1.0
    assert high - low < 0.5
    narrow = where.interval("x0", 0.5)
    assert low <= narrow[0] <= narrow[1] <= high
    assert np.all(where.regret >= 0.0)
    assert 0.0 <= where.regret_quantile(0.5) <= where.regret_quantile(0.95) < 0.09
    assert where.recommendation == opt.recommend()
    assert "the optimum is, with 90 % probability" in str(where)


def test_the_optimum_of_a_mixed_space():
    space = {"x": Real(0.0, 1.0), "k": Integer(1, 5), "c": Categorical(["u", "v", "w"]), "n": Categorical([16, 32, 64])}
    opt = Optimizer(space, method=QUICK)
    search(opt, lambda p: bump(p["x"]) - abs(p["k"] - 2) + 2 * (p["c"] == "v") + p["n"] / 64, 12)
    where = opt.where(40)
    low, high = where.interval("k")
    assert type(low) is type(high) is int
    assert 1 <= low <= high <= 5
    for name in ("c", "n"):
        shares = where.interval(name)
        assert isinstance(shares, dict), "choices have probabilities, numbers or not"
        assert set(shares) <= set(space[name].choices)
        assert math.isclose(sum(shares.values()), 1.0)
    assert max(where.interval("c"), key=where.interval("c").get) == "v"
    assert np.all(where.regret >= 0.0)
    assert all(
        opt.space.contains(dict(zip(space, point, strict=True))) for point in zip(*where.params.values(), strict=True)
    )


def test_choices_may_be_anything():
    opt = Optimizer({"layers": Categorical([[64], [64, 64], [128, 64]])}, method=QUICK, noise=0.1)
    search(opt, lambda params: len(params["layers"]) + 0.01 * params["layers"][0], 4)
    assert opt.recommend().params["layers"] in ([64, 64], [128, 64])
    assert "layers" in str(opt.where(10))


# What a review found


def test_values_that_are_all_the_same_say_nothing_of_what_is_left_to_gain():
    opt = Optimizer(LINE, method=QUICK)
    for x in (0.1, 0.5, 0.9):
        opt.tell([x], 0.1 + 0.2 if x == 0.5 else 0.3)  # which differ by rounding
    assert math.isinf(opt.where(20).regret_quantile(0.05))
    assert "unknown, because all values are the same" in str(opt.where(20))


@pytest.mark.parametrize("told", [[(0.5, 3.0)], [(0.2, 3.0), (0.5, 3.0), (0.8, 3.0)]])
def test_where_the_mean_is_flat_an_evaluated_point_is_recommended(told):
    opt = Optimizer(LINE, method=QUICK)
    for x, value in told:
        opt.tell([x], value)
    assert opt.recommend().params["x0"] in [x for x, _ in told]


def test_settings_that_do_not_fit_are_an_error_and_no_reason_to_degrade():
    method = Method(Matern52(), Fixed(Hyperparameters([0.3], 1.0, 0.1)), LogEI())
    opt = Optimizer([(0.0, 1.0)] * 2, method=method, num_initial=1)
    opt.tell([0.5, 0.5], 1.0)
    with pytest.raises(SettingsError, match="Fixed has 1 lengthscales, but the data have 2 coordinates"):
        opt.ask()


def test_what_a_caller_does_to_parameters_changes_nothing():
    opt = Optimizer(LINE, method=QUICK)
    trial = opt.ask()
    kept = dict(trial.params)
    trial.params["x0"] = 0.123
    opt.trials[0].params["x0"] = 0.456
    assert opt.trials[0].params == kept
    with pytest.raises(TrialError, match="is it from another one"):
        opt.tell(trial, 1.0)


def test_contradictions_without_noise_are_pooled_with_a_warning():
    opt = Optimizer(LINE, method=QUICK, noise=0.0)
    opt.tell([0.5], 1.0)
    opt.tell([0.2], 0.0)
    with pytest.warns(UserWarning, match="trials 0 and 2 have the same parameters and no noise"):
        opt.tell([0.5], 3.0)
    assert opt.predict([[0.5]])[0][0] == pytest.approx(2.0, abs=1e-3)


def test_one_point_is_no_list_of_points():
    opt = Optimizer(LINE, method=QUICK)
    trial = opt.tell([0.5], 1.0)
    with pytest.raises(DataError, match="points must be a list of parameters or trials"):
        opt.predict(trial)
    assert opt.predict([trial])[0] == pytest.approx(opt.predict([{"x0": 0.5}])[0])


def test_choices_that_cannot_be_compared():
    first, second = np.array([1, 2]), np.array([3, 4])
    opt = Optimizer({"c": Categorical([first, second, math.nan])}, method=QUICK)
    trial = opt.ask()
    assert opt.tell(trial, 1.0).params["c"] is trial.params["c"]
    assert opt.tell({"c": second}, 2.0).params["c"] is second


def test_a_large_category_is_affordable():
    """Sixty columns, of which none has derivatives: a jet with all of them would need gigabytes."""
    opt = Optimizer({"c": Categorical(list(range(60))), "x": Real(0, 1)}, method=Method(acquisition=PES(10, 128)))
    for c, x in ((0, 0.1), (20, 0.5), (40, 0.9), (59, 0.3)):
        opt.tell({"c": c, "x": x}, x - abs(c - 30) / 30)
    tracemalloc.start()
    trial = opt.ask()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert trial.diagnostics["method"] == "pes"
    assert peak < 200e6


# Trials from elsewhere, numbers of their own


def told_elsewhere(numbers=(3, 7, 8, 20)):
    return [Trial(number, {"x0": x}, "done", bump(x)) for number, x in zip(numbers, (0.1, 0.4, 0.7, 0.9), strict=True)]


@BOTH
def test_trials_from_elsewhere_keep_their_numbers_and_teach_the_same(method):
    opt = Optimizer.from_trials(reversed(told_elsewhere()), LINE, method=method)
    assert [trial.number for trial in opt.trials] == [3, 7, 8, 20]
    here = Optimizer(LINE, method=method)
    for trial in told_elsewhere():
        here.tell(trial.params, trial.value)
    assert opt.recommend() == here.recommend()
    # The suggestion depends on the number alone.
    assert opt.propose(4).params == here.ask().params
    assert opt.ask().number == 21
    assert opt.tell([0.2], 0.5).number == 22


def test_proposing_records_nothing_and_repeats_itself():
    opt = Optimizer.from_trials(told_elsewhere(), LINE, method=QUICK)
    first, again, other = opt.propose(30), opt.propose(30), opt.propose(31)
    assert first.params == again.params
    assert (first.number, other.number) == (30, 31)
    assert len(opt.trials) == 4


def test_a_model_is_used_again_only_for_the_same_results_and_settings(monkeypatch):
    fitted, models = [], Models()
    honest = cache.fit
    monkeypatch.setattr(cache, "fit", lambda *args: fitted.append(1) or honest(*args))
    first = Optimizer.from_trials(told_elsewhere(), LINE, method=QUICK, models=models)
    expected = first.propose(50).params
    for trials, settings, fits in [
        (told_elsewhere((0, 1, 2, 3)), {}, 0),
        ([*told_elsewhere(), Trial(40, {"x0": 0.5})], {}, 0),
        (told_elsewhere()[:3], {}, 1),
        ([*told_elsewhere(), Trial(40, {"x0": 0.5}, "failed")], {}, 1),
        (told_elsewhere(), {"seed": 1}, 1),
        (told_elsewhere(), {"noise": 0.1}, 1),
        (told_elsewhere(), {"direction": "minimize"}, 1),
    ]:
        first.recommend()  # the models of the cases before are not the latest any more
        fitted.clear()
        later = Optimizer.from_trials(trials, LINE, method=QUICK, models=models, **settings)
        proposed = later.propose(50).params
        assert len(fitted) == fits
        if len(trials) == 4 and not settings:
            assert proposed == expected
    pending = Optimizer.from_trials([*told_elsewhere(), Trial(40, expected)], LINE, method=QUICK, models=models)
    assert pending.propose(50).params != expected


def test_two_trials_with_one_number_are_refused():
    with pytest.raises(TrialError, match="two trials with the number 3"):
        Optimizer.from_trials(told_elsewhere((3, 3, 4, 5)), LINE)


def test_numbers_survive_a_file(tmp_path):
    opt = Optimizer.from_trials(told_elsewhere(), LINE, method="logei")
    opt.save(tmp_path / "study.json")
    loaded = Optimizer.load(tmp_path / "study.json")
    assert loaded.trials == opt.trials
    assert loaded.ask().params == opt.ask().params


# Fixed parameters


def started(method, noise=None):
    opt = Optimizer(SMALL, method=method, noise=noise)
    for _ in range(7):
        trial = opt.ask()
        opt.tell(trial, bump(trial.params["x"]) - 0.1 * abs(trial.params["k"] - 4) + 0.3 * (trial.params["c"] == "w"))
    return opt


@BOTH
@pytest.mark.parametrize(
    "fixed",
    [{"c": "v"}, {"k": 2}, {"x": 0.25}, {"x": 0.25, "c": "u"}],
    ids=str,
)
def test_fixed_parameters_are_held_and_the_others_chosen(method, fixed):
    opt = started(method)
    trial = opt.ask(fixed=fixed)
    assert {name: trial.params[name] for name in fixed} == fixed
    assert opt.space.contains({**trial.params, "x": min(trial.params["x"], 1.0)})
    assert trial.diagnostics["method"] in ("logei", "pes")


def test_with_one_parameter_fixed_the_others_are_the_best_there(monkeypatch):
    """By scores on a grid: the choice is the best point of the slice, not that of the space with a value put in."""
    opt = started(QUICK)
    model = opt._model()
    score = model.prepare(LogEI(), np.random.default_rng(0), model.evidence.pending)
    chosen = opt.propose(7, {"c": "u"}).params
    slices = [{"x": x, "k": k, "c": "u"} for x in np.linspace(0, 1, 201) for k in range(1, 7)]
    best = np.max(score(np.array([opt.space.encode(point) for point in slices])))
    assert score(opt.space.encode(chosen)[None])[0] >= best - 1e-6


def test_a_slice_without_noise_is_exhausted_before_the_space():
    opt = Optimizer({"k": Integer(1, 3), "c": Categorical(["u", "v", "w"])}, method=QUICK, noise=0.0)
    seen = set()
    for _ in range(3):
        trial = opt.ask(fixed={"c": "v"})
        seen.add(trial.params["k"])
        opt.tell(trial, float(trial.params["k"]))
    assert seen == {1, 2, 3}
    with pytest.raises(SpaceExhausted, match="all 3 points"):
        opt.ask(fixed={"c": "v"})
    assert opt.ask().params["c"] != "v"


def test_with_all_parameters_fixed_that_is_the_point():
    opt = Optimizer({**SMALL, "one": Integer(3, 3)}, method=QUICK, noise=0.0)
    given = {"x": 0.1, "k": 6, "c": "w"}
    trial = opt.ask(fixed=given)
    assert trial.params == {**given, "one": 3}
    assert (trial.state, trial.diagnostics["method"]) == ("pending", "fixed")
    opt.tell(trial, 1.0)
    assert opt.ask(fixed=given).number == 1, "also again, if that is asked for"


@pytest.mark.parametrize("fixed", [{"z": 1}, {"k": 1.5}, {"c": "nothing"}, {"x": 1.7}, {"k": 7}, {"x": -1e-9, "k": 3}])
@pytest.mark.parametrize("which", ["ask", "recommend"])
def test_fixed_parameters_are_checked(fixed, which):
    opt = Optimizer(SMALL)
    opt.tell({"x": 0.5, "k": 3, "c": "u"}, 1.0)
    with pytest.raises(SpaceError, match=next(iter(fixed))):
        getattr(opt, which)(fixed=fixed)


def test_the_best_with_some_parameters_fixed():
    opt = started(QUICK)
    for c in "uvw":
        best = opt.recommend(fixed={"c": c})
        assert best.params["c"] == c
        points = [{"x": x, "k": k, "c": c} for x in np.linspace(0, 1, 101) for k in range(1, 7)]
        assert best.mean >= opt.predict(points)[0].max() - 1e-6
    everything = {"x": 0.3, "k": 2, "c": "u"}
    assert opt.recommend(fixed=everything).params == everything
    assert opt.recommend(fixed={}) == opt.recommend()


def test_the_best_tested_with_some_parameters_fixed():
    opt = Optimizer({"x": Real(0, 1), "c": Categorical(["u", "v", "w"])}, method=QUICK, noise=0.01)
    for x, c in ((0.1, "u"), (0.4, "u"), (0.9, "u"), (0.2, "v")):
        opt.tell({"x": x, "c": c}, x + (c == "v"))
    assert opt.recommend(tested=True, fixed={"c": "u"}).params == {"x": 0.9, "c": "u"}
    assert opt.recommend(tested=True, fixed={"c": "v"}).params == {"x": 0.2, "c": "v"}
    assert opt.recommend(tested=True, fixed={"x": 0.4}).params == {"x": 0.4, "c": "u"}
    with pytest.raises(TrialError, match=r"no point with c = w has been evaluated yet"):
        opt.recommend(tested=True, fixed={"c": "w"})


def test_a_value_brings_its_noise():
    opt = Optimizer(SMALL)
    told = opt.tell({"x": 0.5, "k": 3, "c": "u"}, Value(2.0, sd=0.5))
    assert (told.value, told.sd) == (2.0, 0.5)
    assert opt.tell({"x": 0.6, "k": 3, "c": "u"}, Value(2.0), sd=0.25).sd == 0.25
    assert opt.tell({"x": 0.7, "k": 3, "c": "u"}, Value(math.nan)).state == "failed"
    with pytest.raises(DataError, match="sd is given twice"):
        opt.tell({"x": 0.8, "k": 3, "c": "u"}, Value(2.0, 0.5), sd=0.25)
    for bad in (("high",), (1.0, -1.0), (1.0, "low"), (True,)):
        with pytest.raises(DataError, match="received"):
            Value(*bad)


def test_the_same_value_at_the_same_point_suggests_that_there_is_no_noise():
    opt = Optimizer({"k": Integer(1, 3)}, method=QUICK)
    opt.tell({"k": 2}, 0.7)
    opt.tell({"k": 3}, 0.7)
    with pytest.warns(UserWarning, match=r"trials 0 and 2 have the same parameters and exactly the same .*noise=0"):
        opt.tell({"k": 2}, 0.7)
    opt.tell({"k": 3}, 0.7)  # said once
    for quiet in (
        Optimizer({"k": Integer(1, 3)}, noise=0.1),
        Optimizer({"k": Real(1, 3)}),
        Optimizer({"k": (1.0, 3.0)}),
    ):
        for _ in range(2):
            quiet.tell({"k": 2}, 0.7)


def test_a_batch_holds_fixed_parameters_in_every_trial():
    batch = started(QUICK).ask(3, fixed={"c": "u"})
    assert [trial.params["c"] for trial in batch] == ["u"] * 3
    assert len({(trial.params["x"], trial.params["k"]) for trial in batch}) == 3
