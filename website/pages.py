"""Run the code of a page of the documentation, in the present folder; compare what it prints with what stands below.

    python -m website.pages docs/start.md ...

writes into the pages what their code prints now; `tests/docs` holds that nothing would change. What happens to a block:

| block | |
|---|---|
| `python` | runs, with the names of the blocks above it |
| `console` | its commands run, one a line, if they begin with `xstar` or `python` |
| `text` with the title "Output", below one of these | what was printed; decimals and percentages may differ a little |
| with another title | is written into a file of this name |
| with a title that ends in "(not run here)" | nothing |
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OUTPUT = "Output"
NOT_RUN = "(not run here)"
FENCE = re.compile(
    r'^(?P<indent> *)```(?P<language>[\w-]*)(?: +title="(?P<title>[^"]*)")?[^\n]*\n(?P<code>.*?)^(?P=indent)```$',
    re.DOTALL | re.MULTILINE,
)
DECIMAL = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?|-?\d+e[+-]?\d+|\d+(?= ?%)")
RELATIVE, ABSOLUTE = 0.25, 1e-3
"""Processors and libraries round differently, and a search that has found its optimum enlarges that."""


@dataclass(frozen=True)
class Block:
    """A block of code: where its code begins and ends in the text of the page, and on which line."""

    language: str
    title: str | None
    code: str
    indent: str
    span: tuple[int, int]
    line: int

    @property
    def runs(self) -> bool:
        """Whether it is executed."""
        return self.language in ("python", "console") and self.title is None

    @property
    def file(self) -> str | None:
        """The name of the file that it is, if it is one."""
        return None if self.title is None or self.title == OUTPUT or self.title.endswith(NOT_RUN) else self.title

    @property
    def commands(self) -> list[str]:
        """The commands of a console that are run."""
        lines = re.sub(r"\\\n\s*", "", self.code).splitlines()
        return [line for line in lines if line.startswith(("xstar ", "python "))]


def blocks(text: str) -> list[Block]:
    """Return the blocks of a page, in their order."""
    found = []
    for match in FENCE.finditer(text):
        code = re.sub(f"^{match['indent']}", "", match["code"], flags=re.MULTILINE)
        line = text.count("\n", 0, match.start("code")) + 1
        found.append(Block(match["language"], match["title"], code, match["indent"], match.span("code"), line))
    return found


def run(text: str, name: str = "page.md") -> tuple[str, dict[str, Any]]:
    """Run the blocks of a page; return the page with what they print, and the names that they leave."""
    names: dict[str, Any] = {"__name__": "__main__"}
    printed, done, pieces = "", 0, []
    for block in blocks(text):
        if block.file is not None:
            Path(block.file).write_text(block.code, encoding="utf-8")
        elif block.title == OUTPUT and not agree(block.code, printed):
            shown = "".join(f"{block.indent}{line.rstrip()}".rstrip() + "\n" for line in printed.splitlines())
            pieces += [text[done : block.span[0]], shown]
            done = block.span[1]
        elif block.runs and block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as caught:
                # The lines of an error are those of the page.
                exec(compile("\n" * (block.line - 1) + block.code, name, "exec"), names)
            printed = caught.getvalue()
        elif block.runs:
            printed = "".join(run_command(command) for command in block.commands)
    return "".join([*pieces, text[done:]]), names


def agree(shown: str, printed: str) -> bool:
    """Return whether two texts say the same, but for spaces and the last digits of decimals."""
    texts = [" ".join(text.split()) for text in (shown, printed)]
    if DECIMAL.sub("#", texts[0]) != DECIMAL.sub("#", texts[1]):
        return False
    pairs = zip(*([float(number) for number in DECIMAL.findall(text)] for text in texts), strict=True)
    return all(math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE) for one, other in pairs)


def run_command(command: str) -> str:
    """Run a command as a shell would; return what it printed."""
    words = shlex.split(command)
    ours = [sys.executable, "-W", "error", "-c", "import sys; from xstar.cli import main; sys.exit(main())"]
    program = {"xstar": ours, "python": [sys.executable]}[words[0]]
    done = subprocess.run([*program, *words[1:]], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command}\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    """Bring the pages that are named up to date."""
    for path in [Path(argument).resolve() for argument in sys.argv[1:]]:
        text = path.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            sys.path.insert(0, folder)
            now, _ = run(text, path.name)
            sys.path.remove(folder)
        path.write_text(now, encoding="utf-8")
        print(f"{'current' if now == text else 'written'}: {os.path.relpath(path)}")


if __name__ == "__main__":
    main()
