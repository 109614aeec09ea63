import math
import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from xstar.errors import SpaceError
from xstar.search import SAME_POINT
from xstar.search.domain import Choice, Interval, Lattice
from xstar.space import Categorical, Integer, Ordinal, Real, Space
from xstar.trial import vector

WIDEST = 1.7976931348623157e308
LINEAR = [(0.0, 1.0), (-1e308, 1e308), (-WIDEST, WIDEST), (-3.0, 1e-9), (1e-300, 1.0), (5.0, 5.0 + 1e-9), (0.0, 1e-300)]
LOGARITHMIC = [(1e-300, 1.0), (1e-5, 1e-1), (5e-324, WIDEST), (1.0, 1.0 + 1e-9), (0.3, 0.7)]
EQUAL_LOOKING = [None, True, 1, 1.0, 0, False, 0.0, "1", "True", "None"]


def back(space, **params):
    """There and back again."""
    return space.decode(space.encode(space.accept(params)))


def within(bounds):
    return st.tuples(st.just(bounds), st.floats(*bounds))


@given(st.sampled_from(LINEAR).flatmap(within))
def test_a_linear_real_comes_back(case):
    (low, high), value = case
    assert back(Space(x=Real(low, high)), x=value)["x"] == pytest.approx(value, rel=1e-15, abs=4e-16 * (high - low) / 2)


@given(st.sampled_from([(low, high) for low, high in LINEAR if high < 1e300]).flatmap(within))
def test_a_linear_real_is_placed_in_proportion(case):
    (low, high), value = case
    place = Real(low, high).encode(value)[0]
    assert place == pytest.approx((value - low) / (high - low), abs=1e-15 + math.ulp(high) / (high - low))


@given(st.sampled_from(LOGARITHMIC).flatmap(within))
def test_a_logarithmic_real_comes_back(case):
    (low, high), value = case
    assert back(Space(x=Real(low, high, log=True)), x=value)["x"] == pytest.approx(value, rel=1e-12, abs=5e-324)


def test_the_middle_of_a_logarithmic_range_is_the_geometric_mean():
    assert Real(1e-300, 1.0, log=True).decode(np.array([0.5])) == pytest.approx(1e-150)


@given(st.floats(1e-300, 1e300), st.floats(1e-300, 1e300), st.booleans())
def test_bounds_come_back_exactly(a, b, log):
    """Also as rows: a corner of the cube that was evaluated must be recognized when it is met again."""
    assume(a != b)
    parameter = Real(min(a, b), max(a, b), log=log)
    assume(parameter.block == Interval())
    assert [parameter.encode(end)[0] for end in (parameter.low, parameter.high)] == [0.0, 1.0]
    assert [parameter.encode(parameter.decode(np.array([u])))[0] for u in (0.0, 1.0)] == [0.0, 1.0]


@pytest.mark.parametrize(
    "parameter",
    [Real(0.0, 5e-324), Real(1e300, math.nextafter(1e300, math.inf), log=True)],
    ids=["the smallest numbers", "neighbours by logarithm"],
)
def test_the_narrowest_ranges_can_be_used(parameter):
    space = Space(x=parameter)
    assert space.contains(back(space, x=parameter.high))


@given(
    st.floats(-1e12, 1e12), st.integers(-300, 20), st.booleans(), st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20)
)
def test_rows_of_parameters_shown_differ_from_those_suggested_by_nothing_that_counts(low, exponent, log, rows):
    high = low + max(2.0**exponent, math.ulp(low))
    assume(not log or low > 0.0)
    space = Space(x=Real(low, high, log=log))
    for row in space.domain.snap(np.array(rows)[:, None]):
        shown = space.encode(space.decode(row))
        assert abs(shown[0] - row[0]) < 0.1 * SAME_POINT


def test_a_range_with_a_handful_of_floats_is_a_lattice_of_these():
    low, high = 1e9, 1e9 + 1e-6
    space = Space(x=Real(low, high))
    values = {space.decode(row)["x"] for row in space.domain.everything()}
    assert len(values) == space.domain.size == 9
    assert {low, high, math.nextafter(low, math.inf)} <= values


WHOLE = [(0, 10**15), (-(10**15), -3), (0, 1), (-7, 7), (5, 10**6)]


@given(st.sampled_from(WHOLE).flatmap(lambda ends: st.tuples(st.just(ends), st.integers(*ends))))
def test_an_integer_comes_back_exactly(case):
    (low, high), value = case
    found = back(Space(n=Integer(low, high)), n=value)["n"]
    assert found == value
    assert type(found) is int


@given(st.sampled_from([2, 100, 10**6, 10**12]).flatmap(lambda high: st.tuples(st.just(high), st.integers(1, high))))
def test_a_logarithmic_integer_comes_back_exactly(case):
    high, value = case
    assert back(Space(n=Integer(1, high, log=True)), n=value) == {"n": value}


@pytest.mark.parametrize("high", [10**15, 10**18, 10**25])
@pytest.mark.parametrize("log", [False, True])
def test_ranges_finer_than_floats_are_right_to_rounding(high, log):
    space = Space(n=Integer(1, high, log=log))
    for value in (1, 2, high // 3, high - 1, high):
        found = back(space, n=value)["n"]
        assert 1 <= found <= high
        assert found == pytest.approx(value, rel=1e-12)
        assert type(found) is int


def test_cells_of_a_logarithmic_integer_are_even_in_the_logarithm():
    """1 to 3 is as wide as 10 to 30, up to the half steps."""
    column = Integer(1, 1000, log=True).encode
    assert column(30)[0] - column(10)[0] == pytest.approx(column(300)[0] - column(100)[0])


@pytest.mark.parametrize("choices", [EQUAL_LOOKING, [1, True], [1.0, 1], ["größe", "大"], [("a", 1), ("b", 2)]])
def test_choices_that_compare_equal_stay_apart(choices):
    space = Space(c=Categorical(choices))
    for choice in choices:
        found = back(space, c=choice)["c"]
        assert found == choice
        assert type(found) is type(choice)


@pytest.mark.parametrize(
    "one, other", [([1, "a"], [True, "a"]), ([0.0, "a"], [0, "a"])], ids=["1 and True", "0.0 and 0"]
)
def test_spaces_with_choices_that_only_look_equal_differ(one, other):
    assert Space(c=Categorical(one)) != Space(c=Categorical(other))


PARAMETERS = st.sampled_from(
    [Real(-2.0, 3.0), Real(1e-300, 1.0, log=True), Real(-WIDEST, WIDEST), Integer(0, 10**15), Integer(1, 9, log=True),
     Integer(4, 4), Categorical(["a", None, 3]), Categorical([True, False]), Categorical(["only"]), Real(2.0, 2.0)]
)  # fmt: skip


@given(st.lists(PARAMETERS, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_every_row_decodes_to_legal_values_of_the_right_type(parameters, random):
    space = Space({f"p{k}": parameter for k, parameter in enumerate(parameters)})
    row = np.array([random.choice([0.0, 1.0, -0.5, 1.5, random.random()]) for _ in range(space.domain.dimension)])
    params = space.decode(row)
    assert list(params) == list(space.parameters)
    assert space.contains(params)
    assert space.accept(params) == params
    for name, parameter in space.parameters.items():
        kinds = {Real: (float,), Integer: (int,), Categorical: tuple(map(type, getattr(parameter, "choices", ())))}
        assert type(params[name]) in kinds[type(parameter)]


@given(st.lists(PARAMETERS, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_decoded_values_encode_to_legal_rows(parameters, random):
    space = Space({f"p{k}": parameter for k, parameter in enumerate(parameters)})
    params = space.decode(np.array([random.random() for _ in range(space.domain.dimension)]))
    row = space.encode(params)
    np.testing.assert_array_equal(space.domain.snap(row), row)
    again = space.decode(row)
    for name, value in params.items():
        parameter = space.parameters[name]
        rounding = 1e-15 * parameter.high if isinstance(parameter, Real) else 0.0
        expected = pytest.approx(value, rel=1e-12, abs=rounding) if isinstance(parameter, Real) else value
        assert again[name] == expected


def test_the_order_of_declaration_changes_nothing_inside():
    one = Space(b=Real(0, 2), a=Integer(0, 9), c=Categorical(["x", "z"]))
    other = Space(c=Categorical(["x", "z"]), a=Integer(0, 9), b=Real(0, 2))
    params = {"a": 3, "b": 0.5, "c": "z"}
    np.testing.assert_array_equal(one.encode(params), other.encode(params))
    assert one.domain == other.domain
    assert one.free == ("a", "b", "c")
    assert one != other


def test_blocks_follow_the_sorted_names():
    space = Space(z=Real(0, 1), m=Integer(1, 3, log=True), a=Categorical([1, 2, 3]), fixed=Real(1, 1))
    assert space.domain.blocks == (Choice(3), Lattice(3, 1), Interval())


@pytest.mark.parametrize(
    "parameter, value",
    [(Real(0.1, 0.1), 0.1), (Real(3, 3, log=True), 3.0), (Integer(4, 4), 4), (Categorical([None]), None)],
)
def test_a_fixed_parameter_has_no_column_but_a_value(parameter, value):
    space = Space(fixed=parameter, x=Real(0, 1))
    assert space.free == ("x",)
    assert space.decode(np.array([0.25])) == {"fixed": value, "x": 0.25}
    np.testing.assert_array_equal(space.encode({"fixed": value, "x": 0.25}), [0.25])


def test_a_space_with_everything_fixed_has_one_point():
    space = Space(a=Real(2, 2), b=Categorical(["only"]))
    assert space.domain.size == 1
    assert back(space, a=2, b="only") == {"a": 2.0, "b": "only"}
    np.testing.assert_array_equal(space.domain.snap(np.array([0.9])), space.encode({"a": 2.0, "b": "only"}))


def test_other_data_of_a_fixed_parameter_are_refused():
    with pytest.raises(SpaceError, match=r'parameter "a" is fixed at 2\.0; received 3\. Widen its range'):
        Space(a=Real(2, 2), x=Real(0, 1)).accept({"a": 3, "x": 0.5})


def test_unicode_and_odd_names():
    space = Space({"größe 大": Real(0, 1), "learning rate": Real(0, 1), "self": Real(0, 1)}, parameters=Real(0, 1))
    params = {"größe 大": 0.25, "learning rate": 0.5, "self": 0.75, "parameters": 1.0}
    assert back(space, **params) == params


@pytest.mark.parametrize(
    "parameter, value, columns",
    [
        (Real(0, 2), 3, [1.5]),
        (Real(1e-2, 1, log=True), 1e-4, [-1.0]),
        (Integer(0, 9), 12, [1.25]),
        (Integer(0, 9), -3, [-0.25]),
    ],
)
def test_values_outside_the_bounds_are_data_in_proportion(parameter, value, columns):
    space = Space(p=parameter)
    accepted = space.accept({"p": value})
    assert accepted == {"p": value}
    assert not space.contains(accepted)
    np.testing.assert_allclose(space.encode(accepted), columns)
    assert space.contains(space.decode(space.encode(accepted)))


def test_values_below_a_logarithmic_integer_range():
    parameter = Integer(10, 100, log=True)
    columns = [parameter.encode(value)[0] for value in (1, 5, 10, 100, 200)]
    assert columns == sorted(columns)
    assert columns[0] < columns[1] < 0.0 < columns[2] < columns[3] < 1.0 < columns[4]


@pytest.mark.parametrize(
    "given_, expected",
    [({"x": np.float32(0.5), "n": np.int64(3), "c": np.str_("a")}, {"x": 0.5, "n": 3, "c": "a"}),
     ({"x": 1, "n": 3.0, "c": "a"}, {"x": 1.0, "n": 3, "c": "a"}),
     ({"c": "a", "n": np.float64(3), "x": np.int8(1)}, {"x": 1.0, "n": 3, "c": "a"})],
)  # fmt: skip
def test_accepted_values_have_python_types_in_the_order_of_the_space(given_, expected):
    accepted = Space(x=Real(0, 1), n=Integer(0, 9), c=Categorical(["a", "b"])).accept(given_)
    assert list(accepted.items()) == list(expected.items())
    assert [type(value) for value in accepted.values()] == [float, int, str]


def test_numpy_choices_are_plain_and_found():
    space = Space(c=Categorical(np.array([1, 2])), b=Categorical([np.True_, np.False_]))
    assert space.accept({"c": np.int32(2), "b": np.True_}) == {"c": 2, "b": True}
    assert [type(choice) for choice in space.parameters["c"].choices] == [int, int]


@pytest.mark.parametrize(
    "bounds", [[(0, 1), (-5, 5)], ((0, 1), (-5, 5)), np.array([[0, 1], [-5, 5]]), zip([0, -5], [1, 5], strict=True)]
)
def test_scipy_style_bounds(bounds):
    space = Space.of(bounds)
    assert space.positional
    assert space.parameters == {"x0": Real(0, 1), "x1": Real(-5, 5)}
    for point in ([0.5, 2], np.array([0.5, 2.0]), (0.5, 2), {"x0": 0.5, "x1": 2}):
        assert space.accept(point) == {"x0": 0.5, "x1": 2.0}


def test_bounds_may_hold_parameters():
    space = Space.of([(0, 1), Integer(1, 6), Categorical(["a", "b"])])
    assert space.accept([0.5, 3, "b"]) == {"x0": 0.5, "x1": 3, "x2": "b"}


def test_one_dimension_takes_a_bare_number():
    assert Space.of([(0, 1)]).accept(0.5) == {"x0": 0.5}


def test_of_takes_spaces_and_dictionaries():
    space = Space(x=Real(0, 1))
    assert Space.of(space) is space
    assert Space.of({"x": Real(0, 1)}) == space
    assert Space.of([Real(0, 1)]) != Space({"x0": Real(0, 1)})


def test_twelve_bounds_keep_their_order():
    """x10 sorts before x2: values must not be exchanged."""
    space = Space.of([(k, k + 1) for k in range(12)])
    point = [k + k / 20 for k in range(12)]
    assert list(back(space, **space.accept(point)).values()) == pytest.approx(point)


def test_vectors_are_numbers_if_they_can_be():
    assert vector({"b": 3, "a": 0.5}).tolist() == [3.0, 0.5]
    assert vector({"b": 3, "a": 0.5}).dtype == np.float64
    assert vector({"b": None, "a": 0.5}).tolist() == [None, 0.5]
    assert vector({"b": "x", "a": 0.5}).tolist() == ["x", 0.5]


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda: Real(1, 0), r"has low=1\.0 above high=0\.0; did you mean Real\(0\.0, 1\.0\)"),
        (lambda: Integer(5, 2), r"has low=5 above high=2; did you mean Integer\(2, 5\)"),
        (lambda: Real(0, math.inf), r"needs finite numbers as bounds; received high=inf"),
        (lambda: Real(-math.inf, 0), r"needs finite numbers as bounds; received low=-inf"),
        (lambda: Real(math.nan, 0), r"needs finite numbers as bounds; received low=nan"),
        (lambda: Real("0", 1), r"needs finite numbers as bounds; received low='0'"),
        (lambda: Real(False, 1), r"needs finite numbers as bounds; received low=False"),
        (lambda: Real(0, 10**400), r"needs finite numbers as bounds; received high="),
        (lambda: Real(0, 1, log=True), r"has log=True but low=0\.0; .* above zero, for example Real\("),
        (lambda: Real(-1, 1, log=True), r"has log=True but low=-1\.0"),
        (lambda: Integer(0, 9, log=True), r"has log=True but low=0; .* 1 or above, for example Integer\("),
        (lambda: Integer(0.5, 9), r"needs whole numbers as bounds; received low=0\.5"),
        (lambda: Integer(0, math.inf), r"needs whole numbers as bounds; received high=inf"),
        (lambda: Integer(0, True), r"needs whole numbers as bounds; received high=True"),
        (lambda: Categorical([]), r"needs a list of choices, for example .*; received \[\]"),
        (lambda: Categorical("relu"), r"needs a list of choices, .*; received \'relu\'"),
        (lambda: Categorical(3), r"needs a list of choices, .*; received 3"),
        (lambda: Categorical([1, "a", 1]), r"has the choice 1 twice"),
        (lambda: Categorical([None, None]), r"has the choice None twice"),
        (lambda: Categorical([1, np.int64(1)]), r"has the choice 1 twice"),
        (Space, r"a space needs at least one parameter, for example Space\(x=Real\(0, 1\)\)"),
        (lambda: Space({}), r"a space needs at least one parameter"),
        (lambda: Space.of([]), r"a space needs at least one parameter"),
        (lambda: Space({"x": Real(0, 1)}, x=Real(0, 1)), r'parameter "x" is given twice'),
        (lambda: Space([Real(0, 1)]), r"Space takes parameters by name, for example .*; received \[Real\("),
        (lambda: Space({"": Real(0, 1)}), r"parameter names are strings that are not empty; received ''"),
        (lambda: Space({3: Real(0, 1)}), r"parameter names are strings that are not empty; received 3"),
        (lambda: Space(x=(0, 1)), r'parameter "x" is \(0, 1\), which may mean whole .*Integer\(0, 1\) or Real\(0, 1\)'),
        (lambda: Space(x=3), r'parameter "x" must be a Real, an Integer, a Categorical or an Ordinal, .* received 3'),
        (lambda: Space(x=(0.0, 1.0, 2.0)), r'parameter "x" must be a Real, .* received \(0\.0, 1\.0, 2\.0\)'),
        (lambda: Space.of({"x": {}}), r'parameter "x" must be a Real, an Integer, a Categorical or an Ordinal'),
        (lambda: Real(0, 1, unit=""), r"Real\(0\.0, 1\.0, unit=''\) needs a text as unit"),
        (lambda: Real(1, 2, log="yes"), r"needs log=True or log=False; received log='yes'"),
        (lambda: Ordinal([]), r"needs a list of levels, for example Ordinal"),
        (lambda: Ordinal([1, 3, 2]), r"has numbers that go up and down; write \[1, 2, 3\], or use Categorical"),
        (lambda: Ordinal(["low", "low"]), r"has the level 'low' twice"),
        (lambda: Categorical("ab", descriptors={}), r"needs a list of choices"),
        (lambda: Categorical(["a", "b"], descriptors={"a": [1]}), r"has no descriptors for the choice 'b'"),
        (lambda: Categorical(["a", "b"], descriptors={"a": [1], "b": [1]}), r"the same descriptors for 'a' and 'b'"),
        (lambda: Categorical(["a", "b"], descriptors={"a": [1], "b": [1, 2]}), r"equally many descriptors"),
        (lambda: Categorical(["a", "b"], descriptors={"a": 1, "b": None}), r"finite numbers as descriptors of 'b'"),
        (lambda: Categorical(["a", "b"], descriptors=[[1]]), r"has 2 choices and descriptors for 1"),
        (lambda: Categorical(["a", "b"], descriptors=3), r"needs descriptors for each choice"),
        (
            lambda: Categorical(["a", "b"], {"a": {"x": 1}, "b": {"y": 1}}),
            r"has other descriptors for 'b' than for 'a'",
        ),
        (lambda: Space.of("x"), r"a space is a Space, a dictionary, or a list of \(low, high\) pairs; received 'x'"),
        (lambda: Space.of(None), r"a space is a Space, .*; received None"),
        (lambda: Space.of([(0, 1), (0, 1, 2)]), r'parameter "x1" must be .* received \(0, 1, 2\)'),
        (lambda: Space.of([0, 1]), r'parameter "x0" must be .* received 0'),
        (lambda: Space.of([(0, 1), (2, 1)]), r'parameter "x1" has low=2\.0 above high=1\.0'),
        (lambda: Space.of(["ab"]), r'parameter "x0" must be .* received \'ab\''),
    ],
)
def test_spaces_that_make_no_sense_are_named(build, message):
    with pytest.raises(SpaceError, match=message):
        build()


MIXED = Space(x=Real(0, 1), lr=Real(1e-3, 1, log=True), n=Integer(1, 9, log=True), c=Categorical(["a", 1]))
GOOD = {"x": 0.5, "lr": 0.1, "n": 3, "c": "a"}


@pytest.mark.parametrize(
    "change, message",
    [
        ({"x": math.nan}, r'parameter "x" needs a finite number; received nan'),
        ({"x": -math.inf}, r'parameter "x" needs a finite number; received -inf'),
        ({"x": "0.5"}, r"parameter \"x\" needs a finite number; received '0.5'"),
        ({"x": True}, r'parameter "x" needs a finite number; received True'),
        ({"x": None}, r'parameter "x" needs a finite number; received None'),
        ({"x": 10**400}, r'parameter "x" needs a finite number; received 1000'),
        ({"lr": 0.0}, r'parameter "lr" has log=True, so its values are above zero; received 0\.0'),
        ({"n": 2.5}, r'parameter "n" needs a whole number; received 2\.5'),
        ({"n": math.inf}, r'parameter "n" needs a whole number; received inf'),
        ({"n": True}, r'parameter "n" needs a whole number; received True'),
        ({"n": 0}, r'parameter "n" has log=True, so its values are 1 or more; received 0'),
        ({"c": "b"}, r"parameter \"c\" is one of \['a', 1\]; received 'b'"),
        ({"c": True}, r"parameter \"c\" is one of \['a', 1\]; received True"),
        ({"y": 1}, r"the parameters are \['x', 'lr', 'n', 'c'\]; there is no parameter 'y'"),
    ],
)
def test_bad_values_are_named(change, message):
    with pytest.raises(SpaceError, match=message):
        MIXED.accept({**GOOD, **change})


@pytest.mark.parametrize(
    "space, params, message",
    [
        (MIXED, {"x": 0.5, "lr": 0.1, "n": 3}, r"the parameters are \['x', 'lr', 'n', 'c'\]; 'c' is missing"),
        (MIXED, [0.5, 0.1, 3, "a"], r"given as a dictionary with the names \['x', 'lr', 'n', 'c'\]; received \[0.5"),
        (Space.of([(0, 1), (0, 1)]), [0.5], r"a point has 2 values; received \[0\.5\]"),
        (Space.of([(0, 1), (0, 1)]), [[0.5, 0.5]], r"a point has 2 values; received \[\[0\.5, 0\.5\]\]"),
        (Space.of([(0, 1), (0, 1)]), 0.5, r"a point has 2 values; received 0\.5"),
        (Space.of([(0, 1)] * 2), list(range(99)), r"a point has 2 values; received \[0, 1, .*\.\.\.\.$"),
    ],
)
def test_parameters_of_the_wrong_form_are_named(space, params, message):
    with pytest.raises(SpaceError, match=message):
        space.accept(params)


@given(
    st.integers(-50, 50), st.sampled_from(["0.1", "0.05", "0.25", "3", "1e-3", "0.7"]), st.integers(1, 300), st.data()
)
def test_steps_are_a_lattice_of_exact_decimals(tenths, step, levels, data):
    from decimal import Decimal

    low, width = Decimal(tenths) / 10, Decimal(step) * (levels - 1)
    space = Space(x=Real(float(low), float(low + width), step=float(step)), y=Real(0.0, 1.0))
    level = data.draw(st.integers(0, levels - 1))
    value = float(low + level * Decimal(step))
    assert space.contains({"x": value, "y": 0.5})
    assert back(space, x=value, y=0.5)["x"] == value
    assert not space.contains({"x": value + 0.4 * float(step), "y": 0.5})


def test_a_range_that_is_no_multiple_of_its_step_ends_below_its_upper_bound():
    assert Space(x=Real(0.0, 1.0, step=0.3)).domain.blocks == (Lattice(4),)
    assert Space(k=Integer(1, 10, step=4)).domain.blocks == (Lattice(3),)
    assert [Integer(1, 10, step=4).contains(k) for k in (1, 2, 5, 9, 10, 13)] == [True, False, True, True, False, False]


def test_data_between_the_steps_keep_their_place():
    space = Space(x=Real(0.0, 1.0, step=0.25), k=Integer(0, 8, step=2))
    on, between = space.encode({"x": 0.5, "k": 4}), space.encode({"x": 0.6, "k": 5})
    assert np.all(between > on)
    assert np.all(between < space.encode({"x": 0.75, "k": 6}))


def test_a_step_longer_than_the_range_fixes_the_parameter():
    space = Space(x=Real(0.5, 1.0, step=2.0), k=Integer(3, 5, step=9), y=Real(0, 1))
    assert space.free == ("y",)
    assert space.decode(np.array([0.5])) == {"x": 0.5, "k": 3, "y": 0.5}


@pytest.mark.parametrize(
    "kind, low, high, settings",
    [
        (Real, 0.0, 1.0, {"step": 0.0}),
        (Real, 0.0, 1.0, {"step": -0.1}),
        (Real, 0.0, 1.0, {"step": math.nan}),
        (Real, 0.1, 1.0, {"log": True, "step": 0.1}),
        (Integer, 0, 9, {"step": 0}),
        (Integer, 0, 9, {"step": 1.5}),
        (Integer, 1, 9, {"log": True, "step": 2}),
    ],
)
def test_steps_that_make_no_sense_are_refused_where_they_are_written(kind, low, high, settings):
    with pytest.raises(SpaceError, match=rf"{kind.__name__}\(.*\) (needs|has) a .*step"):
        kind(low, high, **settings)


ORDINALS = [(16, 32, 64), ("low", "middle", "high"), (0.1, 0.5, 2.0), (9, 3, 1), (None, 1)]


@pytest.mark.parametrize("levels", ORDINALS)
def test_ordinal_levels_are_evenly_spaced_in_their_order(levels):
    space = Space(o=Ordinal(levels))
    columns = [space.encode({"o": level})[0] for level in levels]
    assert columns == pytest.approx([(k + 0.5) / len(levels) for k in range(len(levels))])
    assert [back(space, o=level)["o"] for level in levels] == list(levels)
    assert space.domain.blocks == (Lattice(len(levels)),)


def test_choices_with_descriptors_are_as_far_apart_as_these():
    described = Categorical(["a", "b", "c"], descriptors={"a": [0.0, 1e9], "b": [1.0, 1e9], "c": [4.0, 1e9]})
    space = Space(c=described)
    a, b, c = (space.encode({"c": choice}) for choice in "abc")
    assert np.linalg.norm(c - a) == pytest.approx(1.0)
    assert np.linalg.norm(b - a) == pytest.approx(0.25)
    assert [back(space, c=choice)["c"] for choice in "abc"] == ["a", "b", "c"]


@given(st.integers(2, 7), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_however_many_descriptors_their_distances_are_kept(choices, count, seed):
    table = np.random.default_rng(seed).normal(size=(choices, count)) * 10.0 ** np.arange(count)
    names = [f"c{k}" for k in range(choices)]
    space = Space(c=Categorical(names, descriptors=table.tolist()))
    rows = np.array([space.encode({"c": name}) for name in names])
    scaled = (table - table.mean(axis=0)) / table.std(axis=0)
    apart, expected = (np.linalg.norm(x[:, None] - x[None], axis=-1) for x in (rows, scaled))
    np.testing.assert_allclose(apart, expected / expected.max(), atol=1e-8)
    assert space.domain.dimension <= min(count, choices)
    assert rows.min() == pytest.approx(0.0)
    assert rows.max() <= 1.0 + 1e-12
    assert [space.decode(row)["c"] for row in rows] == names


def test_descriptors_are_given_in_several_ways():
    import pandas as pd

    ways = [
        {"a": [1, 2], "b": [3, 5]},
        {"b": {"y": 5, "x": 3}, "a": {"x": 1, "y": 2}},
        [[1, 2], [3, 5]],
        pd.DataFrame({"x": [3, 1], "y": [5, 2]}, index=["b", "a"]),
    ]
    assert [Categorical(["a", "b"], way).descriptors for way in ways] == [((1.0, 2.0), (3.0, 5.0))] * 4
    assert Categorical(["a", "b"], {"a": 1, "b": 2}).descriptors == ((1.0,), (2.0,))


class Dimension:
    """A dimension as scikit-optimize has it."""

    def __init__(self, **settings):
        self.__dict__.update(settings)


class FromSkopt(Dimension):
    pass


SkoptInteger = type("Integer", (Dimension,), {})


def without_address(given):
    """The same in every process, so that several may share the tests."""
    return str(given).partition(" object at ")[0]


@pytest.mark.parametrize(
    "described, parameter",
    [
        ((0.0, 1.0), Real(0, 1)),
        ((1e-5, 0.1, "log-uniform"), Real(1e-5, 0.1, log=True)),
        ((1, 100, "log-uniform"), Integer(1, 100, log=True)),
        ((1, 100, "uniform"), Integer(1, 100)),
        (["relu", "gelu"], Categorical(["relu", "gelu"])),
        (("relu", "gelu"), Categorical(["relu", "gelu"])),
        ([16, 32], Categorical([16, 32])),
        ((True, False), Categorical([True, False])),
        (np.array([1.0, 2.0]), Categorical([1.0, 2.0])),
        (stats.loguniform(1e-5, 0.1), Real(1e-5, 0.1, log=True)),
        (stats.uniform(2, 3), Real(2, 5)),
        (stats.randint(1, 10), Integer(1, 9)),
        (FromSkopt(low=0.5, high=2.0, prior="log-uniform"), Real(0.5, 2.0, log=True)),
        (SkoptInteger(low=1, high=5, prior="uniform"), Integer(1, 5)),
        (Dimension(categories=("a", "b")), Categorical(["a", "b"])),
    ],
    ids=without_address,
)
def test_what_other_libraries_write_is_understood(described, parameter):
    assert Space({"svc__C": described}) == Space({"svc__C": parameter})


@pytest.mark.parametrize(
    "parameter",
    [Real(0.0, 1.0), Real(0.0, 1.0, step=0.1), Integer(1, 5), Categorical(["u", "v"]), Ordinal([1, 2])],
    ids=str,
)
def test_a_parameter_that_was_used_is_pickled_as_it_was(parameter):
    before = pickle.dumps(parameter)
    space = Space(x=parameter)
    space.decode(space.encode(space.anywhere))
    assert pickle.dumps(parameter) == before
    assert pickle.loads(before) == parameter


def test_ten_thousand_choices_are_told_apart_without_comparing_all_pairs(monkeypatch):
    from xstar.space import listed

    compared = []
    original = listed.same
    monkeypatch.setattr(listed, "same", lambda *pair: compared.append(pair) or original(*pair))
    space = Space(c=Categorical([f"c{k}" for k in range(10_000)]), o=Ordinal(range(10_000)))
    assert space.decode(space.encode({"c": "c9999", "o": 7})) == {"c": "c9999", "o": 7}
    assert len(compared) == 0
    assert space.domain.columns[0] == slice(0, 10_000)
    with pytest.raises(SpaceError, match="has the choice 'c7' twice"):
        Categorical([*(f"c{k}" for k in range(100)), "c7"])


def test_bounds_of_scipy_are_a_space():
    from scipy.optimize import Bounds

    assert Space.of(Bounds([0, -5], [1, 5])) == Space.of([(0, 1), (-5, 5)])
    assert Space.of(np.array([[0, 1], [-5, 5]])) == Space.of([(0, 1), (-5, 5)])


@pytest.mark.parametrize(
    "described, message",
    [
        (stats.norm(0, 1), r"is the distribution 'norm'; loguniform, uniform and randint are understood"),
        (stats.loguniform(1, 10, loc=5), r"loguniform distribution with a location"),
        ((2.0, 1.0), r'parameter "x" has low=2\.0 above high=1\.0'),
        (("a", "a"), r'parameter "x" has the choice \'a\' twice'),
        ((1, "a"), r'parameter "x" must be'),
    ],
    ids=without_address,
)
def test_what_is_not_understood_of_other_libraries_is_named(described, message):
    with pytest.raises(SpaceError, match=message):
        Space(x=described)


@pytest.mark.parametrize(
    "parameter, value, shown",
    [
        (Real(1e-3, 1e3, log=True), 999.9999999999998, "1000"),
        (Real(1e-3, 1e3, log=True), 1.23456e-3, "0.001235"),
        (Real(20, 90, unit="°C"), 55.123456, "55.12 °C"),
        (Real(0, 1), 1e-9, "0"),
        (Real(0, 1, step=0.05), 0.15, "0.15"),
        (Real(-1e300, 1e300), 1.23456e299, "1.23e+299"),
        (Real(1e6, 1e6 + 1), 1e6 + 0.12346, "1000000.1235"),
        (Integer(1, 10**15), 123456789, "123456789"),
        (Integer(1, 5, unit="h"), 3, "3 h"),
        (Categorical(["a", None]), None, "None"),
        (Ordinal([0.1, 0.25]), 0.25, "0.25"),
    ],
)
def test_values_are_shown_as_a_person_writes_them(parameter, value, shown):
    assert parameter.show(value) == shown
    assert parameter.show(value, unit=False) == shown.split()[0]


def test_the_ends_of_a_logarithmic_range_are_its_bounds():
    parameter = Real(1e-3, 1e3, log=True)
    assert [parameter.decode(np.array([u])) for u in (0.0, 1.0)] == [1e-3, 1e3]


def test_parameters_are_written_as_they_were():
    for parameter in (
        Real(0.0, 1.0), Real(0.1, 1.0, log=True, unit="m"), Integer(1, 9, step=2), Categorical(["a", 1]),
        Ordinal([1, 2]), Categorical(["a", "b"], descriptors=((1.0,), (2.0,))),
    ):  # fmt: skip
        assert eval(repr(parameter)) == parameter
    assert repr(Real(0, 1, unit="m")) == "Real(0.0, 1.0, unit='m')"
