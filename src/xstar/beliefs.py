"""What a model believes, as records: where the optimum is, which parameters matter, how well it predicts.

OptimumPosterior    draws of the optimum; the places they fall into, credible intervals, what is left to gain
ParetoFront         the best compromises between several objectives; FrontPosterior, draws of them
Importance          the share of the function, and of the information, that each parameter has a part in
Calibration         every value told beside its prediction from all others
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from xstar.cards import card
from xstar.goals import Goals
from xstar.numerics.arrays import HostArray
from xstar.numerics.pareto import hypervolume
from xstar.numerics.rounding import between, with_digits
from xstar.space import Categorical, Ordinal, Real, Space, same
from xstar.trial import Recommendation, Trial

RECENT, SURPRISING = 10, 0.025
"""Values that are looked at, and how improbable it must be that so many of them are outside their intervals."""
FEW = 5
"""Values that were predicted before they were told: with fewer, those predicted from all the others are looked at."""
MOST_SHOWN = 5
"""Choices that are named with their probabilities, and places that are listed."""
MOST_COMPROMISES = 8
"""Points of a front that are listed in words: the first ones, which are far from each other."""


class Place(NamedTuple):
    """One of the places where the optimum may be.

    Attributes
    ----------
    share : float
        The probability that it is there.
    params : dict
        The sampled optimum in the middle of the place.
    samples : tuple of int
        Which of the sampled optima are there.
    """

    share: float
    params: Mapping[str, Any]
    samples: tuple[int, ...]


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
    space : Space or None
        Of the parameters.
    places : list of Place
        Where the sampled optima are close together: one place, or several of which one has the optimum. Those with
        less than 5 % of the samples are left out.
    surprise : str
        What is to be said if the model predicts the latest values worse than it should; else nothing.
    outputs : dict of ndarray
        Where there are several outputs, the value of each at every sampled optimum, on its own draw.

    Examples
    --------
    >>> import xstar
    >>> opt = xstar.Optimizer([(0.0, 1.0)], noise=0.0)
    >>> for x in (0.0, 0.2, 0.4, 0.7, 1.0):
    ...     _ = opt.tell([x], -((x - 0.3) ** 2))
    >>> low, high = opt.where(50).interval("x0", 0.9)
    >>> 0.25 < low < 0.3 < high < 0.45
    True
    """

    params: Mapping[str, list[Any]]
    regret: HostArray
    recommendation: Recommendation
    space: Space | None = None
    groups: tuple[tuple[int, ...], ...] = ()
    """Samples that are close together, the largest group first (`numerics.groups`)."""
    surprise: str = ""
    outputs: Mapping[str, HostArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.regret)

    @property
    def num_points(self) -> int:
        """How many sampled optima there are: one of each draw, but for several objectives."""
        return len(next(iter(self.params.values())))

    @property
    def recommended(self) -> tuple[Recommendation, ...]:
        """All points that are recommended: one, but for several objectives."""
        return (self.recommendation,)

    @property
    def unordered(self) -> frozenset[str]:
        """The categorical parameters."""
        return frozenset(name for name in self.params if isinstance(self._parameter(name), Categorical))

    @cached_property
    def places(self) -> list[Place]:
        """Where the sampled optima are close together."""
        counted = sum(map(len, self.groups))
        return [
            Place(len(group) / counted, {name: values[group[0]] for name, values in self.params.items()}, group)
            for group in self.groups
            if len(group) >= LEAST_SHARE * counted
        ]

    def interval(
        self, name: str, probability: float = 0.9, place: Place | None = None
    ) -> tuple[Any, Any] | dict[Any, float]:
        """Return the central credible interval of a parameter.

        Parameters
        ----------
        name : str
            Of the parameter.
        probability : float
            That the optimum is inside.
        place : Place, optional
            Given that it is there.

        Returns
        -------
        tuple or dict
            The ends; for a categorical parameter, the probability of each choice seen. Choices that cannot be keys of
            a dictionary are named by their `repr`.
        """
        values = self.params[name] if place is None else [self.params[name][k] for k in place.samples]
        parameter = self._parameter(name)
        if isinstance(parameter, Categorical):
            names = [value if isinstance(value, Hashable) else repr(value) for value in values]
            return {value: count / len(values) for value, count in Counter(names).items()}
        tail = (1.0 - probability) / 2.0
        if isinstance(parameter, Ordinal):
            levels = parameter.alternatives
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

    def in_words(self, name: str, probability: float = 0.9, place: Place | None = None) -> str:
        """Return the credible interval of a parameter as a person writes it.

        Parameters
        ----------
        name : str
            Of the parameter.
        probability : float
            That the optimum is inside.
        place : Place, optional
            Given that it is there.

        Returns
        -------
        str
        """
        interval, parameter = self.interval(name, probability, place), self._parameter(name)
        if isinstance(interval, dict):
            ranked = sorted(interval.items(), key=lambda item: -item[1])
            told = [f"{choice} ({share:.0%})" for choice, share in ranked[:MOST_SHOWN]]
            more = [f"{len(ranked) - MOST_SHOWN} others"] if len(ranked) > MOST_SHOWN else []
            return str(ranked[0][0]) if len(ranked) == 1 else ", ".join([*told, *more])
        low, high = interval
        unit = "" if parameter is None or parameter.unit is None else f" {parameter.unit}"
        if isinstance(low, float) and isinstance(high, float):
            texts = between(low, high, by_ratio=isinstance(parameter, Real) and parameter.log)
        else:
            texts = (str(low), str(high))
        return (texts[0] if texts[0] == texts[1] else " to ".join(texts)) + unit

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

    @property
    def left_in_words(self) -> str:
        """What is left to gain, as a person writes it."""
        if np.isinf(self.regret_quantile(0.5)):
            return "unknown, because all values are the same"
        return f"{self.regret_quantile(0.5):.3g} (median), {self.regret_quantile():.3g} (95 %)"

    def __str__(self) -> str:
        title, rows = self._lines()
        said = [f"left to gain: {self.left_in_words}", *([self.surprise] if self.surprise else [])]
        return "\n".join([title, *(f"  {name}: {text}" for name, text in rows), *said])

    def _repr_html_(self) -> str:
        """For notebooks."""
        title, rows = self._lines()
        note = f"left to gain: {self.left_in_words}" + (f"; {self.surprise}" if self.surprise else "")
        return card(f"Where {title.rstrip(',:')}", rows, note)

    def _lines(self) -> tuple[str, list[tuple[str, str]]]:
        """A title, and a line for each parameter or, if there are several, for each place."""
        places = self.places
        if len(places) < 2:
            said = f"the optimum is, with 90 % probability (from {len(self)} samples),"
            return said, [(name, self.in_words(name)) for name in self.params]
        varied = [name for name in self.params if self.space is None or name in self.space.free]
        rows = [
            (f"{place.share:.0%}", ", ".join(f"{name} = {self.in_words(name, 0.9, place)}" for name in varied))
            for place in places[:MOST_SHOWN]
        ]
        rest = 1.0 - sum(place.share for place in places[:MOST_SHOWN])
        return (
            f"the optimum is in one of {len(places)} places (from {len(self)} samples):",
            [*rows, *([(f"{rest:.0%}", "elsewhere")] if rest >= 0.005 else [])],
        )

    def _parameter(self, name: str) -> Any:
        return None if self.space is None else self.space.parameters[name]


LEAST_SHARE = 0.05
"""Of the samples; what has less is no place of its own."""


@dataclass(frozen=True)
class ParetoFront:
    """The best compromises between several objectives.

    Attributes
    ----------
    recommended : tuple of Recommendation
        Points of the front of the posterior means that are feasible with 95 % probability, each with forecasts of all
        outputs; if nothing is that sure, the point that is most so.
    trials : tuple of Trial
        Of those within all bounds, the ones that no other trial dominates, by the values told.
    goals : Goals
        What is wanted of the outputs.
    reference : dict of float
        The values from which hypervolumes are measured.

    Examples
    --------
    >>> import xstar
    >>> opt = xstar.Optimizer([(0.0, 1.0)], objectives={"gain": "maximize", "cost": "minimize"})
    >>> for x in (0.0, 0.3, 0.6, 1.0):
    ...     _ = opt.tell([x], {"gain": x, "cost": x * x})
    >>> len(opt.pareto().trials)
    4
    """

    recommended: tuple[Recommendation, ...]
    trials: tuple[Trial, ...]
    goals: Goals
    reference: Mapping[str, float]

    def __len__(self) -> int:
        return len(self.recommended)

    @property
    def in_order(self) -> tuple[Recommendation, ...]:
        """The recommended points, the best one in the first objective first."""
        name = next(iter(self.goals.objectives))
        sign = self.goals.direction(name).sign
        return tuple(sorted(self.recommended, key=lambda point: -sign * point.outputs[name].mean))

    @property
    def hypervolume(self) -> float:
        """What the trials of the front dominate, measured from the reference."""
        return self.volume([trial.values for trial in self.trials])

    def volume(self, values: Iterable[Mapping[str, float]]) -> float:
        """Return the hypervolume that values of the objectives, by name, dominate.

        Parameters
        ----------
        values : iterable of dict
            One for each point.

        Returns
        -------
        float
            Measured from the reference.
        """
        names = tuple(self.goals.objectives)
        signs = np.array([self.goals.direction(name).sign for name in names])
        rows = np.array([[one[name] for name in names] for one in values], dtype=np.float64).reshape(-1, len(names))
        return hypervolume(signs * rows, signs * np.array([self.reference[name] for name in names]))

    def __str__(self) -> str:
        title = f"{len(self.recommended)} recommended compromises, {len(self.trials)} of the trials not dominated"
        more = len(self.recommended) - MOST_COMPROMISES
        lines = [f"  {point}" for point in self.recommended[:MOST_COMPROMISES]]
        return "\n".join([title, *lines, *([f"  and {more} more between them"] if more > 0 else [])])

    def _repr_html_(self) -> str:
        """For notebooks."""
        names = tuple(self.recommended[0].params) if self.recommended else ()
        sure = all(point.feasibility >= 1.0 for point in self.recommended)
        rows = [
            (
                *(text for _, text in point.params_in_words),
                *map(str, point.outputs.values()),
                *([] if sure else [f"{point.feasibility:.0%}"]),
            )
            for point in self.in_order
        ]
        head = (*names, *self.goals.names, *([] if sure else ["P(feasible)"]))
        count = len(self.trials)
        note = (
            f"{count} of the trials {'is' if count == 1 else 'are'} not dominated; hypervolume {self.hypervolume:.4g}"
        )
        return card(f"Recommended compromises: {self.goals}", rows, note, head=head)


@dataclass(frozen=True)
class FrontPosterior(OptimumPosterior):
    """Where the Pareto set may be: draws of its points, and of the hypervolume that the recommended front leaves.

    The attributes are those of `OptimumPosterior`, with points of the sampled Pareto sets as optima and hypervolumes as
    regrets, in the product of the objectives' units.

    Attributes
    ----------
    front : ParetoFront
        What the regret is measured from.
    volumes : ndarray
        The hypervolume of each sampled front.
    fronts : tuple of ndarray
        A few of the sampled fronts: a row for each of their points, with the values of the objectives.
    """

    front: ParetoFront | None = None
    volumes: HostArray = field(default_factory=lambda: np.zeros(0))
    fronts: tuple[HostArray, ...] = ()

    @property
    def recommended(self) -> tuple[Recommendation, ...]:
        """The recommended compromises, in the order of the first objective."""
        return (self.recommendation,) if self.front is None else self.front.in_order

    def _lines(self) -> tuple[str, list[tuple[str, str]]]:
        said = f"sampled points of the Pareto set are, with 90 % probability ({len(self)} samples),"
        return said, [(name, self.in_words(name)) for name in self.params]

    @property
    def share_left(self) -> HostArray:
        """The regret as a share of each draw's hypervolume."""
        return np.asarray(self.regret / np.maximum(self.volumes, np.finfo(np.float64).tiny))

    @property
    def left_in_words(self) -> str:
        """What is left to gain, as a person writes it."""
        if np.isinf(self.regret_quantile(0.5)):
            return "unknown, because all values are the same"
        middle, most = np.quantile(self.share_left, [0.5, 0.95], method="higher")
        return f"{middle:.2g} (median), {most:.2g} (95 %) of the hypervolume"


class Share(NamedTuple):
    """A share from 0 to 1 with its 90 % interval."""

    share: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.share:.0%} ({self.low:.0%} to {self.high:.0%})"


@dataclass(frozen=True)
class Importance:
    """How much each parameter matters: its total Sobol index, the share of a variance that it has a part in.

    Shares add up to more than one where parameters act together.

    Attributes
    ----------
    values : dict of Share
        Of the function, on the model's scale. The interval is that of functions drawn from the model: wide while
        little is known.
    information : dict of Share
        Of the information that an evaluation gives about the optimum: a parameter with a large share is one whose
        value still decides what an evaluation tells. The interval is that of the points used (bootstrap).
    """

    values: Mapping[str, Share]
    information: Mapping[str, Share]

    @property
    def ranked(self) -> list[str]:
        """The parameters, the most important one first."""
        return sorted(self.values, key=lambda name: -self.values[name].share)

    def __str__(self) -> str:
        width = max(map(len, self.values), default=0)
        lines = [f"  {name:<{width}}  {self.values[name]!s:<20} {self.information[name]}" for name in self.ranked]
        return "\n".join([f"  {'':<{width}}  {'of the values':<20} of the information", *lines])

    def _repr_html_(self) -> str:
        """For notebooks."""
        rows = [(name, str(self.values[name]), str(self.information[name])) for name in self.ranked]
        return card("How much each parameter matters", rows, head=("", "of the values", "of the information"))


@dataclass(frozen=True)
class Calibration:
    """How well the model predicts: every value told beside its prediction from all the others.

    The hyperparameters are those of all values, so that predictions are a little better than they could have been.

    Attributes
    ----------
    trials : tuple of Trial
        Those with a value in the model, in the order of their numbers.
    mean, low, high : ndarray
        The prediction of each value and its 95 % interval, noise included, in the user's units.
    z : ndarray
        How far off each prediction was, in standard deviations, on the model's scale: positive if the value was better
        than predicted.
    ahead : Calibration or None
        The same of trials that a model suggested, and of what it predicted then, before their values were told.
    """

    trials: tuple[Trial, ...]
    mean: HostArray
    low: HostArray
    high: HostArray
    z: HostArray
    ahead: Calibration | None = None

    def __len__(self) -> int:
        return len(self.trials)

    @property
    def values(self) -> HostArray:
        """The values told."""
        return np.array([trial.value for trial in self.trials], dtype=np.float64)

    @property
    def inside(self) -> HostArray:
        """Which values are within their intervals."""
        return np.asarray((self.low <= self.values) & (self.values <= self.high))

    @property
    def surprises(self) -> tuple[Trial, ...]:
        """The trials whose values are not, the farthest off first."""
        order = np.argsort(-np.abs(self.z), kind="stable")
        return tuple(self.trials[k] for k in order if not self.inside[k])

    @property
    def recent_surprise(self) -> str:
        """What is to be said if more of the latest values are outside their intervals than chance explains.

        The fair intervals are those of predictions made before; with few of them, those from all other values serve.
        """
        if self.ahead is not None and len(self.ahead) >= FEW:
            return self.ahead._surprise("values that a model asked for", "predicted before they were told")
        return self._surprise("values", "that the others predict")

    def _surprise(self, values: str, interval: str) -> str:
        recent = self.inside[np.argsort([trial.number for trial in self.trials], kind="stable")][-RECENT:]
        outside, count = int((~recent).sum()), len(recent)
        by_chance = sum(math.comb(count, k) * 0.05**k * 0.95 ** (count - k) for k in range(outside, count + 1))
        if by_chance > SURPRISING:
            return ""
        return (
            f"{outside} of the last {count} {values} were outside the 95 % interval {interval}: "
            "treat the bound with care"
        )

    def __str__(self) -> str:
        if not len(self):
            return "nothing can be predicted from nothing: tell at least three values"
        said = f"{int(self.inside.sum())} of {len(self)} values are within the 95 % interval predicted from the others"
        if not self.surprises:
            return said
        told = ", ".join(
            f"trial {trial.number} ({with_digits(trial.value or 0.0, 4)})" for trial in self.surprises[:MOST_SHOWN]
        )
        more = f" and {len(self.surprises) - MOST_SHOWN} more" if len(self.surprises) > MOST_SHOWN else ""
        return f"{said}; surprising: {told}{more}"
