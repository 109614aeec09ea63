"""The dashboard: its figures show the right things, are saved in the study, and appear in a browser."""

import functools
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

from tests.hostile import IMAGE, SCRIPT
from tests.views.studies import METHOD, SAMPLES, STUDIES, told
from tests.waiting import wait_until
from xstar import Categorical, Optimizer, Real, Trial
from xstar.errors import SettingsError
from xstar.integrations import dashboard

INFORMATION, OPTIMUM, IMPORTANCE, CALIBRATION, REGRET = dashboard.FIGURES


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


def traces(figure, **wanted):
    return [trace for trace in figure["data"] if all(trace.get(key) == value for key, value in wanted.items())]


# Figures


@pytest.mark.parametrize("name", ["one number", "choices", "six parameters", "one result"])
def test_a_study_has_five_small_figures(name):
    figures = dashboard.draw(STUDIES[name]())
    assert tuple(figures) == dashboard.FIGURES
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_.:-]*", key) for key in figures), "valid HTML ids"
    for key, figure in figures.items():
        assert 500 < len(figure.to_json()) < 60_000, key
        assert figure.layout.height == 450, "that of the dashboard's cards"


def test_nothing_is_drawn_before_the_first_result():
    assert dashboard.draw(Optimizer([(0.0, 1.0)])) == {}
    assert dashboard.draw(told([(0.0, 1.0)], None, 0, failures=2, running=1)) == {}


def test_a_space_of_one_point_has_values_but_nothing_to_find():
    assert list(dashboard.draw(STUDIES["one point"]())) == [REGRET]


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


def count_told(figures):
    """The values by trial; those far from the best are marked at the edge."""
    shown = (trace for name in ("told", "beyond the axis") for trace in traces(figures[REGRET], name=name))
    return sum(len(trace["x"]) for trace in shown)


def test_figures_are_saved_in_the_study_and_replaced(study):
    add_results(study, 6)
    assert dashboard.save_figures(study, load(study)) == list(dashboard.FIGURES)
    first = saved(study)
    add_results(study, 1, seed=1)
    optimizer = load(study)
    assert dashboard.save_figures(study, optimizer) == list(dashboard.FIGURES)
    second = saved(study)
    assert set(first) == set(second) == set(dashboard.FIGURES)
    assert [count_told(figures) for figures in (first, second)] == [6, 7]
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
    return count_told(figures) if REGRET in figures else None


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
        wait_until(lambda: count(figures[REGRET], ".scatterlayer .trace") >= 5)
        headings = [heading_of(figures[key]) for key in dashboard.FIGURES]
        for found, expected in zip(
            headings,
            ["What the model predicts, and where", "Where the optimum may be", "Which parameters matter",
             "How well the model predicts", "How it went"],
            strict=True,
        ):  # fmt: skip
            assert found.startswith(expected)
        # As many points as the figure has.
        points = [trace for trace in saved(study)[INFORMATION]["data"] if trace.get("mode") == "markers"]
        assert count(figures[INFORMATION], ".scatterlayer .point") >= sum(len(trace["x"]) for trace in points) > 10
        legend = [entry.text for entry in elements(figures[INFORMATION], ".legendtext")]
        assert {"told", "failed", "running", "optimum, sampled", "recommended"} <= set(legend)
        titles = [entry.text for entry in elements(figures[OPTIMUM], ".xtitle, .x2title, .x3title")]
        assert titles == list(SPACE)
        assert count(figures[IMPORTANCE], ".barlayer .point") == 2 * len(SPACE)
        assert len(elements(figures[CALIBRATION], ".ytitle, .y2title")) == 2
        assert len(elements(figures[REGRET], ".ytitle, .y2title")) == 2
        for figure in figures.values():
            assert figure.size["width"] > 400
            assert figure.size["height"] == 450, "the height of the dashboard's cards"
        picture = tmp_path / "dashboard.png"
        browser.save_screenshot(str(picture))
        assert picture.stat().st_size > 50_000
        assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_no_text_of_users_is_run_by_the_dashboard(tmp_path, browser, monkeypatch):
    names = {"x": Real(0.0, 1.0), SCRIPT: Categorical([IMAGE, "other"]), "%{y} <b>": Real(0.0, 1.0)}
    distributions = {
        "x": FloatDistribution(0.0, 1.0),
        SCRIPT: CategoricalDistribution([IMAGE, "other"]),
        "%{y} <b>": FloatDistribution(0.0, 1.0),
    }
    storage = optuna.storages.RDBStorage(f"sqlite:///{tmp_path}/study.db")
    study = optuna.create_study(study_name=f"{IMAGE} {SCRIPT}", direction="maximize", storage=storage)
    for k in range(5):
        params = {"x": k / 5, SCRIPT: (IMAGE, "other")[k % 2], "%{y} <b>": (k * k % 5) / 5}
        study.add_trial(
            create_trial(params=params, distributions=distributions, value=k / 5, user_attrs={IMAGE: SCRIPT})
        )

    def load_hostile(study):
        trials = [Trial(trial.number, trial.params, "done", trial.value) for trial in study.get_trials()]
        return Optimizer.from_trials(trials, names, method=METHOD)

    for key, figure in dashboard.draw(load_hostile(study)).items():
        tags = set(re.findall(r"<[^>]*>", json.dumps(figure.to_plotly_json(), default=str)))
        assert all(re.fullmatch(r"</?(b|br|span|extra)( style=[^<>]*)?>", tag) for tag in tags), key
        assert "%{y} <b>" not in figure.to_json()
    with serving(study, load_hostile, monkeypatch, refresh=30.0) as announced:
        wait_until(lambda: number_told(study) == 5)
        for page in ("", "/trialTable"):
            browser.get(address(announced) + page)
            wait_until(lambda: SCRIPT in browser.execute_script("return document.body.textContent"))
            if not page:
                wait_until(lambda: shown(browser, REGRET))
            assert browser.execute_script("return window.hacked") is None, page
            assert browser.execute_script("return document.querySelectorAll('img[src=x]').length") == 0, page
    storage.remove_session()
    storage.engine.dispose()


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
