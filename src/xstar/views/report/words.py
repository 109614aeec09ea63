"""The answer in words, and what surprised the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress

from xstar.beliefs import MOST_SHOWN, OptimumPosterior, ParetoFront
from xstar.errors import TrialError
from xstar.goals import Goals
from xstar.numerics.rounding import between, with_digits, with_sd
from xstar.trial import State, Trial
from xstar.views.figures.outputs import told_in_words
from xstar.views.report.findings import Findings, Surprise
from xstar.views.report.markup import element, listed, row, section, table, text

MOST_IN_A_SENTENCE = 6
"""Parameters that a sentence names; more are in the table below it only."""
SURE = 0.995
"""A probability of feasibility that is as good as one."""
LIKELY = 0.5
"""The probability from which on a recommended point is taken for feasible."""
PLUS_MINUS = "± is one standard deviation of the function, not of another noisy evaluation."
MOST_LISTED = 12
"""Surprises that are listed."""
STATES: dict[State, str] = {"done": "done", "failed": "failed", "pending": "running", "withdrawn": "withdrawn"}
"""What becomes of trials, as pages say it."""


def answer(findings: Findings) -> str:
    """Return what is recommended, how sure that is, and why the run ended."""
    where = findings.where
    if where is None:
        return _no_answer(findings)
    if findings.front is not None:
        return _compromises(findings, findings.front)
    best, space, goals = where.recommendation, findings.optimizer.space, findings.optimizer.goals
    aim = f"To {findings.optimizer.direction} the value" if goals is None else f"To {_wanted(goals)}"
    free = [name for name in space.parameters if name in space.free]
    if not free:
        point = "There is one point only"
    elif len(free) <= MOST_IN_A_SENTENCE:
        shown = space.show({name: best.params[name] for name in free})
        point = f"{aim}, use {element('strong', text(shown))}"
    else:
        point = f"{aim}, use {element('strong', 'the values in the table')} below"
    if goals is not None and best.feasibility < LIKELY:
        point = f"No point is likely to be feasible yet, and this one is the likeliest. {point}"
    there = "The value there is" if goals is None else "There, the model predicts"
    sentences = f"{point}. {there} {element('strong', text(best.value_in_words))}; {PLUS_MINUS}"
    return element("p", sentences, class_="lead") + _facts(findings) + (_parameters(findings) if free else "")


def _wanted(goals: Goals) -> str:
    """What is wanted of all outputs."""
    *others, last = [f"{item.direction} {name}" for name, item in goals.objectives.items()]
    bounds = [f"{name} {item}" for name, item in goals.constraints.items()]
    wanted = text(f"{', '.join(others)} and {last}" if others else last)
    return f"{wanted} with {text(' and '.join(bounds))}" if bounds else wanted


def _compromises(findings: Findings, front: ParetoFront) -> str:
    """The answer where there are several objectives: a table of what to choose from."""
    assert findings.where is not None
    where, goals = findings.where, front.goals
    count = len(front)
    likely = max(point.feasibility for point in front.recommended) >= LIKELY
    several = element("strong", "one point" if count == 1 else f"{count} compromises")
    lead = f"To {_wanted(goals)}, there {'is' if count == 1 else 'are'} {several} to choose from, in the table below"
    if not likely:
        lead = f"No point is likely to be feasible yet; to {_wanted(goals)}, the likeliest one is in the table below"
    facts = []
    tested = sum(point.confirmed for point in front.recommended)
    facts.append(("Evaluated", f"{tested} of {count}; evaluate a point before you rely on it"))
    if not _all_sure(front):
        least = min(point.feasibility for point in front.recommended)
        facts.append(("Feasible", f"with a probability of {least:.0%}{' or more' if count > 1 else ''}"))
    if findings.optimizer.space.free and likely:
        left = f"{where.left_in_words}: how much more the best compromises may dominate than the recommended ones"
        facts.append(("Left to gain", text(left)))
        if where.surprise:
            facts.append(("Take care", text(where.surprise)))
    if front.trials:
        start = ", ".join(f"{name} {with_digits(value, 3)}" for name, value in front.reference.items())
        said = text(f"{with_digits(front.hypervolume, 4)}, measured from {start}")
        facts.append(("Hypervolume", f"{said}: what the trials dominate"))
        facts.append(("Not dominated", f"{_links(findings, front.trials)}, by the values told"))
    elif goals.constraints:
        facts.append(("Not dominated", "no trial is within all bounds"))
    return element("p", f"{lead}; {PLUS_MINUS}", class_="lead") + _defined([*facts, *_course(findings)]) + _front(
        findings, front
    )  # fmt: skip


def _all_sure(front: ParetoFront) -> bool:
    return all(point.feasibility >= SURE for point in front.recommended)


def _front(findings: Findings, front: ParetoFront) -> str:
    """The recommended compromises, the best one in the first objective first."""
    space = findings.optimizer.space
    free = [name for name in space.parameters if name in space.free]
    chance = [] if _all_sure(front) else ["feasible"]
    head = ["compromise", *map(text, front.goals.names), *map(text, free), *chance, "evaluated"]
    rows = []
    for k, point in enumerate(front.in_order):
        trials = findings.evaluated_at(point.params)
        cells = [
            *(text(output) for output in point.outputs.values()),
            *(text(space.parameters[name].show(point.params[name])) for name in free),
            *([] if _all_sure(front) else [f"{point.feasibility:.0%}"]),
            _links(findings, trials) if trials else "not yet",
        ]
        rows.append(row(str(k + 1), *cells))
    return table(head, rows, "Recommended compromises, with what the model predicts of all outputs", "texts")


def _no_answer(findings: Findings) -> str:
    optimizer = findings.optimizer
    trials = optimizer.trials
    failed = [trial for trial in trials if trial.state == "failed"]
    said = "Nothing can be recommended yet: no value has been told."
    if optimizer.goals is not None and any(trial.values for trial in trials):
        told = {name for trial in trials for name in trial.values}
        missing = ", ".join(name for name in optimizer.goals.names if name not in told)
        return element(
            "p", text(f"Nothing can be recommended yet: nothing has been told of {missing}."), class_="lead"
        ) + _defined(_course(findings))
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
    elif observed is None and findings.optimizer.goals is None:
        evaluated = "not yet; all values told are of points outside the space"
    elif observed is None:
        evaluated = "not yet: evaluate the recommended point before you rely on it. No trial is within all bounds"
    else:
        evaluated = "not yet: evaluate the recommended point before you rely on it."
        with suppress(TrialError):  # told within all bounds, no point need be likely to be
            tested = findings.optimizer.recommend(tested=True)
            evaluated = (
                f"{evaluated} The best of the points that were evaluated has the value "
                f"{text(with_sd(tested.mean, tested.sd))}, at {text(findings.optimizer.space.show(tested.params))}"
            )
    facts = [("Evaluated", evaluated)]
    likely = best.feasibility >= LIKELY
    if best.feasibility < (1.0 if findings.optimizer.goals is None else SURE):
        facts.append(("Feasible", f"with a probability of {best.feasibility:.0%}"))
    if findings.optimizer.space.free and (likely or findings.optimizer.goals is None):
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
        facts.append(("Best observed", f"{text(told_in_words(observed, 6))}, in {findings.link(observed)}{lucky}"))
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
    found = list(findings.calibrations.values())
    if not found:
        said = "Nothing can be predicted from nothing: this needs three values."
        return section("Surprises of the model", element("p", said))
    inside, count = sum(int(one.inside.sum()) for one in found), sum(map(len, found))
    said = f"Each value is predicted from all the others. {inside} of {count} are within their 95 % intervals"
    if not findings.surprises:
        return section("Surprises of the model", element("p", f"{said}: nothing surprised the model."))
    meant = (
        "One in twenty is expected to be outside. A value far outside may be a slip of the pen, an evaluation that "
        "went wrong, or a place where the function is other than the model thinks."
    )
    listing = [_surprise(findings, surprise) for surprise in findings.surprises[:MOST_LISTED]]
    more = len(findings.surprises) - len(listing)
    rest = [element("p", f"And {more} more, which are marked in the table.")] if more else []
    return section("Surprises of the model", element("p", f"{said}. {meant}"), listed(listing), *rest)


def _surprise(findings: Findings, surprise: Surprise) -> str:
    low, high = between(surprise.low, surprise.high)
    z = surprise.z
    how = f"{'better' if z > 0.0 else 'worse'} than predicted by {abs(z):.2g} standard deviations"
    value = text(f"{surprise.output} {with_digits(surprise.value, 6)}".lstrip())
    return f"{findings.link(surprise.trial)}: {value}, where {low} to {high} was predicted; {how}"


def _links(findings: Findings, trials: tuple[Trial, ...]) -> str:
    links = [findings.link(trial) for trial in trials[:MOST_SHOWN]]
    more = [f"{len(trials) - MOST_SHOWN} more"] if len(trials) > MOST_SHOWN else []
    *first, last = [*links, *more]
    return f"{', '.join(first)} and {last}" if first else last
