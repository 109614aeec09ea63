"""The sampler under Ray Tune and under Dask: the programs of docs/workers.md."""

import subprocess
import sys
import tempfile

import optuna
import pytest
from optuna.trial import TrialState

from tests.integrations.guide import programs, write_programs
from tests.waiting import HANG
from xstar.integrations.optuna import records

pytestmark = pytest.mark.extras


@pytest.fixture
def ray(monkeypatch, tmp_path):
    """A cluster of two processors on this machine that leaves nothing behind."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("HOME", str(tmp_path))  # For its results and its token.
    import ray

    # Not pytest's own folder: its name is too long for the sockets in it.
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        ray.init(
            num_cpus=2,
            include_dashboard=False,
            object_store_memory=100 * 2**20,
            log_to_driver=False,
            _temp_dir=folder,
        )
        try:
            yield ray
        finally:
            ray.shutdown()


def test_ray_tune(ray):
    names = {"__name__": "with_ray"}
    exec(compile(programs("Ray Tune")["with_ray.py"], "docs/workers.md", "exec"), names)
    trials = names["search"]._ot_study.trials
    assert [trial.number for trial in trials] == list(range(6))
    assert {trial.state for trial in trials} == {TrialState.COMPLETE}
    assert all(isinstance(trial.params["layers"], int) for trial in trials)
    # All of them are the sampler's, and the model is in use once the design of three points is complete.
    methods = [records.shared(trial).get("method") for trial in trials]
    assert methods == ["space-filling"] * 3 + ["pes"] * 3
    best = min(trials, key=lambda trial: trial.value)
    assert names["best"].config == best.params
    assert names["best"].metrics["loss"] == best.value


def test_dask(tmp_path):
    write_programs("Dask", tmp_path)
    done = subprocess.run(
        [sys.executable, "with_dask.py"], cwd=tmp_path, capture_output=True, text=True, timeout=HANG, check=False
    )
    assert done.returncode == 0, done.stderr
    study = optuna.load_study(study_name="tune", storage=f"sqlite:///{tmp_path / 'dask.db'}")
    trials = study.get_trials()
    assert [trial.number for trial in trials] == list(range(12))
    assert {trial.state for trial in trials} == {TrialState.COMPLETE}
    assert [records.shared(trial).get("method") for trial in trials].count("pes") >= 6
    assert done.stdout.strip() == f"{study.best_params} {study.best_value}"
