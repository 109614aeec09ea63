"""Pictures are drawn, of the right things, without pyplot."""

import sys

import numpy as np
import pytest

from xstar import Categorical, Integer, Method, Optimizer, Real, plots
from xstar.acquisition import PES
from xstar.errors import SettingsError, TrialError
from xstar.gp import MAP, Matern52

METHOD = Method(Matern52(), MAP(), acquisition=PES(num_samples=5, num_features=64))
PNG = b"\x89PNG\r\n\x1a\n"
MIXED = {
    "lr": Real(1e-5, 1e-1, log=True),
    "momentum": Real(0.0, 1.0),
    "layers": Integer(1, 6),
    "batch": Integer(1, 4096, log=True),
    "activation": Categorical(["relu", "gelu", None]),
    "bias": Categorical([True, False]),
}


@pytest.fixture(autouse=True)
def no_pyplot(monkeypatch):
    """Importing pyplot is an error."""
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)


@pytest.fixture(autouse=True)
def few_samples(monkeypatch):
    """A picture shows 200 sampled optima; 12 are enough here."""
    where = Optimizer.where
    monkeypatch.setattr(Optimizer, "where", lambda self: where(self, 12))


def study(space, function, count=6, failures=1, **settings):
    opt = Optimizer(space, method=METHOD, num_initial=count + failures, **settings)
    for trial in opt.ask(count + failures):
        if trial.number < count:
            opt.tell(trial, function(trial.params))
        else:
            opt.fail(trial, "crashed")
    return opt


def mixed(count=6, failures=1):
    return study(MIXED, lambda params: 10.0 * params["momentum"] - 3.0 * params["layers"], count, failures)


def line(**settings):
    return study([(0.0, 1.0)], lambda params: -((params["x0"] - 0.3) ** 2), **settings)


STUDIES = {
    "1-d": line,
    "1-d without failures": lambda: line(failures=0),
    "1-d, minimized": lambda: line(direction="minimize"),
    "1-d, one value": lambda: line(count=1, failures=0),
    "1-d, constant": lambda: study([(0.0, 1.0)], lambda params: 2.0),
    "2-d": lambda: study([(0.0, 1.0), (-5.0, 5.0)], lambda params: params["x0"] * params["x1"]),
    "2-d, constant": lambda: study([(0.0, 1.0), (-5.0, 5.0)], lambda params: 2.0),
    "6-d mixed": mixed,
    "integers": lambda: study({"k": Integer(0, 1), "m": Integer(0, 10**15)}, lambda params: params["k"]),
    "only categorical": lambda: study({"c": Categorical(["u", "v", "w"]), "b": Categorical([1, 2])}, lambda p: p["b"]),
    "one point": lambda: study({"x": Real(1.0, 1.0)}, lambda params: 1.0, count=2, failures=0),
}


@pytest.mark.parametrize("name", STUDIES)
def test_a_picture_of_every_kind_of_study(tmp_path, name):
    path = plots.draw(STUDIES[name](), tmp_path / "new" / "picture.png")
    data = path.read_bytes()
    assert data.startswith(PNG)
    width, height = (int.from_bytes(data[k : k + 4], "big") for k in (16, 20))
    assert width >= 700
    assert height >= 400
    assert len(data) > 8_000, "more than an empty frame"


def labels(axis):
    return axis.get_legend_handles_labels()[1]


def test_one_parameter_is_drawn_as_curves():
    opt = line()
    belief, information, progress = plots.summary(opt).axes
    assert labels(belief) == ["± 2 sd", "posterior mean", "data", "recommended", "failed"]
    curve = dict(zip(labels(belief), belief.get_legend_handles_labels()[0], strict=True))
    x, mean = curve["posterior mean"].get_data()
    np.testing.assert_allclose(mean[::40], opt.predict(x[::40, None])[0])
    shown = np.stack(curve["data"].get_data(), axis=1)
    np.testing.assert_allclose(shown, [[trial.x[0], trial.value] for trial in opt.trials if trial.state == "done"])
    np.testing.assert_allclose(curve["failed"].get_xdata(), opt.trials[-1].x)
    assert curve["recommended"].get_xdata()[0] == opt.recommend().x[0]
    assert belief.get_xlim() == information.get_xlim() == (0.0, 1.0)
    np.testing.assert_allclose(information.lines[0].get_ydata()[::60], opt.information(x[::60, None]))
    best = dict(zip(labels(progress), progress.get_legend_handles_labels()[0], strict=True))["best so far"].get_ydata()
    assert np.all(np.diff(best) >= 0.0)
    assert best[-1] == opt.best_observed.value


def test_the_best_of_a_minimization_goes_down():
    progress = plots.summary(line(direction="minimize")).axes[-1]
    best = progress.get_legend_handles_labels()[0][1].get_ydata()
    assert np.all(np.diff(best) <= 0.0)


def test_the_parameters_that_matter_most_are_shown():
    left, right = plots.summary(mixed(count=14, failures=0)).axes[:2]
    assert {left.get_xlabel(), left.get_ylabel()} == {"momentum", "layers"}
    assert "bits" in right.get_title()


def test_parameters_can_be_chosen():
    opt = mixed(failures=0)
    left = plots.summary(opt, ("lr", "batch")).axes[0]
    assert (left.get_xlabel(), left.get_ylabel()) == ("lr", "batch")
    assert (left.get_xscale(), left.get_yscale()) == ("log", "log")
    assert left.get_xlim() == pytest.approx((1e-5, 1e-1))
    assert plots.summary(opt, ("layers",)).axes[0].get_xlabel() == "layers"


@pytest.mark.parametrize(
    "names",
    [(), ("lr", "momentum", "layers"), ("depth",), ("activation",), ("lr", "bias"), ("lr", "lr"), "lr"],
    ids=str,
)
def test_bad_names_are_refused(names, tmp_path):
    with pytest.raises(SettingsError, match=r"names must be one or two of the numeric parameters \['batch', 'layers'"):
        plots.draw(mixed(failures=0), tmp_path / "picture.png", names)
    assert list(tmp_path.iterdir()) == []


def test_without_a_value_there_is_nothing_to_draw(tmp_path):
    with pytest.raises(TrialError, match=r"nothing has been told yet"):
        plots.draw(line(count=0, failures=2), tmp_path / "picture.png")


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(SettingsError, match=r"pip install 'xstar\[plots\]'"):
        plots.summary(line())
