"""What `make docs` does after the site is built: it looks for all that a reader would stumble over."""

import json
import re
from pathlib import Path

import pytest

from website.check import external_links, main, problems

DOCS = Path(__file__).parents[2] / "docs"
HEAD = '<html><head><meta name="description" content="{}">{}</head><body><h1 id="top">{}</h1> '
REFERENCE = (
    '<h2 id="xstar.Optimizer">xstar.Optimizer</h2><code>Optimizer(\n space: SpaceLike,\n direction: str = "maximize")'
)


@pytest.fixture
def site(tmp_path):
    """A small site with nothing wrong."""
    pages = {
        "index.html": HEAD.format("Home.", '<link rel="stylesheet" href="own.css">', "xstar")
        + '<a href="reference/running/#xstar.Optimizer">x</a> <a href="#top">x</a> <a href="https://example.org/a">x</a>',
        "reference/running/index.html": HEAD.format("Running.", "", "Running") + REFERENCE,
    }
    for name, text in pages.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "own.css").write_text("body { background: url(own.css) }", encoding="utf-8")
    (tmp_path / "search").mkdir()
    locations = [
        {"location": ""},
        {"location": "reference/running/"},
        {"location": "reference/running/#xstar.Optimizer"},
    ]
    (tmp_path / "search" / "search_index.json").write_text(json.dumps({"docs": locations}), encoding="utf-8")
    return tmp_path


def test_nothing_is_wrong(site, capsys):
    assert list(problems(site)) == []
    assert external_links(site) == {"https://example.org/a": ["index.html"]}
    main([str(site)])
    assert capsys.readouterr().out == "2 pages; links to other sites:\nhttps://example.org/a\n"


@pytest.mark.parametrize(
    ("added", "said"),
    [
        ('<script src="https://cdn.example/x.js"></script>', "loads https://cdn.example/x.js from elsewhere"),
        ('<link rel="preconnect" href="https://fonts.example">', "loads https://fonts.example from elsewhere"),
        ('<p style="background: url(//cdn.example/x.png)">', "loads //cdn.example/x.png from elsewhere"),
        ("<style>@import 'https://cdn.example/x.css';</style>", "loads https://cdn.example/x.css from elsewhere"),
        ('<img src="no.png">', "loads no.png, which is not there"),
        ('<a href="../nowhere/">x</a>', "the link ../nowhere/ leads nowhere"),
        ('<a href="#no">x</a>', "the link #no leads to a place that the page does not have"),
        ('<a href="reference/running/#no">x</a>', "leads to a place that the page does not have"),
        ('<a href="https://nohost/">x</a>', "the link https://nohost/ names no host"),
        ("<h1>Another</h1>", "index.html has 2 titles"),
    ],
)
def test_a_page_with_something_wrong(site, added, said):
    page = site / "index.html"
    page.write_text(page.read_text("utf-8") + added, encoding="utf-8")
    (found,) = problems(site)
    assert said in found
    with pytest.raises(SystemExit, match=r"index\.html"):
        main([str(site)])


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("index.html", "Home.", "Running.", "has the description of index.html"),
        ("index.html", "Home.", "", "has no description"),
        ("own.css", "own.css", "https://cdn.example/x.png", "own.css loads https://cdn.example/x.png from elsewhere"),
        (
            "reference/running/index.html",
            'id="xstar.Optimizer"',
            'id="xstar.optimizer.Optimizer"',
            "no xstar.Optimizer",
        ),
        ("reference/running/index.html", 'direction: str = "maximize"', "", "does not show the signature"),
        ("reference/running/index.html", ">xstar.Optimizer<", ">xstar.optimizer.Optimizer<", "the private path"),
        ("search/search_index.json", '"reference/running/"', '"other/"', "running/index.html is not in the index"),
    ],
)
def test_a_site_with_something_wrong(site, file, old, new, said):
    text = (site / file).read_text("utf-8")
    assert old in text
    if file.endswith("json"):
        text = text.replace('"reference/running/#xstar.Optimizer"', '"other/"')
    (site / file).write_text(text.replace(old, new), encoding="utf-8")
    assert any(said in found for found in problems(site))


def test_without_an_index_there_is_no_search(site):
    (site / "search" / "search_index.json").unlink()
    assert "there is no index to search." in list(problems(site))


def test_formulas_become_mathml():
    pytest.importorskip("latex2mathml", reason="only `make docs` needs it")
    from website.mathematics import on_page_content

    page = r'<p>If <span class="arithmatex">\(a &lt; b\)</span>,</p><div class="arithmatex">\[\frac{1}{2}\]</div>'
    made = on_page_content(page)
    assert made.startswith("<p>If <math")
    assert re.search(r"<mo>(&lt;|&#x0*3C;)</mo>", made)
    assert 'display="block"' in made
    assert "arithmatex" not in made
