"""The pages do what they show: their code runs, page by page and in order, and prints what stands below it."""

import logging
import re
import sys
from pathlib import Path

import optuna
import pytest

from benchmarks.published.markdown import outside
from website.pages import blocks, run

DOCS = Path(__file__).parents[2] / "docs"
STAND_INS = Path(__file__).parent / "stand_ins"
PAGES = sorted(
    [
        "index.md",
        "optuna.md",
        "start.md",
        *(str(path.relative_to(DOCS)) for name in ("how-to", "coming-from") for path in (DOCS / name).glob("*")),
    ]
)
"""Every page that teaches by code. The programs of workers.md run in tests/integrations."""


@pytest.fixture
def _folder(tmp_path, monkeypatch):
    """An empty folder, from which modules can be imported, and beside it those that stand in for others."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(STAND_INS)
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith((str(tmp_path), str(STAND_INS))):
            del sys.modules[name]


@pytest.fixture
def _quiet():
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(logging.ERROR)
    yield
    optuna.logging.set_verbosity(level)


@pytest.mark.usefixtures("_folder", "_quiet")
@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    now, _ = run(text, page)
    assert now == text, f"run `python -m website.pages docs/{page}` and look at what changes"


def test_pages_that_teach_have_code():
    without = {page for page in PAGES if not any(block.runs for block in blocks((DOCS / page).read_text("utf-8")))}
    assert without <= {"how-to/index.md", "coming-from/index.md"}


@pytest.mark.usefixtures("_folder")
class TestRunning:
    """The convention itself."""

    def test_blocks_share_names_and_files(self):
        page = (
            '```text title="data.txt"\n7\n```\n```python\nx = int(open("data.txt").read())\n```\n'
            '```python\nprint(x + 1)\n```\n\n```text title="Output"\n8\n```\n'
        )
        now, names = run(page.replace('open("data.txt").read()', '__import__("pathlib").Path("data.txt").read_text()'))
        assert 'Output"\n8\n' in now
        assert names["x"] == 7

    def test_another_output_is_written(self):
        page = '  ```python\n  print(1)\n  ```\n  ```text title="Output"\n  2\n  ```\nWords.\n'
        assert run(page)[0] == page.replace("  2\n", "  1\n")

    @pytest.mark.parametrize(
        ("shown", "same"),
        [("3 of 0.101  m", True), ("3 of 0.14 m", False), ("4 of 0.1 m", False), ("3 of 0.1", False)],
    )
    def test_decimals_may_differ_a_little(self, shown, same):
        page = f'```python\nprint("3 of 0.1 m")\n```\n```text title="Output"\n{shown}\n```\n'
        assert (run(page)[0] == page) == same

    def test_an_error_names_the_line_of_the_page(self):
        with pytest.raises(ZeroDivisionError) as raised:
            run("Words.\n\n```python\nx = 1\nx / 0\n```\n")
        assert raised.traceback[-1].lineno + 1 == 5

    def test_what_is_not_run_is_not_run(self):
        run('```python title="Theirs (not run here)"\nraise ValueError\n```\n```console\npip install nothing\n```\n')

    def test_commands_run(self):
        page = (
            '```python title="p.py"\nprint("hello")\n```\n```console\npython p.py\n```\n'
            '```text title="Output"\nhello\n```\n'
        )
        assert run(page)[0] == page
        with pytest.raises(RuntimeError, match=r"python nothing.py"):
            run("```console\npython nothing.py\n```\n")


@pytest.mark.parametrize(
    "page", sorted({path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} - {"command-line.md"})
)
def test_lines_can_be_read_in_an_editor(page):
    """No longer than 120 characters, but in tables, code, descriptions and pictures."""
    text = outside((DOCS / page).read_text(encoding="utf-8"))
    lines = re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.DOTALL | re.MULTILINE).splitlines()
    assert [line for line in lines if len(line) > 120 and not line.startswith(("|", "![", "description:"))] == []
