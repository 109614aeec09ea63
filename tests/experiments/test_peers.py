"""Other libraries take the same courses as ours, the same each time, and survive their own failures."""

import importlib.machinery
import importlib.util
import subprocess
import sys

import numpy as np
import pytest

from experiments import peers
from experiments.course import START, take_course
from experiments.methods import PEERS
from experiments.problems import Problem

OPTUNA = ["optuna-gp", "optuna-tpe"]


def params(*methods):
    """The methods, those that need torch as extras."""
    return [
        pytest.param(method, marks=[pytest.mark.extras] if "torch" in peers.NEEDS[method] else []) for method in methods
    ]


START_UP = 10
"""Values before which Optuna's samplers draw random points."""


def hill(dimension=2):
    peak = np.full(dimension, 0.3)

    def values(x):
        return 2.0 - np.sum((x - peak) ** 2, axis=1)

    return Problem("hill", values, peak, 2.0, 0.01, 20)


def begun(method, problem, seed, told):
    """A session, with the values at some random points."""
    session = peers.begin(method, problem, seed)
    for x in np.random.default_rng(seed).random((told, problem.dimension)):
        session.tell(x, float(problem.values(x[None])[0]))
    return session


@pytest.fixture
def few(monkeypatch):
    """Less thorough climbs: BoTorch's PES takes seconds otherwise."""
    monkeypatch.setattr(peers, "NUM_OPTIMA", 3)
    monkeypatch.setattr(peers, "NUM_RESTARTS", 2)
    monkeypatch.setattr(peers, "RAW_SAMPLES", 16)


def test_every_peer_is_known():
    assert list(peers.NEEDS) == list(PEERS)


def test_unknown():
    with pytest.raises(ValueError, match=r"no peer 'botorch-kg'; there are botorch-logei, "):
        peers.begin("botorch-kg", hill(), 0)


@pytest.mark.parametrize("absent, named", [({"botorch"}, "botorch"), ({"torch", "botorch"}, "torch and botorch")])
def test_what_to_do_without_a_library(monkeypatch, absent, named):
    """Wherever the test runs, these libraries are missing and all others are there."""
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in absent else importlib.machinery.ModuleSpec(name, None)
    )
    with pytest.raises(ModuleNotFoundError, match=rf"botorch-jes needs {named}, .*`make peers`.*") as said:
        peers.begin("botorch-jes", hill(), 0)
    assert ".venv-peers/bin/python -m experiments run ... --methods botorch-jes" in str(said.value)


def test_importing_loads_no_library():
    """benchmarks.speed measures memory with this module loaded."""
    heavy = "{'torch', 'botorch', 'optuna', 'scipy', 'xstar'}"
    subprocess.run(
        [sys.executable, "-c", f"import sys, experiments.peers; assert not {heavy} & set(sys.modules)"], check=True
    )


@pytest.mark.parametrize("method", params(*PEERS))
class TestCourse:
    def test_same_seed_same_course(self, method, few):
        evaluations = START_UP + 2 if method in OPTUNA else START + 3
        first, again, other = (take_course("branin", method, repeat, evaluations) for repeat in (1, 1, 2))
        assert first.degraded == again.degraded == 0
        for part in ("X", "y", "recommended", "regret"):
            np.testing.assert_array_equal(getattr(first, part), getattr(again, part))
        assert first.X.shape == (evaluations, 2)
        assert first.recommended.shape == (evaluations - START + 1, 2)
        assert np.all((first.X >= 0.0) & (first.X <= 1.0))
        assert not np.any(np.all(first.X[START:] == other.X[START:], axis=1))

    def test_sessions_do_not_disturb_each_other(self, method, few):
        told = START_UP if method in OPTUNA else 4
        alone, one, two = (begun(method, hill(), seed, told) for seed in (7, 7, 8))
        expected = alone.recommend(), alone.suggest()
        two.recommend()
        recommended = one.recommend()
        two.suggest()
        np.testing.assert_array_equal((recommended, one.suggest()), expected)


class TestOptuna:
    @pytest.mark.parametrize("method", params(*OPTUNA))
    def test_values_reach_the_study(self, method):
        problem = hill()
        session = begun(method, problem, 0, START)
        x = session.suggest()
        session.tell(x, 1.25)
        session.tell(np.array([0.5, 0.25]), 5.0)
        trials = session.study.trials
        assert [trial.state.name for trial in trials] == ["COMPLETE"] * (START + 2)
        assert [trial.value for trial in trials[START:]] == [1.25, 5.0]
        assert [trials[START].params[name] for name in ("x0", "x1")] == x.tolist()
        np.testing.assert_array_equal(session.recommend(), [0.5, 0.25])

    @pytest.mark.extras
    def test_model_finds_the_hill(self):
        """A random point would be so near with a probability of 0.01."""
        session = begun("optuna-gp", hill(), 3, START_UP)
        for _ in range(5):
            x = session.suggest()
            session.tell(x, float(hill().values(x[None])[0]))
        assert np.max(np.abs(x - 0.3)) < 0.05
        assert session.degraded == 0

    @pytest.mark.extras
    def test_failure(self, monkeypatch):
        session = begun("optuna-gp", hill(), 0, START_UP)

        def fail(*_):
            raise np.linalg.LinAlgError("not positive definite")

        monkeypatch.setattr(session.study.sampler, "_sample_relative_impl", fail)
        x = session.suggest()
        assert session.degraded == 1
        assert np.all((x >= 0.0) & (x <= 1.0))
        session.tell(x, 3.0)
        np.testing.assert_array_equal(session.recommend(), x)
        assert np.any(session.suggest() != x)
        assert session.degraded == 2

    def test_says_nothing(self, capfd):
        begun("optuna-tpe", hill(), 0, START_UP).suggest()
        assert capfd.readouterr() == ("", "")


@pytest.mark.extras
class TestBoTorch:
    def test_recommends_the_largest_mean(self):
        session = begun("botorch-logei", hill(3), 0, 25)
        x = session.recommend()
        model, _ = session._fit()
        x_all = np.vstack([x, session.points, np.random.default_rng(0).random((5000, 3))])
        mean = model.posterior(peers.as_tensors(x_all, x_all[:, 0])[0]).mean.detach().numpy().ravel()
        assert np.all(mean <= mean[0] + 1e-6)
        np.testing.assert_allclose(x, hill(3).maximizer, atol=0.1)

    @pytest.mark.parametrize("method", ["botorch-logei", "botorch-jes"])
    def test_finds_the_hill(self, method):
        session = begun(method, hill(), 0, START)
        for _ in range(6):
            x = session.suggest()
            session.tell(x, float(hill().values(x[None])[0]))
        assert hill().regret(session.recommend()[None]) < 0.01
        assert session.degraded == 0

    def test_improves_on_the_mean(self):
        """A single lucky value is not what LogEI is to improve on."""
        session = begun("botorch-logei", hill(), 0, 25)
        session.tell(np.array([0.3, 0.3]), 2.5)
        for x in np.random.default_rng(1).uniform(0.28, 0.32, (10, 2)):
            session.tell(x, 2.0)
        model, bounds = session._fit()
        best = float(peers.log_expected_improvement(model, bounds).best_f)
        assert best == pytest.approx(2.0, abs=0.2)

    def test_one_fit_for_each_value(self, monkeypatch):
        session = begun("botorch-logei", hill(), 0, 5)
        fits, fit = [], peers.fit_model
        monkeypatch.setattr(peers, "fit_model", lambda x, y: fits.append(len(x)) or fit(x, y))
        for _ in range(2):
            session.recommend()
            session.tell(session.suggest(), 1.0)
        assert fits == [5, 6]

    @pytest.mark.parametrize("broken", ["fit_model", "climb"])
    def test_failure(self, broken, monkeypatch):
        session = begun("botorch-logei", hill(), 0, 5)
        from botorch.exceptions import ModelFittingError

        def fail(*_, **__):
            raise ModelFittingError("All attempts to fit the model have failed.")

        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(peers, broken, fail)
            x = session.suggest()
            best = session.points[int(np.argmax(session.values))]
            np.testing.assert_array_equal(session.recommend(), best)
        assert session.degraded == 1
        assert np.all((x >= 0.0) & (x <= 1.0))
        assert np.any(session.suggest() != x)
        assert session.degraded == 1

    def test_not_finite(self, monkeypatch):
        session = begun("botorch-jes", hill(), 0, 5)
        import torch

        monkeypatch.setattr(peers, "climb", lambda *_, **__: torch.full((1, 2), torch.nan))
        assert np.all(np.isfinite(session.suggest()))
        assert session.degraded == 1

    def test_equal_values(self):
        """Nothing to standardize by."""
        session = begun("botorch-logei", hill(), 0, 0)
        for x in np.random.default_rng(0).random((4, 2)):
            session.tell(x, 1.0)
        assert np.all(np.isfinite(session.suggest()))
        assert np.all(np.isfinite(session.recommend()))
