"""What feasibility does to a search."""

import functools
import math

import numpy as np
import pytest

from xstar import Method, Optimizer
from xstar.acquisition import PES, LogEI
from xstar.entropy.constraints import constrain
from xstar.entropy.maximizers import draw_maximizers
from xstar.feasibility import Feasibility
from xstar.gp import MAP, Hyperparameters, Matern52, Posterior, SquaredExponential
from xstar.search import Region, cube

# What it does to a search: 65 % of the box fails

METHODS = {
    "logei": Method(Matern52(), MAP(), acquisition=LogEI()),
    "pes": Method(Matern52(), MAP(), acquisition=PES(num_samples=10, num_features=128)),
}
PROBLEMS = {
    "left": (lambda x: -((x - 0.85) ** 2), lambda x: x < 0.65),
    "right": (lambda x: -((x - 0.15) ** 2), lambda x: x > 0.35),
    "middle": (lambda x: math.sin(12.0 * x) + x, lambda x: 0.175 < x < 0.825),
    "both ends": (lambda x: math.sin(10.0 * x), lambda x: abs(x - 0.5) > 0.175),
    "optimum at the border, left": (lambda x: -x, lambda x: x < 0.65),
    "optimum at the border, right": (lambda x: 3.0 * x, lambda x: x > 0.35),
}


@functools.cache
def search(name, method, seed):
    """How many of 20 suggestions after the first 5 failed, and the optimizer."""
    function, fails = PROBLEMS[name]
    opt = Optimizer([(0.0, 1.0)], method=METHODS[method], seed=seed, num_initial=5)
    failures = 0
    for k in range(25):
        trial = opt.ask()
        x = trial.params["x0"]
        if fails(x):
            opt.fail(trial)
            failures += k >= 5
        else:
            opt.tell(trial, function(x))
    return failures, opt


RUNS = pytest.mark.parametrize("method, seed", [("logei", 0), pytest.param("pes", 1, marks=pytest.mark.slow)])
# Tests share searches: all of them run in one of pytest's workers.
pytestmark = [pytest.mark.filterwarnings("ignore::xstar.DegradedWarning"), pytest.mark.xdist_group("failures")]


@RUNS
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_search_stays_away_from_a_failing_region(name, method, seed):
    failures, _ = search(name, method, seed)
    assert failures <= 3


def test_maxima_held_back_by_infeasibility_may_have_a_slope():
    """The function rises to the border and, for all we know, beyond: its maximum is not stationary there."""
    X = np.array([[0.02], [0.15], [0.3], [0.33]])
    post = Posterior(Matern52(), Hyperparameters([[0.4]], [1.5], [0.01]), X, 3.0 * X[:, 0])
    feasibility = Feasibility.fit(X, np.array([[0.37], [0.5], [0.7], [0.9]]))
    free = draw_maximizers(post, 40, np.random.default_rng(0))
    held = draw_maximizers(post, 40, np.random.default_rng(0), region=Region(cube(1), feasibility))
    assert np.mean(free.x) > 0.5
    assert free.stationary.all()
    assert np.all(held.x < 0.4)
    assert np.mean(~held.stationary) > 0.5
    slopes = held.paths.derivatives(held.x[..., None, :]).gradient[..., 0, 0]
    assert np.all(slopes[~held.stationary] > 0.1)
    constraints = constrain(held, 0)
    assert not np.any(constraints.equal[~held.stationary])


def recommended(name, method, seed):
    """The recommended point, and whether it is next to the best of what works: it keeps a little off the border."""
    function, fails = PROBLEMS[name]
    x = search(name, method, seed)[1].recommend().params["x0"]
    assert not (fails(x - 0.01) and fails(x) and fails(x + 0.01)), "it fails, and that is more than a hundredth away"
    works = [z for z in np.linspace(0.0, 1.0, 1001) if not fails(z)]
    return max(function(z) for z in works if abs(z - x) < 0.03) > max(map(function, works)) - 0.05


HILLS = ("middle", "both ends")
"""One of these problems has two islands to find, the other a hill at each end of what works."""


@RUNS
@pytest.mark.parametrize("name", [name for name in PROBLEMS if name not in HILLS])
def test_the_best_of_what_works_is_recommended(name, method, seed):
    assert recommended(name, method, seed)


@pytest.mark.slow
@pytest.mark.slow
@RUNS
def test_the_best_of_two_hills_at_the_border_is_recommended(method, seed):
    """In two of three searches at least: a search that has found the lower one may stay there."""
    assert sum(recommended("both ends", method, seed + k) for k in range(3)) >= 2


def test_a_place_that_failed_is_not_asked_for_again():
    """A smooth kernel is sure that a line goes on rising: its maximum is at 1, where every evaluation fails."""
    opt = Optimizer([(0.0, 1.0)], method=Method(SquaredExponential(), MAP(), PES(10, 128)), seed=2, num_initial=5)
    failed = []
    for _ in range(15):
        trial = opt.ask()
        assert all(abs(trial.params["x0"] - x) > 1e-6 for x in failed)
        if trial.params["x0"] > 0.35:
            failed.append(trial.params["x0"])
            opt.fail(trial)
        else:
            opt.tell(trial, 3.0 * trial.params["x0"])
