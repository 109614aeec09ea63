"""Models that are kept, and those that stand in where none can be fitted."""

import math
import warnings

import numpy as np
import pytest

from xstar import Categorical, Method, Optimizer, Real, plots
from xstar.acquisition import PES, LogEI
from xstar.engine import fit as fitting
from xstar.engine.fit import fit_simply
from xstar.errors import DegradedWarning, NumericalError, SettingsError
from xstar.feasibility import Feasibility
from xstar.gp import MAP, Matern52

ERRORS = [NumericalError("it is singular."), np.linalg.LinAlgError("it is singular"), OverflowError("it is singular")]
QUESTIONS = {
    "recommend": lambda opt: opt.recommend(),
    "recommend tested": lambda opt: opt.recommend(tested=True),
    "recommend fixed": lambda opt: opt.recommend(fixed={"c": "a"}),
    "where": lambda opt: opt.where(10),
    "explain": lambda opt: opt.explain(5),
    "importance": lambda opt: opt.importance(8),
    "calibration": lambda opt: opt.calibration(),
    "predict": lambda opt: opt.predict([{"x": 3.0, "c": "a"}]),
    "interval": lambda opt: opt.interval([{"x": 3.0, "c": "a"}]),
    "similarity": lambda opt: opt.similarity([{"x": 3.0, "c": "a"}], [{"x": 4.0, "c": "a"}]),
    "information": lambda opt: opt.information([{"x": 3.0, "c": "a"}]),
    "summary": plots.summary,
}


def told(function=lambda x: 100.0 + 40.0 * math.sin(x), failures=(9.9,), direction="maximize", acquisition=None):
    method = Method(Matern52(), MAP(), acquisition or PES(4, 64))
    opt = Optimizer({"x": Real(0.0, 10.0), "c": Categorical(["a", "b"])}, direction, method)
    for k, x in enumerate((0.5, 2.0, 4.0, 6.5, 8.0, 9.0)):
        opt.tell({"x": x, "c": "ab"[k % 2]}, function(x))
    for x in failures:
        opt.fail({"x": x, "c": "a"})
    return opt


def raising(error):
    def method(*args, **kwargs):
        raise error

    return method


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_has_an_answer_where_no_model_can_be_fitted(monkeypatch, question, error):
    monkeypatch.setattr(MAP, "infer_from", raising(error))
    with pytest.warns(DegradedWarning, match="could not be fitted: it is singular; a simpler model answers") as told_of:
        QUESTIONS[question](told())
    assert len(told_of) == 1


@pytest.mark.parametrize("question", QUESTIONS)
def test_mistakes_in_the_code_are_not_hidden(monkeypatch, question):
    monkeypatch.setattr(MAP, "infer_from", raising(SettingsError("no prior")))
    with pytest.raises(SettingsError, match="no prior"):
        QUESTIONS[question](told())


@pytest.mark.parametrize("question", ["where", "explain", "information", "importance"])
def test_where_a_model_cannot_answer_a_simpler_one_does(monkeypatch, question):
    """The model is fitted, but what is drawn from it cannot be computed."""
    opt = told()
    fitted = opt._model()
    for name in ("sample_optima", "prepare"):
        honest = getattr(type(fitted), name)
        monkeypatch.setattr(
            type(fitted), name,
            lambda self, *args, honest=honest: raising(ERRORS[0])() if not self.fallback else honest(self, *args),
        )  # fmt: skip
    with pytest.warns(DegradedWarning, match="could not answer: it is singular; a simpler model answers"):
        QUESTIONS[question](opt)


def test_a_model_for_claims_that_cannot_be_fitted_has_a_simpler_one(monkeypatch):
    opt = told()
    opt.predict([{"x": 3.0, "c": "a"}])
    monkeypatch.setattr(MAP, "infer_from", raising(ERRORS[0]))
    with pytest.warns(DegradedWarning, match="could not answer"):
        assert math.isfinite(opt.recommend().sd)


def test_the_user_is_warned_once_for_the_same_results(monkeypatch):
    monkeypatch.setattr(MAP, "infer_from", raising(ERRORS[0]))
    opt = told()
    with pytest.warns(DegradedWarning):
        opt.recommend()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opt.where(10)
        opt.calibration()
    opt.tell({"x": 1.0, "c": "a"}, 130.0)
    with pytest.warns(DegradedWarning):
        opt.recommend()


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_simpler_model_gives_sensible_answers(monkeypatch, direction):
    monkeypatch.setattr(MAP, "infer_from", raising(ERRORS[0]))
    opt = told(direction=direction)
    with pytest.warns(DegradedWarning):
        where, found = opt.where(100), opt.recommend(tested=True)
    # Hills are at 1.6 and 7.9, the valley is at 4.7.
    near = (2.0, 8.0) if direction == "maximize" else (4.0,)
    assert found.params["x"] in near
    assert where.surprise.startswith("the model could not be fitted: it is singular; a simpler one says this")
    assert where.recommendation.feasibility < 1.0
    assert np.isfinite(where.regret).all()
    assert opt._model().diagnostics["fallback"] == "the model could not be fitted: it is singular"


def test_a_model_as_asked_for_has_no_fallback():
    model = told()._model()
    assert model.fallback is None
    assert "fallback" not in model.diagnostics


def test_feasibility_that_cannot_be_fitted_is_left_out(monkeypatch):
    monkeypatch.setattr(fitting.Feasibility, "fit", raising(ERRORS[0]))
    with pytest.warns(DegradedWarning):
        assert told().recommend().feasibility == 1.0


@pytest.mark.parametrize(
    "values", [[1e308, -1e308, 0.0, 1.0, 2.0, 3.0], [5e-324, 0.0, 1e-323, 0.0, 0.0, 0.0], [7.0] * 6]
)
def test_a_simpler_model_fits_whatever_the_values(values):
    function = dict(zip((0.5, 2.0, 4.0, 6.5, 8.0, 9.0), values, strict=True))
    opt = told(function.__getitem__, acquisition=LogEI())
    model = fit_simply(opt._settings, opt._gather(), "for a test")
    mean, sd = model.predict_values(np.random.default_rng(0).random((5, 2)))
    assert np.isfinite([mean, sd]).all()
    assert isinstance(model.feasibility, Feasibility)
