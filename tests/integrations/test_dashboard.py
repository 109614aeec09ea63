"""The dashboard: its figures show the right things, are saved in the study, and appear in a browser."""

import functools
import itertools
import json
import math
import re
import socket
import sys
import threading
import urllib.request
from contextlib import contextmanager

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.trial import TrialState, create_trial

from tests.waiting import wait_until
from xstar import Categorical, Integer, Method, Optimizer, Real, Trial
from xstar.acquisition import PES
from xstar.beliefs import OptimumPosterior
from xstar.errors import SettingsError
from xstar.gp import MAP, Matern52
from xstar.integrations import dashboard
from xstar.views.figures import parts
from xstar.views.plots import most_sensitive

METHOD = Method(Matern52(), MAP(), acquisition=PES(num_samples=5, num_features=64))
SAMPLES = 12
INFORMATION, OPTIMUM, REGRET = dashboard.FIGURES


@pytest.fixture(autouse=True)
def few_samples(monkeypatch):
    """Figures show 200 sampled optima; 12 are enough here."""
    where = Optimizer.where
    monkeypatch.setattr(Optimizer, "where", lambda self, num_samples=SAMPLES: where(self, SAMPLES))


@pytest.fixture(autouse=True)
def quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(optuna.logging.INFO)


def told(space, function, count=6, failures=0, running=0, **settings):
    """An optimizer with so many results at random points; the failures come last but for running trials."""
    settings = {"method": METHOD, **settings}
    empty, rng = Optimizer(space, **settings), np.random.default_rng(3)
    trials = []
    for number in range(count + failures + running):
        params = empty.space.decode(rng.uniform(size=empty.space.domain.dimension))
        if number < count:
            trials.append(Trial(number, params, "done", float(function(params))))
        elif number < count + failures:
            trials.append(Trial(number, params, "failed", reason="crashed"))
        else:
            trials.append(Trial(number, params))
    return Optimizer.from_trials(trials, space, **settings)


MIXED = {
    "lr": Real(1e-5, 1e-1, log=True),
    "momentum": Real(0.0, 1.0),
    "layers": Integer(1, 6),
    "batch": Integer(1, 4096, log=True),
    "activation": Categorical(["relu", "gelu", None]),
    "bias": Categorical([True, False]),
}
CHOICES = {"c": Categorical(list("uvwxyz")), "b": Categorical([1, "1", 2]), "s": Categorical(["sgd", "adam"])}


def gain(params):
    return 10.0 * params["momentum"] - 3.0 * abs(params["layers"] - 4)


STUDIES = {
    "one number": lambda: told([(0.0, 1.0)], lambda p: -((p["x0"] - 0.3) ** 2), 7, failures=1, running=1),
    "choices": lambda: told(CHOICES, lambda p: "uvwxyz".index(p["c"]) + (p["s"] == "sgd"), 8),
    "many choices": lambda: told({f"p{k}": Categorical(list("abcd")) for k in range(6)}, lambda p: ord(p["p0"])),
    "six parameters": lambda: told(MIXED, gain, 9, running=1),
    "minimized": lambda: told(MIXED, lambda p: -gain(p), 9, direction="minimize"),
    "constant": lambda: told([(0.0, 1.0), (-5.0, 5.0)], lambda p: 2.0),
    "one result": lambda: told([(0.0, 1.0), (-5.0, 5.0)], lambda p: 2.0, 1),
    "steps": lambda: told({"k": Integer(0, 10**15), "h": Real(0.1, 0.5, step=0.1)}, lambda p: p["h"]),
    "narrow": lambda: told({"x": Real(1000.0, 1000.001), "y": Real(1.0, 2.0)}, lambda p: p["x"] + p["y"]),
}
DRAWN = {}


def drawn(name):
    """An optimizer and its figures as they arrive in the browser."""
    if name not in DRAWN:
        optimizer = STUDIES[name]()
        figures = dashboard.draw(optimizer)
        DRAWN[name] = optimizer, {key: json.loads(figure.to_json()) for key, figure in figures.items()}
    return DRAWN[name]


def traces(figure, **wanted):
    return [trace for trace in figure["data"] if all(trace.get(key) == value for key, value in wanted.items())]


def heading(figure):
    return figure["layout"]["title"]["text"]


# Figures


@pytest.mark.parametrize("name", STUDIES)
def test_every_kind_of_study_has_three_small_figures(name):
    _, figures = drawn(name)
    assert tuple(figures) == dashboard.FIGURES
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_.:-]*", key) for key in figures), "valid HTML ids"
    for key, figure in figures.items():
        text = json.dumps(figure)
        assert 500 < len(text) < 60_000, key
        assert not figure["layout"].get("template"), key
        assert "bdata" not in text, "plain numbers, which any version of plotly.js reads"
        assert figure["data"], key
        for trace in figure["data"]:
            numbers = [value for axis in "xy" for value in trace[axis] if not isinstance(value, str)]
            assert numbers
            assert None not in numbers, "JSON has no infinite values"


def test_a_long_study_has_small_figures_too(monkeypatch):
    optimizer = told([(0.0, 1.0), (0.0, 1.0)], lambda p: 0.0, 3)
    trials = [Trial(k, {"x0": k / 3001, "x1": k % 7 / 7}, "done", math.sin(k)) for k in range(3000)]
    monkeypatch.setattr(Optimizer, "trials", property(lambda self: tuple(trials)))
    figure = parts.figure(parts.trial_points(optimizer, "x0", "x1"), "", "")
    assert len(figure.to_json()) < 45_000
    assert figure.data[0].hovertext[-1] == f"trial 2999: {math.sin(2999):.5g}", "the latest are kept"


def test_nothing_is_drawn_before_the_first_result():
    assert dashboard.draw(Optimizer([(0.0, 1.0)])) == {}
    assert dashboard.draw(told([(0.0, 1.0)], None, 0, failures=2, running=1)) == {}


def test_a_space_of_one_point_has_values_but_nothing_to_find():
    assert list(dashboard.draw(told({"x": Real(1.0, 1.0)}, lambda p: 1.0))) == [REGRET]


def test_the_map_shows_information_at_the_recommended_other_parameters():
    optimizer, figures = drawn("six parameters")
    figure = figures[INFORMATION]
    assert "Where an evaluation would tell most" in heading(figure)
    assert "the other 4 parameters as recommended" in heading(figure)
    (surface,) = traces(figure, type="contour")
    across, up = (figure["layout"][axis]["title"]["text"] for axis in ("xaxis", "yaxis"))
    assert (across, up) == most_sensitive(optimizer)
    assert figure["layout"]["xaxis"]["range"] == [MIXED[across].low, MIXED[across].high]
    best = optimizer.recommend().params
    for k, j in itertools.product((0, -1), (0, 12, -1)):
        x, y = surface["x"][j], surface["y"][k]
        (bits,) = optimizer.information([{**best, across: x, up: y}])
        assert surface["z"][k][j] == pytest.approx(bits, rel=2e-3, abs=1e-6)
    (points,) = traces(figure, name="told")
    assert points["hovertext"][4] == f"trial 4: {optimizer.trials[4].value:.5g}"
    assert points["x"][4] == pytest.approx(optimizer.trials[4].params[across], rel=1e-3)
    (running,) = traces(figure, name="running")
    assert running["hovertext"] == ["trial 9 is running"]
    assert running["y"] == pytest.approx([optimizer.trials[9].params[up]], rel=1e-3)
    assert traces(figure, name="failed") == []
    (sampled,) = traces(figure, name="optimum, sampled")
    assert sampled["y"] == pytest.approx(optimizer.where().params[up], rel=1e-3)


def test_a_logarithmic_parameter_has_a_logarithmic_axis():
    space = {"rate": Real(1e-4, 1.0, log=True), "size": Integer(1, 500, log=True)}
    figure = dashboard.draw(told(space, lambda p: math.log(p["rate"]), 4))[INFORMATION].to_plotly_json()["layout"]
    assert (figure["xaxis"]["type"], figure["yaxis"]["type"]) == ("log", "log")
    assert figure["xaxis"]["range"] == pytest.approx([-4.0, 0.0])
    assert figure["yaxis"]["tickvals"] == [1.0, 10.0, 100.0]


def test_one_number_is_drawn_as_a_curve_over_its_trials():
    optimizer, figures = drawn("one number")
    curve, sampled, best, points, failed, running = figures[INFORMATION]["data"]
    bits = optimizer.information([[x] for x in curve["x"]])
    np.testing.assert_allclose(curve["y"], bits, rtol=0.05, atol=1e-3 * np.max(bits))
    assert np.argmax(curve["y"]) == np.argmax(bits)
    assert [len(points["x"]), len(failed["x"]), len(running["x"])] == [7, 1, 1]
    assert failed["hovertext"] == ["trial 7 failed: crashed"]
    assert best["x"] == pytest.approx([optimizer.recommend().params["x0"]], rel=1e-3)
    assert len(sampled["x"]) == SAMPLES
    low, high = figures[INFORMATION]["layout"]["yaxis"]["range"]
    assert low < min(sampled["y"]) < 0.0 < max(curve["y"]) < high


def test_choices_are_bars_of_the_most_informative_combinations():
    optimizer, figures = drawn("choices")
    (bars,) = figures[INFORMATION]["data"]
    everything = [
        dict(zip(CHOICES, row, strict=True)) for row in itertools.product(*(c.choices for c in CHOICES.values()))
    ]
    bits = np.sort(optimizer.information(everything))[::-1]
    np.testing.assert_allclose(bars["x"], bits[:20], rtol=1e-3)
    assert "the best 20 of 36 combinations" in heading(figures[INFORMATION])
    labels = figures[INFORMATION]["layout"]["yaxis"]["ticktext"]
    first = everything[int(np.argmax(optimizer.information(everything)))]
    assert labels[0] == ", ".join(map(str, first.values()))
    assert len(bars["y"]) == len(set(bars["y"])), "combinations that read the same have bars of their own"
    there = [trial.number for trial in optimizer.trials if optimizer.space.same(trial.params, first)]
    assert bars["hovertext"][0].startswith(f"trial {there[0]}: " if there else "no trial yet")


def test_of_too_many_combinations_the_likely_ones_are_looked_at():
    figures = drawn("many choices")[1]
    (bars,) = figures[INFORMATION]["data"]
    assert len(bars["x"]) == 20
    assert bars["x"] == sorted(bars["x"], reverse=True)
    looked_at = int(re.search(r"of (\d+) combinations", heading(figures[INFORMATION]))[1])
    assert 1 + 6 * 3 <= looked_at <= 1 + 6 * 3 + SAMPLES


def test_the_distribution_of_the_optimum_has_a_panel_for_each_parameter():
    optimizer, figures = drawn("six parameters")
    layout, where = figures[OPTIMUM]["layout"], optimizer.where()
    for k, name in enumerate(MIXED):
        suffix = str(k + 1) if k else ""
        title, interval = layout[f"xaxis{suffix}"]["title"]["text"].split("<br>")
        assert title == name
        panel = traces(figures[OPTIMUM], xaxis=f"x{suffix}", yaxis=f"y{suffix}")
        best = where.recommendation.params[name]
        if name in ("activation", "bias"):
            (bars,) = panel
            choices = MIXED[name].choices
            assert bars["y"] == pytest.approx([where.params[name].count(c) / SAMPLES for c in choices], rel=1e-4)
            green = [c for c, color in zip(choices, bars["marker"]["color"], strict=True) if color == parts.GREEN]
            assert green == [best]
            assert str(best) in interval or "or" in interval
        else:
            steps, line = panel
            assert sum(steps["y"][:-1]) == pytest.approx(1.0, abs=1e-3), "every sample is in one bin"
            assert line["x"] == pytest.approx([best, best], rel=1e-3)
            low, high = where.interval(name)
            assert interval == f"{low:.4g} to {high:.4g}"
    assert layout["xaxis"]["type"] == layout["xaxis4"]["type"] == "log"
    layers = traces(figures[OPTIMUM], xaxis="x3")[0]
    assert layers["x"] == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5]
    assert layers["y"][:-1] == pytest.approx([where.params["layers"].count(k) / SAMPLES for k in range(1, 7)], rel=1e-4)
    assert "90 % credible intervals" in heading(figures[OPTIMUM])


def test_no_more_than_twelve_panels():
    figure = dashboard.draw(told([(0.0, 1.0)] * 14, lambda p: p["x0"], 3))[OPTIMUM].to_plotly_json()
    assert {trace["xaxis"] for trace in figure["data"]} == {"x", *(f"x{k}" for k in range(2, 13))}
    assert "12 of 14 parameters" in heading(figure)


def test_the_bound_is_what_was_known_at_the_time():
    optimizer, figures = drawn("six parameters")
    upper, median, best, points = figures[REGRET]["data"]
    done = [trial for trial in optimizer.trials if trial.state == "done"]
    assert upper["x"] == median["x"] == [trial.number for trial in done[optimizer.num_initial - 1 :]]
    then = Optimizer.from_trials(done[:8], MIXED, method=METHOD, num_initial=optimizer.num_initial).where()
    assert upper["y"][1] == pytest.approx(then.regret_quantile(0.95), rel=1e-3)
    assert median["y"][1] == pytest.approx(then.regret_quantile(0.5), rel=1e-3)
    assert figures[REGRET]["layout"]["yaxis"]["type"] == "log"
    low, high = figures[REGRET]["layout"]["yaxis"]["range"]
    assert 10.0**low < min(median["y"]) < max(upper["y"]) < 10.0**high
    assert best["y"][-1] == pytest.approx(optimizer.best_observed.value, rel=1e-4)
    assert best["y"] == sorted(best["y"])
    assert points["hovertext"][3] == f"trial 3: {done[3].value:.5g}"


def test_the_best_of_a_minimization_goes_down():
    optimizer, figures = drawn("minimized")
    best = traces(figures[REGRET], name="best so far")[0]["y"]
    assert best == sorted(best, reverse=True)
    assert best[-1] == pytest.approx(optimizer.best_observed.value, rel=1e-4)
    mirrored = drawn("six parameters")[1][REGRET]["data"][0]["y"]
    assert figures[REGRET]["data"][0]["y"] == pytest.approx(mirrored, rel=1e-3), "the same gain, in the other direction"


def test_a_long_run_has_twelve_bounds(monkeypatch):
    posterior = OptimumPosterior({}, np.array([0.0, 0.0, 1.0]), None)
    lengths = []
    monkeypatch.setattr(Optimizer, "where", lambda self, n: lengths.append(len(self.trials)) or posterior)
    figure = dashboard.draw_regret(told([(0.0, 1.0)], lambda p: p["x0"], 80, failures=20)).to_plotly_json()
    upper, median = figure["data"][:2]
    assert len(upper["x"]) == 12
    assert (lengths[0], lengths[-1]) == (3, 100), "from the first that has enough results to all"
    assert np.ptp(np.diff(lengths)) <= 1, "evenly"
    assert upper["y"] == [1.0] * 12
    assert set(median["text"]) == {"0"}, "nothing left: below all others, and said so"
    assert 0.0 < max(median["y"]) < 1.0


@pytest.mark.parametrize("name", ["constant", "one result"])
def test_without_a_bound_the_figure_says_when_there_will_be_one(name):
    optimizer, figures = drawn(name)
    assert [trace["name"] for trace in figures[REGRET]["data"]] == ["best so far", "told"]
    (note,) = figures[REGRET]["layout"]["annotations"]
    assert f"{optimizer.num_initial} results" in note["text"]


def test_rounding_keeps_what_can_be_seen():
    assert parts.rounded([1 / 3, 2e-9 / 3]) == [0.33333, 6.6667e-10]
    narrow = parts.rounded(np.linspace(1000.0, 1000.001, 25))
    assert len(set(narrow)) == 25
    assert parts.rounded([]) == []
    assert parts.rounded([0.0, -0.0]) == [0.0, 0.0]
    assert parts.rounded([-1.5e308, 1.5e308]) == [-1.5e308, 1.5e308]


def test_names_are_no_html():
    figure = dashboard.draw(told({"a<b>": Real(0.0, 1.0), "c": Categorical(["<i>", "&"])}, lambda p: p["a<b>"]))
    assert figure[INFORMATION].layout.xaxis.title.text == "a&lt;b&gt;"
    assert list(figure[OPTIMUM].layout.xaxis2.ticktext) == ["&lt;i&gt;", "&amp;"]


# Studies

SPACE = {
    "learning_rate": Real(1e-5, 1.0, log=True),
    "dropout": Real(0.0, 1.0),
    "activation": Categorical(["relu", "gelu", "tanh"]),
}
DISTRIBUTIONS = {
    "learning_rate": FloatDistribution(1e-5, 1.0, log=True),
    "dropout": FloatDistribution(0.0, 1.0),
    "activation": CategoricalDistribution(["relu", "gelu", "tanh"]),
}
STATES = {TrialState.COMPLETE: "done", TrialState.FAIL: "failed", TrialState.RUNNING: "pending"}


def load(study):
    """The optimizer of a study, by hand."""
    trials = [
        Trial(trial.number, trial.params, STATES[trial.state], trial.value if trial.values else None)
        for trial in study.get_trials()
    ]
    return Optimizer.from_trials(trials, SPACE, method=METHOD)


def add_results(study, count, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        params = {
            "learning_rate": 10.0 ** rng.uniform(-5.0, 0.0),
            "dropout": rng.uniform(),
            "activation": ["relu", "gelu", "tanh"][rng.integers(3)],
        }
        value = -((math.log10(params["learning_rate"]) + 2.0) ** 2) - 3.0 * (params["dropout"] - 0.4) ** 2
        study.add_trial(create_trial(params=params, distributions=DISTRIBUTIONS, value=value))


@pytest.fixture
def study(tmp_path):
    storage = optuna.storages.RDBStorage(f"sqlite:///{tmp_path}/study.db")
    sampler = optuna.samplers.RandomSampler(seed=0)
    yield optuna.create_study(study_name="tuning", direction="maximize", storage=storage, sampler=sampler)
    storage.remove_session()
    storage.engine.dispose()


def saved(study):
    """The figures that the dashboard finds in the study."""
    from optuna_dashboard._custom_plot_data import get_plotly_graph_objects

    found = get_plotly_graph_objects(study._storage.get_study_system_attrs(study._study_id))
    return {key: json.loads(text) for key, text in found.items()}


def test_figures_are_saved_in_the_study_and_replaced(study):
    add_results(study, 6)
    assert dashboard.save_figures(study, load(study)) == list(dashboard.FIGURES)
    first = saved(study)
    add_results(study, 1, seed=1)
    optimizer = load(study)
    assert dashboard.save_figures(study, optimizer) == list(dashboard.FIGURES)
    second = saved(study)
    assert set(first) == set(second) == set(dashboard.FIGURES)
    assert len(traces(first[INFORMATION], name="told")[0]["x"]) == 6
    assert len(traces(second[INFORMATION], name="told")[0]["x"]) == 7
    assert second == {key: json.loads(figure.to_json()) for key, figure in dashboard.draw(optimizer).items()}


def test_without_results_nothing_is_saved(study):
    assert dashboard.save_figures(study, load(study)) == []
    assert saved(study) == {}


@pytest.mark.parametrize("package", ["plotly", "optuna_dashboard"])
def test_without_the_packages_the_message_says_what_to_install(study, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    for call in (lambda: dashboard.save_figures(study, load(study)), lambda: dashboard.serve(study, load, port=0)):
        with pytest.raises(SettingsError, match=r"needs optuna-dashboard and plotly: pip install 'xstar\[dashboard\]'"):
            call()


def test_drawing_alone_needs_plotly(monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(SettingsError, match=r"pip install 'xstar\[dashboard\]'"):
        dashboard.draw(told([(0.0, 1.0)], lambda p: p["x0"], 3))


# The server


@contextmanager
def serving(study, load, monkeypatch, refresh=0.05):
    """The dashboard in a thread: what it announces. The thread ends with the context."""
    servers, announced = [], []
    listen = dashboard._listen
    monkeypatch.setattr(dashboard, "_listen", lambda *args: servers.append(listen(*args)) or servers[0])
    run = functools.partial(dashboard.serve, study, load, port=0, refresh=refresh, announce=announced.append)
    thread = threading.Thread(target=run)
    thread.start()
    try:
        wait_until(lambda: announced)
        yield announced
    finally:
        servers[0].shutdown()
        thread.join()


def address(announced):
    return re.fullmatch(r"the dashboard is at (http://127\.0\.0\.1:\d+/dashboard/studies/\d+)", announced[0])[1]


def number_told(study):
    try:
        figures = saved(study)
    except json.JSONDecodeError:  # just being saved
        return None
    return len(traces(figures[INFORMATION], name="told")[0]["x"]) if REGRET in figures else None


def test_figures_appear_with_the_first_results_and_follow_new_ones(study, monkeypatch):
    with serving(study, load, monkeypatch) as announced:
        with urllib.request.urlopen(address(announced)) as page:
            assert page.status == 200
            assert b"Optuna Dashboard" in page.read()
        assert saved(study) == {}
        add_results(study, 4)
        wait_until(lambda: number_told(study) == 4)
        add_results(study, 1, seed=1)
        wait_until(lambda: number_told(study) == 5)
    assert len(announced) == 1


def test_figures_are_drawn_again_only_when_a_trial_has_finished(study, monkeypatch):
    saves, looks, get_trials = [], [], study.get_trials
    monkeypatch.setattr(dashboard, "save_figures", lambda study, optimizer: saves.append(optimizer))
    monkeypatch.setattr(study, "get_trials", lambda **settings: looks.append(1) or get_trials(**settings))

    def look_again():
        seen = len(looks)
        wait_until(lambda: len(looks) >= seen + 3)

    with serving(study, lambda study: len(get_trials()), monkeypatch, refresh=0.01) as announced:
        look_again()
        assert saves == []
        add_results(study, 1)
        look_again()
        assert saves == [1]
        running = study.ask(DISTRIBUTIONS)
        look_again()
        assert saves == [1]
        study.tell(running, state=TrialState.FAIL)
        look_again()
        assert saves == [1, 2]
    assert len(announced) == 1


def test_trouble_with_the_figures_is_announced_once_and_the_dashboard_goes_on(study, monkeypatch):
    add_results(study, 4)
    broken = [True]
    attempts = []

    def load_in_the_end(study):
        attempts.append(1)
        if broken:
            raise RuntimeError("no such luck")
        return load(study)

    with serving(study, load_in_the_end, monkeypatch, refresh=0.01) as announced:
        wait_until(lambda: len(attempts) >= 3)
        with urllib.request.urlopen(address(announced)) as page:
            assert page.status == 200
        assert announced[1:] == ["the figures could not be drawn: no such luck"]
        broken.clear()
        wait_until(lambda: number_told(study) == 4)
    assert len(announced) == 2


def test_an_interrupt_is_left_to_the_caller_and_the_port_is_free_again(study, monkeypatch):
    announced = []

    def interrupt(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(dashboard._Server, "serve_forever", interrupt)
    with pytest.raises(KeyboardInterrupt):
        dashboard.serve(study, load, port=0, announce=announced.append)
    port = int(re.search(r":(\d+)/", announced[0])[1])
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
    assert not [thread for thread in threading.enumerate() if thread.name == "xstar-figures"]


def test_a_port_in_use_is_said_in_one_sentence(study):
    announced = []
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(SettingsError, match=rf"^port {port} of 127\.0\.0\.1 is in use already; choose another"):
            dashboard.serve(study, load, port=port, announce=announced.append)
    assert announced == []


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"port": 70_000}, r"cannot listen at port 70000 of 127\.0\.0\.1"),
        ({"host": "203.0.113.1", "port": 0}, r"cannot listen at port 0 of 203\.0\.113\.1"),
        ({"refresh": 0.0, "port": 0}, r"refresh must be a number > 0"),
    ],
    ids=["port", "host", "refresh"],
)
def test_settings_that_cannot_be(study, settings, message):
    with pytest.raises(SettingsError, match=message):
        dashboard.serve(study, load, **settings)


# The browser


def test_the_figures_are_on_the_page_of_the_study(study, browser, monkeypatch, tmp_path):
    add_results(study, 10)
    study.add_trial(
        create_trial(
            params={"learning_rate": 0.5, "dropout": 0.9, "activation": "relu"},
            distributions=DISTRIBUTIONS,
            state=TrialState.FAIL,
        )
    )
    study.ask(DISTRIBUTIONS)
    with serving(study, load, monkeypatch, refresh=30.0) as announced:
        wait_until(lambda: number_told(study) == 10)
        browser.get(address(announced))
        figures = {key: wait_until(lambda key=key: shown(browser, key)) for key in dashboard.FIGURES}
        wait_until(lambda: count(figures[REGRET], ".scatterlayer .trace") == 4)
        assert heading_of(figures[INFORMATION]).startswith("Where an evaluation would tell most")
        assert heading_of(figures[OPTIMUM]).startswith("Where the optimum is")
        assert heading_of(figures[REGRET]).startswith("What is left to gain")
        # One filled surface; 12 sampled optima, the recommended point, 10 results, 1 failure, 1 running trial.
        assert count(figures[INFORMATION], ".contourlayer .contour, .heatmaplayer image") >= 1
        assert count(figures[INFORMATION], ".scatterlayer .point") == SAMPLES + 1 + 10 + 1 + 1
        legend = [entry.text for entry in elements(figures[INFORMATION], ".legendtext")]
        assert legend == ["optimum, sampled", "recommended", "told", "failed", "running"]
        # Two histograms, three bars.
        assert count(figures[OPTIMUM], ".scatterlayer .js-fill") == 2
        assert count(figures[OPTIMUM], ".barlayer .point") == 3
        titles = [entry.text for entry in elements(figures[OPTIMUM], ".xtitle, .x2title, .x3title")]
        assert len(titles) == 3
        assert all(title.startswith(name) for title, name in zip(titles, SPACE, strict=True))
        assert len(elements(figures[REGRET], ".ytitle, .y2title")) == 2
        for figure in figures.values():
            assert figure.size["width"] > 400
            assert figure.size["height"] == 450, "the height of the dashboard's cards"
        picture = tmp_path / "dashboard.png"
        browser.save_screenshot(str(picture))
        assert picture.stat().st_size > 50_000
        assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def elements(parent, selector):
    return parent.find_elements("css selector", selector)


def count(parent, selector):
    return len(elements(parent, selector))


def shown(browser, key):
    """A figure whose drawing is on the page and visible."""
    found = elements(browser, f"[id='user-defined-plot:{key}']")
    drawings = [drawing for figure in found for drawing in elements(figure, "svg.main-svg .gtitle")]
    return found[0] if drawings and drawings[0].is_displayed() else None


def heading_of(figure):
    return elements(figure, ".gtitle")[0].text
