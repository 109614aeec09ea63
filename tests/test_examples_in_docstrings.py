"""The examples in docstrings say what happens: every module that has some is run."""

import doctest
import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import xstar

PACKAGE = Path(xstar.__file__).parent
MODULES = sorted(
    ".".join(("xstar", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)
KNOWN = {"xstar": xstar, "np": np}
"""What an example need not import."""


def check(module):
    """Run the examples of a module, with what is said of those that fail; how many there are."""
    said, attempted = [], 0
    for example in doctest.DocTestFinder().find(module, extraglobs=KNOWN):
        runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        attempted += runner.run(example, out=said.append).attempted
    assert not said, "".join(said)
    return attempted


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert check(importlib.import_module(name)) > 0


def test_an_example_that_is_wrong_fails():
    module = ModuleType("wrong", ">>> xstar.Real(0.0, 1.0) == xstar.Real(0.0, 2.0)\nTrue\n")
    with pytest.raises(AssertionError, match=r"Expected:\s+True\s+Got:\s+False"):
        check(module)


def test_the_examples_of_public_names_are_seen():
    """Such as those of a class that is made where it is documented."""
    module = ModuleType("right")
    exec('class Shown:\n    """Shown.\n\n    >>> 1 + 1\n    2\n    """\n', module.__dict__)
    module.Shown.__module__ = "right"
    assert check(module) == 1
