"""The instruments that choices of method are made with: problems, runs, comparisons."""

import numpy as np
import pytest

from benchmarks import bbob, tables
from benchmarks.campaign import compare
from benchmarks.campaign.problems import MORE, bbob_problem, problem
from benchmarks.campaign.runs import COUNTS, Job, run
from benchmarks.campaign.variants import VARIANTS
from xstar import Method


@pytest.mark.parametrize("name", MORE)
def test_problems_are_best_where_they_say(name, rng):
    found = problem(name, 0)
    assert found.values(found.maximizer[None])[0] == pytest.approx(found.maximum, abs=1e-12)
    near = np.clip(found.maximizer + 1e-3 * rng.standard_normal((200, found.dimension)), 0.0, 1.0)
    everywhere = rng.random((2000, found.dimension))
    assert found.values(np.concatenate([near, everywhere])).max() < found.maximum


@pytest.mark.parametrize("function", [1, 8, 15, 21, 24])
@pytest.mark.parametrize("dimension", [2, 5])
def test_functions_of_coco_are_best_at_zero(function, dimension, rng):
    found = bbob_problem(function, 1, dimension)
    assert np.all((found.maximizer >= 0.0) & (found.maximizer <= 1.0))
    assert found.regret(found.maximizer[None])[0] == 0.0
    assert found.regret(rng.random((200, dimension))).min() > 0.0
    assert found.evaluations == 20 * dimension


def test_repeats_of_bbob_are_its_functions_and_then_other_instances():
    assert problem("bbob-2", 0).name == "bbob-f1-i1-d2"
    assert problem("bbob-2", 23).name == "bbob-f24-i1-d2"
    assert problem("bbob-5", 24).name == "bbob-f1-i2-d5"


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_are_methods(name):
    assert isinstance(VARIANTS[name].method(), Method)
    assert VARIANTS["default"].method() == Method()


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Three repeats of two variants, in two files each."""
    monkeypatch.chdir(tmp_path)
    for variant in ("default", "logei"):
        for first, repeats in ((0, 2), (2, 1)):
            run(Job("within-model", variant, first, repeats, 6, "numpy"))
    return compare.load(tmp_path / "output" / "campaign")


def test_runs_are_kept_and_joined(kept):
    counts = kept["within-model"]["default"]
    for count in COUNTS:
        assert counts[count].shape == (3, 4), "at the start and after three evaluations"
        assert np.all(counts[count] >= 0.0)
    assert np.all(np.diff(counts["evaluated"], axis=1) <= 0.0)
    assert np.all(counts["evaluated"] <= counts["tested"] + 1e-12)
    assert np.all(counts["evaluated"] <= counts["observed"] + 1e-12)
    np.testing.assert_array_equal(
        counts["evaluated"][:, 0], kept["within-model"]["logei"]["evaluated"][:, 0], "the start is the same for all"
    )


def test_a_row_compares_repeat_by_repeat(kept):
    rows = {(row["variant"], row["count"]): row for row in compare.rows(kept, "default")}
    assert "difference" not in rows["default", "evaluated"]
    mine, other = (
        np.log10(np.maximum(kept["within-model"][name]["evaluated"], compare.LEAST)) for name in ("logei", "default")
    )
    mean, half = rows["logei", "evaluated"]["difference"]["6"]
    gap = mine[:, -1] - other[:, -1]
    assert mean == pytest.approx(gap.mean(), abs=1e-3)
    assert half == pytest.approx(1.96 * gap.std(ddof=1) / np.sqrt(3), abs=1e-3)
    assert rows["logei", "evaluated"]["repeats"] == 3
    assert rows["logei", "evaluated"]["cpu_seconds"] > 0.0


def test_repeats_that_are_not_there_leave_no_gap(tmp_path):
    for first in (0, 2):
        parts = {count: np.full((1, 2), 10.0**-first) for count in COUNTS}
        np.savez(tmp_path / f"branin@default@{first}.npz", seconds=1.0, **parts)
    assert len(compare.load(tmp_path)["branin"]["default"]["tested"]) == 1, "repeat 1 is missing"


def test_a_study_of_coco_improves():
    row = bbob.run("RandomSampler", 1, 1, 2)
    logs = row["log10_precision"]
    assert len(logs) == bbob.BUDGET * 2
    assert np.all(np.diff(logs) <= 0.0)
    lines = bbob.table([row, {**row, "sampler": "GPSampler", "log10_precision": [log - 1.0 for log in logs]}], 2)
    assert any("against GPSampler: +1.00" in line for line in lines)


def test_tables_of_models_are_whole():
    found = tables.read("HPOBench", "kc1")
    assert found.values.shape[:-1] == tuple(map(len, found.choices.values()))
    assert np.isfinite(found.values).all()


def test_a_study_of_a_table_counts_the_gap_to_its_best_entry():
    row = tables.run("RandomSampler", "HPOBench", "kc1", 0)
    assert len(row["gap"]) == len(tables.SHOWN)
    assert min(row["gap"]) >= 0.0
    rows = [row, {**row, "sampler": "xstar", "gap": [0.0, 0.0, 0.0]}]
    standings, runs = tables.compare([*rows, {**rows[1], "seed": 1}])
    assert runs == 1, "only one of them has made the second"
    assert standings["xstar"] == ([1.0, 1.0, 1.0], [0.0, 0.0, 0.0])
    assert standings["RandomSampler"] == ([2.0, 2.0, 2.0], row["gap"])
