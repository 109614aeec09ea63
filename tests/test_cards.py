"""What notebooks show."""

import re

import pandas as pd
import pytest

import xstar
from xstar.acquisition import LogEI
from xstar.cards import card
from xstar.gp import MAP, Matern52

QUICK = xstar.Method(Matern52(), MAP(), acquisition=LogEI())
SPACE = {
    "C": xstar.Real(1e-3, 1e3, log=True), "k": xstar.Integer(1, 9, unit="nm"), "kind": xstar.Categorical(["<a>", "b"])
}  # fmt: skip


@pytest.fixture(scope="module")
def result():
    def function(params):
        if params["k"] > 7:
            return float("nan")
        return -((params["k"] - 4) ** 2) - (params["kind"] == "b")

    return xstar.maximize(function, SPACE, 14, method=QUICK, x0={"C": 1e3, "k": 8, "kind": "b"}, noise=0.0)


def text_of(page):
    return re.sub(r"<[^>]*>", " ", page)


def test_a_card_escapes_what_it_shows():
    page = card("<title>", [("<x>", "<y>")], "<note>", head=("<h>", "<i>"))
    assert re.findall(r"&lt;(\w+)&gt;", page) == ["title", "h", "i", "x", "y", "note"]


def test_numbers_stand_right():
    page = card("t", [("a", "1.5", "b")])
    assert re.findall(r"text-align: (\w+)\">(\S+?)<", page) == [("left", "a"), ("right", "1.5"), ("left", "b")]


def test_every_record_shows_itself(result):
    optimizer, best = result.optimizer, result.recommendation
    shown = {
        "result": result._repr_html_(),
        "optimizer": optimizer._repr_html_(),
        "recommendation": best._repr_html_(),
        "where": result.where._repr_html_(),
        "explanation": optimizer.explain(13)._repr_html_(),
    }
    for name, page in shown.items():
        assert page.count("<div") == page.count("</div>") >= 1, name
        assert page.count("<tr>") == page.count("</tr>") >= 1, name
        assert "<a>" not in page, "of the user's names"
    assert best.value_in_words in text_of(shown["recommendation"])
    assert best.value_in_words in text_of(shown["result"])
    assert "14 evaluations: the budget of evaluations is spent" in text_of(shown["result"])
    assert "left to gain" in text_of(shown["where"])
    assert "expected information" in text_of(shown["explanation"])
    assert "8 nm" in text_of(optimizer.with_trials(result.trials[:1])._repr_html_()), "units are shown"
    assert "and 6 earlier trials" in text_of(shown["optimizer"])
    assert "no trials yet" in text_of(xstar.Optimizer(SPACE)._repr_html_())


def test_a_recommendation_in_one_line(result):
    assert str(result.recommendation).startswith("C = ")
    assert str(result.recommendation).endswith(f": {result.recommendation.value_in_words}")


def test_trials_as_a_data_frame(result):
    frame = result.to_dataframe()
    assert list(frame.columns) == ["trial", "state", "C", "k", "kind", "value", "sd", "reason", "suggested by"]
    assert list(frame["trial"]) == list(range(14))
    assert list(frame["state"]) == [trial.state for trial in result.trials]
    assert list(frame["value"].dropna()) == [trial.value for trial in result.trials if trial.state == "done"]
    assert frame["suggested by"][0] == "fixed"
    again = xstar.Optimizer(SPACE, method=QUICK, noise=0.0)
    again.tell_table(frame[frame["state"] == "done"])
    assert [trial.value for trial in again.trials] == list(frame["value"].dropna()), "it can be told again"
    pd.testing.assert_frame_equal(frame, result.optimizer.to_dataframe())


def test_a_parameter_may_be_named_like_a_column():
    opt = xstar.Optimizer({"value": xstar.Real(0, 1)})
    opt.tell({"value": 0.5}, 3.0)
    frame = opt.to_dataframe()
    assert frame["value (parameter)"][0] == 0.5
    assert frame["value"][0] == 3.0


def test_without_pandas_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(xstar.errors.SettingsError, match="pip install pandas"):
        xstar.Optimizer(SPACE).to_dataframe()


def test_the_card_of_several_objectives_has_compromises():
    optimizer = xstar.Optimizer([(0.0, 1.0)], method=QUICK, objectives={"gain": "maximize", "<cost>": "minimize"})
    optimizer.tell([0.7], {"gain": 0.7})
    assert "Recommended" not in text_of(optimizer._repr_html_()), "nothing is known of the cost"
    for x in (0.0, 0.4, 1.0):
        optimizer.tell([x], {"gain": x, "<cost>": x * x})
    page = optimizer._repr_html_()
    assert "Recommended compromises" in text_of(page)
    assert "<cost>" not in page
