"""Where studies are: found by definition, file or URL, kept with their definition, and files of others left alone."""

import shutil
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import optuna
import pytest
import sqlalchemy
from hypothesis import given, settings
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.storages import RDBStorage
from optuna.storages._rdb.models import BaseModel

from tests.files.test_definition import TABLES
from xstar import Optimizer
from xstar.cli import studies
from xstar.cli.studies import DEFINITION, _check_file, open_study
from xstar.files.definition import Definition

MIXED = 'x = { low = 0.0, high = 1.0 }\nc = ["a", "b"]'
DEAD = "postgresql://tester:pass-w0rd@127.0.0.1:1/x"
"""Nobody listens there."""


@pytest.fixture
def make(folder):
    """Makes a study with Optuna alone."""
    storages = []

    def create(path="plain.db", name="plain", direction="minimize", points=(), **settings):
        storages.append(RDBStorage(f"sqlite:///{path}"))
        study = optuna.create_study(storage=storages[-1], study_name=name, direction=direction, **settings)
        for x in points:
            study.add_trial(
                optuna.create_trial(
                    params={"x": x}, distributions={"x": FloatDistribution(0.0, 1.0)}, value=(x - 0.3) ** 2
                )
            )
        return study

    yield create
    for storage in storages:
        storage.scoped_session.remove()
        storage.engine.dispose()


def told(ok, study):
    """A study with some results."""
    for x in (0.1, 0.5, 0.9):
        ok("tell", study, f"x={x}", (x - 0.3) ** 2)


# Where they are


def test_a_definition_has_its_study_beside_it(ok, define, folder):
    (folder / "deep").mkdir()
    define("deep/paint.v2.toml")
    ok("ask", "deep/paint.v2.toml")
    assert sorted(path.name for path in folder.rglob("*")) == ["deep", "paint.v2.db", "paint.v2.toml"]
    assert ok("status", "deep/paint.v2.db", "--json").json["study"] == "paint.v2"


@pytest.mark.parametrize("storage", ["sqlite:///all.db", "all.db"])
def test_relative_names_in_a_definition_are_relative_to_it(ok, define, folder, storage):
    (folder / "deep").mkdir()
    define("deep/study.toml", storage=storage)
    ok("ask", "deep/study.toml")
    assert {path.name for path in folder.rglob("*.db")} == {"all.db"}
    assert (folder / "deep" / "all.db").exists()
    assert ok("status", "deep/study.toml", "--json").json["running"] == [0]


def test_an_absolute_name_stays_where_it_is(ok, define, folder):
    (folder / "deep").mkdir()
    define("deep/study.toml", storage=f"sqlite:///{folder}/top.db")
    ok("ask", "deep/study.toml")
    assert (folder / "top.db").exists()


@pytest.mark.parametrize(
    "reference", ["study.db", "./study.db", "sqlite:///study.db", "sqlite:///{}/study.db", "{}/study.db"]
)
def test_one_study_by_all_its_names(ok, define, folder, reference):
    ok("ask", define())
    ok("tell", reference.format(folder), "0", "0.5")
    status = ok("status", "study.toml", "--json").json
    assert (status["trials"], status["best"]["value"]) == ({"done": 1}, 0.5)


@pytest.mark.parametrize("name", ["runs #1", "50%", "50%20off", "a?b", "größe 大", "it's"])
def test_folders_with_any_name(ok, define, folder, tree, name):
    (folder / name).mkdir()
    define(f"{name}/study.toml")
    before = set(tree())
    ok("ask", f"{name}/study.toml")
    assert set(tree()) == {*before, f"{name}/study.db"}
    assert ok("status", f"{name}/study.toml", "--json").json["running"] == [0]
    assert ok("status", f"{name}/study.db", "--json").json["running"] == [0]
    assert set(tree()) == {*before, f"{name}/study.db"}, "nothing else has been made"


def test_a_journal(ok, cli, define, folder):
    assert cli("status", define(storage="sub.log")).code == 2
    assert not (folder / "sub.log").exists()
    told(ok, "study.toml")
    assert {path.name for path in folder.iterdir()} == {"study.toml", "sub.log"}
    before = (folder / "sub.log").read_bytes()
    assert before.startswith(b"{")
    by_name, by_file = (ok("recommend", reference, "--json").json for reference in ("study.toml", "sub.log"))
    assert by_name == by_file
    assert ok("status", "sub.log", "--json").json["trials"] == {"done": 3}
    assert (folder / "sub.log").read_bytes() == before


def test_a_journal_gives_what_a_database_gives(ok, define):
    define("a.toml", name="same")
    define("b.toml", name="same", storage="b.log")
    told(ok, "a.toml")
    told(ok, "b.toml")
    assert ok("ask", "a.toml", "--json").json == ok("ask", "b.toml", "--json").json


# Several studies in one database


def test_several_studies_in_one_database(ok, cli, define):
    define("a.toml", storage="all.db")
    define("b.toml", storage="all.db", name="second")
    ok("ask", "a.toml")
    ok("tell", "b.toml", "x=0.5", "2.0")
    answer = cli("status", "all.db")
    assert answer.code == 2
    assert answer.err == "xstar: sqlite:///all.db has the studies 'a', 'second'; name one with --study.\n"
    assert ok("status", "all.db", "--study", "a", "--json").json["running"] == [0]
    assert ok("status", "all.db", "--study", "second", "--json").json["best"]["value"] == 2.0
    answer = cli("status", "all.db", "--study", "third")
    assert answer.code == 2
    assert "has no study 'third'; it has ['a', 'second']" in answer.err


def test_the_name_on_the_command_line_wins(ok, define, stored):
    ok("ask", define(), "--study", "other")
    assert stored().study_name == "other"


# What is written, and what is not

READING = [
    ("status",), ("recommend",), ("where", "--samples", "5"), ("explain", "0"), ("explain", "x=0.5"), ("export", "-"),
]  # fmt: skip


@pytest.mark.parametrize("command, arguments", [(command, rest) for command, *rest in READING])
def test_reading_a_study_that_is_not_there_makes_nothing(cli, define, tree, command, arguments):
    define()
    before = tree()
    answer = cli(command, "study.toml", *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert "there is no study 'study.db' yet; xstar run or xstar ask on its definition makes it." in answer.err
    assert tree() == before


@pytest.mark.parametrize("arguments", [("tell", "study.toml", "0", "1.5"), ("fail", "study.toml", "0")])
def test_telling_a_trial_of_a_study_that_is_not_there_makes_nothing(cli, define, tree, arguments):
    define()
    before = tree()
    assert cli(*arguments).code == 2
    assert tree() == before


def test_reading_a_study_changes_nothing(ok, define, tree):
    told(ok, define(seed=1))
    define(seed=2, parameters="x = { low = 0.0, high = 0.5 }")
    before = tree()
    for reference in ("study.toml", "study.db"):
        for command, *arguments in READING:
            ok(command, reference, *arguments)
    assert tree() == before


def foreign_database(path, table):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE {table} (name TEXT)")
        connection.execute(f"INSERT INTO {table} VALUES ('precious')")


def bare_database(path):
    """A database whose tables are gone."""
    foreign_database(path, "t")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE t")


FOREIGN = {
    "another database": lambda path: foreign_database(path, "customers"),
    "studies of another kind": lambda path: foreign_database(path, "studies"),
    "trials of another kind": lambda path: foreign_database(path, "trials"),
    "no tables": bare_database,
    "text": lambda path: path.write_text("x,value\n0.5,1\n"),
    "noise": lambda path: path.write_bytes(bytes(range(256)) * 40),
    "half a database": lambda path: path.write_bytes(b"SQLite format 3\0" + b"\1" * 50),
}


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("command", ["status", "tell x=0.5 1"])
def test_files_that_are_no_studies_stay_as_they_are(cli, folder, tree, kind, command):
    FOREIGN[kind](folder / "some.db")
    before = tree()
    name, *arguments = command.split()
    answer = cli(name, "some.db", *arguments)
    assert answer.code == 2
    assert answer.err.count("\n") == 1
    assert "some.db" in answer.err
    assert tree() == before


@pytest.mark.parametrize("kind", [kind for kind in FOREIGN if kind != "no tables"])
@pytest.mark.parametrize("command", ["ask", "run --budget 1 -- echo 1"])
def test_a_definition_takes_no_file_of_others(cli, define, folder, tree, kind, command):
    FOREIGN[kind](folder / "study.db")
    define()
    before = tree()
    name, *arguments = command.split()
    answer = cli(name, "study.toml", *arguments)
    assert answer.code == 2
    assert answer.err.count("\n") == 1
    assert tree() == before


@pytest.mark.parametrize(
    "content",
    [
        '{"level": "info", "text": "started"}\n', "2026-11-16 started\n", "{}\n", "{]\n", "\0\0", "[1]\n",
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["status", "ask"])
def test_logs_that_are_no_journals_stay_as_they_are(cli, define, folder, tree, content, command):
    (folder / "app.log").write_text(content)
    define(storage="app.log")
    before = tree()
    for reference in ("app.log", "study.toml"):
        answer = cli(command, reference)
        assert answer.code == 2
        assert answer.err.count("\n") == 1
        assert "app.log" in answer.err
    assert tree() == before


def test_an_empty_file_may_become_a_study(ok, cli, define, folder):
    (folder / "study.db").touch()
    assert cli("status", "study.db").code == 2
    assert (folder / "study.db").stat().st_size == 0
    ok("ask", define())
    assert ok("status", "study.db", "--json").json["running"] == [0]


# Passwords


@pytest.mark.parametrize(
    "url",
    [
        DEAD,
        "postgresql://127.0.0.1:1/x?user=tester&password=pass-w0rd",
        "postgresql://tester:pass-w0rd@127.0.0.1:port/x",
        "postgresql://tester:pass-w0rd@[127.0.0.1/x",
        "mysql://tester:pass-w0rd@127.0.0.1:1/x",
        "unheard://tester:pass-w0rd@127.0.0.1:1/x",
        "://tester:pass-w0rd@127.0.0.1",
        "tester:pass-w0rd://",
        "sqlite://tester:pass-w0rd@host/x.db",
    ],
)
@pytest.mark.parametrize("by_definition", [False, True], ids=["url", "definition"])
def test_errors_do_not_show_passwords(cli, define, tree, url, by_definition):
    define(storage=url)
    before = tree()
    answer = cli("ask" if by_definition else "status", "study.toml" if by_definition else url)
    assert answer.code == 2
    assert answer.err.startswith("xstar: ")
    assert answer.err.count("\n") == 1
    assert "pass-w0rd" not in answer.err
    assert tree() == before


@pytest.mark.parametrize("url", [DEAD, "postgresql://127.0.0.1:1/x?user=tester&password=pass-w0rd"])
def test_answers_do_not_show_passwords(ok, cli, define, make, monkeypatch, url):
    make(points=[0.1, 0.5])
    monkeypatch.setattr(studies, "_open_storage", lambda *_: RDBStorage("sqlite:///plain.db"))
    for arguments in (("status", url), ("status", url, "--json"), ("status", url, "--study", "none")):
        answer = cli(*arguments)
        assert "127.0.0.1" in answer.out + answer.err
        assert "pass-w0rd" not in answer.out + answer.err


def test_what_may_hold_passwords_is_not_stored(ok, define, folder, stored):
    run = 'budget = 1\ncommand = ["echo", "pass-w0rd"]'
    define(storage=f"sqlite:///{folder}/pass-w0rd.db", run=run)
    ok("ask", "study.toml")
    assert set(stored("pass-w0rd.db").user_attrs[DEFINITION]) == {"direction", "method", "parameters"}
    (folder / "pass-w0rd.db").rename("other.db")
    assert b"pass-w0rd" not in Path("other.db").read_bytes()


# Definitions that change


def test_a_range_may_change_and_old_data_stay(ok, define):
    define(parameters="x = { low = 0.0, high = 1.0 }")
    for x in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        ok("tell", "study.toml", f"x={x}", (x - 0.9) ** 2)
    assert ok("recommend", "study.toml", "--json").json["params"]["x"] > 0.7
    define(parameters="x = { low = 0.0, high = 0.5 }")
    recommended = ok("recommend", "study.toml", "--json").json
    assert recommended["params"]["x"] == pytest.approx(0.5, abs=0.02), "the trend comes from data outside"
    assert ok("ask", "study.toml", "--json").json["params"]["x"] <= 0.5
    assert ok("status", "study.toml", "--json").json["trials"] == {"done": 6, "running": 1}
    define(parameters="x = { low = 0.0, high = 2.0 }")
    assert 0.7 < ok("recommend", "study.toml", "--json").json["params"]["x"] < 1.3


@pytest.mark.parametrize(
    "changed",
    [
        'x = { low = 0.0, high = 1.0 }\nc = ["a", "b", "c"]',
        'x = { low = 0.0, high = 1.0 }\nc = ["b", "a"]',
        "x = { low = 0.0, high = 1.0 }\nc = { low = 0, high = 1 }",
        'x = [0.0, 1.0]\nc = ["a", "b"]',
        'x = { low = 0, high = 1 }\nc = ["a", "b"]',
        'x = { low = 0.1, high = 1.0, log = true }\nc = ["a", "b"]',
    ],
)
def test_kinds_and_choices_may_not_change(ok, cli, define, tree, changed):
    ok("tell", define(parameters=MIXED), "x=0.5", "c=a", "1.5")
    define(parameters=changed)
    before = tree()
    for command in ("ask", "status"):
        answer = cli(command, "study.toml")
        assert answer.code == 2
        assert "ranges may change, but neither the kind of a parameter nor its choices" in answer.err
    assert tree() == before
    define("study.toml", parameters=changed, name="another")
    ok("ask", "study.toml")


def test_parameters_may_come_and_go(ok, define):
    ok("tell", define(), "x=0.5", "1.5")
    define(parameters=MIXED)
    assert set(ok("ask", "study.toml", "--json").json["params"]) == {"x", "c"}
    define()
    assert ok("recommend", "study.toml", "--json").json["params"].keys() == {"x"}


def test_the_direction_may_not_change(ok, cli, define, tree):
    ok("ask", define())
    define(direction="maximize")
    before = tree()
    for command in ("ask", "status"):
        answer = cli(command, "study.toml")
        assert answer.code == 2
        assert "the study 'study' is there already, to minimize; its definition says maximize" in answer.err
    assert tree() == before


# The definition is kept


def test_a_study_is_opened_by_its_file_alone(ok, define, folder):
    for name in ("a.toml", "b.toml"):
        define(name, parameters=MIXED, seed=5, num_initial=4, noise=0.1, name="same")
        ok("tell", name, "x=0.2", "c=a", "0.5")
        ok("tell", name, "x=0.8", "c=b", "0.25")
    (folder / "b.toml").unlink()
    for _ in range(3):
        assert ok("ask", "b.db", "--json").json == ok("ask", "a.toml", "--json").json
    opened = [open_study(reference) for reference in ("a.toml", "b.db")]
    kept = [(one.sampler.seed, one.sampler.method, one.sampler.noise, one.sampler.n_startup_trials) for one in opened]
    assert kept == [(5, "logei", 0.1, 4)] * 2


def test_the_latest_definition_is_kept(ok, define, stored):
    ok("ask", define(seed=1))
    ok("ask", define(seed=2, parameters="x = { low = 0.0, high = 3.0 }"))
    kept = Definition.parse(stored().user_attrs[DEFINITION])
    assert (kept.seed, kept.space.parameters["x"].high) == (2, 3.0)


@pytest.mark.filterwarnings("ignore:The distribution is specified by:UserWarning")
@settings(max_examples=30)
@given(TABLES)
def test_whatever_is_a_definition_can_be_a_study(table):
    definition = Definition.parse(table)
    sampler = studies._sampler(definition)
    space = studies.records.to_space(sampler.search_space)
    assert space.domain.size == definition.space.domain.size
    assert list(Optimizer(space, method="random").ask().params) == list(table["parameters"])


@pytest.mark.filterwarnings("ignore:Choices for a categorical distribution:UserWarning")
@pytest.mark.parametrize(
    "choices", ["[2026-11-16, 2026-11-17]", "[[1, 2], [3, 4]]", "[{ a = 1 }, { a = 2 }]", "[nan, 1]", '["", " ", "="]']
)
def test_choices_of_any_kind(cli, folder, tree, choices):
    """They work, the next time too, or they are refused before anything is made."""
    (folder / "study.toml").write_text(f'direction = "minimize"\nmethod = "logei"\n[parameters]\nc = {choices}\n')
    before = tree()
    answer = cli("ask", "study.toml")
    if answer.code:
        assert (answer.code, answer.err.count("\n")) == (2, 1)
        assert tree() == before
        return
    for arguments in (("ask", "study.toml"), ("tell", "study.db", "0", "1.5"), ("recommend", "study.db")):
        assert cli(*arguments).code == 0


# Studies of Optuna


def test_a_study_of_optuna_without_a_definition(ok, make):
    make(points=[0.0, 0.25, 0.5, 0.75, 1.0])
    assert ok("status", "plain.db", "--json").json["trials"] == {"done": 5}
    assert ok("recommend", "plain.db", "--json").json["params"]["x"] == pytest.approx(0.3, abs=0.1)
    low, high = ok("where", "plain.db", "--samples", "20", "--json").json["intervals"]["x"]
    assert 0.0 <= low <= high <= 1.0
    asked = ok("ask", "plain.db", "--json").json
    assert asked["number"] == 5
    assert 0.0 <= asked["params"]["x"] <= 1.0
    ok("tell", "plain.db", "5", "0.5")
    ok("tell", "plain.db", "x=0.9", "0.36")
    assert ok("status", "plain.db", "--json").json["trials"] == {"done": 7}


def test_a_study_of_optuna_gets_a_definition(ok, make, define):
    make(points=[0.0, 0.5, 1.0], name="study", path="study.db")
    define(parameters="x = { low = 0.0, high = 0.2 }")
    assert ok("ask", "study.toml", "--json").json["params"]["x"] <= 0.2
    assert ok("ask", "study.db", "--json").json["params"]["x"] <= 0.2, "it is kept"


def test_a_study_without_results_and_definition(cli, make, tree):
    make()
    before = tree()
    for command in (("ask",), ("recommend",), ("tell", "x=0.5", "1")):
        answer = cli(command[0], "plain.db", *command[1:])
        assert answer.code == 2
        assert "the study 'plain' has no complete trial and no definition" in answer.err
    assert tree() == before


def test_several_objectives_without_a_definition(cli, ok, make, define, tree):
    make(path="study.db", name="study", direction=None, directions=["minimize", "maximize"])
    define()
    before = tree()
    for arguments, message in (
        (("ask", "study.toml"), "is there already, to minimize and maximize; its definition says minimize"),
        (("recommend", "study.db"), "no complete trial and no definition"),
        (("ask", "study.db"), "no complete trial and no definition"),
        (("tell", "study.db", "0", "0.5"), "has several objectives and no definition that names them"),
    ):
        answer = cli(*arguments)
        assert answer.code == 2
        assert message in answer.err
    assert "to minimize value_0, maximize value_1" in ok("status", "study.db").out
    assert tree() == before


def test_a_database_without_studies(cli, make, tree):
    optuna.delete_study(study_name="plain", storage=make()._storage)
    before = tree()
    answer = cli("status", "plain.db")
    assert (answer.code, answer.err) == (2, "xstar: sqlite:///plain.db has no study.\n")
    assert tree() == before


def test_a_study_whose_definition_was_damaged(cli, ok, define, stored):
    ok("ask", define())
    stored().set_user_attr(DEFINITION, {"direction": "sideways"})
    answer = cli("status", "study.db")
    assert answer.code == 2
    assert answer.err.count("\n") == 1


# Several at once


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_workers_that_start_together_make_one_study(define, isolated):
    define()
    barrier = threading.Barrier(4)

    def make(_):
        barrier.wait()
        return open_study("study.toml", create=True).study.study_name

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(make, range(4))) == ["study"] * 4
    assert names_in("study.db") == ["study"]


def test_tables_that_another_worker_is_making_are_waited_for(define, isolated):
    define()
    with closing(sqlite3.connect("study.db")) as connection:
        connection.execute("CREATE TABLE studies (a)")
        with ThreadPoolExecutor(1) as pool:
            checked = pool.submit(_check_file, Path("study.db"), True, True)
            assert not wait([checked], timeout=0.3).done, "it is half made"
            connection.execute("CREATE TABLE version_info (a)")
            assert checked.result(30.0) is None


def names_in(path):
    with closing(sqlite3.connect(path)) as connection:
        return [name for (name,) in connection.execute("SELECT study_name FROM studies")]


@pytest.mark.parametrize("made", [1, 5, 12])
def test_a_worker_that_was_killed_while_it_made_the_tables(ok, cli, define, folder, monkeypatch, made):
    """Whoever may create a study goes on with them."""
    monkeypatch.setattr(studies, "STORAGE", replace(studies.STORAGE, connect_seconds=0))
    engine = sqlalchemy.create_engine(f"sqlite:///{folder}/study.db")
    for table in BaseModel.metadata.sorted_tables[:made]:
        table.create(engine)
    engine.dispose()
    assert cli("status", define(method="random")).code == 2
    ok("tell", "study.toml", "x=0.5", "1")
    assert ok("status", "study.toml", "--json").json["trials"] == {"done": 1}


WRITES = """
import os, sqlite3, sys
connection = sqlite3.connect("study.db", isolation_level=None)
connection.execute("PRAGMA cache_size = 1")
connection.execute("BEGIN")
connection.execute("CREATE TABLE large (text)")
connection.executemany("INSERT INTO large VALUES (?)", [("x" * 4000,)] * 50)
os.kill(os.getpid(), 9)
"""


def test_a_file_that_a_process_was_writing_when_it_was_killed(ok, define, folder):
    """What it had begun is rolled back, by whoever looks first."""
    ok("tell", define(method="random"), "x=0.5", "1")
    subprocess.run([sys.executable, "-c", WRITES], check=False)
    assert (folder / "study.db-journal").stat().st_size
    assert ok("status", "study.toml", "--json").json["trials"] == {"done": 1}
    assert not (folder / "study.db-journal").exists()


def test_a_copy_of_the_file_is_a_copy_of_the_study(ok, define):
    told(ok, define())
    shutil.copy("study.db", "copy.db")
    assert ok("ask", "copy.db", "--json").json == ok("ask", "study.db", "--json").json


def test_ranges_of_whole_numbers(ok, make):
    """Distributions of Optuna with a step, and by logarithm."""
    study = make()
    spaces = {"k": IntDistribution(1, 64, log=True), "m": IntDistribution(0, 9, step=3)}
    for k, m in ((1, 0), (8, 3), (64, 9)):
        study.add_trial(optuna.create_trial(params={"k": k, "m": m}, distributions=spaces, value=float(k + m)))
    asked = ok("ask", "plain.db", "--json").json["params"]
    assert 1 <= asked["k"] <= 64
    assert asked["m"] in (0, 3, 6, 9)
