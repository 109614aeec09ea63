"""The source runs no text as code, and needs what it says it needs."""

import ast
import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "xstar"
SOURCES = {str(path.relative_to(PACKAGE)): ast.parse(path.read_bytes()) for path in sorted(PACKAGE.rglob("*.py"))}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]

# No text becomes code

MODULES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "shelve", "marshal", "yaml", "ctypes", "code", "pty"}
CALLS = {"eval", "exec", "compile", "__import__"}
METHODS = {
    "os": {"system", "popen", "spawnl", "spawnv", "execv", "execl", "execvp", "execlp"},
    "tempfile": {"mktemp"},
    "subprocess": {"getoutput", "getstatusoutput"},
    "numpy": {"load"},
    "np": {"load"},
    "joblib": {"load"},
    "builtins": {"eval", "exec", "compile"},
}
ALLOWED: set[tuple[str, str]] = set()
"""File and what it does, each with its reason here; so far nothing needs to be allowed."""


def forbidden(tree):
    """What in a source could run a text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.split(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if module.split(".")[0] in MODULES:
                yield module
            yield from (f"{module}.{name.name}" for name in node.names if name.name in METHODS.get(module, ()))
        elif isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in CALLS:
                yield called.id
            owner = called.value.id if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) else ""
            if owner and called.attr in METHODS.get(owner, ()):
                yield f"{owner}.{called.attr}"
            if any(
                item.arg in ("shell", "allow_pickle")
                and not (isinstance(item.value, ast.Constant) and not item.value.value)
                for item in node.keywords
            ):
                yield "shell=True or allow_pickle=True"


@pytest.mark.parametrize("name", SOURCES)
def test_no_text_is_run(name):
    assert [what for what in forbidden(SOURCES[name]) if (name, what) not in ALLOWED] == []


@pytest.mark.parametrize(
    "source",
    [
        "eval('1')", "exec(text)", "compile(text, '', 'exec')", "import pickle", "from pickle import loads",
        "import yaml", "from os import system", "import os; os.popen('ls')",
        "import subprocess; subprocess.run('ls', shell=True)", "subprocess.Popen(x, shell=flag)",
        "import tempfile; tempfile.mktemp()", "np.load(path, allow_pickle=True)",
        "__import__('os')", "import shelve, marshal",
    ],
)  # fmt: skip
def test_what_runs_texts_is_found(source):
    assert list(forbidden(ast.parse(source)))


def test_no_shell_is_harmless():
    assert (
        list(forbidden(ast.parse("import re, subprocess; re.compile('a'); subprocess.run(['ls'], shell=False)"))) == []
    )


# Dependencies

PROVIDED = {name: {canonicalize_name(one) for one in found} for name, found in packages_distributions().items()}
NOT_HERE = {"torch": "torch", "cupy": "cupy", "cupyx": "cupy", "ray": "ray", "distributed": "distributed"}
"""What may not be installed where tests run, by what is imported."""
BROUGHT = {"alembic": "optuna"}
"""What comes with another package, and is imported with it."""
UNDECLARED = {"cupy": "it depends on the version of CUDA", "pandas": "only where its data frames are asked for"}
"""Imported if they are there, and no extra of ours."""


def requirements(texts):
    return {canonicalize_name(found.name): found for found in map(Requirement, texts)}


CORE = requirements(PROJECT["dependencies"])
DECLARED = {**requirements([text for texts in EXTRAS.values() for text in texts]), **CORE}


def imported(tree, *, lazily):
    """The packages of others that a module imports: in functions and under conditions, or at its top."""
    top = set(tree.body)
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module]
        if (node in top) != lazily:
            yield from (
                name.split(".")[0] for name in names if name.split(".")[0] not in {*sys.stdlib_module_names, "xstar"}
            )


def distributions(name):
    return PROVIDED.get(name) or {NOT_HERE.get(name, canonicalize_name(name))}


@pytest.mark.parametrize("name", SOURCES)
def test_whatever_is_imported_is_declared(name):
    """At the top of a module, only what every installation has; below xstar.integrations.sklearn, scikit-learn."""
    tree = SOURCES[name]
    for package in imported(tree, lazily=True):
        assert distributions(package) & (DECLARED.keys() | UNDECLARED.keys() | BROUGHT.keys()), package
    for package in imported(tree, lazily=False):
        own = {"scikit-learn", "joblib"} if name.startswith("integrations/sklearn/") else set()
        own |= {"torch"} if name == "numerics/torch_namespace.py" else set()
        assert distributions(package) & (CORE.keys() | own), package


def test_every_dependency_has_its_reason():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"\| package \| for \|.*?\n\n", text, re.DOTALL)
    reasons = {
        canonicalize_name(word)
        for row in table.strip().splitlines()
        for word in re.findall(r"[\w-]+", row.split("|")[1])
    }
    assert sorted(DECLARED.keys() - reasons) == []


def test_what_is_installed_is_what_is_declared():
    for name, requirement in DECLARED.items():
        try:
            found = version(name)
        except PackageNotFoundError:
            assert name not in CORE
            continue
        assert requirement.specifier.contains(found, prereleases=True), f"{name} {found}"


def test_the_oldest_versions_are_the_lowest_that_are_allowed():
    lines = (ROOT / ".ci" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    pinned = requirements(line for line in lines if line and not line.startswith("#"))
    users = [text for extra in ("plots", "dashboard", "sklearn", "postgresql", "completion") for text in EXTRAS[extra]]
    allowed = {**requirements(users), **CORE}
    assert allowed.keys() <= pinned.keys()
    for name, requirement in allowed.items():
        (low,) = [part.version for part in requirement.specifier if part.operator == ">="]
        (exact,) = [part.version for part in pinned[name].specifier]
        assert [*map(int, low.split("."))] + [0] * (exact.count(".") - low.count(".")) == [*map(int, exact.split("."))]
