"""Texts of users: shown, written and read without doing anything."""

import csv
import io
import tomllib
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hostile import CHOICES, TEXTS
from xstar import Categorical, Optimizer, Real, Space
from xstar.errors import SettingsError
from xstar.files.csv_text import line_of
from xstar.files.definition import Definition
from xstar.files.draft import Draft, DraftParameter
from xstar.files.guess import guess
from xstar.files.letters import FORMULA, armed, disarmed, file_name, visible
from xstar.files.study import read

WORDS = st.one_of(st.sampled_from(CHOICES), st.text(st.characters(exclude_categories=["Cs"]), min_size=1))


@given(WORDS)
def test_what_is_visible_moves_nothing(text):
    shown = visible(text)
    assert all(letter.isprintable() or letter in "\t\n" or ord(letter) >= 0xA0 for letter in shown)
    assert visible(shown) == shown
    assert shown == text or len(shown) > len(text)


@given(WORDS)
def test_no_text_is_a_formula_and_all_come_back(text):
    written = disarmed(text)
    assert not written.startswith(FORMULA) or float(written) < 0.0
    assert armed(written) == text


@given(WORDS)
def test_names_of_files_stay_in_their_folder(text):
    for kind in (PurePosixPath, PureWindowsPath):
        path = kind("folder") / f"{file_name(text)}.html"
        assert path.parent == kind("folder")
        assert len(path.name.encode()) < 200


@given(WORDS, WORDS)
def test_different_texts_are_different_files(one, other):
    assert (file_name(one) == file_name(other)) == (one == other)


@given(st.lists(WORDS, min_size=2))
def test_a_line_is_read_as_it_was_written(cells):
    for separator in ",;\t":
        text = line_of(cells, separator) + "\n"
        if "\0" not in text:
            assert list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)) == [
                cells
            ]


@pytest.mark.parametrize("text", TEXTS)
def test_a_draft_is_read_back(text):
    draft = Draft(
        (DraftParameter(text, "choices", listed=(text, "other"), unit=text), DraftParameter("x", "real")),
        result=f"{text} result", unit=text, unused=((text, "not varied"),),
    )  # fmt: skip
    assert tomllib.loads(draft.toml)["parameters"][text]["choices"] == [text, "other"]
    found = draft.definition("study")
    assert found.space.parameters[text] == Categorical([text, "other"], unit=text)
    assert (found.result, found.unit) == (f"{text} result", text)


def test_columns_of_a_spreadsheet_are_guessed():
    """Titles and choices that were kept from being formulas are themselves again."""
    names = [text for text in TEXTS if text.startswith(FORMULA) and "(" not in text]
    rows = [[*map(disarmed, names), "value"], [*["'=a"] * len(names), "1"], [*["'=b"] * len(names), "2"]]
    draft = guess("\n".join(map(line_of, rows)).encode(), "plate.csv", "value")
    assert [parameter.name for parameter in draft.parameters] == names
    assert {parameter.listed for parameter in draft.parameters} == {("=a", "=b")}


def test_a_study_is_read_back(tmp_path):
    space = Space({"x": Real(0.0, 1.0), **{text: Categorical([*CHOICES]) for text in TEXTS}})
    optimizer = Optimizer(space, method="random")
    for k, text in enumerate(CHOICES):
        optimizer.tell({"x": k / 100, **dict.fromkeys(TEXTS, text)}, float(k))
    optimizer.fail(optimizer.ask(), "\x1b[31m" + CHOICES[0])
    optimizer.save(tmp_path / "study.json")
    found = Optimizer.load(tmp_path / "study.json")
    assert found.trials == optimizer.trials
    assert found.space == optimizer.space
    found.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "study.json").read_bytes()


@pytest.mark.parametrize(
    "table",
    [
        {"parameters": {"a\0b": {"low": 0.0, "high": 1.0}}},
        {"parameters": {"c": ["a\0b", "c"]}},
        {"parameters": {"x": {"low": 0.0, "high": 1.0, "unit": "\0"}}},
        {"name": "\0", "parameters": {"c": ["a", "c"]}},
        {"parameters": {"c": ["a", "c"]}, "run": {"command": ["echo", "\0"]}},
    ],
    ids=["name", "choice", "unit", "study", "command"],
)
def test_the_end_of_a_text_is_refused(table):
    with pytest.raises(SettingsError, match=r"has \\0 in it, which no program can be given; leave it out"):
        Definition.parse({"direction": "minimize", **table})


DEEP = 20_000


@pytest.mark.parametrize(
    "text",
    [
        "[" * DEEP,
        '{"format": "xstar study", "version": 1, "method": ' + "[" * 900 + "]" * 900 + ', "space": {}}',
        '{"format": "xstar study", "version": 1, "space": {"parameters": [{"name": "x", "kind": "os.system"}]}}',
        '{"format": "xstar study", "version": 1, "method": {"kind": "Popen", "args": "touch hacked"}}',
        "cos\nsystem\n(S'touch hacked'\ntR.",
    ],
    ids=["deep", "deep method", "kind", "method", "pickle"],
)
def test_a_study_that_is_something_else_is_refused(tmp_path, monkeypatch, text):
    from xstar.errors import FileError

    monkeypatch.chdir(tmp_path)
    Path("study.json").write_text(text)
    with pytest.raises(FileError):
        read("study.json")
    assert not Path("hacked").exists()
