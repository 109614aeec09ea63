"""What a method falls back to, and data that are not nice."""

import contextlib
import math
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

from xstar import Categorical, DegradedWarning, Integer, Method, Optimizer, Real, Space
from xstar.acquisition import EI, PES, Acquisition, LogEI, Prepared, Score
from xstar.engine import suggest
from xstar.errors import NumericalError, SettingsError
from xstar.gp import MAP, Matern52
from xstar.numerics.ascent import Evaluation
from xstar.search import Points

QUICK = Method(Matern52(), MAP(), acquisition=LogEI())
SMALL_PES = Method(Matern52(), MAP(), acquisition=PES(num_samples=10, num_features=128), balance=None)
BOTH = pytest.mark.parametrize("method", [QUICK, SMALL_PES], ids=["logei", "pes"])
LINE = [(0.0, 1.0)]
SPACES = [LINE, {"x0": Real(0.0, 1.0), "k": Integer(1, 4), "c": Categorical(["u", "v", "w"])}]


def bump(x):
    return -((x - 0.3) ** 2)


def told(xs=(0.1, 0.4, 0.6, 0.9), function=bump, method=SMALL_PES, **settings):
    opt = Optimizer(LINE, method=method, **settings)
    for x in xs:
        opt.tell([x], function(x))
    return opt


def ask_degraded(opt):
    """The trial, and the one warning about it."""
    with pytest.warns(DegradedWarning) as caught:
        trial = opt.ask()
    assert len(caught) == 1
    assert caught[0].filename == __file__, "the warning points at the caller"
    message = str(caught[0].message)
    assert message == (
        f"trial {trial.number} was suggested by {trial.diagnostics['method']}: {trial.diagnostics['fallback']}."
    )
    assert opt.space.contains(trial.params)
    return trial


def raising(error):
    def prepare(self, *args, **kwargs):
        raise error

    return prepare


class Hollow(Score):
    """A score that is the same, and of no use, everywhere."""

    num_problems = elements_per_point = 1

    def __init__(self, post, worth, additive):
        self.post, self.worth, self.additive = post, worth, additive

    @property
    def like(self):
        return self.post.data.X

    def value(self, X):
        return np.full(X.shape[:-1], self.worth)

    def evaluate(self, X):
        return Evaluation(self.value(X), np.full(X.shape, 0.0 * self.worth))


def hollow(worth, *, additive=False):
    return lambda self, post, *args: Prepared(Hollow(post, worth, additive))


# Fallbacks


def test_a_sound_method_needs_no_fallback():
    trial = told().ask()
    assert trial.diagnostics["method"] == "pes"
    assert trial.diagnostics["fallback"] is None
    assert trial.diagnostics["score"] > 0.0


@pytest.mark.parametrize("error", [NumericalError("it is singular"), np.linalg.LinAlgError("no"), OverflowError("far")])
def test_a_method_that_fails_gives_way_to_logei(monkeypatch, error):
    monkeypatch.setattr(PES, "prepare", raising(error))
    trial = ask_degraded(told())
    assert trial.diagnostics["method"] == "logei"
    assert trial.diagnostics["fallback"] == f"pes failed: {error}"
    assert trial.params == told(method=QUICK).ask().params, "it is the suggestion of LogEI itself"


def test_other_errors_are_not_hidden(monkeypatch):
    monkeypatch.setattr(PES, "prepare", raising(TypeError("a mistake in the code")))
    with pytest.raises(TypeError, match="a mistake in the code"):
        told().ask()


@pytest.mark.parametrize("space", SPACES, ids=["real", "mixed"])
def test_scores_that_are_not_a_number_give_way_to_logei(monkeypatch, space):
    monkeypatch.setattr(PES, "prepare", hollow(math.nan))
    opt = Optimizer(space, method=SMALL_PES, num_initial=4)
    for _ in range(4):
        trial = opt.ask()
        opt.tell(trial, bump(trial.params["x0"]))
    trial = ask_degraded(opt)
    assert trial.diagnostics["method"] == "logei"
    assert trial.diagnostics["fallback"].startswith("pes ")


def test_samples_that_are_all_dropped_give_way_to_logei(monkeypatch):
    prepare = PES.prepare

    def without_samples(self, *args):
        score = prepare(self, *args)
        score.diagnostics["dropped"] = score.diagnostics["samples"]
        return score

    monkeypatch.setattr(PES, "prepare", without_samples)
    trial = ask_degraded(told())
    assert trial.diagnostics["method"] == "logei"
    assert trial.diagnostics["fallback"] == "pes dropped all its samples"


def test_nothing_left_to_learn_gives_way_to_logei(monkeypatch):
    monkeypatch.setattr(PES, "prepare", hollow(0.0))
    trial = ask_degraded(told())
    assert trial.diagnostics["method"] == "logei"
    assert trial.diagnostics["fallback"] == "pes sees nothing left to learn"


@pytest.mark.parametrize("method", [SMALL_PES, QUICK, Method(Matern52(), MAP(), acquisition=EI())])
def test_when_all_else_fails_points_fill_the_space(monkeypatch, method):
    for kind in (PES, LogEI, EI):
        monkeypatch.setattr(kind, "prepare", raising(NumericalError("it is singular")))
    opt = told(method=method)
    seen = {ask_degraded(opt).params["x0"] for _ in range(3)}
    assert len(seen) == 3
    assert opt.trials[-1].diagnostics["method"] == "space-filling"
    assert opt.trials[-1].diagnostics["fallback"].endswith("logei failed: it is singular")
    tried = 1 if isinstance(method.acquisition, LogEI) else 2
    assert opt.trials[-1].diagnostics["fallback"].count("failed") == tried


def test_a_score_of_minus_infinity_everywhere_fills_the_space(monkeypatch):
    monkeypatch.setattr(LogEI, "prepare", hollow(-math.inf, additive=True))
    assert ask_degraded(told(method=QUICK)).diagnostics["method"] == "space-filling"


@pytest.mark.parametrize("error", [NumericalError("it is singular"), np.linalg.LinAlgError("no"), OverflowError("far")])
def test_a_model_that_cannot_be_fitted_fills_the_space(monkeypatch, error):
    monkeypatch.setattr(MAP, "infer_from", raising(error))
    trial = ask_degraded(told())
    assert trial.diagnostics == {"method": "space-filling", "fallback": f"the model could not be fitted: {error}"}


@pytest.mark.parametrize("error", [ValueError("operands could not be broadcast together"), SettingsError("no prior")])
def test_mistakes_in_the_code_of_a_model_are_not_hidden(monkeypatch, error):
    monkeypatch.setattr(MAP, "infer_from", raising(error))
    with pytest.raises(type(error), match=str(error)):
        told().ask()


@dataclass(frozen=True)
class Careless(Acquisition):
    """An acquisition of somebody's own, with shapes that do not fit."""

    def _prepare(self, post, rng, pending, region):
        class Wrong(Hollow):
            def value(self, X):
                return np.ones((3, 2)) + np.ones((4, 5))

        return Wrong(post, 1.0, additive=False)


def test_a_broadcasting_error_in_a_custom_acquisition_is_raised():
    with pytest.raises(ValueError, match="could not be broadcast"):
        told(method=Method(Matern52(), MAP(), Careless())).ask()


@pytest.mark.parametrize("value", [0.0, 0.1, 1e17 / 3, -3e300, 1e-300])
def test_constant_values_are_no_signal(value):
    opt = told(function=lambda _: value)
    points = []
    for _ in range(6):
        trial = ask_degraded(opt)
        assert trial.diagnostics["method"] == "space-filling"
        assert "no signal" in trial.diagnostics["fallback"]
        points.append(trial.params["x0"])
        opt.tell(trial, value)
    # Six points of a design leave no gap of half the space.
    assert np.diff(sorted([0.0, *points, 1.0])).max() < 0.5
    assert opt.recommend().mean == pytest.approx(value)


def test_the_first_points_fill_the_space_without_a_word():
    opt = Optimizer([(0.0, 1.0)] * 2, method=QUICK, num_initial=8)
    trials = opt.ask(8)
    assert all(trial.diagnostics == {"method": "space-filling", "fallback": None} for trial in trials)
    quarters = {tuple((trial.x > 0.5).tolist()) for trial in trials}
    assert len(quarters) == 4


def test_the_few_points_that_are_left():
    """All that is allowed of a small space; a large one, or a continuous one, has points without number."""
    space = Space(k=Integer(0, 3), c=Categorical(["u", "v"]))
    everything, settings = space.domain.everything(), Optimizer(space)._settings
    left = suggest._few_left(space.domain, Points(space.domain, everything[:3]), settings)
    assert {tuple(row) for row in left} == {tuple(row) for row in everything[3:]}
    for large in (Space(k=Integer(0, 10**6)), Space(x=Real(0.0, 1.0))):
        assert suggest._few_left(large.domain, Points(large.domain, np.zeros((0, 1))), settings) is None


# Data that are not nice


def run(method, function, count=12, outlier=None, **settings):
    """A run with every warning of NumPy as an error, maybe with an old result at 0.95."""
    opt = Optimizer(LINE, method=method, **settings)
    if outlier is not None:
        opt.tell([0.95], outlier)
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DegradedWarning)
        for k in range(count):
            trial = opt.ask()
            assert opt.space.contains(trial.params)
            opt.tell(trial, function(trial.params["x0"], k))
        best = opt.recommend()
        where = opt.where(20)
    assert np.all(np.isfinite([best.mean, best.sd]))
    assert np.all(np.isfinite(where.regret) & (where.regret >= 0.0))
    return opt, best


NASTY = {
    "huge": lambda x, k: 1e12 * bump(x),
    "tiny": lambda x, k: 1e-12 * bump(x),
    "1e300": lambda x, k: 1e300 * bump(x),
    "offset": lambda x, k: 1e12 + 100.0 * bump(x),
    "cliff": lambda x, k: -1e9 * x if x > 0.7 else bump(x),
}


@BOTH
@pytest.mark.parametrize("name", NASTY)
def test_the_optimum_is_found_whatever_the_values(method, name):
    opt, best = run(method, NASTY[name])
    assert best.params["x0"] == pytest.approx(0.3, abs=0.06)
    assert min(abs(trial.x[0] - 0.3) for trial in opt.trials) < 0.05


@BOTH
@pytest.mark.parametrize("outlier", [-1e3, -1e9, -1e300])
def test_the_optimum_is_found_in_spite_of_one_terrible_value(method, outlier):
    _, best = run(method, lambda x, k: bump(x), outlier=outlier)
    assert best.params["x0"] == pytest.approx(0.3, abs=0.06)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, k: -1e300 if x > 0.7 else bump(x),
        lambda x, k: -1e9 if k == 4 else bump(x),
        lambda x, k: 1e9 if k == 4 else bump(x),
        lambda x, k: 1e300 if k == 4 else bump(x),
        lambda x, k: (-1.0) ** k * 1e300,
        lambda x, k: (-1.0) ** k * 1e307,
        lambda x, k: 5e-324 * k,
    ],
    ids=["cliff", "-1e9", "1e9", "1e300", "signs", "largest", "denormal"],
)
def test_values_that_make_no_sense_are_survived(function):
    run(SMALL_PES, function, count=8)


@pytest.mark.parametrize("values, noise", [
    ([1e308] * 5 + [1.7e308], None), ([-1e308, 1.7e308, 1e308, 0.0, 1.0], None),
    ([1e-200, 2e-200, 3e-200, 0.0], 1e150), ([1.0, 2.0, 3.0, 0.0], 1e300), ([1e300, -1e300, 3.0, 4.0], 1e-300),
])  # fmt: skip
def test_the_largest_values_and_noises_overflow_nowhere(values, noise):
    opt = Optimizer(LINE, method=QUICK, noise=noise)
    for k, value in enumerate(values):
        opt.tell([k / len(values)], value)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DegradedWarning)
        trial, best, where = opt.ask(), opt.recommend(), opt.where(20)
        why = opt.explain(trial)
    assert np.isfinite([best.mean, best.sd, why.mean, why.sd, *where.regret]).all()


@BOTH
def test_one_high_value_is_believed(method):
    """A needle is a maximum: with noise unknown, the place is looked at again or recommended."""
    opt, best = run(method, lambda x, k: 1e9 if k == 4 else bump(x), noise=0.0)
    assert best.params["x0"] == pytest.approx(opt.trials[4].x[0], abs=0.01)


@BOTH
@pytest.mark.parametrize("spread", [0.0, 1e-3, 0.3], ids=["same", "nearly", "different"])
@pytest.mark.parametrize("noise", [None, 0.0], ids=["learned", "none"])
def test_duplicated_points(method, spread, noise):
    opt = Optimizer(LINE, method=method, noise=noise)
    contradicts = noise == 0.0 and spread > 0.0
    with pytest.warns(UserWarning, match="no noise, but different") if contradicts else contextlib.nullcontext():
        for k, x in enumerate((0.1, 0.5, 0.8) * 4):
            opt.tell([x], bump(x) + spread * (-1) ** (k // 3))
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        trial = opt.ask()
        mean, sd = opt.predict([[0.1], [0.5], [0.8]])
    assert opt.space.contains(trial.params)
    assert trial.params["x0"] not in (0.1, 0.5, 0.8)
    # The replicates average to the function.
    np.testing.assert_allclose(mean, [bump(0.1), bump(0.5), bump(0.8)], atol=0.02 + 0.5 * spread)
    assert np.isfinite(sd).all()


@BOTH
def test_points_closer_than_rounding(method):
    opt = Optimizer(LINE, method=method, noise=0.0)
    for step in range(6):
        opt.tell([0.5 + step * 1e-15], bump(0.5))
    opt.tell([0.2], bump(0.2))
    trial = opt.ask()
    assert trial.diagnostics["fallback"] is None
    assert opt.space.contains(trial.params)


@BOTH
@pytest.mark.parametrize("bounds", [(1e15, 1e15 + 4.0), (-1e-300, 1e-300), (-1.7e308, 1.7e308)], ids=str)
def test_strange_bounds(method, bounds):
    opt = Optimizer([bounds], method=method)
    for value in (0.3, 0.1, 0.4, 0.15, 0.2):
        trial = opt.ask()
        assert bounds[0] <= trial.params["x0"] <= bounds[1]
        opt.tell(trial, value)
    assert bounds[0] <= opt.recommend().params["x0"] <= bounds[1]


@BOTH
def test_a_logarithm_over_three_hundred_decades(method):
    opt = Optimizer({"x": Real(1e-300, 1.0, log=True)}, method=method)
    for _ in range(10):
        trial = opt.ask()
        opt.tell(trial, -abs(math.log10(trial.params["x"]) + 100.0))
    assert math.log10(opt.recommend().params["x"]) == pytest.approx(-100.0, abs=15.0)
