"""What a run found, and why it stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from xstar.beliefs import OptimumPosterior, ParetoFront
from xstar.cards import card
from xstar.numerics.arrays import HostArray
from xstar.optimizer import Optimizer
from xstar.trial import SURE, Recommendation, Trial, summarize, vector

StopReason = Literal[
    "budget", "tolerance", "target", "patience", "time", "exhausted", "interrupted", "callback", "failures"
]
MESSAGES: Mapping[StopReason, str] = {
    "budget": "the budget of evaluations is spent",
    "tolerance": "with 95 % probability, no more than the tolerance is left to gain",
    "target": "the target is reached",
    "patience": "there was no better value for as many evaluations as were to be waited for",
    "time": "the time is over",
    "exhausted": "every point of the space has been evaluated",
    "interrupted": "the run was interrupted",
    "callback": "the callback asked to stop",
    "failures": "too many evaluations failed in a row",
}
"""The reasons to stop, in words."""


@dataclass(frozen=True)
class Result:
    """What a run found.

    Several objectives have no single best point: then `pareto` has the compromises, and `recommendation`, `params`,
    `x`, `value`, `sd`, `tested` and `best_observed` are None.

    Attributes
    ----------
    recommendation : Recommendation or None
        The best posterior mean, not the luckiest draw; None if nothing was measured. With constraints, of the points
        that are feasible with 95 % probability (its `feasibility`; if there are none, it is the most feasible point),
        and its `outputs` are forecasts of all outputs.
    pareto : ParetoFront or None
        Of several objectives, the best compromises; None of one.
    params : dict or None
        Its parameters.
    x : ndarray or None
        The same as an array, in the order of the parameters.
    value, fun : float or None
        The posterior mean there, by our name and by SciPy's.
    sd : float or None
        Its standard deviation: of the function, not of another noisy evaluation.
    confirmed : bool
        Whether the recommended point has been evaluated. The last evaluation of a budget is there for that; with noise
        its result may move the recommendation once more.
    tested : Recommendation or None
        The best posterior mean among the points that were evaluated.
    best_observed : Trial or None
        The trial with the best value told: with noise, the luckiest draw. With constraints, of those within all bounds.
    trials : tuple of Trial
        All of them, in the order of their numbers.
    nfev : int
        How many of them were evaluated, failed ones included.
    where : OptimumPosterior or None
        What is known about where the optimum is.
    stop_reason : str
        "budget", "tolerance", "target", "patience", "time", "exhausted", "interrupted", "callback" or "failures".
    message : str
        The same in words.
    success : bool
        Whether a point is recommended and the run was ended by neither failures nor an interruption.
    optimizer : Optimizer
        To go on with: ask, tell, explain, save.

    Examples
    --------
    >>> import xstar
    >>> result = xstar.minimize(lambda x: (x[0] - 0.3) ** 2, [(0.0, 1.0)], budget=8, method="logei")
    >>> result.success, result.nfev, result.message
    (True, 8, 'the budget of evaluations is spent')
    >>> result.fun == result.value
    True
    """

    recommendation: Recommendation | None
    tested: Recommendation | None
    best_observed: Trial | None
    trials: tuple[Trial, ...]
    where: OptimumPosterior | None
    stop_reason: StopReason
    optimizer: Optimizer = field(repr=False)
    pareto: ParetoFront | None = None

    @property
    def params(self) -> Mapping[str, Any] | None:
        """The recommended parameters."""
        return None if self.recommendation is None else self.recommendation.params

    @property
    def value(self) -> float | None:
        """The posterior mean at the recommended parameters."""
        return None if self.recommendation is None else self.recommendation.mean

    @property
    def sd(self) -> float | None:
        """Its standard deviation: of the function, not of another noisy evaluation."""
        return None if self.recommendation is None else self.recommendation.sd

    @property
    def confirmed(self) -> bool:
        """Whether the recommended point has been evaluated."""
        return self.recommendation is not None and self.recommendation.confirmed

    @property
    def fun(self) -> float | None:
        """The posterior mean at the recommended parameters, by SciPy's name."""
        return self.value

    @property
    def nfev(self) -> int:
        """How many trials were evaluated, failed ones included."""
        return sum(trial.state in ("done", "failed") for trial in self.trials)

    @property
    def message(self) -> str:
        """Why the run stopped, in words."""
        return MESSAGES[self.stop_reason]

    @property
    def success(self) -> bool:
        """Whether a point is recommended and the run was ended by neither failures nor an interruption."""
        return (self.params is not None or self.pareto is not None) and self.stop_reason not in (
            "failures",
            "interrupted",
        )

    @property
    def x(self) -> HostArray | None:
        """The recommended parameters as an array, in their order."""
        return None if self.params is None else vector(self.params)

    def to_dataframe(self) -> Any:
        """Return all trials as a table, as `Optimizer.to_dataframe` does.

        Returns
        -------
        pandas.DataFrame
            A row for each trial.
        """
        return self.optimizer.to_dataframe()

    def _repr_html_(self) -> str:
        """For notebooks: why it ended, what is recommended, and where the optimum may be."""
        rows = [] if self.best_observed is None else [("best observed", summarize(self.best_observed))]
        parts = [part._repr_html_() for part in (self.recommendation, self.pareto, self.where) if part is not None]
        return card(f"{self.nfev} evaluations: {self.message}", rows, inner=" ".join(parts))

    def report(self, path: str | Path) -> Path:
        """Write a page (HTML, one file) with the result, its trials and pictures.

        Parameters
        ----------
        path : str or Path
            Of the file.

        Returns
        -------
        Path
            The same.
        """
        from xstar.views.report import write_report

        return write_report(self.optimizer, path, self.message)

    def __str__(self) -> str:
        failed = sum(trial.state == "failed" for trial in self.trials)
        also = f", {failed} of them failed" if failed else ""
        lines = [f"{self.nfev} evaluations{also}, stopped by {self.stop_reason}"]
        if self.recommendation is not None:
            lines += [
                f"recommended: {self.optimizer.space.show(self.recommendation.params)}",
                f"value there: {self.recommendation.value_in_words}",
            ]
            if self.recommendation.outputs and self.recommendation.feasibility < SURE:
                lines.append(f"feasible with probability {self.recommendation.feasibility:.0%}")
        if self.pareto is not None:
            lines.append(str(self.pareto))
        if self.where is not None:
            lines.append(str(self.where))
        if self.best_observed is not None:
            lines.append(f"best observed: {summarize(self.best_observed)}")
        return "\n".join(lines)
