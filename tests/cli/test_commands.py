"""What can be asked of a study, and told to it: answers in words and in JSON, and that they are those of Optimizer."""

import csv
import io
import json
import math
import re

import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState

import xstar
from xstar import Optimizer
from xstar.files.definition import Definition

MIXED = """
lr = { low = 1e-4, high = 1.0, log = true }
layers = { low = 1, high = 6 }
kind = ["relu", "gelu"]
"""


def measured(params):
    return (math.log10(params["lr"]) + 2.0) ** 2 + params["layers"] / 4 + (params["kind"] == "gelu")


@pytest.fixture(scope="module")
def made_before():
    """The file of a study that many tests begin with."""
    return {}


@pytest.fixture
def line(ok, define, folder, made_before):
    """A study of one parameter with four results, trials 0 to 3."""
    define()
    if not made_before:
        for x in (0.0, 0.3, 0.6, 1.0):
            ok("tell", "study.toml", f"x={x}", (x - 0.4) ** 2)
        made_before["study.db"] = (folder / "study.db").read_bytes()
    (folder / "study.db").write_bytes(made_before["study.db"])
    return "study.toml"


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def reference(study):
    """An optimizer of the library with the settings and the results of a study."""
    definition = Definition.parse(study.user_attrs["xstar:definition"])
    opt = Optimizer(definition.space, definition.direction, definition.method, definition.seed)
    for trial in study.trials:
        opt.tell(trial.params, trial.value)
    return opt


# Asking


def test_ask(ok, define):
    asked = ok("ask", define(parameters=MIXED), "--json").json
    assert asked.keys() == {"number", "params"}
    assert asked["number"] == 0
    assert list(asked["params"]) == ["lr", "layers", "kind"]
    assert 1e-4 <= asked["params"]["lr"] <= 1.0
    assert asked["params"]["layers"] in range(1, 7)
    assert asked["params"]["kind"] in ("relu", "gelu")
    assert ok("status", "study.toml", "--json").json["running"] == [0]


def test_ask_in_words(ok, define):
    text = ok("ask", define(parameters=MIXED)).out
    assert re.fullmatch(r"trial 0\n  lr     = \S+\n  layers = [1-6]\n  kind   = (relu|gelu)\n", text)


def test_ask_for_several(ok, define):
    define()
    asked = ok("ask", "study.toml", "-n", "3", "--json").json
    assert [trial["number"] for trial in asked] == [0, 1, 2]
    assert len({trial["params"]["x"] for trial in asked}) == 3
    (fourth,) = ok("ask", "study.toml", "-n", "1", "--json").json
    assert fourth["number"] == 3, "of one, when a number is given, there is a list too"
    assert ok("ask", "study.toml", "-n", "2").out.count("trial ") == 2
    assert ok("status", "study.toml", "--json").json["running"] == [0, 1, 2, 3, 4, 5]


def test_several_are_those_of_the_optimizer(ok, line, stored):
    opt = reference(stored())
    asked = ok("ask", line, "-n", "3", "--json").json
    assert [trial["params"] for trial in asked] == [trial.params for trial in opt.ask(3)]


def test_stale_trials_are_not_counted_on(ok, define, stored):
    ok("ask", define(parameters='c = ["a", "b"]', noise=0.0, stale_after=0.01), "-n", "2")
    assert ok("ask", "study.toml", "--json").json["number"] == 2, "the first two are dead"


def test_a_very_long_time_before_trials_are_stale(ok, define):
    ok("ask", define(stale_after=1e12), "-n", "2")


def test_a_batch_ends_with_the_space(ok, cli, define):
    define(parameters='c = ["a", "b", "c"]', noise=0.0)
    assert {trial["params"]["c"] for trial in ok("ask", "study.toml", "-n", "9", "--json").json} == {"a", "b", "c"}
    answer = cli("ask", "study.toml")
    assert (answer.code, answer.out) == (1, "")
    assert "every point of the space has been evaluated or is pending" in answer.err


# Telling


def test_tell_by_number(ok, define, stored):
    ok("ask", define())
    answer = ok("tell", "study.toml", "0", "0.5", "--sd", "0.1", "--json").json
    assert (answer["number"], answer["state"], answer["value"], answer["sd"]) == (0, "done", 0.5, 0.1)
    (trial,) = stored().trials
    assert (trial.state, trial.value, trial.user_attrs["xstar:sd"]) == (TrialState.COMPLETE, 0.5, 0.1)
    assert answer["params"] == trial.params


def test_values_with_any_sign(ok, define, stored):
    ok("ask", define())
    values = ["-1e-3", "-.5", "-7", "1e-9", "+3", " 4 "]
    for which, value in zip(["0"] + ["x=0.5"] * 5, values, strict=True):
        ok("tell", "study.toml", which, value)
    assert [trial.value for trial in stored().trials] == [-1e-3, -0.5, -7.0, 1e-9, 3.0, 4.0]


def test_words_for_failures(ok, define, stored):
    ok("ask", define())
    words = ["-inf", "failed", "nan", "-nan", "CRASHED", "1e999"]
    for which, word in zip(["0"] + ["x=0.5"] * 5, words, strict=True):
        answer = ok("tell", "study.toml", which, word, "--json").json
        assert (answer["state"], answer["value"], answer["reason"]) == ("failed", None, f"value was {word}")
    assert [trial.state for trial in stored().trials] == [TrialState.FAIL] * 6
    assert [trial.user_attrs["xstar:reason"] for trial in stored().trials] == [f"value was {word}" for word in words]


def test_tell_by_parameters_completes_the_running_trial(ok, define, stored):
    asked = ok("ask", define(parameters=MIXED), "-n", "2", "--json").json
    pairs = [f"{name}={value}" for name, value in asked[1]["params"].items()]
    assert ok("tell", "study.toml", *pairs, "-2.5", "--sd", "0", "--json").json["number"] == 1
    trials = stored().trials
    assert [trial.state for trial in trials] == [TrialState.RUNNING, TrialState.COMPLETE]
    assert (trials[1].value, trials[1].user_attrs["xstar:sd"]) == (-2.5, 0.0)
    assert ok("tell", "study.toml", *pairs, "-2.75", "--json").json["number"] == 2, "another result there"


def test_tell_what_nobody_asked_for(ok, define, stored):
    answer = ok("tell", define(parameters=MIXED), "lr=0.01", "layers=3", "kind=gelu", "0.91", "--json").json
    assert (answer["number"], answer["params"]) == (0, {"lr": 0.01, "layers": 3, "kind": "gelu"})
    assert stored().trials[0].params == {"lr": 0.01, "layers": 3, "kind": "gelu"}
    assert "layers=3, kind='gelu'  ->  0.5" in ok("tell", "study.toml", "kind=gelu", "layers=3", "lr=0.1", "0.5").out


def test_tell_outside_the_bounds(ok, define):
    define(parameters="x = { low = 0.0, high = 1.0 }\nk = { low = 0, high = 9, step = 3 }")
    for x, k, value in ((-0.5, 20, "4"), (0.5, 4, "1"), (1.5, -3, "3"), (0.2, 3, "2")):
        ok("tell", "study.toml", f"x={x}", f"k={k}", value)
    rows = rows_of(ok("export", "study.toml", "-").out)
    assert [(float(row["x"]), int(row["k"])) for row in rows] == [(-0.5, 20), (0.5, 4), (1.5, -3), (0.2, 3)]
    for command in ("recommend", "ask"):
        params = ok(command, "study.toml", "--json").json["params"]
        assert 0.0 <= params["x"] <= 1.0
        assert params["k"] in (0, 3, 6, 9)


def test_numbers_as_they_are_typed(ok, define, stored):
    define(parameters='n = { low = 1, high = 100 }\nx = { low = -1.0, high = 1.0 }\nc = [1, 2.5, true, "=a=b"]')
    ok("tell", "study.toml", "n=1e1", "x=-5e-1", "c==a=b", "1")
    ok("tell", "study.toml", "n=7.0", "x=1", "c=TRUE", "1")
    ok("tell", "study.toml", "n=8", "x=.25", "c=1", "1")
    assert [trial.params for trial in stored().trials] == [
        {"n": 10, "x": -0.5, "c": "=a=b"}, {"n": 7, "x": 1.0, "c": True}, {"n": 8, "x": 0.25, "c": 1},
    ]  # fmt: skip


def test_tell_makes_the_study(ok, define, stored):
    ok("tell", define(), "x=0.5", "1.5")
    assert [trial.value for trial in stored().trials] == [1.5]


def test_fail(ok, define, stored):
    ok("ask", define())
    answer = ok("fail", "study.toml", "0", "--reason", "out of memory")
    assert answer.out.startswith("#0  x=")
    assert answer.out.endswith("->  failed: out of memory\n")
    assert ok("fail", "study.toml", "x=0.5", "--json").json["reason"] == "failed"
    assert [(trial.state, trial.user_attrs["xstar:reason"]) for trial in stored().trials] == [
        (TrialState.FAIL, "out of memory"), (TrialState.FAIL, "failed"),
    ]  # fmt: skip


def test_failures_are_learned_from(ok, define):
    define()
    for x in (0.6, 0.7, 0.8, 0.9, 1.0):
        ok("fail", "study.toml", f"x={x}")
    for x in (0.0, 0.25, 0.5):
        ok("tell", "study.toml", f"x={x}", -x)
    answer = ok("recommend", "study.toml", "--json").json
    assert answer["params"]["x"] < 0.7, "values get better, but nothing succeeds there"
    assert answer["feasibility"] < 1.0
    assert "P(feasible)" in ok("recommend", "study.toml").out


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("tell", "9", "1"), "there is no trial 9; the study has 4 trials, counted from 0"),
        (("tell", "0", "1"), "trial 0 is done already; tell its parameters"),
        (("tell", "3", "failed"), "trial 3 is done already"),
        (("fail", "3"), "trial 3 is done already"),
        (("tell", "x=0.5", "high"), "the value must be a number; received 'high'"),
        (("tell", "0"), "of which trial"),
        (("tell", "y=0.5", "1"), "there is no parameter 'y'; the parameters are x"),
        (("tell", "x=0.5", "x2=0.5", "1"), "there is no parameter 'x2'"),
        (("tell", "x=high", "1"), "needs a number; received 'high'"),
        (("tell", "x=nan", "1"), "needs a finite number"),
        (("tell", "0.5", "1"), "'0.5' is neither the number of a trial nor a parameter such as x="),
        (("tell", "-1", "1"), "is neither the number of a trial nor a parameter"),
        (("tell", "²", "1"), "is neither the number of a trial nor a parameter"),
        (("tell", "x=0.5", "1", "--sd", "-1"), "sd must be a standard deviation, a number >= 0; received -1.0"),
        (("tell", "x=0.5", "1", "--sd", "nan"), "sd must be a standard deviation"),
        (("explain", "9"), "there is no trial 9"),
        (("explain", "y=0.5"), "there is no parameter 'y'"),
    ],
)
def test_what_cannot_be_told_changes_nothing(ok, cli, line, tree, arguments, message):
    before = tree()
    command, *rest = arguments
    answer = cli(command, line, *rest)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert answer.err.count("\n") == 1
    assert tree() == before


# What is known


def test_status(ok, cli, define, stored):
    define(direction="maximize")
    ok("ask", "study.toml", "-n", "4")
    ok("tell", "study.toml", "0", "1.5")
    ok("tell", "study.toml", "1", "2.5")
    ok("fail", "study.toml", "2")
    stored().enqueue_trial({"x": 0.5})
    answer = ok("status", "study.toml", "--json").json
    assert answer == {
        "study": "study",
        "storage": "sqlite:///study.db",
        "direction": "maximize",
        "trials": {"done": 2, "failed": 1, "running": 1, "waiting": 1},
        "running": [3],
        "best": {"number": 1, "value": 2.5, "params": stored().trials[1].params},
        "parameters": {"x": "real numbers 0 to 1"},
        "notes": [],
    }
    text = ok("status", "study.toml").out
    assert "study: to maximize, in sqlite:///study.db\n2 done, 1 failed, 1 running, 1 waiting\nrunning: #3\n" in text
    assert "best observed: 2.5 in trial 1\n  x = " in text


def test_status_before_anything(ok, cli, define):
    ok("ask", define())
    assert ok("status", "study.toml", "--json").json["best"] is None
    for command in ("recommend", "where"):
        answer = cli(command, "study.toml")
        assert (answer.code, answer.err) == (2, "xstar: the study 'study' has no results yet.\n")


def test_the_best_of_failures_and_infinite_values(ok, define, stored):
    """Optuna's own trials may have infinite values."""
    ok("tell", define(direction="maximize"), "x=0.5", "-1")
    study = stored()
    study.add_trial(
        optuna.create_trial(params={"x": 0.1}, distributions={"x": FloatDistribution(0.0, 1.0)}, value=math.inf)
    )
    assert ok("status", "study.toml", "--json").json["best"]["number"] == 0
    rows = ok("export", "study.toml", "-", "--json").json
    assert [row["value"] for row in rows] == [-1.0, None], "JSON has no infinity"


def test_names_with_an_equals_sign_can_be_told(ok, define, stored):
    define(parameters='"a=b" = { low = 0.0, high = 1.0 }\na = ["b=0.5", "c"]')
    ok("tell", "study.toml", "a=b=0.25", "a=c", "1.5")
    (trial,) = stored().trials
    assert trial.params == {"a=b": 0.25, "a": "c"}


def test_recommend_and_where_are_those_of_the_optimizer(ok, line, stored):
    opt = reference(stored())
    best = opt.recommend()
    answer = ok("recommend", line, "--json").json
    known = {"feasibility": 1.0, "confirmed": best.confirmed, "extrapolated": False, "shown": best.shown}
    assert answer == {"params": best.params, "mean": best.mean, "sd": best.sd, **known, "notes": []}
    shown = opt.space.parameters["x"].show(best.params["x"])
    assert ok("recommend", line).out == f"  x = {shown}\nvalue there: {best.value_in_words}\n"
    tested = ok("recommend", line, "--tested", "--json").json
    assert tested["params"] == opt.recommend(tested=True).params
    assert tested["confirmed"]
    found = opt.where(20)
    answer = ok("where", line, "--samples", "20", "--json").json
    assert answer["samples"] == found.params
    assert answer["intervals"]["x"] == list(found.interval("x"))
    assert answer["left_to_gain"] == {"median": found.regret_quantile(0.5), "95%": found.regret_quantile(0.95)}
    assert answer["recommendation"]["params"] == best.params
    assert ok("where", line, "--samples", "20").out == f"{found}\n"


def test_where_with_choices_and_without_signal(ok, define):
    define(parameters="c = [1, 2.5, true]\nx = { low = 0.0, high = 1.0 }")
    for c in ("1", "2.5"):
        ok("tell", "study.toml", f"c={c}", "x=0.5", "3")
    answer = ok("where", "study.toml", "--samples", "10", "--json").json
    assert answer["left_to_gain"] == {"median": None, "95%": None}, "unknown, because all values are the same"
    assert set(answer["intervals"]["c"]) <= {"1", "2.5", "True"}
    assert sum(answer["intervals"]["c"].values()) == pytest.approx(1.0)


def test_explain(ok, line, stored):
    opt = reference(stored())
    by_number, by_params = opt.explain(1), opt.explain({"x": 0.45})
    answer = ok("explain", line, "1", "--json").json
    assert (answer["params"], answer["bits"], answer["mean"]) == ({"x": 0.3}, by_number.bits, by_number.mean)
    answer = ok("explain", line, "x=0.45", "--json").json
    assert (answer["bits"], answer["nearest"], answer["method"]) == (by_params.bits, by_params.nearest, None)
    assert ok("explain", line, "x=0.45").out == f"  x = 0.45\n{by_params}\n"
    number = ok("ask", line, "--json").json["number"]
    assert ok("explain", line, number, "--json").json["method"] == "logei"


# The same as the library


def test_the_same_asks_as_the_optimizer(ok, define, stored):
    define(parameters=MIXED, seed=3)
    opt = Optimizer(
        {
            "lr": xstar.Real(1e-4, 1.0, log=True), "layers": xstar.Integer(1, 6),
            "kind": xstar.Categorical(["relu", "gelu"]),
        }, "minimize", "logei", seed=3,
    )  # fmt: skip
    for k in range(6):
        trial, asked = opt.ask(), ok("ask", "study.toml", "--json").json
        assert asked == {"number": trial.number, "params": trial.params}
        if k == 2:
            opt.fail(trial)
            ok("fail", "study.toml", k)
        elif k != 3:
            opt.tell(trial, measured(trial.params), 0.1)
            ok("tell", "study.toml", k, measured(trial.params), "--sd", "0.1")
    recommended = ok("recommend", "study.toml", "--json").json
    assert (recommended["params"], recommended["mean"]) == (opt.recommend().params, opt.recommend().mean)


def test_two_studies_with_the_same_definition_ask_the_same(ok, define):
    define("a.toml", seed=4)
    define("b.toml", seed=4)
    define("c.toml", seed=5)
    asked = {}
    for name in ("a.toml", "b.toml", "c.toml"):
        asked[name] = ok("ask", name, "-n", "3", "--json").json
        ok("tell", name, "0", asked[name][0]["params"]["x"] ** 2)
        asked[name].append(ok("ask", name, "--json").json)
    assert asked["a.toml"] == asked["b.toml"] != asked["c.toml"]


# Exporting


def test_export_to_csv(ok, line, folder, stored):
    ok("fail", line, "x=0.9", "--reason", 'a "long", story')
    ok("tell", line, "x=0.8", "0.5", "--sd", "0.25")
    number = ok("ask", line, "--json").json["number"]
    trial = stored().trials[number]
    assert ok("export", line, "all.csv").out == "wrote all.csv\n"
    text = (folder / "all.csv").read_text(encoding="utf-8")
    assert text == ok("export", line, "-").out
    rows = rows_of(text)
    assert list(rows[0]) == ["trial", "state", "x", "value", "sd", "reason", "suggested by"]
    assert [row["state"] for row in rows] == ["done"] * 4 + ["failed", "done", "running"]
    assert [row["trial"] for row in rows] == list("0123456")
    assert rows[4]["reason"] == 'a "long", story'
    assert (rows[5]["value"], rows[5]["sd"], rows[5]["reason"]) == ("0.5", "0.25", "")
    assert float(rows[6]["x"]) == trial.params["x"], "as exact as it is"
    assert rows[6]["suggested by"] == "logei"
    data = ok("export", line, "-", "--json").json
    assert [row["state"] for row in data] == [row["state"] for row in rows]
    assert data[5] == {
        "trial": 5, "state": "done", "x": 0.8, "value": 0.5, "sd": 0.25, "reason": None, "suggested by": None,
    }  # fmt: skip


def test_parameters_may_have_the_names_of_other_columns(ok, define):
    define(parameters="value = { low = 0.0, high = 1.0 }\ntrial = { low = 0, high = 9 }")
    ok("tell", "study.toml", "value=0.25", "trial=7", "3.5")
    (row,) = csv.reader(io.StringIO(ok("export", "study.toml", "-").out.split("\n", 1)[1]))
    assert {"0", "0.25", "7", "3.5"} <= set(row)


def test_export_of_a_study_without_trials(ok, define, stored):
    ok("ask", define())
    storage = stored()._storage
    optuna.delete_study(study_name="study", storage=storage)
    optuna.create_study(study_name="study", storage=storage, direction="minimize")
    assert ok("export", "study.toml", "-").out == "trial,state,value,sd,reason,suggested by\n"


def test_export_to_json_goes_on_in_python(ok, line, folder):
    ok("fail", line, "x=0.9")
    ok("ask", line)
    assert json.loads(ok("export", line, "study.json", "--json").out) == {"wrote": "study.json"}
    opt = Optimizer.load(folder / "study.json")
    assert [trial.state for trial in opt.trials] == ["done"] * 4 + ["failed", "pending"]
    recommended = ok("recommend", line, "--json").json
    assert (opt.recommend().params, opt.recommend().mean) == (recommended["params"], recommended["mean"])
    assert opt.ask().params == ok("ask", line, "--json").json["params"]


def test_export_to_pictures_and_pages(ok, line, folder):
    ok("export", line, "page.html")
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert page.count('<tr class="done">') == 4
    ok("export", line, "picture.png")
    assert (folder / "picture.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "target, message",
    [
        ("study.xlsx", "'study.xlsx' should end in .csv, .json, .html, .png, .svg or .pdf"),
        ("study", "'study' should end in"),
        (".csv", "'.csv' should end in"),
        ("nowhere/all.csv", "there is no folder"),
        ("nowhere/all.json", "there is no folder"),
    ],
)
def test_where_nothing_can_be_exported_to(cli, line, tree, target, message):
    before = tree()
    answer = cli("export", line, target)
    assert answer.code == 2
    assert message in answer.err
    assert tree() == before


@pytest.mark.parametrize("target", ["study.json", "study.html", "study.png"])
def test_nothing_to_export(cli, ok, define, tree, target):
    ok("ask", define())
    before = tree()
    answer = cli("export", "study.toml", target)
    assert (answer.code, answer.err) == (2, "xstar: the study 'study' has no results yet.\n")
    assert tree() == before
