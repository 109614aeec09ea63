"""A definition before it is one: what is known of parameters and result, and the TOML that says it.

The text is for people to read and to change: it has comments, and every numeric parameter has a type.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from typing import Any, Literal

from xstar.files.definition import Definition

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class DraftParameter:
    """One parameter."""

    name: str
    kind: Literal["real", "integer", "choices", "levels"]
    low: float = 0.0
    high: float = 1.0
    log: bool = False
    listed: tuple[Any, ...] = ()
    """The choices, or the levels."""
    unit: str | None = None
    comment: str = ""

    @property
    def toml(self) -> str:
        """The line that describes it."""
        if self.kind in ("choices", "levels"):
            settings: dict[str, Any] = {self.kind: list(self.listed)}
        else:
            number = int if self.kind == "integer" else float
            settings = {"type": self.kind, "low": number(self.low), "high": number(self.high)}
            settings.update({"log": True} if self.log else {})
        settings.update({} if self.unit is None else {"unit": self.unit})
        inside = ", ".join(f"{key} = {_value(value)}" for key, value in settings.items())
        line = f"{_key(self.name)} = {{ {inside} }}"
        return f"{line}  # {self.comment}" if self.comment else line


@dataclass(frozen=True)
class Draft:
    """A definition before it is one."""

    parameters: tuple[DraftParameter, ...]
    result: str = "value"
    unit: str | None = None
    direction: Literal["maximize", "minimize"] = "maximize"
    direction_comment: str = ""
    origin: str = ""
    """Where it comes from, in words."""
    unused: tuple[tuple[str, str], ...] = ()
    """Columns that are no parameters, and why not."""

    @property
    def toml(self) -> str:
        """The text of the file."""
        lines = [f"# What is varied, and what is wanted{self.origin}. Everything here may be changed.", ""]
        comment = f"; {self.direction_comment}" if self.direction_comment else ""
        other = "minimize" if self.direction == "maximize" else "maximize"
        lines.append(f"direction = {_value(self.direction)}  # or {_value(other)}{comment}")
        lines.append(f"result = {_value(self.result)}  # what is measured: the column of a spreadsheet")
        if self.unit is not None:
            lines.append(f"unit = {_value(self.unit)}")
        lines += [
            "# noise = 0  # if the same point always gives the same value, as a program may; otherwise it is learned",
            "",
            "[parameters]",
            *(parameter.toml for parameter in self.parameters),
        ]
        if self.unused:
            lines += ["", "# Columns that are not varied:"]
            lines += [f"#   {_line(name)}: {why}" for name, why in self.unused]
        return "\n".join(lines) + "\n"

    def definition(self, name: str) -> Definition:
        """Return the definition that the text is, or complain as its reader would."""
        return Definition.parse(tomllib.loads(self.toml), name)


def _key(name: str) -> str:
    return name if BARE_KEY.fullmatch(name) else _value(name)


def _value(value: Any) -> str:
    """A value as TOML has it; texts are written as in JSON, but for one letter that TOML wants escaped."""
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _line(text: str) -> str:
    """A text in one line, as comments are, without what TOML forbids in them."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
