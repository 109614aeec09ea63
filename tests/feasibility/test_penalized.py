"""Functions penalized where evaluations are not likely to be feasible: scores, and sample paths."""

import numpy as np
import pytest

from tests.oracles import differences
from xstar.acquisition import EI, ES, PES, LogEI, Prepared, Thompson
from xstar.acquisition.mean import MeanScore
from xstar.feasibility import Feasibility, FeasibilitySettings, Penalized
from xstar.feasibility.latent import Latent
from xstar.gp import Hyperparameters, Matern52, Posterior, draw_paths
from xstar.search import BoxSearch

GOOD = np.array([[0.1], [0.35], [0.2]])
FAILED = np.array([[0.7], [0.85]])


def posterior():
    X = np.array([[0.1], [0.35], [0.2], [0.5]])
    return Posterior(Matern52(), Hyperparameters([[0.3], [0.2]], [1.0, 1.3], [0.1, 0.05]), X, np.sin(7.0 * X[:, 0]))


SCORES = {
    "PES": lambda: PES(8, 100).prepare(posterior(), np.random.default_rng(0)),
    "EI": lambda: EI().prepare(posterior(), np.random.default_rng(0)),
    "LogEI": lambda: LogEI().prepare(posterior(), np.random.default_rng(0)),
    "Thompson": lambda: Thompson(1, 100).prepare(posterior(), np.random.default_rng(0)),
    "mean": lambda: Prepared(MeanScore(posterior().by_problem())),
}
Z = np.array([[0.03], [0.27], [0.44], [0.62], [0.93]])


def huber(feasibility, log_p):
    """What is missing to the level, beginning with a parabola."""
    onset, short = feasibility.settings.onset, np.maximum(feasibility.floor - log_p, 0.0)
    return np.where(short < onset, short**2 / (2.0 * onset), short - 0.5 * onset)


def slopes_of(objective, Z):
    there = objective.evaluate(Z[None], np.array([0]))
    return there.value[0], there.gradient[0]


@pytest.mark.parametrize("name, additive", [("PES", 0), ("EI", 0), ("LogEI", 1), ("Thompson", 1), ("mean", 1)])
@pytest.mark.parametrize("power, steepness", [(1.0, 0.0), (6.0, 0.0), (0.0, 10.0), (1.0, 10.0)])
def test_weighed_scores_and_their_gradients(name, additive, power, steepness):
    settings = FeasibilitySettings(steepness=steepness, steepness_of_logarithms=steepness)
    plain, feasibility = SCORES[name](), Feasibility.fit(GOOD, FAILED, settings=settings)
    assert bool(plain.additive) == bool(additive)
    weighed = feasibility.weigh(plain, power=power, additive=plain.additive)
    log_p = feasibility.log_probability(Z)
    penalty = power * log_p - steepness * huber(feasibility, log_p)
    expected = plain(Z) + penalty if additive else plain(Z) * np.exp(penalty)
    np.testing.assert_allclose(weighed.value(Z[None], np.array([0]))[0], expected, rtol=1e-9)
    value, gradient = slopes_of(weighed, Z)
    np.testing.assert_allclose(value, expected, rtol=1e-9)
    slopes = np.stack([
        differences.gradient(lambda z: weighed.value(z[None, None], np.array([0]))[0, 0], z, 1e-4) for z in Z
    ])  # fmt: skip
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-6 * np.abs(slopes).max())
    np.testing.assert_allclose(weighed.screen(Z), value[None], rtol=1e-5)


def test_scores_that_are_logarithms_fall_more_steeply():
    feasibility = Feasibility.fit(GOOD, FAILED)
    for name, steepness in (("EI", 200.0), ("LogEI", 1e12)):
        score = SCORES[name]()
        assert feasibility.weigh(score, power=1.0, additive=score.additive).steepness == steepness


def test_many_functions_at_once_are_penalized_each():
    """Sample paths, of which each has points of its own."""
    paths = draw_paths(posterior(), 3, np.random.default_rng(0), num_features=100)
    feasibility = Feasibility.fit(GOOD, FAILED, settings=FeasibilitySettings(steepness=7.0))
    restricted = feasibility.restrict(paths)
    x, problems = np.random.default_rng(1).random((paths.num_problems, 4, 1)), np.arange(paths.num_problems)
    short = huber(feasibility, feasibility.log_probability(x.reshape(-1, 1))).reshape(x.shape[:2])
    assert np.any(short > 0.0)
    expected = paths.value(x, problems) - 7.0 * short
    np.testing.assert_allclose(restricted.value(x, problems), expected, rtol=1e-9)
    np.testing.assert_allclose(restricted.evaluate(x, problems).value, expected, rtol=1e-9)
    np.testing.assert_allclose(restricted.evaluate_roughly(x, problems).value, expected, rtol=1e-4, atol=1e-4)
    assert restricted.screen(x[0]).shape == (paths.num_problems, 4)


def test_penalized_paths_keep_their_hessians():
    """At a likely point the Hessian is that of the path; below the level it leads to the level."""
    paths = draw_paths(posterior(), 1, np.random.default_rng(0), num_features=100)
    feasibility, problems = Feasibility.fit(GOOD, FAILED), np.arange(paths.num_problems)
    x = np.broadcast_to(Z, (paths.num_problems, *Z.shape))
    plain, restricted = paths.evaluate(x, problems), feasibility.restrict(paths).evaluate(x, problems)
    log_p, slope = feasibility.log_probability_gradient(Z)
    likely = log_p >= feasibility.floor
    assert 0 < likely.sum() < len(Z)
    np.testing.assert_allclose(restricted.hessian[:, likely], plain.hessian[:, likely], rtol=1e-12)
    added, bend = restricted.gradient - plain.gradient, restricted.hessian - plain.hessian
    step = -added[:, ~likely, 0] / bend[:, ~likely, 0, 0]
    reached = log_p[~likely] + slope[~likely, 0] * step
    np.testing.assert_allclose(reached, np.full_like(reached, feasibility.floor), rtol=1e-9)


def test_a_maximum_at_the_border_is_found_in_a_few_steps():
    """Paths that rise into the failing region are climbed by Newton, not by the kink of a penalty."""
    X = np.array([[0.02, 0.3], [0.15, 0.8], [0.3, 0.1], [0.33, 0.6]])
    post = Posterior(Matern52(), Hyperparameters([[0.4, 0.6]], [1.5], [0.01]), X, 3.0 * X[:, 0])
    feasibility = Feasibility.fit(X, np.array([[0.4, 0.2], [0.5, 0.5], [0.7, 0.9], [0.9, 0.3]]))
    paths = draw_paths(post, 20, np.random.default_rng(0))
    found = BoxSearch().maximize(feasibility.restrict(paths), np.random.default_rng(1).random((256, 2)))
    held = feasibility.binds(found.x)
    assert held.sum() > 5
    assert found.converged.all()
    assert np.median(found.iterations) <= 10
    assert found.iterations.max() <= 40
    assert feasibility.is_likely(found.x).all()


def test_slopes_are_computed_only_where_the_penalty_has_one(monkeypatch):
    feasibility = Feasibility.fit(GOOD, FAILED)
    rows = []
    pull_back = Latent.pull_back
    monkeypatch.setattr(Latent, "pull_back", lambda self, x, *parts: rows.append(len(x)) or pull_back(self, x, *parts))
    below = feasibility.log_probability(Z) < feasibility.floor
    feasibility.penalty(Z)
    assert not rows
    feasibility.penalty_derivatives(Z)
    assert sum(rows) == below.sum() < len(Z)


@pytest.mark.parametrize("acquisition", [PES(8, 100), ES(8)], ids=["PES", "ES"])
def test_products_are_never_negative(acquisition):
    X = np.linspace(0.0, 1.0, 101)[:, None]
    plain = acquisition.prepare(posterior(), np.random.default_rng(0))
    value, gradient = slopes_of(Penalized(plain, Feasibility.fit(GOOD, FAILED), power=5.0, additive=False), X)
    assert np.all(value >= 0.0)
    assert np.isfinite(gradient).all()
    assert np.all(value <= np.maximum(plain(X), 0.0) + 1e-15)
