"""The programs in docs/workers.md, so that the tests run what the guide shows."""

import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "workers.md"


def programs(section):
    """The programs of a section, by the file names in their first lines."""
    text = GUIDE.read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    return {name: code for code, name in re.findall(r"```python\n(# (\S+\.py)\n.*?)```", text, re.DOTALL)}


def write_programs(section, folder):
    """Write the programs of a section into a folder."""
    for name, code in programs(section).items():
        (folder / name).write_text(code, encoding="utf-8")
