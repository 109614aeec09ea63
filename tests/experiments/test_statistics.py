"""Medians, their bands and comparisons against brute force, formulas and simulated methods."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.statistics import LEAST, LEVEL, UNKNOWN, Comparison, Interval, band, compare
from experiments.store import Curves

BELOW, ACROSS, ABOVE = Interval(-0.5, -0.9, -0.1), Interval(0.0, -0.1, 0.1), Interval(0.5, 0.1, 0.9)


def curves(regret, repeats=None):
    regret = np.asarray(regret, dtype=float)
    return Curves(list(range(len(regret))) if repeats is None else list(repeats), regret, None)


def lognormal(rng, shape, spread=0.5):
    """Regrets with this standard deviation of their decimal logarithms, around 1."""
    return 10.0 ** (spread * rng.standard_normal(shape))


class TestBand:
    def test_middle_is_the_median(self, rng):
        regret = lognormal(rng, (7, 5))
        by_hand = [math.log10(sorted(column)[3]) for column in regret.T]
        np.testing.assert_allclose(band(curves(regret)).middle, by_hand, rtol=1e-14)

    def test_sd_against_brute_force(self, rng):
        """4000 draws of our own: the 400 of the band are off by 3.5 % (one sd), 20 % on six columns never."""
        regret = lognormal(rng, (25, 6))
        own = [np.log10(np.median(regret[rng.integers(25, size=25)], axis=0)) for _ in range(4000)]
        np.testing.assert_allclose(band(curves(regret)).sd, np.std(own, axis=0), rtol=0.2)

    @pytest.mark.parametrize("spread", [0.1, 1.0])
    def test_sd_of_a_lognormal_median(self, rng, spread):
        """The median of n normal values has the asymptotic sd s (pi / 2n)^1/2.

        A bootstrap's sd of one median is off by about 15 % at n = 400; on average over 60 columns, by 3 %.
        """
        n = 400
        sd = band(curves(lognormal(rng, (n, 60), spread))).sd
        assert np.mean(sd) == pytest.approx(spread * math.sqrt(math.pi / (2 * n)), rel=0.1)

    def test_sd_shrinks_with_the_root_of_the_repeats(self, rng):
        few, many = (np.mean(band(curves(lognormal(rng, (n, 60)))).sd) for n in (50, 800))
        assert few / many == pytest.approx(4.0, rel=0.2)

    def test_is_the_same_each_time(self, rng):
        regret = lognormal(rng, (20, 3))
        first, second = band(curves(regret)), band(curves(regret))
        np.testing.assert_array_equal(first.sd, second.sd)
        np.testing.assert_array_equal(first.middle, second.middle)

    def test_zeros(self):
        found = band(curves(np.zeros((6, 3))))
        np.testing.assert_allclose(found.middle, math.log10(LEAST))
        np.testing.assert_array_equal(found.sd, 0.0)

    def test_some_zeros(self, rng):
        regret = lognormal(rng, (9, 4))
        regret[:3] = 0.0
        found = band(curves(regret))
        np.testing.assert_array_equal(found.middle, np.log10(np.median(regret, axis=0)))
        assert np.all(np.isfinite(found.sd))

    def test_one_outlier_leaves_the_median(self, rng):
        regret = lognormal(rng, (21, 4), 0.01)
        before = band(curves(regret)).middle
        regret[0] = 1e6
        np.testing.assert_allclose(band(curves(regret)).middle, before, atol=0.02)


class TestInterval:
    @pytest.mark.parametrize("interval, sign", [(BELOW, -1), (ACROSS, 0), (ABOVE, 1), (Interval(0, 0, 0), 0)])
    def test_sign(self, interval, sign):
        assert interval.sign == sign

    def test_touching_zero_is_no_sign(self):
        assert Interval(-0.5, -1.0, 0.0).sign == Interval(0.5, 0.0, 1.0).sign == 0


@pytest.mark.parametrize(
    "last, run, word",
    [
        (BELOW, BELOW, "better"),
        (BELOW, ACROSS, "better"),
        (ACROSS, BELOW, "better"),
        (ACROSS, ACROSS, "no different"),
        (ACROSS, ABOVE, "worse"),
        (ABOVE, ACROSS, "worse"),
        (ABOVE, ABOVE, "worse"),
        (BELOW, ABOVE, "better in the end, worse before"),
        (ABOVE, BELOW, "better at first, worse in the end"),
    ],
)
def test_verdict(last, run, word):
    any_pair = compare(curves(np.ones((8, 2))), curves(np.ones((8, 2))))
    assert isinstance(any_pair, Comparison)
    assert any_pair._replace(last=last, run=run).verdict == word


class TestCompare:
    def test_identical(self, rng):
        regret = lognormal(rng, (30, 5))
        pair = compare(curves(regret), curves(regret.copy()))
        assert pair.last == pair.run == Interval(0.0, 0.0, 0.0)
        assert pair.verdict == "no different"
        assert pair.repeats == 30

    def test_ten_times_better(self, rng):
        regret = lognormal(rng, (30, 5))
        pair = compare(curves(regret / 10.0), curves(regret))
        np.testing.assert_allclose([*pair.last, *pair.run], -1.0, atol=1e-12)
        assert pair.verdict == "better"
        assert compare(curves(regret), curves(regret / 10.0)).verdict == "worse"

    def test_middles(self, rng):
        mine, other = lognormal(rng, (15, 6)), lognormal(rng, (15, 6))
        gap = np.log10(np.median(mine, axis=0) / np.median(other, axis=0))
        pair = compare(curves(mine), curves(other))
        assert pair.last.middle == pytest.approx(gap[-1])
        assert pair.run.middle == pytest.approx(gap[1:].mean()), "the start is not part of the run"
        assert (pair.ahead, pair.evaluations) == (np.sum(gap[1:] < 0.0), 5)

    def test_interval_against_brute_force(self, rng):
        """Within 5 standard deviations of what the quantiles of 400 draws are off by."""
        mine, other = lognormal(rng, (40, 4)), 2.0 * lognormal(rng, (40, 4))
        picks = rng.integers(40, size=(4000, 40))
        drawn = [np.log10(np.median(mine[pick], axis=0) / np.median(other[pick], axis=0)) for pick in picks]
        pair = compare(curves(mine), curves(other))
        for found, own in ((pair.last, [gap[-1] for gap in drawn]), (pair.run, [gap[1:].mean() for gap in drawn])):
            low, high = np.quantile(own, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0])
            # The sd of a normal's 2.5 % quantile of n draws is 2.7 sd / n^1/2.
            tolerance = 5.0 * 2.7 * float(np.std(own)) / 400**0.5
            assert (found.low, found.high) == pytest.approx((low, high), abs=tolerance)

    def test_shared_luck_cancels(self, rng):
        """A method better by a fifth on every repeat, where repeats differ by decades."""
        luck = 10.0 ** (2.0 * rng.standard_normal((40, 1)))
        mine, other = 0.8 * luck * lognormal(rng, (40, 4), 0.01), luck * lognormal(rng, (40, 4), 0.01)
        pair = compare(curves(mine), curves(other))
        assert pair.verdict == "better"
        assert pair.last.high - pair.last.low < 0.5 * band(curves(mine)).sd[-1], "unpaired, it were 5.5 of them"

    def test_repeats_are_matched_by_number(self, rng):
        mine, other = lognormal(rng, (12, 3)), lognormal(rng, (12, 3))
        order = rng.permutation(12)
        assert compare(curves(mine), curves(other[order], order)) == compare(curves(mine), curves(other))

    def test_only_shared_repeats_count(self, rng):
        mine, other = lognormal(rng, (10, 3)), lognormal(rng, (10, 3))
        shifted = compare(curves(mine), curves(other, range(4, 14)))
        assert shifted.repeats == 6
        assert shifted == compare(curves(mine[4:]), curves(other[:6]))

    def test_only_shared_evaluations_count(self, rng):
        mine, other = lognormal(rng, (10, 7)), lognormal(rng, (10, 4))
        assert compare(curves(mine), curves(other)) == compare(curves(mine[:, :4]), curves(other))
        assert compare(curves(other), curves(mine)) == compare(curves(other), curves(mine[:, :4]))

    def test_nothing_shared(self):
        with pytest.raises(ValueError, match="no repeats in common"):
            compare(curves(np.ones((3, 4))), curves(np.ones((3, 4)), [5, 6, 7]))

    def test_zeros(self):
        pair = compare(curves(np.zeros((8, 3))), curves(np.full((8, 3), 1e-3)))
        assert pair.last == pair.run == pytest.approx((math.log10(LEAST) + 3.0,) * 3)
        assert pair.verdict == "better"
        assert compare(curves(np.zeros((8, 3))), curves(np.zeros((8, 3)))).verdict == "no different"

    def test_rounding_makes_no_difference(self):
        assert compare(curves(np.full((8, 3), 1e-14)), curves(np.full((8, 3), 1e-17))).last == Interval(0, 0, 0)

    def test_coverage(self):
        """Of the true difference, by the 95 % intervals of 200 simulated pairs of methods on 40 repeats.

        A percentile interval of a median errs on the safe side: about 96 % here. Then fewer than 180 of 200 have a
        probability of 1e-4, and all of them have one of 3e-4; of an 83 % interval, 180 or more have one of 5e-3.
        """
        rng, truth, covered = np.random.default_rng(3), -0.2, np.zeros(2)
        for _ in range(200):
            mine, other = (10.0**level * lognormal(rng, (40, 3), 0.3) for level in (truth, 0.0))
            pair = compare(curves(mine), curves(other))
            covered += [interval.low <= truth <= interval.high for interval in (pair.last, pair.run)]
        assert np.all((covered >= 180) & (covered < 200)), covered

    @settings(max_examples=15)
    @given(st.integers(2, 12), st.integers(2, 5), st.floats(1e-3, 1e3), st.integers(0, 2**32 - 1))
    def test_symmetry_and_scale(self, n, e, scale, seed):
        rng = np.random.default_rng(seed)
        mine, other = lognormal(rng, (n, e)), lognormal(rng, (n, e))
        pair, back = compare(curves(mine), curves(other)), compare(curves(other), curves(mine))
        scaled = compare(curves(scale * mine), curves(scale * other))
        for name in ("last", "run"):
            middle, low, high = getattr(pair, name)
            assert low - 1e-12 <= high
            assert getattr(back, name) == pytest.approx((-middle, -high, -low), abs=1e-9)
            assert getattr(scaled, name) == pytest.approx((middle, low, high), abs=1e-9)


def test_few_repeats_decide_nothing(rng):
    """Two methods that are the same in law: with so few repeats, a 95 % verdict is beyond reach."""
    for n in (1, 2, 3, 5):
        pairs = [compare(*(curves(lognormal(rng, (n, 3))) for _ in range(2))) for _ in range(8)]
        assert {pair.verdict for pair in pairs} == {UNKNOWN}
        assert {(pair.last.sign, pair.run.sign) for pair in pairs} == {(0, 0)}
