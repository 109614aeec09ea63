"""What a model says in the user's units, held against the model itself."""

import math

import numpy as np
import pytest

from xstar import Categorical, Method, Optimizer, Real
from xstar.acquisition import PES, LogEI
from xstar.engine import answers
from xstar.engine.seeds import Seeds
from xstar.gp import MAP, Fixed, Hyperparameters, Matern52, SliceSampling
from xstar.methods import ModelSettings
from xstar.numerics.designs import sobol

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


def models_of(opt):
    """The model, and the one for claims."""
    return model_of(opt), opt._models.for_claims(opt._settings, opt._gather())


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_recommendation_is_the_best_row_in_the_users_units(direction):
    opt = told(direction)
    model, claims = models_of(opt)
    best = answers.recommendation(model, claims)
    mean, _ = opt.predict([best.params])
    assert best.params == opt.space.decode(model.recommended_row)
    other, sd = claims.predict_values(model.recommended_row[None])
    spread = math.hypot(sd[0], other[0] - mean[0])
    assert (best.mean, best.sd, best.feasibility) == (pytest.approx(mean[0]), pytest.approx(spread), 1.0)
    everywhere, _ = opt.predict([{"x": x, "c": c} for x in np.linspace(0.0, 10.0, 101) for c in "ab"])
    extreme = everywhere.max() if direction == "maximize" else everywhere.min()
    assert best.mean == pytest.approx(extreme, abs=0.5)


def test_a_recommendation_after_failures_says_how_feasible_it_is():
    model, claims = models_of(told(failures=(9.5, 9.8, 10.0)))
    assert claims.feasibility is model.feasibility, "that is not learned again"
    best = answers.recommendation(model, claims)
    assert best.feasibility == pytest.approx(model.feasible(model.recommended_row[None])[0])
    assert 0.5 < best.feasibility < 1.0


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_regret_is_the_difference_in_the_users_units(direction):
    model, claims = models_of(told(direction))
    where = answers.optimum_posterior(model, claims, 30)
    rows, best, here = claims.sample_optima(30, model.recommended_row, Seeds(5).optimum())
    expected = claims.scaling.inverse(best) - claims.scaling.inverse(here)
    np.testing.assert_allclose(where.regret, np.maximum(expected, 0.0))
    assert where.regret.max() > 0.1, "the units are those of values about 100"
    assert where.params["x"] == [model.settings.space.decode(row)["x"] for row in rows]
    assert where.unordered == {"c"}
    assert where.recommendation == answers.recommendation(model, claims)


def test_nothing_is_known_of_the_regret_of_equal_values():
    opt = Optimizer([(0.0, 1.0)], method=METHOD)
    for x in (0.1, 0.5, 0.9):
        opt.tell([x], 7.0)
    assert np.isinf(answers.optimum_posterior(*models_of(opt), 10).regret).all()


def test_the_model_for_claims_believes_less_and_is_fitted_once():
    opt = told(method=Method(Matern52(), SliceSampling(num_samples=8), LogEI()))
    model, claims = models_of(opt)
    assert claims.settings.strategy.inference == SliceSampling(num_samples=8, power=0.5)
    assert models_of(opt)[1] is claims
    assert model_of(opt) is model
    spread, wider = (np.log(found.post.hyper.lengthscales).std(axis=0).mean() for found in (model, claims))
    assert wider > spread


def test_a_model_that_is_known_or_believed_makes_its_own_claims():
    known = Fixed(Hyperparameters(np.full(told().space.domain.dimension, 0.4), 1.0, 0.1))
    for method in (
        Method(Matern52(), known, LogEI()),
        Method(Matern52(), MAP(), LogEI(), model=ModelSettings(claims_power=1.0)),
    ):
        model, claims = models_of(told(method=method))
        assert claims is model


def test_a_rough_function_has_a_wider_bound_where_its_evidence_is_doubted():
    """A bowl with ripples, of which few points show nothing: they are taken for noise, the bowl for all there is."""

    def rippled(x):
        return (
            -20.0 * ((x[0] - 0.4) ** 2 + (x[1] - 0.6) ** 2) - 2.0 * math.cos(40.0 * x[0]) - 2.0 * math.cos(40.0 * x[1])
        )

    bounds = {}
    for power in (1.0, 0.5):
        opt = Optimizer([(0.0, 1.0)] * 2, method=Method(model=ModelSettings(claims_power=power)), seed=3)
        for x in sobol(24, 2, np.random.default_rng(1)):
            opt.tell(x, rippled(x))
        bounds[power] = opt.where().regret_quantile(0.95)
    assert bounds[0.5] > 1.1 * bounds[1.0]


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
