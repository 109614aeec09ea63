"""Numbers as people write them: understood where nothing can be mistaken, explained everywhere else."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xstar.errors import DataError
from xstar.files.written_numbers import NumberFormat, same_unit

PERCENT = NumberFormat("yield", "%", is_result=True)
RESULT = NumberFormat("yield", is_result=True)
PLAIN = NumberFormat("dose")
SHARE = NumberFormat("dropout", hundredths=True)
CELSIUS = NumberFormat("T", "°C")
COMMA = NumberFormat("dose", decimal_comma=True)


@pytest.mark.parametrize(
    "cell, number",
    [
        ("12.5", 12.5), (" 12.5 ", 12.5), ("1,5", 1.5), ("1.2e-3", 1.2e-3), ("1,2E-3", 1.2e-3), ("-3", -3.0),
        ("\N{MINUS SIGN}3", -3.0), (".5", 0.5), ("+7", 7.0), ("\u200b7\N{NO-BREAK SPACE}", 7.0), ("\ufeff7", 7.0),
        ("1 000", 1000.0), ("1\N{NARROW NO-BREAK SPACE}234\N{NARROW NO-BREAK SPACE}567,5", 1234567.5),
        ("1'000", 1000.0), ("1\N{RIGHT SINGLE QUOTATION MARK}000.25", 1000.25), ("1,234.5", 1234.5),
        ("1.234,5", 1234.5), ("-12,345,678.5", -12345678.5),
    ],
)  # fmt: skip
def test_plain_numbers(cell, number):
    assert PLAIN.read(cell) == number


@pytest.mark.parametrize("cell", ["50 °C", "50°C", "50 C", "50 ° C", "50,0 °C", "50 degC", "50 ºC", "+5.0e1 °C"])
def test_the_unit_of_the_column(cell):
    assert CELSIUS.read(cell) == 50.0


@pytest.mark.parametrize(
    "written, cell, number",
    [
        (PERCENT, "55 %", 55.0), (PERCENT, "55%", 55.0), (PERCENT, "0.55", 0.55), (PERCENT, "55 percent", 55.0),
        (SHARE, "55 %", 0.55), (SHARE, "0.55", 0.55), (SHARE, "5,5%", 0.055),
        (NumberFormat("V", "mL"), "20 ml", 20.0), (NumberFormat("d", "µm"), "3 μm", 3.0),
        (NumberFormat("c", "mol/L"), "1e-3 mol/l", 1e-3), (NumberFormat("p", "eV"), "5eV", 5.0),
    ],
)  # fmt: skip
def test_percent_and_units_say_what_the_column_says(written, cell, number):
    assert written.read(cell) == pytest.approx(number, rel=1e-15)


@pytest.mark.parametrize(
    "cell, value, sd",
    [
        ("12.5 ± 0.3", 12.5, 0.3), ("12,5±0,3", 12.5, 0.3), ("12.5 +/- 0.3", 12.5, 0.3), ("12.5+-.3", 12.5, 0.3),
        ("12.5 ± 0.3 %", 12.5, 0.3), ("(12.5 ± 0.3) %", 12.5, 0.3), ("12.5 % ± 0.3 %", 12.5, 0.3), ("12", 12.0, None),
        ("-1e-3 ± 1e-4", -1e-3, 1e-4),
    ],
)  # fmt: skip
def test_a_value_with_its_standard_deviation(cell, value, sd):
    assert PERCENT.read_with_sd(cell) == (value, sd)


def test_the_unit_behind_both_is_that_of_both():
    assert SHARE.read_with_sd("50 ± 3 %") == (0.5, 0.03)


@pytest.mark.parametrize(
    "cell, number", [("1,500", 1.5), ("12,5", 12.5), ("12.5", 12.5), ("1.234,5", 1234.5), ("1,5e3", 1500.0)]
)
def test_where_decimals_have_a_comma(cell, number):
    assert COMMA.read(cell) == number


@pytest.mark.parametrize(
    "written, cell, why",
    [
        (RESULT, "~50", "write the plain number, 50, and sd in a column sd"),
        (PLAIN, "≈ 50", "write the plain number, 50."),
        (PLAIN, "ca. 50", "write the plain number, 50."),
        (RESULT, "about 50 %", "write the plain number, 50 %"),
        (RESULT, "<0.1", "write a plain number (the limit itself, 0.1, is usual), failed if it"),
        (RESULT, ">= 99", "the limit itself, 99, is usual"),
        (PLAIN, "< 3", "write the number that was set"),
        (RESULT, "n.d.", "write failed if it was run and gave nothing, or leave it empty if it is still to be run"),
        (RESULT, "#DIV/0!", "write failed if"),
        (RESULT, "N/A", "write failed if"),
        (RESULT, "-", "write failed if"),
        (PLAIN, "n.d.", "write the number that was set"),
        (RESULT, "10-12", "a range is no number; write its middle, and sd in a column sd"),
        (RESULT, "10 \N{EN DASH} 12.5", "a range is no number"),
        (PLAIN, "10 to 12", "a range is no number; write its middle."),
        (RESULT, "55 %", 'it is not said whether that is 55 or a hundredth of it; write the number alone, or unit ='),
        (PLAIN, "50 °C", 'write 50, or unit = "°C" for dose in the definition if all are in °C'),
        (PLAIN, "3 h", 'write 3, or unit = "h" for dose'),
        (CELSIUS, "323 K", "the column is in °C; write a number in °C"),
        (CELSIUS, "5 %", "the column is in °C"),
        (NumberFormat("m", "mg"), "5 Mg", "the column is in mg"),
        (PLAIN, "12 ± 1", "write the number alone, without ±"),
        (PLAIN, "", "it is empty"),
    ],
)  # fmt: skip
def test_what_is_no_number_is_explained(written, cell, why):
    with pytest.raises(DataError, match=re.escape(why)) as caught:
        written.read(cell)
    assert str(caught.value).startswith(f'column "{written.name}" needs a number; received {cell!r}: ')


@pytest.mark.parametrize(
    "cell", ["good", "12 or so 13", "1.2.3", "12 34", "± 3", "12 ±", "0x10", "1,2,3", "%", "5 5 %"]
)
def test_anything_else_needs_a_number(cell):
    with pytest.raises(DataError, match='column "yield" '):
        PERCENT.read(cell)


@pytest.mark.parametrize(
    "written, cell", [(PLAIN, "1,000"), (PLAIN, "1,234,567"), (COMMA, "1.000"), (PERCENT, "1,234 %")]
)
def test_a_thousand_or_one(written, cell):
    with pytest.raises(DataError, match=r"for thousands or for decimals; write a (point|comma) or none"):
        written.read(cell)


@pytest.mark.parametrize("cell", ["inf", "1e400", "-inf", "nan"])
def test_numbers_are_finite(cell):
    with pytest.raises(DataError, match="needs a finite number"):
        PLAIN.read(cell)


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([PLAIN, PERCENT, CELSIUS, SHARE]))
def test_what_python_writes_is_read_back(number, written):
    assert written.read(repr(number)) == number


@given(st.text(max_size=12), st.sampled_from([PLAIN, RESULT, PERCENT, SHARE, CELSIUS, COMMA]))
def test_any_text_is_a_number_or_one_complaint(text, written):
    try:
        value, sd = written.read_with_sd(text)
    except DataError as error:
        assert str(error).endswith(".")  # noqa: PT017
    else:
        assert isinstance(value, float)
        assert sd is None or isinstance(sd, float)


@pytest.mark.parametrize(
    "unit, other", [("°C", "C"), ("mL", "ml"), ("µm", "μm"), ("%", "percent"), ("mol/(L s)", "mol/(l s)")]
)
def test_the_same_unit_is_written_in_many_ways(unit, other):
    assert same_unit(unit, other)


@pytest.mark.parametrize("unit, other", [("mg", "Mg"), ("°C", "°F"), ("°", "%"), ("s", "h")])
def test_other_units_are_others(unit, other):
    assert not same_unit(unit, other)
