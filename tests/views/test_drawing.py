"""Both drawings have what the picture says: one code describes, two libraries draw."""

import itertools
import json
import re

import numpy as np
import pytest

from tests.views.studies import MIXED, STUDIES, told
from xstar import Categorical, Integer, Real
from xstar.views import figures
from xstar.views.drawing.interactive import draw_interactive, rounded
from xstar.views.drawing.static import STYLES, draw_static, to_svg
from xstar.views.figures.picture import BLUE, GREEN, Axis, Band, Bars, Field, Kind, Line, Panel, Picture, Points, Rule

EVERY_MARK = Panel(
    "every mark",
    Axis("across", 0.0, 4.0),
    Axis("up", -1.0, 5.0),
    (
        Field([0.0, 1.0, 4.0], [-1.0, 5.0], [[0.0, 1.0, 2.0], [3.0, 4.0, 50.0]], "heat", 0.0, 10.0),
        Band([0.0, 4.0], [0.0, 1.0], [2.0, 3.0], "a band"),
        Line([0.0, 2.0, 4.0], [1.0, 2.0, 1.5], "a line", labels=("", "top", "")),
        Line([0.0, 2.0, 4.0], [0.0, 3.0, 3.0], "steps", GREEN, steps=True, dashed=True),
        Points([1.0, 3.0], [2.0, 4.0], Kind.TOLD, notes=["first", "second"], opacity=[1.0, 0.3]),
        Points([2.0], [1.0], Kind.SURPRISE, low=[0.5], high=[2.0]),
        Bars([1.0, 2.0], [3.0, 1.0], "bars", low=[2.5, 0.5], high=[3.5, 1.5], notes=["b1", "b2"]),
        Rule(2.5, "a rule", dashed=True),
        Rule(0.0, level=True),
    ),
)
PICTURE = Picture("Title", "what is said", (EVERY_MARK, Panel("none", Axis(), Axis(), (), "nothing yet")), 2)
NAMES = ["a band", "a line", "steps", "told", "surprising", "bars", "a rule"]


def plotly(picture, **settings):
    return json.loads(draw_interactive(picture, **settings).to_json())


def legend(figure):
    (found,) = figure.legends
    return [text.get_text() for text in found.get_texts()]


def test_every_mark_is_drawn_by_matplotlib():
    figure = draw_static(PICTURE)
    axes, second, bar = figure.axes
    assert axes.get_xlim() == (0.0, 4.0)
    assert axes.get_ylim() == (-1.0, 5.0)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("across", "up")
    assert [line.get_xdata().tolist() for line in axes.lines[:2]] == [[0.0, 2.0, 4.0]] * 2
    assert axes.lines[1].get_drawstyle() == "steps-post"
    assert sorted(legend(figure)) == sorted(NAMES)
    assert bar.get_ylabel() == "heat"
    assert [patch.get_height() for patch in axes.patches] == [3.0, 1.0]
    points = next(found for found in axes.collections if len(found.get_offsets()) == 2 and found.get_sizes()[0] == 34)
    np.testing.assert_allclose(points.get_offsets(), [[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_allclose(points.get_edgecolors()[:, 3], [1.0, 0.3], err_msg="faded")
    assert second.texts[0].get_text() == "nothing yet"
    assert "what is said" in [text.get_text() for text in figure.texts]


def test_every_mark_is_drawn_by_plotly():
    figure = plotly(PICTURE)
    layout, data = figure["layout"], figure["data"]
    assert layout["xaxis"]["range"] == [0.0, 4.0]
    assert layout["yaxis"]["range"] == [-1.0, 5.0]
    assert "Title" in layout["title"]["text"]
    assert "what is said" in layout["title"]["text"]
    shown = [trace["name"] for trace in data if trace["showlegend"]]
    shown += [shape["name"] for shape in layout["shapes"] if shape.get("showlegend")]
    assert shown == NAMES
    named = {trace.get("name"): trace for trace in data}
    assert named["a line"]["y"] == [1.0, 2.0, 1.5]
    assert named["steps"]["line"] == {"color": GREEN, "width": 2.0, "dash": "dash", "shape": "hv"}
    assert named["told"]["marker"]["opacity"] == [1.0, 0.3]
    assert named["told"]["hovertext"] == ["first", "second"]
    assert named["surprising"]["error_y"]["array"] == [1.0]
    assert named["surprising"]["error_y"]["arrayminus"] == [0.5]
    assert named["bars"]["y"] == [3.0, 1.0]
    heat = next(trace for trace in data if trace["type"] == "contour")
    assert (heat["zmin"], heat["zmax"]) == (0.0, 10.0)
    assert heat["z"][1][2] == 50.0
    assert heat["colorbar"]["tickvals"] == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    assert [shape["x0"] for shape in layout["shapes"]] == [2.5, 0]
    assert [note["text"] for note in layout["annotations"]] == ["every mark", "none", "nothing yet"]


def test_kinds_of_points_differ_in_shape_and_color():
    assert set(STYLES) == set(Kind)
    assert len({(style["marker"], style["color"], style["s"]) for style in STYLES.values()}) == len(Kind)


def test_a_legend_reads_along_its_rows():
    marks = tuple(Line([0.0, 1.0], [0.0, 1.0], f"line {k}") for k in range(7))
    found = draw_static(Picture("", "", (Panel("", Axis(), Axis(), marks),), 1))
    columns = found.legends[0]._ncols
    names = legend(found)
    rows = -(-7 // columns)
    assert 1 < columns < 7
    sizes = [len(part) for part in np.array_split(range(7), columns)]
    starts = np.cumsum([0, *sizes])
    read = [names[starts[c] + r] for r in range(rows) for c in range(columns) if r < sizes[c]]
    assert read == [f"line {k}" for k in range(7)]


def test_panels_of_plotly_do_not_meet():
    layout = plotly(figures.draw_marginals(told(MIXED, lambda p: p["momentum"], 5)), height=450)["layout"]
    assert layout["height"] == 450
    inner = 450 - layout["margin"]["t"] - layout["margin"]["b"]
    lower, upper = layout["yaxis6"]["domain"], layout["yaxis"]["domain"]
    assert upper[1] == 1.0
    assert lower[0] == 0.0
    assert (upper[0] - lower[1]) * inner >= 50, "pixels for an axis and a title"
    across = [layout[f"xaxis{k}"]["domain"] for k in ("", 2, 3)]
    assert all(left[1] < right[0] for left, right in itertools.pairwise(across))


def test_a_logarithmic_axis_has_few_ticks():
    space = {"rate": Real(1e-4, 1.0, log=True), "size": Integer(1, 500, log=True)}
    picture = figures.draw_view(told(space, lambda p: np.log(p["rate"]), 4))
    layout = plotly(picture)["layout"]
    assert (layout["xaxis"]["type"], layout["yaxis"]["type"]) == ("log", "log")
    assert layout["xaxis"]["range"] == pytest.approx([-4.0, 0.0])
    assert layout["yaxis"]["tickvals"] == [1.0, 10.0, 100.0]
    axes = draw_static(picture).axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.get_xlim() == pytest.approx((1e-4, 1.0))


@pytest.mark.parametrize("name", STUDIES)
def test_figures_of_plotly_are_small(name):
    opt = STUDIES[name]()
    pictures = [figures.draw_convergence(opt)]
    if opt.space.free:
        pictures += [figures.draw_model(opt), figures.draw_pairs(opt), figures.draw_importance(opt)]
    for picture in pictures:
        text = json.dumps(plotly(picture))
        assert 500 < len(text) < 60_000, picture.title
        assert '"template"' not in text or '"template": {}' in text


def test_rounding_keeps_what_can_be_seen():
    assert rounded([1 / 3, 2e-9 / 3]) == [0.33333, 6.6667e-10]
    narrow = rounded(np.linspace(1000.0, 1000.001, 25))
    assert len(set(narrow)) == 25
    assert rounded([]) == []
    assert rounded([0.0, -0.0]) == [0.0, 0.0]
    assert rounded([-1.5e308, 1.5e308]) == [-1.5e308, 1.5e308]


HOSTILE = {"a<b>": Real(0.0, 1.0), "$x_1^{$": Real(0.0, 1.0), "c": Categorical(["<i>", "&", "$\\frac"])}


def hostile():
    return told(HOSTILE, lambda p: p["a<b>"], 6, failures=1)


def test_names_are_no_html():
    figure = draw_interactive(figures.draw_marginals(hostile()))
    assert figure.layout.xaxis.title.text == "a&lt;b&gt;"
    assert list(figure.layout.xaxis3.ticktext) == ["&lt;i&gt;", "&amp;", "$\\frac"]


def test_names_are_no_formulas():
    """Matplotlib reads what is between dollars as mathematics, unless it is told not to."""
    opt = hostile()
    for picture in (figures.draw_marginals(opt), figures.draw_summary(opt), figures.draw_why(opt, opt.trials[0])):
        figure = draw_static(picture)
        figure.canvas.draw()
    svg = to_svg(figures.draw_marginals(opt))
    assert "$x_1^{$" in svg
    assert "a&lt;b&gt;" in svg
    assert "<b>" not in svg


def test_svg_is_the_same_each_time_and_has_words():
    picture = figures.draw_view(STUDIES["two numbers"]())
    first, second = to_svg(picture), to_svg(picture)
    assert first == second
    assert first.startswith("<svg ")
    assert "What the model predicts" in first
    assert not re.search(r"<svg[^>]* (width|height)=", first), "it scales with the page"
    other = to_svg(figures.draw_convergence(STUDIES["two numbers"]()))
    ids = [set(re.findall(r'\bid="([^"]+)"', text)) for text in (first, other)]
    assert not ids[0] & ids[1], "several pictures on a page do not meet"
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', first))
    assert used <= ids[0]


def test_bars_of_one_color_and_of_many():
    panel = Panel("", Axis(), Axis(), (Bars([0.0, 1.0], [1.0, 2.0], colors=(BLUE, GREEN), horizontal=True),))
    picture = Picture("", "", (panel,), 1)
    (axes,) = draw_static(picture).axes
    assert [patch.get_width() for patch in axes.patches] == [1.0, 2.0]
    assert len({patch.get_facecolor() for patch in axes.patches}) == 2
    (trace,) = plotly(picture)["data"]
    assert trace["x"] == [1.0, 2.0]
    assert trace["marker"]["color"] == [BLUE, GREEN]
    assert not draw_static(picture).legends
