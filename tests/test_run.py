"""One call: what it returns, why it stops, what it shows and saves."""

import contextlib
import inspect
import io
import itertools
import math
import multiprocessing
import re
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

import xstar
from xstar import Categorical, Integer, Method, Optimizer, Real
from xstar.acquisition import PES, LogEI
from xstar.engine.stopping import Tolerance
from xstar.errors import DataError, FileError, SettingsError, XstarError
from xstar.gp import MAP, Matern52
from xstar.run import MESSAGES, StopReason

QUICK = Method(Matern52(), MAP(), acquisition=LogEI())
SMALL_PES = Method(Matern52(), MAP(), acquisition=PES(num_samples=10, num_features=128))
LINE = [(0.0, 1.0)]
MIXED = {"x": Real(0.0, 1.0), "k": Integer(1, 4), "c": Categorical(["<u>", "v & w"])}


@pytest.fixture(autouse=True)
def few_samples(monkeypatch):
    """A result draws 200 optima; 20 are enough here."""
    where = Optimizer.where
    monkeypatch.setattr(Optimizer, "where", lambda self, num_samples=20: where(self, min(num_samples, 20)))


def bump(x):
    return 1.0 - float((x[0] - 0.3) ** 2)


def mixed(params):
    return -abs(params["x"] - 0.3) - abs(params["k"] - 2) + (params["c"] == "<u>")


def failing_after(count, error, function=bump):
    """The function, until it has been called `count` times."""
    calls = itertools.count()

    def call(x):
        if next(calls) >= count:
            raise error
        return function(x)

    return call


# What comes back


def test_maximize_over_bounds():
    points = []

    def function(x):
        points.append(x)
        return bump(x)

    result = xstar.maximize(function, LINE, 10, method=QUICK, noise=0.0)
    assert all(isinstance(x, np.ndarray) and x.shape == (1,) and x.dtype == np.float64 for x in points)
    assert result.x.shape == (1,)
    assert result.x[0] == result.params["x0"] == pytest.approx(0.3, abs=0.05)
    assert result.value == pytest.approx(1.0, abs=0.01)
    assert 0.0 <= result.sd < 0.1
    assert result.stop_reason == "budget"
    assert [trial.value for trial in result.trials] == [bump(x) for x in points]
    assert result.best_observed.value == max(map(bump, points))
    assert result.where.recommendation == result.optimizer.recommend()
    assert (result.params, result.value) == (result.where.recommendation.params, result.where.recommendation.mean)
    assert len(result.trials) == len(result.optimizer.trials) == 10


def test_minimize_over_a_space():
    result = xstar.minimize(lambda params: -mixed(params), MIXED, budget=14, method=QUICK)
    assert result.params["k"] == 2
    assert result.params["c"] == "<u>"
    assert result.best_observed.value == min(trial.value for trial in result.trials)
    assert result.value < -0.3
    assert result.x.dtype == object
    assert result.optimizer.direction == "minimize"


def test_parameters_are_a_dictionary_that_may_be_changed():
    def function(params):
        x = params.pop("x")
        params["junk"] = 1
        return x

    result = xstar.maximize(function, MIXED, 4, method=QUICK)
    assert all(list(trial.params) == ["x", "k", "c"] for trial in result.trials)


def test_a_list_with_choices_keeps_numbers_as_numbers():
    seen = []

    def function(x):
        seen.append(x)
        return float(x[0]) + (x[1] == "b")

    result = xstar.maximize(function, [(0.0, 1.0), Categorical(["a", "b"])], 4, method=QUICK)
    for x, trial in zip(seen, result.trials, strict=True):
        assert isinstance(x[0], float)
        assert list(x) == list(trial.x) == list(trial.params.values())


def test_a_value_may_come_with_its_noise():
    for returned in (lambda x: xstar.Value(bump(x), 0.25), lambda x: {"value": bump(x), "sd": 0.25}):
        result = xstar.maximize(returned, LINE, 4, method=QUICK)
        assert all(trial.sd == 0.25 for trial in result.trials)
    assert [trial.value for trial in result.trials] == [bump(trial.x) for trial in result.trials]
    assert all(trial.sd is None for trial in xstar.maximize(bump, LINE, 4, method=QUICK).trials)


def test_a_plain_pair_is_read_as_value_and_noise_and_that_is_said_once():
    with pytest.warns(UserWarning, match=r"the pair \(.*xstar\.Value\(value, sd\)") as said:
        result = xstar.maximize(lambda x: (bump(x), 0.25), LINE, 4, method=QUICK)
    assert len(said) == 1
    assert all(trial.sd == 0.25 for trial in result.trials)


@pytest.mark.parametrize(
    "bad",
    ["high", {"value": 1, "sd": -0.1}, {"accuracy": 0.9}, {"value": 1, "time": 2}, (1.0, 0.1, 0.2), np.zeros(2)],
    ids=str,
)
def test_a_return_value_that_is_no_number_stops_the_run_with_a_clear_error(bad):
    with pytest.raises(DataError, match=r"received|a dictionary that is returned has") as caught:
        xstar.maximize(lambda x: bad, LINE, 4, method=QUICK)
    assert any("trial 0" in note for note in getattr(caught.value, "__notes__", [])), "the trial is named"


@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_values_that_are_not_finite_are_failures(value):
    result = xstar.maximize(lambda x: value if x[0] > 0.5 else bump(x), LINE, 6, method=QUICK, x0=[0.1])
    assert all((trial.state == "failed") == (trial.x[0] > 0.5) for trial in result.trials)
    assert result.x[0] <= 0.5


def test_a_result_in_words():
    result = xstar.maximize(mixed, MIXED, 6, method=QUICK)
    text = str(result)
    assert text.startswith("6 evaluations, stopped by budget\nrecommended: x = 0.")
    assert "value there: " in text
    assert "the optimum is" in text
    assert f"best observed: #{result.best_observed.number} " in text
    assert "left to gain" in text


def test_a_result_without_a_value():
    result = xstar.maximize(lambda x: math.nan, LINE, 3, method=QUICK)
    assert (result.params, result.x, result.value, result.sd, result.where, result.best_observed) == (None,) * 6
    assert result.stop_reason == "budget"
    assert [trial.state for trial in result.trials] == ["failed"] * 3
    assert "3" in str(result).splitlines()[0], "the evaluations, failed or not, are counted"


def test_the_names_of_scipy():
    result = xstar.maximize(failing_after(3, ValueError("no")), LINE, 5, method=QUICK, catch=ValueError)
    assert (result.fun, result.nfev, result.success) == (result.value, 5, True)
    assert result.message == "the budget of evaluations is spent"
    nothing = xstar.maximize(lambda x: math.nan, LINE, 3, method=QUICK)
    assert (nothing.fun, nothing.nfev, nothing.success) == (None, 3, False)
    stopped = xstar.maximize(failing_after(4, KeyboardInterrupt()), LINE, 50, method=QUICK)
    assert (stopped.nfev, stopped.success, stopped.message) == (4, False, "the run was interrupted")
    failing = xstar.maximize(
        failing_after(3, ValueError("no")), LINE, 9, method=QUICK, catch=ValueError, max_failures=2
    )
    assert (failing.stop_reason, failing.success, failing.value is None) == ("failures", False, False)
    assert set(MESSAGES) == set(get_args(StopReason))


@pytest.mark.parametrize("function", [xstar.maximize, xstar.minimize, xstar.optimize])
def test_help_shows_every_option(function):
    parameters = dict(inspect.signature(function).parameters)
    assert all(kind.kind != inspect.Parameter.VAR_KEYWORD for kind in parameters.values())
    for name in parameters.keys() - {"direction"}:
        assert f"\n    {name} : " in (function if function is not xstar.optimize else xstar.maximize).__doc__
    assert function is not xstar.optimize or "those of `maximize`" in function.__doc__
    assert ("\n    direction : " in function.__doc__) == ("direction" in parameters)
    options = {name: kind.default for name, kind in parameters.items() if name not in ("direction", "function")}
    reference = inspect.signature(xstar.optimize).parameters
    assert options == {name: reference[name].default for name in options}


# Why it stops


def test_budget_counts_failures_too():
    result = xstar.maximize(failing_after(3, ValueError("no")), LINE, 5, method=QUICK, catch=ValueError)
    assert result.stop_reason == "budget"
    assert [trial.state for trial in result.trials] == ["done"] * 3 + ["failed"] * 2


@pytest.mark.parametrize("failed", [False, True])
def test_the_last_evaluation_of_a_budget_is_for_the_best_posterior_mean(failed):
    function = failing_after(5, ValueError("no")) if failed else bump
    result = xstar.maximize(function, LINE, 6, method=QUICK, noise=0.0, catch=ValueError)
    purposes = [trial.diagnostics.get("purpose") for trial in result.trials]
    assert purposes == [None] * 5 + ["confirm"]
    assert result.confirmed is not failed
    assert not xstar.maximize(bump, LINE, max_seconds=1e9, callback=lambda opt, _: len(opt.trials) == 6,
                              method=QUICK, noise=0.0).trials[-1].diagnostics.get("purpose")  # fmt: skip


def test_tolerance():
    result = xstar.maximize(bump, LINE, 30, method=QUICK, noise=0.0, tolerance=0.02)
    assert result.stop_reason == "tolerance"
    assert 3 <= len(result.trials) < 30
    assert bump(result.x) > 1.0 - 0.02
    assert result.where.regret_quantile(0.95) <= 0.02
    stricter = xstar.maximize(bump, LINE, 30, method=QUICK, noise=0.0, tolerance=1e-5)
    assert len(stricter.trials) > len(result.trials)


def test_time(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])

    def function(x):
        clock[0] += 10.0
        return bump(x)

    result = xstar.maximize(function, LINE, max_seconds=35.0, method=QUICK)
    assert result.stop_reason == "time"
    assert len(result.trials) == 4


def test_an_exhausted_space():
    result = xstar.maximize(lambda params: params["k"], {"k": Integer(1, 4)}, 50, method=QUICK, noise=0.0)
    assert result.stop_reason == "exhausted"
    assert sorted(trial.params["k"] for trial in result.trials) == [1, 2, 3, 4]
    assert result.params == {"k": 4}


def test_interruption_returns_what_has_been_found(tmp_path):
    path = tmp_path / "study.json"
    result = xstar.maximize(failing_after(4, KeyboardInterrupt()), LINE, 50, method=QUICK, save=path)
    assert result.stop_reason == "interrupted"
    assert [trial.state for trial in result.trials] == ["done"] * 4 + ["withdrawn"]
    assert result.value is not None
    assert Optimizer.load(path).trials == result.trials


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interruption_of_trials_whose_numbers_have_gaps(n_jobs):
    told = [xstar.Trial(7, {"x0": 0.3}, "done", 1.0), xstar.Trial(12, {"x0": 0.6})]
    optimizer = Optimizer.from_trials(told, LINE, method=QUICK)
    function = failing_after(2, KeyboardInterrupt())
    result = xstar.maximize(function, budget=9, optimizer=optimizer, n_jobs=n_jobs)
    assert result.stop_reason == "interrupted"
    found = {trial.number: trial.state for trial in result.trials}
    assert [found[7], found[12], found[13]] == ["done", "pending", "done"], "of others it takes no notice"
    assert list(found.values()).count("pending") == 1


def test_interruption_at_once():
    result = xstar.maximize(failing_after(0, KeyboardInterrupt()), LINE, 50, method=QUICK)
    assert result.stop_reason == "interrupted"
    assert result.params is None


def test_a_callback_sees_every_trial_and_may_stop():
    seen = []

    def callback(optimizer, trial):
        assert optimizer.trials[-1] == trial
        seen.append(trial.number)
        return trial.number == 4 or None

    result = xstar.maximize(bump, LINE, 50, method=QUICK, callback=callback)
    assert result.stop_reason == "callback"
    assert seen == [0, 1, 2, 3, 4]


def test_a_callback_that_returns_something_else_does_not_stop():
    assert xstar.maximize(bump, LINE, 4, method=QUICK, callback=lambda *_: 1).stop_reason == "budget"


def test_failures_in_a_row():
    bad = math.nan
    outcomes = iter([bad, 1.0, bad, bad, 2.0, bad, bad, bad, bad])
    result = xstar.maximize(lambda x: next(outcomes), LINE, 50, method=QUICK, max_failures=3)
    assert result.stop_reason == "failures"
    assert len(result.trials) == 8


# Exceptions


def test_an_exception_is_raised_again_with_a_note_and_remembered(tmp_path):
    path = tmp_path / "study.json"
    with pytest.raises(ZeroDivisionError, match="by nothing") as caught:
        xstar.maximize(failing_after(2, ZeroDivisionError("by nothing")), LINE, 9, method=QUICK, save=path)
    (note,) = caught.value.__notes__
    assert "raised by trial 2, {'x0': " in note
    assert "pass catch=ZeroDivisionError" in note
    trials = Optimizer.load(path).trials
    assert [trial.state for trial in trials] == ["done", "done", "withdrawn"], "the point may not be to blame"
    assert trials[-1].reason == "ZeroDivisionError: by nothing"


@pytest.mark.parametrize("catch", [OSError, (KeyError, OSError), Exception])
def test_exceptions_that_are_named_count_as_failures(catch):
    result = xstar.maximize(failing_after(3, FileNotFoundError("gone")), LINE, 5, method=QUICK, catch=catch)
    assert [trial.reason for trial in result.trials[3:]] == ["FileNotFoundError: gone"] * 2
    with pytest.raises(TypeError):
        xstar.maximize(failing_after(0, TypeError("other")), LINE, 5, method=QUICK, catch=OSError)


# Saving and going on


@pytest.mark.parametrize("method", [QUICK, SMALL_PES, "random"], ids=["logei", "pes", "random"])
def test_a_saved_run_goes_on_as_if_it_had_never_stopped(tmp_path, method):
    path = tmp_path / "study.json"
    whole = xstar.maximize(mixed, MIXED, 7, method=method, seed=3)
    xstar.maximize(mixed, MIXED, 4, method=method, seed=3, save=path)
    rest = xstar.maximize(mixed, None, 3, optimizer=Optimizer.load(path), save=path)
    assert rest.trials == whole.trials
    assert rest.params == whole.params
    assert (rest.value, rest.sd) == (whole.value, whole.sd)
    assert Optimizer.load(path).trials == whole.trials


def test_the_file_is_there_after_every_evaluation(tmp_path):
    path, counts = tmp_path / "study.json", []

    def function(x):
        counts.append(len(Optimizer.load(path).trials) if path.exists() else 0)
        return bump(x)

    xstar.maximize(function, LINE, 4, method=QUICK, save=path)
    assert counts == [0, 1, 2, 3]
    assert list(tmp_path.iterdir()) == [path], "no litter"


# Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_no_progress_bar_without_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", stream := io.StringIO())
    xstar.maximize(bump, LINE, 4, method=QUICK)
    assert stream.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    xstar.maximize(bump, LINE, 4, method=QUICK, progress=False)
    assert terminal.getvalue() == ""
    assert capsys.readouterr().out == ""


def test_a_progress_bar_on_a_terminal(monkeypatch):
    # Every refresh is written, however soon it comes after the last.
    monkeypatch.setenv("TQDM_MININTERVAL", "0")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    result = xstar.maximize(bump, LINE, 6, method=SMALL_PES)
    last = terminal.getvalue().split("\r")[-1]
    assert "6/6" in last
    assert f"best {result.value:.4g} ± " in last
    assert any(f", {purpose}, " in last for purpose in ("explore", "improve", "confirm"))
    assert "regret < " in last


def test_a_progress_bar_does_not_change_the_run(monkeypatch):
    plain = xstar.maximize(bump, LINE, 6, method=QUICK)
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert xstar.maximize(bump, LINE, 6, method=QUICK).trials == plain.trials


def test_a_progress_bar_survives_failures_only(monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    assert xstar.maximize(lambda x: math.nan, LINE, 3, method=QUICK).params is None
    assert "3/3" in terminal.getvalue()


# Options


async def asynchronous(x):
    return 1.0


@pytest.mark.parametrize(
    "function, options, message",
    [
        (3.0, {"budget": 5}, r"the function to optimize must be callable; received 3\.0"),
        (asynchronous, {"budget": 5}, r"is asynchronous; use Optimizer\.ask and tell"),
        (bump, {}, r"needs a reason to stop: budget=, tolerance=, target=, patience= or max_seconds="),
        (bump, {"budget": 0}, r"budget must be at least 1; received 0"),
        (bump, {"budget": 2.5}, r"budget must be a whole number >= 1; received 2\.5"),
        (bump, {"budget": 5, "tolerance": 0.0}, r"tolerance must be a number > 0"),
        (bump, {"budget": 5, "tolerance": math.nan}, r"tolerance must be a number > 0"),
        (bump, {"max_seconds": -1.0}, r"max_seconds must be a number > 0"),
        (bump, {"max_seconds": "1h"}, r"max_seconds must be a number > 0"),
        (bump, {"budget": 5, "max_failures": 0}, r"max_failures must be at least 1"),
        (bump, {"budget": 5, "method": "genetic"}, r"method must be one of"),
        (bump, {"budget": 5, "space": None}, r"a run needs a space, for example"),
        (bump, {"budget": 5, "optimizer": Optimizer(LINE)}, r"give a space or an optimizer, not both"),
        (bump, {"budget": 5, "catch": "ValueError"}, r"catch must be"),
        (bump, {"budget": 5, "catch": (ValueError, 3)}, r"catch must be"),
        (bump, {"budget": 5, "callback": 3}, r"callback must be callable"),
    ],
)
def test_bad_options_are_named_before_anything_is_evaluated(function, options, message):
    calls = []
    guarded = function if function is not bump else lambda x: calls.append(x) or 1.0
    with pytest.raises(SettingsError, match=message):
        xstar.optimize(guarded, **{"space": LINE, **options})
    assert calls == []


@pytest.mark.parametrize(
    "space, folder", [(LINE, "missing"), ({"c": Categorical([(1, 2), (3, 4)])}, ".")], ids=["no folder", "choices"]
)
def test_a_file_that_cannot_be_written_is_noticed_before_anything_is_evaluated(tmp_path, space, folder):
    """Or it is written: no evaluation may be lost."""
    calls, path = [], tmp_path / folder / "study.json"
    with contextlib.suppress(xstar.XstarError, OSError):
        xstar.maximize(lambda x: calls.append(x) or float(len(calls)), space, 3, method=QUICK, save=path)
    assert calls == [] or path.exists()


# The report


def test_a_report_is_one_file_with_every_trial(tmp_path):
    result = xstar.maximize(failing_after(6, ValueError("a < b"), mixed), MIXED, 7, method=QUICK, catch=ValueError)
    result.optimizer.tell({"x": 0.123456, "k": 1, "c": "v & w"}, -2.5, sd=0.25)
    result.optimizer.ask()
    path = result.report(tmp_path / "reports" / "page.html")
    assert path == tmp_path / "reports" / "page.html"
    assert list(path.parent.iterdir()) == [path]
    page = path.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert page.count("<svg") > 5
    table = page.split('<table class="sortable">')[1].split("</table>")[0]
    assert table.count("<tr class=") == len(result.optimizer.trials) == 9
    for trial in result.optimizer.trials:
        shown = result.optimizer.space.parameters["x"].show(trial.params["x"], unit=False)
        beginning = f'<th scope="row" id="trial-{trial.number}">{trial.number}</th><td class="number">{shown}</td>'
        assert f'<tr class="{trial.state}">{beginning}' in table
    told = next(row for row in table.split("<tr ") if 'id="trial-7"' in row)
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", told)
    assert cells[1:5] == ["1", "v &amp; w", "-2.5", "0.25"]
    assert cells[-1] == "told"
    assert "ValueError: a &lt; b" in table
    assert "<u>" not in page
    assert "<dd>the budget of evaluations is spent</dd>" in page
    assert "<dd>7 done, 1 failed, 1 running</dd>" in page


def test_a_report_of_failures_only(tmp_path):
    result = xstar.maximize(lambda x: math.nan, LINE, 2, method=QUICK)
    page = result.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count('<tr class="failed">') == 2
    assert "<svg" not in page


# What a review found


def test_a_lucky_draw_does_not_stop_a_run():
    """What the result says must agree with why the run stopped."""
    result = xstar.maximize(
        lambda x: 100.0 * max(0.0, 0.3 - np.hypot(x[0] - 0.8, x[1] - 0.2)), [(0.0, 1.0)] * 2, 30, method=QUICK,
        tolerance=8.0, seed=0,
    )  # fmt: skip
    assert result.stop_reason == "tolerance"
    assert result.where.regret_quantile(0.95) <= 8.0


def test_the_draws_of_the_result_confirm_the_tolerance(monkeypatch):
    """Draws of a single step that promise too much are not enough."""
    original = Optimizer.where

    def promising(self, num_samples=200):
        drawn = original(self, num_samples)
        return replace(drawn, regret=np.full(len(drawn), 0.0 if num_samples == Tolerance(2.0).few_samples else 9.0))

    monkeypatch.setattr(Optimizer, "where", promising)
    result = xstar.maximize(lambda x: float(x[0]), LINE, 5, method=QUICK, tolerance=2.0)
    assert result.stop_reason == "budget"
    assert len(result.trials) == 5


@pytest.mark.filterwarnings("ignore::xstar.DegradedWarning")
def test_equal_values_are_no_reason_to_stop():
    result = xstar.maximize(lambda x: 5.0, [(0.0, 1.0)], 6, method=QUICK, tolerance=2.0)
    assert result.stop_reason == "budget"


@pytest.mark.parametrize("answer, count", [(np.True_, 1), (True, 1), (np.False_, 3), (None, 3), (1, 3)])
def test_callbacks_stop_with_any_true(answer, count):
    result = xstar.maximize(lambda x: float(x[0]), LINE, 3, method=QUICK, callback=lambda opt, trial: answer)
    assert len(result.trials) == count


def test_wrong_return_values_are_not_caught():
    """They are a bug, not a place to stay away from."""
    opt = Optimizer(LINE, method=QUICK)
    with pytest.raises(DataError, match="a value must be one number") as caught:
        xstar.maximize(lambda x: [1.0, 0.1], budget=3, optimizer=opt, catch=Exception)
    assert "must return a number, xstar.Value(value, sd)" in caught.value.__notes__[0]
    assert [trial.state for trial in opt.trials] == ["withdrawn"]


@pytest.mark.parametrize("extra", [{"method": "ei"}, {"seed": 3}, {"noise": 0.0}, {"num_initial": 4}, {"threads": 2}])
def test_an_optimizer_has_its_own_settings(extra):
    with pytest.raises(SettingsError, match="are the optimizer's own"):
        xstar.maximize(lambda x: 1.0, budget=3, optimizer=Optimizer(LINE), **extra)
    with pytest.raises(SettingsError, match="is one to maximize, not to minimize"):
        xstar.minimize(lambda x: 1.0, budget=3, optimizer=Optimizer(LINE))


def test_an_interrupt_while_saving_loses_nothing(tmp_path, monkeypatch):
    path, saved = tmp_path / "study.json", []
    original = Optimizer.save

    def interrupted_once(self, where):
        saved.append(len(self.trials))
        if len(saved) == 4:
            raise KeyboardInterrupt
        original(self, where)

    monkeypatch.setattr(Optimizer, "save", interrupted_once)
    result = xstar.maximize(lambda x: float(x[0]), LINE, 9, method=QUICK, save=path)
    assert result.stop_reason == "interrupted"
    assert [trial.state for trial in Optimizer.load(path).trials] == ["done"] * 3


def test_a_result_survives_a_last_computation_that_fails(monkeypatch):
    monkeypatch.setattr(Optimizer, "where", lambda self: (_ for _ in ()).throw(np.linalg.LinAlgError("singular")))
    result = xstar.maximize(lambda x: float(x[0]), LINE, 3, method=QUICK)
    assert result.where is None
    assert result.value == pytest.approx(result.optimizer.recommend().mean)
    assert "recommended" in str(result)


def test_a_folder_that_is_not_there_is_noticed_before_any_evaluation(tmp_path):
    calls = []
    with pytest.raises(FileError, match="there is no folder"):
        xstar.maximize(calls.append, LINE, 3, method=QUICK, save=tmp_path / "nowhere" / "study.json")
    assert calls == []


# Where it begins, where it ends, and where it runs


def test_points_to_begin_with_are_evaluated_first():
    seen = []

    def function(x):
        seen.append(float(x[0]))
        return bump(x)

    result = xstar.maximize(function, LINE, 5, method=QUICK, x0=[[0.2], [0.9]])
    assert seen[:2] == [0.2, 0.9]
    assert len(seen) == 5, "they count in the budget"
    assert [trial.diagnostics["method"] for trial in result.trials[:2]] == ["fixed", "fixed"]
    assert xstar.maximize(bump, LINE, 1, method=QUICK, x0=[0.2]).trials[0].x == [0.2]
    assert xstar.maximize(bump, LINE, 1, method=QUICK, x0=np.array([[0.2]])).trials[0].x == [0.2]
    point = {"x": 0.2, "k": 2, "c": "<u>"}
    assert xstar.maximize(mixed, MIXED, 1, method=QUICK, x0=point).trials[0].params == point


def test_values_that_are_known_are_told_and_cost_nothing():
    result = xstar.maximize(
        bump, LINE, 3, method=QUICK, x0=[[0.2], [0.9], [2.0]], y0=[0.99, xstar.Value(0.64, sd=0.1), None]
    )
    assert [(trial.state, trial.value, trial.sd) for trial in result.trials[:3]] == [
        ("done", 0.99, None), ("done", 0.64, 0.1), ("failed", None, None)
    ]  # fmt: skip
    assert len(result.trials) == 6
    assert xstar.maximize(bump, LINE, 1, method=QUICK, x0=[0.2], y0=0.99).trials[0].value == 0.99


@pytest.mark.parametrize(
    "given, message",
    [
        ({"y0": [1.0]}, "give these too"),
        ({"x0": [[0.2]], "y0": [1.0, 2.0]}, "x0 has 1 points and y0 2 values"),
        ({"x0": 0.2}, "x0 is a point or a list of points; received 0.2"),
        ({"x0": "best"}, "x0 is a point or a list of points; received 'best'"),
        ({"x0": [[0.2], [0.3]], "y0": 3.0}, "y0 is a list of the values of x0; received 3.0"),
        ({"x0": [1.5]}, 'parameter "x0" cannot be held at 1.5'),
        ({"x0": [0.2, 0.3]}, "a point has 1 values"),
        ({"n_jobs": 0}, "n_jobs must be at least 1"),
        ({"executor": 4}, "executor must be one of concurrent.futures"),
        ({"target": "high"}, "target must be a finite number; received 'high'"),
        ({"target": math.inf}, "target must be a finite number; received inf"),
        ({"patience": 0}, "patience must be at least 1"),
    ],
)
def test_what_makes_no_sense_is_said_before_anything_is_evaluated(given, message):
    with pytest.raises(XstarError, match=message):
        xstar.maximize(lambda x: pytest.fail("evaluated"), LINE, 3, method=QUICK, **given)


def test_a_target_ends_a_run():
    result = xstar.minimize(lambda x: -bump(x), LINE, 40, method=QUICK, noise=0.0, target=-0.999)
    assert (result.stop_reason, result.message) == ("target", "the target is reached")
    values = [trial.value for trial in result.trials]
    assert values[-1] <= -0.999
    assert min(values[:-1]) > -0.999


def test_with_noise_a_lucky_value_is_no_target_reached():
    """The largest of many draws exceeds the target early; the model, which averages, does not."""
    rng = np.random.default_rng(0)
    result = xstar.maximize(lambda x: bump(x) + rng.normal(), LINE, 12, method=QUICK, noise=1.0, target=1.5)
    assert max(trial.value for trial in result.trials[:-1]) > 1.5
    assert result.stop_reason == "budget"


def test_patience_ends_a_run_without_better_values():
    values = iter([1.0, 3.0, 2.0, 2.5, math.nan, 3.0, 9.0])
    result = xstar.maximize(lambda x: next(values), LINE, patience=4, method=QUICK)
    assert [trial.value for trial in result.trials] == [1.0, 3.0, 2.0, 2.5, None, 3.0]
    assert result.stop_reason == "patience"


@pytest.mark.parametrize("workers", [2, 3])
def test_evaluations_at_once(workers):
    """Each waits for the others: they end only if they are under way together."""
    barrier = threading.Barrier(workers, timeout=30)

    def function(x):
        barrier.wait()
        return bump(x)

    result = xstar.maximize(function, LINE, 3 * workers, method=QUICK, n_jobs=workers)
    assert [trial.state for trial in result.trials] == ["done"] * 3 * workers
    assert len({float(trial.x[0]) for trial in result.trials}) == 3 * workers
    assert all(trial.value == bump(trial.x) for trial in result.trials), "each has its own value"


def test_no_more_than_are_allowed_at_once():
    under_way, most, lock = [], [], threading.Lock()

    def function(x):
        with lock:
            under_way.append(1)
            most.append(len(under_way))
        time.sleep(0.01)
        with lock:
            under_way.pop()
        return bump(x)

    xstar.maximize(function, LINE, 9, method=QUICK, n_jobs=3)
    assert 1 < max(most) <= 3


def test_an_executor_of_processes():
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        result = xstar.maximize(math.fsum, LINE, 4, method=QUICK, n_jobs=2, executor=executor)
        assert executor.submit(math.sqrt, 4.0).result() == 2.0, "it is left as it was"
    assert [trial.value for trial in result.trials] == [float(trial.x[0]) for trial in result.trials]


def test_errors_of_one_of_several_end_the_run_and_withdraw_the_others():
    opt = Optimizer(LINE, method=QUICK)
    release = threading.Event()

    def function(x):
        if len(opt.trials) < 3:
            release.wait(30)
        raise ValueError("broken")

    def ending(x):
        try:
            return function(x)
        finally:
            release.set()

    with pytest.raises(ValueError, match="broken"):
        xstar.maximize(ending, budget=9, optimizer=opt, n_jobs=3)
    assert {trial.state for trial in opt.trials} == {"withdrawn"}


def test_errors_that_count_as_failures_count_among_several_too():
    result = xstar.maximize(failing_after(4, ValueError("no")), LINE, 8, method=QUICK, n_jobs=2, catch=ValueError)
    assert sorted(trial.state for trial in result.trials) == ["done"] * 4 + ["failed"] * 4


def test_what_has_begun_is_told_when_a_run_of_several_ends():
    result = xstar.maximize(bump, LINE, 30, method=QUICK, n_jobs=3, callback=lambda opt, trial: len(opt.trials) >= 5)
    assert result.stop_reason == "callback"
    assert all(trial.state == "done" for trial in result.trials)


def test_a_function_without_return_is_refused_before_it_is_called():
    def forgotten(x):
        score = x[0] ** 2
        if score > 1:
            return

    def deliberate(x):
        return None if x[0] > 0.5 else 1.0

    class Forgotten:
        def __call__(self, x):
            x[0] ** 2

    for function in (forgotten, Forgotten().__call__):
        with pytest.raises(SettingsError, match="never returns anything"):
            xstar.maximize(function, LINE, 3, method=QUICK)
    assert xstar.maximize(deliberate, LINE, 2, method=QUICK, x0=[0.1]).nfev == 2


def test_none_as_the_first_value_is_said_to_be_a_failure():
    with pytest.warns(UserWarning, match=r"returned None, which counts as a failed .* return statement is missing"):
        xstar.maximize(lambda x: None, LINE, 2, method=QUICK)
