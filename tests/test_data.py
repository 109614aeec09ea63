"""Files that earlier versions have written are read, answer questions, and keep their content when they are saved."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import isolated  # noqa: F401 - a fixture
from tests.data import make
from xstar import Optimizer, Space
from xstar.cli import main
from xstar.files.definition import Definition

VERSIONS = sorted(path.name for path in make.HERE.iterdir() if (path / "everything.json").exists())
STUDIES = ("everything", "known_noise", "empty")
pytestmark = [pytest.mark.parametrize("version", VERSIONS), pytest.mark.usefixtures("isolated")]


@pytest.fixture
def folder(version, tmp_path, monkeypatch):
    """The files, to be changed."""
    shutil.copytree(make.HERE / version, tmp_path / "files")
    monkeypatch.chdir(tmp_path / "files")
    return Path()


def answer(capsys, *arguments):
    """What a command answers."""
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def test_every_kind_of_parameter_and_of_trial(folder):
    optimizer = Optimizer.load("everything.json")
    assert optimizer.space == Space(make.SPACE)
    assert optimizer.direction == "minimize"
    assert optimizer.method == make.METHOD
    assert (optimizer.seed, optimizer.num_initial, optimizer.noise) == (3, 3, None)
    trials = optimizer.trials
    assert [trial.number for trial in trials] == list(range(7))
    assert [trial.state for trial in trials] == ["done", "done", "done", "failed", "done", "pending", "pending"]
    assert [trial.value for trial in trials] == [1.5, 0.5, 2.5, None, 0.75, None, None]
    assert [trial.sd for trial in trials] == [None, None, 0.25, *[None] * 4]
    assert trials[3].reason == "out of memory: <b>é</b>"
    stored = json.loads((folder / "everything.json").read_text(encoding="utf-8"))["trials"]
    for trial, kept in zip(trials, stored, strict=True):
        assert list(trial.params) == list(make.SPACE)
        assert trial.params["rate"] == kept["params"][0]
        assert trial.params["solvent"] == make.SPACE["solvent"].choices[kept["params"][7]]
        assert trial.diagnostics.keys() == kept["diagnostics"].keys()
    assert optimizer.recommend().params.keys() == make.SPACE.keys()
    optimizer.tell(trials[5], 1.0)
    assert optimizer.space.contains(optimizer.ask().params)


def test_known_noise_and_a_list_of_bounds(folder):
    optimizer = Optimizer.load("known_noise.json")
    assert (optimizer.noise, optimizer.seed, optimizer.method_name) == (0.1, 1, "pes")
    assert optimizer.space == Space.of([(0.0, 1.0), (-5.0, 5.0)])
    assert [trial.params["x1"] for trial in optimizer.trials[:6]] == [5.0 - k for k in range(6)]
    assert [trial.value for trial in optimizer.trials] == [*(-((k / 6 - 0.4) ** 2) for k in range(6)), None]
    assert 0.0 <= optimizer.recommend().x[0] <= 1.0
    assert optimizer.where(20).recommendation.params.keys() == {"x0", "x1"}


def test_nothing_told_yet(folder):
    optimizer = Optimizer.load("empty.json")
    assert optimizer.trials == ()
    assert 0.0 <= optimizer.ask().params["x"] <= 1.0


@pytest.mark.parametrize("name", STUDIES)
def test_saving_again_keeps_the_content(folder, name):
    path = f"{name}.json"
    before = json.loads((folder / path).read_text(encoding="utf-8"))
    Optimizer.load(path).save("again.json")
    after = json.loads((folder / "again.json").read_text(encoding="utf-8"))
    assert after["trials"] == before["trials"]
    assert after["space"] == before["space"]
    # Settings that have come since have the values that they had before there was a choice.
    assert {key: after[key] for key in ("format", "direction", "seed", "noise", "num_initial", "threads")} == {
        key: before[key] for key in ("format", "direction", "seed", "noise", "num_initial", "threads")
    }
    one, other = Optimizer.load(path), Optimizer.load("again.json")
    assert one.method == other.method
    assert one.trials == other.trials


def test_a_definition(folder):
    definition = Definition.read("tuning.toml")
    assert definition.name == "tuning"
    assert (definition.direction, definition.method, definition.seed) == ("minimize", "logei", 7)
    assert (definition.noise, definition.num_initial, definition.stale_after) == (0.01, 4, 3600.0)
    assert (definition.result, definition.unit, definition.units) == ("loss", "%", {"temperature": "°C"})
    assert repr(definition.space) == (
        "Space(lr=Real(1e-05, 0.1, log=True), layers=Integer(1, 6), dropout=Real(0.0, 0.5, step=0.05), "
        "temperature=Real(20.0, 90.0, unit='°C'), batch=Ordinal([16, 32, 64]), activation=Categorical(['relu', "
        "'gelu']), solvent=Categorical(['water', 'methanol'], descriptors=((10.2, 100.0), (5.1, 65.0))))"
    )
    assert definition.run == {"command": ["python", "train.py", "{lr}"], "budget": 40, "workers": 2}
    assert Definition.parse(definition.table).space == definition.space


def test_a_spreadsheet(folder, capsys):
    rows = answer(capsys, "export", "tuning.csv", "-")
    assert [row["state"] for row in rows] == ["done", "failed", "to run"]
    assert [row["value"] for row in rows] == [12.5, None, None]
    assert rows[0]["solvent"] == "methanol"
    before = (folder / "tuning.csv").read_bytes()
    assert answer(capsys, "csv", "tuning.csv", "--batch", "2")["open"] == 2
    assert (folder / "tuning.csv").read_bytes().startswith(before)


def test_a_database(folder, capsys):
    trials = answer(capsys, "export", "tuning.toml", "-")
    assert [trial["state"] for trial in trials] == ["done", "done", "failed", "running"]
    assert [trial["value"] for trial in trials] == [0.5, 0.25, None, None]
    assert [trial["sd"] for trial in trials] == [None, 0.125, None, None]
    assert trials[2]["reason"] == "diverged"
    assert trials[0]["temperature"] == 55.5
    assert (
        answer(capsys, "recommend", "tuning.toml")["params"].keys()
        == Definition.read("tuning.toml").space.parameters.keys()
    )
    answer(capsys, "tell", "tuning.toml", "3", "0.125")
    assert [trial["value"] for trial in answer(capsys, "export", "tuning.toml", "-")] == [0.5, 0.25, None, 0.125]


def test_the_files_are_small(version):
    assert sum(path.stat().st_size for path in (make.HERE / version).iterdir()) < 200_000
