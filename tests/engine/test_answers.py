"""What a model says in the user's units, held against the model itself."""

import math

import numpy as np
import pytest

from xstar import Categorical, Method, Optimizer, Real
from xstar.acquisition import PES, LogEI
from xstar.engine import answers
from xstar.engine.seeds import Seeds
from xstar.gp import MAP, Matern52

SPACE = {"x": Real(0.0, 10.0), "c": Categorical(["a", "b"])}
METHOD = Method(Matern52(), MAP(), LogEI())
NOBODY = np.zeros((0, 3))


def told(direction="maximize", failures=(), method=METHOD):
    opt = Optimizer(SPACE, direction, method, seed=5)
    for k, x in enumerate((0.5, 2.0, 4.0, 6.5, 9.0)):
        opt.tell({"x": x, "c": "ab"[k % 2]}, 100.0 + 40.0 * math.sin(x))
    for x in failures:
        opt.fail({"x": x, "c": "a"})
    return opt


def model_of(opt):
    return opt._models.model(opt._settings, opt._gather())


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_recommendation_is_the_best_row_in_the_users_units(direction):
    opt = told(direction)
    model = model_of(opt)
    best = answers.recommendation(model)
    mean, sd = opt.predict([best.params])
    assert best.params == opt.space.decode(model.recommended_row)
    assert (best.mean, best.sd, best.feasibility) == (pytest.approx(mean[0]), pytest.approx(sd[0]), 1.0)
    everywhere, _ = opt.predict([{"x": x, "c": c} for x in np.linspace(0.0, 10.0, 101) for c in "ab"])
    extreme = everywhere.max() if direction == "maximize" else everywhere.min()
    assert best.mean == pytest.approx(extreme, abs=0.5)


def test_a_recommendation_after_failures_says_how_feasible_it_is():
    model = model_of(told(failures=(9.5, 9.8, 10.0)))
    best = answers.recommendation(model)
    assert best.feasibility == pytest.approx(model.feasible(model.recommended_row[None])[0])
    assert 0.5 < best.feasibility < 1.0


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_regret_is_the_difference_in_the_users_units(direction):
    model = model_of(told(direction))
    where = answers.optimum_posterior(model, 30)
    rows, best, here = model.sample_optima(30, Seeds(5).optimum())
    expected = model.scaling.inverse(best) - model.scaling.inverse(here)
    np.testing.assert_allclose(where.regret, np.maximum(expected, 0.0))
    assert where.regret.max() > 0.1, "the units are those of values about 100"
    assert where.params["x"] == [model.settings.space.decode(row)["x"] for row in rows]
    assert where.unordered == {"c"}
    assert where.recommendation == answers.recommendation(model)


def test_nothing_is_known_of_the_regret_of_equal_values():
    opt = Optimizer([(0.0, 1.0)], method=METHOD)
    for x in (0.1, 0.5, 0.9):
        opt.tell([x], 7.0)
    assert np.isinf(answers.optimum_posterior(model_of(opt), 10).regret).all()


def test_an_explanation_has_all_that_is_known_of_a_point():
    opt = told(failures=(9.5, 9.9))
    model, params = model_of(opt), {"x": 7.0, "c": "a"}
    row = opt.space.encode(params)[None]
    why = answers.explanation(model, params, NOBODY, {"method": "logei", "fallback": "because"})
    mean, sd = model.predict_values(row)
    assert (why.params, why.mean, why.sd) == (params, pytest.approx(mean[0]), pytest.approx(sd[0]))
    assert (why.method, why.fallback) == ("logei", "because")
    assert why.feasibility == pytest.approx(model.feasible(row)[0])
    assert why.bits == pytest.approx(answers.information(model, row, NOBODY)[0])
    _, variance = model.post.predict(row)
    assert why.exploration == pytest.approx(np.mean(variance[:, 0] / model.post.hyper.variance))
    assert 0.0 < why.exploration < 1.0


def test_the_nearest_point_may_be_one_that_failed():
    opt = told(failures=(7.1,))
    why = answers.explanation(model_of(opt), {"x": 7.0, "c": "a"}, NOBODY, {})
    assert why.nearest == pytest.approx(0.01)
    assert (why.method, why.fallback) == (None, None)


def test_pending_points_take_information_away():
    """As the method's own search or, if it has none, the default counts it."""
    for method in (METHOD, Method(Matern52(), MAP(), PES(20, 128))):
        model = model_of(told(method=method))
        row = model.settings.space.encode({"x": 7.8, "c": "b"})[None]
        alone, expected = (float(answers.information(model, row, known)[0]) for known in (NOBODY, row))
        assert 0.0 <= expected < 0.7 * alone
