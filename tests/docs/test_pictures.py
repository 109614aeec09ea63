"""The pictures of the pages are those that their commands draw, at least in what they say."""

import re
from pathlib import Path

import numpy as np
import pytest

from website import gallery, search
from website.pages import agree
from website.png import said, save, words
from xstar import plots

DOCS = Path(__file__).parents[2] / "docs"
IMAGES = DOCS / "images"


def test_the_words_of_a_picture_are_kept_in_it(tmp_path):
    from matplotlib.figure import Figure

    figure = Figure()
    figure.suptitle("How it\nwent")
    axes = figure.subplots()
    axes.set_title("Values", loc="left")
    axes.set_xlabel("trial")
    axes.plot([0, 1], label="told")
    axes.text(0.5, 0.5, "here")
    figure.legend()
    for name in "ab":
        save(figure, tmp_path / f"{name}.png", dpi=50)
    assert said(tmp_path / "a.png").splitlines() == ["How it went", "Values", "trial", "here", "told"]
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


@pytest.fixture(scope="module")
def steps():
    return search.search()


class TestSearch:
    """README's picture."""

    def test_the_picture_is_current(self, steps, tmp_path):
        save(search.draw(steps), tmp_path / "now.png", dpi=20)
        assert agree(said(IMAGES / search.NAME), said(tmp_path / "now.png")), "run `python -m website.search`"
        assert (IMAGES / search.NAME).stat().st_size < 200_000

    def test_it_shows_what_its_titles_say(self, steps):
        first, hill, higher, last = steps.values()
        for step in (first, hill, higher):
            here = float(np.interp(step.next_x, search.GRID, step.bits))
            assert here > 0.9 * np.max(step.bits), "the next evaluation is where it tells most"
        assert np.ptp(np.quantile(first.x_star, [0.1, 0.9])) > 0.25
        assert np.max(hill.x) < 1.0
        assert hill.recommended.x[0] < 0.5 < higher.recommended.x[0]
        assert last.recommended.confirmed
        assert abs(last.recommended.x[0] - 0.74) < 0.05
        assert np.max(last.bits) < 0.5 * np.max(higher.bits)

    @pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
    def test_pages_show_it(self, page):
        assert f"images/{search.NAME})" in (DOCS.parent / page).read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_pictures_of_how_it_decides_are_current(tmp_path):
    from website.pictures import PICTURES, main

    main(tmp_path)
    for name in PICTURES:
        picture = f"decides-{name}.png"
        assert (tmp_path / picture).stat().st_size > 20_000
        assert agree(said(IMAGES / picture), said(tmp_path / picture)), "run `python -m website.pictures`"
        assert f"images/{picture}" in (DOCS / "decides.md").read_text(encoding="utf-8")


class TestGallery:
    """The pictures of how-to/pictures.md."""

    def test_the_pictures_are_current(self):
        figures = gallery.figures()
        page = gallery.PAGE.read_text(encoding="utf-8")
        for name, figure in figures.items():
            picture = f"pictures-{name}.png"
            assert agree(said(IMAGES / picture), words(figure)), f"run `python -m website.gallery`: {name}"
            assert f"](../images/{picture})" in page
        assert set(figures) == set(plots.__all__) - {"draw"}
        assert len(re.findall(r"!\[", page)) == len(figures)
