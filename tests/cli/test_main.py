"""What a shell sees: help, exit codes, one line for whatever is wrong, and nothing made by a command that fails."""

import json
import re
import sqlite3
import warnings
from contextlib import closing

import pytest
from optuna.exceptions import StorageInternalError
from optuna.storages import RDBStorage
from sqlalchemy.exc import OperationalError

import xstar
from tests.waiting import HANG
from xstar.cli.parser import EXAMPLES
from xstar.cli.studies import StorageSettings

ARGUMENTS = {
    "init": ["FILE", "--output", "--result", "--direction", "--yes", "--force"],
    "run": ["STUDY", "--budget", "--workers", "--timeout", "--retries", "--value", "--tolerance", "--max-failures",
            "--grace", "--heartbeat", "--logs", "--quiet", "PROGRAM", "XSTAR_PARAMS_FILE", "{lr}"],
    "ask": ["STUDY", "--count", "--study"],
    "tell": ["STUDY", "NUMBER VALUE", "NAME=VALUE", "--sd"],
    "fail": ["STUDY", "NUMBER", "--reason"],
    "status": ["STUDY", "--study"],
    "recommend": ["STUDY", "--study"],
    "where": ["STUDY", "--samples"],
    "explain": ["STUDY", "NUMBER", "NAME=VALUE"],
    "report": ["STUDY", "--output", "--definition"],
    "export": ["STUDY", "FILE", ".csv", ".json", ".html", ".png"],
    "csv": ["FILE", "--definition", "--batch"],
    "dashboard": ["STUDY", "--host", "--port", "--refresh", "--once"],
    "doctor": ["exit code"],
    "completion": ["bash", "zsh", "fish"],
}  # fmt: skip


@pytest.mark.parametrize("command", ARGUMENTS)
def test_help(cli, command):
    answer = cli(command, "--help")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(f"usage: xstar {command}")
    for argument in [*ARGUMENTS[command], *(["--json"] if command != "completion" else [])]:
        assert argument in answer.out


def test_help_names_every_command(cli):
    answer = cli("--help")
    assert answer.code == 0
    named = re.findall(r"^    (\w+)", answer.out, re.MULTILINE)
    assert named == list(ARGUMENTS), "and the test above has them all"
    assert "xstar run study.toml -- python train.py" in answer.out


def test_the_example_of_the_help_works(ok, folder):
    example = EXAMPLES.split("study.toml:\n", 1)[1].split("and what to do")[0]
    (folder / "study.toml").write_text(re.sub("^  ", "", example, flags=re.MULTILINE))
    assert ok("ask", "study.toml", "--json").json["params"].keys() == {"lr", "layers", "activation"}


def test_version(cli):
    assert cli("--version").out == f"xstar {xstar.__version__}\n"


# What is wrong is said in one line, and nothing is made

TOML = """direction = "minimize"
method = "logei"
{settings}
[parameters]
{parameters}
[run]
{run}
"""
LINE = "x = { low = 0.0, high = 1.0 }"


def text(settings="", parameters=LINE, run=""):
    return TOML.format(settings=settings, parameters=parameters, run=run)


FILES = {
    "study.toml": text(),
    "run.toml": text(run="budget = 3"),
    "broken.toml": "direction = \n",
    "unknown.toml": text('objective = "x"'),
    "directionless.toml": f"[parameters]\n{LINE}\n",
    "empty.toml": "",
    "parameterless.toml": 'direction = "minimize"\n',
    "zero.toml": text(run="budget = 0"),
    "two.toml": text(run='budget = 3\nworkers = "two"'),
    "typo.toml": text(run="bugdet = 3"),
    "command.toml": text(run='budget = 3\ncommand = "echo \'"'),
    "postgres.toml": text('storage = "postgresql://u:p@127.0.0.1:1/x"'),
    "scheme.toml": text('storage = "pigeon://coop/x"'),
    "nowhere.toml": text('storage = "no/such/folder/x.db"'),
    "data.csv": "x,value\n0.5,1\n",
    "open.csv": "x,value\n0.5,\n",
    "plate.toml": text(),
    "plate.csv": "x,value\n0.5,1\n",
    "folder.toml/file": "",
    "folder/file": "",
    "notes.txt": "not a database",
}

BAD = [
    # studies
    ("status missing.toml", "there is no file 'missing.toml'"),
    ("run missing.toml --budget 1 -- echo 1", "there is no file 'missing.toml'"),
    ("status broken.toml", "'broken.toml' is not valid TOML"),
    ("ask broken.toml", "'broken.toml' is not valid TOML"),
    ("ask unknown.toml", "'unknown.toml': the study has no setting 'objective'"),
    ("ask directionless.toml", "direction must be"),
    ("ask empty.toml", "direction must be"),
    ("ask parameterless.toml", "a study needs parameters"),
    ("status folder.toml", "'folder.toml' cannot be read"),
    ("status folder", "'folder' is not a file"),
    ("status missing.db", "there is no study 'missing.db' yet"),
    ("ask missing.db", "there is no study 'missing.db' yet"),
    ("status missing.log", "there is no study 'missing.log' yet"),
    ("status notes.txt", "'notes.txt' cannot be opened as a study"),
    ("status study.toml", "there is no study 'study.db' yet"),
    ("ask postgres.toml", "postgresql+psycopg://u:***@127.0.0.1:1/x cannot be opened"),
    ("status postgresql://u:p@127.0.0.1:1/x", "postgresql+psycopg://u:***@127.0.0.1:1/x cannot be opened"),
    ("status pigeon://coop/x", "pigeon://coop/x cannot be opened"),
    ("ask scheme.toml", "pigeon://coop/x cannot be opened"),
    ("ask nowhere.toml", "there is no folder 'no/such/folder' for the study"),
    # tell, fail and explain, of a study that is not there yet
    ("tell study.toml y=0.5 1", "there is no parameter 'y'"),
    ("tell study.toml x=0.5 1 --sd -1", "sd must be a standard deviation"),
    ("tell study.toml x=0.5 high", "the value must be a number; received 'high'"),
    ("tell study.toml x=high 1", "needs a number; received 'high'"),
    ("tell study.toml x=0.5 0,5", "the value must be a number; received '0,5'"),
    ("tell study.toml 0 1", "there is no study"),
    ("tell study.toml 1", "of which trial?"),
    ("fail study.toml y=1", "there is no parameter 'y'"),
    ("explain study.toml x=0.5", "there is no study"),
    # run
    ("run study.toml -- echo 1", "how many evaluations? Write budget = 40 below [run], or use --budget 40"),
    ("run run.toml", "there is no command to run; write it after two dashes"),
    ("run study.db --budget 1 -- echo 1", "xstar run needs a definition, the path of a TOML file"),
    ("run run.toml -- no-such-program", "there is no program 'no-such-program'"),
    ("run run.toml -- echo {y}", "has a placeholder {y}, but the parameters are x"),
    ("run run.toml --value regex:( -- echo 1", "'(' is not a regular expression"),
    ("run run.toml --value regex:.* -- echo 1", "needs a group around the number"),
    ("run run.toml --value xml -- echo 1", "value must be last-line, json, json:KEY or regex:PATTERN"),
    ("run run.toml --budget 0 -- echo 1", "budget must be at least 1; received 0"),
    ("run run.toml --budget -3 -- echo 1", "budget must be at least 1; received -3"),
    ("run zero.toml -- echo 1", "budget must be at least 1; received 0"),
    ("run two.toml -- echo 1", "workers must be a whole number >= 1; received 'two'"),
    ("run typo.toml -- echo 1", "[run] has no setting 'bugdet'; did you mean budget?"),
    ("run command.toml", "cannot be read: No closing quotation"),
    ("run run.toml --workers 0 -- echo 1", "workers must be at least 1"),
    ("run run.toml --timeout -1 -- echo 1", "timeout must be a number > 0"),
    ("run run.toml --timeout nan -- echo 1", "timeout must be a number > 0"),
    ("run run.toml --tolerance 0 -- echo 1", "tolerance must be a number > 0"),
    ("run run.toml --retries -1 -- echo 1", "retries must be at least 0"),
    ("run run.toml --max-failures 0 -- echo 1", "max_failures must be at least 1"),
    ("run run.toml --grace 0 -- echo 1", "grace must be a number > 0"),
    ("run run.toml --heartbeat 0 -- echo 1", "heartbeat must be at least 1"),
    ("run run.toml --logs notes.txt -- echo 1", "notes.txt"),
    # a program for another command
    ("ask study.toml -- echo 1", "only xstar run takes a program after two dashes; received 'echo 1'"),
    ("tell study.toml 0 1 -- echo", "only xstar run takes a program"),
    ("csv data.csv -- echo", "only xstar run takes a program"),
    # csv
    ("csv data.csv", "there is no definition 'data.toml' of the columns of 'data.csv'"),
    ("where data.csv", "no definition 'data.toml' of the columns of 'data.csv'; xstar init data.csv makes it by"),
    ("where none.csv", "no definition 'none.toml' of the columns of 'none.csv'; xstar init none.csv makes it, or"),
    ("status none.csv --definition study.toml", "there is no file 'none.csv'; xstar csv none.csv makes it"),
    ("where data.csv --definition study.toml --samples 2 -- echo", "only xstar run takes a program"),
    ("explain data.csv 7 --definition study.toml", "row 7 of 'data.csv' has no experiment; rows are counted as"),
    ("explain data.csv --definition study.toml", "no row is open; name one by its number"),
    ("export data.csv data.csv --definition study.toml", "'data.csv' is the spreadsheet itself; name another file"),
    ("report data.csv --definition study.toml -o page.pdf", "a report is a page: 'page.pdf' should end in .html"),
    ("where plate.toml", "there is no study 'plate.db' yet"),
    ("where plate.toml", "makes it; did you mean the spreadsheet, 'plate.csv'?"),
    ("where open.csv --definition study.toml", "'open.csv' has no results yet; fill in 'value' in its rows"),
    ("ask data.csv", "'data.csv' is a spreadsheet: xstar csv adds rows to run, and results are written into the file;"),
    ("tell data.csv 0 1", "xstar tell is for studies in a database"),
    ("fail data.csv 0", "'data.csv' is a spreadsheet"),
    ("dashboard data.csv", "'data.csv' is a spreadsheet"),
    ("run data.csv -- echo 1", "xstar run needs a definition"),
    ("where plate.xlsx", '\'plate.xlsx\' is a workbook; save its table as "CSV UTF-8" and name that file'),
    # init
    ("init study.toml", "'study.toml' is there already; --force replaces it, -o names another file"),
    ("init data.csv -o study.toml", "'study.toml' is there already"),
    ("init", "'study.toml' is there already"),
    ("init new.toml", "there is no spreadsheet to read, and nobody to ask: xstar init asks on a terminal"),
    ("init none.csv", "there is no file 'none.csv' to read, and nobody to ask"),
    ("init data.csv --result z", 'there is no column "z"; the columns are "x", "value"'),
    ("csv data.csv --definition none.toml", "there is no definition 'none.toml'"),
    ("csv data.csv --definition broken.toml", "'broken.toml' is not valid TOML"),
    ("csv data.csv --definition study.toml --batch 0", "batch must be at least 1"),
]  # fmt: skip


@pytest.fixture
def files(folder):
    for name, content in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)


@pytest.mark.parametrize("line, message", BAD, ids=[line for line, _ in BAD])
def test_bad_input(cli, files, tree, line, message):
    before = tree()
    answer = cli(*line.split())
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith("xstar: ")
    assert answer.err.count("\n") == 1
    assert answer.err.endswith((".\n", "?\n"))
    assert message in answer.err
    assert tree() == before


@pytest.mark.parametrize(
    "line, message",
    [
        ("", "required: COMMAND"),
        ("optimize study.toml", "invalid choice: 'optimize'"),
        ("ask", "required: STUDY"),
        ("ask study.toml -n 0", "it must be 1 or more; received 0"),
        ("ask study.toml -n many", "argument -n/--count"),
        ("where study.toml --samples 0", "it must be 1 or more"),
        ("tell study.toml", "required: WHAT"),
        ("tell study.toml 0 1 --sd much", "argument --sd: invalid float value: 'much'"),
        ("run run.toml --budget 2.5 -- echo 1", "argument --budget: invalid int value"),
        ("status study.toml --verbose", "unrecognized arguments: --verbose"),
        ("export study.toml", "required: FILE"),
    ],
)
def test_bad_usage(cli, files, tree, line, message):
    before = tree()
    answer = cli(*line.split())
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("usage: xstar")
    assert message in answer.err
    assert tree() == before


def test_two_dashes_without_a_program(ok, cli, define):
    ok("ask", define(), "--")
    assert "there is no command to run" in cli("run", "study.toml", "--budget", "1", "--").err


def test_the_program_may_have_two_dashes_and_options_of_its_own(ok, define, folder):
    ok("run", define(method="random"), "--budget", "1", "--", "sh", "-c", 'echo "$@"; echo 1', "--", "--json", "-n")
    assert (folder / "study.trials" / "00000" / "stdout.txt").read_text() == "--json -n\n1\n"


# What the world outside may do


def test_a_locked_database(cli, ok, define, monkeypatch):
    monkeypatch.setattr("xstar.cli.studies.STORAGE", StorageSettings(lock_seconds=0.1))
    ok("ask", define())
    with closing(sqlite3.connect("study.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        answer = cli("tell", "study.toml", "0", "1")
        other.rollback()
    assert answer.code == 2
    assert answer.err.startswith("xstar: ")
    assert answer.err.count("\n") == 1
    assert "database is locked" in answer.err
    ok("tell", "study.toml", "0", "1")


def test_a_database_that_fails_later(cli, ok, define, monkeypatch):
    def full(*_, **__):
        cause = OperationalError("UPDATE trials SET state=?", {}, sqlite3.OperationalError("database or disk is full"))
        raise StorageInternalError("An exception is raised during the commit.") from cause

    ok("ask", define())
    monkeypatch.setattr(RDBStorage, "set_trial_state_values", full)
    answer = cli("tell", "study.toml", "0", "1")
    assert answer.code == 2
    assert answer.err == "xstar: the storage of the study fails: database or disk is full.\n"


def test_errors_of_our_own_are_not_hidden(cli, define, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr("xstar.cli.commands.ask.run", broken)
    with pytest.raises(ZeroDivisionError, match="ours"):
        cli("ask", define())


def test_an_interrupted_command(cli, define, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("xstar.cli.commands.ask.run", interrupted)
    answer = cli("ask", define())
    assert (answer.code, answer.out, answer.err) == (130, "", "")


def test_nothing_is_left_set_in_this_process(cli, ok, define):
    before = list(warnings.filters), warnings.showwarning
    ok("ask", define())
    assert (list(warnings.filters), warnings.showwarning) == before


# The installed script


def test_the_script(script, define, tree):
    answer = script("ask", define(), "--json")
    assert (answer.code, answer.err) == (0, "")
    assert json.loads(answer.out)["number"] == 0
    before = tree()
    answer = script("tell", "study.toml", "7", "1")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == "xstar: there is no trial 7; the study has 1 trials, counted from 0.\n"
    assert tree() == before


def test_a_reader_that_has_enough(ok, start, define):
    """Such as head: no traceback."""
    ok("tell", define(), "x=0.5", "1")
    process = start("export", "study.toml", "-")
    process.stdout.close()
    _, err = process.communicate(timeout=HANG)
    assert err == ""


def test_a_terminal_that_knows_no_plus_minus(ok, start, define, monkeypatch):
    """Its encoding is ASCII: a sign may be lost, but not the answer."""
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    ok("tell", define(), "x=0.5", "1")
    process = start("recommend", "study.toml")
    out, err = process.communicate(timeout=HANG)
    assert (process.returncode, err) == (0, "")
    assert "x = 0.5" in out
