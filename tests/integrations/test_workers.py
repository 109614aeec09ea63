"""Several processes of one machine share a study in an SQLite file, as docs/workers.md shows it."""

import itertools
import subprocess
import sys

import optuna
import pytest
from optuna.trial import TrialState

from tests.integrations.guide import write_programs
from tests.waiting import finish
from xstar.integrations.optuna import records


@pytest.mark.slow
def test_three_processes_on_sqlite(tmp_path):
    write_programs("One machine", tmp_path)
    subprocess.run([sys.executable, "create.py"], cwd=tmp_path, check=True, capture_output=True)
    started = [
        subprocess.Popen([sys.executable, "tune.py"], cwd=tmp_path, stderr=subprocess.PIPE, text=True) for _ in range(3)
    ]
    for process in started:
        finish(process)
    study = optuna.load_study(study_name="tune", storage=f"sqlite:///{tmp_path / 'tune.db'}")
    trials = study.get_trials()
    assert [trial.number for trial in trials] == list(range(15))
    assert {trial.state for trial in trials} == {TrialState.COMPLETE}
    assert [records.shared(trial).get("method") for trial in trials].count("pes") >= 9
    assert study.best_value < 0.5


STARVED = """
import sys, time
import optuna
import xstar
from xstar.integrations.optuna import XstarSampler

def objective(trial):
    x, k = trial.suggest_float("x", 0, 1), trial.suggest_int("k", 1, 8)
    trial.set_user_attr("began", time.time())
    time.sleep(0.3)
    trial.set_user_attr("ended", time.time())
    return (x - 0.3) ** 2 + (k - 3) ** 2 / 10

optuna.logging.set_verbosity(optuna.logging.ERROR)
sampler = XstarSampler(method="logei", search_space={"x": xstar.Real(0.0, 1.0), "k": xstar.Integer(1, 8)})
optuna.load_study(study_name="s", storage=sys.argv[1], sampler=sampler).optimize(objective, 6)
"""


@pytest.mark.slow
def test_of_eight_starved_processes_no_two_are_at_the_same_point(tmp_path):
    url = f"sqlite:///{tmp_path / 's.db'}"
    study = optuna.create_study(study_name="s", storage=url)
    started = [
        subprocess.Popen([sys.executable, "-c", STARVED, url], stderr=subprocess.PIPE, text=True) for _ in range(8)
    ]
    for process in started:
        finish(process)
    trials = study.get_trials()
    assert len(trials) == 48
    for a, b in itertools.combinations(trials, 2):
        together = a.user_attrs["ended"] > b.user_attrs["began"] and b.user_attrs["ended"] > a.user_attrs["began"]
        assert not (together and a.params == b.params), (a.number, b.number)
