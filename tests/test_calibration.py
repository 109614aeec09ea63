"""The benchmark of claims counts what it says it counts."""

import numpy as np
import pytest

from benchmarks.calibration import problems, runs
from benchmarks.calibration.table import count, interval, load, worst
from benchmarks.published.results import read


def row(number, share, bound, regret, z=0.0, function="f1"):
    return {
        "set": "bbob-2", "variant": "default", "noise": 0.0, "function": function, "number": number, "n": 2 * share,
        "share": share, "bound": bound, "regret": regret, "z": z, "inside": 1, "coordinates": 2,
    }  # fmt: skip


def test_what_is_counted():
    """One run stops at once and rightly, one later and too early, one never."""
    rows = [
        row(1, 5, 0.05, 0.01), row(1, 10, 0.2, 0.3), row(1, 20, 0.01, 0.0),
        row(2, 5, 0.5, 0.4, z=2.5), row(2, 10, 0.05, 0.3), row(2, 20, 0.05, 0.3),
        row(3, 5, 0.9, 0.1, z=-2.5, function="f2"), row(3, 10, 0.8, 0.1), row(3, 20, 0.7, 0.1),
    ]  # fmt: skip
    (found,) = count(rows)
    assert found["stops"] == {"runs": 3, "stopped": 2, "early": 1}
    assert found["at"]["5"] == {"runs": 3, "bound": 3, "usual": 1, "inside": 3, "coordinates": 6}
    assert [found["at"][share]["bound"] for share in ("10", "20")] == [1, 2]
    assert found["by_function"] == {"f1": [5, 8], "f2": [1, 1]}
    assert worst(found["by_function"], 1) == "f1 62%"


@pytest.mark.parametrize(
    ("k", "n", "shown"),
    [(0, 10, "0% (0% to 28%)"), (81, 263, "31% (26% to 37%)"), (5, 5, "100% (57% to 100%)"), (0, 0, "-")],
)
def test_shares_have_the_interval_of_wilson(k, n, shown):
    assert interval(k, n) == shown


def test_a_run_holds_claims_against_the_truth(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "FOLDER", tmp_path)
    monkeypatch.setattr(runs, "ASKED", (2, 5))
    few = problems.SETS["branin"].make((0,))[:2]
    monkeypatch.setitem(problems.SETS, "branin", problems.Set(2, lambda instances: few))
    path = runs.run("branin", "default", (0,), "numpy")
    assert path.name == "branin__default__0.npz"
    rows = load(tmp_path)
    assert [(r["noise"], r["n"]) for r in rows] == [(noise, n) for noise in (0.0, 0.1) for _ in few for n in (4, 10)]
    assert all(r["regret"] >= 0.0 and r["bound"] >= 0.0 and 0 <= r["inside"] <= 2 for r in rows)
    with np.load(path) as data:
        X = data["X"][1]
        np.testing.assert_allclose(data["y"][1], few[0].values(X), err_msg="without noise")
    assert few[0].maximum == pytest.approx(few[0].values(few[0].maximizers).max(), abs=1e-5)


def test_functions_are_in_units_of_their_spread():
    one = problems.SETS["bbob-2"].make((1,))[7]
    values = one.values(np.random.default_rng(0).random((4000, 2)))
    assert np.std(values) == pytest.approx(1.0, rel=0.1)
    assert one.values(one.maximizers)[0] == pytest.approx(one.maximum, abs=1e-9)


def test_the_words_about_claims():
    """docs/trust.md: half of the evidence holds more often, and least often on Rastrigin's and Lunacek's functions."""
    shares = {}
    names = {}
    for entry in read("calibration").rows:
        if entry["set"].startswith("bbob"):
            for at in entry["at"].values():
                held = shares.setdefault(entry["variant"], [0, 0])
                held[0] += at["bound"]
                held[1] += at["runs"]
            if entry["variant"] == "default":
                for name, (holds, times) in entry["by_function"].items():
                    names.setdefault(name, []).append((holds, times))
    rate = {variant: holds / times for variant, (holds, times) in shares.items()}
    assert rate["default"] > rate["sure"] > 0.85
    ranked = sorted(names, key=lambda name: sum(h for h, _ in names[name]) / sum(t for _, t in names[name]))
    assert set(ranked[:3]) == {"f3", "f15", "f24"}
