"""Snapshots: a suggestion by what was read before the trial began is as good as one by what is read after it."""

import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.trial import TrialState

from xstar import Method, Optimizer
from xstar.acquisition import LogEI
from xstar.gp import MAP, Matern52
from xstar.integrations.optuna import XstarSampler, adapter, records

SPACE = {"x": FloatDistribution(0.0, 1.0), "y": FloatDistribution(0.0, 1.0), "k": IntDistribution(2, 2)}
QUICK = Method(Matern52(), MAP(), acquisition=LogEI())


@pytest.fixture
def study():
    """Five trials are done."""
    study = optuna.create_study(sampler=XstarSampler(method=QUICK, search_space=SPACE))
    for k in range(5):
        params = {"x": k / 5, "y": (k * 3 % 5) / 5, "k": 2}
        value = (params["x"] - 0.3) ** 2 + params["y"]
        study.add_trial(optuna.create_trial(params=params, distributions=SPACE, value=value))
    return study


@pytest.fixture
def reads(monkeypatch):
    """How often a study is read."""
    calls, read = [], optuna.Study.get_trials
    monkeypatch.setattr(optuna.Study, "get_trials", lambda self, **how: calls.append(how) or read(self, **how))
    return calls


@pytest.fixture
def proposed(monkeypatch):
    """The numbers of the trials that points were looked for."""
    calls, propose = [], Optimizer.propose
    monkeypatch.setattr(
        Optimizer, "propose", lambda self, n, *fixed, **more: calls.append(n) or propose(self, n, *fixed, **more)
    )
    return calls


def snapshot(study):
    return study.sampler.snapshot(study, study.get_trials(deepcopy=False), SPACE)


def suggest(study, trial, before):
    return study.sampler.suggest(study, adapter.as_frozen(trial), before)


def test_a_snapshot_says_what_the_study_says(study):
    running = study.ask()
    taken = snapshot(study)
    assert [trial.number for trial in taken.trials] == list(range(6))
    assert [trial.number for trial in taken.evidence] == list(range(5))
    assert taken.settled == set(range(5))
    assert list(taken.space.parameters) == list(SPACE)
    assert taken.optimizer.trials == taken.evidence
    study.tell(running, state=TrialState.FAIL)
    assert taken.trials[5].state == TrialState.RUNNING, "it stays as it was"


def test_a_suggestion_by_what_was_read_before_is_the_same(study, reads):
    before = snapshot(study)
    trial = study.ask()
    reads.clear()
    found = suggest(study, trial, before)
    assert len(reads) == 1, "the look whether another worker was faster"
    assert found.params == snapshot(study).optimizer.with_trials(before.evidence).propose(5).params
    assert records.shared(found.trials[5])["params"] == {name: found.params[name] for name in ("x", "y")}
    assert [trial.number for trial in found.trials] == list(range(6))


def test_trials_begun_since_are_foreseen(study, reads, proposed):
    """The snapshot is too old then, and another is taken."""
    before = snapshot(study)
    study.ask()
    trial = study.ask()
    reads.clear()
    found = suggest(study, trial, before)
    assert len(reads) == 2
    assert proposed == [5, 6]
    assert found.params == snapshot(study).optimizer.with_trials([
        *before.evidence, before.optimizer.propose(5),
    ]).propose(6).params  # fmt: skip


def test_a_point_that_is_taken_meanwhile_is_left_to_the_other(study, proposed):
    before = snapshot(study)
    trial = study.ask()
    taken = before.optimizer.propose(5).params
    study.add_trial(optuna.create_trial(state=TrialState.RUNNING, params=taken, distributions=SPACE))
    found = suggest(study, trial, before)
    assert proposed == [5, 5, 5]
    assert max(abs(found.params[name] - taken[name]) for name in ("x", "y")) >= 0.01


def test_a_trial_that_was_waiting_holds_what_was_enqueued(study):
    study.enqueue_trial({"x": 0.75, "y": 0.5, "k": 2})
    study.enqueue_trial({"x": 0.125})
    before = snapshot(study)
    assert [trial.number for trial in before.evidence] == [0, 1, 2, 3, 4, 5], "one of them is complete: it is pending"
    whole, part = study.ask(), study.ask()
    assert (whole.number, part.number) == (5, 6)
    assert suggest(study, part, before).params["x"] == 0.125
    found = suggest(study, whole, before)
    assert (found.params["x"], found.params["y"]) == (0.75, 0.5)


def test_an_exhausted_space_has_no_suggestion():
    space = {"k": IntDistribution(0, 1)}
    study = optuna.create_study(sampler=XstarSampler(method=QUICK, search_space=space, noise=0.0))
    for k in (0, 1):
        study.add_trial(optuna.create_trial(params={"k": k}, distributions=space, value=float(k)))
    before = study.sampler.snapshot(study, study.get_trials(deepcopy=False), space)
    found = suggest(study, study.ask(), before)
    assert (found.params, found.trials) == ({}, None)
