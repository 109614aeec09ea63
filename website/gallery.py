"""Draw the pictures of the page "Pictures of a study": they are those that its code makes.

    python -m website.gallery [folder]

Every figure to which the page gives a name goes to docs/images, or to another folder.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path
from typing import Any

from website.pages import run
from website.png import save

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "how-to" / "pictures.md"
DPI = 100


def figures() -> dict[str, Any]:
    """Run the page; return its figures by their names."""
    from matplotlib.figure import Figure

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        _, names = run(PAGE.read_text(encoding="utf-8"), PAGE.name)
    return {name: value for name, value in names.items() if isinstance(value, Figure)}


def main(folder: Path) -> None:
    """Draw all of them."""
    for name, figure in figures().items():
        save(figure, folder / f"pictures-{name}.png", dpi=DPI)
        print(folder / f"pictures-{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS / "images")
