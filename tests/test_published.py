"""Pages show what the results say: tables are current, none is typed, and the words beside them hold."""

import re

import numpy as np
import pytest

from benchmarks.published.__main__ import main
from benchmarks.published.markdown import fill, names, outside, stale, table
from benchmarks.published.numbers import power, regret, seconds, share, thousands
from benchmarks.published.pages import PAGES, ROOT, Page
from benchmarks.published.results import made_with, read, read_whole

TEXT = (
    "# Title\n\n<!-- table: one -->\nold\n<!-- end of table -->\n\nWords.\n\n"
    "<!-- table: two -->\n<!-- end of table -->\n"
)
MADE = {"one": ["| a |", "|---|", "| 1 |"], "two": ["new"]}
MEASURED = re.compile(r"\| *\**-?\d+(\.\d|e-\d)")
"""A cell that begins with a number that is not whole."""


class TestMarkdown:
    def test_tables_are_put_between_their_markers(self):
        filled = fill(TEXT, MADE)
        assert filled == (
            "# Title\n\n<!-- table: one -->\n| a |\n|---|\n| 1 |\n<!-- end of table -->\n\nWords.\n\n"
            "<!-- table: two -->\nnew\n<!-- end of table -->\n"
        )
        assert fill(filled, MADE) == filled
        assert outside(filled) == "# Title\n\n\n\nWords.\n\n\n"

    def test_stale_tables_are_named(self):
        assert stale(TEXT, MADE) == ["one", "two"]
        assert stale(fill(TEXT, MADE), MADE) == []
        assert stale(fill(TEXT, MADE), {**MADE, "two": ["newer"]}) == ["two"]

    @pytest.mark.parametrize("tables", [{"one": []}, {**MADE, "three": []}])
    def test_places_and_tables_must_agree(self, tables):
        with pytest.raises(ValueError, match="the page has places for"):
            fill(TEXT, tables)

    @pytest.mark.parametrize("text", [TEXT + "<!-- table: three -->\n", TEXT + "<!-- end of table -->\n"])
    def test_markers_come_in_pairs(self, text):
        with pytest.raises(ValueError, match="no partner"):
            names(text)

    def test_rows_have_as_many_cells_as_the_head(self):
        assert table(("a", "b"), [("1", "2")]) == ["| a | b |", "|---|---|", "| 1 | 2 |"]
        with pytest.raises(ValueError, match="has 1 cells, the head of its table 2"):
            table(("a", "b"), [("1",)])


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        (regret(2.845e-7), "2.8e-7"),
        (regret(0.0994), "9.9e-2"),
        (regret(0.0996), "0.10"),
        (regret(0.2405), "0.24"),
        (regret(0.2), "0.20"),
        (regret(2.13), "2.1"),
        (power("1e-06"), "1e-6"),
        (power("0.01"), "0.01"),
        (seconds(0.156), "0.16"),
        (seconds(54.7), "55"),
        (seconds(None), "-"),
        (share(0.91), "91 %"),
        (thousands(11728), "11 728"),
        (
            made_with({"xstar": "1", "numpy": "2", "processor": "P"}, "xstar", "optuna")[-1],
            "Measured with xstar 1 on P.",
        ),
    ],
)
def test_numbers_as_pages_write_them(written, wanted):
    assert written == wanted


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path)
def test_a_page_is_current(page):
    assert page.stale() == [], "run `make tables`"


@pytest.mark.parametrize(
    "path", ["README.md", *(str(file.relative_to(ROOT)) for file in sorted((ROOT / "docs").rglob("*.md")))]
)
def test_no_table_of_measurements_is_typed(path):
    """Outside the markers no cell of a table begins with a decimal, but in code."""
    rows = [line for line in outside((ROOT / path).read_text("utf-8")).splitlines() if line.startswith("|")]
    assert [row for row in rows if MEASURED.search(re.sub(r"`[^`]*`", "", row))] == []


def test_the_command_writes_and_checks(tmp_path, capsys):
    (tmp_path / "page.md").write_text(TEXT, "utf-8")
    pages = [Page("page.md", {name: lambda lines=lines: lines for name, lines in MADE.items()})]
    with pytest.raises(SystemExit, match=r"(?s)make tables.*page.md: one\npage.md: two"):
        main(["--check"], pages, tmp_path)
    assert (tmp_path / "page.md").read_text("utf-8") == TEXT
    main([], pages, tmp_path)
    main([], pages, tmp_path)
    assert capsys.readouterr().out == "written: page.md\ncurrent: page.md\n"
    main(["--check"], pages, tmp_path)


class TestWords:
    """What the pages say beside their tables."""

    def test_pes_is_most_like_the_truth(self):
        """docs/pes.md: PES correlates best in every setting; the least share it attains is an artefact of the grid."""
        for setting in ("2d", "1d", "3d", "noisy", "noisier", "2d_zoomed"):
            rows = read(f"accuracy_{setting}").rows
            means = {
                method: np.mean([row["pearson"] for row in rows if row["method"] == method])
                for method in dict.fromkeys(row["method"] for row in rows)
            }
            assert max(means, key=means.get) == "PES", setting
        on_grid, zoomed = (
            {row["seed"]: row["attained"] for row in read(name).rows if row["method"] == "PES" and row["grid"] == grid}
            for name, grid in (("accuracy_2d", "fine"), ("accuracy_2d_zoomed", "zoomed"))
        )
        worst = min(on_grid, key=on_grid.get)
        assert zoomed[worst] > 0.95 > on_grid[worst]

    def test_most_maximizers_lie_on_a_face(self):
        """docs/pes.md and docs/core.md, of the setting of the paper's figure 1."""
        from benchmarks.accuracy import FEATURES, SETTINGS, data_set
        from xstar.entropy import draw_maximizers

        active = []
        for seed in range(6):
            post = data_set(SETTINGS["2d"], seed).joined()
            drawn = draw_maximizers(post, 100, np.random.default_rng(seed), num_features=FEATURES)
            active.append(np.any(drawn.active, axis=-1).mean())
        assert np.mean(active) > 0.5

    def test_nothing_fails(self):
        """docs/pes.md."""
        for row in read("robustness").rows:
            assert not any(row[key] for key in row if key.endswith(("finite", "converged", "dropped")))
            assert row["negative"] == 0

    def test_nothing_is_lost(self):
        """docs/trust.md: nothing is lost, left or missing; random studies have no problems."""
        for row in read("faults").rows:
            assert row["wrong"] == [], row
        (row,) = read("soak").rows
        assert (row["exceptions"], row["duplicates"], row["wrong"], row["problems"]) == (0, 0, 0, [])

    def test_the_core_beside_others(self):
        """docs/core.md: paths' maxima that L-BFGS-B misses, fewer likelihoods; the default search misses one mode."""
        rows = {(row["task"], row.get("n"), row["d"]): row for row in read("core").rows}
        six = rows["50 paths drawn, maximized", None, 6]
        assert six["ours"]["result"] > six["rival"]["result"] + 1e-3
        for (task, *_), row in rows.items():
            assert "slice" not in task or row["ours"]["result"] < row["rival"]["result"]
        missed = {row["problem"]: sum(row["missed"]) for row in read("modes").rows if row["search"] == "default"}
        assert {problem: share for problem, share in missed.items() if share} == {"walker-a": 1 / 8}
        for row in read("search").rows:
            assert (row["newton"]["reached"] == 1.0) == (
                row["d"] == 2 or (row["kernel"], row["lengthscale"]) == ("se", 0.5)
            )

    def test_who_is_ahead_at_which_size(self):
        """docs/scale.md: GPSampler below 1000 values, ours there; with few values greenlet helps GPSampler."""
        for row in read("speed").rows:
            assert (row["gpsampler"]["cpu_seconds"] < row["ours"]["cpu_seconds"]) == (row["n"] < 1000)
        with_it = {(row["n"], row["d"]): row["gpsampler"]["cpu_seconds"] for row in read("speed").rows}
        for row in read("speed_without_greenlet").rows:
            assert row["n"] > 100 or row["gpsampler"]["cpu_seconds"] > with_it[row["n"], row["d"]]
        for row in read("scale").rows:
            if row["d"] == 6 and row["k"] == 1 and row["M"] == 50 and row["H"] == 10:
                largest = max(row["stages"], key=row["stages"].get)
                assert largest == ("paths" if row["n"] <= 100 else "inference")

    def test_the_study_on_a_gpu(self):
        """docs/scale.md."""
        found = read_whole("gpu")
        chosen = {key: found["settings"][key] for key in ("functions", "evaluations", "samples", "processes")}
        assert chosen == {"functions": 1000, "evaluations": 50, "samples": 64, "processes": [1, 4, 8]}
        near = [step["stage"] for step in found["one_step"] if step["floor"] and step["seconds"] < 4.0 * step["floor"]]
        assert near == ["paths"]

    def test_regret_through_the_public_interface(self):
        """docs/regret.md: the default ends ahead of expected improvement on all, and begins behind it on one."""
        medians = {(row["problem"], row["method"]): row["median"] for row in read("regret").rows}
        problems = dict.fromkeys(problem for problem, _ in medians)
        assert len(problems) == 6
        gain = {problem: medians[problem, "ei"][-1] / medians[problem, "pes"][-1] for problem in problems}
        assert min(gain.values()) > 1.0
        assert max(gain, key=gain.get) == "gp"
        after = {problem: (17, 37) if problem == "hartmann" else (7, 17) for problem in problems}
        behind = {
            problem
            for problem in problems
            if all(medians[problem, "pes"][step] > medians[problem, "ei"][step] for step in after[problem])
        }
        assert behind == {"tuning"}

    def test_settings_changed_one_at_a_time(self):
        """docs/regret.md: on Branin two changes are worse by more than 0.2, and none better."""
        means = {(row["problem"], row["variant"]): row["log10"] for row in read("defaults").rows}
        rest = {
            name: mean - means["branin", "default"] for (problem, name), mean in means.items() if problem == "branin"
        }
        assert {name for name, gap in rest.items() if gap > 0.2} == {"20 paths", "MAP"}
        assert min(rest.values()) > -0.2
        assert means["gp", "20 paths"] < means["gp", "default"]
        assert means["gp", "Matern alone"] > means["gp", "SE alone"] + 0.2

    def test_through_optuna(self):
        """docs/optuna.md: the sampler makes the suggestions of `Optimizer`; drivers of ours differ by more than 2."""
        medians = {(row["problem"], row["driver"]): row["median"] for row in read("through_optuna").rows}
        for problem in ("branin", "tuning"):
            assert medians[problem, "Optimizer"] == pytest.approx(medians[problem, "sampler, space given"])
        ends = [medians["tuning", driver][-1] for driver in ("Optimizer", "sampler")]
        assert max(ends) > 2.0 * min(ends)

    def test_the_default_beside_logei_and_what_it_was(self):
        """docs/choices.md: where the default is ahead in the end, and where behind, by more than chance."""
        ends = {}
        for row in read("campaign").rows:
            if "difference" in row and row["count"] in ("recommended", "observed"):
                *_, (mean, half) = (pair for n, pair in row["difference"].items() if n != "run")
                ends[row["variant"], row["problem"], row["count"]] = np.sign(mean) * (abs(mean) > half)
        logei = {key[1:]: sign for key, sign in ends.items() if key[0] == "logei"}
        for count in ("recommended", "observed"):
            found = {problem: sign for (problem, counted), sign in logei.items() if counted == count}
            assert found == {"within-model": 1, "branin": 1, "cosines": 1, "hartmann": 0, "bbob-2": -1}
        before = {key[1:]: sign for key, sign in ends.items() if key[0] == "pes-before"}
        assert min(before.values()) == 0
        assert all(sign == 1 for (_, count), sign in before.items() if count == "observed")

    def test_what_the_default_is_made_of(self):
        """docs/choices.md: which choices make a difference to the recommendation over the run."""
        bold = {"better": set(), "worse": set()}
        for row in read("choices").rows:
            if row["count"] == "recommended" and "difference" in row:
                mean, half = row["difference"]["run"]
                if abs(mean) > half:
                    bold["worse" if mean > 0.0 else "better"].add((row["variant"], row["problem"]))
        assert bold["better"] == {("more-caution", "bbob-2")}
        assert {key for key in bold["worse"] if key[0] != "logei"} == {
            ("every-turn", "branin"), ("any-gain", "hartmann"), ("more-caution", "branin"), ("more-caution", "cosines"),
        }  # fmt: skip
