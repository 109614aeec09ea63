"""Several outputs on the command line: a spreadsheet with a column for each, a study in a database."""

import csv
import io
import json
import sys

import optuna
import pytest

import xstar
from xstar.cli.told import Told
from xstar.cli.values import check_how, read_values
from xstar.errors import SettingsError

OBJECTIVES = """method = "logei"
noise = 0
[objectives]
yield = { direction = "maximize", unit = "%" }
cost = "minimize"
[constraints]
impurity = "<= 0.5"
[parameters]
x = { low = 0.0, high = 1.0 }
"""
BOUNDED = """method = "logei"
result = "yield"
direction = "maximize"
[constraints]
impurity = "<= 0.5"
[parameters]
x = { low = 0.0, high = 1.0 }
"""
ROWS = [(0.05, 44.0, 0.1, 0.05), (0.3, 75.0, 0.2, 0.3), (0.5, 91.0, 0.3, 0.5), (0.9, 99.0, 0.9, 0.9)]


@pytest.fixture
def front(folder):
    """A spreadsheet with two objectives and a constraint."""
    (folder / "plate.toml").write_text(OBJECTIVES)
    rows = [",".join(map(str, row)) for row in ROWS]
    (folder / "plate.csv").write_text("\n".join(["x,yield [%],cost,impurity", *rows, "0.7,,,"]) + "\n")
    return "plate.csv"


@pytest.fixture
def bounded(folder):
    """One with an objective and a constraint."""
    (folder / "plate.toml").write_text(BOUNDED)
    rows = [f"{x},{y},{impurity}" for x, y, _, impurity in ROWS]
    (folder / "plate.csv").write_text("\n".join(["x,yield,impurity", *rows]) + "\n")
    return "plate.csv"


def test_a_new_spreadsheet_says_what_to_fill_in(ok, folder):
    (folder / "plate.toml").write_text(OBJECTIVES)
    assert "fill in 'yield', 'cost' and 'impurity' in the new rows" in ok("csv", "plate.csv", "--batch", 3).out
    assert (folder / "plate.csv").read_text().startswith("x,yield [%],cost,impurity\n")


def test_a_spreadsheet_of_several_objectives(ok, front):
    text = ok("csv", front, "--batch", 2).out
    assert "recommended compromises, 3 of the trials not dominated" in text
    assert "yield 4" in text
    data = ok("csv", front, "--batch", 1, "--json").json["recommendation"]
    assert {tuple(row["params"].values()) for row in data["not dominated"]} == {(0.05,), (0.3,), (0.5,)}
    assert data["compromises"][0]["outputs"].keys() == {"yield", "cost", "impurity"}
    assert data["reference"].keys() == {"yield", "cost"}


def test_questions_about_several_objectives(ok, front, folder):
    text = ok("where", front, "--samples", 20).out
    assert "sampled points of the Pareto set" in text
    assert "of the hypervolume" in text
    data = ok("where", front, "--samples", 20, "--json").json
    assert data["left_to_gain"]["of"] == "hypervolume"
    assert "recommendation" not in data
    assert len(data["compromises"]) > 2
    assert "recommended compromises" in ok("recommend", front).out
    tested = ok("recommend", front, "--tested").out.splitlines()
    assert tested[0] == "3 evaluations that no other one dominates:"
    assert tested[1] == "  x = 0.05: yield 44, cost 0.1, impurity 0.05"
    status = ok("status", front).out
    assert "plate: to maximize yield, minimize cost, impurity <= 0.5, in plate.csv" in status
    assert "dominated by no other: rows 2, 3, 4" in status
    assert ok("status", front, "--json").json["not dominated"] == [2, 3, 4]
    why = ok("explain", front).out
    assert all(name in why for name in ("row 6", "yield", "cost", "impurity", "bits"))
    assert ok("explain", front, 6, "--json").json["outputs"]["cost"]["bits"] >= 0.0


def test_questions_about_an_objective_within_a_bound(ok, bounded):
    text = ok("csv", bounded).out
    assert "recommended so far: x = 0.4" in text
    assert "for yield 8" in text
    assert "feasible with 95%" in text
    assert "best observed: yield 91.0, impurity 0.5 in row 4" in ok("status", bounded).out
    assert "value there: yield 8" in ok("recommend", bounded).out
    best = ok("recommend", bounded, "--json").json
    assert best["outputs"]["impurity"]["mean"] == pytest.approx(0.5, abs=0.05)
    assert "left to gain" in ok("where", bounded, "--samples", 20).out


def test_files_of_several_outputs(ok, front, folder):
    rows = list(csv.DictReader(io.StringIO(ok("export", front, "-").out)))
    assert list(rows[0]) == [
        "row", "state", "x", "yield", "yield sd", "cost", "cost sd", "impurity", "impurity sd", "reason",
        "suggested by",
    ]  # fmt: skip
    assert (rows[0]["yield"], rows[0]["impurity"], rows[-1]["yield"], rows[-1]["state"]) == (
        "44.0",
        "0.05",
        "",
        "to run",
    )
    ok("export", front, "study.json")
    assert len(xstar.Optimizer.load(folder / "study.json").pareto().trials) == 3
    ok("report", front)
    page = (folder / "plate.html").read_text(encoding="utf-8")
    assert "Recommended compromises" in page
    assert "to choose from" in page
    assert "Recommended compromises" in page
    assert page.count(">0.05<") >= 2, "as a parameter and as an output"


def test_a_picture_of_several_outputs(ok, front, folder):
    ok("export", front, "x.png")
    assert (folder / "x.png").stat().st_size > 10_000


def test_an_output_of_which_nothing_is_known(ok, cli, folder):
    (folder / "plate.toml").write_text(OBJECTIVES)
    (folder / "plate.csv").write_text("x,yield,cost,impurity\n0.1,80,3,\n0.2,81,4,\n")
    assert "nothing is recommended yet: nothing has been told yet of impurity" in ok("csv", "plate.csv").out
    assert "nothing has been told yet of impurity" in cli("where", "plate.csv").err
    assert "2 done, 1 to run" in ok("status", "plate.csv").out
    ok("report", "plate.csv")
    assert "Nothing can be recommended yet" in (folder / "plate.html").read_text(encoding="utf-8")


# In a database


@pytest.fixture
def study(folder):
    """A definition of two objectives and a constraint."""
    (folder / "study.toml").write_text(OBJECTIVES)
    return "study.toml"


@pytest.fixture
def told(ok, study):
    """The same with four results, trials 0 to 3."""
    for x, value, cost, impurity in ROWS:
        ok("tell", study, f"x={x}", f"yield={value}", f"cost={cost}", f"impurity={impurity}")
    return study


def test_outputs_are_kept_as_optuna_has_them_and_as_they_were_told(told, stored):
    found = stored()
    assert [direction.name for direction in found.directions] == ["MAXIMIZE", "MINIMIZE"]
    assert found.metric_names == ["yield", "cost"]
    assert found.trials[0].values == [44.0, 0.1]
    assert found.trials[3].constraints == {"impurity": pytest.approx(0.4)}
    assert found.trials[3].user_attrs["xstar:outputs"] == {"yield": 99.0, "cost": 0.9, "impurity": 0.9}
    assert {trial.number for trial in found.best_trials} == {0, 1, 2}


def test_questions_about_a_study_of_several_outputs(ok, told, folder):
    assert "recommended compromises, 3 of the trials not dominated" in ok("recommend", told).out
    assert "of the hypervolume" in ok("where", told, "--samples", 20).out
    status = ok("status", told).out
    assert "study: to maximize yield, minimize cost, impurity <= 0.5" in status
    assert "dominated by no other: trials 0, 1, 2" in status
    number = ok("ask", told, "--json").json["number"]
    assert ok("explain", told, number, "--json").json["outputs"].keys() == {"yield", "cost", "impurity"}
    rows = list(csv.DictReader(io.StringIO(ok("export", told, "-").out)))
    assert [row["impurity"] for row in rows] == ["0.05", "0.3", "0.5", "0.9", ""]
    ok("export", told, "study.json")
    opt = xstar.Optimizer.load(folder / "study.json")
    assert opt.goals.constraints == {"impurity": xstar.Constraint("<=", 0.5)}
    assert opt.trials[3].values == {"yield": 99.0, "cost": 0.9, "impurity": 0.9}
    ok("report", told)


def test_suggestions_are_those_of_the_library(ok, told, folder):
    ok("export", told, "study.json")
    asked = ok("ask", told, "--json").json
    assert asked["params"] == xstar.Optimizer.load(folder / "study.json").ask().params


def test_what_is_missing_may_be_told_later(ok, study, stored):
    number = ok("ask", study, "--json").json["number"]
    answer = ok("tell", study, number, "yield=80±0.5")
    assert "trial 0 goes on until 'cost' and 'impurity' are told; cost=failed says that it will not be" in answer.err
    assert stored().trials[0].state.name == "RUNNING"
    ok("tell", study, number, "cost=failed")
    answer = ok("tell", study, number, "impurity=0.7", "--json").json
    assert answer["values"] == {"yield": 80.0, "impurity": 0.7}
    assert answer["sds"] == {"yield": 0.5}
    trial = stored().trials[0]
    assert trial.state.name == "COMPLETE"
    assert trial.values == [80.0, float("inf")]
    assert trial.constraints == {"impurity": pytest.approx(0.2)}
    row = ok("export", study, "-", "--json").json[0]
    assert (row["yield"], row["yield sd"], row["impurity"]) == (80.0, 0.5, 0.7)
    assert "cost" not in row


def test_an_objective_that_is_missing_leaves_its_constraint(ok, folder, stored):
    (folder / "study.toml").write_text(BOUNDED)
    ok("tell", "study.toml", "x=0.5", "impurity=0.2")
    assert stored().trials[0].values == [float("-inf")]
    ok("tell", "study.toml", "x=0.6", "yield=3.0", "impurity=0.3")
    rows = ok("export", "study.toml", "-", "--json").json
    assert [row.get("impurity") for row in rows] == [0.2, 0.3]
    assert "yield" not in rows[0]
    assert "best observed: yield 3.0, impurity 0.3 in trial 1" in ok("status", "study.toml").out


def test_failures_of_several_outputs(ok, study, stored):
    ok("ask", study)
    ok("tell", study, 0, "failed")
    ok("ask", study)
    ok("tell", study, 1, "yield=failed", "cost=nan", "impurity=failed")
    ok("fail", study, "x=0.3", "--reason", "broken")
    trials = stored().trials
    assert [trial.state.name for trial in trials] == ["FAIL"] * 3
    assert trials[1].user_attrs["xstar:reason"] == "values were yield failed, cost failed, impurity failed"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["0", "3.0"], "there are several outputs; tell them by name: yield=... cost=... impurity=..."),
        (["0", "yeild=3"], "there is no output 'yeild': the outputs are yield, cost, impurity."),
        (["x=0.5", "yeild=3"], "'yeild': the outputs are yield, cost, impurity; the parameters, x."),
        (["0", "yield=high"], "output 'yield' must be a number, maybe with its noise, as in 81.2±0.5; received 'high'"),
        (["0", "yield=3±-1"], "sd of 'yield' must be a standard deviation"),
        (["0", "yield=3", "yield=4"], "the output 'yield' is given twice"),
        (["0", "yield=3", "--sd", "0.1"], "the noise stands behind the value"),
        (["x=2x", "yield=3"], "2x"),
        (["x=0.5"], "no output is told; name at least one, such as yield=..."),
    ],
)
def test_what_cannot_be_told_of_several_outputs(ok, cli, study, words, message):
    ok("ask", study)
    answer = cli("tell", study, *words)
    assert answer.code == 2
    assert message in answer.err
    assert ok("status", study, "--json").json["trials"] == {"running": 1}


def test_outputs_of_a_study_of_one_are_refused(cli, define):
    answer = cli("tell", define(), "x=0.5", "y=3")
    assert answer.code == 2
    assert "the value must be a number; received 'y=3'" in answer.err


def test_a_study_keeps_its_outputs_but_not_its_bounds(ok, cli, told, folder):
    text = (folder / told).read_text()
    (folder / told).write_text(text.replace("<= 0.5", "<= 0.95"))
    assert "4 of the trials not dominated" in ok("recommend", told).out
    for changed, message in (
        (text.replace("impurity", "dirt"), "the outputs were maximize yield, minimize cost, impurity <= 0.5"),
        (text.replace('"minimize"', '"maximize"'), "is there already, to maximize and minimize"),
        (text.replace('cost = "minimize"', ""), "is there already, to maximize and minimize"),
    ):
        (folder / told).write_text(changed)
        answer = cli("recommend", told)
        assert answer.code == 2
        assert message in answer.err


def test_a_study_of_optunas_own_with_several_objectives_can_be_read(ok, folder):
    study = optuna.create_study(storage="sqlite:///own.db", study_name="own", directions=["minimize", "maximize"])
    study.optimize(lambda trial: ((x := trial.suggest_float("x", 0.0, 1.0)) ** 2, x), n_trials=5)
    assert "recommended compromises" in ok("recommend", "own.db").out
    assert "minimize value_0, maximize value_1" in ok("status", "own.db").out


PROGRAM = """import sys
x = float(sys.argv[1])
print("starting")
print(f"yield={100 * x * (2 - x)} ± 0.5")
print(f"cost: {x * x}")
print(f"impurity = {x}")
"""


def test_a_program_prints_its_outputs(ok, study, folder, stored):
    (folder / "program.py").write_text(PROGRAM)
    answer = ok("run", study, "--budget", 5, "--", sys.executable, "program.py", "{x}")
    assert "recommended compromises" in answer.out
    assert "->  yield " in answer.err
    trials = stored().trials
    assert len(trials) == 5
    assert trials[0].user_attrs["xstar:sd"] == {"yield": 0.5}
    assert trials[0].values[1] == pytest.approx(trials[0].params["x"] ** 2)
    assert json.loads((folder / "study.trials" / "00000" / "outcome.json").read_text())["values"].keys() == {
        "yield", "cost", "impurity",
    }  # fmt: skip


def test_a_run_of_several_objectives_ends_by_a_share_of_the_hypervolume(ok, cli, study, folder):
    (folder / "program.py").write_text(PROGRAM)
    command = ["--", sys.executable, "program.py", "{x}"]
    answer = cli("run", study, "--budget", 30, "--tolerance", 1.5, *command)
    assert answer.code == 2
    assert "tolerance must be a number > 0 and < 1" in answer.err
    answer = ok("run", study, "--budget", 30, "--tolerance", 0.9, "--json", *command)
    assert answer.json["stopped_by"] == "tolerance"
    assert "no more than 0.9 of the hypervolume is left to gain" in answer.err


NAMES = ("yield", "cost")


@pytest.mark.parametrize(
    ("how", "printed", "values", "sds"),
    [
        ("last-line", "yield=1\ncost=2\n", {"yield": 1.0, "cost": 2.0}, {}),
        ("last-line", "yield=1\nyield = 3 ± 0.5\ncost: 2e1\n", {"yield": 3.0, "cost": 20.0}, {"yield": 0.5}),
        ("last-line", "total yield=7\n yield=3 0.5\n", {"yield": 3.0}, {"yield": 0.5}),
        ("last-line", "yield=nan\ncost=2\n", {"cost": 2.0}, {}),
        ("last-line", 'log\n{"yield": 1, "cost": {"value": 2, "sd": 0.1}, "more": []}\n', {"yield": 1.0, "cost": 2.0},
         {"cost": 0.1}),
        ("last-line", '{"yield": null, "cost": 2}', {"cost": 2.0}, {}),
        ("json", '{"yield": 1, "cost": 2}', {"yield": 1.0, "cost": 2.0}, {}),
        ("json:a.b", '{"a": {"b": {"yield": 1}}}', {"yield": 1.0}, {}),
        ("regex:(?P<yield>\\d+) g for (?P<cost>\\d+)", "3 g for 4\n5 g for 6", {"yield": 5.0, "cost": 6.0}, {}),
    ],
)  # fmt: skip
def test_outputs_are_found_in_what_a_program_writes(tmp_path, how, printed, values, sds):
    (tmp_path / "log").write_text(printed)
    assert read_values(how, NAMES, tmp_path / "log", tmp_path / "log") == Told(values=values, sds=sds)


@pytest.mark.parametrize(
    ("how", "printed", "reason"),
    [
        ("last-line", "", "printed neither a line such as yield=1.5 nor a JSON object as the last one"),
        ("last-line", "81.2", "printed neither a line such as yield=1.5"),
        ("last-line", "yield=high", "its output 'yield' is 'high', not a number"),
        ("last-line", "yield=", "its output 'yield' is '', not a number"),
        ("last-line", "yield=3 ± -1", "the standard deviation was -1.0"),
        ("last-line", "yield=nan\ncost=inf", "values were yield nan, cost inf"),
        ("last-line", "{yield: 1}", "its last line is '{yield: 1}', not JSON"),
        ("last-line", "[1, 2]", "printed neither a line"),
        ("json", "[1, 2]", "its result has none of yield, cost by name"),
        ("json", "{}", "its result has none of yield, cost by name"),
        ("json", '{"yield": "high"}', "its result has 'yield' as 'high' where a number should be"),
        ("json", '{"yield": true}', "its result has 'yield' as True where a number should be"),
        ("regex:(?P<yield>\\S+) g", "3 kg", "no output matches"),
    ],
)
def test_why_a_program_has_told_no_outputs(tmp_path, how, printed, reason):
    (tmp_path / "log").write_text(printed)
    told = read_values(how, NAMES, tmp_path / "log", tmp_path / "log")
    assert told.failed
    assert reason in told.reason


def test_a_pattern_has_a_group_of_each_name():
    check_how("regex:(?P<yield>.)", NAMES)
    with pytest.raises(SettingsError, match="needs a group of the name of each output, such as"):
        check_how("regex:(.)", NAMES)
