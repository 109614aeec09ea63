"""Pictures, pages and cards of several outputs: the front, hypervolumes, and every output beside the others."""

import json
import math

import numpy as np
import pytest

from tests.views.studies import METHOD
from tests.views.test_plots import is_drawn
from tests.views.test_report import Outline, csv_of, words
from xstar import Categorical, FrontPosterior, Objective, Optimizer, Real, plots
from xstar.errors import SettingsError, TrialError
from xstar.integrations import dashboard
from xstar.numerics.pareto import nondominated
from xstar.report import write_report
from xstar.views import figures
from xstar.views.figures.picture import Bars, Field, Kind, Line, Points, Rule

SPACE = {"x": Real(0.0, 1.0), "y": Real(0.0, 1.0)}
CHOICES = {name: Categorical(list("abc")) for name in "xyz"}
TWO = {"yield": "maximize", "cost": "minimize"}
ORDINARY = ("summary", "view", "convergence", "pairs", "marginals", "importance", "calibration")


def outputs(params):
    x, y = (value if isinstance(value, float) else "abc".index(value) / 2.0 for value in list(params.values())[:2])
    return {"yield": x * (1.0 + 0.2 * y), "cost": x**2 + (y - 0.5) ** 2, "rest": y, "impurity": x + y}


def told(objectives, constraints=None, count=8, space=SPACE, failures=0, **settings):
    """An optimizer with results at random points."""
    opt = Optimizer(space, objectives=objectives, constraints=constraints, method=METHOD, num_initial=3, **settings)
    rng = np.random.default_rng(1)
    for number in range(count + failures):
        params = opt.space.decode(rng.uniform(size=opt.space.domain.dimension))
        values = outputs(params)
        if number < count:
            opt.tell(params, {name: values[name] for name in opt.goals.names})
        else:
            opt.fail(params, "spilled")
    return opt


STUDIES = {
    "two objectives": lambda: told(TWO),
    "three objectives": lambda: told({**TWO, "rest": "minimize"}, count=6),
    "two objectives and a constraint": lambda: told(TWO, {"impurity": ("<=", 1.0)}, failures=1),
    "a constraint": lambda: told({"yield": "maximize"}, {"impurity": ("<=", 1.0)}, failures=1),
    "all infeasible": lambda: told(TWO, {"impurity": ("<=", -1.0)}),
    "all infeasible for one objective": lambda: told({"yield": "maximize"}, {"impurity": ("<=", -1e9)}),
    "one trial": lambda: told(TWO, count=1),
    "one trial and a constraint": lambda: told({"yield": "maximize"}, {"impurity": ("<=", 1.0)}, count=1),
    "choices": lambda: told(TWO, space=CHOICES),
    "an objective alone": lambda: told({"yield": "maximize"}),
    "a reference far away": lambda: told({**TWO, "cost": Objective("minimize", reference=1e6)}),
}
KNOWN = {}


def study(name):
    if name not in KNOWN:
        KNOWN[name] = STUDIES[name]()
    return KNOWN[name]


@pytest.fixture(autouse=True)
def few_bounds(monkeypatch):
    """The model is asked again after twelve trials, and over 36 points a side; fewer are enough here."""
    monkeypatch.setattr("xstar.views.figures.convergence.MOST_BOUNDS", 3)
    monkeypatch.setattr("xstar.views.figures.view.SIDE", 12)


def of(panel, kind, /, **wanted):
    marks = [mark for mark in panel.marks if isinstance(mark, kind)]
    return [mark for mark in marks if all(getattr(mark, key) == value for key, value in wanted.items())]


def one(panel, kind, /, **wanted):
    (found,) = of(panel, kind, **wanted)
    return found


class TestEvery:
    @pytest.mark.parametrize("name", STUDIES)
    def test_picture_of_every_kind_of_study(self, name):
        opt = study(name)
        for picture in ORDINARY:
            is_drawn(getattr(plots, picture), opt)
        is_drawn(lambda opt, **how: plots.why(opt, {**opt.trials[0].params}, **how), opt)
        if len(opt.goals.names) > 1:
            is_drawn(plots.front, opt)

    def test_figures_of_plotly_are_small(self):
        text = plots.front(study("two objectives"), interactive=True).to_json()
        assert len(text) < 60_000

    def test_before_anything_is_known_pictures_say_so(self):
        opt = Optimizer(SPACE, objectives=TWO)
        opt.tell({"x": 0.5, "y": 0.5}, {"yield": 1.0})
        for picture in (*ORDINARY, "front"):
            with pytest.raises(TrialError, match="nothing has been told yet"):
                getattr(plots, picture)(opt)


class TestFront:
    def test_trials_are_where_they_were_told(self):
        opt = study("two objectives")
        (panel,) = figures.draw_front(opt).panels
        best = one(panel, Points, kind=Kind.NONDOMINATED)
        assert set(zip(best.x, best.y, strict=True)) == {
            (trial.values["yield"], trial.values["cost"]) for trial in opt.pareto().trials
        }
        assert (panel.x.label, panel.y.label) == ("yield, to maximize", "cost, to minimize")
        assert all(panel.x.low < x < panel.x.high for x in best.x)
        assert "trial" in best.notes[0]

    def test_recommended_compromises_have_intervals_in_both_directions(self):
        opt = study("two objectives")
        (panel,) = figures.draw_front(opt).panels
        stars = one(panel, Points, kind=Kind.COMPROMISE)
        first = opt.pareto().in_order[0].outputs
        assert (stars.x[0], stars.y[0]) == (first["yield"].mean, first["cost"].mean)
        assert stars.right[0] - stars.left[0] == pytest.approx(4.0 * first["yield"].sd)
        assert stars.high[0] - stars.low[0] == pytest.approx(4.0 * first["cost"].sd)
        assert len(stars.x) == len(opt.pareto()) > 1

    def test_sampled_fronts_are_steps_down_to_the_reference(self):
        opt = study("two objectives")
        picture = figures.draw_front(opt, where=opt.where(30))
        lines = of(picture.panels[0], Line, color="#d55e00")
        reference = opt.pareto().reference
        assert len(lines) > 3
        assert [line.name for line in lines][:2] == ["front, sampled", ""]
        for line in lines:
            assert line.steps
            assert line.opacity < 1.0
            assert list(line.x) == sorted(line.x, reverse=True), "from the best end of the first objective"
            assert line.y[0] == pytest.approx(reference["cost"])
            assert line.x[-1] == pytest.approx(reference["yield"])

    def test_fronts_of_a_posterior_are_not_dominated_and_in_units_of_users(self):
        opt = study("two objectives")
        where = opt.where(30)
        assert isinstance(where, FrontPosterior)
        assert 0 < len(where.fronts) <= 20
        for front in where.fronts:
            assert nondominated(front * [1.0, -1.0]).all()
        assert set(where.outputs) == {"yield", "cost"}
        assert len(where.outputs["cost"]) == where.num_points == len(where.params["x"])
        x, y = (np.array(where.params[name]) for name in "xy")
        assert np.corrcoef(where.outputs["cost"], x**2 + (y - 0.5) ** 2)[0, 1] > 0.8

    def test_axes_may_be_named(self):
        opt = study("three objectives")
        picture = figures.draw_front(opt, "rest")
        assert [picture.panels[0].x.label, picture.panels[0].y.label] == ["rest, to minimize", "yield, to maximize"]
        assert "these two alone" in picture.said
        for names in (("rest", "rest"), ("rest", "price")):
            with pytest.raises(SettingsError, match="two of the outputs"):
                plots.front(opt, *names)

    def test_a_bound_is_a_line_and_what_is_beyond_it_shaded(self):
        (panel,) = figures.draw_front(study("a constraint")).panels
        assert (panel.x.label, panel.y.label) == ("impurity, <= 1", "yield, to maximize")
        assert one(panel, Rule).at == 1.0
        shaded = next(mark for mark in panel.marks if getattr(mark, "name", "") == "infeasible side")
        assert list(shaded.x) == [1.0, panel.x.high]
        beyond = one(panel, Points, kind=Kind.INFEASIBLE)
        assert min(beyond.x) > 1.0
        assert "impurity is not <= 1" in beyond.notes[0]
        assert max(one(panel, Points, kind=Kind.TOLD).x) <= 1.0
        assert one(panel, Points, kind=Kind.NONDOMINATED).name == "best told"

    def test_a_bound_along_y_from_below(self):
        opt = told({"yield": "maximize"}, {"impurity": (">=", 1.0)})
        (panel,) = figures.draw_front(opt, "yield", "impurity").panels
        assert one(panel, Rule).level
        shaded = next(mark for mark in panel.marks if getattr(mark, "name", "") == "infeasible side")
        assert shaded.low[0] == panel.y.low
        assert shaded.high[0] == 1.0

    @pytest.mark.parametrize("name", ["all infeasible", "all infeasible for one objective"])
    def test_nothing_feasible(self, name):
        picture = figures.draw_front(study(name))
        (panel,) = picture.panels
        assert "no point is likely to be feasible" in picture.said
        assert of(panel, Points, kind=Kind.TOLD) == of(panel, Points, kind=Kind.NONDOMINATED) == []
        assert "left to gain" not in picture.said

    def test_a_reference_far_away_leaves_the_axes_alone(self):
        (panel,) = figures.draw_front(study("a reference far away")).panels
        assert panel.y.high < 10.0
        assert of(panel, Points, kind=Kind.REFERENCE) == []

    @pytest.mark.parametrize("make", [lambda: Optimizer(SPACE), lambda: study("an objective alone")])
    def test_one_output_has_no_front(self, make):
        with pytest.raises(SettingsError, match="a front needs two outputs"):
            plots.front(make())


class TestOthers:
    def test_hypervolumes_grow_to_that_of_the_front(self):
        opt = study("two objectives")
        volume, left = figures.draw_convergence(opt).panels
        trials = one(volume, Line, name="of the trials")
        assert list(trials.y) == sorted(trials.y)
        assert trials.y[-1] == pytest.approx(opt.pareto().hypervolume)
        assert one(volume, Line, name="recommended at the time").y[-1] > 0.0
        assert "share of the hypervolume" in left.y.label

    def test_the_best_told_is_within_all_bounds(self):
        opt = study("a constraint")
        values, _ = figures.draw_convergence(opt).panels
        assert one(values, Line, name="best told").y[-1] == pytest.approx(opt.best_observed.value)
        assert of(values, Points, kind=Kind.INFEASIBLE)
        assert values.title == "Values of yield, to maximize"

    def test_nothing_is_left_to_gain_of_what_is_not_feasible(self):
        _, left = figures.draw_convergence(study("all infeasible")).panels
        assert left.marks == ()
        assert "likely to be feasible" in left.note

    def test_every_output_has_a_map_and_information_is_of_all(self):
        opt = study("a constraint")
        panels = figures.draw_view(opt).panels
        assert [panel.title for panel in panels[:2]] == ["Predicted yield", "Predicted impurity"]
        field = one(panels[1], Field)
        at = {"x": field.x[3], "y": field.y[5]}
        assert field.z[5][3] == pytest.approx(opt.output("impurity").predict([at])[0][0])
        bits = one(panels[2], Field)
        assert bits.z[5][3] == pytest.approx(opt.information([at])[0])
        assert opt.information([at])[0] == pytest.approx(opt.explain(at).bits)

    def test_shares_of_every_output(self):
        opt = study("two objectives")
        panels = figures.draw_importance(opt).panels
        assert [panel.title for panel in panels] == ["Of yield", "Of cost"]
        shares = dict(zip([name for _, name in panels[1].y.ticks], one(panels[1], Bars).lengths, strict=True))
        assert shares["x"] == pytest.approx(opt.output("cost").importance().values["x"].share)

    def test_histograms_are_of_all_points(self):
        where = study("two objectives").where(12)
        panel = figures.draw_marginals(study("two objectives"), where).panels[0]
        assert sum(one(panel, Line).y[:-1]) == pytest.approx(1.0)
        assert len(one(panel, Points).x) == len(where.recommended)


class TestDashboard:
    @pytest.mark.parametrize("name", ["two objectives", "a constraint", "all infeasible", "one trial"])
    def test_the_front_comes_first(self, name):
        drawn = dashboard.draw(study(name))
        assert list(drawn) == [dashboard.FRONT, *dashboard.FIGURES]
        assert all(500 < len(figure.to_json()) < 90_000 for figure in drawn.values())

    def test_nothing_before_every_output_has_a_value(self):
        opt = Optimizer(SPACE, objectives=TWO)
        opt.tell({"x": 0.5, "y": 0.5}, {"yield": 1.0})
        assert dashboard.draw(opt) == {}


class TestReport:
    @pytest.mark.parametrize("name", [name for name in STUDIES if "reference" not in name and name != "one trial"])
    def test_a_page_of_every_kind_of_study(self, name, tmp_path):
        opt = study(name)
        page = write_report(opt, tmp_path / "page.html").read_text(encoding="utf-8")
        outline = Outline(page)
        assert outline.open == []
        assert len(outline.ids) == len(set(outline.ids))
        assert {link[1:] for link in outline.links if link.startswith("#")} <= set(outline.ids)
        assert all(outline.images)
        assert page.count('<th scope="row" id="trial-') == len(opt.trials)
        assert "nan" not in outline.words.lower().split()

    def test_compromises_to_choose_from(self, tmp_path):
        opt = study("two objectives and a constraint")
        said = words(write_report(opt, tmp_path / "page.html").read_text(encoding="utf-8"))
        front = opt.pareto()
        assert "To maximize yield and minimize cost with impurity <= 1, there" in said
        for point in front.recommended:
            assert str(point.outputs["cost"]) in said
        assert "Not dominated trial" in said
        assert "objectives maximize yield; minimize cost" in said
        assert "constraints impurity <= 1" in said

    def test_the_point_to_use_with_its_feasibility(self, tmp_path):
        opt = study("a constraint")
        best = opt.recommend()
        said = words(write_report(opt, tmp_path / "page.html").read_text(encoding="utf-8"))
        assert f"To maximize yield with impurity <= 1, use {opt.space.show(best.params)}" in said
        assert best.value_in_words in said
        assert "Every point is a trial with its values" in said

    def test_infeasible_values_are_marked_and_the_file_has_all_outputs(self, tmp_path):
        opt = study("a constraint")
        page = write_report(opt, tmp_path / "page.html").read_text(encoding="utf-8")
        outside = [trial for trial in opt.trials if trial.values and trial.values["impurity"] > 1.0]
        assert page.count('class="number infeasible"') == len(outside) > 0
        assert words(page).count("impurity is not <= 1") == len(outside)
        assert csv_of(page).decode("utf-8-sig").startswith("trial,state,x,y,yield,yield sd,impurity,impurity sd,reason")

    def test_nothing_feasible(self, tmp_path):
        for name in ("all infeasible", "all infeasible for one objective"):
            said = words(write_report(study(name), tmp_path / "page.html").read_text(encoding="utf-8"))
            assert "No point is likely to be feasible yet" in said
            assert "Left to gain" not in said

    def test_an_output_that_was_never_told(self, tmp_path):
        opt = Optimizer(SPACE, objectives=TWO)
        opt.tell({"x": 0.5, "y": 0.5}, {"yield": 1.0})
        said = words(write_report(opt, tmp_path / "page.html").read_text(encoding="utf-8"))
        assert "nothing has been told of cost" in said

    def test_names_of_outputs_are_only_text(self, tmp_path):
        objectives = {"<b>$x$": "maximize", "50 % {y}": "minimize"}
        opt = Optimizer(SPACE, objectives=objectives, method=METHOD, num_initial=3)
        for x in (0.1, 0.4, 0.6, 0.9):
            opt.tell({"x": x, "y": x}, {"<b>$x$": x, "50 % {y}": x * x})
        page = write_report(opt, tmp_path / "page.html").read_text(encoding="utf-8")
        assert "<b>" not in page
        assert "<b>$x$" in Outline(page).words
        assert "<b>" not in json.dumps(json.loads(plots.front(opt, interactive=True).to_json())["layout"]["xaxis"])

    @pytest.mark.parametrize("size", [(1280, 900), (390, 844)], ids=["desktop", "phone"])
    def test_pages_are_accessible_and_fit(self, browser, tmp_path, size):
        axe = pytest.importorskip("selenium_axe_python", reason="accessibility is checked by axe")
        width, height = size
        settings = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", settings)
        for name in ("two objectives and a constraint", "a constraint", "all infeasible"):
            browser.get(write_report(study(name), tmp_path / "page.html").as_uri())
            assert browser.execute_script("return document.documentElement.scrollWidth - window.innerWidth") <= 0
            checker = axe.Axe(browser)
            checker.inject()
            assert [rule["id"] for rule in checker.run()["violations"]] == []


class TestCards:
    def test_compromises_with_their_feasibility(self):
        card = study("two objectives and a constraint").pareto()._repr_html_()
        assert "maximize yield, minimize cost, impurity &lt;= 1" in card
        assert "P(feasible)" in card
        assert "not dominated; hypervolume" in card
        assert "P(feasible)" not in study("three objectives").pareto()._repr_html_()

    @pytest.mark.parametrize("name", STUDIES)
    def test_an_optimizer(self, name):
        opt = study(name)
        card = opt._repr_html_()
        assert all(f">{output}</th>" in card for output in opt.goals.names)
        assert ("Recommended compromises" in card) == opt.goals.several

    def test_an_optimizer_of_which_an_output_is_missing(self):
        opt = Optimizer(SPACE, objectives=TWO)
        opt.tell({"x": 0.5, "y": 0.5}, {"yield": 1.0})
        assert "Recommended" not in opt._repr_html_()

    def test_a_recommendation_names_its_outputs(self):
        card = study("a constraint").recommend()._repr_html_()
        assert "yield " in card
        assert "value yield" not in card


def test_a_volume_is_that_of_values_by_name():
    front = study("two objectives").pareto()
    reference = front.reference
    point = {"yield": reference["yield"] + 2.0, "cost": reference["cost"] - 3.0}
    assert front.volume([point]) == pytest.approx(6.0)
    assert front.volume([]) == 0.0
    assert not math.isnan(front.hypervolume)
