"""Several outputs at the same points: objectives to maximize, and constraints that are to stay above their bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xstar.errors import DataError, SettingsError
from xstar.gp.posterior import Posterior
from xstar.numerics.checks import as_float, instance


@dataclass(frozen=True)
class Outputs:
    """Independent posteriors, one for each output.

    Parameters
    ----------
    objectives : sequence of Posterior
        To be maximized.
    constraints : sequence of Posterior
        A point is feasible where each is at least its bound.
    bounds : sequence of float
        Of the constraints.
    reference : sequence of float, optional
        Of several objectives: points of a Pareto set that are below, in any of them, are of no interest.

    Raises
    ------
    SettingsError
        If there is no objective, or not a bound for each constraint.
    DataError
        If the posteriors are of different dimensions or numbers of hyperparameter samples, or of several problems.

    Examples
    --------
    >>> from xstar.gp import Hyperparameters, Outputs, Posterior, SquaredExponential
    >>> hyper = Hyperparameters([0.3], 1.0, 0.1)
    >>> value = Posterior(SquaredExponential(), hyper, [[0.2], [0.7]], [0.0, 1.0])
    >>> purity = Posterior(SquaredExponential(), hyper, [[0.2], [0.7]], [0.5, -0.5])
    >>> Outputs((value,), (purity,), (0.0,)).count
    2
    """

    objectives: tuple[Posterior, ...]
    constraints: tuple[Posterior, ...] = ()
    bounds: tuple[float, ...] = ()
    reference: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("objectives", "constraints"):
            object.__setattr__(self, name, _of_one_problem(getattr(self, name), name))
        object.__setattr__(self, "bounds", tuple(as_float(bound) for bound in self.bounds))
        if not self.objectives:
            raise SettingsError("objectives must have at least one posterior; received none.")
        if len(self.bounds) != len(self.constraints):
            raise SettingsError(
                f"{len(self.constraints)} constraints need as many bounds; received {len(self.bounds)}."
            )
        if self.reference is not None and len(self.reference) != len(self.objectives):
            count = len(self.objectives)
            raise SettingsError(f"reference must have {count} numbers, for the objectives; received {self.reference}.")
        for what in ("dimension", "batch_shape"):
            found = [getattr(post, what) for post in self.posteriors]
            if len(set(found)) > 1:
                raise DataError(f"all outputs must have the same {what}; received {found}.")

    @property
    def posteriors(self) -> tuple[Posterior, ...]:
        """Those of the objectives, then those of the constraints; leading axes (1, H)."""
        return self.objectives + self.constraints

    @property
    def count(self) -> int:
        """How many outputs there are."""
        return len(self.posteriors)

    @property
    def dimension(self) -> int:
        """d."""
        return self.objectives[0].dimension

    @property
    def num_hyper(self) -> int:
        """H."""
        return int(self.objectives[0].batch_shape[1])


def _of_one_problem(posteriors: Sequence[Posterior], name: str) -> tuple[Posterior, ...]:
    for post in posteriors:
        instance(post, name, Posterior, "Posterior(SquaredExponential(), hyper, X, y)")
    found = tuple(post.by_problem() for post in posteriors)
    if any(post.batch_shape[0] != 1 for post in found):
        raise DataError("outputs are those of one problem; received posteriors of several.")
    return found
