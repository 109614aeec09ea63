"""Models: kept while they hold, and what they say of themselves."""

import numpy as np
import pytest

from xstar import Method, Optimizer
from xstar.acquisition import PES, LogEI, Thompson
from xstar.engine import Models, cache
from xstar.gp import MAP, Matern52, SliceSampling

LINE = [(0.0, 1.0)]
XS = (0.05, 0.3, 0.5, 0.7, 0.95)


def told(method="logei", xs=XS, models=None, **settings):
    opt = Optimizer.from_trials([], LINE, method=method, models=models, **settings)
    for x in xs:
        opt.tell([x], np.sin(6.0 * x))
    return opt


@pytest.fixture
def fits(monkeypatch):
    counted = []
    honest = cache.fit
    monkeypatch.setattr(cache, "fit", lambda *args: counted.append(args) or honest(*args))
    return counted


def test_one_fit_serves_all_questions_about_the_same_results(fits):
    opt = told()
    opt.ask()
    opt.ask(2)
    opt.recommend()
    opt.where(10)
    opt.predict([[0.5]])
    opt.information([[0.5]])
    opt.explain([0.2])
    assert len(fits) == 1
    opt.tell([0.2], 0.1)
    opt.recommend()
    assert len(fits) == 2


def test_an_explanation_of_a_result_does_not_push_the_model_out(fits):
    opt = told()
    opt.recommend()
    for _ in range(2):
        opt.explain(opt.trials[0])
        opt.recommend()
    assert len(fits) == 2


def test_optimizers_may_share_models(fits):
    models = Models()
    told(models=models).recommend()
    told(models=models).recommend()
    assert len(fits) == 1
    told(models=models, seed=1).recommend()
    told(models=models, method="pes").recommend()
    assert len(fits) == 3
    told().recommend()
    assert len(fits) == 4, "not without being asked to"


def test_only_the_latest_models_are_kept(fits):
    models = Models()
    for xs in (XS, XS[:3], XS[:4], XS):
        told(models=models, xs=xs).recommend()
    assert len(fits) == 4


def test_diagnostics_say_how_hyperparameters_were_inferred():
    plain = told(Method(Matern52(), MAP(), LogEI())).ask().diagnostics
    assert plain["kernel"] == "Matern52"
    assert plain["inference_converged"] is True
    assert plain["likelihood_evaluations"] > 100
    assert plain["effective_sample_size"] is None
    long = told(Method(Matern52(), SliceSampling(num_samples=4, thin=8), LogEI())).ask().diagnostics
    assert 0.9 < long["r_hat"] < 3.0
    assert 1.0 < long["effective_sample_size"] < 200.0


def test_several_thompson_samples_are_all_used_by_the_optimizer():
    """The point of the highest of three paths; with one path, its own."""
    opt = told(Method(Matern52(), MAP(), Thompson(num_samples=3)))
    trial = opt.ask()
    assert trial.diagnostics["samples"] == 3
    model = opt._models.model(opt._settings, opt._gather())
    score = model.prepare(Thompson(num_samples=3), np.random.default_rng([0, 2, trial.number]), np.zeros((0, 1)))
    grid = np.linspace(0.0, 1.0, 2001)[:, None]
    paths = score.score.paths(grid)
    assert trial.diagnostics["score"] == pytest.approx(paths.max(), abs=1e-4)
    assert paths.max(axis=1).argmax() != paths.max(axis=1).argmin(), "the paths differ"


def test_information_is_that_of_the_methods_own_search_or_of_the_default():
    own = Method(Matern52(), MAP(), PES(num_samples=10, num_features=64))
    one, other = (told(method).information([[0.2], [0.6]]) for method in (own, Method(Matern52(), MAP(), LogEI())))
    assert one.shape == other.shape == (2,)
    assert np.all(one > 0.0)
    assert np.all(other > 0.0)
    assert not np.allclose(one, other, rtol=1e-6)
