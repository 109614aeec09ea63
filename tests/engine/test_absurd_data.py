"""Whatever finite data are told, every question to an optimizer has an answer of finite numbers."""

import math

import numpy as np
import pytest

from xstar import Categorical, Integer, Method, Optimizer, Real
from xstar.acquisition import PES, LogEI
from xstar.gp import MAP, Matern52

QUICK = Method(Matern52(), MAP(), acquisition=LogEI())
SMALL_PES = Method(Matern52(), MAP(), acquisition=PES(num_samples=10, num_features=128))
WIDEST = 1.7e308
MIXED = {"x": Real(0.0, 1.0), "k": Integer(1, 5), "c": Categorical(["u", "v", "w"])}
SOUND = [({"x": x}, -((x - 0.3) ** 2), None) for x in (0.1, 0.5, 0.9, 0.7)]


def at(x, value, sd=None):
    return {"x": x}, value, sd


CASES = {
    "a failure far away": (Real(0.0, 1.0), [*SOUND, at(1e300, None)]),
    "failures at both ends of the numbers": (Real(0.0, 1.0), [*SOUND, at(-WIDEST, None), at(WIDEST, None)]),
    "a value far away": (Real(0.0, 1.0), [*SOUND, at(1e308, 3.0)]),
    "the only value far away": (Real(0.0, 1.0), [at(1e308, 3.0), at(-1e308, 2.0)]),
    "far away by logarithm": (Real(1e-5, 0.1, log=True), [at(1e-3, 1.0), at(1e300, 2.0), at(5e-324, 2.5)]),
    "far from the smallest range": (Real(0.0, 1e-308), [at(1e-310, 1.0), at(1e308, 2.0), at(5e-320, 2.5)]),
    "a lattice": (Real(0.0, 1.0, step=0.1), [at(0.5, 1.0), at(1e308, 2.0), at(0.7, 1.5), at(-1e308, None)]),
    "no noise like it": (Real(0.0, 1.0), [at(x["x"], value, 1e200) for x, value, _ in SOUND]),
    "one value without bounds": (Real(0.0, 1.0), [at(0.5, 1.0, 1e308)]),
    "all kinds of noise": (Real(0.0, 1.0), [at(0.1, 1.0, 1e200), at(0.2, 2.0, 0.0), at(0.3, 3.0, 1e-300)]),
    "the largest values": (Real(0.0, 1.0), [at(0.1, WIDEST), at(0.5, -WIDEST), at(0.9, WIDEST)]),
    "the largest and others": (
        Real(0.0, 1.0), [at(0.1 * k, v) for k, v in enumerate([WIDEST, -WIDEST, 0.0, 1.0, 2.0, 2.5])]
    ),
    "the smallest and the largest": (
        Real(0.0, 1.0), [at(0.1 * k, v) for k, v in enumerate([5e-324, 0.0, 1e-310, WIDEST, -WIDEST, 1e-300, 2e-300])]
    ),
}  # fmt: skip


def told(parameters, data, method):
    opt = Optimizer(parameters, method=method, num_initial=2)
    for params, value, sd in data:
        _ = opt.fail(params) if value is None else opt.tell(params, value, sd)
    return opt


def finite(*numbers):
    return all(np.isfinite(np.asarray(part, dtype=np.float64)).all() for part in numbers)


@pytest.mark.filterwarnings("ignore::xstar.DegradedWarning")
@pytest.mark.parametrize("method", [QUICK, SMALL_PES], ids=["logei", "pes"])
@pytest.mark.parametrize("name", CASES)
def test_every_question_is_answered(name, method):
    parameter, data = CASES[name]
    check(told({"x": parameter}, data, method))


@pytest.mark.parametrize("method", [QUICK, SMALL_PES], ids=["logei", "pes"])
def test_every_question_is_answered_of_a_mixed_space(method):
    data = [
        ({"x": 1e308, "k": 10**20, "c": "u"}, 1e308, None), ({"x": 0.5, "k": 2, "c": "v"}, -1e308, None),
        ({"x": 0.7, "k": 3, "c": "w"}, 1.0, None), ({"x": -1e308, "k": 10**200, "c": "v"}, None, None),
    ]  # fmt: skip
    check(told(MIXED, data, method))


def check(opt):
    points = [trial.params for trial in opt.trials]
    best, where = opt.recommend(), opt.where(20)
    assert opt.space.contains(best.params)
    assert finite(best.mean, best.sd, best.feasibility)
    assert "nan" not in f"{best} {where}"
    assert finite(*opt.predict(points), *opt.interval(points), opt.information(points), opt.plausible)
    assert finite(opt.similarity(points, points))
    assert np.all(np.asarray(opt.predict(points)[1]) >= 0.0)
    importance = opt.importance(16)
    assert "nan" not in str(importance)
    assert finite(opt.calibration().z)
    explained = opt.explain(points[0])
    assert finite(explained.bits, explained.mean, explained.sd, explained.nearest, explained.feasibility)
    assert opt.best_observed is None or math.isfinite(opt.best_observed.value)
    assert opt.space.contains(opt.ask().params)
