import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xstar.search.domain import Choice, Domain, Interval, Lattice, Pinned, cube

SMALL = [Lattice(1), Lattice(2), Lattice(5), Lattice(4, 1), Lattice(3, 20), Choice(2), Choice(3), Choice(5)]
SMALL += [Pinned((0.25,)), Pinned((0.0, 0.7, 0.0))]
LARGE = [Interval(), Lattice(100), Lattice(10**15), Lattice(10**6, 1), Choice(40)]
HUGE = Domain((Lattice(10**15), *(Choice(50),) * 12, Lattice(10**6, 3)))


def domains(blocks):
    return st.lists(st.sampled_from(blocks), min_size=1, max_size=4).map(lambda found: Domain(tuple(found)))


def rows(domain, seed, count=40):
    """Points in and around the cube, some at its ends."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.2, 1.2, (count, domain.dimension))
    X[0], X[1] = 0.0, 1.0
    return X


@given(domains(SMALL + LARGE), st.integers(0, 9))
def test_snapping_again_changes_nothing(domain, seed):
    once = domain.snap(rows(domain, seed))
    np.testing.assert_array_equal(domain.snap(once), once)


@given(st.sampled_from(SMALL[:3] + SMALL[5:]).map(lambda block: Domain((block,))), st.integers(0, 9))
def test_snapping_goes_to_the_nearest_legal_point(domain, seed):
    X = np.random.default_rng(seed).random((30, domain.dimension))
    distance = np.linalg.norm(X[:, None] - domain.everything(), axis=-1)
    snapped = np.linalg.norm(X - domain.snap(X), axis=-1)
    np.testing.assert_allclose(snapped, distance.min(axis=1), atol=1e-12)


@pytest.mark.parametrize("low, levels", [(1, 4), (1, 1000), (20, 3)])
def test_a_logarithmic_lattice_rounds_to_the_nearest_whole_number(low, levels, rng):
    """From half a step below the first to half a step above the last, evenly in the logarithm."""
    u = rng.random(500)
    values = (low - 0.5) * ((low + levels - 0.5) / (low - 0.5)) ** u
    lattice = Lattice(levels, low)
    np.testing.assert_array_equal(lattice.index(u) + low, np.rint(values))
    whole = low + np.arange(levels)
    expected = np.log(whole / (low - 0.5)) / np.log((low + levels - 0.5) / (low - 0.5))
    np.testing.assert_allclose(lattice.encode(np.arange(levels)), expected, atol=1e-12)


def test_a_lattice_keeps_half_a_step_of_margin():
    np.testing.assert_allclose(Lattice(4).encode(np.arange(4)), [0.125, 0.375, 0.625, 0.875])


@pytest.mark.parametrize("levels", [2, 3, 7])
def test_any_two_alternatives_are_at_distance_one(levels):
    points = Domain((Choice(levels),)).everything()
    for a, b in itertools.combinations(points, 2):
        assert np.linalg.norm(a - b) == pytest.approx(1.0)


@pytest.mark.parametrize("level", [0, 1, 10**15 // 3, 10**15 - 2, 10**15 - 1])
def test_levels_of_a_huge_lattice_are_exact(level):
    lattice = Lattice(10**15)
    assert int(lattice.index(lattice.encode(float(level)))) == level


@given(domains(SMALL))
def test_each_legal_point_has_one_number(domain):
    assert domain.size == math.prod(block.levels for block in domain.blocks)
    points = np.array([domain.at(number) for number in range(domain.size)])
    np.testing.assert_array_equal(points, domain.everything())
    np.testing.assert_array_equal(domain.snap(points), points)
    assert len(np.unique(points, axis=0)) == domain.size
    assert len(set(domain.keys(points))) == domain.size


@given(domains(SMALL + LARGE), st.integers(0, 9))
def test_keys_are_equal_exactly_where_legal_points_are(domain, seed):
    few = domain.snap(rows(domain, seed, 12))
    X = np.concatenate([few, few[::-1], domain.snap(rows(domain, seed + 1, 12))])
    keys = domain.keys(X)
    for (a, key_a), (b, key_b) in itertools.combinations(zip(X, keys, strict=True), 2):
        assert (key_a == key_b) == np.array_equal(a, b)


def test_keys_do_not_depend_on_rounding_or_the_sign_of_zero():
    domain = Domain((Interval(), Lattice(10), Choice(3)))
    x = np.array([[0.0, 0.35, 0.0, math.sqrt(0.5), 0.0]])
    y = np.array([[-0.0, 0.35 + 1e-9, 1e-9, math.sqrt(0.5) - 1e-9, 0.0]])
    assert domain.keys(x) == domain.keys(y)
    assert domain.keys(x) != domain.keys(x + np.array([1e-9, 0, 0, 0, 0]))


@pytest.mark.parametrize("levels", [2, 3, 5])
def test_spreading_is_uniform(levels):
    """Every cell of a fine grid of numbers falls to its own legal point, all equally often."""
    domain = Domain((Choice(levels), Lattice(4), Interval()))
    u = (np.arange(60) + 0.5) / 60
    U = np.stack(np.meshgrid(u, u, [0.3], indexing="ij"), axis=-1).reshape(-1, 3)
    counts = Counter(domain.keys(domain.spread(U)))
    assert len(counts) == 4 * levels
    assert set(counts.values()) == {60 * 60 // (4 * levels)}


def test_spreading_leaves_continuous_coordinates_alone(rng):
    U = rng.random((20, 3))
    np.testing.assert_array_equal(cube(3).spread(U), U)


@given(domains(SMALL + LARGE), st.integers(0, 9))
def test_spread_points_are_legal(domain, seed):
    U = np.random.default_rng(seed).random((30, len(domain.blocks)))
    U[0], U[1] = 0.0, np.nextafter(1.0, 0.0)
    X = domain.spread(U)
    np.testing.assert_array_equal(domain.snap(X), X)


@given(domains(SMALL + LARGE), st.integers(0, 9))
def test_neighbours_are_legal_and_one_block_away(domain, seed):
    X = domain.snap(rows(domain, seed, 10))
    around = domain.neighbours(X, np.random.default_rng(seed))
    np.testing.assert_array_equal(domain.snap(around), around)
    changed = [np.any(around[..., columns] != X[:, None, columns], axis=-1) for columns in domain.columns]
    assert np.sum(changed, axis=0).max(initial=0) <= 1
    for block, moved in zip(domain.blocks, changed, strict=True):
        assert not (isinstance(block, Interval) and moved.any())


def test_neighbours_reach_adjacent_levels_and_all_other_choices(rng):
    domain = Domain((Lattice(3), Choice(4)))
    start = np.concatenate([Lattice(3).encode([1]), Choice(4).encode(np.asarray(2))])[None]
    around = {(int(Lattice(3).index(x[0])), int(Choice(4).index(x[1:]))) for x in domain.neighbours(start, rng)[0]}
    assert around == {(0, 2), (2, 2), (1, 0), (1, 1), (1, 3)}


def test_from_many_choices_a_few_neighbours_are_drawn(rng):
    domain = Domain((Choice(1000),))
    here = domain.at(0)[None]
    seen = set()
    for _ in range(5):
        around = domain.neighbours(here, rng)[0]
        assert len(around) < 20
        seen.update(np.argmax(around, axis=1).tolist())
    assert len(seen) > 40
    assert 0 not in seen


def test_continuous_domains_have_no_neighbours(rng):
    assert cube(2).neighbours(rng.random((5, 2)), rng).shape == (5, 0, 2)


def test_huge_domains_are_never_enumerated(rng):
    """10^21 alternatives of 10^21 levels: whatever is asked takes a few numbers."""
    assert HUGE.size == 10**15 * 50**12 * 10**6
    numbers = [0, HUGE.size // 7, HUGE.size - 1]
    points = np.array([HUGE.at(number) for number in numbers])
    np.testing.assert_array_equal(HUGE.snap(points), points)
    assert len(set(HUGE.keys(points))) == 3
    assert HUGE.neighbours(points, rng).shape[1] < 200
    assert HUGE.spread(rng.random((3, 14))).shape == (3, HUGE.dimension)
    assert [int(part) for part in (HUGE.at(HUGE.size - 1)[0] * 10**15, HUGE.at(0)[0] * 10**15)] == [10**15 - 1, 0]


def test_columns_groups_and_sizes():
    domain = Domain((Interval(), Choice(3), Lattice(4), Choice(2)))
    assert domain.columns == (slice(0, 1), slice(1, 4), slice(4, 5), slice(5, 6))
    assert domain.groups == (0, 1, 1, 1, 2, 3)
    assert domain.dimension == 6
    assert domain.size is None
    assert not domain.continuous
    assert cube(3).continuous


def test_only_coarse_blocks_are_held():
    """A lattice with many levels is climbed as if it were continuous."""
    domain = Domain((Interval(), Choice(3), Lattice(4), Lattice(10**15), Lattice(1000, 1)))
    np.testing.assert_array_equal(domain.discrete, [False, True, True, True, True, False, False])


@pytest.mark.parametrize("block", [*SMALL, Interval(), Lattice(100), Lattice(200, 1)])
def test_ends_are_the_smallest_and_the_largest_legal_values(block):
    domain = Domain((block,))
    points = np.array([[0.0], [1.0]]) if isinstance(block, Interval) else domain.everything()
    np.testing.assert_array_equal(domain.ends, [points.min(axis=0), points.max(axis=0)])


def test_a_choice_of_one_has_one_point():
    domain = Domain((Choice(1), Interval()))
    np.testing.assert_array_equal(domain.snap(np.array([0.9, 0.5])), domain.snap(np.array([0.1, 0.5])))
