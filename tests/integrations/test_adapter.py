"""What is private to Optuna is touched in one file only."""

import ast
from pathlib import Path

import optuna
import pytest

import xstar
from xstar.integrations.optuna import adapter

SOURCE = Path(xstar.__file__).parent
OURS = ("self", "cls", "other")


def private_parts(tree):
    """Names that begin with an underscore, of modules that are imported and of objects that are not one's own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and "optuna" in (node.module or "") and not node.module.startswith("xstar"):
            yield from (part for part in node.module.split(".") if part.startswith("_"))
            yield from (name.name for name in node.names if name.name.startswith("_"))
        if isinstance(node, ast.Attribute) and not (isinstance(node.value, ast.Name) and node.value.id in OURS):
            yield from [node.attr] if node.attr.startswith("_") and not node.attr.startswith("__") else []


def uses_optuna(tree):
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = [alias.name for node in imports if isinstance(node, ast.Import) for alias in node.names]
    modules += [node.module or "" for node in imports if isinstance(node, ast.ImportFrom)]
    return any(module.split(".")[0] == "optuna" or module.startswith("xstar.cli.studies") for module in modules)


def test_only_the_adapter_touches_private_parts_of_optuna():
    found, looked_at = {}, 0
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if uses_optuna(tree):
            looked_at += 1
            if private := sorted(set(private_parts(tree))):
                found[str(path.relative_to(SOURCE))] = private
    assert looked_at >= 8
    assert list(found) == ["integrations/optuna/adapter.py"], found


def test_the_private_names_are_those_that_the_adapter_says():
    text = (SOURCE / "integrations" / "optuna" / "adapter.py").read_text(encoding="utf-8")
    for name in set(private_parts(ast.parse(text))):
        assert name in adapter.__doc__, f"{name} is not in the docstring"


@pytest.mark.parametrize("text", ["_storage", "_study_id", "_trial_id", "_get_stale_trial_ids", "fixed_params"])
def test_nor_are_they_named_elsewhere(text):
    """Also where they are reached by getattr or as keys."""
    texts = {str(path.relative_to(SOURCE)): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    owners = [name for name, code in texts.items() if f".{text}" in code or f'"{text}"' in code]
    assert owners == ["integrations/optuna/adapter.py"]


def test_a_trial_is_found_by_its_number():
    study = optuna.create_study()
    trials = [study.ask() for _ in range(3)]
    study.tell(trials[1], 0.5)
    assert adapter.find_trial(study, 1).value == 0.5
    assert adapter.find_trial(study, 2).number == 2
    assert [adapter.find_trial(study, number) for number in (-1, 3, 10**30)] == [None] * 3
    assert adapter.count_trials(study) == 3
