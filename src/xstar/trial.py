"""What goes in and comes out: trials, recommendations, explanations, where the optimum is.

All of them are records: they change nothing and compute nothing but views of themselves.
"""

from __future__ import annotations

import math
import numbers
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from xstar.cards import card
from xstar.errors import DataError
from xstar.numerics.arrays import HostArray
from xstar.numerics.checks import as_float
from xstar.numerics.rounding import with_digits, with_sd
from xstar.space import Point, same

State = Literal["pending", "done", "failed", "withdrawn"]
STATES: tuple[State, ...] = get_args(State)


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
    diagnostics : dict
        How the suggestion came about: `method` is what chose it, `fallback` why that was not the method asked for;
        how the hyperparameters were inferred (`kernel`, `inference_converged`, `effective_sample_size`, ...); and what
        the method itself has to say.

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

    @property
    def x(self) -> HostArray:
        """The parameters as an array, in their order."""
        return vector(self.params)


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
        And its standard deviation: of the function, not of another noisy evaluation.
    feasibility : float
        The probability that an evaluation there is feasible; 1 if none has failed.
    confirmed : bool
        Whether the point has been evaluated.
    """

    params: Mapping[str, Any]
    mean: float
    sd: float
    feasibility: float = 1.0
    confirmed: bool = False

    @property
    def value_in_words(self) -> str:
        """The value there, and whether it rests on an evaluation."""
        return f"{with_sd(self.mean, self.sd)} ({'evaluated' if self.confirmed else 'not evaluated yet'})"

    def __str__(self) -> str:
        params = ", ".join(f"{name} = {_in_digits(value)}" for name, value in self.params.items())
        return f"{params}: {self.value_in_words}"

    def _repr_html_(self) -> str:
        """For notebooks."""
        rows = [(name, _in_digits(value)) for name, value in self.params.items()]
        sure = f", feasible with {self.feasibility:.0%}" if self.feasibility < 1.0 else ""
        return card("Recommended", rows, f"value {self.value_in_words}{sure}")

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
        What the suggestion was for: to "explore", to "improve" on the best tested point, or to "confirm" the
        recommendation; None if the method has one purpose only.
    gain : float or None
        What the recommendation was known to gain over the best tested point when the suggestion was made, if that was
        looked at.
    left : float or None
        What was expected to be left to find above the best tested point then, likewise.
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

    def __str__(self) -> str:
        return "\n".join(f"{label:<22} {text}" for label, text in self._lines())

    def _repr_html_(self) -> str:
        """For notebooks."""
        params = ", ".join(f"{name} = {_in_digits(value)}" for name, value in self.params.items())
        return card(f"Why {params}", self._lines())

    def _lines(self) -> list[tuple[str, str]]:
        lines = [
            ("expected information", f"{self.bits:.3g} bits about where the optimum is"),
            ("prediction", with_sd(self.mean, self.sd)),
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
        return f"looks for {'a better value' if self.purpose == 'improve' else 'the optimum'}{left}"


@dataclass(frozen=True)
class OptimumPosterior:
    """Where the optimum may be: draws of its place, and of what the recommendation leaves to gain.

    Attributes
    ----------
    params : dict of list
        Sampled optima: for each parameter, its value in every sample.
    regret : ndarray
        How much better the optimum of each sampled function is than its value at the recommendation, in the user's
        units; infinite while all values are the same, because nothing is known of their scale then.
    recommendation : Recommendation
        What the regret is measured from.
    unordered : frozenset of str
        The categorical parameters.
    levels : dict of tuple
        The levels of the ordinal parameters, in their order.

    Examples
    --------
    >>> import xstar
    >>> opt = xstar.Optimizer([(0.0, 1.0)], noise=0.0)
    >>> for x in (0.0, 0.2, 0.4, 0.7, 1.0):
    ...     _ = opt.tell([x], -((x - 0.3) ** 2))
    >>> low, high = opt.where(50).interval("x0", 0.9)
    >>> 0.28 < low < high < 0.32
    True
    """

    params: Mapping[str, list[Any]]
    regret: HostArray
    recommendation: Recommendation
    unordered: frozenset[str] = frozenset()
    levels: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.regret)

    def interval(self, name: str, probability: float = 0.9) -> tuple[Any, Any] | dict[Any, float]:
        """Return the central credible interval of a parameter.

        Parameters
        ----------
        name : str
            Of the parameter.
        probability : float
            That the optimum is inside.

        Returns
        -------
        tuple or dict
            The ends; for a categorical parameter, the probability of each choice seen. Choices that cannot be keys of
            a dictionary are named by their `repr`.
        """
        values = self.params[name]
        if name in self.unordered:
            names = [value if isinstance(value, Hashable) else repr(value) for value in values]
            return {value: count / len(values) for value, count in Counter(names).items()}
        tail = (1.0 - probability) / 2.0
        if name in self.levels:
            levels = self.levels[name]
            ranks = [next(k for k, level in enumerate(levels) if same(level, value)) for value in values]
            ends = np.quantile(ranks, [tail, 1.0 - tail], method="inverted_cdf")
            return levels[int(ends[0])], levels[int(ends[1])]
        whole = all(isinstance(value, int) for value in values)
        low, high = np.quantile(np.array(values, dtype=np.float64), [tail, 1.0 - tail],
                                method="inverted_cdf" if whole else "linear")  # fmt: skip
        return (int(low), int(high)) if whole else (float(low), float(high))

    def intervals(self, probability: float = 0.9) -> dict[str, Any]:
        """Return the credible interval of every parameter, as `interval` has it."""
        return {name: self.interval(name, probability) for name in self.params}

    def _repr_html_(self) -> str:
        """For notebooks."""
        title, *lines = str(self).splitlines()
        rows = [line.strip().split(": ", 1) for line in lines]
        return card(f"Where {title.rstrip(',')}", rows)

    def regret_quantile(self, probability: float = 0.95) -> float:
        """Return how much is left to gain at most, with a probability.

        Parameters
        ----------
        probability : float
            Of the bound.

        Returns
        -------
        float
            In the user's units.
        """
        return float(np.quantile(self.regret, probability, method="higher"))

    def __str__(self) -> str:
        lines = [f"the optimum is, with 90 % probability (from {len(self)} samples),"]
        for name, interval in self.intervals().items():
            if isinstance(interval, dict):
                ranked = sorted(interval.items(), key=lambda item: -item[1])
                shown = ", ".join(f"{value!r} ({share:.0%})" for value, share in ranked[:5])
            else:
                shown = " to ".join(f"{end:.6g}" if isinstance(end, float) else str(end) for end in interval)
            lines.append(f"  {name}: {shown}")
        if np.isinf(self.regret_quantile(0.5)):
            lines.append("left to gain: unknown, because all values are the same")
        else:
            lines.append(f"left to gain: {self.regret_quantile(0.5):.3g} (median), {self.regret_quantile():.3g} (95 %)")
        return "\n".join(lines)


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
        "done": "" if trial.value is None else with_digits(trial.value, 6),
        "failed": f"failed: {trial.reason}",
        "withdrawn": "withdrawn",
    }[trial.state]
    return f"#{trial.number}  {params}  ->  {outcome}"


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else repr(value)


def _in_digits(value: Any) -> str:
    """A parameter in words, where its range is not known."""
    return with_digits(value, 6) if isinstance(value, float) else str(value)
