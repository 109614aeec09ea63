"""A problem's draws are its own, whoever else draws at the same time."""

import math

import numpy as np
import pytest

from xstar.errors import SettingsError
from xstar.lockstep import Streams
from xstar.numerics.random import common, permutations

SEEDS = (3, 14, 15, 92)
DRAWS = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "chi-square": lambda rng, shape: rng.chisquare(5.0, size=shape),
    "uniform": lambda rng, shape: rng.uniform(-0.5, 2.0 * math.pi, size=shape),
}
EVERY = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)


def streams(seeds=SEEDS, threads=1):
    return Streams([np.random.default_rng(seed) for seed in seeds], np.random.default_rng(65), threads)


@EVERY
@pytest.mark.parametrize("each, tail", [(1, ()), (1, (5,)), (6, (2, 3)), (40, (3,)), (2, (0,))])
def test_each_problem_has_the_draws_of_its_own_generator(draw, each, tail):
    """The leading axis is R times `each`, divided in order; one call after the other."""
    many, alone = streams(), [np.random.default_rng(seed) for seed in SEEDS]
    for _ in range(3):
        drawn = draw(many, (len(SEEDS) * each, *tail))
        assert drawn.shape == (len(SEEDS) * each, *tail)
        assert drawn.dtype == np.float64
        for part, rng in zip(np.split(drawn, len(SEEDS)), alone, strict=True):
            np.testing.assert_array_equal(part, draw(rng, (each, *tail)))


@EVERY
@pytest.mark.parametrize("threads", [2, 3, 8])
def test_threads_change_nothing(draw, threads):
    one, other = streams(), streams(threads=threads)
    for shape in ((4, 1000), (400, 7), (4,)):
        np.testing.assert_array_equal(draw(one, shape), draw(other, shape))


@EVERY
def test_many_streams_on_few_threads(draw):
    seeds = range(300)
    np.testing.assert_array_equal(draw(streams(seeds), (600, 5)), draw(streams(seeds, threads=4), (600, 5)))


@EVERY
def test_one_stream_is_its_generator(draw):
    np.testing.assert_array_equal(draw(streams([7]), (3, 2)), draw(np.random.default_rng(7), (3, 2)))


def test_the_order_of_problems_is_that_of_their_generators():
    drawn, other = streams((1, 2)).standard_normal((2, 4)), streams((2, 1)).standard_normal((2, 4))
    np.testing.assert_array_equal(drawn, other[::-1])


@EVERY
def test_an_axis_that_cannot_be_divided_is_refused(draw):
    for shape in ((6, 2), (3, 2), (1, 5)):
        with pytest.raises((ValueError, SettingsError)):
            draw(streams(), shape)


def test_permutations():
    drawn = streams().permutation(9)
    assert drawn.shape == (4, 9)
    for row, seed in zip(drawn, SEEDS, strict=True):
        np.testing.assert_array_equal(row, np.random.default_rng(seed).permutation(9))
    np.testing.assert_array_equal(permutations(streams(), 9), drawn)
    single = permutations(np.random.default_rng(3), 9)
    np.testing.assert_array_equal(single, drawn[:1])


def test_what_all_share_comes_from_a_generator_of_its_own():
    """Draws of problems do not advance it, nor it theirs."""
    many = streams()
    assert len(many) == 4
    many.standard_normal((8, 3))
    assert common(many) is many.common
    np.testing.assert_array_equal(common(many).random(3), np.random.default_rng(65).random(3))
    untouched = streams()
    untouched.standard_normal((8, 3))
    np.testing.assert_array_equal(many.standard_normal((4, 2)), untouched.standard_normal((4, 2)))
    rng = np.random.default_rng(0)
    assert common(rng) is rng
