"""Which point is recommended."""

import numpy as np
import pytest

from xstar import Categorical, Method, Optimizer, Real
from xstar.acquisition import LogEI
from xstar.engine.incumbents import difference, recommend
from xstar.errors import TrialError
from xstar.gp import MAP, Fixed, Hyperparameters, Matern52, Posterior, SquaredExponential, draw_paths
from xstar.methods import ModelSettings

X = np.array([[0.1, 0.2], [0.5, 0.6], [0.9, 0.3], [0.4, 0.8]])
Y = np.array([0.3, 1.0, -0.4, 0.8])
HYPER = Hyperparameters([[0.4, 0.5], [0.7, 0.3]], [1.0, 1.3], [0.1, 0.2])


def cautious(caution):
    return ModelSettings(caution=caution, caution_among_tested=caution)


def told(noise=None, caution=0.5, xs=(0.0, 0.2, 0.45, 0.7, 1.0), direction="maximize"):
    method = Method(Matern52(), MAP(), LogEI(), model=cautious(caution))
    opt = Optimizer({"x": Real(0.0, 1.0)}, direction, method, noise=noise, num_initial=3)
    sign = 1.0 if direction == "maximize" else -1.0
    for x in xs:
        opt.tell({"x": x}, -sign * (x - 0.3) ** 2)
    return opt


def test_the_difference_is_that_of_sampled_functions(rng):
    post = Posterior(SquaredExponential(), HYPER, X, Y)
    points, others = np.array([[0.55, 0.6]]), np.array([[0.2, 0.3]])
    gain, sd = difference(post, points, others)
    values = draw_paths(post.by_problem(), 4000, rng)(np.concatenate([points, others]))
    gaps = np.asarray(values)[..., 0] - np.asarray(values)[..., 1]
    assert gain == pytest.approx(gaps.mean(), abs=5.0 * sd[0] / np.sqrt(8000))
    assert sd == pytest.approx(gaps.std(), rel=0.06)


def test_problems_together_are_as_each_alone(rng):
    together = Posterior(SquaredExponential(), HYPER, X[None, None] + np.zeros((3, 1, 1, 1)), rng.random((3, 1, 4)))
    points, others = rng.random((3, 2)), rng.random((3, 2))
    gain, sd = difference(together, points, others)
    for r in range(3):
        alone = difference(together.take(np.array([r])), points[r : r + 1], others[r : r + 1])
        assert (gain[r], sd[r]) == (pytest.approx(alone[0][0]), pytest.approx(alone[1][0]))


def test_of_a_point_and_itself_the_difference_is_nothing():
    gain, sd = difference(Posterior(SquaredExponential(), HYPER, X, Y), X[:1], X[:1])
    assert gain[0] == 0.0
    assert sd[0] == pytest.approx(0.0, abs=1e-6)


def test_who_is_recommended_depends_on_what_is_known(monkeypatch):
    """Gains of 1, in units of a standard deviation that differs from problem to problem."""
    observed, tested, best = (np.full((3, 1), value) for value in (1.0, 2.0, 3.0))

    def gap(_, points, others):
        return (points - others)[:, 0], np.array([0.5, 2.5, 1.5])

    monkeypatch.setattr("xstar.engine.incumbents.difference", gap)
    # Where 1 is not enough to leave the observed point for the tested one, 2 may be, for the best.
    assert recommend(None, observed, tested, best, cautious(1.0))[:, 0].tolist() == [3.0, 1.0, 3.0]
    assert recommend(None, observed, tested, best, cautious(0.0))[:, 0].tolist() == [3.0, 3.0, 3.0]
    apart = ModelSettings(caution=10.0, caution_among_tested=0.0)
    assert recommend(None, observed, tested, best, apart)[:, 0].tolist() == [2.0, 2.0, 2.0]
    assert recommend(None, observed, tested, best, cautious(10.0))[:, 0].tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_without_caution_the_best_mean_is_recommended(direction):
    opt = told(0.0, 0.0, direction=direction)
    best = opt.recommend()
    assert best.params["x"] == pytest.approx(0.3, abs=0.03)
    assert not best.confirmed


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_with_much_caution_it_is_the_best_trial(direction):
    opt = told(0.0, 1e9, direction=direction)
    best = opt.recommend()
    assert best.params == opt.best_observed.params == {"x": 0.2}
    assert best.confirmed
    assert best.mean == pytest.approx(opt.best_observed.value, abs=1e-4)


def test_a_lucky_value_is_not_recommended_where_the_noise_is_known():
    """Five honest values at one place, and a single one that is better by luck at a bad place."""
    method = Method(SquaredExponential(), Fixed(Hyperparameters([0.1], 1.0, 0.5)), LogEI())
    opt = Optimizer({"x": Real(0.0, 1.0)}, method=method, noise=0.5)
    for _ in range(20):
        opt.tell({"x": 0.3}, 1.0)
        opt.tell({"x": 0.8}, -1.0)
    opt.tell({"x": 0.8}, 1.2)
    assert opt.best_observed.params["x"] == 0.8
    assert opt.recommend().params["x"] == pytest.approx(0.3, abs=0.1)
    assert opt.recommend(tested=True).params["x"] == 0.3


def test_a_tested_point_may_be_asked_for():
    opt = told(0.0, 0.0)
    tested = opt.recommend(tested=True)
    assert tested.confirmed
    assert tested.params["x"] in {trial.params["x"] for trial in opt.trials}
    mean, sd = opt.predict([tested.params])
    assert (tested.mean, tested.sd) == (pytest.approx(mean[0]), pytest.approx(sd[0]))
    assert tested.mean <= opt.recommend().mean
    assert "(evaluated)" in tested.value_in_words
    assert "(not evaluated yet)" in opt.recommend().value_in_words


def test_what_lies_outside_the_space_is_not_recommended_as_tested():
    opt = Optimizer({"x": Real(0.0, 1.0)}, method=Method(Matern52(), MAP(), LogEI()), noise=0.0)
    opt.tell({"x": 1.5}, 10.0)
    with pytest.raises(TrialError, match="no point of the space has been evaluated yet"):
        opt.recommend(tested=True)
    assert not opt.recommend().confirmed
    opt.tell({"x": 0.5}, 1.0)
    assert opt.recommend(tested=True).params["x"] == 0.5


def test_where_evaluations_fail_the_best_trial_must_be_likely_to_be_feasible():
    opt = Optimizer({"x": Real(0.0, 1.0)}, method=Method(Matern52(), MAP(), LogEI()), noise=0.0)
    for x in np.linspace(0.05, 0.6, 8):
        opt.tell({"x": float(x)}, float(x))
    opt.tell({"x": 0.71}, 2.0)
    for x in (0.7, 0.72, 0.8, 0.9, 1.0):
        opt.fail({"x": x})
    tested = opt.recommend(tested=True)
    assert tested.params["x"] <= 0.6
    assert tested.feasibility > 0.9


def test_legal_points_of_a_mixed_space():
    method = Method(Matern52(), MAP(), LogEI())
    opt = Optimizer({"x": Real(0.0, 1.0), "c": Categorical(["u", "v"])}, method=method, noise=0.0)
    for x, c in ((0.1, "u"), (0.3, "v"), (0.6, "u"), (0.9, "v")):
        opt.tell({"x": x, "c": c}, -((x - 0.3) ** 2) + (c == "v"))
    assert opt.recommend(tested=True).params == {"x": 0.3, "c": "v"}
