import math

import pytest

import xstar
from xstar.acquisition import LogEI
from xstar.errors import DataError, FileError, SettingsError, XstarError
from xstar.gp import MAP

CHEAP = xstar.Method(inference=MAP(), acquisition=LogEI())


def optimizer(**parameters):
    return xstar.Optimizer(xstar.Space(**(parameters or {"x": xstar.Real(0, 1)})), method=CHEAP)


@pytest.fixture
def opt():
    return optimizer(x=xstar.Real(0, 1), n=xstar.Integer(1, 9))


@pytest.fixture
def csv(tmp_path):
    """A file with some text."""

    def write(text, encoding="utf-8"):
        path = tmp_path / "größe 大.csv"
        path.write_bytes(text.encode(encoding))
        return path

    return write


def told(trials):
    return [(dict(trial.params), trial.state, trial.value, trial.sd) for trial in trials]


PLAIN = [({"x": 0.25, "n": 3}, "done", 1.5, None), ({"x": 0.5, "n": 4}, "done", -2e3, None)]


@pytest.mark.parametrize(
    "text",
    [
        "x,n,value\n0.25,3,1.5\n0.5,4,-2e3\n",
        "x;n;value\n0.25;3;1.5\n0.5;4;-2e3\n",
        "x\tn\tvalue\n0.25\t3\t1.5\n0.5\t4\t-2e3\n",
        "x;n;value\n0,25;3;1,5\n0,5;4;-2e3\n",
        'x,n,value\n"0,25",3,"1,5"\n"0.5",4,"-2e3"\n',
        "x,n,value\r\n0.25,3,1.5\r\n0.5,4,-2e3\r\n",
        "x, n, value\n 0.25, 3, 1.5\n 0.5, 4 , -2e3",
        "value,n,x\n1.5,3.0,.25\n-2000,4,0.5\n",
        "x,n,value\n0.25,3,1.5\n\n0.5,4,-2e3\n\n",
        "x,note,n,value\n0.25,good,3,1.5\n0.5,,4,-2e3\n",
        "x,n,value,sd\n0.25,3,1.5,\n0.5,4,-2e3,\n",
    ],
    ids=[
        "comma", "semicolon", "tab", "decimal comma", "quoted", "windows", "spaces", "other order", "blank lines",
        "extra column", "no sd",
    ],
)  # fmt: skip
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"], ids=["plain", "BOM"])
def test_files_as_spreadsheets_write_them(opt, csv, text, encoding):
    told_now = opt.tell_table(csv(text, encoding))
    assert told(told_now) == PLAIN
    assert tuple(told_now) == opt.trials
    assert [type(value) for value in opt.trials[0].params.values()] == [float, int]


def test_a_path_may_be_a_string(opt, csv):
    assert told(opt.tell_table(str(csv("x,n,value\n0.25,3,1.5\n0.5,4,-2e3\n")))) == PLAIN


def test_columns_may_have_other_names(opt, csv):
    path = csv("x,n,Ertrag in %,±\n0.25,3,1.5,0.1\n0.5,4,2.5,0\n")
    trials = opt.tell_table(path, value="Ertrag in %", sd="±")
    assert [(trial.value, trial.sd) for trial in trials] == [(1.5, 0.1), (2.5, 0.0)]


@pytest.mark.parametrize("text", ["nan", "NaN", "inf", "-inf", "failed", "FAIL", "crashed", "error", " failure "])
def test_failures(opt, csv, text):
    (trial,) = opt.tell_table(csv(f"x,n,value\n0.25,3,{text}\n"))
    assert trial.state == "failed"
    assert trial.reason == f"value was {text.strip()}"


@pytest.mark.parametrize("line", ["0.3,5,", "0.3,5", ",,", "0.3,5,  "])
def test_rows_without_a_value_are_skipped(opt, csv, line):
    """They are the plate to run."""
    assert told(opt.tell_table(csv(f"x,n,value\n0.25,3,1.5\n{line}\n0.5,4,-2e3\n"))) == PLAIN


def test_a_blank_value_in_a_list_is_no_value_either(opt):
    assert opt.tell_table([{"x": 0.3, "n": 5, "value": blank} for blank in ("", " ", None)]) == []


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "x,n,value\n0.25,3,1.5\n0.5,4,good\n",
            r"row 2 of the table: column \"value\" needs a number; received 'good'",
        ),
        ("x,n,value\n0.25,3,1.5\nlow,4,2\n", r"row 2 of the table: column \"x\" needs a number; received 'low'"),
        ("x,n,value\n0.25,3,1.5\n,4,2\n", r"row 2 of the table: column \"x\" needs a number; received ''"),
        ("x,n,value\n0.25,3,1.5\ninf,4,2\n", r"row 2 of the table: column \"x\" needs a finite number; received 'inf'"),
        ("x,n,value\n0.25,3,1e400\n", r"row 1 of the table: column \"value\" needs a finite number; received '1e400'"),
        ("x,n,value\n0.25,3,1.5\n0.5,4.5,2\n", r"row 2 .*\"n\" needs a whole number; received"),
        ("x,n,value,sd\n0.25,3,1.5,\n0.5,4,1,much\n", r"row 2 of the table: column \"sd\" needs a number; .*'much'"),
        ("x,n,value,sd\n0.25,3,1.5,\n0.5,4,1,-1\n", r"row 2 .*sd must be a standard deviation, .*; received -1"),
        ("x,value\n0.25,1.5\n", r"row 1 of the table: there is no column \"n\""),
        (
            "x,n,Valeu\n0.25,3,1.5\n",
            r"row 1 of the table: there is no column \"value\"; the .* \"Valeu\"; did you mean \"Valeu\"\? Rename",
        ),
    ],
)
def test_one_wrong_row_is_named_and_nothing_is_told(opt, csv, text, message):
    with pytest.raises(XstarError, match=message):
        opt.tell_table(csv(text))
    assert opt.trials == ()


@pytest.mark.parametrize(
    "row",
    [
        {"x": 0.5, "n": 4, "value": [1, 2]}, {"x": 0.5, "n": 4, "value": True}, {"x": 0.5, "n": 4, "value": 1j},
        {"x": 0.5, "n": 4, "value": object()}, {"x": "?", "n": 4, "value": 1.0}, {"x": None, "n": 4, "value": 1.0},
        {"x": 0.5, "n": 4.5, "value": 1.0}, {"x": 0.5, "value": 1.0}, {"x": 0.5, "n": 4},
        {"x": 0.5, "n": 4, "value": 1.0, "sd": -1}, {"x": 0.5, "n": 4, "value": 1.0, "sd": [1]}, ["x", 0.5],
    ],
    ids=[
        "two values", "bool", "complex", "object", "text", "None", "half", "no n", "no value", "negative sd",
        "list as sd", "no dictionary",
    ],
)  # fmt: skip
def test_one_wrong_dictionary_and_nothing_is_told(opt, row):
    with pytest.raises(XstarError, match="row 2"):
        opt.tell_table([{"x": 0.25, "n": 3, "value": 1.5}, row])
    assert opt.trials == ()


def test_a_list_of_dictionaries(opt):
    rows = [
        {"n": 3, "x": 0.25, "value": 1.5, "sd": 0.1, "who": "me"},
        {"n": 4.0, "x": "0,5", "value": "-2e3", "sd": ""},
        {"n": 5, "x": 1, "value": math.nan},
        {"n": 5, "x": 1, "value": -math.inf},
        {"n": 5, "x": 1, "value": None},
        {"n": 5, "x": 1, "value": 2, "sd": None},
        {"n": 5, "x": 1, "value": 3, "sd": math.nan},
    ]
    assert told(opt.tell_table(iter(rows))) == [
        ({"x": 0.25, "n": 3}, "done", 1.5, 0.1),
        ({"x": 0.5, "n": 4}, "done", -2e3, None),
        ({"x": 1.0, "n": 5}, "failed", None, None),
        ({"x": 1.0, "n": 5}, "failed", None, None),
        ({"x": 1.0, "n": 5}, "done", 2.0, None),
        ({"x": 1.0, "n": 5}, "done", 3.0, None),
    ]


class Missing:
    """What pandas has in an empty cell of a column of integers: not even equal to itself, nor true or false."""

    def __eq__(self, other):
        return self

    def __bool__(self):
        raise TypeError("boolean value of NA is ambiguous")

    __hash__ = None


class Frame:
    """As much of a DataFrame as is used."""

    columns = ("x", "n", "value")

    def __init__(self, rows):
        self.rows = rows

    def to_dict(self, orient):
        assert orient == "records"
        return self.rows


@pytest.mark.parametrize("empty", [None, math.nan, Missing()], ids=["None", "NaN", "NA"])
def test_a_frame_with_empty_cells(empty):
    opt = optimizer(x=xstar.Real(0, 1), c=xstar.Categorical([None, "a"]))
    rows = [{"x": 0.25, "c": empty, "value": 1.5, "sd": empty}, {"x": 0.5, "c": "a", "value": empty, "sd": 0.1}]
    assert told(opt.tell_table(Frame(rows))) == [({"x": 0.25, "c": None}, "done", 1.5, None)]


def test_a_pandas_frame(opt):
    import pandas

    frame = pandas.DataFrame({"x": [0.25, 0.5, 0.75], "n": [3, 4, 5], "value": [1.5, -2e3, math.nan]})
    assert told(opt.tell_table(frame)) == PLAIN


@pytest.mark.parametrize(
    "text, choice", [("1", 1), ("1.0", 1.0), ("True", True), ("None", None), ("a", "a"), ("größe", "größe"), ("2", "2")]
)
def test_choices_that_are_not_strings(csv, text, choice):
    opt = optimizer(c=xstar.Categorical([True, 1, 1.0, None, "a", "größe", 2, "2"]))
    (trial,) = opt.tell_table(csv(f"c,value\n{text},1\n"))
    assert trial.params["c"] == choice
    assert type(trial.params["c"]) is type(choice)


def test_unknown_choices_are_named(csv):
    opt = optimizer(c=xstar.Categorical([1, None]))
    with pytest.raises(DataError, match=r"row 1 of the table: column \"c\" is one of \[1, None\]; received 'b'"):
        opt.tell_table(csv("c,value\nb,1\n"))


@pytest.mark.parametrize("choice", ["two\nlines", "a\u2028b", 'a "quoted", one', " lead", "semi;colon"])
def test_choices_of_any_text(csv, choice):
    """A file quotes what needs it."""
    opt = optimizer(c=xstar.Categorical([choice, "other"]))
    quoted = choice.replace('"', '""')
    (trial,) = opt.tell_table(csv(f'c,value\n"{quoted}",1\n'))
    assert trial.params["c"] == choice


@pytest.mark.parametrize("choices", [[1, True], [1.0, 1], [0, False]])
def test_a_pending_trial_is_completed_by_its_own_choice_only(choices):
    """1 and True are two choices: the value of one is not the value of the other."""
    opt = optimizer(c=xstar.Categorical(choices))
    asked = opt.ask()
    (other,) = [choice for choice in choices if type(choice) is not type(asked.params["c"])]
    (trial,) = opt.tell_table([{"c": other, "value": 1.0}])
    assert type(trial.params["c"]) is type(other)
    assert opt.trials[asked.number].state == "pending"


def test_rows_complete_pending_trials(opt):
    asked = opt.ask()
    (trial,) = opt.tell_table([{**asked.params, "value": 1.5}])
    assert trial.number == asked.number
    assert len(opt.trials) == 1


def test_large_integers_are_exact(csv):
    opt = optimizer(n=xstar.Integer(0, 10**17))
    opt.tell_table(csv("n,value\n9007199254740993,1\n1e3,2\n"))
    assert [trial.params["n"] for trial in opt.trials] == [2**53 + 1, 1000]


def test_values_outside_the_bounds_are_data(opt, csv):
    (trial,) = opt.tell_table(csv("x,n,value\n-3,12,1.5\n"))
    assert trial.params == {"x": -3.0, "n": 12}


def test_fixed_parameters_need_no_column(csv):
    opt = optimizer(x=xstar.Real(0, 1), fixed=xstar.Integer(7, 7), only=xstar.Categorical(["a"]))
    (trial,) = opt.tell_table(csv("x,value\n0.25,1.5\n"))
    assert trial.params == {"x": 0.25, "fixed": 7, "only": "a"}


def test_minimization_tells_values_as_they_are(csv):
    opt = xstar.Optimizer([(0, 1)], direction="minimize", method=CHEAP)
    opt.tell_table(csv("x0,value\n0.25,1.5\n0.5,0.5\n"))
    assert opt.best_observed.params == {"x0": 0.5}


@pytest.mark.parametrize("table", [3, {"x": [1]}, None])
def test_what_is_no_table_is_named(opt, table):
    with pytest.raises(DataError, match="a table is the path of a CSV file, a list of dictionaries or a DataFrame"):
        opt.tell_table(table)


def test_files_that_cannot_be_read(opt, csv, tmp_path):
    with pytest.raises(FileError, match=r"there is no file '.*none\.csv'"):
        opt.tell_table(tmp_path / "none.csv")
    with pytest.raises(FileError, match="cannot be read as a table"):
        opt.tell_table(tmp_path)
    with pytest.raises(FileError, match="cannot be read as a table"):
        opt.tell_table(csv("x,n,value\n", "utf-16"))


# What spreadsheets write: the reader is that of `xstar csv`


@pytest.mark.parametrize(
    "text, encoding",
    [
        ("x [µm],n (count),value [%]\n0.25,3,1.5\n0.5,4,-2e3\n", "utf-8"),
        ("x [µm],n (count),value [%]\n0.25,3,1.5\n0.5,4,-2e3\n", "cp1252"),
        ("x\tn\tvalue\n0,25\t3\t1,5\n0,5\t4\t-2e3\n", "utf-8"),
        ('x;n;value;note\n0,25;3;1,5;"a; b"\n0,5;4;-2e3;\n', "cp1252"),
        ("x,n,value\n0.25,3,1.5,,\n,,\n0.5,4,-2e3,\n", "utf-8"),
    ],
    ids=["units", "Windows", "tabs and commas", "quotes", "empty cells"],
)
def test_files_of_spreadsheets(opt, csv, text, encoding):
    assert told(opt.tell_table(csv(text, encoding))) == PLAIN


@pytest.mark.parametrize(
    "text, message",
    [
        ("x,n,value\n0.25,3,1,5\n", "cannot be read as a table: row 2 has 4 cells, but the header has 3"),
        ('x,n,value\n0.25,3,"1.5\n', r'cannot be read as a table: row 2 has a quote \("\) that is opened'),
        ("x,x [mm],x [cm],n,value\n0.25,1,2,3,1.5\n", None),
        ("x [mm],x [cm],n,value\n0.25,1,3,1.5\n", '"x" has 2 columns, "x .mm.", "x .cm."; rename all but one'),
        ("", "cannot be read as a table: there is no header"),
    ],
    ids=["surplus", "open quote", "the exact name wins", "two columns", "empty"],
)
def test_what_is_wrong_with_a_file(opt, csv, text, message):
    if message is None:
        assert told(opt.tell_table(csv(text))) == PLAIN[:1]
        return
    with pytest.raises(FileError, match=message):
        opt.tell_table(csv(text))
    assert opt.trials == ()


def test_rows_are_counted_as_spreadsheets_show_them(opt, csv):
    with pytest.raises(DataError, match="row 3 of the table"):
        opt.tell_table(csv("x,n,value\n0.25,3,1.5\n\n0.5,4,good\n"))


# Everything that is wrong, in one run


def test_all_bad_cells_are_named_and_nothing_is_told(opt, csv):
    text = "x,n,value,sd\n~0.5,3,1.5,\n0.25,4.5,n.d.,\n0.5,4,2,\nlow,4,2,much\n"
    with pytest.raises(DataError) as caught:
        opt.tell_table(csv(text))
    head, *lines = str(caught.value).split("\n")
    assert head == "5 cells cannot be read, and nothing was taken from the others:"
    assert [line.split(" needs")[0] for line in lines] == [
        '  row 1 of the table: column "x"', '  row 2 of the table: parameter "n"',
        '  row 2 of the table: column "value"', '  row 4 of the table: column "x"', '  row 4 of the table: column "sd"',
    ]  # fmt: skip
    assert opt.trials == ()


@pytest.mark.parametrize("bad, lines, last", [(20, 20, "'bad'."), (21, 21, "and 1 more."), (32, 21, "and 12 more.")])
def test_of_many_some_are_named(opt, bad, lines, last):
    with pytest.raises(DataError) as caught:
        opt.tell_table([{"x": 0.5, "n": 4, "value": "bad"}] * bad)
    head, *named = str(caught.value).split("\n")
    assert head.startswith(f"{bad} cells")
    assert len(named) == lines
    assert named[-1].endswith(last)


def test_a_missing_column_is_named_once(opt):
    with pytest.raises(DataError) as caught:
        opt.tell_table([{"x": 0.5, "value": 1.0}] * 5)
    assert str(caught.value) == 'row 1 of the table: there is no column "n"; the columns are "x", "value".'


def test_names_of_columns_ignore_case_in_every_kind_of_table(opt, csv):
    import pandas

    rows = [{"X": 0.25, " N ": 3, "VALUE": 1.5, "Sd": 0.1}]
    expected = [({"x": 0.25, "n": 3}, "done", 1.5, 0.1)]
    assert told(optimizer(x=xstar.Real(0, 1), n=xstar.Integer(1, 9)).tell_table(rows)) == expected
    assert told(optimizer(x=xstar.Real(0, 1), n=xstar.Integer(1, 9)).tell_table(pandas.DataFrame(rows))) == expected
    assert told(opt.tell_table(csv("\ufeffX; N ;VALUE;Sd\n0,25;3;1,5;0,1\n"))) == expected


def test_units_of_the_header_are_understood_behind_numbers(csv):
    opt = optimizer(T=xstar.Real(0.0, 100.0), share=xstar.Real(0.0, 0.5))
    trials = opt.tell_table(csv("T [°C],share,value [%]\n50 °C,20 %,55 ± 2 %\n"))
    assert told(trials) == [({"T": 50.0, "share": 0.2}, "done", 55.0, 2.0)]


def test_a_standard_deviation_is_written_once(opt):
    rows = [{"x": 0.25, "n": 3, "value": "1.5 ± 0.1", "sd": "0.2"}]
    with pytest.raises(DataError, match=r"has '1\.5 ± 0\.1' and column \"sd\" 0\.2; write one of them"):
        opt.tell_table(rows)
    assert told(opt.tell_table([{**rows[0], "sd": 0.1}]))[0][3] == 0.1


def test_percent_of_a_parameter_whose_header_says_percent_and_whose_range_is_a_share(csv):
    """20 % may be 0.2 or 20: nobody guesses."""
    opt = optimizer(share=xstar.Real(0.0, 0.5))
    with pytest.raises(DataError, match="it is not said whether that is 20 or a hundredth"):
        opt.tell_table(csv("share [%],value\n20 %,1\n"))


OUTPUTS = {"objectives": {"yield": "maximize", "cost": "minimize"}, "constraints": {"impurity": ("<=", 0.5)}}


def test_several_outputs_have_a_column_each(csv):
    opt = xstar.Optimizer({"x": xstar.Real(0, 1)}, method=CHEAP, **OUTPUTS)
    path = csv(
        "x;yield [%];yield sd;cost;impurity\n0,25;80 %;0,5;3;0,1\n0,5;71 ± 2;;;\n0,6;;;;\n0,7;failed;;4;\n"
        "0,8;failed;;nan;\n"
    )
    trials = opt.tell_table(path)
    assert [(trial.params["x"], trial.state, dict(trial.values), dict(trial.sds)) for trial in trials] == [
        (0.25, "done", {"yield": 80.0, "cost": 3.0, "impurity": 0.1}, {"yield": 0.5}),
        (0.5, "done", {"yield": 71.0}, {"yield": 2.0}),
        (0.7, "done", {"cost": 4.0}, {}),
        (0.8, "failed", {}, {}),
    ]
    assert trials[-1].reason == "value was failed"
    again = xstar.Optimizer({"x": xstar.Real(0, 1)}, method=CHEAP, **OUTPUTS).tell_table(opt.to_dataframe())
    assert [(trial.values, trial.sds) for trial in again] == [(trial.values, trial.sds) for trial in trials[:3]]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"x": 0.5, "yield": 1.0, "cost": 2.0}, 'there is no column "impurity"'),
        ({"x": 0.5, "yield": "high", "cost": 2.0, "impurity": 0.1}, "column \"yield\" needs a number; received 'high'"),
        ({"x": 0.5, "yield": 1.0, "cost": 2.0, "impurity": 0.1, "cost sd": -1.0}, "cost sd must be a standard dev"),
    ],
)
def test_what_is_wrong_with_one_of_several_outputs(row, message):
    opt = xstar.Optimizer({"x": xstar.Real(0, 1)}, method=CHEAP, **OUTPUTS)
    with pytest.raises(DataError, match=message):
        opt.tell_table([{"x": 0.1, "yield": 1.0, "cost": 1.0, "impurity": 1.0}, row])
    assert not opt.trials


def test_columns_of_several_outputs_are_not_chosen():
    opt = xstar.Optimizer({"x": xstar.Real(0, 1)}, method=CHEAP, **OUTPUTS)
    for given in ({"value": "yield"}, {"sd": "noise"}):
        with pytest.raises(SettingsError, match="each in the column of its name"):
            opt.tell_table([], **given)


def test_an_output_may_be_called_as_the_noise_of_another():
    opt = xstar.Optimizer({"x": xstar.Real(0, 1)}, method=CHEAP, objectives={"a": "maximize", "a sd": "minimize"})
    (trial,) = opt.tell_table([{"x": 0.5, "a": 1.0, "a sd": 0.2}])
    assert (dict(trial.values), dict(trial.sds)) == ({"a": 1.0, "a sd": 0.2}, {})
