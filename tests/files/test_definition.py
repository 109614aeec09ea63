"""Definitions of studies: what a TOML file may say, and that whatever else it says is one clear complaint."""

import contextlib
import datetime
import json
import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from xstar import Categorical, Constraint, Integer, Objective, Optimizer, Ordinal, Real, Space
from xstar.errors import DataError, FileError, SettingsError, SpaceError, XstarError
from xstar.files.definition import KEYS, PARAMETER_KEYS, Definition
from xstar.goals import Goals

LINE = {"x": {"low": 0.0, "high": 1.0}}


def parse(parameters=LINE, **settings):
    return Definition.parse({"direction": "minimize", "parameters": parameters, **settings})


def read(tmp_path, text, name="study.toml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return Definition.read(path)


# What is understood

FULL = """
name = "plasma"
direction = "maximize"
storage = "sqlite:///all.db"
method = "logei"
seed = 7
noise = 0
num_initial = 5
stale_after = 3600
result = "growth rate"
unit = "nm/min"

[parameters]
pressure = { low = 1e-3, high = 1.0, log = true, unit = "mbar" }
power = { low = 10, high = 300, unit = "W" }
cycles = { low = 1, high = 4096, log = true }
plates = { low = 0, high = 12, step = 3 }
angle = { low = 0, high = 90, type = "real" }
wafers = { low = 1.0, high = 6.0, type = "integer" }
bias = { low = -1, high = 1, step = 0.25 }
dose = { low = 0, high = 1.5 }
gas = ["Ar", "N2"]
tube = { choices = [1, 1.0, true, "1"], unit = "inch" }
batch = { levels = [16, 32, 64], unit = "MB" }
solvent = { choices = ["water", "hexane"], descriptors = { hexane = [0.1, 69], water = [10.2, 100] } }
stage = { choices = [1, 2], descriptors = { 1 = 0.5, 2 = 0.7 } }

[run]
budget = 40
"""


def test_every_kind_of_parameter(tmp_path):
    definition = read(tmp_path, FULL)
    assert definition.space == Space(
        pressure=Real(1e-3, 1.0, log=True, unit="mbar"),
        power=Integer(10, 300, unit="W"),
        cycles=Integer(1, 4096, log=True),
        plates=Integer(0, 12, step=3),
        angle=Real(0.0, 90.0),
        wafers=Integer(1, 6),
        bias=Real(-1.0, 1.0, step=0.25),
        dose=Real(0.0, 1.5),
        gas=Categorical(["Ar", "N2"]),
        tube=Categorical([1, 1.0, True, "1"], unit="inch"),
        batch=Ordinal([16, 32, 64], unit="MB"),
        solvent=Categorical(["water", "hexane"], descriptors=[[10.2, 100.0], [0.1, 69.0]]),
        stage=Categorical([1, 2], descriptors=[[0.5], [0.7]]),
    )
    assert definition.units == {"pressure": "mbar", "power": "W", "tube": "inch", "batch": "MB"}
    assert definition.whole_by_bounds == {"power", "cycles", "plates"}


def test_every_setting(tmp_path):
    definition = read(tmp_path, FULL)
    assert (definition.name, definition.direction, definition.method) == ("plasma", "maximize", "logei")
    assert (definition.result, definition.unit, definition.storage) == ("growth rate", "nm/min", "sqlite:///all.db")
    assert (definition.seed, definition.noise, definition.num_initial, definition.stale_after) == (7, 0.0, 5, 3600.0)
    assert definition.run == {"budget": 40}


SEVERAL = """
noise = { yield = 0.5 }

[objectives]
yield = { direction = "maximize", unit = "%" }
cost = { direction = "minimize", reference = 20 }

[constraints]
impurity = "<= 0.5"
purity = { bound = "≥90", unit = "%" }

[parameters]
x = { low = 0.0, high = 1.0 }
"""


def test_several_outputs(tmp_path):
    definition = read(tmp_path, SEVERAL)
    assert definition.goals == Goals(
        {"yield": Objective("maximize"), "cost": Objective("minimize", 20.0)},
        {"impurity": Constraint("<=", 0.5), "purity": Constraint(">=", 90.0)},
    )
    assert definition.outputs == ("yield", "cost", "impurity", "purity")
    assert definition.output_units == {"yield": "%", "purity": "%"}
    assert definition.noise == {"yield": 0.5}
    assert definition.direction == "maximize"
    opt = Optimizer(definition.space, noise=definition.noise, **definition.named_outputs)
    assert opt.goals == definition.goals
    assert Definition.parse(json.loads(json.dumps(definition.table))).goals == definition.goals


def test_constraints_alone_bound_the_result():
    definition = parse(result="loss", unit="s", constraints={"size": "<= 3"})
    assert definition.goals == Goals({"loss": Objective("minimize")}, {"size": Constraint("<=", 3.0)})
    assert definition.output_units == {"loss": "s"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"objectives": {}}, r'objectives must be a table, \[objectives\] and below it such as yield = "maximize"'),
        ({"objectives": "yield"}, "objectives must be a table"),
        ({"constraints": ["<=", 1]}, "constraints must be a table"),
        ({"objectives": {"y": "up"}}, 'objective "y" must be "maximize" or "minimize"; received \'up\''),
        ({"objectives": {"y": {"reference": 1}}}, 'objective "y" must be "maximize" or "minimize"; received None'),
        ({"objectives": {"y": {"direction": "minimize", "reference": "low"}}}, "reference must be a finite number"),
        ({"objectives": {"y": {"directoin": "minimize"}}}, r"no setting 'directoin'; did you mean direction\?"),
        ({"objectives": {"y": "minimize"}, "unit": "s"}, "unit is that of a single output"),
        ({"objectives": {"y": "minimize"}, "result": "y"}, "result is that of a single output"),
        ({"objectives": {"y": "minimize"}, "direction": "minimize"}, "direction is that of a single output"),
        ({"objectives": {"x": "minimize"}}, '"x" is the name of a parameter and of an output'),
        ({"objectives": {"y": "minimize"}, "constraints": {"y": "<= 1"}}, "is an objective and a constraint"),
        ({"constraints": {"c": "1"}}, 'constraint "c" must be a text such as "<= 0.5"; received \'1\''),
        ({"constraints": {"c": 1}}, 'constraint "c" must be a text such as "<= 0.5"; received 1'),
        ({"constraints": {"c": "< 1"}}, "must be a text such as"),
        ({"constraints": {"c": "<= half"}}, "the bound of constraint \"c\" must be a number; received 'half'"),
        ({"constraints": {"c": "<= inf"}}, "must be a finite number"),
        ({"constraints": {"c": {"bound": "<= 1", "unit": ""}}}, "unit must be a text that is not empty"),
        ({"objectives": {"y": "minimize"}, "noise": {"z": 1.0}}, "there is no output 'z'"),
        ({"objectives": {"y": "minimize"}, "noise": {"y": "low"}}, "noise of 'y' must be a standard deviation"),
        ({"objectives": {"y": "minimize", "": "minimize"}}, "the name of an output is a text"),
    ],
)
def test_outputs_that_make_no_sense(changes, message):
    table = {"parameters": LINE, **({} if "objectives" in changes else {"direction": "minimize"}), **changes}
    with pytest.raises(XstarError, match=message):
        Definition.parse(table)


def test_what_is_not_said(tmp_path):
    definition = read(tmp_path, 'direction = "minimize"\n[parameters]\nx = [1, 2]\n', "my study.v2.toml")
    assert definition.name == "my study.v2", "the name of the file"
    assert (definition.method, definition.seed, definition.result, definition.run) == ("pes", 0, "value", {})
    assert definition.units == {}
    unset = ("noise", "num_initial", "stale_after", "unit", "storage")
    assert [getattr(definition, key) for key in unset] == [None] * 5


def test_a_definition_can_be_stored_as_json_and_read_back(tmp_path):
    definition = read(tmp_path, FULL)
    again = Definition.parse(json.loads(json.dumps(definition.table)), "another")
    assert again == definition


def test_the_order_of_parameters_is_kept():
    assert list(parse({"z": [1, 2], "a": [1, 2], "m": [1, 2]}).space.parameters) == ["z", "a", "m"]


# Complaints


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"directon": "minimize"}, "the study has no setting 'directon'; did you mean direction\\?"),
        ({"zzz": 40}, "the study has no setting 'zzz'; what it may have is name, direction, storage"),
        (
            {"parameters": {"lr": {"low": 0.0, "hihg": 1.0}}},
            "parameter \"lr\" has no setting 'hihg'; did you mean high",
        ),
        ({"parameters": {"c": {"choices": [1, 2], "low": 1}}}, "which has choices, has no setting 'low'"),
    ],
)
def test_unknown_settings_with_what_may_have_been_meant(changes, message):
    with pytest.raises(SettingsError, match=message):
        parse(**{"parameters": LINE, **changes})


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({}, "a study needs parameters"),
        ("lr", "a study needs parameters"),
        ([1, 2], "a study needs parameters"),
        ({"x": 3}, 'parameter "x" must be a list of choices or a table such as .* received 3'),
        ({"x": "relu"}, 'parameter "x" must be a list of choices'),
        ({"x": []}, 'parameter "x" needs a list of choices'),
        ({"x": ["a", "b", "a"]}, "parameter \"x\" has the choice 'a' twice"),
        ({"x": {"choices": "relu"}}, 'parameter "x" needs a list of choices'),
        ({"x": {"choices": 3}}, 'parameter "x" needs a list of choices'),
        ({"x": {}}, 'parameter "x" has no low; write x = '),
        ({"x": {"low": 0.0}}, 'parameter "x" has no high; write x = '),
        ({"x": {"low": "0", "high": 1}}, "parameter \"x\" needs finite numbers as bounds; received low='0'"),
        ({"x": {"low": True, "high": 2}}, 'parameter "x" needs finite numbers as bounds; received low=True'),
        ({"x": {"low": 0.0, "high": math.inf}}, "needs finite numbers as bounds; received high=inf"),
        ({"x": {"low": math.nan, "high": 1.0}}, "needs finite numbers as bounds; received low=nan"),
        ({"x": {"low": 2.0, "high": 1.0}}, 'parameter "x" has low=2.0 above high=1.0'),
        ({"x": {"low": 0.5, "high": 2, "type": "integer"}}, "needs whole numbers as bounds; received low=0.5"),
        ({"x": {"low": 0, "high": 1, "type": "int"}}, "parameter \"x\" has the type 'int'; it must be"),
        ({"x": {"low": 0, "high": 1, "type": ["real"]}}, "it must be \"real\" or \"integer\""),
        ({"x": {"low": 1, "high": 9, "log": "yes"}}, "parameter \"x\" has log = 'yes'; it must be true or false"),
        ({"x": {"low": 1, "high": 9, "log": 1}}, 'parameter "x" has log = 1; it must be true or false'),
        ({"x": {"low": 0.0, "high": 1.0, "log": True}}, "a logarithmic range must start above zero"),
        ({"x": {"low": 0, "high": 9, "log": True}}, "a logarithmic range must start at 1 or above"),
        ({"x": {"low": 0.0, "high": 1.0, "step": 0.0}}, 'parameter "x" needs a step above zero'),
        ({"x": {"low": 0.0, "high": 1.0, "step": "0.1"}}, 'parameter "x" needs a step above zero'),
        ({"x": {"low": 0, "high": 9, "step": -1}}, "needs a whole number from 1 on as step"),
        ({"x": {"low": 1.0, "high": 9.0, "step": 0.1, "log": True}}, "it can have one of the two"),
        ({"": {"low": 0.0, "high": 1.0}}, "parameter names are strings that are not empty"),
    ],
)  # fmt: skip
def test_parameters_that_make_no_sense(parameters, message):
    with pytest.raises(SpaceError, match=message):
        parse(parameters)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"direction": None}, 'direction must be "maximize" or "minimize"; received None'),
        ({"direction": "max"}, "direction must be .* received 'max'"),
        ({"direction": ["minimize"]}, "direction must be"),
        ({"method": "genetic"}, "method must be one of pes, .* received 'genetic'"),
        ({"method": ["pes"]}, "method must be one of"),
        ({"name": ""}, "name must be a text that is not empty; received ''"),
        ({"name": "  "}, "name must be a text that is not empty"),
        ({"name": 3}, "name must be a text that is not empty; received 3"),
        ({"result": 3}, "result must be a text"),
        ({"unit": ["nm"]}, "unit must be a text"),
        ({"storage": {}}, "storage must be a text"),
        ({"run": 40}, r"run must be a table, \[run\]; received 40"),
        ({"run": [{}]}, "run must be a table"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"seed": 1.0}, "seed must be a whole number"),
        ({"seed": True}, "seed must be a whole number"),
        ({"num_initial": 0}, "num_initial must be at least 1"),
        ({"num_initial": "5"}, "num_initial must be a whole number"),
        ({"stale_after": 0}, "stale_after must be a number > 0"),
        ({"stale_after": "1h"}, "stale_after must be a number > 0"),
        ({"noise": -0.1}, "noise must be a standard deviation"),
        ({"noise": True}, "noise must be a standard deviation"),
        ({"noise": math.nan}, "noise must be a standard deviation"),
        ({"noise": [0.1]}, "noise must be a standard deviation"),
    ],
)
def test_settings_that_make_no_sense(changes, message):
    with pytest.raises((SettingsError, DataError), match=message):
        parse(**changes)


def test_the_direction_must_be_said():
    with pytest.raises(SettingsError, match="direction must be"):
        Definition.parse({"parameters": LINE})


@pytest.mark.parametrize("key", ["noise", "stale_after", "seed", "num_initial"])
def test_numbers_that_no_float_can_hold(key):
    """TOML in Python has whole numbers of any length."""
    with contextlib.suppress(XstarError):
        assert getattr(parse(**{key: 10**400}), key) == 10**400


@pytest.mark.parametrize(
    "text, message",
    [
        ('direction = "minimize"\n[parameters\n', "is not valid TOML: .*line 2"),
        ('direction = "minimize"\ndirection = "maximize"\n', "is not valid TOML"),
        ('{"direction": "minimize"}', "is not valid TOML"),
        ('direction = "minimize"\n', "a study needs parameters"),
        ("", "direction must be"),
    ],
)
def test_files_that_are_no_definitions(tmp_path, text, message):
    with pytest.raises(FileError, match=message) as caught:
        read(tmp_path, text)
    assert str(tmp_path / "study.toml") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileError, match=r"there is no file '.*nowhere\.toml'"):
        Definition.read(tmp_path / "nowhere.toml")
    with pytest.raises(FileError, match="cannot be read"):
        Definition.read(tmp_path)
    (tmp_path / "latin.toml").write_bytes('name = "Größe"'.encode("latin-1"))
    with pytest.raises(FileError, match=r"latin\.toml' cannot be read: .*utf-8"):
        Definition.read(tmp_path / "latin.toml")


def test_windows_line_ends_change_nothing(tmp_path):
    path = tmp_path / "study.toml"
    path.write_bytes(FULL.replace("\n", "\r\n").encode())
    assert Definition.read(path) == read(tmp_path, FULL, "other.toml")


# Anything at all

SCALARS = st.one_of(
    st.none(),     st.booleans(), st.integers(-(2**64), 2**64), st.integers(-3, 12), st.floats(), st.text(max_size=3),
    st.sampled_from(["", "real", "integer", "pes", "random", "minimize", "maximize", "x"]),
    st.sampled_from([datetime.date(2026, 11, 16), datetime.time(1), datetime.datetime(2026, 11, 16)]),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
WRITTEN = st.floats(0.5, 9.0).map(lambda number: round(number, 2))
NUMBERS = {"low": st.integers(1, 9) | WRITTEN, "high": st.integers(10, 99) | WRITTEN.map(lambda number: 9.5 + number)}
SENSIBLE = st.one_of(
    st.fixed_dictionaries(NUMBERS, optional={"log": st.booleans(), "unit": st.text(min_size=1)}),
    st.fixed_dictionaries(NUMBERS, optional={"step": st.sampled_from([1, 3, 0.25]), "type": st.just("real")}),
    st.lists(st.integers() | st.text(max_size=3) | st.booleans(), min_size=1, max_size=4, unique_by=repr),
)
TABLES = st.fixed_dictionaries(
    {
        "direction": st.sampled_from(["minimize", "maximize"]),
        "parameters": st.dictionaries(st.text(min_size=1, max_size=3), SENSIBLE, min_size=1, max_size=3),
    },
    optional={"seed": st.integers(0, 2**70), "noise": st.floats(0.0, 1.0), "run": st.just({}), "unit": st.just("nm")},
)


@st.composite
def spoiled(draw):
    """A sensible table, in up to two places of which there is something else."""
    table = draw(TABLES)
    for _ in range(draw(st.integers(0, 2))):
        described = table["parameters"]
        where = draw(st.sampled_from(["study", "parameters", "parameter"]))
        if where == "study" or not isinstance(described, dict):
            table[draw(st.sampled_from([*KEYS, "junk"]))] = draw(VALUES)
        elif where == "parameters":
            described[draw(st.sampled_from([*described, "new", ""]))] = draw(VALUES)
        else:
            inside = [parameter for parameter in described.values() if isinstance(parameter, dict)]
            for parameter in inside[:1]:
                parameter[draw(st.sampled_from([*PARAMETER_KEYS, "junk"]))] = draw(VALUES)
    return table


@settings(max_examples=300)
@given(spoiled())
@example({"direction": "minimize", "parameters": {"x": {"low": -1.7e308, "high": 1.7e308}}})
def test_any_table_is_a_definition_or_one_complaint(table):
    try:
        definition = Definition.parse(table)
    except XstarError:
        return
    assert list(definition.space.parameters) == list(table["parameters"])
    assert Definition.parse(definition.table, definition.name).space == definition.space


def test_the_old_name_of_num_initial():
    table = {"direction": "minimize", "parameters": {"x": ["a", "b"]}, "initial": 4}
    with pytest.warns(DeprecationWarning, match="the study: 'initial' is called 'num_initial' now"):
        definition = Definition.parse(table)
    assert definition.num_initial == 4
    assert Definition.parse(definition.table) == definition, "what a study keeps has the present name"
