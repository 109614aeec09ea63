"""A definition made by asking: one question after the other, each answer checked before the next."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from xstar.errors import DataError, XstarError
from xstar.files.draft import Draft, DraftParameter
from xstar.files.titles import folded
from xstar.files.written_numbers import NumberFormat

T = TypeVar("T")

KINDS = ("real", "whole", "choices", "levels")
WORTH_A_LOGARITHM = 100.0
"""From this ratio of the bounds on, it is asked whether factors matter."""


@dataclass(frozen=True)
class Interview:
    """Asks a person."""

    ask: Callable[[str], str]
    """Shows a question and returns the answer."""
    say: Callable[[str], None]

    def from_nothing(self) -> Draft:
        """Ask for everything."""
        self.say("Enter takes what stands in brackets; Ctrl-C leaves, and nothing is written.")
        result = self._text("What is measured", "value")
        draft = replace(Draft(()), result=result, unit=self._unit(), direction=self._direction("maximize"))
        parameters: list[DraftParameter] = []
        while True:
            taken = [result, *(parameter.name for parameter in parameters)]
            name = self._name("Name of a parameter" if not parameters else "Another parameter (Enter if not)", taken)
            if name:
                parameters.append(self._parameter(name))
            elif parameters:
                return replace(draft, parameters=tuple(parameters))
            else:
                self.say("  there must be one parameter at least.")

    def from_table(self, draft: Draft, guess: Callable[[str], Draft]) -> Draft:
        """Ask whether what was guessed from a table is right; `guess` guesses again with another result."""
        self.say("Enter takes what stands in brackets; Ctrl-C leaves, and nothing is written.")
        draft = self._valid("Column with the values", draft.result, guess)
        draft = replace(draft, direction=self._direction(draft.direction), direction_comment="")
        kept, unused = [], list(draft.unused)
        for parameter in draft.parameters:
            if self._yes(f'Is "{parameter.name}" varied', True):
                kept.append(self._bounds(parameter) if parameter.kind in ("real", "integer") else parameter)
            else:
                unused.append((parameter.name, "not varied"))
        if not kept:
            raise DataError("nothing is varied then; there is nothing to define.")
        return replace(
            draft, parameters=tuple(kept), unused=tuple(unused), origin=draft.origin.replace("guessed", "made")
        )

    def confirm(self, text: str, path: str) -> bool:
        """Show what would be written, and ask whether it shall be."""
        self.say(f"\n{text}")
        return self._yes(f"Write this to {path}", True)

    def _parameter(self, name: str) -> DraftParameter:
        kind = self._valid(f"  {name} is one of {', '.join(KINDS)}", "real", _one_of(KINDS))
        if kind in ("choices", "levels"):
            what = "separated by commas" + (", from one end to the other" if kind == "levels" else "")
            listed = self._valid(f"  {kind.capitalize()}, {what}", None, lambda text: _listed(name, kind, text))
            return DraftParameter(
                name, "levels" if kind == "levels" else "choices", listed=listed, unit=self._unit("  ")
            )
        own: Literal["integer", "real"] = "integer" if kind == "whole" else "real"
        return self._bounds(DraftParameter(name, own), is_new=True)

    def _bounds(self, parameter: DraftParameter, *, is_new: bool = False) -> DraftParameter:
        """The parameter with bounds that a person has named or accepted."""
        known = not is_new
        low = self._valid(f"  lowest {parameter.name}", parameter.low if known else None, _number(parameter))

        def above(text: str) -> float:
            high = _number(parameter)(text)
            if high <= low:
                raise DataError(f"it must be above {low:g}; received {high:g}.")
            return high

        high = self._valid(f"  highest {parameter.name}", parameter.high if known else None, above)
        log = (
            low > 0.0
            and high / low >= WORTH_A_LOGARITHM
            and self._yes(
                f"  do factors matter, as from {low:g} to {10 * low:g}, rather than differences",
                parameter.log or is_new,
            )
        )
        unit = self._unit("  ") if is_new else parameter.unit
        return replace(parameter, low=low, high=high, log=log, unit=unit, comment="")

    def _direction(self, default: Literal["maximize", "minimize"]) -> Literal["maximize", "minimize"]:
        larger = self._yes("Are larger values better", default == "maximize")
        return "maximize" if larger else "minimize"

    def _name(self, question: str, taken: Iterable[str]) -> str:
        known = {folded(other) for other in taken}

        def new(text: str) -> str:
            if folded(text) in known:
                raise DataError(f"there is {text!r} already.")
            return text

        return self._valid(question, "", new)

    def _unit(self, indent: str = "") -> str | None:
        return self._valid(f"{indent}unit, such as °C or % (Enter for none)", "", str) or None

    def _text(self, question: str, default: str) -> str:
        return self._valid(question, default, str)

    def _yes(self, question: str, default: bool) -> bool:
        words = {"y": True, "yes": True, "j": True, "ja": True, "n": False, "no": False, "nein": False}

        def read(text: str) -> bool:
            if text.lower() not in words:
                raise DataError(f"answer y or n; received {text!r}.")
            return words[text.lower()]

        return self._valid(f"{question}?", "y" if default else "n", read, mark="")

    def _valid(self, question: str, default: Any, read: Callable[[str], T], mark: str = ":") -> T:
        """The answer to a question, which is asked until it can be read."""
        shown = f"{default:g}" if isinstance(default, float) else default
        while True:
            hint = f" [{shown}]" if shown not in (None, "") else ""
            answer = self.ask(f"{question}{hint}{mark} ").strip()
            if not answer and default is None:
                self.say("  an answer is needed.")
                continue
            try:
                if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in answer):
                    raise DataError(f"that has characters in it that are not letters; received {answer!r}.")
                return read(answer or str(default))
            except XstarError as error:
                self.say(f"  {error}")


def _number(parameter: DraftParameter) -> Callable[[str], float]:
    def read(text: str) -> float:
        number = NumberFormat(parameter.name, parameter.unit).read(text)
        if parameter.kind == "integer" and not number.is_integer():
            raise DataError(f"it must be a whole number; received {text!r}.")
        return number

    return read


def _one_of(words: Iterable[str]) -> Callable[[str], str]:
    def read(text: str) -> str:
        found = [word for word in words if word.startswith(text.lower())]
        if len(found) != 1:
            raise DataError(f"answer one of {', '.join(words)}; received {text!r}.")
        return found[0]

    return read


def _listed(name: str, kind: str, text: str) -> tuple[Any, ...]:
    """The alternatives in an answer: numbers if all are."""
    words = [word.strip() for word in text.split(";" if ";" in text else ",") if word.strip()]
    numbers = [_as_number(word) for word in words]
    listed = tuple(words if None in numbers else numbers)
    if len(listed) < 2:
        raise DataError("name two at least.")
    draft = DraftParameter(name, "levels" if kind == "levels" else "choices", listed=listed)
    Draft((draft,), result=f"value of {name}").definition("draft")  # which complains about what makes no sense
    return listed


def _as_number(word: str) -> int | float | None:
    try:
        return int(word)
    except ValueError:
        pass
    try:
        return float(word)
    except ValueError:
        return None
