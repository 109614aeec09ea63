"""Make the notebooks of the site: scripts with cells, executed, as files that are the same whenever they are made.

    python -m website.notebooks [tuning laboratory]

docs/notebooks/*.py are what is written by hand, *.ipynb what comes of it. A script is in percent format: `# %%` begins
a cell of code, `# %% [markdown]` one of text; its docstring is the description of the page. Lines such as
`# %matplotlib inline` are commands of the notebook. `website/cells.py` makes pages of the notebooks.
"""

from __future__ import annotations

import ast
import base64
import io
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
MARK = re.compile(r"^# %%( \[markdown\])?[^\n]*\n", re.MULTILINE)
COLORS = 256
"""Of a picture: enough for those that the library draws, and a third of the size."""
SECONDS = 300
"""How long a cell may take."""


def read(script: Path) -> Any:
    """Return the notebook that a script describes, without outputs."""
    from nbformat import v4

    text = script.read_text(encoding="utf-8")
    notebook = v4.new_notebook(cells=list(_cells(text)))
    notebook.metadata = {
        "description": ast.get_docstring(ast.parse(text)),
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
    return notebook


def execute(notebook: Any) -> Any:
    """Run a notebook in an empty folder; return it with outputs that do not say when or where that was."""
    from nbclient import NotebookClient

    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        NotebookClient(
            notebook, timeout=SECONDS, record_timing=False, coalesce_streams=True, resources=resources
        ).execute()
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        cell.metadata = {}
        for output in cell.get("outputs", []):
            if picture := output.get("data", {}).get("image/png"):
                output.data["image/png"] = _reduced(picture)
                output.metadata = {}
            if "text/html" in output.get("data", {}):
                # A record in full is of no use beside its card.
                output.data.pop("text/plain", None)
    return notebook


def outputs(notebook: Any) -> str:
    """Return what is said in the outputs of a notebook, cell by cell."""
    said = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            said += [output.get("text", ""), data.get("text/html") or data.get("text/plain", "")]
    return "\n".join(filter(None, said))


def _cells(text: str) -> Iterator[Any]:
    from nbformat import v4

    _, *pieces = MARK.split(text)
    for kind, body in zip(pieces[::2], pieces[1::2], strict=True):
        if kind:
            yield v4.new_markdown_cell(re.sub(r"^# ?", "", body, flags=re.MULTILINE).strip())
        else:
            yield v4.new_code_cell(re.sub(r"^# (?=%\w)", "", body, flags=re.MULTILINE).strip())


def _reduced(picture: str) -> str:
    """A picture with few colors, and without a word about what has drawn it."""
    from PIL import Image

    reduced = io.BytesIO()
    with Image.open(io.BytesIO(base64.b64decode(picture))) as image:
        image.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE).save(reduced, "png", optimize=True)
    return base64.b64encode(reduced.getvalue()).decode("ascii")


def main(names: list[str]) -> None:
    """Make the notebooks that are named, or all of them."""
    import nbformat

    for script in [FOLDER / f"{name}.py" for name in names] or sorted(FOLDER.glob("*.py")):
        target = script.with_suffix(".ipynb")
        nbformat.write(execute(read(script)), target)
        print(target)


if __name__ == "__main__":
    main(sys.argv[1:])
