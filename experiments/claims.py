"""What [HHG14] says about its figures, in our words, and what the results say."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t

from experiments.course import START
from experiments.methods import TITLES as METHODS
from experiments.problems import TITLES as PROBLEMS
from experiments.statistics import LEVEL, UNKNOWN, Comparison, Interval, compare, on_shared
from experiments.store import Results
from experiments.studies import HYDROGEN
from experiments.surfaces import METHODS as SURFACES

OURS = "xstar"


class Claim(NamedTuple):
    """That one method does better than another on some problems."""

    figure: str
    words: str
    problems: tuple[str, ...]
    better: str
    worse: str
    alike: bool = False
    """The claim is that they do equally well."""
    most: bool = False
    """It is made for most of the problems only."""


ANALYTIC = ("branin", "cosines", "hartmann")
SMALL = ("nnet", HYDROGEN, "portfolio")
WALKERS = ("walker-a", "walker-b")
CLAIMS = (
    Claim("figure2", "PES does much better than ES.", ("within-model",), "pes-2014", "es"),
    Claim("figure2", "ES does better than EI.", ("within-model",), "es", "ei"),
    Claim("figure2", "PES does much better than EI.", ("within-model",), "pes-2014", "ei"),
    Claim(
        "figure3",
        "Overall, PES does better than PES-NB: averaging over the hyperparameters pays.",
        ANALYTIC,
        "pes-2014",
        "pes-nb",
    ),
    Claim("figure3", "Overall, PES does better than ES.", ANALYTIC, "pes-2014", "es"),
    Claim("figure3", "PES-NB does better than ES on most functions.", ANALYTIC, "pes-nb", "es", most=True),
    Claim("figure3", "PES does better than EI on Branin and the cosines.", ("branin", "cosines"), "pes-2014", "ei"),
    Claim("figure3", "EI does better than PES on Hartmann-6.", ("hartmann",), "ei", "pes-2014"),
    Claim("figure4", "PES and ES do equally well on the three small problems.", SMALL, "pes-2014", "es", alike=True),
    Claim("figure4", "PES and PES-NB do equally well on them.", SMALL, "pes-2014", "pes-nb", alike=True),
    Claim("figure4", "EI does poorly on them: PES is better.", SMALL, "pes-2014", "ei"),
    Claim("figure4", "EI is best on Walker A; against PES.", ("walker-a",), "ei", "pes-2014"),
    Claim("figure4", "EI is best on Walker A; against PES-NB.", ("walker-a",), "ei", "pes-nb"),
    Claim("figure4", "EI is best on Walker A; against ES.", ("walker-a",), "ei", "es"),
    Claim("figure4", "PES is better than PES-NB on both Walkers.", WALKERS, "pes-2014", "pes-nb"),
    Claim("figure4", "PES is better than ES on both Walkers.", WALKERS, "pes-2014", "es"),
    Claim("figure4", "PES is better than EI on the noisier Walker B.", ("walker-b",), "pes-2014", "ei"),
)


class Finding(NamedTuple):
    """What the results say about a claim."""

    claim: Claim
    verdict: str
    """"seen", "not seen", "the opposite is seen", where it is seen, or why it cannot be told."""
    details: list[str]
    """A sentence for each problem."""
    pairs: dict[str, Comparison]
    """By problem: the one that is said to be better, compared with the other."""


def findings(results: Results) -> list[Finding]:
    """All claims that there are results for."""
    found = []
    for claim in CLAIMS:
        pairs = {
            problem: compare(results[problem][claim.better], results[problem][claim.worse])
            for problem in claim.problems
            if {claim.better, claim.worse} <= results.get(problem, {}).keys()
        }
        if pairs:
            details = [_sentence(claim, problem, pair, results) for problem, pair in pairs.items()]
            found.append(Finding(claim, _verdict(claim, pairs), details, pairs))
    return found


def _verdict(claim: Claim, pairs: dict[str, Comparison]) -> str:
    if all(pair.verdict == UNKNOWN for pair in pairs.values()):
        return UNKNOWN
    seen = [name for name, pair in pairs.items() if (pair.alike if claim.alike else pair.verdict == "better")]
    if len(seen) == len(pairs):
        left = [problem for problem in claim.problems if problem not in pairs]
        return f"seen ({_names(left)} not run)" if left else "seen"
    if claim.alike and all(pair.alike or pair.verdict == "no different" for pair in pairs.values()):
        return "no difference is seen, but more repeats would be needed to exclude one"
    if seen:
        enough = claim.most and 2 * len(seen) > len(pairs)
        return f"seen on {_names(seen)}{'' if enough else ' only'}"
    opposite = not claim.alike and all(pair.verdict == "worse" for pair in pairs.values())
    return "the opposite is seen" if opposite else "not seen"


def _names(problems: list[str]) -> str:
    return " and ".join(PROBLEMS[problem] for problem in problems)


def _sentence(claim: Claim, problem: str, pair: Comparison, results: Results) -> str:
    pairs = on_shared(*(results[problem][name] for name in (claim.better, claim.worse)))
    evaluations = START + pair.evaluations
    medians = [float(np.median(regret[:, -1])) for regret in pairs]
    return (
        f"{PROBLEMS[problem]}: {METHODS[claim.better]} is {pair.verdict}; median regret {medians[0]:.1e} against "
        f"{medians[1]:.1e} after {evaluations} evaluations on {pair.repeats} shared repeats. log10 of the ratio: "
        f"{words(pair.last)} then, {words(pair.run)} on average over the run; {METHODS[claim.better]} has the smaller "
        f"median after {pair.ahead} of {pair.evaluations} evaluations."
    )


def words(interval: Interval) -> str:
    """A difference of logarithms with its interval."""
    return f"{interval.middle:+z.2f} ({interval.low:+z.2f} to {interval.high:+z.2f})"


class Standing(NamedTuple):
    """Ours among all methods on one problem."""

    problem: str
    evaluations: int
    median: float
    rivals: dict[str, tuple[float, Comparison]]
    """Median of each other method after the last evaluation, and ours compared with it."""

    @property
    def ahead_in_the_end(self) -> list[str]:
        """Methods with a smaller median after the last evaluation, by more than chance."""
        return [name for name, (_, pair) in self.rivals.items() if pair.last.sign > 0]

    @property
    def ahead_on_average(self) -> list[str]:
        """Methods with smaller medians on average over the run, by more than chance."""
        return [name for name, (_, pair) in self.rivals.items() if pair.run.sign > 0]

    @property
    def verdict(self) -> str:
        """In a sentence."""
        end, run = ([METHODS[name] for name in names] for names in (self.ahead_in_the_end, self.ahead_on_average))
        if not end and not run:
            return "No method does better, in the end or on average over the run."
        parts = [f"in the end: {', '.join(end)}"] * bool(end) + [f"on average over the run: {', '.join(run)}"] * bool(
            run
        )
        return f"Better than ours, {'; '.join(parts)}."


def standings(results: Results, rivals: tuple[str, ...]) -> list[Standing]:
    """Ours against each of the rivals that were run, on every problem."""
    found = []
    for problem, methods in results.items():
        if OURS not in methods:
            continue
        ours = methods[OURS]
        others = {
            name: (float(np.median(methods[name].regret[:, -1])), compare(ours, methods[name]))
            for name in rivals
            if name in methods and name != OURS
        }
        last = START - 1 + ours.regret.shape[1]
        found.append(Standing(problem, last, float(np.median(ours.regret[:, -1])), others))
    return found


def likeness_finding(content: dict[str, Any]) -> tuple[str, str, dict[str, dict[str, Interval]]]:
    """The claim about figure 1: its verdict, a sentence, and means over data sets with their intervals."""
    rows = content["likeness"]
    means: dict[str, dict[str, Interval]] = {
        name: {key: _mean([row[name][key] for row in rows]) for key in ("pearson", "spearman", "attained")}
        for name in SURFACES
    }
    ahead = _mean([row["PES, 2014"]["pearson"] - row["ES"]["pearson"] for row in rows])
    verdict = {1: "seen", 0: "not seen", -1: "the opposite is seen"}[ahead.sign]
    closer = sum(row["PES, 2014"]["pearson"] > row["ES"]["pearson"] for row in rows)
    sentence = (
        f"On {closer} of {len(rows)} data sets the surface of PES is closer to the truth than that of ES (Pearson "
        f"correlation); the mean difference is {words(ahead)}. In the one that is shown, the correlations are "
        + ", ".join(f"{rows[0][name]['pearson']:.3f} for {name}" for name in SURFACES)
        + "."
    )
    return verdict, sentence, means


def _mean(values: list[float]) -> Interval:
    """With its interval, as of normal values."""
    count, middle = len(values), float(np.mean(values))
    spread = float("inf")
    if count > 1:
        spread = float(t.ppf(0.5 + LEVEL / 2.0, count - 1) * np.std(values, ddof=1) / count**0.5)
    return Interval(middle, middle - spread, middle + spread)
