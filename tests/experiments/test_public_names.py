"""The experiments use what every user of xstar can use: its public names and no others."""

import ast
import importlib
import importlib.util
from functools import cache
from pathlib import Path

import pytest

import xstar

ROOT = Path(__file__).parent.parent.parent
FILES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "experiments").rglob("*.py"))
PUBLIC = {"xstar", *(f"xstar.{name}" for name in xstar.__all__ if importlib.util.find_spec(f"xstar.{name}"))}
"""Modules."""
IMPORTERS = {"import_module", "__import__"}


@cache
def offered(module):
    """The public names of a public module: those in its __all__, else those defined there."""
    if module == "xstar":
        return frozenset(xstar.__all__)
    loaded = importlib.import_module(module)
    if hasattr(loaded, "__all__"):
        return frozenset(loaded.__all__)
    return frozenset(name for name in defined(Path(loaded.__file__).read_text("utf-8")) if not name.startswith("_"))


def defined(source):
    """Names that a module's own statements give, other than imports."""
    names = set()
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            names.add(statement.name)
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names |= {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    return names


def ours(module):
    return module.partition(".")[0] == "xstar"


def private_uses(source):
    """What a source takes from xstar that is not public."""
    nodes = list(ast.walk(ast.parse(source)))
    bound, bad = {}, set()  # Modules by the name they have in the source.
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if ours(alias.name):
                    bad |= {alias.name} - PUBLIC
                    bound[alias.asname or "xstar"] = alias.name if alias.asname else "xstar"
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and ours(node.module):
            if node.module not in PUBLIC:
                bad.add(node.module)
                continue
            bad |= {f"{node.module}.{alias.name}" for alias in node.names if alias.name not in offered(node.module)}
            bound |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call):
            bad |= {module for module in imported_by(node) if ours(module)} - PUBLIC
    for node in nodes:
        if isinstance(node, ast.Attribute) and (module := module_of(node.value, bound)) in PUBLIC:
            bad |= {f"{module}.{node.attr}"} - {f"{module}.{name}" for name in offered(module)}
    return sorted(bad)


def imported_by(call):
    """The module that a call of import_module or the like names, if any."""
    called = getattr(call.func, "id", getattr(call.func, "attr", None))
    names = [argument.value for argument in call.args[:1] if isinstance(argument, ast.Constant)]
    return [name for name in names if isinstance(name, str)] if called in IMPORTERS else []


def module_of(node, bound):
    """What a name or a chain of attributes stands for, if it begins with something of xstar."""
    if isinstance(node, ast.Attribute):
        return f"{module_of(node.value, bound)}.{node.attr}"
    return bound.get(node.id) if isinstance(node, ast.Name) else None


@pytest.mark.parametrize("file", FILES)
def test_only_public_names(file):
    assert private_uses((ROOT / file).read_text(encoding="utf-8")) == []


def test_something_is_tested():
    assert {"experiments/course.py", "experiments/methods.py", "experiments/problems/measured.py"} <= set(FILES)
    assert {"xstar.acquisition", "xstar.gp", "xstar.lockstep"} <= PUBLIC
    assert "xstar.numerics" not in PUBLIC
    assert {"Problems", "Record", "run"} <= offered("xstar.lockstep")
    assert not {"np", "Study", "Fixed", "_fit", "annotations"} & offered("xstar.lockstep")


@pytest.mark.parametrize(
    "source",
    [
        "import xstar\nxstar.Optimizer([(0.0, 1.0)])",
        "import xstar as x\nx.gp.Posterior, x.__version__",
        "import xstar.gp\nxstar.gp.Posterior",
        "from xstar import Method, lockstep\nlockstep.run(lockstep.Problems)",
        "from xstar.lockstep import Problems",
        "from xstar.acquisition import PES as P",
        "from .xstar import anything\nimport xstarlike.inner",
        "options.lockstep._private",
    ],
)
def test_public(source):
    assert private_uses(source) == []


@pytest.mark.parametrize(
    "source, said",
    [
        ("import xstar.numerics.arrays", "xstar.numerics.arrays"),
        ("import xstar.gp.inference as i", "xstar.gp.inference"),
        ("from xstar import engine", "xstar.engine"),
        ("from xstar import *", "xstar.*"),
        ("from xstar.engine.model import fit", "xstar.engine.model"),
        ("from xstar.gp.inference import infer_each_under_best", "xstar.gp.inference"),
        ("from xstar.gp import inference", "xstar.gp.inference"),
        ("from xstar.lockstep import steps", "xstar.lockstep.steps"),
        ("from xstar.lockstep import _fit", "xstar.lockstep._fit"),
        ("import xstar\nxstar.engine", "xstar.engine"),
        ("import xstar\nxstar.gp.inference.MAP", "xstar.gp.inference"),
        ("import xstar as x\nx.lockstep._fit()", "xstar.lockstep._fit"),
        ("from xstar import lockstep as together\ntogether.Scaling", "xstar.lockstep.Scaling"),
        ("import xstar.gp as gp\ngp.kernels", "xstar.gp.kernels"),
        ("import importlib\nimportlib.import_module('xstar.engine.model')", "xstar.engine.model"),
        ("def f():\n    from xstar.engine.model import fit", "xstar.engine.model"),
        ("if TYPE_CHECKING:\n    from xstar.numerics.arrays import Array", "xstar.numerics.arrays"),
    ],
)
def test_private(source, said):
    assert private_uses(source) == [said]
