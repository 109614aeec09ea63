"""What can be asked of a study, and told to it, one command at a time."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

from xstar.cli.console import Console
from xstar.cli.studies import Opened
from xstar.cli.trials import begin, check_not_exhausted, find
from xstar.cli.trials import tell as end_trial
from xstar.direction import Direction
from xstar.errors import DataError, SettingsError, SpaceError, SpaceExhausted, TrialError
from xstar.files.atomic import write_text
from xstar.files.definition import Definition
from xstar.files.tables import FAILURES, read_cell
from xstar.integrations.optuna.records import ADDED, REASON, SD, WITHDRAWN, known_params, shared, to_space
from xstar.optimizer import Optimizer
from xstar.space import Space
from xstar.trial import State, Trial, check_sd, check_value, summarize

WORDS = {
    TrialState.COMPLETE: "done", TrialState.FAIL: "failed", TrialState.RUNNING: "running",
    TrialState.WAITING: "waiting", TrialState.PRUNED: "pruned",
}  # fmt: skip


def ask(opened: Opened, console: Console, count: int | None) -> None:
    """The next trials: their numbers and parameters."""
    asked: list[optuna.Trial] = []
    for _ in range(count or 1):
        try:
            check_not_exhausted(opened)
        except SpaceExhausted:
            if not asked:
                raise
            break
        asked.append(begin(opened))
    answers = [{"number": trial.number, "params": trial.params} for trial in asked]
    text = "\n".join(f"trial {trial.number}\n{_listed(trial.params)}" for trial in asked)
    console.answer(text, answers[0] if count is None else answers)


@dataclass(frozen=True)
class Told:
    """A result as it was typed in: of a trial by its number, or of parameters as name=value."""

    number: int | None
    pairs: tuple[str, ...]
    value: float | None
    """None for a failure."""
    sd: float | None
    reason: str | None

    @classmethod
    def read(cls, what: Sequence[str], value: str, sd: float | None, reason: str | None) -> Told:
        """Complain about what is no result, whatever the study."""
        number = check_value(_number(value))
        if number is None and reason is None:
            reason = f"value was {value.strip()}"
        if not what:
            raise DataError("of which trial? Give its number, or all its parameters as name=value, before the value.")
        whole = int(what[0]) if _is_number(what) else None
        return cls(whole, tuple(what), number, None if sd is None else check_sd(sd, "sd"), reason)

    def check(self, reference: str) -> None:
        """Complain about parameters that a definition does not have, before a study is made for it."""
        if self.number is None and reference.endswith(".toml"):
            _parse(self.pairs, Definition.read(reference).space)


def tell(opened: Opened, console: Console, told: Told) -> None:
    """Record a result."""
    if told.number is not None:
        known = find(opened, told.number)
        if known.state != TrialState.RUNNING:
            raise TrialError(
                f"trial {told.number} is {WORDS[known.state]} already; tell its parameters (name=value ...) to add "
                "another result."
            )
        number, params = told.number, known.params
        end_trial(opened, number, told.value, told.sd, told.reason)
    else:
        distributions = opened.distributions
        params = _parse(told.pairs, to_space(distributions))
        number = _add(opened, distributions, params, told.value, told.sd, told.reason)
    state: State = "failed" if told.value is None else "done"
    trial = Trial(number, params, state, told.value, told.sd, told.reason)
    console.answer(summarize(trial), asdict(trial))


def _add(
    opened: Opened, distributions: Mapping[str, BaseDistribution], params: Mapping[str, Any], value: float | None,
    sd: float | None, reason: str | None,
) -> int:  # fmt: skip
    """Complete the running trial with these parameters, or add one that nobody asked for; returns its number."""
    space = to_space(distributions)
    for trial in opened.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        own = known_params(trial, distributions)
        if own.keys() >= params.keys() and space.same(own, params):
            end_trial(opened, trial.number, value, sd, reason)
            return trial.number
    attributes: dict[str, Any] = {ADDED: True} if sd is None else {ADDED: True, SD: sd}
    if reason is not None:
        attributes[REASON] = reason
    added = optuna.trial.create_trial(
        params=dict(params),
        distributions={name: _widened(distributions[name], params[name]) for name in params},
        value=value,
        state=TrialState.FAIL if value is None else TrialState.COMPLETE,
        user_attrs=attributes,
    )
    storage = opened.study._storage
    return storage.get_trial(storage.create_new_trial(opened.study._study_id, added)).number


def _widened(distribution: BaseDistribution, value: Any) -> BaseDistribution:
    """The distribution, or one that has room for data from outside it."""
    if isinstance(distribution, FloatDistribution | IntDistribution) and not distribution._contains(value):
        low, high = min(distribution.low, value), max(distribution.high, value)
        return type(distribution)(low, high, log=distribution.log)
    return distribution


def status(opened: Opened, console: Console) -> None:
    """How the study stands."""
    study = opened.study
    trials = study.get_trials(deepcopy=False)
    withdrawn = sum(WITHDRAWN in trial.user_attrs for trial in trials)
    counts = {word: sum(trial.state == state for trial in trials) for state, word in WORDS.items()}
    counts["failed"] -= withdrawn
    counts["withdrawn"] = withdrawn
    done = [trial for trial in trials if trial.state == TrialState.COMPLETE and math.isfinite(trial.value or 0.0)]
    direction = study.direction.name.lower()
    best = Direction.parse(direction).best(done, lambda trial: trial.value or 0.0)
    running = [trial.number for trial in trials if trial.state == TrialState.RUNNING]
    data = {
        "study": study.study_name,
        "storage": opened.address,
        "direction": direction,
        "trials": {word: count for word, count in counts.items() if count},
        "running": running,
        "best": None if best is None else {"number": best.number, "value": best.value, "params": best.params},
    }
    lines = [
        f"{study.study_name}: to {direction}, in {opened.address}",
        ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "no trials yet",
    ]
    if running:
        lines.append(f"running: {', '.join(f'#{number}' for number in running)}")
    if best is not None:
        lines.append(f"best observed: {best.value!r} in trial {best.number}\n{_listed(best.params)}")
    console.answer("\n".join(lines), data)


def recommend(opened: Opened, console: Console, **more: Any) -> None:
    """The point with the best posterior mean, and whatever else an answer in JSON should have."""
    best = _told(opened).recommend()
    likely = "" if best.feasibility == 1.0 else f"\nP(feasible) {best.feasibility:.0%}"
    console.answer(
        f"{_listed(best.params)}\nvalue there: {best.mean:.6g} ± {best.sd:.2g}{likely}", {**asdict(best), **more}
    )


def where(opened: Opened, console: Console, samples: int) -> None:
    """What is known about the place of the optimum."""
    found = _told(opened).where(samples)
    data = {
        "intervals": {
            name: {str(choice): share for choice, share in interval.items()} if isinstance(interval, dict) else interval
            for name, interval in found.intervals().items()
        },
        "probability": 0.9,
        "left_to_gain": {"median": found.regret_quantile(0.5), "95%": found.regret_quantile(0.95)},
        "recommendation": asdict(found.recommendation),
        "samples": found.params,
    }
    console.answer(str(found), data)


def explain(opened: Opened, console: Console, what: Sequence[str]) -> None:
    """Why a trial, or some parameters, are worth evaluating."""
    optimizer = _told(opened)
    if _is_number(what):
        explanation = optimizer.explain(int(what[0]))
    else:
        explanation = optimizer.explain(_parse(what, optimizer.space))
    console.answer(f"{_listed(explanation.params)}\n{explanation}", asdict(explanation))


def export(opened: Opened, console: Console, target: str) -> None:
    """Write the study to a file: a table (.csv, or - for standard output), a page (.html), a picture, or .json.

    The JSON file is one that `Optimizer.load` reads.
    """
    if target == "-":
        console.answer(_table(opened).rstrip("\n"), _rows(opened))
        return
    path = Path(target)
    if path.suffix == ".csv":
        write_text(path, _table(opened))
    elif path.suffix == ".json":
        _told(opened).save(path)
    elif path.suffix == ".html":
        from xstar.report import write_report

        write_report(_told(opened), path)
    elif path.suffix in (".png", ".svg", ".pdf"):
        from xstar.plots import draw

        draw(_told(opened), path)
    else:
        raise SettingsError(
            f"{target!r} should end in .csv, .json, .html, .png, .svg or .pdf, which says what to write."
        )
    console.answer(f"wrote {target}", {"wrote": target})


def _told(opened: Opened) -> Optimizer:
    optimizer = opened.optimizer()
    if not any(trial.state == "done" for trial in optimizer.trials):
        complete = len(opened.study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)))
        why = f"none of its {complete} results has all of {', '.join(optimizer.space.parameters)}" if complete else ""
        raise TrialError(f"the study {opened.study.study_name!r} has no results yet{f': {why}' if why else ''}.")
    return optimizer


def _rows(opened: Opened) -> list[dict[str, Any]]:
    rows = []
    for trial in opened.study.get_trials(deepcopy=False):
        rows.append(
            {
                "trial": trial.number,
                "state": "withdrawn" if WITHDRAWN in trial.user_attrs else WORDS[trial.state],
                **{
                    _column(name): value
                    for name, value in {**trial.system_attrs.get("fixed_params", {}), **trial.params}.items()
                },
                "value": trial.value if trial.state == TrialState.COMPLETE else None,
                "sd": trial.user_attrs.get(SD),
                "reason": trial.user_attrs.get(WITHDRAWN, trial.user_attrs.get(REASON)),
                "suggested by": shared(trial).get("method", shared(trial).get("rung")),
            }
        )
    return rows


FIRST, LAST = ["trial", "state"], ["value", "sd", "reason", "suggested by"]
"""Columns of a table, before and after the parameters."""


def _column(name: str) -> str:
    """The column of a parameter, which may be named like one of ours."""
    return f"{name} (parameter)" if name in [*FIRST, *LAST] else name


def _table(opened: Opened) -> str:
    rows = _rows(opened)
    named = dict.fromkeys(name for row in rows for name in row if name not in [*FIRST, *LAST])
    header = [*FIRST, *named, *LAST]
    text = io.StringIO()
    writer = csv.DictWriter(text, header, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _parse(pairs: Sequence[str], space: Space) -> dict[str, Any]:
    """Parameters from name=value pairs."""
    names = list(space.parameters)
    given = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise DataError(f"{pair!r} is neither the number of a trial nor a parameter such as {names[0]}=...")
        if name not in space.parameters:
            raise SpaceError(f"there is no parameter {name!r}; the parameters are {', '.join(names)}.")
        if name in given:
            raise SpaceError(f"the parameter {name!r} is given twice.")
        try:
            given[name] = read_cell(text, space.parameters[name], name)
        except DataError as error:
            raise DataError(str(error).replace("column ", "parameter ", 1)) from error
    return space.accept(given)


def _is_number(what: Sequence[str]) -> bool:
    return len(what) == 1 and what[0].strip().isdecimal()


def _number(text: str) -> float | None:
    """The value; None for a word that means failure."""
    if text.strip().lower() in FAILURES:
        return None
    try:
        return float(text)
    except ValueError as error:
        raise DataError(f"the value must be a number; received {text!r}.") from error


def _listed(params: Mapping[str, Any]) -> str:
    width = max(map(len, params), default=0)
    return "\n".join(f"  {name:<{width}} = {value}" for name, value in params.items())
