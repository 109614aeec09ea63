"""Figures and the page about them, from small results that look like those of the study."""

import base64
import json
import re
import shutil
from html.parser import HTMLParser

import numpy as np
import pytest

from experiments import claims, figures, page, surfaces
from experiments.__main__ import main
from experiments.course import START
from experiments.methods import FIGURED
from experiments.methods import TITLES as METHODS
from experiments.problems import TITLES as PROBLEMS
from experiments.problems import find_problem
from experiments.statistics import band
from experiments.store import read_results, write_results
from experiments.studies import FIGURES, methods_of
from experiments.studies import PROBLEMS as ALL_PROBLEMS
from experiments.surfaces import TRUTH

REPEATS, LENGTH, SIDE = 8, 5, 6
VOID = {"meta", "img", "br"}


def row(rng, repeats=REPEATS, length=LENGTH):
    """Of one method in a results file; regrets fall by a decade or so."""
    regret = 10.0 ** (rng.standard_normal((repeats, 1)) - np.linspace(0.0, 1.0, length))
    return {
        "computed_by": ["one at a time"], "versions": [{"xstar": "0"}], "cpu_seconds": 0.1, "degraded": 0,
        "repeats": list(range(repeats)), "regret": [[float(f"{value:.3g}") for value in run] for run in regret],
    }  # fmt: skip


def fill(folder, problems, methods=None, **options):
    """Results of these problems, by their methods or those given."""
    rng = np.random.default_rng(7)
    contents = {
        problem: {
            "problem": problem,
            "start": START,
            "methods": {name: row(rng, **options) for name in methods or methods_of(problem)},
        }
        for problem in problems
    }
    write_results(folder, contents)
    return read_results(folder, problems)


def surface_content():
    """What `surfaces.measure` hands back, on a grid of 36 points."""
    rng = np.random.default_rng(8)
    names = [TRUTH, *surfaces.METHODS]
    shown = [{name: rng.random(SIDE**2) for name in names} for _ in range(3)]
    return {
        "versions": {}, "draws": 10, "side": SIDE, "samples": 200, "features": 1000,
        "likeness": [{"data_set": k, **surfaces.likeness(found)} for k, found in enumerate(shown)],
        "surfaces": {name: values.tolist() for name, values in shown[0].items()},
        "measured_at": rng.random((10, 2)).tolist(),
    }  # fmt: skip


class Reader(HTMLParser):
    """A strict reader: every tag is closed, in order. Keeps the text of cells and items, and all attributes."""

    def __init__(self, text):
        super().__init__()
        self.open, self.attributes, self.tags, self.text = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, self.getpos()

    def handle_data(self, data):
        self.text.append(data)

    @property
    def images(self):
        return [value for tag, name, value in self.attributes if (tag, name) == ("img", "src")]


def read(path):
    return Reader(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Results of every figure, and what was written about them."""
    folder = tmp_path_factory.mktemp("whole")
    results = fill(folder / "results", ALL_PROBLEMS)
    surfaces.save(folder / "results" / "figure1.json", surface_content())
    return folder, results, page.write(folder / "results", folder / "drawn")


class TestFiles:
    def test_names(self, whole):
        folder, _, paths = whole
        names = [f"{name}.{kind}" for name in ("figure1", *FIGURES) for kind in ("png", "pdf")]
        assert paths == [folder / "drawn" / name for name in [*names, "page.html"]]

    def test_kinds(self, whole):
        _, _, paths = whole
        begin = {".png": b"\x89PNG\r\n\x1a\n", ".pdf": b"%PDF-", ".html": b"<!doctype html>"}
        for path in paths:
            assert path.read_bytes().startswith(begin[path.suffix]), path

    @pytest.mark.slow
    def test_are_the_same_each_time(self, whole, tmp_path):
        folder, _, _ = whole
        for name in ("figure1.json", "within-model.json"):
            shutil.copy(folder / "results" / name, tmp_path / name)
        *drawn, _ = page.write(tmp_path, tmp_path / "new" / "folder")
        assert [path.name for path in drawn] == ["figure1.png", "figure1.pdf", "figure2.png", "figure2.pdf"]
        for path in drawn:
            assert path.read_bytes() == (folder / "drawn" / path.name).read_bytes(), path.name


class TestPage:
    def test_stands_alone(self, whole):
        """No script, no link, nothing from elsewhere: pictures are in it."""
        folder, _, paths = whole
        source = paths[-1].read_text(encoding="utf-8")
        found = Reader(source)
        assert {"script", "link", "a", "iframe", "object"}.isdisjoint(found.tags)
        assert {name for _, name, _ in found.attributes} <= {
            "lang",
            "charset",
            "class",
            "style",
            "alt",
            "src",
            "name",
            "content",
        }
        prefix = "data:image/png;base64,"
        pictures = [base64.b64decode(src.removeprefix(prefix), validate=True) for src in found.images]
        assert pictures == [(folder / "drawn" / f"{name}.png").read_bytes() for name in ("figure1", *FIGURES)]
        for src in found.images:
            source = source.replace(src, "")
        for word in ("http", "<script", "url(", "@import", "//"):
            assert word not in source.lower()

    def test_says_every_claim_and_finding(self, whole):
        _, results, paths = whole
        text = read(paths[-1]).text
        found = claims.findings(results)
        assert [finding.claim for finding in found] == list(claims.CLAIMS)
        for finding in found:
            at = text.index(finding.claim.words)
            assert text[at + 1] == finding.verdict
            assert text[at + 2 : at + 2 + len(finding.details)] == finding.details

    def test_says_what_figure_1_shows(self, whole):
        _, _, paths = whole
        verdict, sentence, means = claims.likeness_finding(surface_content())
        text = read(paths[-1]).text
        assert text[text.index(sentence) - 1] == verdict
        for name, mean in means.items():
            at = text.index(name)
            numbers = [f"{mean[key].middle:.3f}" for key in ("pearson", "spearman", "attained")]
            assert text[at + 1 : at + 4] == numbers

    def test_says_where_ours_stands(self, whole):
        _, results, paths = whole
        text = read(paths[-1]).text
        begin = text.index("xstar against all others")
        for standing in claims.standings(results, FIGURED):
            at = text.index(f"{PROBLEMS[standing.problem]}, {standing.evaluations}", begin)
            end = text.index(standing.verdict, at)
            medians = [standing.median, *(median for median, _ in standing.rivals.values())]
            shown = [part for part in text[at:end] if re.fullmatch(r"\d\.\de[+-]\d\d", part)]
            assert shown == [f"{median:.1e}" for median in medians]

    def test_one_heading_for_each_figure(self, whole):
        text = read(whole[2][-1]).text
        for caption in page.CAPTIONS.values():
            assert text.count(caption) == 1

    def test_markup_in_words_is_shown_as_it_is(self, tmp_path, monkeypatch):
        odd = 'EI < ES & <b>"more"</b>'
        monkeypatch.setattr(claims, "CLAIMS", (claims.Claim("figure3", odd, ("branin",), "ei", "es"),))
        fill(tmp_path, ["branin"], ["ei", "es"])
        *_, path = page.write(tmp_path, tmp_path)
        assert odd in read(path).text

    def test_one_problem(self, tmp_path):
        fill(tmp_path, ["portfolio"])
        paths = page.write(tmp_path, tmp_path / "drawn")
        assert [path.name for path in paths] == ["figure4.png", "figure4.pdf", "page.html"]
        found = read(paths[-1])
        assert len(found.images) == 1
        assert page.CAPTIONS["figure4"] in found.text
        assert page.CAPTIONS["figure3"] not in found.text

    def test_one_method(self, tmp_path):
        """No claim can be checked, but the curve is there."""
        fill(tmp_path, ["branin"], ["ei"])
        *_, path = page.write(tmp_path, tmp_path)
        assert len(read(path).images) == 1

    def test_figure_1_only(self, tmp_path):
        surfaces.save(tmp_path / "figure1.json", surface_content())
        paths = page.write(tmp_path, tmp_path)
        assert [path.name for path in paths] == ["figure1.png", "figure1.pdf", "page.html"]
        assert len(read(paths[-1]).images) == 1

    @pytest.mark.parametrize("made", [True, False], ids=["empty", "no folder"])
    def test_no_results(self, tmp_path, made):
        results = tmp_path / "results"
        if made:
            results.mkdir()
        with pytest.raises(SystemExit, match=r"no results in .*results; `python -m experiments run .*` makes some"):
            page.write(results, tmp_path / "drawn")

    def test_by_the_command(self, tmp_path, capsys):
        fill(tmp_path / "results", ["branin"], ["pes", "ei"])
        main(["figures", "--results", str(tmp_path / "results"), "--to", str(tmp_path / "drawn")])
        written = capsys.readouterr().out.splitlines()
        names = ("figure3.png", "figure3.pdf", "page.html")
        assert written == [f"written: {tmp_path / 'drawn' / name}" for name in names]

    def test_methods_without_a_curve(self, tmp_path):
        """`run problems --problems branin --methods random` draws in the end."""
        fill(tmp_path, ["branin"], ["random"])
        page.write(tmp_path, tmp_path)


def lines(axis):
    return {line.get_label(): line.get_xydata() for line in axis.get_lines()}


class TestCurves:
    def test_are_the_medians(self, tmp_path):
        results = fill(tmp_path, ["branin", "cosines"])
        figure = figures.draw_problems(results)
        for axis, (problem, curves) in zip(figure.axes, results.items(), strict=True):
            drawn = lines(axis)
            assert list(drawn) == [METHODS[name] for name in FIGURED]
            for name in FIGURED:
                evaluations, middle = drawn[METHODS[name]].T
                np.testing.assert_array_equal(evaluations, START + np.arange(LENGTH))
                np.testing.assert_array_equal(middle, band(curves[name]).middle)
            assert axis.get_title() == f"{PROBLEMS[problem]}, {REPEATS} repeats"

    def test_bands(self, tmp_path):
        curves = fill(tmp_path, ["branin"], ["ei"])
        (axis,) = figures.draw_problems(curves).axes
        (filled,) = axis.collections
        heights = filled.get_paths()[0].vertices[:, 1]
        middle, sd = band(curves["branin"]["ei"])
        assert (heights.min(), heights.max()) == pytest.approx(((middle - sd).min(), (middle + sd).max()))

    def test_ours_is_on_top(self, tmp_path):
        (axis,) = figures.draw_problems(fill(tmp_path, ["branin"])).axes
        ours, *others = axis.get_lines()
        assert ours.get_label() == METHODS["xstar"]
        assert all(ours.get_zorder() > line.get_zorder() for line in others)
        assert all(ours.get_linewidth() > line.get_linewidth() for line in others)

    def test_repeats_that_differ(self, tmp_path):
        fill(tmp_path, ["branin"], ["pes"])
        results = fill(tmp_path, ["branin"], ["es"], repeats=3)
        (axis,) = figures.draw_problems(results).axes
        title = axis.get_title()
        assert "3" in title
        assert f"{REPEATS}" in title

    @pytest.mark.parametrize("count, panels", [(1, 1), (3, 3), (4, 5), (5, 6)])
    def test_one_legend(self, tmp_path, count, panels):
        """In the first panel of a row, or in a panel of its own."""
        results = fill(tmp_path, ALL_PROBLEMS[1 : 1 + count], ["pes", "ei"])
        axes = [axis for axis in figures.draw_problems(results).axes if axis.axison or axis.get_legend()]
        assert len(axes) == panels
        (legend,) = filter(None, [axis.get_legend() for axis in axes])
        assert legend is axes[-1 if count > figures.COLUMNS else 0].get_legend()
        assert [text.get_text() for text in legend.get_texts()] == [METHODS["pes"], METHODS["ei"]]

    def test_the_legend_has_every_method(self, tmp_path):
        results = fill(tmp_path, ["branin"], ["pes"]) | fill(tmp_path, ["cosines"], ["pes", "es"])
        legends = filter(None, [axis.get_legend() for axis in figures.draw_problems(results).axes])
        assert {text.get_text() for legend in legends for text in legend.get_texts()} == {METHODS["pes"], METHODS["es"]}

    def test_within_the_model(self, tmp_path):
        curves = fill(tmp_path, ["within-model"])["within-model"]
        example, regrets, _ = figures.draw_within_model(curves).axes  # and a colorbar
        assert list(lines(regrets)) == [METHODS[name] for name in methods_of("within-model")]
        (star,) = example.get_lines()
        problem = find_problem("within-model", 0)
        np.testing.assert_array_equal(star.get_xydata()[0], problem.maximizer)


class TestSurfaces:
    def test_panels(self):
        content = surface_content()
        figure = figures.draw_surfaces(content)
        panels = [axis for axis in figure.axes if axis.images]
        titles = [axis.get_title() for axis in panels]
        assert len(titles) == 4
        for title, name in zip(titles[1:], surfaces.METHODS, strict=True):
            assert title == f"{name}: r = {content['likeness'][0][name]['pearson']:.3f}"
        for axis in panels:
            np.testing.assert_array_equal(axis.get_lines()[0].get_xydata(), content["measured_at"])

    def test_the_right_way_round(self):
        """The first coordinate goes to the right, the second upward."""
        content = surface_content()
        grid = np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, SIDE)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
        content["surfaces"][TRUTH] = (10.0 * grid[:, 0] + grid[:, 1]).tolist()
        image = figures.draw_surfaces(content).axes[0].images[0]
        assert image.origin == "lower"
        values = np.asarray(image.get_array())
        assert (values[0, -1], values[-1, 0]) == (10.0, 1.0)


def test_results_survive_the_way_to_disk(tmp_path):
    results = fill(tmp_path, ["branin"], ["pes"])
    stored = json.loads((tmp_path / "branin.json").read_text(encoding="utf-8"))["methods"]["pes"]
    np.testing.assert_array_equal(results["branin"]["pes"].regret, stored["regret"])
    assert results["branin"]["pes"].repeats == stored["repeats"]
