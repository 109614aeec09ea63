"""Claims, and what synthetic results say about them."""

import math

import numpy as np
import pytest

from experiments import claims
from experiments.claims import CLAIMS, Claim, findings, likeness_finding, standings, words
from experiments.course import START
from experiments.statistics import Interval, compare
from experiments.store import Curves
from experiments.studies import FIGURES, HYDROGEN, methods_of
from experiments.surfaces import METHODS as SURFACES

REPEATS, LENGTH = 15, 6
SPREAD = 10.0 ** (0.1 * np.random.default_rng(0).standard_normal((REPEATS, 1)))
"""Of the repeats, the same for all methods."""
PAPER = {
    "within-model": {"pes-2014": 1, "es": 2, "ei": 3},
    "branin": {"pes-2014": 1, "pes-nb": 2, "es": 3, "ei": 3},
    "cosines": {"pes-2014": 1, "pes-nb": 2, "es": 3, "ei": 3},
    "hartmann": {"ei": 1, "pes-2014": 2, "pes-nb": 3, "es": 4},
    "nnet": {"pes-2014": 1, "pes-nb": 1, "es": 1, "ei": 2},
    HYDROGEN: {"pes-2014": 1, "pes-nb": 1, "es": 1, "ei": 2},
    "portfolio": {"pes-2014": 1, "pes-nb": 1, "es": 1, "ei": 2},
    "walker-a": {"ei": 1, "pes-2014": 2, "pes-nb": 3, "es": 3},
    "walker-b": {"pes-2014": 1, "pes-nb": 2, "es": 2, "ei": 2},
}
"""Ranks of the methods as the text of [HHG14, section 4] has them, read independently of CLAIMS."""


def level(*exponents, repeats=REPEATS):
    """Curves around 10^exponent: one for the whole run, or one for each recommendation."""
    heights = np.full(LENGTH, exponents[0]) if len(exponents) == 1 else np.array(exponents)
    return Curves(list(range(repeats)), SPREAD[:repeats] * 10.0**heights, None)


def early(exponent):
    """Like 1 at the end, otherwise around 10^exponent."""
    return level(*[exponent] * (LENGTH - 1), 0.0)


def late(exponent):
    """Around 10^exponent at the end, otherwise balanced to 1 on average over the run."""
    return level(0.0, *[-exponent / (LENGTH - 2)] * (LENGTH - 2), exponent)


def of(*problems, **options):
    return Claim("figure3", "EI beats ES.", problems, "ei", "es", **options)


def verdict_of(monkeypatch, claim, **levels):
    """The verdict on one claim, EI at the given curves and ES at 1."""
    monkeypatch.setattr(claims, "CLAIMS", (claim,))
    (found,) = findings({problem: {"ei": curves, "es": level(0.0)} for problem, curves in levels.items()})
    assert found.claim is claim
    assert len(found.details) == len(levels)
    return found.verdict


ALL = ("branin", "cosines", "hartmann")
BETTER, SAME, WORSE = level(-1.0), level(0.0), level(1.0)


class TestVerdict:
    @pytest.mark.parametrize("curves", [BETTER, early(-1.0), late(-1.0)], ids=["all along", "before", "in the end"])
    def test_seen(self, monkeypatch, curves):
        assert verdict_of(monkeypatch, of("branin"), branin=curves) == "seen"

    def test_not_seen(self, monkeypatch):
        assert verdict_of(monkeypatch, of("branin"), branin=SAME) == "not seen"
        assert verdict_of(monkeypatch, of("branin", "cosines"), branin=SAME, cosines=WORSE) == "not seen"

    def test_for_and_against(self, monkeypatch):
        """Better in one sense and worse in the other is neither."""
        for curves in (level(0, 1, 1, 1, 1, -1), level(0, -1, -1, -1, -1, 1)):
            assert verdict_of(monkeypatch, of("branin"), branin=curves) == "not seen"

    @pytest.mark.parametrize("curves", [WORSE, early(1.0), late(1.0)], ids=["all along", "before", "in the end"])
    def test_the_opposite(self, monkeypatch, curves):
        assert verdict_of(monkeypatch, of("branin"), branin=curves) == "the opposite is seen"
        assert verdict_of(monkeypatch, of(*ALL), branin=WORSE, cosines=WORSE, hartmann=curves) == "the opposite is seen"

    def test_on_some(self, monkeypatch):
        found = verdict_of(monkeypatch, of(*ALL), branin=BETTER, cosines=SAME, hartmann=WORSE)
        assert found == "seen on Branin only"
        found = verdict_of(monkeypatch, of(*ALL), branin=BETTER, cosines=WORSE, hartmann=BETTER)
        assert found == "seen on Branin and Hartmann-6 only"

    def test_most(self, monkeypatch):
        claim = of(*ALL, most=True)
        assert verdict_of(monkeypatch, claim, branin=BETTER, cosines=BETTER, hartmann=BETTER) == "seen"
        found = verdict_of(monkeypatch, claim, branin=BETTER, cosines=WORSE, hartmann=BETTER)
        assert found == "seen on Branin and Hartmann-6"
        assert verdict_of(monkeypatch, claim, branin=BETTER, cosines=SAME, hartmann=SAME) == "seen on Branin only"
        assert verdict_of(monkeypatch, claim, branin=BETTER, cosines=SAME) == "seen on Branin only", "half is not most"
        assert verdict_of(monkeypatch, claim, branin=WORSE, cosines=WORSE) == "the opposite is seen"

    def test_alike(self, monkeypatch):
        claim = of(*ALL, alike=True)
        assert verdict_of(monkeypatch, claim, branin=SAME, cosines=SAME, hartmann=SAME) == "seen"
        assert verdict_of(monkeypatch, claim, branin=WORSE, cosines=SAME, hartmann=BETTER) == "seen on Cosines only"
        for other in (BETTER, WORSE):
            assert verdict_of(monkeypatch, claim, branin=other, cosines=other, hartmann=other) == "not seen"


class TestFindings:
    def test_nothing(self):
        assert findings({}) == []

    def test_missing_problems_and_methods_are_skipped(self, monkeypatch):
        claim = of(*ALL)
        monkeypatch.setattr(claims, "CLAIMS", (claim, of("walker-a")))
        found = findings(
            {
                "branin": {"ei": BETTER, "es": SAME, "pes": WORSE},
                "cosines": {"ei": BETTER},
                "walker-a": {"es": BETTER},
                "walker-b": {"ei": BETTER, "es": BETTER},
            }
        )
        assert [finding.claim for finding in found] == [claim]
        assert len(found[0].details) == 1
        assert found[0].details[0].startswith("Branin: EI is better;")

    def test_numbers(self, monkeypatch):
        monkeypatch.setattr(claims, "CLAIMS", (of("branin"),))
        ei, es = level(-1.0), level(0.0)
        (found,) = findings({"branin": {"ei": ei, "es": es}})
        (sentence,) = found.details
        pair = compare(ei, es)
        for part in (
            f"median regret {np.median(ei.regret[:, -1]):.1e} against {np.median(es.regret[:, -1]):.1e}",
            f"after {START - 1 + LENGTH} evaluations",
            f"on {REPEATS} shared repeats",
            f"{words(pair.last)} then",
            f"{words(pair.run)} on average over the run",
        ):
            assert part in sentence
        assert "-1.00 (-1.00 to -1.00)" in sentence

    def test_runs_of_different_lengths(self, monkeypatch):
        """The medians are those after the last evaluation that both have made."""
        monkeypatch.setattr(claims, "CLAIMS", (of("branin"),))
        long, short = level(0, -1, -2, -3, -4, -5), level(0, -1, -1, -1)
        (found,) = findings({"branin": {"ei": long, "es": short}})
        assert f"after {START + 3} evaluations" in found.details[0]
        medians = [np.median(curves.regret[:, 3]) for curves in (long, short)]
        assert "median regret {:.1e} against {:.1e}".format(*medians) in found.details[0]

    def test_medians_and_their_ratio_are_of_the_same_repeats(self, monkeypatch):
        monkeypatch.setattr(claims, "CLAIMS", (of("branin"),))
        many, few = level(-1.0), level(0.0, repeats=5)
        (found,) = findings({"branin": {"ei": many, "es": few}})
        median = np.median(many.regret[:5, -1])
        assert f"{median:.1e}" != f"{np.median(many.regret[:, -1]):.1e}"
        assert f"median regret {median:.1e} against" in found.details[0]


class TestTheClaims:
    def test_are_about_what_is_run(self):
        for claim in CLAIMS:
            assert set(claim.problems) <= set(FIGURES[claim.figure])
            assert claim.better != claim.worse
            for problem in claim.problems:
                assert {claim.better, claim.worse} <= set(methods_of(problem))

    def test_each_is_made_once(self):
        made = [(problem, frozenset((c.better, c.worse))) for c in CLAIMS for problem in c.problems]
        assert len(made) == len(set(made))
        assert len({claim.words for claim in CLAIMS}) == len(CLAIMS)

    def test_are_seen_in_results_as_the_paper_has_them(self):
        found = findings({p: {m: level(float(rank)) for m, rank in ranks.items()} for p, ranks in PAPER.items()})
        assert [finding.claim for finding in found] == list(CLAIMS)
        assert {finding.verdict for finding in found} == {"seen"}

    def test_are_not_seen_in_results_against_the_paper(self):
        upside_down = {p: {m: level(-float(rank)) for m, rank in ranks.items()} for p, ranks in PAPER.items()}
        for finding in findings(upside_down):
            assert finding.verdict == ("seen" if finding.claim.alike else "the opposite is seen")


@pytest.mark.parametrize(
    "interval, text",
    [
        (Interval(-0.5, -1.0, 0.25), "-0.50 (-1.00 to +0.25)"),
        (Interval(0.0, -math.inf, math.inf), "+0.00 (-inf to +inf)"),
    ],
)
def test_words(interval, text):
    assert words(interval) == text


class TestStandings:
    def test_who_is_ahead(self):
        methods = {
            "xstar": level(0.0),
            "ei": level(-1.0),
            "mes": early(-1.0),
            "logei": late(-1.0),
            "es": level(1.0),
            "thompson": level(0.0),
            "random": level(-2.0),
        }
        (found,) = standings({"branin": methods}, ("xstar", "ei", "mes", "logei", "es", "thompson", "pes-nb"))
        assert (found.problem, found.evaluations) == ("branin", START - 1 + LENGTH)
        assert found.median == np.median(methods["xstar"].regret[:, -1])
        assert list(found.rivals) == ["ei", "mes", "logei", "es", "thompson"], (
            "neither itself nor who was not asked for"
        )
        assert found.rivals["ei"] == (
            np.median(methods["ei"].regret[:, -1]), compare(methods["xstar"], methods["ei"]),
        )  # fmt: skip
        assert found.ahead_in_the_end == ["ei", "logei"]
        assert found.ahead_on_average == ["ei", "mes"]
        assert found.verdict == "Better than ours, in the end: EI, LogEI; on average over the run: EI, MES."

    @pytest.mark.parametrize(
        "rival, verdict",
        [
            (level(0.0), "No method does better, in the end or on average over the run."),
            (level(1.0), "No method does better, in the end or on average over the run."),
            (early(-1.0), "Better than ours, on average over the run: EI."),
            (late(-1.0), "Better than ours, in the end: EI."),
        ],
    )
    def test_words(self, rival, verdict):
        (found,) = standings({"branin": {"xstar": level(0.0), "ei": rival}}, ("ei",))
        assert found.verdict == verdict

    def test_without_ours(self):
        assert standings({"branin": {"ei": level(0.0)}}, ("ei",)) == []

    def test_without_rivals(self):
        (found,) = standings({"branin": {"xstar": level(0.0)}}, ("ei",))
        assert found.rivals == {}
        assert found.verdict.startswith("No method does better")

    def test_every_problem_in_its_order(self):
        names = ["hartmann", "branin"]
        assert [s.problem for s in standings({name: {"xstar": level(0.0)} for name in names}, ())] == names


def likenesses(es, pes):
    """Contents of figure 1 with these Pearson correlations."""
    rows = []
    for number, pair in enumerate(zip(es, pes, strict=True)):
        values = dict(zip(("ES", "PES, 2014"), pair, strict=True)) | {"PES of xstar": 0.99}
        rows.append(
            {"data_set": number} | {k: {"pearson": v, "spearman": v / 2, "attained": v / 4} for k, v in values.items()}
        )
    return {"likeness": rows}


class TestLikeness:
    def test_seen(self):
        verdict, sentence, means = likeness_finding(likenesses([0.5, 0.6, 0.7], [0.8, 0.85, 0.9]))
        assert verdict == "seen"
        assert "On 3 of 3 data sets" in sentence
        # Differences 0.3, 0.25, 0.2: the standard error is 0.05 / 3^1/2, the quantile of t with 2 degrees 4.303.
        half = 4.3027 * 0.025 / 3**0.5
        assert "+0.25 (+0.13 to +0.37)" in sentence
        assert "0.500 for ES, 0.800 for PES, 2014, 0.990 for PES of xstar." in sentence
        assert list(means) == list(SURFACES)
        assert means["ES"]["pearson"].middle == pytest.approx(0.6)
        assert means["ES"]["spearman"].middle == pytest.approx(0.3)
        assert means["ES"]["attained"] == pytest.approx((0.15, 0.15 - half, 0.15 + half), abs=1e-4)
        assert means["PES of xstar"]["pearson"] == pytest.approx((0.99, 0.99, 0.99))

    def test_the_opposite(self):
        verdict, sentence, _ = likeness_finding(likenesses([0.8, 0.85, 0.9], [0.5, 0.6, 0.7]))
        assert verdict == "the opposite is seen"
        assert "On 0 of 3 data sets" in sentence

    def test_not_seen(self):
        verdict, sentence, _ = likeness_finding(likenesses([0.5, 0.9, 0.7], [0.9, 0.5, 0.71]))
        assert verdict == "not seen"
        assert "On 2 of 3 data sets" in sentence

    def test_one_data_set_proves_nothing(self):
        verdict, sentence, means = likeness_finding(likenesses([0.1], [0.9]))
        assert verdict == "not seen"
        assert "On 1 of 1 data sets" in sentence
        assert means["ES"]["pearson"].sign == 0
