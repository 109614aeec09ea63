"""What goes in and comes out: trials, recommendations, explanations.

All of them are records: they change nothing and compute nothing but views of themselves.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from xstar.cards import card
from xstar.errors import DataError
from xstar.numerics.arrays import HostArray
from xstar.numerics.checks import as_float
from xstar.numerics.rounding import with_digits, with_sd
from xstar.space import Point

State = Literal["pending", "done", "failed", "withdrawn"]
STATES: tuple[State, ...] = get_args(State)
EXTRAPOLATED = ", far beyond every value told"
"""What is said of a prediction that nothing like it supports."""
SURE = 0.995
"""A probability of feasibility that is as good as one, in words."""


@dataclass(frozen=True)
class Trial:
    """One evaluation: asked for, told, failed or withdrawn.

    Attributes
    ----------
    number : int
        Counted from 0.
    params : dict
        The parameters, in the user's units.
    state : {"pending", "done", "failed", "withdrawn"}
        What has become of it.
    value : float or None
        What was told.
    sd : float or None
        The standard deviation of the value's noise, if it was told.
    reason : str or None
        Why it failed or was withdrawn.
    values : dict of float
        The outputs told, by name, where there are several; `value` is then that of a single objective.
    sds : dict of float
        The standard deviations of their noise, as far as told.
    diagnostics : dict
        How the suggestion came about: `method` is what chose it, `fallback` why that was not the method asked for;
        how the hyperparameters were inferred (`kernel`, `inference_converged`, `effective_sample_size`, ...); what
        the model predicted (`predicted_mean` and `predicted_sd` of the function, `predicted_noise` of a value, in the
        user's units), against which the value will be held; and what the method itself has to say.

    Examples
    --------
    >>> import xstar
    >>> trial = xstar.Optimizer([(0.0, 1.0)]).ask()
    >>> trial.state, trial.diagnostics["method"]
    ('pending', 'space-filling')
    """

    number: int
    params: Mapping[str, Any]
    state: State = "pending"
    value: float | None = None
    sd: float | None = None
    reason: str | None = None
    diagnostics: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    values: Mapping[str, float] = field(default_factory=dict)
    sds: Mapping[str, float] = field(default_factory=dict, repr=False)

    @property
    def x(self) -> HostArray:
        """The parameters as an array, in their order."""
        return vector(self.params)


class Forecast(NamedTuple):
    """An output as the model predicts it.

    Attributes
    ----------
    mean : float
        The posterior mean, in the user's units.
    sd : float
        The standard deviation of the function.
    bits : float or None
        The information about the place of the optimum that its value is expected to give, if that was asked for.
    """

    mean: float
    sd: float
    bits: float | None = None

    def __str__(self) -> str:
        return with_sd(self.mean, self.sd)


@dataclass(frozen=True)
class Value:
    """What was measured, with the standard deviation of its noise.

    Parameters
    ----------
    value : float or None
        NaN, infinite values and None are failures.
    sd : float, optional
        Of the value's noise; by default it is learned.

    Raises
    ------
    DataError
        If one of them is not a number.

    Examples
    --------
    >>> import xstar
    >>> opt = xstar.Optimizer([(0.0, 1.0)])
    >>> opt.tell([0.5], xstar.Value(3.2, sd=0.1)).sd
    0.1
    """

    value: float | None
    sd: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", check_value(self.value))
        object.__setattr__(self, "sd", None if self.sd is None else check_sd(self.sd, "sd"))


@dataclass(frozen=True)
class Recommendation:
    """The point to use: the best posterior mean, of all points or of those that were evaluated.

    Attributes
    ----------
    params : dict
        The parameters, in the user's units.
    mean : float
        The posterior mean there, in the units of the values.
    sd : float
        And its standard deviation: of the function, not of another noisy evaluation. It is a claim, made with half of
        the evidence for hyperparameters (`ModelSettings.claims_power`), so `Optimizer.predict` may say less.
    feasibility : float
        The probability that an evaluation there is feasible; 1 if none has failed.
    confirmed : bool
        Whether the point has been evaluated.
    extrapolated : bool
        Whether the mean is farther from all values told than they are from each other.
    shown : dict of str
        The parameters as people write them: with units, and no more digits than mean something.
    outputs : dict of Forecast
        Where there are several outputs, each of them; `mean` and `sd` are then those of the first objective, and
        `feasibility` is the probability that all constraints hold, too.
    """

    params: Mapping[str, Any]
    mean: float
    sd: float
    feasibility: float = 1.0
    confirmed: bool = False
    extrapolated: bool = False
    shown: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    outputs: Mapping[str, Forecast] = field(default_factory=dict, compare=False, repr=False)

    @property
    def params_in_words(self) -> list[tuple[str, str]]:
        """The parameters as people write them."""
        return _in_words(self.params, self.shown)

    @property
    def value_in_words(self) -> str:
        """The value there, and whether it rests on an evaluation."""
        known = "evaluated" if self.confirmed else "not evaluated yet"
        told = ", ".join(f"{name} {with_sd(output.mean, output.sd)}" for name, output in self.outputs.items())
        return f"{told or with_sd(self.mean, self.sd)} ({known}{EXTRAPOLATED if self.extrapolated else ''})"

    def __str__(self) -> str:
        params = ", ".join(f"{name} = {text}" for name, text in self.params_in_words)
        sure = f", feasible with {self.feasibility:.0%}" if self.outputs and self.feasibility < SURE else ""
        return f"{params}: {self.value_in_words}{sure}"

    def _repr_html_(self) -> str:
        """For notebooks."""
        rows = self.params_in_words
        sure = f", feasible with {self.feasibility:.0%}" if self.feasibility < 1.0 else ""
        value = "" if self.outputs else "value "
        return card("Recommended", rows, f"{value}{self.value_in_words}{sure}")

    @property
    def x(self) -> HostArray:
        """The parameters as an array, in their order."""
        return vector(self.params)


@dataclass(frozen=True)
class Explanation:
    """Why a point is worth evaluating, given the data without its own result; printed, it is said in words.

    Attributes
    ----------
    params : dict
        The point.
    bits : float
        The information about the place of the optimum that its result is expected to give.
    mean : float
        The predicted value, in the user's units.
    sd : float
        The standard deviation of the function there, likewise.
    nearest : float
        Distance to the nearest told point, failures included, in the unit cube.
    exploration : float
        How unknown the place is: the share of the prior variance that the data have left, from 0 to 1.
    feasibility : float
        The probability that the evaluation is feasible; 1 if none has failed.
    method : str or None
        The method that made the suggestion, or a simpler one that it fell back to; None if it was not asked for.
    fallback : str or None
        Why it fell back.
    purpose : str or None
        What the suggestion was for: to "explore", to "improve" on the best tested point, to "confirm" the
        recommendation, or to find something "feasible"; None if the method has one purpose only.
    gain : float or None
        What the recommendation was known to gain over the best tested point when the suggestion was made, if that was
        looked at.
    left : float or None
        What was expected to be left to find above the best tested point then, likewise.
    extrapolated : bool
        Whether the predicted value is farther from all values told than they are from each other.
    shown : dict of str
        The point as people write it: with units, and no more digits than mean something.
    outputs : dict of Forecast
        Where there are several outputs, each of them with the bits that its value is expected to give; `mean` and `sd`
        are then those of the first objective, and `feasibility` is the probability that all constraints hold, too.
    """

    params: Mapping[str, Any]
    bits: float
    mean: float
    sd: float
    nearest: float
    exploration: float
    feasibility: float
    method: str | None
    fallback: str | None
    purpose: str | None = None
    gain: float | None = None
    left: float | None = None
    extrapolated: bool = False
    shown: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    outputs: Mapping[str, Forecast] = field(default_factory=dict, compare=False, repr=False)

    def __str__(self) -> str:
        return "\n".join(f"{label:<22} {text}" for label, text in self.lines)

    def _repr_html_(self) -> str:
        """For notebooks."""
        params = ", ".join(f"{name} = {text}" for name, text in _in_words(self.params, self.shown))
        return card(f"Why {params}", self.lines)

    @property
    def lines(self) -> list[tuple[str, str]]:
        """What is said, line by line: a label and a text."""
        lines = [
            ("expected information", f"{self.bits:.3g} bits about where the optimum is"),
            *(self._outputs or [("prediction", with_sd(self.mean, self.sd) + self._beyond)]),
            ("place", f"{self.nearest:.3f} from the nearest told point (in the unit cube)"),
            ("exploration", f"{self.exploration:.0%} of what could be known there is still unknown"),
        ]
        if self.feasibility < 1.0:
            lines.append(("P(feasible)", f"{self.feasibility:.0%}"))
        if self.method is not None:
            lines.append(("suggested by", self.method + (f" ({self.fallback})" if self.fallback else "")))
        if self.reason is not None:
            lines.append(("purpose", self.reason))
        return lines

    @property
    def _beyond(self) -> str:
        return EXTRAPOLATED if self.extrapolated else ""

    @property
    def _outputs(self) -> list[tuple[str, str]]:
        """A line for each of several outputs."""
        return [
            (name, with_sd(output.mean, output.sd) + ("" if output.bits is None else f", {output.bits:.3g} bits"))
            for name, output in self.outputs.items()
        ]

    @property
    def reason(self) -> str | None:
        """What the suggestion was for, in words; None if the method has one purpose only."""
        if self.purpose is None:
            return None
        if self.purpose == "confirm":
            gain = "" if self.gain is None else f": {self.gain:+.2g} expected"
            beyond = None if self.gain is None or self.left is None else max(self.left - self.gain, 0.0)
            return f"confirms the recommendation{gain}" + (
                "" if beyond is None else f", {beyond:.2g} may be left beyond it"
            )
        left = "" if self.left is None else f": {self.left:.2g} may be left above the best tested point"
        return f"looks for {SOUGHT[self.purpose]}{left}"


SOUGHT = {"improve": "a better value", "explore": "the optimum", "feasible": "a point where all constraints hold"}
"""The purposes of a suggestion, but for a confirmation, in words."""
TrialLike: TypeAlias = Trial | int | Point
"""A trial, its number, or parameters."""


def vector(params: Mapping[str, Any]) -> HostArray:
    """Values as an array: of numbers, or of objects where some are none."""
    values = list(params.values())
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return np.array(values, dtype=None if numeric else object)


def renamed_diagnostics(diagnostics: Mapping[str, Any]) -> dict[str, Any]:
    """Return the diagnostics of a trial by their present names: studies from before 0.1.0 have others."""
    return {{"rung": "method", "why": "fallback"}.get(key, key): value for key, value in diagnostics.items()}


class Prediction(NamedTuple):
    """What was predicted of a trial before its value was told, in the user's units."""

    mean: float
    sd: float
    """Of the function."""
    noise: float
    """Of a value."""

    @classmethod
    def of(cls, trial: Trial) -> Prediction | None:
        """Return that of a trial; None if no model suggested it, or what a file says of it makes no sense."""
        told = [trial.diagnostics.get(name) for name in PREDICTED]
        numeric = [float(part) for part in told if isinstance(part, int | float) and math.isfinite(part)]
        return cls(*numeric) if len(numeric) == len(told) and min(numeric[1:]) >= 0.0 else None

    def as_diagnostics(self) -> dict[str, float]:
        """Return it as a trial's diagnostics keep it."""
        return dict(zip(PREDICTED, self, strict=True))


PREDICTED = tuple(f"predicted_{name}" for name in Prediction._fields)
"""The diagnostics of a trial that are its prediction."""


def check_sd(sd: Any, name: str) -> float:
    """A standard deviation."""
    real = isinstance(sd, numbers.Real) and not isinstance(sd, bool | np.bool_)
    if not real or not 0.0 <= as_float(sd) < math.inf:
        raise DataError(f"{name} must be a standard deviation, a number >= 0; received {sd!r}.")
    return float(sd)


def check_value(value: Any) -> float | None:
    """The value as a float; None if it stands for a failure."""
    if value is None:
        return None
    try:
        # Arrays and tensors of one element, on whatever device, have an item.
        number = value.item() if hasattr(value, "item") else value
        if isinstance(number, bool) or not isinstance(number, numbers.Real):
            raise TypeError
        return float(number) if math.isfinite(number) else None
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise DataError(f"a value must be one number; received {value!r}.") from error


def summarize(trial: Trial) -> str:
    """One line about a trial."""
    params = ", ".join(f"{name}={_short(value)}" for name, value in trial.params.items())
    outcome = {
        "pending": "pending",
        "done": _told(trial),
        "failed": f"failed: {trial.reason}",
        "withdrawn": "withdrawn",
    }[trial.state]
    return f"#{trial.number}  {params}  ->  {outcome}"


def _told(trial: Trial) -> str:
    """What was told: the value, or every output by its name."""
    if trial.values:
        return ", ".join(f"{name} {with_digits(value, 6)}" for name, value in trial.values.items())
    return "" if trial.value is None else with_digits(trial.value, 6)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else repr(value)


def _in_words(params: Mapping[str, Any], shown: Mapping[str, str]) -> list[tuple[str, str]]:
    """Names with values as people write them; to six digits where nothing is known of a parameter."""
    return [
        (name, shown.get(name) or (with_digits(value, 6) if isinstance(value, float) else str(value)))
        for name, value in params.items()
    ]
