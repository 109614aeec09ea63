"""Trials as the text of a CSV file: what is told is read back, and nothing is computed by a spreadsheet."""

import pytest

from xstar import Categorical, Optimizer, Real, Trial
from xstar.files.frames import columns_of, csv_of, row

SPACE = {"x": Real(0.0, 1.0), "c": Categorical([None, "=1+1", "a, b", '"'])}


def test_choices_are_read_back(tmp_path):
    told = [Trial(k, {"x": 0.1 + 0.2 * k / 3, "c": c}, "done", k / 7, 0.5) for k, c in enumerate(SPACE["c"].choices)]
    path = tmp_path / "trials.csv"
    path.write_text(csv_of(map(row, told), columns_of(SPACE)), encoding="utf-8")
    read = Optimizer(SPACE).tell_table(path)
    assert [(trial.params, trial.value, trial.sd) for trial in read] == [(t.params, t.value, t.sd) for t in told]


@pytest.mark.parametrize("reason", ["=1+1", "+1", "-inf", "@sum", "\tx"])
def test_a_reason_is_no_formula(reason):
    trial = Trial(0, {"x": 0.5, "c": None}, "failed", reason=reason)
    assert csv_of([row(trial)], columns_of(SPACE)).splitlines()[1] == f"0,failed,0.5,None,,,'{reason},"


def test_other_reasons_stay():
    trial = Trial(0, {"x": 0.5, "c": None}, "failed", reason="a - b")
    assert ",a - b," in csv_of([row(trial)], columns_of(SPACE))


def test_several_outputs_have_two_columns_each():
    opt = Optimizer(
        {"x": Real(0.0, 1.0), "yield": Real(0.0, 1.0)}, objectives={"cost": "minimize", "state": "maximize"},
        constraints={"impurity": ("<=", 0.5)},
    )  # fmt: skip
    opt.tell({"x": 0.5, "yield": 0.1}, {"cost": 3.0, "state": 1.0}, sd={"cost": 0.1})
    opt.fail({"x": 0.6, "yield": 0.1}, "no")
    frame = opt.to_dataframe()
    assert list(frame.columns) == [
        "trial", "state", "x", "yield", "cost", "cost sd", "state (output)", "state sd", "impurity", "impurity sd",
        "reason", "suggested by",
    ]  # fmt: skip
    assert frame["cost"].tolist()[0] == 3.0
    assert frame["impurity"].isna().all()
    lines = csv_of(
        [row(trial, opt.goals.names) for trial in opt.trials], columns_of(opt.space.parameters, opt.goals.names)
    )
    assert lines.splitlines()[1:] == ["0,done,0.5,0.1,3.0,0.1,1.0,,,,,", "1,failed,0.6,0.1,,,,,,,no,"]
