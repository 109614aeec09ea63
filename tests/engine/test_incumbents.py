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
    monkeypatch.setattr("xstar.engine.incumbents._trust_in_values", lambda *_: np.ones(3))

    def chosen(settings):
        return recommend(None, observed, tested, best, Method(model=settings))[:, 0].tolist()

    # Where 1 is not enough to leave the observed point for the tested one, 2 may be, for the best.
    assert chosen(cautious(1.0)) == [3.0, 1.0, 3.0]
    assert chosen(cautious(0.0)) == [3.0, 3.0, 3.0]
    assert chosen(ModelSettings(caution=10.0, caution_among_tested=0.0)) == [2.0, 2.0, 2.0]
    assert chosen(cautious(10.0)) == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("noise", "inference", "caution", "expected"),
    [
        (0.09, MAP(), 1e6, "observed"),
        (0.31, MAP(), 1e6, "tested"),
        (0.31, MAP(), 0.0, "best"),
        (0.04, Fixed(HYPER), 1e6, "best"),
    ],
    ids=["little noise", "much", "no caution", "model known"],
)
def test_values_are_trusted_if_they_have_little_noise_and_the_model_is_learned(noise, inference, caution, expected):
    values = np.array([0.3, 1.4, -0.4, 0.8])
    post = Posterior(SquaredExponential(), Hyperparameters([[0.4, 0.5]], [2.0], [2.0 * noise]), X, values)
    grid = np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, 51)] * 2), axis=-1).reshape(-1, 2)
    highest = grid[[int(np.argmax(post.predict(grid)[0]))]]
    rows = {"observed": X[3:4], "tested": X[1:2], "best": highest}
    heights = [post.predict(row)[0].item() for row in rows.values()]
    assert heights == sorted(set(heights)), "there is a choice to be made"
    chosen = recommend(post, *rows.values(), Method(inference=inference, model=cautious(caution)))
    np.testing.assert_array_equal(chosen, rows[expected])


def test_of_several_best_values_the_one_with_the_best_mean_is_recommended():
    for mirrored in (False, True):
        opt = Optimizer(
            {"x": Real(0.0, 1.0)}, method=Method(Matern52(), MAP(), LogEI(), model=cautious(1e9)), noise=0.0
        )
        for x, value in ((0.05, 0.0), (0.12, 1.0), (0.5, 0.0), (0.75, 0.8), (0.84, 1.0), (0.92, 0.9)):
            opt.tell({"x": 1.0 - x if mirrored else x}, value)
        means, _ = opt.predict([{"x": 1.0 - x if mirrored else x} for x in (0.12, 0.84)])
        best = (0.12, 0.84)[int(np.argmax(means))]
        assert opt.recommend().params["x"] == pytest.approx(1.0 - best if mirrored else best)


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
