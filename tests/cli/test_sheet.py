import codecs
import csv
import io
import math
import os
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xstar.cli.sheet import rounded, step
from xstar.errors import DataError, FileError, SettingsError, SpaceError, XstarError
from xstar.files.definition import Definition
from xstar.optimizer import Optimizer
from xstar.space import Integer, Real

PARAMETERS = {
    "temperature": {"low": 20.0, "high": 125.0},
    "hours": {"low": 1, "high": 24},
    "solvent": ["water", "ethanol"],
}


def define(**changes):
    described = {"direction": "maximize", "method": "random", "result": "yield", "parameters": PARAMETERS, **changes}
    return Definition.parse({key: value for key, value in described.items() if value is not None})


STUDY = define()
"""Files do not care how suggestions are made, so that most tests make them fast."""
LINE = {"x": {"low": 0.0, "high": 1.0}}


@pytest.fixture
def plate(tmp_path):
    return tmp_path / "größe 大.csv"


def rows_of(text, separator=","):
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))


def told(progress):
    return [(tuple(trial.params.values()), trial.state, trial.value, trial.sd) for trial in progress.optimizer.trials]


def refused(plate, content, message, study=STUDY, error=DataError, batch=20):
    """The step fails in one sentence and leaves the folder as it was."""
    plate.write_bytes(content.encode() if isinstance(content, str) else content)
    before = plate.read_bytes()
    with pytest.raises(error, match=message) as caught:
        step(plate, study, batch)
    assert plate.name in str(caught.value)
    assert "\n" not in str(caught.value)
    assert plate.read_bytes() == before
    assert list(plate.parent.iterdir()) == [plate]


# A file that is not there yet


def test_a_new_file_has_a_header_and_a_batch(plate):
    progress = step(plate, STUDY, 3)
    header, *rows = rows_of(plate.read_text(encoding="utf-8"))
    assert header == ["temperature", "hours", "solvent", "yield"]
    assert [[float(row[0]), int(row[1]), *row[2:]] for row in rows] == [
        [*params.values(), ""] for params in progress.added
    ]
    assert len(rows) == 3
    assert progress[1:4] == (3, 0, 0)
    assert progress.created
    assert not progress.exhausted
    assert progress.backup is None
    assert list(plate.parent.iterdir()) == [plate]
    assert [dict(trial.params) for trial in progress.optimizer.trials] == progress.added


def test_units_stand_in_the_header(plate):
    parameters = {**PARAMETERS, "temperature": {"low": 20.0, "high": 125.0, "unit": "K"}}
    step(plate, define(parameters=parameters, unit="mol/(L s)"), 1)
    assert plate.read_text().splitlines()[0] == "temperature [K],hours,solvent,yield [mol/(L s)]"
    assert step(plate, define(parameters=parameters, unit="mol/(L s)"), 2).open == 2


@pytest.mark.parametrize("where", ["unit", "choice"])
def test_a_new_file_has_a_byte_order_mark_if_excel_needs_it(plate, where):
    study = define(unit="°") if where == "unit" else define(parameters={"c": ["größe", "b"]})
    step(plate, study, 1)
    assert plate.read_bytes().startswith(codecs.BOM_UTF8)
    step(plate, STUDY if where == "unit" else study, 2)
    assert plate.read_bytes().count(codecs.BOM_UTF8) == 1


def test_a_new_file_in_ascii_has_no_mark(plate):
    step(plate, STUDY, 1)
    assert plate.read_bytes().isascii()


@pytest.mark.parametrize("content", [b"", b"\n \r\n", codecs.BOM_UTF8], ids=["empty", "blank", "mark"])
def test_an_empty_file_is_like_none(plate, content):
    plate.write_bytes(content)
    progress = step(plate, STUDY, 2)
    first = plate.read_bytes()
    assert progress.created
    assert progress.backup is None
    plate.unlink()
    step(plate, STUDY, 2)
    assert plate.read_bytes() == first


def test_a_table_without_rows_is_filled(plate):
    """Somebody wrote the header in a spreadsheet."""
    plate.write_bytes(b"solvent;yield (%);hours;temperature (C)\r\n")
    progress = step(plate, STUDY, 2)
    assert not progress.created
    assert progress.open == 2
    params = progress.added[0]
    text = f"{params['solvent']};;{params['hours']};{params['temperature']!r}".replace(".", ",").removesuffix(",0")
    assert plate.read_bytes().splitlines()[1] == text.encode()


def test_the_folder_must_be_there(tmp_path):
    with pytest.raises(FileError, match=r"there is no folder '.*none' to write 'plate.csv' into"):
        step(tmp_path / "none" / "plate.csv", STUDY, 1)


@pytest.mark.parametrize("batch", [0, -1, 1.5])
def test_a_batch_is_a_whole_number(plate, batch):
    with pytest.raises(SettingsError, match="batch"):
        step(plate, STUDY, batch)
    assert not plate.exists()


# What is read


TABLE = """\
temperature,hours,solvent,yield
40,2,water,12.1
40,2,water,13
60.5,6,ethanol,failed
90,14,ethanol,
"""
TOLD = [
    ((40.0, 2, "water"), "done", 12.1, None),
    ((40.0, 2, "water"), "done", 13.0, None),
    ((60.5, 6, "ethanol"), "failed", None, None),
    ((90.0, 14, "ethanol"), "pending", None, None),
]


def test_replicates_failures_and_open_rows(plate):
    plate.write_text(TABLE)
    progress = step(plate, STUDY, 1)
    assert told(progress) == TOLD
    assert progress[:4] == ([], 1, 2, 1)
    assert progress.optimizer.trials[2].reason == "value was failed"


@pytest.mark.parametrize("word", ["nan", "FAILED", " Error ", "crashed", "-inf"])
def test_words_for_failures(plate, word):
    plate.write_text(f"{TABLE}50,3,water,{word}\n")
    assert told(step(plate, STUDY, 1))[-1] == ((50.0, 3, "water"), "failed", None, None)


@pytest.mark.parametrize(
    "header, columns",
    [
        ("temperature [°C]|hours|solvent|yield [%]", "0123"),
        ("temperature (C)|hours(h)|solvent|yield (dry)", "0123"),
        (" temperature |hours |  solvent []| yield", "0123"),
        ("temperature [1/(K s)]|hours ([h])|solvent [a[b]]|yield", "0123"),
        ("yield|solvent|date|hours|temperature", "32-10"),
        ("temperature|hours|solvent|temperature [°F]|yield", "012-3"),
        ("yield (old)|temperature|hours|solvent|yield", "-0123"),
    ],
)
def test_columns_are_found_by_name(plate, header, columns):
    """With a unit or without, in any order; the exact name wins."""
    rows = [["7" if column == "-" else row[int(column)] for column in columns] for row in rows_of(TABLE)[1:]]
    lines = [header.replace("|", ","), *map(",".join, rows)]
    plate.write_text("\n".join(lines), encoding="utf-8")
    assert told(step(plate, STUDY, 1)) == TOLD


def test_the_name_of_another_parameter_is_no_unit(plate):
    study = define(parameters={"T": {"low": 0.0, "high": 1.0}, "T (out)": {"low": 0.0, "high": 1.0}})
    plate.write_text("T (out),T [K],yield\n0.25,0.75,1\n")
    assert told(step(plate, study, 1))[0] == ((0.75, 0.25), "done", 1.0, None)
    plate.write_text("T (out),yield\n0.25,1\n")
    with pytest.raises(DataError, match=r'there is no column "T"; the columns are "T \(out\)", "yield"'):
        step(plate, study, 1)


@pytest.mark.parametrize("name", ["sd", "yield sd", "sd [%]", " yield sd (%)"])
def test_the_noise_has_a_column(plate, name):
    plate.write_text(f"temperature,hours,solvent,yield,{name}\n40,2,water,12.1,1.5\n50,2,water,13,\n60,2,water,,2\n")
    assert [(value, sd) for _, _, value, sd in told(step(plate, STUDY, 1))] == [(12.1, 1.5), (13.0, None), (None, None)]


def test_a_parameter_may_be_called_sd(plate):
    study = define(parameters={"sd": {"low": 0.0, "high": 1.0}})
    plate.write_text("sd,yield\n0.5,3\n")
    assert told(step(plate, study, 1))[0] == ((0.5,), "done", 3.0, None)
    plate.write_text("sd,yield,yield sd\n0.5,3,0.1\n")
    assert told(step(plate, study, 1))[0] == ((0.5,), "done", 3.0, 0.1)


def test_rows_without_anything_of_ours_are_blank(plate):
    """They have no number, so that they change no suggestion."""
    plate.write_text(TABLE)
    step(plate, STUDY, 3)
    first, second = plate.read_text().splitlines()[-2:]
    plate.write_text("\n" + TABLE.replace("\n", ",note\n").replace("60.5,", ",,,,from here on by Ada\n\n,,,,\n60.5,"))
    step(plate, STUDY, 3)
    assert plate.read_text().splitlines()[-2:] == [first + ",", second + ","]


def test_values_outside_the_bounds_are_data(plate):
    plate.write_text("temperature,hours,solvent,yield\n300,2,water,12\n40,99,water,13\n50,3,ethanol,14\n-7,48,water,\n")
    progress = step(plate, STUDY, 3)
    assert told(progress)[0] == ((300.0, 2, "water"), "done", 12.0, None)
    assert told(progress)[3] == ((-7.0, 48, "water"), "pending", None, None)
    assert len(progress.added) == 2
    assert all(STUDY.space.contains(params) for params in progress.added)


@pytest.mark.parametrize(
    "content, message",
    [
        ("temperature,hours,yield\n40,2,1\n", 'there is no column "solvent"; the columns are "temperature", "hours", '),
        ("temperature,hours,solvent\n40,2,water\n", 'there is no column "yield"'),
        (
            "temperature,hours,solvent,Yeild\n40,2,water,1\n",
            'there is no column "yield"; .*; did you mean "Yeild"[?] Rename it in the file or in the definition',
        ),
        ('temperature,hours,solvent,"my\nyield"\n', 'the columns are "temperature", "hours", "solvent", "my yield"'),
        ("temperature,hours,solvent,yield,hours\n", '"hours" has 2 columns, "hours", "hours"; rename all but one'),
        (
            "temperature [K],temperature (C),hours,solvent,yield\n",
            r'2 columns, "temperature \[K\]", "temperature \(C\)"',
        ),
        ("temperature,hours,solvent,yield,sd,yield sd\n", 'the noise has two columns, "sd", "yield sd"; rename one'),
        (TABLE + "50,3,water,good\n", "row 6: column \"yield\" needs a number; received 'good'"),
        (TABLE + "50,3,water,12 %\n", "row 6: column \"yield\" needs a number; received '12 %'"),
        (TABLE + '50,3,water,"1,234"\n', "row 6: column \"yield\" has '1,234', with a comma for thousands or"),
        (TABLE + "warm,3,water,\n", "row 6: column \"temperature\" needs a number; received 'warm'"),
        (TABLE + "50,3.5,water,1\n", 'row 6: parameter "hours" needs a whole number; received 3.5'),
        (TABLE + "50,3,toluene,1\n", r"row 6: column \"solvent\" is one of \['water', 'ethanol'\]; received 'toluene'"),
        (TABLE + "50,,water,\n", 'row 6: column "hours" is empty; fill in, or empty the other'),
        (TABLE + "50,3,,12\n", 'row 6: column "solvent" is empty'),
        (TABLE + ",,,12\n", 'row 6: columns "temperature", "hours", "solvent" are empty; fill in'),
        (TABLE + "\n\n,,,\n50,,water,\n", 'row 9: column "hours" is empty'),
        ("\n" + TABLE + "50,,water,\n", 'row 7: column "hours" is empty'),
        (TABLE.replace("60.5", '"60.5\n"') + "50,,water,\n", 'row 6: column "hours" is empty'),
        ("temperature,hours,solvent,yield,sd\n50,3,water,1,-2\n", "row 2: sd must be a standard deviation"),
        ("temperature,hours,solvent,yield,sd\n50,3,water,1,much\n", 'row 2: column "sd" needs a number'),
    ],
)
def test_what_is_wrong_is_named(plate, content, message):
    refused(plate, content, message)


@pytest.mark.parametrize(
    "content, message",
    [
        (
            TABLE + "50,5,3,water,12\n",
            "row 6 has 5 cells, but the header has 4; write cells that have a ',' in them in",
        ),
        (TABLE + '50,3,water,"12\n60,3,water,13\n', r"row 6 has a quote \(\"\) that is opened and never closed"),
        (TABLE.rstrip() + '12,"', "row 5 has a quote"),
        (TABLE.encode("utf-16"), 'this is not the text of a CSV file; save it as "CSV UTF-8"'),
        (b"PK\x03\x04\x00\x00", 'this is not the text of a CSV file; save it as "CSV UTF-8"'),
        (
            TABLE.encode() + b"50,3,water,\x81\xff\n",
            "neither UTF-8 nor cp1252, which has no byte 0x81; save the file as",
        ),
        ('""\n', "there is no header"),
        (TABLE + '50,3,"' + "x" * 200_000 + '",\n', "line 6 cannot be read: field larger than field limit"),
    ],
    ids=["decimal comma", "open quote", "open quote at the end", "UTF-16", "Excel", "bytes", "no header", "long"],
)
def test_files_that_are_no_tables(plate, content, message):
    refused(plate, content, message, error=FileError)


def test_a_fixed_parameter_has_one_value(plate):
    study = define(parameters={"x": {"low": 0.0, "high": 1.0}, "n": {"low": 7, "high": 7}})
    refused(plate, "x,n,yield\n0.5,8,1\n", 'row 2: parameter "n" is fixed at 7; received 8', study)
    plate.write_text("x,n,yield\n0.5,7,1\n")
    assert step(plate, study, 1).added[0]["n"] == 7


def test_values_of_a_logarithmic_parameter_are_above_zero(plate):
    study = define(parameters={"x": {"low": 1e-3, "high": 1.0, "log": True}})
    refused(plate, "x,yield\n0,1\n", 'row 2: parameter "x" has log=True, so its values are above zero', study)


def test_the_result_is_no_parameter(plate):
    with pytest.raises(DataError, match='"hours" is the name of the result and of a parameter; give the result'):
        step(plate, define(result="hours"), 1)
    assert not plate.exists()


# What is written


def formatted(params, comma):
    """Cells as people would write them."""
    cells = [f"{value:.6g}" if isinstance(value, float) else str(value) for value in params.values()]
    return [cell.replace(".", ",") if comma else cell for cell in cells]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("last", [True, False], ids=["ended", "not ended"])
@pytest.mark.parametrize(
    "encoding, mark", [("utf-8", b""), ("utf-8", codecs.BOM_UTF8), ("cp1252", b"")], ids=["UTF-8", "BOM", "cp1252"]
)
@pytest.mark.parametrize("separator, comma", [(",", False), (";", True), (";", False), ("\t", True), ("\t", False)])
def test_new_rows_look_like_the_old_ones(plate, separator, comma, encoding, mark, last, end):
    """Odd spaces, quotes, formats of numbers, blank lines and columns of others stay."""
    lines = [
        'id|temperature [°C]|hours|solvent|"yield"|notes',
        '1|4.050e1|02|"water"| 12.10|"two\nlines, ""quoted""; größer"',
        "",
        ' 2 | 60.5|+6| ethanol |failed|5" pipe',
        "|||||",
        "3|90.0|14|ethanol||",
    ]
    lines = [line.replace(".", ",") if comma and k else line for k, line in enumerate(lines)]
    text = end.join(lines).replace("|", separator) + (end if last else "")
    before = mark + text.encode(encoding)
    plate.write_bytes(before)
    progress = step(plate, STUDY, 3)
    rows = [separator.join(["", *formatted(params, comma), "", ""]) + end for params in progress.added]
    assert len(rows) == 2
    assert plate.read_bytes() == before + (b"" if last else end.encode()) + "".join(rows).encode()
    assert told(progress)[:2] == [
        ((40.5, 2, "water"), "done", 12.1, None),
        ((60.5, 6, "ethanol"), "failed", None, None),
    ]
    again = step(plate, STUDY, 3)
    assert told(again) == told(progress)
    assert again.added == []


@pytest.mark.parametrize("blank", ["\n\n", ",,,\n,,,\n", " , ,,\n\n,,,"])
def test_new_rows_come_before_blank_ones_at_the_end(plate, blank):
    """Where people see them."""
    plate.write_text(TABLE + blank)
    added = step(plate, STUDY, 2).added
    assert plate.read_text() == TABLE + ",".join([*formatted(added[0], False), ""]) + "\n" + blank


def test_a_thousand_with_a_comma_is_no_decimal(plate):
    """Between tabs, 1,500 may be either; beside other decimal commas, it is a decimal."""
    study = define(parameters={"x": {"low": 0.0, "high": 2.0}})
    refused(plate, "x\tyield\n1,500\t1\n", "row 2: column \"x\" has '1,500', with a comma for thousands", study)
    plate.write_text("x\tyield\n1,500\t1\n0,25\t2\n")
    assert [params for params, *_ in told(step(plate, study, 1))[:2]] == [(1.5,), (0.25,)]


def test_separators_in_names_do_not_separate(plate):
    header = "temperature (C, inside, 1);hours (h);solvent (a, b);yield (%, by HPLC, dry)\n"
    plate.write_text(header + "40,5;2;water;12,1\n")
    assert told(step(plate, STUDY, 1))[0] == ((40.5, 2, "water"), "done", 12.1, None)


def test_the_old_content_is_kept_beside_the_new(plate):
    plate.write_bytes(TABLE.encode())
    progress = step(plate, STUDY, 2)
    backup = plate.with_name(plate.name + ".bak")
    assert progress.backup == backup
    assert backup.read_bytes() == TABLE.encode()
    second = plate.read_bytes()
    assert step(plate, STUDY, 3).backup == backup
    assert backup.read_bytes() == second
    assert sorted(plate.parent.iterdir()) == [plate, backup]


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_what_others_may_not_read_they_may_not_read_in_the_backup(plate):
    plate.write_text(TABLE)
    plate.chmod(0o600)
    progress = step(plate, STUDY, 2)
    assert [file.stat().st_mode & 0o777 for file in (plate, progress.backup)] == [0o600, 0o600]


@pytest.mark.parametrize("batch", [1, 2])
def test_nothing_is_written_if_enough_rows_are_open(plate, batch):
    plate.write_text(TABLE + "95,15,ethanol,\n100,16,ethanol,\n")
    before = plate.stat()
    progress = step(plate, STUDY, batch)
    after = plate.stat()
    assert progress[:4] == ([], 3, 2, 1)
    assert progress.backup is None
    assert not progress.exhausted
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert list(plate.parent.iterdir()) == [plate]


@given(
    notes=st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=3, max_size=3)
)
@settings(max_examples=60)
def test_any_note_survives(tmp_path_factory, notes):
    """In quotes, which is how spreadsheets write what has separators or lines in it."""
    plate = tmp_path_factory.mktemp("notes") / "plate.csv"
    notes[0] = "note " + notes[0]
    quoted = ['"' + note.replace('"', '""') + '"' for note in notes]
    lines = [f"{quoted[0]},x,yield,more", f"{quoted[1]},0.5,1,", f",0.25,,{quoted[2]}"]
    content = "\n".join(lines).encode()
    plate.write_bytes(content)
    study = define(parameters=LINE)
    (added,) = step(plate, study, 2).added
    assert plate.read_bytes() == content + f"\n,{added['x']!r},,\n".encode()


@given(st.text(st.characters(codec="ascii", exclude_characters="\0"), max_size=30))
@settings(max_examples=60)
def test_anything_at_all_is_kept_or_refused(tmp_path_factory, mess):
    """Quotes that open and do not close, rows of other lengths: what was there is still there."""
    plate = tmp_path_factory.mktemp("mess") / "plate.csv"
    content = f"x,yield,note\n0.5,1,{mess}".encode()
    plate.write_bytes(content)
    study = define(parameters=LINE)
    try:
        added = step(plate, study, 3).added
    except XstarError:
        assert plate.read_bytes() == content
        return
    lines = "".join(f"{params['x']!r},,\n" for params in added).encode()
    head, _, tail = plate.read_bytes().partition(lines)
    assert head + tail == content or (head, tail) == (content + b"\n", b"")
    assert [params["x"] for params in added] == [
        trial.params["x"] for trial in step(plate, study, 3).optimizer.trials[-len(added) :]
    ]


# Numbers and choices


@pytest.mark.parametrize(
    "value, parameter, short",
    [
        (1 / 3, Real(0, 1), 0.333333),
        (1234567.89, Real(0, 1e7), 1234570.0),
        (math.pi * 1e-9, Real(1e-12, 1.0, log=True), 3.14159e-9),
        (-math.pi * 1e200, Real(-1e300, 1e300), -3.14159e200),
        (1 / 3, Real(1 / 3, 1), 1 / 3),
        (2 / 3, Real(0, 2 / 3), 2 / 3),
        (0.12345621, Real(0.1234561, 1), 0.1234562),
        (1549.99832, Real(1549.99, 1550.01), 1549.9983),
        (0.1 + 0.2, Real(0, 1, step=0.05), 0.1 + 0.2),
        (12345678, Integer(0, 10**9), 12345678),
    ],
    ids=["third", "million", "tiny", "huge", "at low", "at high", "near low", "narrow", "step", "integer"],
)
def test_rounding(value, parameter, short):
    """To six digits, unless that would leave the range or blur it."""
    assert rounded(value, parameter) == short
    assert type(rounded(value, parameter)) is type(short)


@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300), st.floats(0, 1))
def test_rounded_values_are_legal_and_near(a, b, share):
    real = Real(min(a, b), max(a, b))
    value = real.decode([share])
    short = rounded(value, real)
    assert real.contains(short)
    assert abs(short - value) <= 1e-3 * (real.high - real.low)


def test_the_rounded_value_is_the_suggestion(plate):
    study = define(
        parameters={
            "x": {"low": 0.0, "high": 7.0},
            "s": {"low": 0.0, "high": 1.0, "step": 0.1},
            "n": {"low": 0, "high": 10**8},
        }
    )
    progress = step(plate, study, 5)
    rows = rows_of(plate.read_text())[1:]
    for row, trial in zip(rows, progress.optimizer.trials, strict=True):
        assert len(row[0].replace(".", "").lstrip("0")) <= 6
        assert re.fullmatch(r"0|1|0\.\d", row[1])
        assert [float(row[0]), float(row[1]), int(row[2])] == list(trial.params.values())
    assert max(len(row[2]) for row in rows) > 6


def test_whole_steps_have_no_decimals(plate):
    step(plate, define(parameters={"x": {"low": 20.0, "high": 2e6, "step": 10.0}}), 5)
    assert all(re.fullmatch(r"\d+0,", line) for line in plate.read_text().splitlines()[1:])


CHOICES = [True, False, None, 1, 1.0, 2.5, "a,b", "a;b", 'say "no"', "two\nlines", " lead", "1,5", "größe", "0"]


@pytest.mark.parametrize("separator, end", [(",", "\n"), (";", "\r\n"), ("\t", "\n")])
def test_every_choice_is_read_back(plate, separator, end):
    study = define(parameters={"c": CHOICES, "x": {"low": 0.0, "high": 1.0}}, noise=0.0)
    plate.write_bytes(f"c{separator}x{separator}yield{end}".encode())
    progress = step(plate, study, 80)
    again = step(plate, study, 80)
    assert again.added == []
    found = [trial.params["c"] for trial in again.optimizer.trials]
    asked = [params["c"] for params in progress.added]
    assert [(type(choice), choice) for choice in found] == [(type(choice), choice) for choice in asked]
    assert {str(choice) for choice in found} == {str(choice) for choice in CHOICES}
    assert [trial.params["x"] for trial in again.optimizer.trials] == [params["x"] for params in progress.added]


@pytest.mark.parametrize("choices", [[1, "1"], ["True", True], [None, "None"], ["", "a"], [" ", "a"]])
def test_choices_that_look_the_same_are_refused(plate, choices):
    with pytest.raises(
        SpaceError, match=r'parameter "c" has the choice .*, which in a table looks like another choice'
    ):
        step(plate, define(parameters={"c": choices}), 1)
    assert not plate.exists()


@pytest.mark.parametrize(
    "text, choice", [("TRUE", True), ("false", False), ("2", 2.0), ("5.0", 5), ('"0,5"', 0.5), ("1E-05", 1e-5)]
)
def test_what_spreadsheets_make_of_choices(plate, text, choice):
    plate.write_text(f"c,yield\n{text},1\n")
    trial = step(plate, define(parameters={"c": [True, False, 2.0, 5, 0.5, 1e-5, "other"]}), 1).optimizer.trials[0]
    assert trial.params["c"] == choice
    assert type(trial.params["c"]) is type(choice)


def test_letters_that_the_encoding_lacks_are_named(plate):
    study = define(parameters={"phase": ["Ж"], "x": {"low": 0.0, "high": 1.0}}, noise=0.0)
    plate.write_bytes("phase,x,yield,größe\n".encode("cp1252"))
    before = plate.read_bytes()
    with pytest.raises(FileError, match="a new row has 'Ж' in it, which the encoding of the file, cp1252, lacks; save"):
        step(plate, study, 1)
    assert plate.read_bytes() == before
    assert list(plate.parent.iterdir()) == [plate]


# Suggestions


MODEL = define(method="logei", parameters={"x": {"low": 0.0, "high": 1.0}, "n": {"low": 1, "high": 9}})
DATA = """\
x,n,yield
0.1,2,3.5
0.5,7,8.25
0.9,5,-1.5
0.3,4,failed
0.25,8,
"""


def test_the_same_table_gives_the_same_suggestions(tmp_path):
    """However it is written: only what it says counts."""
    added = []
    for k, text in enumerate([
        DATA,
        DATA,
        DATA.replace(",", ";").replace(".", ",").replace("\n", "\r\n"),
        DATA.replace("\n", ",note\n").replace("0.9", ",,,\n9.0E-01"),
    ]):  # fmt: skip
        path = tmp_path / f"{k}.csv"
        path.write_bytes(text.encode())
        added.append(step(path, MODEL, 2).added)
    assert len(added[0]) == 1
    assert added[1:] == added[:1] * 3


def test_a_result_changes_the_suggestions(tmp_path):
    table = "x,yield\n0.1,1\n0.5,2\n0.9,{}\n0.3,1.5\n"
    study = define(method="logei", parameters=LINE)
    added = []
    for value in ("9", "-9"):
        path = tmp_path / f"{value}.csv"
        path.write_text(table.format(value))
        added.append(step(path, study, 1).added[0]["x"])
    assert abs(added[0] - 0.9) < abs(added[1] - 0.9)


def test_a_batch_at_once_is_a_batch_row_by_row(tmp_path):
    for name in ("once", "rows"):
        (tmp_path / name).write_text(DATA)
    assert len(step(tmp_path / "once", MODEL, 3).added) == 2
    for batch in (2, 3):
        assert len(step(tmp_path / "rows", MODEL, batch).added) == 1
    assert (tmp_path / "once").read_bytes() == (tmp_path / "rows").read_bytes()


def test_open_rows_are_not_suggested_again(plate):
    study = define(parameters={"n": {"low": 1, "high": 6}}, noise=0.0)
    plate.write_text("n,yield\n2,1\n3,\n5,\n")
    assert sorted(params["n"] for params in step(plate, study, 5).added) == [1, 4, 6]


def test_a_space_without_points_left(plate):
    study = define(parameters={"c": ["a", "b", "c"]}, noise=0.0)
    progress = step(plate, study, 5)
    assert sorted(params["c"] for params in progress.added) == ["a", "b", "c"]
    assert progress.exhausted
    assert progress.open == 3
    plate.write_text("c,yield\na,1\nb,3\nc,2\n")
    progress = step(plate, study, 5)
    assert progress[:4] == ([], 0, 3, 0)
    assert progress.exhausted
    assert plate.read_text() == "c,yield\na,1\nb,3\nc,2\n"
    assert list(plate.parent.iterdir()) == [plate]


def test_the_settings_of_the_definition_count(plate):
    study = define(method="logei", seed=7, noise=0.5, num_initial=6, direction="minimize")
    optimizer = step(plate, study, 1).optimizer
    assert (optimizer.seed, optimizer.noise, optimizer.num_initial) == (7, 0.5, 6)
    assert (optimizer.direction, optimizer.method_name) == ("minimize", "logei")
    other = plate.with_name("other.csv")
    step(other, define(method="logei", seed=8), 1)
    assert other.read_text().splitlines()[1] != plate.read_text().splitlines()[1]


def test_a_loop_finds_the_optimum(plate):
    """Eight rounds of two: a person reads the open rows, fills them in, and asks again."""
    study = define(
        parameters={"x": {"low": -2.0, "high": 3.0}, "y": {"low": 0.1, "high": 10.0, "log": True}}, noise=0.0,
        direction="minimize", method="logei",
    )  # fmt: skip
    seen = []
    for k in range(8):
        progress = step(plate, study, 2)
        assert (progress.open, progress.done) == (2, 2 * k)
        header, *rows = rows_of(plate.read_text())
        for row in rows:
            if not row[2]:
                value = (float(row[0]) - 1.3) ** 2 + (math.log10(float(row[1])) + 0.4) ** 2
                row[2] = f"{value:.8g}"
                seen.append(value)
        plate.write_text("\n".join(",".join(row) for row in [header, *rows]) + "\n")
    assert min(seen) < 0.01 < min(seen[:4])
    best = step(plate, study, 1).optimizer.recommend()
    assert best.params["x"] == pytest.approx(1.3, abs=0.1)
    assert math.log10(best.params["y"]) == pytest.approx(-0.4, abs=0.1)


# Other people and other programs


@pytest.mark.parametrize("start, other", [(TABLE, TABLE + "1,1,water,5\n"), (TABLE, None), (None, TABLE), (None, "")])
def test_what_others_save_meanwhile_is_not_overwritten(plate, monkeypatch, start, other):
    if start is not None:
        plate.write_text(start)
    ask = Optimizer.ask

    def slow(self):
        if other is None:
            plate.unlink(missing_ok=True)
        else:
            plate.write_text(other)
        return ask(self)

    monkeypatch.setattr(Optimizer, "ask", slow)
    with pytest.raises(FileError, match=r"größe 大\.csv' changed while suggestions were computed; run again\."):
        step(plate, STUDY, 2)
    assert (plate.read_text() if plate.exists() else None) == other


def test_nor_is_what_they_save_at_the_last_moment(plate, monkeypatch):
    plate.write_text(TABLE)
    monkeypatch.setattr(shutil, "copymode", lambda *args: plate.write_text("theirs"))
    with pytest.raises(FileError, match="changed while suggestions were computed"):
        step(plate, STUDY, 2)
    assert plate.read_text() == "theirs"


@pytest.mark.parametrize("owner, name", [(os, "fsync"), (Path, "replace")])
def test_a_failed_write_changes_nothing(plate, monkeypatch, owner, name):
    plate.write_text(TABLE)

    def fail(*args):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(owner, name, fail)
    with pytest.raises(
        FileError, match=r"cannot be written: Permission denied; if it is open in another program, close"
    ):
        step(plate, STUDY, 2)
    assert plate.read_text() == TABLE
    assert list(plate.parent.iterdir()) == [plate]


def test_a_failure_between_backup_and_file_leaves_both_whole(plate, monkeypatch):
    plate.write_text(TABLE)
    replace = Path.replace

    def fail(self, target):
        if Path(target).name == plate.name:
            raise OSError(28, "No space left on device")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(FileError, match="cannot be written: No space left on device"):
        step(plate, STUDY, 2)
    assert [file.read_text() for file in plate.parent.iterdir()] == [TABLE, TABLE]


def test_files_that_cannot_be_read(plate, tmp_path, monkeypatch):
    with pytest.raises(FileError, match=rf"{tmp_path.name}' cannot be read: "):
        step(tmp_path, STUDY, 1)
    plate.write_text(TABLE)

    def locked(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", locked)
    with pytest.raises(FileError, match=r"größe 大\.csv' cannot be read: Permission denied\."):
        step(plate, STUDY, 1)


# Several outputs


SEVERAL = define(
    direction=None,
    result=None,
    parameters=LINE,
    objectives={"yield": {"direction": "maximize", "unit": "%"}, "cost": "minimize"},
    constraints={"impurity": "<= 0.5"},
)


def test_several_outputs_have_a_column_each(plate):
    step(plate, SEVERAL, 2)
    assert plate.read_text().splitlines()[0] == "x,yield [%],cost,impurity"
    plate.write_text(
        "x,yield [%],yield sd,cost,impurity,note\n0.1,80,0.5,3,0.2,\n0.2,81,,,,late\n0.3,failed,,failed,,\n0.4,,,,,\n"
    )
    progress = step(plate, SEVERAL, 1)
    assert [(trial.state, dict(trial.values), dict(trial.sds)) for trial in progress.optimizer.trials] == [
        ("done", {"yield": 80.0, "cost": 3.0, "impurity": 0.2}, {"yield": 0.5}),
        ("done", {"yield": 81.0}, {}),
        ("failed", {}, {}),
        ("pending", {}, {}),
    ]
    assert progress[1:4] == (1, 2, 1)


def test_an_sd_without_a_name_is_of_no_output(plate):
    plate.write_text("x,yield,cost,impurity,sd\n0.1,80,3,0.2,7\n")
    assert not step(plate, SEVERAL, 1).optimizer.trials[0].sds


def test_what_is_wrong_with_one_of_several_outputs(plate):
    refused(plate, "x,yield,cost\n0.1,80,3\n", 'there is no column "impurity"', SEVERAL)
    refused(plate, "x,yield,cost,impurity\n0.1,80,high,0.1\n", 'row 2: column "cost" needs a number', SEVERAL)
    refused(plate, "x,yield,cost,impurity\n,80,3,0.1\n", 'column "x" is empty', SEVERAL)
    refused(plate, "x,yield [g],cost,impurity\n0.1,80,3,0.1\n", "is in g, the definition says %", SEVERAL)
