"""Pictures as files: the same bytes for the same picture, and its words inside, so that tests can compare them.

words(figure) -> str            titles, labels and legends of a figure of matplotlib
save(figure, path, dpi)         the words are kept as the PNG's description
said(path) -> str               the words of a picture that was saved
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any


def words(figure: Any) -> str:
    """Return the words of a figure, a line each, without the numbers along its axes."""
    return "\n".join(" ".join(text.split()) for text in _texts(figure) if text.strip())


def save(figure: Any, path: Path, dpi: float) -> None:
    """Write a figure as PNG, without the version of what has drawn it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=dpi, facecolor="white", metadata={"Software": None, "Description": words(figure)})


def said(path: Path) -> str:
    """Return the words of a picture."""
    from PIL import Image

    with Image.open(path) as picture:
        return str(picture.info["Description"])


def _texts(figure: Any) -> Iterator[str]:
    yield from (text.get_text() for text in figure.texts)
    for axes in figure.axes:
        yield from (axes.get_title(loc) for loc in ("left", "center", "right"))
        yield from (axes.get_xlabel(), axes.get_ylabel())
        yield from (text.get_text() for text in axes.texts)
    for legend in [*figure.legends, *(axes.get_legend() for axes in figure.axes)]:
        if legend is not None:
            yield from (text.get_text() for text in legend.get_texts())
