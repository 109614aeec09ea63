"""The answer in words, and what surprised the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from xstar.beliefs import MOST_SHOWN, OptimumPosterior, ParetoFront
from xstar.errors import TrialError
from xstar.numerics.rounding import between, with_digits, with_sd
from xstar.trial import Recommendation, State, Trial
from xstar.views.report.findings import Findings
from xstar.views.report.markup import element, listed, row, section, table, text

MOST_IN_A_SENTENCE = 6
"""Parameters that a sentence names; more are in the table below it only."""
MOST_LISTED = 12
"""Surprises that are listed."""
STATES: dict[State, str] = {"done": "done", "failed": "failed", "pending": "running", "withdrawn": "withdrawn"}
"""What becomes of trials, as pages say it."""


def answer(findings: Findings) -> str:
    """Return what is recommended, how sure that is, and why the run ended."""
    where = findings.where
    if findings.optimizer.goals is not None and any(trial.state == "done" for trial in findings.optimizer.trials):
        return _of_outputs(findings)
    if where is None:
        return _no_answer(findings)
    best, space, direction = where.recommendation, findings.optimizer.space, findings.optimizer.direction
    free = [name for name in space.parameters if name in space.free]
    if not free:
        point = "There is one point only"
    elif len(free) <= MOST_IN_A_SENTENCE:
        shown = space.show({name: best.params[name] for name in free})
        point = f"To {direction} the value, use {element('strong', text(shown))}"
    else:
        point = f"To {direction} the value, use {element('strong', 'the values in the table')} below"
    sentences = (
        f"{point}. The value there is {element('strong', text(best.value_in_words))}; "
        "± is one standard deviation of the function, not of another noisy evaluation."
    )
    return element("p", sentences, class_="lead") + _facts(findings) + (_parameters(findings) if free else "")


def _of_outputs(findings: Findings) -> str:
    """What is recommended for several outputs, and where it may be, or why that cannot be said yet."""
    optimizer = findings.optimizer
    assert optimizer.goals is not None, "of a study of several outputs"
    try:
        found: Recommendation | ParetoFront = optimizer.pareto() if optimizer.goals.several else optimizer.recommend()
        said = [element("pre", text(str(found))), element("pre", text(str(optimizer.where())))]
    except TrialError as error:
        said = [element("p", text(f"Nothing can be recommended yet: {error}"))]
    return element("p", text(f"To {optimizer.goals}:"), class_="lead") + "".join(said) + _defined(_course(findings))


def _no_answer(findings: Findings) -> str:
    trials = findings.optimizer.trials
    failed = [trial for trial in trials if trial.state == "failed"]
    said = "Nothing can be recommended yet: no value has been told."
    if failed:
        common, count = Counter(trial.reason for trial in failed).most_common(1)[0]
        which = "The evaluation" if len(failed) == 1 else f"All {len(failed)} evaluations"
        often = "" if len(failed) == count else f", {count} of them"
        said = f"Nothing can be recommended yet. {which} failed{often}: {common}."
    return element("p", text(said), class_="lead") + _defined(_course(findings))


def _facts(findings: Findings) -> str:
    assert findings.where is not None
    where, observed = findings.where, findings.optimizer.best_observed
    best, places = where.recommendation, where.places
    if findings.evaluated:
        evaluated = f"yes, in {_links(findings, findings.evaluated)}"
    elif best.confirmed:
        evaluated = "yes"
    elif observed is None:
        evaluated = "not yet; all values told are of points outside the space"
    else:
        tested = findings.optimizer.recommend(tested=True)
        evaluated = (
            "not yet: evaluate the recommended point before you rely on it. The best of the points that were "
            f"evaluated has the value {text(with_sd(tested.mean, tested.sd))}, at "
            f"{text(findings.optimizer.space.show(tested.params))}"
        )
    facts = [("Evaluated", evaluated)]
    if best.feasibility < 1.0:
        facts.append(("Feasible", f"with a probability of {best.feasibility:.0%}"))
    if findings.optimizer.space.free:
        left = f"{where.left_in_words}: how much better than the recommended point the optimum may be"
        facts.append(("Left to gain", text(left)))
        if where.surprise:
            facts.append(("Take care", text(where.surprise)))
        if len(places) > 1:
            facts.append(
                ("How sure", f"the optimum is in one of {len(places)} places, the likeliest with {places[0].share:.0%}")
            )
    if observed is not None:
        lucky = "; one value, with noise the luckiest draw"
        facts.append(
            ("Best observed", f"{text(with_digits(observed.value or 0.0, 6))}, in {findings.link(observed)}{lucky}")
        )
    return _defined([*facts, *_course(findings)])


def _course(findings: Findings) -> list[tuple[str, str]]:
    """How many trials there are, and why there are no more."""
    states = Counter(trial.state for trial in findings.optimizer.trials)
    counts = ", ".join(f"{states[state]} {said}" for state, said in STATES.items() if states[state])
    facts = [("Trials", counts or "none yet")]
    return facts if findings.stop_reason is None else [*facts, ("Why it ended", text(findings.stop_reason))]


def _defined(facts: Iterable[tuple[str, str]]) -> str:
    return element("dl", *(element("div", element("dt", name), element("dd", said)) for name, said in facts))


def _parameters(findings: Findings) -> str:
    """What is recommended of each parameter, and where the optimum may be, place by place if there are several."""
    assert findings.where is not None
    where, space = findings.where, findings.optimizer.space
    places = where.places[:MOST_SHOWN] if len(where.places) > 1 else []
    head = ["parameter", "recommended", "optimum"]
    head += [f"in place {chr(65 + k)}: {place.share:.0%}" for k, place in enumerate(places)]
    rows = []
    for name, parameter in space.parameters.items():
        recommended = text(parameter.show(where.recommendation.params[name]))
        intervals = [where.in_words(name), *(where.in_words(name, 0.9, place) for place in places)]
        cells = intervals if name in space.free else ["fixed", *[""] * len(places)]
        rows.append(row(text(name), recommended, *map(text, cells)))
    return table(
        head, rows, f"What is recommended, and where the optimum is with 90 % probability{_elsewhere(where)}", "texts"
    )


def _elsewhere(where: OptimumPosterior) -> str:
    rest = 1.0 - sum(place.share for place in where.places[:MOST_SHOWN])
    return f" (elsewhere: {rest:.0%})" if len(where.places) > 1 and rest >= 0.005 else ""


def surprises(findings: Findings) -> str:
    """Return which values the model did not expect, and what that may mean."""
    found = findings.calibration
    if findings.optimizer.goals is not None:
        return ""
    if found is None or not len(found):
        said = "Nothing can be predicted from nothing: this needs three values."
        return section("Surprises of the model", element("p", said))
    inside = int(found.inside.sum())
    said = f"Each value is predicted from all the others. {inside} of {len(found)} are within their 95 % intervals"
    if not findings.surprises:
        return section("Surprises of the model", element("p", f"{said}: nothing surprised the model."))
    meant = (
        "One in twenty is expected to be outside. A value far outside may be a slip of the pen, an evaluation that "
        "went wrong, or a place where the function is other than the model thinks."
    )
    listing = [_surprise(findings, trial) for trial in findings.surprises[:MOST_LISTED]]
    more = len(findings.surprises) - len(listing)
    rest = [element("p", f"And {more} more, which are marked in the table.")] if more else []
    return section("Surprises of the model", element("p", f"{said}. {meant}"), listed(listing), *rest)


def _surprise(findings: Findings, trial: Trial) -> str:
    assert findings.calibration is not None
    found = findings.calibration
    k = [one.number for one in found.trials].index(trial.number)
    low, high = between(float(found.low[k]), float(found.high[k]))
    z = float(found.z[k])
    how = f"{'better' if z > 0.0 else 'worse'} than predicted by {abs(z):.2g} standard deviations"
    value = text(with_digits(trial.value or 0.0, 6))
    return f"{findings.link(trial)}: {value}, where {low} to {high} was predicted; {how}"


def _links(findings: Findings, trials: tuple[Trial, ...]) -> str:
    links = [findings.link(trial) for trial in trials[:MOST_SHOWN]]
    more = [f"{len(trials) - MOST_SHOWN} more"] if len(trials) > MOST_SHOWN else []
    *first, last = [*links, *more]
    return f"{', '.join(first)} and {last}" if first else last
