"""The package for the OptunaHub registry: what the registry asks for, and that its programs run."""

import importlib.util
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import optuna
import pytest

from xstar.integrations.optuna import XstarSampler

ROOT = Path(__file__).parents[2]
REGISTRY = ROOT / "optunahub"
PACKAGE = REGISTRY / "samplers" / "xstar"
README = (PACKAGE / "README.md").read_text(encoding="utf-8")


def front_matter():
    """The keys between the two lines of dashes, with lists as lists."""
    lines = README.split("---\n")[1].splitlines()
    pairs = dict(line.split(": ", 1) for line in lines)
    return {key: text[1:-1].split(", ") if text.startswith("[") else text for key, text in pairs.items()}


def test_the_front_matter_has_what_the_registry_asks_for():
    found = front_matter()
    assert set(found) == {"author", "title", "description", "tags", "optuna_versions", "license"}
    assert all(isinstance(found[key], str) for key in ("author", "title", "description"))
    assert "sampler" in found["tags"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in found["optuna_versions"])
    assert found["license"] == "MIT License"


def test_the_readme_has_its_sections_and_no_html():
    assert re.findall(r"^## (.*)$", README, re.MULTILINE) == ["Abstract", "APIs", "Installation", "Example", "Others"]
    assert not re.search(r"</?[a-z!]", README)


def test_the_readme_knows_every_setting():
    settings = inspect.signature(XstarSampler).parameters
    assert re.findall(r"^- `(\w+)`: ", README, re.MULTILINE) == list(settings)
    shown = ", ".join(f"{name}={setting.default!r}" for name, setting in settings.items()).replace("'", '"')
    assert f"`XstarSampler(*, {shown})`" in README


def test_the_files_are_complete():
    assert (PACKAGE / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert (PACKAGE / "requirements.txt").read_text(encoding="utf-8").split() == ["xstar"]
    for path in PACKAGE.rglob("*.py"):
        assert all(len(line) < 100 for line in path.read_text(encoding="utf-8").splitlines()), path


def test_the_package_exports_the_sampler():
    spec = importlib.util.spec_from_file_location("hub_package", PACKAGE / "__init__.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.__all__ == ["XstarSampler"]
    assert module.XstarSampler is XstarSampler


STAND_IN = f"""
import importlib.util

def load_module(package):
    assert package == "samplers/xstar"
    spec = importlib.util.spec_from_file_location("hub_package", {str(PACKAGE / "__init__.py")!r})
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
"""


@pytest.fixture(params=["stand-in", "optunahub"])
def environment(request, tmp_path):
    """Where `optunahub.load_module` finds the package although it is not published: a stand-in, or a filled cache."""
    if request.param == "stand-in":
        (tmp_path / "optunahub.py").write_text(STAND_IN, encoding="utf-8")
        extra = {"PYTHONPATH": str(tmp_path)}
    else:
        place = tmp_path / "github.com" / "optuna" / "optunahub-registry" / "main" / "package" / "samplers" / "xstar"
        shutil.copytree(PACKAGE, place)
        extra = {"OPTUNAHUB_CACHE_HOME": str(tmp_path)}
    return {**os.environ, **extra, "N_TRIALS": "5"}


@pytest.mark.parametrize("program", ["example", "readme"])
def test_the_examples_run(program, environment, tmp_path):
    code = (PACKAGE / "example.py").read_text(encoding="utf-8")
    if program == "readme":
        code = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1].replace("n_trials=12", "n_trials=5")
    (tmp_path / "program.py").write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.match(r"\{'x': -?\d.*\}", done.stdout)


def test_optunahub_loads_the_package():
    from optunahub import hub

    module = hub.load_local_module(package="samplers/xstar", registry_root=str(REGISTRY))
    study = optuna.create_study(sampler=module.XstarSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=2)
    assert len(study.trials) == 2
