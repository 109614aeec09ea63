"""Whatever is in a file or in the output of a program, what comes out is a value or an `XstarError`."""

import contextlib
import copy
import json
import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from xstar import Categorical, Integer, Objective, Optimizer, Ordinal, Real
from xstar.cli import values
from xstar.errors import FileError, SpaceError, XstarError
from xstar.files.definition import Definition

MANY = settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))
DIGITS = "7" * 5000
NESTED = "[" * 100_000
SPACE = {"x": Real(0.0, 1.0), "k": Integer(1, 9), "c": Categorical(["u", "v"]), "o": Ordinal([1, 2, 4])}
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just(10**400)
VALUES = st.recursive(
    SCALARS, lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=5), part, max_size=3)
)


def saved(folder):
    opt = Optimizer(SPACE, num_initial=3)
    for k, trial in enumerate(opt.ask(3)):
        _ = opt.fail(trial, "out of \ud800") if k == 1 else opt.tell(trial, float(k), 0.1)
    opt.save(folder / "study.json")
    return json.loads((folder / "study.json").read_text())


def places(stored, here=()):
    """Every place in nested lists and objects."""
    yield here
    inside = stored.items() if isinstance(stored, dict) else enumerate(stored) if isinstance(stored, list) else ()
    for key, part in inside:
        yield from places(part, (*here, key))


def replaced(stored, place, value):
    if not place:
        return value
    stored = copy.deepcopy(stored)
    part = stored
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    return stored


def saved_with_outputs(folder):
    opt = Optimizer(
        SPACE, num_initial=3, noise={"cost": 0.1},
        objectives={"yield": "maximize", "cost": Objective("minimize", reference=4.0)},
        constraints={"impurity": ("<=", 0.5)},
    )  # fmt: skip
    for k, trial in enumerate(opt.ask(3)):
        _ = opt.fail(trial) if k == 1 else opt.tell(trial, {"yield": float(k), "impurity": 0.2}, sd={"yield": 0.1})
    opt.save(folder / "outputs.json")
    return json.loads((folder / "outputs.json").read_text())


@pytest.fixture(scope="module", params=[saved, saved_with_outputs])
def study(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    return folder / "damaged.json", request.param(folder)


def load(path, text):
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    with contextlib.suppress(XstarError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opt = Optimizer.load(path)
        assert len(opt.trials) <= 3
        repr(opt)


@MANY
@given(data=st.data())
def test_a_study_with_anything_anywhere(study, data):
    path, stored = study
    place = data.draw(st.sampled_from(list(places(stored))))
    load(path, json.dumps(replaced(stored, place, data.draw(VALUES))))


def test_a_study_with_something_wrong_everywhere(study):
    path, stored = study
    for place in places(stored):
        for value in (None, True, -1, 1e308, 10**400, "?", "\ud800", [], [[]], {}, {"kind": "MAP", "none": 1}):
            load(path, json.dumps(replaced(stored, place, value)))


@pytest.mark.parametrize(
    "text",
    [NESTED, DIGITS, "{" * 10, '"\\ud800"', "\ud800", "NaN", f"[{DIGITS}]"],
    ids=["nested", "digits", "open", "escaped surrogate", "surrogate", "nan", "listed digits"],
)
def test_what_is_no_study(tmp_path, text):
    path = tmp_path / "study.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(FileError):
        Optimizer.load(path)
    path = path.with_suffix(".toml")
    path.write_bytes(b"x = " + text.encode("utf-8", "surrogatepass"))
    with pytest.raises(FileError):
        Definition.read(path)


def test_two_trials_of_one_number_are_refused(study):
    path, stored = study
    path.write_text(json.dumps(replaced(stored, ("trials", 1, "number"), 0)))
    with pytest.raises(FileError, match="two trials with the number 0"):
        Optimizer.load(path)


DEFINITION = {
    "direction": "minimize", "seed": 1, "noise": 0.1, "num_initial": 3, "result": "y", "unit": "s",
    "parameters": {
        "x": {"low": 0.0, "high": 1.0, "step": 0.1}, "k": {"low": 1, "high": 9, "log": True}, "c": ["u", "v"],
        "o": {"levels": [1, 2, 4]}, "d": {"choices": ["u", "v"], "descriptors": {"u": [1.0], "v": [2.0]}},
    },
    "run": {"budget": 3},
}  # fmt: skip


WITH_OUTPUTS = {
    "noise": {"yield": 0.1}, "parameters": {"x": {"low": 0.0, "high": 1.0}},
    "objectives": {"yield": {"direction": "maximize", "reference": 1.0, "unit": "%"}, "cost": "minimize"},
    "constraints": {"impurity": "<= 0.5", "purity": {"bound": ">= 90", "unit": "%"}},
}  # fmt: skip


@MANY
@given(place=st.sampled_from(list(places(DEFINITION))[1:]), value=VALUES)
def test_a_definition_with_anything_anywhere(place, value):
    with contextlib.suppress(XstarError):
        Definition.parse(replaced(DEFINITION, place, value))


@MANY
@given(place=st.sampled_from(list(places(WITH_OUTPUTS))[1:]), value=VALUES | st.sampled_from(["<= nan", ">= 1e999"]))
def test_a_definition_of_several_outputs_with_anything_anywhere(place, value):
    with contextlib.suppress(XstarError):
        Definition.parse(replaced(WITH_OUTPUTS, place, value))


CELLS = st.text(max_size=12) | st.sampled_from([DIGITS, "-" + DIGITS, "9" * 200_000, "1e999", "nan", "\ud800", "0.5"])


@MANY
@given(
    rows=st.lists(st.lists(CELLS, min_size=5, max_size=5), min_size=1, max_size=3), separator=st.sampled_from(",;\t")
)
def test_a_table_with_anything_in_its_cells(tmp_path_factory, rows, separator):
    path = tmp_path_factory.getbasetemp() / "fuzz.csv"
    lines = [["x", "k", "c", "o", "value"], *rows]
    path.write_text("\n".join(separator.join(line) for line in lines), encoding="utf-8", errors="surrogatepass")
    for column in range(5):
        sound = ["0.5", "3", "u", "2", "1.0"]
        sound[column] = rows[0][column]
        for table in (path, [dict(zip(lines[0], sound, strict=True))], [dict(zip(lines[0], rows[0], strict=True))]):
            with contextlib.suppress(XstarError), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                Optimizer(SPACE).tell_table(table)


@MANY
@given(
    st.text(max_size=30)
    | st.sampled_from([NESTED, DIGITS, "1e999", "\ud800", "9" * 200_000, "yield=1e999", "yield=1 2 3", "a: ±"])
    | VALUES.map(lambda value: json.dumps({"yield": value, "a": {"value": value, "sd": value}}))
)
@pytest.mark.parametrize("how", ["last-line", "json", "json:a.b", "regex:(?P<a>\\S+)"])
def test_numbers_that_programs_write(tmp_path_factory, how, text):
    folder = tmp_path_factory.getbasetemp()
    log, result = folder / "stdout.txt", folder / "result.json"
    for path in (log, result):
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
    for outputs in ((), ("yield", "a")):
        told = values.read_values(how, outputs, log, result)
        assert told.failed == (told.reason is not None)


@pytest.mark.parametrize("step", [1e-40, 5e-324, 1e-16])
def test_a_step_of_which_there_are_too_many(step):
    with pytest.raises(SpaceError, match="steps; leave the step out"):
        Real(0.0, 1.0, step=step)
