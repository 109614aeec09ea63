"""The same suggestions wherever they are computed."""

import warnings

import numpy as np
import pytest

import xstar
from xstar import Categorical, Integer, Optimizer, Real
from xstar.acquisition import EI, PES
from xstar.errors import SettingsError
from xstar.gp import MAP, Matern52, SliceSampling
from xstar.methods import Method
from xstar.numerics.arrays import on

pytestmark = pytest.mark.extras

SMALL = Method(inference=SliceSampling(num_samples=4), acquisition=PES(num_samples=12, num_features=128))


def height(params):
    values = [value for value in params.values() if isinstance(value, int | float)]
    return float(np.sin(4.0 * values[0]) - np.sum((np.asarray(values, dtype=float) - 0.6) ** 2))


def history(space, compute, method, count=9, **settings):
    opt = Optimizer(space, compute=compute, method=method, seed=1, **settings)
    for _ in range(count):
        trial = opt.ask()
        opt.tell(trial, height(trial.params))
    return opt


@pytest.mark.parametrize("method", [SMALL, Method(Matern52(), MAP(), EI())], ids=["pes", "ei"])
def test_a_run_takes_the_same_course(method):
    """Point by point, to 1e-6 of the range: what differs is rounding, and every point depends on those before it."""
    space = [(0.0, 1.0), (0.0, 1.0)]
    here, there = (history(space, compute, method) for compute in ("numpy", "torch:cpu"))
    for one, other in zip(here.trials, there.trials, strict=True):
        np.testing.assert_allclose(list(other.params.values()), list(one.params.values()), atol=1e-6)
    one, other = here.recommend(), there.recommend()
    np.testing.assert_allclose(list(other.params.values()), list(one.params.values()), atol=1e-5)
    assert other.mean == pytest.approx(one.mean, abs=1e-6)
    assert other.sd == pytest.approx(one.sd, rel=1e-4)


def test_everything_that_is_known_comes_back_to_the_host():
    opt = history({"x": Real(0.0, 1.0), "k": Integer(1, 4), "c": Categorical(["u", "v"])}, "torch", SMALL)
    opt.fail(opt.ask(), "too hot")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", xstar.DegradedWarning)
        trial = opt.ask()
    assert opt.explain(trial).bits >= 0.0
    assert len(opt.where(10).params["x"]) == 10
    mean, sd = opt.predict([trial])
    assert type(mean) is type(sd) is np.ndarray
    assert type(opt.information([trial])) is np.ndarray
    assert len(opt.ask(2)) == 2


def test_where_to_compute_is_not_stored(tmp_path):
    path = tmp_path / "study.json"
    opt = history([(0.0, 1.0)], "torch", SMALL, count=4)
    opt.save(path)
    assert "torch" not in path.read_text()
    assert Optimizer.load(path).compute == "numpy"
    again = Optimizer.load(path, compute="torch:cpu")
    assert again.compute == again.with_trials(again.trials).compute == "torch:cpu"
    assert (
        xstar.maximize(lambda x: -float(x[0]), [(0.0, 1.0)], 4, method=SMALL, compute="torch", progress=False).x[0] < 1
    )


@pytest.mark.parametrize("bad", ["cuda", "gpu", "", 3, None, "torch:nowhere", "torch:cuda:99", "numpy:cpu", "cupy:1"])
def test_places_that_are_not_there_are_named(bad):
    with pytest.raises(SettingsError, match='compute must be "numpy", "torch:cuda" or another device of torch'):
        Optimizer([(0.0, 1.0)], compute=bad)


def test_the_array_that_others_are_put_beside():
    assert isinstance(on("numpy"), np.ndarray)
    import torch

    assert on("torch").dtype == torch.float64
    assert str(on("torch:cpu").device) == "cpu"
