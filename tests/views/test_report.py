"""The report: what it says, of every kind of study, in one file that is safe, bounded and the same every time."""

import base64
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import xstar
from tests.hostile import IMAGE, SCRIPT, TEXTS
from tests.views import studies
from tests.views.studies import METHOD
from xstar import Categorical, Integer, Optimizer, Ordinal, Real, Trial
from xstar.files.letters import visible
from xstar.report import write_report
from xstar.views import figures
from xstar.views.drawing.static import to_svg
from xstar.views.report import findings as report_findings

MOST_ROWS = 30
"""Where a table is cut here."""
VOID = {"meta", "br", "hr", "img", "input", "link"}


def told(space, function, count=8, **settings):
    """An optimizer with results at random points that asks its model from the third result on."""
    return studies.told(space, function, count, **{"num_initial": 3, **settings})


MIXED = {
    "temperature": Real(20.0, 90.0, unit="°C"),
    "rate": Real(1e-5, 1e-1, log=True),
    "layers": Integer(1, 6),
    "batch": Ordinal(["small", "medium", "large"]),
    "activation": Categorical(["relu", "gelu", None]),
}


def gain(params):
    return 0.1 * params["temperature"] - abs(params["layers"] - 4) + (params["activation"] == "gelu")


def bump(params):
    return -((params["x0"] - 0.3) ** 2)


MANY = {f"p{k}": Real(0.0, 1.0) for k in range(20)}
MANY_NAME = "twenty parameters"
CHOICES = {"c": Categorical(list("uvwxyz")), "b": Categorical([1, "1", 2]), "s": Categorical(["sgd", "adam"])}
STUDIES = {
    "nothing": lambda: Optimizer([(0.0, 1.0)]),
    "running only": lambda: told([(0.0, 1.0)], bump, 0, running=2),
    "failures only": lambda: told([(0.0, 1.0)], bump, 0, failures=3),
    "one result": lambda: told([(0.0, 1.0)], bump, 1),
    "two results": lambda: told([(0.0, 1.0)], bump, 2, failures=1),
    "one number": lambda: told([(0.0, 1.0)], bump, 8, failures=1, running=1),
    "two numbers": lambda: told([(0.0, 1.0), (-5.0, 5.0)], lambda p: p["x0"] * p["x1"]),
    "constant": lambda: told([(0.0, 1.0), (-5.0, 5.0)], lambda p: 2.0, 5),
    "mixed": lambda: told(MIXED, gain, 12, failures=1, running=1),
    "minimized": lambda: told(MIXED, lambda p: -gain(p), 9, direction="minimize"),
    "choices": lambda: told(CHOICES, lambda p: "uvwxyz".index(p["c"]) + (p["s"] == "sgd")),
    "one point": lambda: told({"x": Real(1.0, 1.0)}, lambda p: 1.0, 2),
    "fixed beside free": lambda: told({"x": Real(0.0, 1.0), "k": Integer(3, 3)}, lambda p: p["x"]),
    MANY_NAME: lambda: told(MANY, lambda p: p["p3"], 12),
    "huge and tiny": lambda: told([(0.0, 1.0)], lambda p: p["x0"] * 1e300, 5),
    "outside": lambda: Optimizer.from_trials(
        [Trial(k, {"x0": 2.0 + k}, "done", float(k)) for k in range(4)], [(0.0, 1.0)], method=METHOD
    ),
}
PAGES = {}


def page_of(name, tmp_path):
    if name not in PAGES:
        optimizer = STUDIES[name]()
        path = write_report(optimizer, tmp_path / "page.html", "the budget of evaluations is spent")
        PAGES[name] = optimizer, path.read_text(encoding="utf-8")
    return PAGES[name]


class Outline(HTMLParser):
    """What is in a page: whether it is closed, its headings, its links, what it loads, its words."""

    def __init__(self, page):
        super().__init__()
        self.open, self.headings, self.ids, self.links, self.loads, self.shown = [], [], [], [], [], []
        self.images = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag not in VOID:
            self.open.append(tag)
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given[key] for key in ("href", "xlink:href") if key in given]
        self.loads += [given[key] for key in ("src", "srcset", "action", "data", "poster") if key in given]
        self.images += [given["aria-label"]] if given.get("role") == "img" else []

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.handle_endtag(tag) if tag not in VOID else None

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "script", "svg"} & set(self.open):
            self.shown.append(data)

    @property
    def words(self):
        return " ".join("".join(f"{part} " for part in self.shown).split())


def words(page):
    return Outline(page).words


def csv_of(page):
    (encoded,) = re.findall(r'href="data:text/csv;charset=utf-8;base64,([^"]*)"', page)
    return base64.b64decode(encoded)


# Every kind of study


@pytest.mark.parametrize("name", STUDIES)
def test_a_page_of_every_kind_of_study(name, tmp_path):
    optimizer, page = page_of(name, tmp_path)
    outline = Outline(page)
    assert page.startswith('<!doctype html>\n<html lang="en">')
    assert outline.open == []
    assert outline.headings[:2] == [1, 2]
    assert outline.headings.count(1) == 1
    assert all(below - above <= 1 for above, below in zip(outline.headings, outline.headings[1:], strict=False))
    assert len(outline.ids) == len(set(outline.ids)), "identifiers are there once"
    assert outline.loads == []
    assert all(link.startswith(("#", "data:")) for link in outline.links), "nothing is fetched from elsewhere"
    assert {link[1:] for link in outline.links if link.startswith("#")} <= set(outline.ids)
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    assert len(page) < 1_000_000
    assert page.count('<th scope="row" id="trial-') == len(optimizer.trials)
    assert all(outline.images), "every picture is said in words"
    assert "nan" not in re.findall(r"[a-z]+", outline.words.lower())
    free, done = len(optimizer.space.free), any(trial.state == "done" for trial in optimizer.trials)
    assert (len(outline.images) > 0) == done
    assert ("What the model predicts, and where" in page) == (done and free > 0)


def test_the_same_study_has_the_same_bytes(tmp_path):
    optimizer = STUDIES["mixed"]()
    paths = [write_report(optimizer, tmp_path / name) for name in ("a.html", "b.html")]
    again = write_report(STUDIES["mixed"](), tmp_path / "c.html")
    assert paths[0].read_bytes() == paths[1].read_bytes() == again.read_bytes()


def test_a_long_study_has_a_page_of_bounded_size(tmp_path, monkeypatch):
    monkeypatch.setattr(report_findings, "MOST_ROWS", MOST_ROWS)
    rng = np.random.default_rng(0)
    trials = [Trial(k, {"x0": float(rng.uniform())}, "done", float(rng.normal())) for k in range(3 * MOST_ROWS)]
    trials[5] = Trial(5, {"x0": 0.5}, "done", 60.0)
    optimizer = Optimizer.from_trials(trials, [(0.0, 1.0)], method=METHOD)
    page = write_report(optimizer, tmp_path / "page.html").read_text(encoding="utf-8")
    assert MOST_ROWS <= page.count('<th scope="row" id="trial-') < 1.5 * MOST_ROWS
    assert 'id="trial-5"' in page, "what the page speaks of is in the table"
    assert f"of {3 * MOST_ROWS} trials: the latest ones, and those that this page speaks of" in page
    assert csv_of(page).count(b"\n") == 3 * MOST_ROWS + 1
    assert {link[1:] for link in Outline(page).links if link.startswith("#")} <= set(Outline(page).ids)


def test_without_matplotlib_the_page_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    page = write_report(STUDIES["mixed"](), tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Pictures need matplotlib: pip install 'xstar[plots]'." in words(page)
    assert "<svg" not in page
    assert 'id="trial-13"' in page


# What it says


def test_the_answer_comes_first(tmp_path):
    optimizer, page = page_of("mixed", tmp_path)
    said, best = words(page), optimizer.recommend()
    assert said.startswith(
        "Where is the optimum? xstar, after 13 evaluations Where is the optimum? after 13 evaluations To"
    )
    assert (
        f"To maximize the value, use {optimizer.space.show(best.params)} . The value there is {best.value_in_words} ;"
        in said
    )
    assert f"Left to gain {optimizer.where().left_in_words}:" in said
    assert "Why it ended the budget of evaluations is spent" in said
    assert "Trials 12 done, 1 failed, 1 running" in said
    observed = optimizer.best_observed
    assert re.search(
        rf"Best observed {re.escape(xstar.trial.with_digits(observed.value, 6))}, in trial {observed.number}", said
    )
    for name, parameter in MIXED.items():
        interval = optimizer.where().in_words(name)
        assert f"{name} {parameter.show(best.params[name])} {interval}" in said


def test_whether_the_recommendation_was_evaluated(tmp_path):
    optimizer = told([(0.0, 1.0)], bump)
    best = optimizer.recommend()
    said = words(write_report(optimizer, tmp_path / "page.html").read_text(encoding="utf-8"))
    if not best.confirmed:
        assert "Evaluated not yet: evaluate the recommended point before you rely on it." in said
    else:
        assert "Evaluated yes, in trial" in said
    first, second = (optimizer.tell([0.5], value).number for value in (10.0, 10.1))
    assert optimizer.recommend().params == {"x0": 0.5}
    page = write_report(optimizer, tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"Evaluated yes, in trial {first} and trial {second} Left to gain" in words(page)
    assert f'href="#trial-{first}"' in page


def test_several_places_have_columns_of_their_own(tmp_path, monkeypatch):
    monkeypatch.undo()
    optimizer = told([(0.0, 1.0)], lambda p: abs(p["x0"] - 0.5), 9, noise=0.0)
    places = optimizer.where().places
    assert len(places) == 2
    said = words(write_report(optimizer, tmp_path / "page.html").read_text(encoding="utf-8"))
    assert f"the optimum is in one of 2 places, the likeliest with {places[0].share:.0%}" in said
    assert f"in place A: {places[0].share:.0%} in place B: {places[1].share:.0%}" in said
    assert optimizer.where().in_words("x0", 0.9, places[1]) in said


def test_what_is_said_of_failures_only(tmp_path):
    _, page = page_of("failures only", tmp_path)
    assert "Nothing can be recommended yet. All 3 evaluations failed: crashed." in words(page)
    assert page.count('<tr class="failed">') == 3


def test_surprises_are_named_and_linked(tmp_path):
    optimizer = told([(0.0, 1.0)], bump, 12, noise=1e-3)
    odd = optimizer.tell([0.62], 5.0)
    assert odd.number in [trial.number for trial in optimizer.calibration().surprises]
    page = write_report(optimizer, tmp_path / "page.html").read_text(encoding="utf-8")
    assert re.search(rf"trial {odd.number} : 5, where .* to .* was predicted; better than predicted by", words(page))
    row = page.split(f'id="trial-{odd.number}"')[1].split("</tr>")[0]
    assert "surprising" in row
    assert "best observed" in row


def test_recent_surprises_warn_beside_the_bound(tmp_path, monkeypatch):
    said = "4 of the last 9 values were outside the 95 % interval that the others predict: treat the bound with care"
    monkeypatch.setattr(xstar.beliefs.Calibration, "recent_surprise", property(lambda self: said))
    path = write_report(told([(0.0, 1.0)], bump), tmp_path / "page.html")
    page = words(path.read_text(encoding="utf-8"))
    assert said in page
    assert page.index("Left to gain") < page.index(said)


def test_nothing_surprising(tmp_path):
    _, page = page_of("constant", tmp_path)
    assert "5 of 5 are within their 95 % intervals: nothing surprised the model." in words(page)
    assert "this needs three values" in words(page_of("two results", tmp_path)[1])


def test_settings_and_versions(tmp_path):
    said = words(page_of("mixed", tmp_path)[1])
    assert "temperature real numbers 20 to 90 °C" in said
    assert "rate real numbers 0.00001 to 0.1, by their logarithm" in said.replace("1e-05", "0.00001")
    assert "batch levels, in this order: small, medium, large" in said
    assert "direction maximize" in said
    assert "kernel Matern52" in said
    assert "seed 0" in said
    assert f"xstar {xstar.__version__}" in said
    assert f"numpy {np.__version__}" in said


# What users supply


NASTY = "<script>alert('x')</script>", "a$b$c", "_under_", "50 %", 'q"uote & <b>', "日本語", "$x^2$", "\\alpha$"


def test_names_and_words_of_users_are_only_text(tmp_path):
    space = {name: Categorical([f"{name} one", f"{name} two", "<i>"]) for name in NASTY[:3]}
    space |= {name: Real(0.0, 1.0, unit="<u>$/$</u>") for name in NASTY[3:]}
    optimizer = told(space, lambda p: p["日本語"] + p["50 %"], 8)
    for reason in ("<img src=x onerror=alert(1)>", "half a letter \ud800", "=1+1"):
        optimizer.fail(optimizer.space.anywhere | {"日本語": 0.25 + len(reason) / 100}, reason)
    page = write_report(optimizer, tmp_path / "page.html", "<b>why</b>").read_text(encoding="utf-8")
    outline = Outline(page)
    assert outline.open == []
    assert outline.loads == []
    assert page.count("<script>") == 1
    assert not re.search(r"<(img|i|u|b)[ >]", page)
    for name in NASTY:
        assert name in outline.words
    assert "<b>why</b>" in outline.words
    assert "<img src=x onerror=alert(1)>" in outline.words
    assert "half a letter \\ud800" in outline.words
    assert b",'=1+1," in csv_of(page), "no spreadsheet computes it"


def test_dollars_are_dollars_in_pictures():
    optimizer = told({"a$b$c": Real(0.0, 1.0), "<c>": Categorical(["$x$ & y", "_z_", "5 %"])}, lambda p: p["a$b$c"])
    drawn = "".join(map(to_svg, (figures.draw_model(optimizer), figures.draw_marginals(optimizer))))
    shown = re.findall(r"<text[^>]*>([^<]*)</text>", drawn)
    assert {"a$b$c", "&lt;c&gt;", "$x$ &amp; y", "_z_", "5 %"} <= set(shown)


# Trials


def test_the_csv_file_is_read_back(tmp_path):
    optimizer, page = page_of("mixed", tmp_path)
    path = tmp_path / "trials.csv"
    path.write_bytes(csv_of(page))
    read = Optimizer(MIXED, method=METHOD).tell_table(path)
    done = [trial for trial in optimizer.trials if trial.state == "done"]
    assert [(trial.params, trial.value) for trial in read] == [(trial.params, trial.value) for trial in done]
    header, *rows = path.read_text(encoding="utf-8-sig").splitlines()
    assert header == "trial,state,temperature,rate,layers,batch,activation,value,sd,reason,suggested by"
    assert len(rows) == len(optimizer.trials)


def test_a_table_has_what_is_known_of_every_trial(tmp_path):
    optimizer = told(MIXED, gain, 5, failures=1, running=1)
    optimizer.tell({**optimizer.trials[0].params, "temperature": 55.123456}, 2.5, sd=0.25)
    page = write_report(optimizer, tmp_path / "page.html").read_text(encoding="utf-8")
    row = " ".join(re.sub("<[^>]*>", " ", page.split('id="trial-7">')[1].split("</tr>")[0]).split())
    first = optimizer.trials[0].params
    params = [MIXED[name].show(first[name], unit=False) for name in list(MIXED)[1:]]
    assert row.startswith(" ".join(["7", "55.12", *params, "2.5", "0.25", "done"]))
    assert row.endswith("told")
    assert '<tr class="failed"><th scope="row" id="trial-5">' in page
    assert '<td class="remarks">crashed</td>' in page


# The browser

DESKTOP, PHONE = (1280, 900), (390, 844)


@pytest.fixture
def reports(tmp_path):
    paths = {
        name: tmp_path / f"{k}.html" for k, name in enumerate(("mixed", "two numbers", "failures only", MANY_NAME))
    }
    for name, path in paths.items():
        path.write_text(page_of(name, tmp_path)[1], encoding="utf-8")
    return paths


def resized(browser, size):
    width, height = size
    settings = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", settings)
    light = [{"name": "prefers-color-scheme", "value": "light"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": light})


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_page_is_accessible_and_fits(browser, reports, size):
    axe = pytest.importorskip("selenium_axe_python", reason="accessibility is checked by axe")
    resized(browser, size)
    for path in reports.values():
        browser.get(path.as_uri())
        width = browser.execute_script("return document.documentElement.scrollWidth - window.innerWidth")
        assert width <= 0, "the page does not scroll sideways"
        checker = axe.Axe(browser)
        checker.inject()
        found = checker.run()
        assert len(found["passes"]) > 15
        assert [(rule["id"], [node["html"][:200] for node in rule["nodes"]]) for rule in found["violations"]] == []
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_no_text_of_users_is_run(browser, tmp_path):
    """Names, choices, units and reasons, all of them shown as they are."""
    names = [text for text in TEXTS if text != IMAGE and len(text) < 400]
    space = {"x": Real(0.0, 1.0, unit=SCRIPT), SCRIPT: Categorical([IMAGE, *names[1:3]])}
    trials = [Trial(k, {"x": k / 3, SCRIPT: space[SCRIPT].choices[k]}, "done", float(k)) for k in range(3)]
    trials.append(Trial(3, trials[0].params, "failed", reason=" ".join(names)))
    optimizer = Optimizer.from_trials(trials, space, method=METHOD)
    browser.get(write_report(optimizer, tmp_path / "page.html", SCRIPT).as_uri())
    assert browser.execute_script("return window.hacked") is None
    assert browser.execute_script("return document.scripts.length") == 1
    assert browser.execute_script("return document.querySelectorAll('img, iframe, a[href^=javascript]').length") == 0
    shown = " ".join(browser.execute_script("return document.body.textContent").split())
    for text in (*names, IMAGE, SCRIPT):
        assert " ".join(visible(text).split()) in shown
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def column(browser, k):
    return [cell.text for cell in browser.find_elements("css selector", f".sortable tbody tr > :nth-child({k})")]


def test_headings_sort_the_table(browser, reports):
    resized(browser, DESKTOP)
    browser.get(reports["mixed"].as_uri())
    assert column(browser, 1) == [str(k) for k in range(14)]
    heads = browser.find_elements("css selector", ".sortable thead th")
    titles = [head.text.split("\n")[0] for head in heads]
    assert titles[0].startswith("trial")
    value = next(k for k, title in enumerate(titles) if title.startswith("value"))
    for order, sign in (("ascending", 1.0), ("descending", -1.0)):
        heads[value].find_element("tag name", "button").click()
        assert heads[value].get_attribute("aria-sort") == order
        assert [head.get_attribute("aria-sort") for head in heads].count(None) == len(heads) - 1
        texts = column(browser, value + 1)
        numbers = [sign * float(text) for text in texts if text]
        assert numbers == sorted(numbers)
        assert len(numbers) == 12
        assert texts[-2:] == ["", ""], "what has no value is last"
    levels = next(k for k, title in enumerate(titles) if title.startswith("batch"))
    heads[levels].find_element("tag name", "button").send_keys("\n")
    order = [["small", "medium", "large"].index(text) for text in column(browser, levels + 1)]
    assert order == sorted(order), "levels in their own order"
