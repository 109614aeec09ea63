"""Several outputs on the command line: a spreadsheet with a column for each, a study in a database."""

import csv
import io

import pytest

import xstar

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
    assert "recommended compromises" in page
    assert "maximize yield, minimize cost, impurity &lt;= 0.5" in page
    assert page.count(">0.05<") == 2, "as a parameter and as an output"


def test_a_picture_is_of_one_output(cli, front):
    answer = cli("export", front, "x.png")
    assert answer.code == 2
    assert "a picture is of one output" in answer.err


def test_an_output_of_which_nothing_is_known(ok, cli, folder):
    (folder / "plate.toml").write_text(OBJECTIVES)
    (folder / "plate.csv").write_text("x,yield,cost,impurity\n0.1,80,3,\n0.2,81,4,\n")
    assert "nothing is recommended yet: nothing has been told yet of impurity" in ok("csv", "plate.csv").out
    assert "nothing has been told yet of impurity" in cli("where", "plate.csv").err
    assert "2 done, 1 to run" in ok("status", "plate.csv").out
    ok("report", "plate.csv")
    assert "Nothing can be recommended yet" in (folder / "plate.html").read_text(encoding="utf-8")
