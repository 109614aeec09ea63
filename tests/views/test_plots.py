"""Pictures by their public names: of every kind of study, by both libraries, and what is refused."""

import json
import sys

import pytest

from tests.views.studies import MIXED, STUDIES, gain, hill, told
from xstar import Optimizer, Trial, maximize, plots
from xstar.errors import SettingsError, SpaceError, TrialError

PNG = b"\x89PNG\r\n\x1a\n"
PICTURES = ("summary", "view", "convergence", "pairs", "marginals", "importance", "calibration")


def is_drawn(draw, opt):
    """Draw with both libraries; the axes of the one and the panels of the other are as many."""
    figure = draw(opt)
    figure.canvas.draw()
    plotly = json.loads(draw(opt, interactive=True).to_json())
    panels = [key for key in plotly["layout"] if key.startswith("xaxis")]
    bars = sum(axes.get_label() == "<colorbar>" for axes in figure.axes)
    shown = [axes for axes in figure.axes if axes.axison]
    assert len(shown) - bars == len(panels)
    assert "bdata" not in json.dumps(plotly), "plain numbers, which any version of plotly.js reads"
    for trace in plotly["data"]:
        assert None not in [value for axis in "xy" for value in trace[axis]], "JSON has no infinite values"
    return figure


@pytest.mark.parametrize("name", STUDIES)
def test_every_picture_of_every_kind_of_study(name):
    opt = STUDIES[name]()
    for picture in PICTURES:
        if opt.space.free or picture in ("summary", "convergence", "calibration"):
            is_drawn(getattr(plots, picture), opt)
    is_drawn(lambda opt, **how: plots.why(opt, opt.trials[0], **how), told(MIXED, gain, 5))


def test_a_file_has_the_picture(tmp_path):
    path = plots.draw(told([(0.0, 1.0)], hill), tmp_path / "new" / "picture.png")
    data = path.read_bytes()
    assert data.startswith(PNG)
    width, height = (int.from_bytes(data[k : k + 4], "big") for k in (16, 20))
    assert width >= 1200
    assert height >= 400
    assert len(data) > 20_000, "more than empty frames"


def test_a_result_is_drawn_as_its_optimizer_is():
    result = maximize(lambda x: -((x[0] - 0.3) ** 2), [(0.0, 1.0)], budget=5, method="logei")
    ours, theirs = plots.convergence(result), plots.convergence(result.optimizer)
    assert [line.get_ydata().tolist() for axes in ours.axes for line in axes.lines] == [
        line.get_ydata().tolist() for axes in theirs.axes for line in axes.lines
    ]


def test_what_is_no_study_is_refused():
    with pytest.raises(SettingsError, match=r"drawn of an Optimizer or of a result of maximize; received 3"):
        plots.view(3)


@pytest.mark.parametrize("names", [(), ("depth",), ("lr", "lr"), ("lr", "momentum", "layers", "batch")], ids=str)
def test_names_that_are_no_parameters(names, tmp_path):
    with pytest.raises(SettingsError, match=r"names must be one to 3 of the parameters that vary, \['lr', 'momentum'"):
        plots.draw(told(MIXED, gain), tmp_path / "picture.png", names)
    assert list(tmp_path.iterdir()) == []


def test_too_many_axes_or_choices():
    opt = told(MIXED, gain)
    with pytest.raises(SettingsError, match=r"received 3 parameters with an order and 0 without"):
        plots.view(opt, ("lr", "momentum", "layers"))
    with pytest.raises(SettingsError, match=r"received 1 parameters with an order and 2 without"):
        plots.view(opt, ("lr", "activation", "bias"))
    with pytest.raises(SettingsError, match="names must be one to 4"):
        plots.pairs(opt, ("lr", "momentum", "layers", "batch", "bias"))


def test_others_are_held_where_they_can_be():
    opt = told(MIXED, gain)
    with pytest.raises(SpaceError, match="momentum"):
        plots.view(opt, ("lr",), at={"momentum": 3.0})


@pytest.mark.parametrize("picture", PICTURES)
def test_without_a_value_there_is_nothing_to_draw(picture):
    opt = told([(0.0, 1.0)], None, 0, failures=2)
    with pytest.raises(TrialError, match=r"nothing has been told yet"):
        getattr(plots, picture)(opt)


def test_nothing_explains_the_only_value():
    only = Trial(0, {"x0": 0.5}, "done", 1.0)
    opt = Optimizer.from_trials([only], [(0.0, 1.0)])
    with pytest.raises(TrialError, match=r"nothing has been told yet"):
        plots.why(opt, only)


@pytest.mark.parametrize(
    ("module", "interactive", "extra"),
    [("matplotlib.figure", False, "plots"), ("plotly.graph_objects", True, "dashboard")],
)
def test_without_a_library_the_message_says_what_to_install(monkeypatch, module, interactive, extra):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SettingsError, match=rf"pip install 'xstar\[{extra}\]'"):
        plots.summary(told([(0.0, 1.0)], hill), interactive=interactive)
