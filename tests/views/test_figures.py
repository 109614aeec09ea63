"""What pictures show: the model's own answers, at the right places, and no more than that."""

import itertools
import math
import re

import numpy as np
import pytest

from tests.views.studies import CHOICES, MIXED, SAMPLES, STUDIES, hill, told
from xstar import Categorical, Integer, Optimizer, Ordinal, Real, Trial
from xstar.beliefs import OptimumPosterior, Recommendation
from xstar.views import figures
from xstar.views.figures.coordinates import coordinate, most_sensitive
from xstar.views.figures.picture import GREEN, Band, Bars, Field, Kind, Line, Points, Rule
from xstar.views.figures.trials import colors_for, focus, trial_points


def of(panel, mark_type, /, **wanted):
    """The marks of a kind on a panel."""
    marks = [mark for mark in panel.marks if isinstance(mark, mark_type)]
    return [mark for mark in marks if all(getattr(mark, key) == value for key, value in wanted.items())]


def one(panel, mark_type, /, **wanted):
    (mark,) = of(panel, mark_type, **wanted)
    return mark


# Views


def test_one_parameter_is_drawn_as_curves():
    opt = STUDIES["one number"]()
    predicts, tells = figures.draw_view(opt).panels
    curve = one(predicts, Line)
    x = np.array(curve.x)[::40, None]
    np.testing.assert_allclose(curve.y[::40], opt.predict(x)[0])
    band, (low, high) = one(predicts, Band), opt.interval(x)
    np.testing.assert_allclose([band.low[::40], band.high[::40]], [low, high])
    done = [trial for trial in opt.trials if trial.state == "done"]
    points = one(predicts, Points, kind=Kind.TOLD)
    inside = [t for t in done if predicts.y.low <= t.value <= predicts.y.high]
    assert set(zip(points.x, points.y, strict=True)) >= {(t.params["x0"], t.value) for t in inside}
    assert one(predicts, Points, kind=Kind.FAILED).x == [opt.trials[7].params["x0"]]
    assert one(predicts, Points, kind=Kind.RUNNING).x == [opt.trials[8].params["x0"]]
    assert one(predicts, Points, kind=Kind.RECOMMENDED).x == [opt.recommend().params["x0"]]
    assert (predicts.x.low, predicts.x.high) == (tells.x.low, tells.x.high) == (0.0, 1.0)
    np.testing.assert_allclose(one(tells, Line).y[::40], opt.information(x))
    strip = one(tells, Points, kind=Kind.OPTIMUM)
    assert sorted(strip.x) == sorted(opt.where().params["x0"])
    assert tells.y.low < min(strip.y) < 0.0 < max(one(tells, Line).y) < tells.y.high


def test_two_parameters_are_fields_at_the_recommended_others():
    opt = STUDIES["six parameters"]()
    picture = figures.draw_view(opt)
    best = opt.recommend().params
    names = sorted(most_sensitive(opt)[:2], key=list(MIXED).index)
    held = [name for name in MIXED if name not in names]
    assert all(f"{name} = {opt.space.parameters[name].show(best[name])}" in picture.said for name in held)
    assert "fainter" in picture.said
    predicts, tells = picture.panels
    assert (predicts.x.label, predicts.y.label) == tuple(names)
    for panel, answer in ((predicts, lambda points: opt.predict(points)[0]), (tells, opt.information)):
        field = one(panel, Field)
        for k, j in itertools.product((0, 3, -1), (0, 4, -1)):
            (value,) = answer([{**best, names[0]: coordinate(opt, names[0]).grid(36)[j],
                                names[1]: coordinate(opt, names[1]).grid(36)[k]}])  # fmt: skip
            assert field.z[k][j] == pytest.approx(value, rel=1e-6, abs=1e-9)
    sampled = one(tells, Points, kind=Kind.OPTIMUM)
    assert sampled.x == [float(value) for value in opt.where().params[names[0]]]
    running = one(tells, Points, kind=Kind.RUNNING)
    assert running.notes[0].startswith("trial 9 is running\n")


def test_results_fade_with_what_they_say_of_the_slice():
    opt = told({"x": Real(0.0, 1.0), "y": Real(0.0, 1.0)}, lambda p: math.sin(9 * p["x"]) + math.cos(9 * p["y"]), 12)
    (points,) = trial_points(opt, lambda t: t.params["x"], lambda t: t.value, shown=["x"], at={"x": 0.5, "y": 0.5})
    far = [abs(trial.params["y"] - 0.5) for trial in opt.trials]
    order = np.argsort(far)
    assert np.all(np.diff(np.array(points.opacity)[order]) <= 0.0), "the farther, the fainter"
    on = opt.trials[0].params
    (same,) = trial_points(opt, lambda t: 0.0, lambda t: 0.0, shown=["x"], at=on)
    assert same.opacity[0] == pytest.approx(1.0)


def test_a_category_has_panels_of_its_own():
    opt = STUDIES["six parameters"]()
    picture = figures.draw_view(opt, ("momentum", "activation"))
    assert [panel.title for panel in picture.panels] == [
        "activation = relu",
        "activation = gelu",
        "activation = None",
    ] * 2
    best = dict(opt.recommend().params)
    for panel, choice in zip(picture.panels, ("relu", "gelu", None), strict=False):
        curve = one(panel, Line)
        (value,) = opt.predict([{**best, "activation": choice, "momentum": curve.x[80]}])[0]
        assert curve.y[80] == pytest.approx(value)
    shown = sum(len(mark.x) for panel in picture.panels[:3] for mark in of(panel, Points, kind=Kind.TOLD))
    assert shown == 9, "each result is on one panel"
    assert sum(len(of(panel, Points, kind=Kind.RECOMMENDED)) for panel in picture.panels[:3]) == 1


def test_of_many_choices_the_likely_ones_have_panels():
    opt = told({"x": Real(0.0, 1.0), "c": Categorical(list("abcdefgh"))}, lambda p: p["x"] + (p["c"] == "g") * 5, 14)
    picture = figures.draw_view(opt, ("x", "c"))
    assert len(picture.panels) == 8
    assert "the 4 of 8 choices where the optimum most likely is" in picture.said
    assert "c = g" in [panel.title for panel in picture.panels]


def test_what_is_held_elsewhere_has_no_recommendation_on_it():
    opt = STUDIES["six parameters"]()
    best = opt.recommend().params
    other = 1 if best["layers"] != 1 else 2
    picture = figures.draw_view(opt, ("momentum",), {"layers": other})
    assert f"layers = {other}" in picture.said
    assert of(picture.panels[0], Points, kind=Kind.RECOMMENDED) == []
    curve = one(picture.panels[0], Line)
    assert curve.y[0] == pytest.approx(opt.predict([{**best, "layers": other, "momentum": curve.x[0]}])[0][0])


def test_colors_end_where_values_were_told():
    """One extrapolation must not leave a single color for all that matters."""
    opt = told([(0.0, 1.0)], lambda p: -300.0 * (p["x0"] - 0.7) ** 2, 9)
    surface = np.array([-1e6, -50.0, -10.0, 0.0])
    low, high = colors_for(opt, surface)
    values = np.array([trial.value for trial in opt.trials])
    assert low >= values.min() - 0.1 * np.ptp(values)
    assert high == pytest.approx(0.0)
    mirrored = told([(0.0, 1.0)], lambda p: 300.0 * (p["x0"] - 0.7) ** 2, 9, direction="minimize")
    assert colors_for(mirrored, -surface) == pytest.approx((-high, -low))


def test_the_demo_is_not_one_color():
    """Branin's function, with values from -150 to -0.4, and predictions below -1,000 where nothing was told."""

    def branin(p):
        a, b = p["x0"], p["x1"]
        bend = b - 5.1 / (4.0 * math.pi**2) * a * a + 5.0 / math.pi * a - 6.0
        return -(bend**2 + 10.0 * (1.0 - 1.0 / (8.0 * math.pi)) * math.cos(a) + 10.0)

    picture = figures.draw_view(told([(-5.0, 10.0), (0.0, 15.0)], branin, 25))
    field = one(picture.panels[0], Field)
    z = np.array(field.z)
    inside = np.mean((z > field.low) & (z < field.high))
    assert inside > 0.2, "a fifth of the picture tells values apart"


def test_the_range_shown_leaves_out_only_what_is_far():
    opt = told([(0.0, 1.0)], lambda p: p["x0"], 9)
    values = [trial.value for trial in opt.trials]
    low, high = focus(opt, 0.25)
    assert low < min(values)
    assert high > max(values), "all are close together"
    far = Optimizer.from_trials([*opt.trials, Trial(9, {"x0": 0.01}, "done", -1e6)], [(0.0, 1.0)], method=opt.method)
    low, high = focus(far, 0.25)
    assert -10.0 < low < high < 10.0


# Combinations


def test_choices_are_bars_of_the_most_informative_combinations():
    opt = STUDIES["choices"]()
    picture = figures.draw_model(opt)
    tells, predicts = picture.panels
    grids = {name: coordinate(opt, name).grid(0) for name in CHOICES}
    everything = [dict(zip(CHOICES, row, strict=True)) for row in itertools.product(*grids.values())]
    bits = opt.information(everything)
    bars = one(tells, Bars)
    assert len(bars.at) == len(set(bars.at)) == 20, "combinations that read the same have bars of their own"
    np.testing.assert_allclose(bars.lengths[:19], np.sort(bits)[::-1][:19])
    assert "20 of 54 combinations" in picture.said
    first = everything[int(np.argmax(bits))]
    assert tells.y.ticks[0][1] == ", ".join(map(str, first.values()))
    here = [trial.number for trial in opt.trials if opt.space.same(trial.params, first)]
    assert bars.notes[0].startswith(f"trial {here[0]}" if here else "no trial yet")
    best = opt.recommend()
    (green,) = [k for k, color in enumerate(bars.colors) if color == GREEN]
    assert tells.y.ticks[green][1] == ", ".join(map(str, best.params.values()))
    points = of(predicts, Points)
    assert points[green].x == [pytest.approx(best.mean)]


def test_of_too_many_combinations_the_likely_ones_are_looked_at():
    picture = figures.draw_model(STUDIES["many choices"]())
    bars = one(picture.panels[0], Bars)
    assert len(bars.at) == 20
    assert list(bars.lengths[:19]) == sorted(bars.lengths[:19], reverse=True)
    looked_at = int(re.search(r"of (\d+) combinations", picture.said)[1])
    assert 1 + 6 * 3 <= looked_at <= 1 + 6 * 3 + SAMPLES


# Where the optimum may be


def test_the_distribution_of_the_optimum_has_a_panel_for_each_parameter():
    opt = STUDIES["six parameters"]()
    where = opt.where()
    picture = figures.draw_marginals(opt, where)
    assert [panel.x.label for panel in picture.panels] == list(MIXED)
    for panel in picture.panels:
        name = panel.x.label
        assert one(panel, Rule).at == coordinate(opt, name).place(where.recommendation.params[name])
        if len(where.places) < 2:
            assert panel.title == where.in_words(name)
        bars, steps = of(panel, Bars), of(panel, Line)
        assert sum(sum(mark.lengths) for mark in bars) + sum(sum(mark.y[:-1]) for mark in steps) == pytest.approx(1.0)
    layers = picture.panels[2]
    assert of(layers, Line)[0].x == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5]
    assert picture.panels[0].x.log
    assert picture.panels[3].x.log


def test_no_more_than_twelve_panels():
    picture = figures.draw_marginals(told([(0.0, 1.0)] * 14, lambda p: p["x0"], 3))
    assert len(picture.panels) == 12
    assert "12 of 14 parameters" in picture.said


def two_places():
    """Draws of an optimum that is at the left or at the right."""
    opt = told({"x": Real(0.0, 1.0), "y": Real(0.0, 1.0)}, lambda p: p["x"] ** 2, 5)
    left, right = [0.1, 0.11, 0.12, 0.1], [0.9, 0.91, 0.9]
    params = {"x": [*left, *right, 0.5], "y": [*left, *right, 0.5]}
    best = Recommendation({"x": 0.1, "y": 0.1}, 1.0, 0.1)
    return opt, OptimumPosterior(params, np.zeros(8), best, opt.space, ((0, 1, 2, 3), (4, 5, 6), (7,)))


def test_places_have_letters_and_colors():
    opt, where = two_places()
    picture = figures.draw_pairs(opt, None, where)
    assert "in one of 3 places: A about x = 0.1, y = 0.1; B about x = 0.9, y = 0.9; C about" in picture.said
    assert picture.cells == [(0, 0), (1, 0), (1, 1)]
    cloud = picture.panels[1]
    groups = {mark.name: (mark.color, sorted(mark.x)) for mark in of(cloud, Points, kind=Kind.OPTIMUM)}
    assert list(groups) == ["place A: 50%", "place B: 38%", "place C: 12%"]
    assert groups["place B: 38%"][1] == [0.9, 0.9, 0.91]
    assert len({color for color, _ in groups.values()}) == 3
    marginal = figures.draw_marginals(opt, where).panels[0]
    assert marginal.title.startswith("A 0.1 to 0.118, B 0.9 to 0.909")
    assert [mark.name for mark in of(marginal, Line)] == list(groups)


def test_pairs_show_the_part_where_the_draws_are():
    opt = told([(0.0, 1000.0), (0.0, 1.0)], lambda p: p["x0"], 5)
    params = {"x0": [500.0, 501.0, 503.0], "x1": [0.0, 0.5, 1.0]}
    best = Recommendation({"x0": 500.0, "x1": 0.5}, 1.0, 0.1)
    where = OptimumPosterior(params, np.zeros(3), best, opt.space)
    picture = figures.draw_pairs(opt, None, where)
    ends = {panel.x.label: (panel.x.low, panel.x.high) for panel in picture.panels}
    assert ends["x1"] == (0.0, 1.0)
    assert 450.0 < ends["x0"][0] < 500.0
    assert 503.0 < ends["x0"][1] < 550.0


def test_levels_at_the_same_place_are_moved_apart():
    opt = told({"a": Ordinal([1, 2, 4]), "b": Categorical(["u", "v"])}, lambda p: p["a"], 5)
    picture = figures.draw_pairs(opt)
    cloud = of(picture.panels[1], Points, kind=Kind.OPTIMUM)
    xs = [x for mark in cloud for x in mark.x]
    assert len(set(xs)) == len(xs) == SAMPLES
    assert all(abs(x - round(x)) <= 0.25 for x in xs)


# How it went


def test_the_bound_is_what_was_known_at_the_time():
    opt = STUDIES["six parameters"]()
    values, left = figures.draw_convergence(opt).panels
    upper, median = of(left, Line)
    done = [trial for trial in opt.trials if trial.state == "done"]
    assert upper.x == median.x == [trial.number for trial in done[opt.num_initial - 1 :]]
    then = Optimizer.from_trials(done[:8], MIXED, method=opt.method, num_initial=opt.num_initial)
    assert upper.y[1] == pytest.approx(then.where().regret_quantile(0.95))
    assert median.y[1] == pytest.approx(then.where().regret_quantile(0.5))
    assert left.y.log
    assert left.y.low < min(median.y) < max(upper.y) < left.y.high
    recommended = one(values, Line, name="recommended at the time")
    assert recommended.y[1] == pytest.approx(then.recommend().mean)
    band = one(values, Band)
    assert band.high[1] - band.low[1] == pytest.approx(4.0 * then.recommend().sd)
    confirmed = one(values, Line, name="best confirmed")
    assert confirmed.y[-1] == pytest.approx(opt.recommend(tested=True).mean)
    best = one(values, Line, name="best told")
    assert best.y == sorted(best.y)
    assert best.y[-1] == opt.best_observed.value
    points = one(values, Points, kind=Kind.TOLD)
    assert dict(zip(points.x, points.y, strict=True)).items() <= {t.number: t.value for t in done}.items()


def test_the_best_of_a_minimization_goes_down_and_the_gain_is_the_same():
    up = told([(0.0, 1.0)], hill, 7)
    down = told([(0.0, 1.0)], lambda p: -hill(p), 7, direction="minimize")
    (values, left), (mirrored, same) = (figures.draw_convergence(opt).panels for opt in (down, up))
    best = one(values, Line, name="best told").y
    assert best == sorted(best, reverse=True)
    assert best == pytest.approx([-value for value in one(mirrored, Line, name="best told").y])
    assert of(left, Line)[0].y == pytest.approx(of(same, Line)[0].y, rel=1e-6)


def test_a_long_run_has_twelve_bounds(monkeypatch):
    posterior = OptimumPosterior({}, np.array([0.0, 0.0, 1.0]), Recommendation({"x0": 0.5}, 1.0, 0.1))
    lengths = []
    monkeypatch.setattr(Optimizer, "where", lambda self, n: lengths.append(len(self.trials)) or posterior)
    _, left = figures.draw_convergence(told([(0.0, 1.0)], lambda p: p["x0"], 80, failures=20)).panels
    upper, median = of(left, Line)
    assert len(upper.x) == 12
    assert (lengths[0], lengths[-1]) == (3, 100), "from the first that has enough results to all"
    assert np.ptp(np.diff(lengths)) <= 1, "evenly"
    assert upper.y == [1.0] * 12
    assert set(median.labels) == {"0"}, "nothing left: below all others, and said so"
    assert 0.0 < max(median.y) < 1.0


@pytest.mark.parametrize("name", ["constant", "one result"])
def test_without_a_bound_the_picture_says_when_there_will_be_one(name):
    opt = STUDIES[name]()
    values, left = figures.draw_convergence(opt).panels
    assert left.marks == ()
    assert f"after\n{opt.num_initial} results" in left.note
    assert one(values, Line, name="best told").y[-1] == 2.0


def test_values_far_from_the_best_are_marked_at_the_edge():
    opt = STUDIES["far values"]()
    picture = figures.draw_convergence(opt)
    values = picture.panels[0]
    far = [trial.number for trial in opt.trials if trial.value < -1.0]
    beyond = one(values, Points, kind=Kind.BEYOND)
    assert list(beyond.x) == far
    assert set(beyond.y) == {values.y.low}
    assert f"{len(far)} value" in picture.said
    assert "beyond the axis" in picture.said


def test_a_long_study_shows_its_latest_trials(monkeypatch):
    opt = told([(0.0, 1.0), (0.0, 1.0)], lambda p: 0.0, 3)
    trials = [Trial(k, {"x0": k / 3001, "x1": k % 7 / 7}, "done", math.sin(k)) for k in range(3000)]
    monkeypatch.setattr(Optimizer, "trials", property(lambda self: tuple(trials)))
    (points,) = trial_points(opt, lambda t: t.params["x0"], lambda t: t.params["x1"])
    assert len(points.x) == 400
    assert points.notes[-1].startswith(f"trial 2999: {math.sin(2999):.5g}")


# What matters, how well the model predicts, why


def test_importance_is_that_of_the_optimizer():
    opt = STUDIES["six parameters"]()
    found = opt.importance()
    picture = figures.draw_importance(opt)
    for panel, shares in zip(picture.panels, (found.values, found.information), strict=True):
        assert [name for _, name in panel.y.ticks] == found.ranked
        bars = one(panel, Bars)
        ranked = [shares[name] for name in found.ranked]
        assert [bars.lengths, bars.low, bars.high] == [
            [s.share for s in ranked], [s.low for s in ranked], [s.high for s in ranked],
        ]  # fmt: skip
    assert found.ranked[0] in ("momentum", "layers")
    left, right = picture.shown
    assert [name for _, name in left.y.ticks] == found.ranked
    assert {name for _, name in right.y.ticks} == {""}, "side by side, names are there once"


def test_calibration_marks_what_was_surprising():
    opt = told([(0.0, 1.0)], lambda p: math.sin(6 * p["x0"]), 12)
    odd = Optimizer.from_trials(
        [*opt.trials, Trial(12, {"x0": opt.trials[3].params["x0"] + 1e-3}, "done", opt.trials[3].value + 3.0, 0.01)],
        [(0.0, 1.0)], method=opt.method,
    )  # fmt: skip
    found = odd.calibration()
    assert found.surprises
    predicted, off = figures.draw_calibration(odd).panels
    marked = one(off, Points, kind=Kind.SURPRISE)
    assert sorted(marked.x) == sorted(trial.number for trial in found.surprises)
    everything = {x: y for mark in of(off, Points) for x, y in zip(mark.x, mark.y, strict=True)}
    np.testing.assert_allclose([everything[trial.number] for trial in found.trials], found.z)
    told_as_predicted = one(predicted, Line)
    assert list(told_as_predicted.x) == list(told_as_predicted.y)


def test_two_values_have_no_calibration():
    (panel,) = figures.draw_calibration(told([(0.0, 1.0)], lambda p: p["x0"], 2)).panels
    assert panel.note == "Tell at least three values."


def test_why_goes_through_the_point_and_leaves_out_its_own_result():
    opt = STUDIES["two numbers"]()
    trial = opt.trials[2]
    explained = opt.explain(trial)
    picture = figures.draw_why(opt, trial)
    assert f"{explained.bits:.3g} bits" in picture.said
    before = opt.with_trials([other for other in opt.trials if other.number != 2])
    above, below = picture.panels[:2], picture.panels[2:]
    for panel, name in zip(above, ("x0", "x1"), strict=True):
        curve = one(panel, Line)
        points = [{**trial.params, name: x} for x in np.array(curve.x)[::40].tolist()]
        inside = np.clip(before.predict(points)[0], min(curve.y), max(curve.y))
        np.testing.assert_allclose(np.array(curve.y)[::40], inside)
        assert one(panel, Points, kind=Kind.HERE).x == [trial.params[name]]
        assert trial.params[name] not in one(panel, Points, kind=Kind.TOLD).x
    assert all(one(panel, Points, kind=Kind.HERE).y == [explained.bits] for panel in below)


def test_why_has_nothing_between_choices():
    opt = STUDIES["six parameters"]()
    picture = figures.draw_why(opt, opt.ask())
    across = [panel.x.label for panel in picture.panels[: len(picture.panels) // 2]]
    choices = [k for k, name in enumerate(across) if name in ("activation", "bias")]
    assert choices, "one of four panels is of choices"
    for k in choices:
        above, below = picture.panels[k], picture.panels[len(across) + k]
        assert of(above, Line) == of(below, Line) == of(above, Band) == []
        predicted = next(mark for mark in of(above, Points, kind=Kind.HERE) if mark.name == "predicted value")
        assert len(predicted.x) == len(one(below, Bars).at) == len(MIXED[across[k]].choices)


def test_a_summary_has_the_values_beside_the_model():
    opt = STUDIES["six parameters"]()
    picture = figures.draw_summary(opt)
    assert [panel.title for panel in picture.panels][-1] == "Values, to maximize"
    assert opt.recommend().value_in_words in picture.said
    assert picture.title == "After 9 evaluations"
    split = figures.draw_summary(opt, ("momentum", "activation"))
    assert split.columns == 4
    assert split.cells == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2)]


def test_a_picture_says_in_words_what_it_shows():
    words = figures.draw_convergence(STUDIES["one number"]()).alternative
    assert words.startswith("How it went. ")
    assert "Values, to maximize" in words


# Coordinates


def test_units_names_and_listed_values_are_on_the_axes():
    opt = told(
        {"t": Real(20, 90, unit="°C"), "s": Ordinal([16, 32, 64], unit="MB"), "c": Categorical(["u", None])},
        lambda p: p["t"], 4,
    )  # fmt: skip
    assert coordinate(opt, "t").axis.label == "t (°C)"
    assert [name for _, name in coordinate(opt, "s").axis.ticks] == ["16", "32", "64"]
    assert coordinate(opt, "s").place(64) == 2.0
    assert coordinate(opt, "c").place(None) == 1.0


def test_bars_of_a_histogram_are_around_few_values():
    opt = told({"h": Real(0.1, 0.5, step=0.1), "k": Integer(0, 10**15), "m": Integer(2, 5)}, lambda p: p["h"], 4)
    assert coordinate(opt, "h").edges(24) == pytest.approx([0.05, 0.15, 0.25, 0.35, 0.45, 0.55])
    assert coordinate(opt, "m").edges(24) == [1.5, 2.5, 3.5, 4.5, 5.5]
    assert len(coordinate(opt, "k").edges(24)) == 25
