"""Values beside what was predicted of them: from all others, and before they were told."""

import math
from dataclasses import replace

import numpy as np
import pytest

from xstar import Method, Optimizer, Trial
from xstar.acquisition import LogEI
from xstar.gp import MAP, Matern52
from xstar.trial import Prediction

QUICK = Method(Matern52(), MAP(), LogEI())


def hill(x):
    return 100.0 - 50.0 * (x - 0.3) ** 2 + 3.0 * math.sin(9.0 * x)


def run(count, direction="maximize", noise=0.2, **settings):
    opt = Optimizer([(0.0, 1.0)], direction, QUICK, num_initial=3, **settings)
    rng = np.random.default_rng(0)
    sign = 1.0 if direction == "maximize" else -1.0
    for _ in range(count):
        trial = opt.ask()
        opt.tell(trial, sign * hill(float(trial.x[0])) + noise * float(rng.standard_normal()))
    return opt


def told_of(opt, shift=0.0, **changes):
    """The same trials, with predictions that are off by some of their standard deviations."""

    def shifted(trial):
        found = Prediction.of(trial)
        if found is None:
            return trial
        center = trial.value - shift * math.hypot(found.sd, found.noise)
        diagnostics = {**trial.diagnostics, **found._replace(mean=center).as_diagnostics(), **changes}
        return replace(trial, diagnostics=diagnostics)

    return opt.with_trials(map(shifted, opt.trials))


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_what_a_model_predicts_of_its_suggestion_is_kept_with_the_trial(direction):
    opt = run(6, direction)
    trial = opt.ask()
    mean, sd = opt.predict([trial.params])
    found = Prediction.of(trial)
    assert (found.mean, found.sd) == (pytest.approx(mean[0]), pytest.approx(sd[0]))
    assert found.noise == pytest.approx(opt._model().scaling.spread(np.array([0.0]), opt._model().noise)[0], rel=1e-6)
    told = opt.tell(trial, 1.0)
    assert Prediction.of(told) == found


def test_where_no_model_was_asked_nothing_was_predicted():
    opt = run(3)
    assert [Prediction.of(trial) for trial in opt.trials] == [None] * 3
    assert Prediction.of(opt.tell([0.5], 1.0)) is None
    assert len(opt.calibration().ahead) == 0


def test_predictions_survive_a_file(tmp_path):
    opt = run(8)
    opt.save(tmp_path / "study.json")
    again = Optimizer.load(tmp_path / "study.json")
    assert [Prediction.of(trial) for trial in again.trials] == [Prediction.of(trial) for trial in opt.trials]
    np.testing.assert_array_equal(again.calibration().ahead.z, opt.calibration().ahead.z)
    assert Prediction.of(again.ask()) == Prediction.of(opt.ask())


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_values_are_held_against_what_was_predicted(direction):
    opt = run(10, direction)
    ahead = opt.calibration().ahead
    assert [trial.number for trial in ahead.trials] == list(range(3, 10))
    predictions = [Prediction.of(trial) for trial in ahead.trials]
    np.testing.assert_array_equal(ahead.mean, [found.mean for found in predictions])
    spread = np.array([math.hypot(found.sd, found.noise) for found in predictions])
    sign = 1.0 if direction == "maximize" else -1.0
    straight = (ahead.low - opt.plausible[0]) > 0.0  # where nothing is warped
    expected = sign * (ahead.values - ahead.mean) / spread
    np.testing.assert_allclose(ahead.z[straight], expected[straight], rtol=0.2, atol=0.2)
    np.testing.assert_array_equal(ahead.inside, np.abs(ahead.z) <= 1.959964)


@pytest.mark.parametrize("shift, said", [(0.0, False), (1.5, False), (4.0, True), (-4.0, True)])
def test_predictions_from_before_decide_whether_values_surprise(shift, said):
    opt = told_of(run(9), shift)
    surprise = opt.where(10).surprise
    assert bool(surprise) == said
    if said:
        assert surprise == (
            "6 of the last 6 values that a model asked for were outside the 95 % interval predicted before they were "
            "told: treat the bound with care"
        )
        assert opt.calibration().surprises == run(9).calibration().surprises, "these are of all other values"


def test_few_predictions_from_before_do_not_decide():
    opt = told_of(run(7), 4.0)
    assert len(opt.calibration().ahead) == 4
    assert "that a model asked for" not in opt.where(10).surprise


def test_noise_that_was_told_counts_instead_of_what_was_expected():
    opt = told_of(run(9), 4.0)
    sure = opt.calibration().ahead
    noisy = opt.with_trials([replace(trial, sd=50.0) for trial in opt.trials]).calibration().ahead
    assert np.all(~sure.inside)
    assert np.all(noisy.inside)


@pytest.mark.parametrize("nonsense", [None, "3", math.nan, math.inf, [1.0], -1.0, {}])
def test_what_makes_no_sense_in_a_file_is_no_prediction(nonsense):
    opt = told_of(run(9), 4.0, predicted_sd=nonsense)
    assert len(opt.calibration().ahead) == 0
    assert "that a model asked for" not in opt.where(10).surprise


@pytest.mark.parametrize("mean, sd", [(1e308, 1e308), (-1e308, 0.0), (0.0, 0.0), (5e-324, 1e300)])
def test_absurd_predictions_overflow_nowhere(mean, sd):
    trials = [
        Trial(k, {"x0": k / 8}, "done", hill(k / 8),
              diagnostics={"method": "pes", **Prediction(mean, sd, 0.0).as_diagnostics()})
        for k in range(9)
    ]  # fmt: skip
    ahead = Optimizer.from_trials(trials, [(0.0, 1.0)], method=QUICK).calibration().ahead
    assert np.isfinite([ahead.low, ahead.high, ahead.z]).all()
