"""Random studies, by their numbers: some seconds of them here, minutes in `make test-slow`."""

import numpy as np
import pytest

import xstar
from benchmarks.soak import __main__ as soak
from benchmarks.soak import play
from benchmarks.soak.cases import PARAMETERS, draw, legal, outside
from xstar.methods import METHODS, name_of


def clean(seeds):
    """How many suggestions were asked for in studies in which nothing has gone wrong."""
    played = [play.play(seed) for seed in seeds]
    assert [(each.seed, each.problem) for each in played if each.problem] == []
    return sum(each.asks for each in played)


def test_nothing_goes_wrong():
    assert clean(range(1_000_001, 1_000_006)) > 100


@pytest.mark.slow
def test_nothing_goes_wrong_for_minutes():
    assert clean(range(2_000_000, 2_000_050)) > 1000


def test_a_study_is_a_function_of_its_number():
    first, second = (play.play(1_000_003) for _ in range(2))
    assert (first.asks, first.fallbacks, first.problem) == (second.asks, second.fallbacks, second.problem)


def test_all_kinds_are_drawn():
    cases = [draw(np.random.default_rng(seed)) for seed in range(400)]
    assert {name_of(case.method) for case in cases} >= {*METHODS} - {"pes-alone", "pes-nb", "pes-2014"}
    kinds = {type(parameter) for case in cases for parameter in case.space.parameters.values()}
    assert kinds == {xstar.Real, xstar.Integer, xstar.Categorical, xstar.Ordinal}
    assert max(len(case.space.parameters) for case in cases) == 12
    assert any(not case.space.free for case in cases)
    assert any(case.space.positional for case in cases)
    assert any(abs(np.log10(case.scale)) > 200 for case in cases)
    assert all(make(np.random.default_rng(0)) for make in PARAMETERS)


def test_points_inside_and_outside():
    rng = np.random.default_rng(0)
    space = xstar.Space(x=xstar.Real(1.0, 2.0), k=xstar.Integer(1, 3), c=["a", "b"])
    assert all(space.contains(legal(space, rng)) for _ in range(20))
    assert not all(space.contains(outside(space, rng)) for _ in range(20))


def test_what_goes_wrong_is_counted_and_played_again(monkeypatch, capsys):
    monkeypatch.setattr(xstar.Optimizer, "ask", lambda *_, **__: 1 / 0)
    (played,) = soak.several(3, lambda number: number < 1)
    assert (played.kind, played.seed) == ("exception", 3_000_000)
    assert "exception, --replay 3000000: ZeroDivisionError" in capsys.readouterr().out
    found = soak.summary([played])
    assert (found["studies"], found["exceptions"], found["problems"][0][0]) == (1, 1, 3_000_000)
    with pytest.raises(ZeroDivisionError):
        soak.main(["--replay", "3000000"])


def test_a_suggestion_at_a_pending_point_is_noticed(monkeypatch):
    monkeypatch.setattr(xstar.Optimizer, "propose", lambda self, number, *_, **__: xstar.Trial(
        number, self.space.anywhere, diagnostics={"fallback": None}))  # fmt: skip
    kinds = {play.play(seed).kind for seed in range(4)}
    assert "duplicate" in kinds


@pytest.mark.parametrize("seed", range(8))
def test_damage_is_done(seed):
    content = b'{"format": "xstar study", "trials": [1, 2, 3]}' * 20
    assert play.damaged(content, np.random.default_rng(seed)) != content
