"""What a suggestion is for, and what comes of it."""

import numpy as np
import pytest

from xstar import Categorical, Integer, Method, Optimizer, Real
from xstar.acquisition import EI, PES, LogEI
from xstar.engine.balance import Outlook, confirms, is_turn_to_improve, is_worthwhile, may_improve
from xstar.gp import MAP, Matern52
from xstar.methods import METHODS, Balance

SMALL = PES(num_samples=10, num_features=128)
LINE = [(0.0, 1.0)]


def method(**balance):
    return Method(Matern52(), MAP(), SMALL, balance=Balance(**balance))


def outlook(tested=(0.0,), best=(0.0,), optimum=(0.0,)):
    return Outlook(*(np.array(part, dtype=float) for part in (tested, best, optimum)))


def bump(x):
    return -((x - 0.3) ** 2)


def told(xs=(0.0, 0.25, 0.5, 0.75, 1.0), how=None, **settings):
    opt = Optimizer(LINE, method=how or method(), num_initial=len(xs), **settings)
    for x in xs:
        opt.tell([x], bump(x))
    return opt


# The rule


@pytest.mark.parametrize("share, count", [(0.0, 0), (0.25, 25), (0.5, 50), (2 / 3, 67), (1.0, 100)])
def test_a_share_of_all_numbers_improves_evenly_spread(share, count):
    turns = [is_turn_to_improve(Balance(improve=share), number) for number in range(100)]
    assert abs(sum(turns) - count) <= 1
    cumulated = np.cumsum(turns)
    assert np.all(np.abs(cumulated - share * np.arange(1, 101)) <= 1.0), "no long stretch is without a turn"


def test_the_best_point_is_confirmed_when_it_is_known_to_gain_more_than_is_left():
    seen = outlook(tested=[0.0] * 4, best=[0.3, 0.1, 0.3, 0.0], optimum=[0.4, 0.4, 0.7, 0.0])
    assert confirms(Balance(), seen).tolist() == [True, False, False, False]
    assert confirms(Balance(confirm=0.5), seen).tolist() == [True, False, True, False]
    assert confirms(Balance(confirm=0.0), seen).tolist() == [False] * 4


def test_improvement_ends_where_what_is_left_is_less_than_the_noise():
    tested, optimum, noise = np.zeros(3), np.array([0.3, 0.19, 0.01]), np.array([0.1, 0.1, 0.0])
    assert may_improve(Balance(improve_above=2.0), tested, optimum, noise).tolist() == [True, False, True]
    assert may_improve(Balance(improve_above=0.0), tested, -optimum, noise).tolist() == [False] * 3


def test_a_gain_is_worth_a_turn_if_it_is_a_fair_share_of_what_is_left():
    expected, tested, optimum = np.array([0.2, 0.1, 0.1, 0.0]), np.ones(4), np.array([2.0, 2.0, 1.2, 0.9])
    assert is_worthwhile(Balance(least_gain=0.15), expected, tested, optimum).tolist() == [True, False, True, True]
    assert is_worthwhile(Balance(least_gain=0.0), expected, tested, optimum).all()


def test_an_optimum_below_the_best_point_leaves_nothing():
    assert outlook(best=[0.5], optimum=[0.2]).left.tolist() == [0.0]


def test_what_is_not_a_number_is_neither_improved_nor_confirmed():
    nan = np.array([np.nan])
    assert not confirms(Balance(), outlook(best=[0.5], optimum=nan)).any()
    assert not may_improve(Balance(), np.zeros(1), nan, np.array([0.1])).any()
    assert not is_worthwhile(Balance(), nan, np.zeros(1), np.ones(1)).any()
    assert not is_worthwhile(Balance(), np.ones(1), np.zeros(1), nan).any()


# Suggestions


def test_an_exploration_is_the_point_of_the_acquisition_alone():
    opt = told(how=method(improve=0.0, confirm=0.0))
    alone = told(how=Method(Matern52(), MAP(), SMALL, balance=None))
    trial, other = opt.ask(), alone.ask()
    assert trial.params == other.params
    assert trial.diagnostics["purpose"] == "explore"
    assert "purpose" not in other.diagnostics


def test_an_improvement_is_the_point_of_logei():
    opt = told(how=method(improve=1.0, improve_above=0.0))
    trial = opt.ask()
    assert trial.diagnostics["purpose"] == "improve"
    assert trial.diagnostics["method"] == "pes"
    assert trial.diagnostics["fallback"] is None
    expected = told(how=Method(Matern52(), MAP(), LogEI())).ask()
    assert trial.x == pytest.approx(expected.x, abs=1e-3), "candidates are drawn by other numbers"


def test_an_improvement_that_gains_too_little_gives_its_turn_to_information():
    opt = told(how=method(improve=1.0, improve_above=0.0, least_gain=1e6, confirm=0.0))
    assert opt.ask().diagnostics["purpose"] == "explore"


@pytest.fixture
def confirming(monkeypatch):
    """The best point is evaluated whenever it is better than what was tested; the outlooks that were seen."""
    seen = []

    def always(_, outlook):
        seen.append(outlook)
        return outlook.gain > 1e-9

    monkeypatch.setattr("xstar.engine.suggest.confirms", always)
    monkeypatch.setattr("xstar.engine.suggest.is_turn_to_improve", lambda *_: False)
    return seen


def test_a_confirmation_is_the_point_with_the_best_mean(confirming):
    opt = told(noise=0.0)
    trial = opt.ask()
    assert trial.diagnostics["purpose"] == "confirm"
    assert trial.x == pytest.approx(0.3, abs=0.02)
    assert trial.params == opt.space.decode(opt._model().best_row)
    mean, _ = opt.predict([trial, [0.25]])
    assert trial.diagnostics["gain"] == pytest.approx(mean[0] - mean[1], rel=1e-6)
    assert trial.diagnostics["left"] >= trial.diagnostics["gain"]
    explained = str(opt.explain(trial))
    assert f"confirms the recommendation: {trial.diagnostics['gain']:+.2g} expected, " in explained
    assert "may be left beyond it" in explained


@pytest.mark.parametrize(
    "how", [method(improve=0.0), method(improve=1.0, improve_above=0.0)], ids=["explore", "improve"]
)
def test_an_explanation_says_what_the_suggestion_was_for(how):
    opt = told(how=how)
    explained = opt.explain(opt.ask())
    words = {"explore": "looks for the optimum: ", "improve": "looks for a better value: "}
    assert explained.reason.startswith(words.get(explained.purpose, "confirms the recommendation: "))
    assert explained.reason in str(explained)
    assert opt.explain([0.9]).reason is None, "nobody suggested this one"


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_gains_are_positive_in_either_direction(direction, confirming):
    sign = 1.0 if direction == "maximize" else -1.0
    opt = Optimizer(LINE, direction, method(), num_initial=5, noise=0.0)
    for x in (0.0, 0.25, 0.5, 0.75, 1.0):
        opt.tell([x], 1000.0 + 100.0 * sign * bump(x))
    found = opt.ask().diagnostics
    assert found["purpose"] == "confirm"
    assert 0.0 < found["gain"] < 10.0
    assert 0.0 < found["left"] < 100.0


def test_less_than_nothing_is_never_left():
    """Where evaluations fail, the best that is likely enough to be feasible may lie below what was tested."""
    opt = Optimizer(LINE, method=method(improve=0.0), noise=0.0, num_initial=3)
    for x, value in ((0.0, 0.0), (0.2, 0.2), (0.4, 0.4), (0.5, 0.5), (0.62, 0.7)):
        opt.tell([x], value)
    for x in (0.55, 0.6, 0.7, 0.8, 1.0):
        opt.fail([x])
    found = opt.ask().diagnostics
    assert found["left"] >= 0.0
    assert found["left"] >= found["gain"]


def test_what_is_pending_counts_as_tested(confirming):
    opt = told(noise=0.0)
    first, second = opt.ask(2)
    assert first.diagnostics["purpose"] == "confirm"
    assert second.diagnostics["purpose"] == "explore", "it is not confirmed twice"
    assert confirming[1].gain[0] == pytest.approx(0.0, abs=1e-9)


def test_what_lies_outside_the_space_was_not_tested(confirming):
    opt = Optimizer(LINE, method=method(), noise=0.0, num_initial=2)
    for x in (-0.5, 1.5):
        opt.tell([x], bump(x))
    trial = opt.ask()
    assert trial.diagnostics["purpose"] == "confirm"
    assert trial.diagnostics["gain"] is None
    assert opt.explain(trial).reason == "confirms the recommendation"


def test_the_same_point_is_never_confirmed_again_without_noise(confirming):
    opt = Optimizer({"k": Integer(0, 8)}, method=method(), noise=0.0, num_initial=3)
    for k in (0, 4, 8):
        opt.tell({"k": k}, -abs(k - 4.0))
    trial = opt.ask()
    assert trial.params["k"] not in (0, 4, 8)
    assert trial.diagnostics["purpose"] == "explore"


def test_fixed_parameters_hold_for_a_confirmation(confirming):
    """Each part has its own best point: that of one of them is not the best of all."""
    opt = Optimizer({"x": Real(0.0, 1.0), "c": Categorical(["u", "v"])}, method=method(), num_initial=8, noise=0.0)
    for x in (0.1, 0.3, 0.4, 0.7, 0.9):
        opt.tell({"x": x, "c": "u"}, -((x - 0.55) ** 2))
    for x in (0.0, 0.1, 0.5, 0.7, 0.9):
        opt.tell({"x": x, "c": "v"}, -0.005 - (x - 0.3) ** 2)
    for c, best in (("u", 0.55), ("v", 0.3)):
        trial = opt.propose(20, fixed={"c": c})
        assert trial.diagnostics["purpose"] == "confirm", c
        assert trial.params["x"] == pytest.approx(best, abs=0.04), c


def test_an_improvement_that_goes_wrong_leaves_the_turn_to_information(monkeypatch):
    def wrong(*_):
        raise FloatingPointError("overflow")

    monkeypatch.setattr("xstar.engine.suggest._improve", wrong)
    found = told(how=method(improve=1.0, improve_above=0.0, confirm=0.0)).ask().diagnostics
    assert (found["method"], found["fallback"], found["purpose"]) == ("pes", None, "explore")


def test_suggestions_are_the_same_after_a_restart(tmp_path):
    opt = told()
    for _ in range(4):
        trial = opt.ask()
        opt.tell(trial, bump(trial.x[0]))
    opt.save(tmp_path / "study.json")
    again = Optimizer.load(tmp_path / "study.json")
    assert again.method.balance == opt.method.balance
    for _ in range(3):
        assert opt.ask() == again.ask()


def test_methods_of_the_paper_are_not_balanced():
    for name in ("pes-2014", "pes-nb", "es", "ei"):
        assert METHODS[name]().balance is None, name
    opt = Optimizer(LINE, method="ei", num_initial=3)
    for x in (0.1, 0.5, 0.9):
        opt.tell([x], bump(x))
    assert "purpose" not in opt.ask().diagnostics


@pytest.mark.parametrize(
    "wrong",
    [{"improve": 1.5}, {"improve": -0.1}, {"improve_above": -1.0}, {"least_gain": -0.1}, {"confirm": "yes"}],
)
def test_a_balance_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValueError, match=rf"{next(iter(wrong))} must be a number >= 0"):
        Balance(**wrong)


# The last evaluation


@pytest.mark.parametrize("acquisition", [SMALL, LogEI(), EI()], ids=["pes", "logei", "ei"])
def test_the_last_evaluation_is_that_of_the_recommendation(acquisition):
    opt = told(how=Method(Matern52(), MAP(), acquisition), noise=0.0)
    trial = opt.ask(last=True)
    assert trial.diagnostics["purpose"] == "confirm"
    assert trial.params == opt.space.decode(opt._model().best_row)


def test_the_last_evaluation_is_like_any_other_when_the_recommendation_was_evaluated():
    opt = Optimizer({"k": Integer(0, 8)}, method=Method(Matern52(), MAP(), LogEI()), noise=0.0, num_initial=3)
    for k in (0, 4, 8):
        opt.tell({"k": k}, -abs(k - 4.0))
    assert opt.recommend().confirmed
    assert opt.propose(3, last=True) == opt.propose(3)


def test_without_a_balance_the_last_evaluation_is_like_any_other():
    how = Method(Matern52(), MAP(), SMALL, balance=None)
    assert told(how=how).ask(last=True).params == told(how=how).ask().params
