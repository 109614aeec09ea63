"""What a search may be tuned by."""

from __future__ import annotations

from dataclasses import dataclass

from xstar.numerics.checks import integer, positive


@dataclass(frozen=True)
class SearchSettings:
    """How functions are maximized on the cube and its legal points.

    `python -m benchmarks.search` counts how often the maximum of a sample path is reached, and what that costs.

    Parameters
    ----------
    num_finished : int
        Local searches of each function that go on to the end.
    min_separation : float
        Local searches that have come this close to each other, in every coordinate, are taken to be on the same hill.
    num_own_starts : int
        Starts from a function's own candidates.
    rough_iterations : int
        Iterations after which most local searches end, and one more for each four coordinates.
    rough_tolerance : float
        Or those until steps are this short.
    finish_radius : float
        The first step of those that go on.
    max_enumerated : int
        A domain with no more points than this is searched completely.
    num_rounds : int
        Rounds of local search and discrete moves, in a domain with discrete coordinates.
    max_moves : int
        Discrete moves in one round.
    max_alternatives : int
        From one choice, so many others are tried at most in one move.
    mixed_iterations : int
        Iterations of a local search in such a domain.
    mixed_rough_iterations : int
        Those of the first local search there, after which the best starts go on.
    kept_one_in : int
        After the first round, one in so many goes on.
    max_slope : float
        The largest slope, relative to the value, along a free coordinate of a maximum that counts as converged.
    perturbation_scales : tuple of float
        Standard deviations of local candidates: late in a run the maximum is much narrower than the gaps of a design.
    num_perturbations : int
        Local candidates about each center, for each of the scales.

    Examples
    --------
    >>> from xstar.search import BoxSearch, SearchSettings
    >>> BoxSearch(settings=SearchSettings(num_finished=1)).settings.num_finished
    1
    """

    num_finished: int = 2
    min_separation: float = 0.01
    num_own_starts: int = 2
    rough_iterations: int = 5
    rough_tolerance: float = 1e-3
    finish_radius: float = 0.1
    max_enumerated: int = 2048
    num_rounds: int = 5
    max_moves: int = 12
    max_alternatives: int = 12
    mixed_iterations: int = 40
    mixed_rough_iterations: int = 15
    kept_one_in: int = 3
    max_slope: float = 1e-3
    perturbation_scales: tuple[float, ...] = (1e-1, 1e-2, 1e-3)
    num_perturbations: int = 8

    def __post_init__(self) -> None:
        for name in ("num_finished", "num_own_starts", "rough_iterations", "num_rounds", "max_moves",
                     "max_alternatives", "mixed_iterations", "mixed_rough_iterations", "kept_one_in"):  # fmt: skip
            integer(getattr(self, name), name, 1)
        for name in ("max_enumerated", "num_perturbations"):
            integer(getattr(self, name), name, 0)
        for name in ("min_separation", "rough_tolerance", "finish_radius", "max_slope"):
            positive(getattr(self, name), name)
        object.__setattr__(self, "perturbation_scales", tuple(self.perturbation_scales))
        for scale in self.perturbation_scales:
            positive(scale, "perturbation_scales")
