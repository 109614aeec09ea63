"""Which column is meant: exact names first, then units, then other letters."""

import pytest

from xstar.errors import DataError
from xstar.files.titles import find_title, no_column, unit_of

NAMES = ("temperature", "T", "t", "yield")


@pytest.mark.parametrize(
    "titles, name, place",
    [
        (["Temperature", "yield"], "temperature", 0),
        (["TEMPERATURE [°C]"], "temperature", 0),
        ([" temperature\N{NO-BREAK SPACE}[°C] "], "temperature", 0),
        (["\ufeffYield"], "yield", 0),
        (["reaction  Temperature"], "temperature", None),
        (["Temperature", "temperature [K]"], "temperature", 1),
        (["TEMPERATURE", "temperature"], "temperature", 1),
        (["t", "T"], "T", 1),
        (["t"], "T", None),
        (["", "", "yield", ""], "yield", 2),
    ],
)
def test_places(titles, name, place):
    assert find_title(titles, name, NAMES) == place


def test_two_that_are_alike_are_named():
    with pytest.raises(DataError, match='"yield" has 2 columns, "Yield", "YIELD"; rename all but one'):
        find_title(["Yield", "YIELD"], "yield", NAMES)


def test_what_may_have_been_meant():
    assert 'did you mean "Temprature [°C]"? Rename it' in str(
        no_column("temperature", ["Temprature [°C]", "yield", ""])
    )
    assert str(no_column("flow", ["yield", ""])) == 'there is no column "flow"; the columns are "yield".'


@pytest.mark.parametrize("title, unit", [("T [°C]", "°C"), ("k (1/(L s))", "1/(L s)"), ("T", None), ("T []", None)])
def test_units(title, unit):
    assert unit_of(title) == unit
