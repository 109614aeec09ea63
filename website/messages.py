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


class Message(NamedTuple):
    """A text, and where it stands."""

    text: str
    place: str
    inner: bool


def messages() -> Iterator[Message]:
    """Yield the texts of all errors and warnings."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
    constants = {name: value for tree in trees.values() for name, value in _constants(tree)}
    for path, tree in trees.items():
        where = path.relative_to(SOURCE)
        inner = where.parts[0] in INNER
        for node in ast.walk(tree):
            for text in _said(node, constants):
                yield Message(text, f"{where}, line {getattr(node, 'lineno', 0)}", inner)


def _constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


def _said(node: ast.AST, constants: dict[str, ast.expr]) -> Iterator[str]:
    """The texts of a statement that raises, or of a call that warns."""
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        call = node.exc
        if isinstance(call.func, ast.Name) and call.func.id in NOT_SAID:
            return
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "warn":
        call = node
    else:
        return
    for argument in call.args:
        text = " ".join(_text(argument, constants).split())
        # What has no words of its own, such as `row …: …`, passes on another message.
        if len(re.findall(r"[A-Za-z]{2,}", text)) > 1:
            yield text


def _text(node: ast.expr, constants: dict[str, ast.expr]) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join("…" if isinstance(part, ast.FormattedValue) else _text(part, constants) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left, constants) + _text(node.right, constants)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("format", "replace"):
        return _text(node.func.value, constants)
    if isinstance(node, ast.Name) and node.id in constants:
        value = constants[node.id]
        return _text(value, {name: other for name, other in constants.items() if name != node.id})
    return "…"


if __name__ == "__main__":
    for message in messages():
        print(f"{'inner ' if message.inner else ''}{message.place}: {message.text}")
