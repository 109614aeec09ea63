"""What the library says when something is wrong: the texts of its errors and warnings, read off the source.

A text has `…` where a value is put in. The tests hold docs/faq.md against these texts, in both directions.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[1] / "src" / "xstar"
INNER = ("acquisition", "engine", "entropy", "feasibility", "gp", "lockstep", "numerics", "search")
"""Packages whose errors only those meet who program with the numerical layer; and suggestions that fall back."""
NOT_SAID = {
    "AssertionError", "AttributeError", "IndexError", "KeyError", "NotImplementedError", "StopIteration", "TypeError",
    "ValueError",
}  # fmt: skip
"""Exceptions that are caught again and said in other words, or that say what a programmer expects."""

WARN = ("warn", "warning", "_say")
"""Methods that warn."""


class Message(NamedTuple):
    """A text, and where it stands."""

    text: str
    place: str
    inner: bool


def messages() -> Iterator[Message]:
    """Yield the texts of all errors and warnings."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
    constants = {name: value for tree in trees.values() for name, value in _constants(tree)}
    functions = {name: value for tree in trees.values() for name, value in _functions(tree)}
    for path, tree in trees.items():
        where = path.relative_to(SOURCE)
        inner = where.parts[0] in INNER
        own = {**constants, **dict(_constants(tree))}
        elsewhere = {**functions, **_given(tree)}
        for node in ast.walk(tree):
            for text in _said(node, own, elsewhere):
                yield Message(text, f"{where}, line {getattr(node, 'lineno', 0)}", inner)


def _constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


def _functions(tree: ast.Module) -> Iterator[tuple[str, list[ast.expr]]]:
    """What functions and methods return that make a text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and isinstance(node.returns, ast.Name) and node.returns.id == "str":
            yield node.name, [part.value for part in ast.walk(node) if isinstance(part, ast.Return) and part.value]


def _given(tree: ast.Module) -> dict[str, list[ast.expr]]:
    """What the variables and the fields of a module may be."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(node.value)
        elif isinstance(node, ast.keyword) and node.arg:
            found.setdefault(node.arg, []).append(node.value)
    return found


def _said(node: ast.AST, constants: dict[str, ast.expr], elsewhere: dict[str, list[ast.expr]]) -> Iterator[str]:
    """The texts of a statement that raises, of a function that returns an error, or of a call that warns."""
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        call = node.exc
        if isinstance(call.func, ast.Name) and call.func.id in NOT_SAID:
            return
    elif isinstance(node, ast.Return) and isinstance(node.value, ast.Call):
        call = node.value
        if not isinstance(call.func, ast.Name) or not call.func.id.endswith("Error") or call.func.id in NOT_SAID:
            return
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WARN:
        call = node
    else:
        return
    for argument in call.args:
        name = _name(argument)
        made = [argument] if name in constants else [argument, *elsewhere.get(name, [])]
        for expression in made:
            text = " ".join(_text(expression, constants).split())
            # What has no words of its own, such as `row …: …`, passes on another message.
            if len(re.findall(r"[A-Za-z]{2,}", text)) > 1:
                yield text


def _name(node: ast.expr) -> str:
    """The variable, the field or the function that a text comes from; empty if it stands there."""
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _text(node: ast.expr, constants: dict[str, ast.expr]) -> str:
    if isinstance(node, ast.Constant):
        return re.sub(r"%[dsrg]", "…", node.value) if isinstance(node.value, str) else ""
    parts = _parts(node)
    if parts:
        return "".join(_text(part, constants) for part in parts)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("format", "replace"):
        return _text(node.func.value, constants)
    if isinstance(node, ast.Name) and node.id in constants:
        value = constants[node.id]
        return _text(value, {name: other for name, other in constants.items() if name != node.id})
    return "…"


def _parts(node: ast.expr) -> list[ast.expr]:
    """What a text is put together from, if it is."""
    if isinstance(node, ast.JoinedStr):
        return node.values
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [node.left, node.right]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join":
        return node.args[0].elts if isinstance(node.args[0], ast.List) else []
    return []


if __name__ == "__main__":
    for message in messages():
        print(f"{'inner ' if message.inner else ''}{message.place}: {message.text}")
