"""What trials say: encoded once, sorted, pooled; and which points are not worth another evaluation."""

import itertools
import math

import numpy as np
import pytest

from xstar import Categorical, Integer, Optimizer, Real, Space, Trial
from xstar.engine import gather
from xstar.engine.evidence import noise_of
from xstar.errors import SpaceExhausted

LINE = Space(x=Real(0.0, 10.0))


def settings(space=LINE, direction="maximize", **others):
    return Optimizer(space, direction, "logei", **others)._settings


def trial(number, x, state="done", value=1.0, sd=None):
    return Trial(number, {"x": x}, state, value if state == "done" else None, sd)


def test_rows_of_each_kind():
    told = [trial(0, 5.0), trial(1, 2.5, "failed"), trial(2, 10.0, "pending"), trial(3, 0.0, "withdrawn")]
    found = gather(settings(), told)
    assert found.X.tolist() == [[0.5]]
    assert found.failed.tolist() == [[0.25]]
    assert found.pending.tolist() == [[1.0]]
    assert (found.count, found.under_way) == (1, 3)


def test_the_order_of_trials_does_not_matter():
    told = [trial(k, x, value=v, sd=sd) for k, (x, v, sd) in enumerate(
        [(3.0, 1.0, None), (3.0, 1.0, 0.1), (3.0, 0.5, None), (1.0, 2.0, 0.2), (1.0, 3.0, 0.4)])]  # fmt: skip
    expected = gather(settings(), told)
    for order in itertools.permutations(told):
        found = gather(settings(), order)
        assert found.same_results(expected)
        np.testing.assert_array_equal(found.legal, expected.legal)


def test_a_minimization_changes_the_sign_once():
    assert gather(settings(direction="minimize"), [trial(0, 1.0, value=7.0)]).values.tolist() == [-7.0]
    assert gather(settings(), [trial(0, 1.0, value=7.0)]).values.tolist() == [7.0]


def test_replicates_of_known_noise_are_one_value():
    found = gather(settings(), [trial(0, 3.0, value=1.0, sd=0.1), trial(1, 3.0, value=4.0, sd=0.2)])
    # Weights 100 and 25: mean 1.6, sd 1 / sqrt(125).
    assert found.values.tolist() == pytest.approx([1.6])
    assert found.sd.tolist() == pytest.approx([1.0 / math.sqrt(125.0)])


def test_an_exact_value_outweighs_all_others():
    told = [trial(0, 3.0, value=1.0, sd=0.0), trial(1, 3.0, value=9.0, sd=0.5), trial(2, 3.0, value=3.0, sd=0.0)]
    found = gather(settings(), told)
    assert (found.values.tolist(), found.sd.tolist()) == ([2.0], [0.0])


def test_replicates_of_unknown_noise_stay_apart():
    found = gather(settings(), [trial(0, 3.0, value=1.0), trial(1, 3.0, value=2.0), trial(2, 3.0, value=5.0, sd=0.1)])
    assert found.values.tolist() == [1.0, 2.0, 5.0]
    assert np.isnan(found.sd[:2]).all()


@pytest.mark.parametrize("own, common, expected", [(0.2, 0.5, 0.2), (None, 0.5, 0.5), (0.0, None, 0.0)])
def test_a_value_has_its_own_noise_or_the_common_one(own, common, expected):
    assert noise_of(trial(0, 1.0, sd=own), common) == expected
    assert math.isnan(noise_of(trial(0, 1.0), None))


def test_evidence_that_differs():
    base = gather(settings(), [trial(0, 3.0), trial(1, 4.0, "failed"), trial(2, 5.0, "pending")])
    same = gather(settings(), [trial(0, 3.0), trial(1, 4.0, "failed"), trial(7, 9.0, "pending")])
    assert base.same_results(same), "pending points have no part in a model"
    for other in ([trial(0, 3.1)], [trial(0, 3.0, value=2.0)], [trial(0, 3.0, sd=0.1)], [trial(0, 3.0)]):
        assert not base.same_results(gather(settings(), other))


# What is excluded

FINITE = Space(k=Integer(0, 2), c=Categorical(["a", "b"]))


def finite(number, k, c, state="done", sd=None):
    return Trial(number, {"k": k, "c": c}, state, 1.0 if state == "done" else None, sd)


def excluded(told, noise=None, within=None, space=FINITE):
    own = settings(space, noise=noise)
    return gather(own, told).excluded(own.space.domain if within is None else within, noise)


def test_only_pending_and_exact_points_are_excluded():
    told = [
        finite(0, 0, "a"), finite(1, 1, "a", sd=0.0), finite(2, 2, "b", "pending"), finite(3, 0, "b", "failed"),
        finite(4, 1, "b", sd=0.3),
    ]  # fmt: skip
    assert len(excluded(told)) == 2
    assert len(excluded(told, noise=0.0)) == 4, "then all but the one with a noise of its own"


def test_points_outside_the_space_exclude_nothing():
    assert not len(excluded([Trial(0, {"x": 11.0}, "done", 1.0, 0.0)], space=LINE))


def test_an_exhausted_space_says_so():
    told = [finite(number, k, c, sd=0.0) for number, (k, c) in enumerate(itertools.product(range(3), "ab"))]
    with pytest.raises(SpaceExhausted, match="all 6 points of the space have been evaluated"):
        excluded(told)
    pending = [*told[:-1], finite(5, 2, "b", "pending")]
    assert len(excluded(pending)) == 5, "with noise, repeating a pending point is better than nothing"
    with pytest.raises(SpaceExhausted):
        excluded(pending, noise=0.0)


def test_what_is_not_to_be_repeated_is_excluded_however_noisy():
    told = [finite(0, 0, "a"), finite(1, 1, "a", sd=0.3), finite(2, 2, "b", "pending"), finite(3, 0, "b", "failed")]
    own = settings(FINITE)
    assert len(gather(own, told).excluded(own.space.domain, None, repeat=False)) == 4
    rest = [finite(4, 1, "b", "pending"), finite(5, 2, "a", "pending")]
    with pytest.raises(SpaceExhausted):
        gather(own, [*told, *rest]).excluded(own.space.domain, None, repeat=False)


def test_within_a_part_of_the_domain_only_its_own_points_count():
    told = [finite(0, 0, "a", sd=0.0), finite(1, 1, "a", sd=0.0), finite(2, 1, "b", sd=0.0)]
    assert len(excluded(told, within=FINITE.pin({"c": "a"}))) == 2
    assert len(excluded(told, within=FINITE.pin({"c": "b"}))) == 1


def test_results_are_encoded_once_for_a_suggestion(monkeypatch):
    opt = Optimizer(LINE, method="logei")
    for k, x in enumerate((1.0, 4.0, 6.0, 9.0)):
        opt.tell({"x": x}, -((k - 2.0) ** 2))
    encoded = []
    honest = Space.encode
    monkeypatch.setattr(Space, "encode", lambda self, params: encoded.append(params) or honest(self, params))
    opt.ask()
    assert len(encoded) == 4
