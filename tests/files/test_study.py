import enum
import json
import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import xstar
from xstar.acquisition import EI, ES, MES, PES, ESSettings, LogEI, PESSettings, Thompson
from xstar.entropy import ConditioningSettings, EPSettings, MaximizerSettings
from xstar.errors import FileError, SpaceError
from xstar.files.atomic import write_text
from xstar.gp import (
    MAP,
    ApproximationSettings,
    Fixed,
    Gamma,
    Hyperparameters,
    PosteriorMean,
    Prior,
    SliceSampling,
    SquaredExponential,
)
from xstar.search import SearchSettings

CHEAP = xstar.Method(inference=MAP(), acquisition=LogEI())
MIXED = xstar.Space(
    {"größe 大": xstar.Real(1e-300, 1.0, log=True)},
    n=xstar.Integer(0, 10**15),
    c=xstar.Categorical([None, True, 1, 1.0, "1", "größe"]),
    fixed=xstar.Real(2, 2),
)


def fill(opt, count=5):
    """Results of all kinds: told, with noise, failed, withdrawn, pending, outside the bounds."""
    for k in range(count):
        opt.tell(opt.ask(), math.sin(k) / 3.0, sd=None if k % 2 else 0.1)
    opt.fail(opt.ask(), 'kaputt: "大"\n')
    opt.withdraw(opt.ask())
    opt.ask()
    return opt


@pytest.fixture
def path(tmp_path):
    return tmp_path / "größe 大.json"


def saved(opt, path):
    opt.save(path)
    return xstar.Optimizer.load(path)


def kinds(trials):
    return [[type(value) for value in trial.params.values()] for trial in trials]


@pytest.mark.parametrize("space", [MIXED, [(0.0, 1.0), (-5.0, 5.0)]], ids=["mixed", "bounds"])
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_study_comes_back_and_goes_on_the_same(path, space, direction):
    opt = fill(xstar.Optimizer(space, direction, CHEAP, seed=7))
    again = saved(opt, path)
    assert again.trials == opt.trials
    assert kinds(again.trials) == kinds(opt.trials)
    assert again.space == opt.space
    assert again.ask() == opt.ask()
    assert again.recommend() == opt.recommend()


def test_the_default_method_goes_on_the_same(path):
    opt = xstar.Optimizer([(0.0, 1.0)], seed=3)
    for x in (0.1, 0.4, 0.8):
        opt.tell([x], -((x - 0.3) ** 2))
    assert saved(opt, path).ask().params == opt.ask().params


def test_settings_come_back(path):
    opt = xstar.Optimizer([(0, 1)], "minimize", "thompson", seed=None, noise=0.25, num_initial=4, threads=None)
    again = saved(opt, path)
    for name in ("direction", "method", "method_name", "seed", "noise", "num_initial", "threads"):
        assert getattr(again, name) == getattr(opt, name), name


def test_settings_may_come_from_numpy(path):
    method = xstar.Method(inference=SliceSampling(num_samples=np.int64(5)), acquisition=PES(num_samples=np.int64(9)))
    opt = xstar.Optimizer([(0, 1)], method=method, seed=np.int64(3), noise=np.float64(0.5), num_initial=np.int64(4))
    assert saved(opt, path).method == method


@pytest.mark.parametrize(
    "method",
    [
        CHEAP,
        xstar.Method(kernel=SquaredExponential(), inference=SliceSampling(num_samples=5), acquisition=EI()),
        xstar.Method(inference=PosteriorMean(SliceSampling(num_samples=7)), acquisition=PES(boundary="paper")),
        xstar.Method(inference=MAP(Prior(noise=Gamma(3.0, 4.0)), num_starts=2), acquisition=MES()),
        xstar.Method(inference=MAP(Prior(lengthscale=(Gamma(1.0, 2.0), Gamma(2.0, 3.0)))), acquisition=Thompson()),
        xstar.Method(acquisition=None),
    ],
    ids=["cheap", "slice sampling", "posterior mean", "prior", "prior for each", "random"],
)
def test_configured_methods_come_back(path, method):
    assert saved(xstar.Optimizer([(0, 1), (0, 1)], method=method), path).method == method


@pytest.mark.parametrize("lengthscales", [[0.3, 0.1], [[0.3, 0.1], [0.5, 0.2]]], ids=["one", "samples"])
def test_fixed_hyperparameters_come_back(path, lengthscales):
    hyper = Hyperparameters(lengthscales, 1.0 / 3.0, 0.1)
    opt = xstar.Optimizer([(0, 1), (0, 1)], method=xstar.Method(inference=Fixed(hyper), acquisition=LogEI()))
    again = saved(opt, path).method.inference.hyper
    for name in ("lengthscales", "amplitude", "noise"):
        np.testing.assert_array_equal(getattr(again, name), getattr(hyper, name))


@pytest.mark.parametrize("value", [0.1 + 0.2, 5e-324, -1.7976931348623157e308, 1e16 + 2.0, -0.0])
def test_numbers_come_back_to_the_last_bit(path, value):
    opt = xstar.Optimizer([(-1.7e308, 1.7e308)], method=CHEAP)
    opt.tell([value], value, sd=abs(value))
    (trial,) = saved(opt, path).trials
    assert repr([trial.params["x0"], trial.value, trial.sd]) == repr([value, value, abs(value)])


@pytest.mark.parametrize("choice", [None, True, 1, 1.0, "1", "größe"])
def test_choices_that_look_alike_in_json_come_back(path, choice):
    opt = xstar.Optimizer(MIXED, method=CHEAP)
    opt.tell({"größe 大": 0.5, "n": 2**49 + 1, "c": choice, "fixed": 2}, 1.0)
    (trial,) = saved(opt, path).trials
    assert trial.params == {"größe 大": 0.5, "n": 2**49 + 1, "c": choice, "fixed": 2.0}
    assert type(trial.params["c"]) is type(choice)


def test_why_a_suggestion_was_made_is_kept(path):
    opt = fill(xstar.Optimizer([(0.0, 1.0)], method=CHEAP))
    again = saved(opt, path)
    assert [trial.diagnostics["method"] for trial in again.trials] == [t.diagnostics["method"] for t in opt.trials]


def test_a_reason_may_be_any_text(path):
    """Names of files that are not valid text come as lone surrogates."""
    opt = xstar.Optimizer([(0, 1)], method=CHEAP)
    opt.fail([0.5], "cannot open 'caf\udce9.txt'")
    assert saved(opt, path).trials == opt.trials


def test_the_file_is_plain_json(path):
    fill(xstar.Optimizer([(0, 1)], method=CHEAP)).save(path)

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    stored = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    assert (stored["format"], stored["version"]) == ("xstar study", 1)


class Color(str, enum.Enum):  # noqa: UP042  # as many still write it
    RED = "red"
    BLUE = "blue"


@pytest.mark.parametrize(
    "choices",
    [[("a", 1), "b"], [object(), 1], [Color.RED, Color.BLUE], [b"raw", b"bytes"]],
    ids=["tuple", "object", "enum", "bytes"],
)
def test_choices_that_json_cannot_hold_are_named(path, choices):
    """Also those that would come back as something else."""
    opt = xstar.Optimizer(xstar.Space(layer=xstar.Categorical(choices)), method=CHEAP)
    with pytest.raises(FileError, match=r'parameter "layer" has the choice .*, which a JSON file cannot hold'):
        opt.save(path)
    assert not path.exists()


@dataclass(frozen=True)
class Mine(LogEI):
    """Somebody's own acquisition."""


def test_parts_from_elsewhere_are_named(path):
    opt = xstar.Optimizer([(0, 1)], method=xstar.Method(inference=MAP(), acquisition=Mine()))
    with pytest.raises(FileError, match=r"a Mine in its method cannot be saved: it is not part of xstar"):
        opt.save(path)


# Whole or not at all


@pytest.mark.parametrize("owner, name", [(os, "fsync"), (Path, "replace"), (Path, "chmod")])
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=["OSError", "KeyboardInterrupt"])
def test_a_failed_write_leaves_the_old_file(path, monkeypatch, owner, name, error):
    opt = xstar.Optimizer([(0, 1)], method=CHEAP)
    opt.save(path)
    before = path.read_bytes()
    opt.tell([0.5], 1.0)

    def fail(*args):
        raise error

    monkeypatch.setattr(owner, name, fail)
    with pytest.raises(FileError if isinstance(error, OSError) else KeyboardInterrupt):
        opt.save(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_the_file_is_on_the_disk_before_it_takes_its_name(path, monkeypatch):
    events = []
    sync, replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (events.append("sync"), sync(handle))[1])
    monkeypatch.setattr(Path, "replace", lambda self, new: (events.append("replace"), replace(self, new))[1])
    write_text(path, "text")
    assert events[:2] == ["sync", "replace"]
    assert path.read_text() == "text"


def test_nothing_else_stays_in_the_folder(path):
    opt = xstar.Optimizer([(0, 1)], method=CHEAP)
    for _ in range(3):
        opt.save(path)
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_the_mode_of_a_file_is_kept(path, mode):
    path.write_text("old")
    path.chmod(mode)
    write_text(path, "new")
    assert path.stat().st_mode & 0o777 == mode


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_a_new_file_has_the_usual_mode(path):
    usual = path.with_name("usual")
    usual.touch()
    write_text(path, "new")
    assert path.stat().st_mode == usual.stat().st_mode


# Files that are not what they should be


def damage(path, *keys):
    """Rewrite a good file with one entry replaced."""
    opt = xstar.Optimizer(xstar.Space(x=xstar.Real(0, 1), c=xstar.Categorical(["a", "b"])), method=CHEAP)
    opt.tell({"x": 0.5, "c": "a"}, 1.0)
    opt.save(path)
    stored = json.loads(path.read_text(encoding="utf-8"))
    *way, last, new = keys
    part = stored
    for key in way:
        part = part[key]
    if new is KeyError:
        del part[last]
    else:
        part[last] = new
    path.write_text(json.dumps(stored), encoding="utf-8")


@pytest.mark.parametrize("version", [3, 99])
def test_a_newer_version_is_refused(path, version):
    damage(path, "version", version)
    with pytest.raises(FileError, match=rf"has version {version} of the format, .* up to version 2\. Update xstar"):
        xstar.Optimizer.load(path)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\x00\xff\xfe", b"x,value\n1,2\n", b"[" * 100_000],
    ids=["empty", "brace", "bytes", "csv", "deep"],
)
def test_garbage(path, content):
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"größe 大\.json' cannot be read as a study: .*\.$") as caught:
        xstar.Optimizer.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", ["null", "[]", '"text"', "3", "{}", '{"format": "other", "version": 1}'])
def test_json_of_another_kind(path, content):
    path.write_text(content)
    with pytest.raises(FileError, match=r"is not a study: it lacks \"format\": \"xstar study\"\."):
        xstar.Optimizer.load(path)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_truncated_files(path, share):
    opt = xstar.Optimizer([(0, 1)], method=CHEAP)
    opt.tell([0.5], 1.0)
    opt.save(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(FileError, match="cannot be read as a study"):
        xstar.Optimizer.load(path)


@pytest.mark.parametrize(
    "keys",
    [
        ("space", KeyError), ("trials", KeyError), ("seed", KeyError), ("version", KeyError), ("space", None),
        ("space", "parameters", 0, "kind", "odd"), ("space", "parameters", 0, "low", 3), ("space", "parameters", []),
        ("space", "parameters", 0, "low", KeyError), ("trials", 5), ("trials", 0, None), ("trials", 0, "params", []),
        ("trials", 0, "params", [0.5, 1, 2]), ("trials", 0, "params", ["a", 0]), ("trials", 0, "params", [0.5, 7]),
        ("trials", 0, "params", [0.5, -1]), ("trials", 0, "state", "odd"), ("trials", 0, "value", "good"),
        ("trials", 0, "value", None), ("trials", 0, "value", math.nan), ("trials", 0, "sd", "low"),
        ("trials", 0, "sd", -1.0), ("direction", "up"), ("method", "odd"), ("method", {"kind": "MAP"}),
        ("method", {"kind": "Odd"}), ("method", {"kind": "Method", "odd": 1}), ("seed", "a"), ("seed", -1),
        ("noise", "a"), ("num_initial", 0), ("threads", "a"), ("version", "1"),
    ],
    ids=lambda keys: " ".join(str(getattr(key, "__name__", key)) for key in keys),
)  # fmt: skip
def test_damaged_files_are_named(path, keys):
    """Whatever is wrong inside, the message names the file."""
    damage(path, *keys)
    with pytest.raises(FileError, match=r"größe 大\.json'.*[.?]$") as caught:
        xstar.Optimizer.load(path)
    assert "\n" not in str(caught.value)


def test_files_that_are_not_there(path, tmp_path):
    with pytest.raises(FileError, match=r"there is no file '.*größe 大\.json'\."):
        xstar.Optimizer.load(path)
    with pytest.raises(FileError, match="cannot be read as a study"):
        xstar.Optimizer.load(tmp_path)


# Another space


def test_old_data_are_kept_outside_new_bounds(path):
    opt = xstar.Optimizer(xstar.Space(x=xstar.Real(0, 1), n=xstar.Integer(0, 9)), method=CHEAP, seed=5)
    for k in range(6):
        opt.tell({"x": k / 5, "n": k}, float(k))
    opt.save(path)
    narrow = xstar.Space(n=xstar.Integer(6, 8), x=xstar.Real(0.5, 0.7))
    again = xstar.Optimizer.load(path, narrow)
    assert again.space == narrow
    assert [trial.value for trial in again.trials] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert again.trials[5].params == {"n": 5, "x": 1.0}
    assert again.best_observed is None
    assert narrow.contains(again.ask().params)
    assert narrow.contains(again.recommend().params)


def test_old_data_keep_their_meaning_in_a_new_range(path):
    opt = xstar.Optimizer(xstar.Space(x=xstar.Real(0, 1)), method=CHEAP)
    for x in np.linspace(0.0, 1.0, 9):
        opt.tell({"x": x}, -float((x - 0.2) ** 2), sd=0.0)
    opt.save(path)
    wide = xstar.Optimizer.load(path, {"x": xstar.Real(-10, 10)})
    mean, _ = wide.predict([{"x": 0.2}])
    assert mean[0] == pytest.approx(0.0, abs=0.01)


def test_new_choices_may_be_added(path):
    opt = xstar.Optimizer(xstar.Space(c=xstar.Categorical(["a", "b"])), method=CHEAP)
    opt.tell({"c": "b"}, 1.0)
    opt.save(path)
    (trial,) = xstar.Optimizer.load(path, xstar.Space(c=xstar.Categorical(["z", "b", "a"]))).trials
    assert trial.params == {"c": "b"}


@pytest.mark.parametrize(
    "space, message",
    [
        (xstar.Space(y=xstar.Real(0, 1)), r"the parameters are \['y'\]; 'y' is missing"),
        (xstar.Space(x=xstar.Real(0, 1), y=xstar.Real(0, 1)), r"the parameters are \['x', 'y'\]; 'y' is missing"),
        (xstar.Space(x=xstar.Real(2, 2)), r'parameter "x" is fixed at 2\.0; received 0\.5\. Widen its range'),
    ],
)
def test_a_space_that_does_not_fit_is_named(path, space, message):
    opt = xstar.Optimizer(xstar.Space(x=xstar.Real(0, 1)), method=CHEAP)
    opt.tell({"x": 0.5}, 1.0)
    opt.save(path)
    with pytest.raises(SpaceError, match=message):
        xstar.Optimizer.load(path, space)


def test_a_setting_that_is_gone_is_read_over(tmp_path):
    path = tmp_path / "old.json"
    opt = xstar.Optimizer([(0.0, 1.0)], method=xstar.Method(inference=SliceSampling(num_samples=5)))
    opt.save(path)
    stored = json.loads(path.read_text())
    stored["method"]["inference"]["width"] = 2.0
    path.write_text(json.dumps(stored))
    assert xstar.Optimizer.load(path).method == opt.method


TUNED = xstar.Method(
    inference=SliceSampling(approximation=ApproximationSettings(max_shift=1.0), mode_tolerance=0.1),
    acquisition=PES(
        settings=PESSettings(
            min_distance=0.1,
            maximizers=MaximizerSettings(num_incumbents=2, search=SearchSettings(perturbation_scales=(0.1, 0.02))),
            conditioning=ConditioningSettings(ep=EPSettings(damping=0.5)),
        )
    ),
)


@pytest.mark.parametrize(
    "method", [TUNED, xstar.Method(acquisition=ES(settings=ESSettings(nugget=1e-4, ep=EPSettings(max_sweeps=9))))]
)
def test_tuned_settings_come_back(path, method):
    assert saved(xstar.Optimizer([(0.0, 1.0)], method=method, seed=0), path).method == method


def test_settings_that_were_renamed_or_not_there_yet_are_read(tmp_path):
    """A file from before: other names, and none of the settings that came later."""
    file = tmp_path / "old.json"
    method = xstar.Method(inference=MAP(num_prior_draws=32), acquisition=PES(num_competitors=4))
    xstar.Optimizer([(0.0, 1.0)], method=method, seed=0).save(file)
    stored = json.loads(file.read_text("utf-8"))
    inference, acquisition = stored["method"]["inference"], stored["method"]["acquisition"]
    inference["num_scouts"] = inference.pop("num_prior_draws")
    acquisition["num_rivals"] = acquisition.pop("num_competitors")
    del acquisition["settings"], inference["num_finished"], inference["finish_after"]
    file.write_text(json.dumps(stored), "utf-8")
    assert xstar.Optimizer.load(file).method == method
