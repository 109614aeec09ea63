"""Several processes of one machine share a study in an SQLite file, as docs/workers.md shows it."""

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
