"""The notebooks are what their scripts say, executed, and nothing of where that was; pages are made of them."""

import base64
import re
from pathlib import Path

import pytest

from website.cells import on_page_content, pages
from website.notebooks import FOLDER, execute, outputs, read
from website.pages import agree

nbformat = pytest.importorskip("nbformat", reason="only those who make notebooks need it")

NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
DOCS = FOLDER.parent
WHERE = re.compile(r"/(home|root|tmp|work|usr|Users)/|[A-Z]:\\\\|0x[0-9a-f]{8}")
"""Places and addresses of a machine."""


@pytest.fixture(params=NAMES)
def notebook(request):
    return nbformat.read(FOLDER / f"{request.param}.ipynb", 4)


def of(notebook, kind):
    return [cell for cell in notebook.cells if cell.cell_type == kind]


def test_there_are_two():
    assert NAMES == ["laboratory", "tuning"]


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_has_the_cells_of_its_script(name):
    kept = nbformat.read(FOLDER / f"{name}.ipynb", 4)
    cells = [(cell.id, cell.cell_type, cell.source) for cell in kept.cells]
    now = read(FOLDER / f"{name}.py")
    assert cells == [(cell.id, cell.cell_type, cell.source) for cell in now.cells], "run `python -m website.notebooks`"
    assert kept.metadata == now.metadata


def test_a_notebook_was_executed_without_complaint(notebook):
    nbformat.validate(notebook)
    code = of(notebook, "code")
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    results = [output for cell in code for output in cell.outputs]
    assert len(results) >= 10
    assert [output for output in results if output.output_type == "error" or output.get("name") == "stderr"] == []
    assert sum("image/png" in output.get("data", {}) for output in results) >= 3
    assert sum("<strong>" in output.get("data", {}).get("text/html", "") for output in results) >= 3, "cards"


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_says_nothing_of_the_machine(name):
    path = FOLDER / f"{name}.ipynb"
    notebook = nbformat.read(path, 4)
    said = outputs(notebook) + "".join(cell.source for cell in notebook.cells)
    assert WHERE.findall(said) == []
    assert all(cell.metadata == {} for cell in notebook.cells)
    assert path.stat().st_size < 1_000_000


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_notebook_puts_out_the_same_again(name):
    kept = nbformat.read(FOLDER / f"{name}.ipynb", 4)
    assert agree(outputs(kept), outputs(execute(read(FOLDER / f"{name}.py")))), "run `python -m website.notebooks`"


def test_a_page_is_made_of_a_notebook():
    picture = base64.b64encode(b"picture").decode()
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "Words."]},
        {
            "cell_type": "code",
            "source": "draw(1)",
            "outputs": [
                {"output_type": "stream", "name": "stdout", "text": "said\n"},
                {"output_type": "display_data", "data": {"image/png": picture, "text/plain": "<Figure>"}},
                {"output_type": "execute_result", "data": {"text/html": "<style>b</style><b>card</b>"}},
            ],
        },
    ]
    made = dict(pages("folder/one.ipynb", {"metadata": {"description": 'On "one": words.'}, "cells": cells}))
    assert made["folder/one-1.png"] == b"picture"
    page = made["folder/one.md"]
    assert page.startswith('---\ndescription: "On \\"one\\": words."\n')
    assert "[Download this notebook](one.ipynb)" in page
    assert "python\ndraw(1)\n" in page
    assert 'title="Output"\nsaid\n' in page
    assert "![draw(1)](one-1.png)" in page
    assert "card" not in page

    class File:
        src_uri = "folder/one.md"

    class Page:
        file = File

    assert '<div class="output"><b>card</b></div>' in on_page_content(page, Page)


@pytest.mark.parametrize("name", NAMES)
def test_the_site_leads_to_it(name):
    assert f"notebooks/{name}.md" in (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    assert f"notebooks/{name}.md" in (DOCS / "index.md").read_text(encoding="utf-8")
    assert Path(FOLDER / f"{name}.ipynb").exists()
