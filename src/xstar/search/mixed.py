"""Global maximization over a domain with lattices and choices, of many functions at once.

Candidates are rounded to legal points and screened. From each function's best basins two moves alternate: a local
search over the continuous coordinates with the discrete ones held, then discrete neighbours are tried and the best
taken, until nothing gets better. Every point considered is legal, so the result needs no rounding that could spoil it.

A domain with few points is searched completely.

Notation
    P    functions          N    candidates          q    starts of one function
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from xstar.errors import SettingsError
from xstar.numerics.arrays import Array, HostArray, move, namespace, to_numpy
from xstar.numerics.ascent import Evaluation, ascend
from xstar.search.box import BoxSearch, Maxima, Objective, distinct, pick_basins
from xstar.search.domain import Domain
from xstar.search.points import Points
from xstar.search.settings import SearchSettings

SEED = 0x5EA7C4
"""Of the random moves, so that a search depends on its arguments alone."""


@dataclass(frozen=True)
class MixedSearch:
    """Multi-start search over the legal points of a domain.

    Parameters
    ----------
    domain : Domain
        The legal points.
    forbidden : Points, optional
        Those that are not to be found.
    num_starts : int, optional
        Starts for each function; after the first round the best third goes on.
    settings : SearchSettings
        Everything else.

    Examples
    --------
    >>> import numpy as np
    >>> from xstar.gp import Hyperparameters, Posterior, SquaredExponential, draw_paths
    >>> from xstar.search import Domain, Interval, Lattice, MixedSearch, draw_candidates
    >>> rng = np.random.default_rng(0)
    >>> X = [[0.1, 0.125], [0.6, 0.625]]
    >>> post = Posterior(SquaredExponential(), Hyperparameters([0.3, 0.3], 1.0, 0.1), X, [0.0, 1.0])
    >>> search = MixedSearch(Domain((Interval(), Lattice(4))))
    >>> found = search.maximize(draw_paths(post, 2, rng), draw_candidates(64, X, rng))
    >>> bool(np.isin(found.x[:, 1], [0.125, 0.375, 0.625, 0.875]).all())
    True
    """

    domain: Domain
    forbidden: Points | None = None
    num_starts: int | None = None
    settings: SearchSettings = field(default_factory=SearchSettings)

    def maximize(self, objective: Objective, candidates: Array, own: Array | None = None) -> Maxima:
        """Find the best legal point of each function.

        Parameters
        ----------
        objective : Objective
            P functions.
        candidates : array of shape (N, d)
            Points that are rounded to legal ones, from the most promising of which searches start.
        own : array of shape (R, M, d), optional
            More candidates for groups of functions, as in `BoxSearch`; for domains that are continuous, unless all
            functions are one group.

        Returns
        -------
        Maxima
            The best point found for each function; its value is -inf where all that was tried is forbidden.

        Raises
        ------
        SettingsError
            If there are several groups and the domain is not continuous.
        """
        if own is not None and own.shape[0] > 1 and not self.domain.continuous:
            raise SettingsError("several problems at a time need a continuous domain.")
        if self.domain.continuous:
            found = BoxSearch(self.num_starts, settings=self.settings).maximize(objective, candidates, own)
            if self.forbidden is None or not self.forbidden.has(to_numpy(found.x)).any():
                return found
        rng = np.random.default_rng(SEED)
        size = self.domain.size
        complete = size is not None and size <= self.settings.max_enumerated
        tried = to_numpy(candidates) if own is None else np.concatenate([to_numpy(candidates), to_numpy(own)[0]])
        points = self.domain.everything() if complete else distinct(self.domain.snap(tried))
        values = objective.screen(points)
        walk = _Walk(objective, self.domain, self.forbidden, values, rng, self.settings)
        screened = np.where(walk.banned(points), -np.inf, to_numpy(values))
        count = self.num_starts or min(4 + len(self.domain.blocks), 12)
        picked = to_numpy(pick_basins(move(screened, values), move(points, values), count))
        x, best = walk.ascend(points[picked], walk.values(points[picked]), rough=not complete)
        x, best = walk.step(*_best_part(x, best, self.settings.kept_one_in))
        moved = np.ones(len(x), dtype=bool)
        for _ in range(0 if complete else self.settings.num_rounds - 1):
            # Where no discrete move has led on, a local search would only go on where the last one has ended.
            there, climbed = walk.ascend(x[moved], best[moved], problems=np.flatnonzero(moved))
            x[moved], best[moved] = there, climbed
            before = best
            x, best = walk.step(x, best)
            moved = np.any(best > before, axis=1)
            if not moved.any():
                break
        if not np.array_equal(self.domain.discrete, ~self.domain.uncountable):
            # Fine lattices were searched with the others and then rounded: now the others, with all lattices held.
            x, best = walk.ascend(x, best, held=~self.domain.uncountable)
        return self._maxima(walk, x, best)

    def _maxima(self, walk: _Walk, x: HostArray, best: HostArray) -> Maxima:
        """The best of each function with its derivatives."""
        rows = np.arange(len(x))
        top = np.argmax(best, axis=1)
        there = walk.objective.evaluate(move(x[rows, top][:, None, :], walk.like), rows)
        xp = namespace(there.value)
        found, gradient = move(x[rows, top], walk.like), there.gradient[:, 0, :]
        lower, upper = (move(end, walk.like) for end in self.domain.ends)
        outward = ((found <= lower) & (gradient < 0.0)) | ((found >= upper) & (gradient > 0.0))
        steep = xp.abs(gradient) * xp.astype(move(self.domain.uncountable, walk.like) & ~outward, gradient.dtype)
        done = xp.max(steep, axis=-1) <= self.settings.max_slope * (1.0 + xp.abs(there.value[:, 0]))
        return Maxima(
            found, move(best[rows, top], walk.like), gradient, outward & move(~self.domain.discrete, walk.like),
            done, xp.astype(done, xp.int64),
        )  # fmt: skip


class _Walk:
    """Moves of points (P, q, d) on the host; the objective's arrays may be elsewhere."""

    def __init__(
        self,
        objective: Objective,
        domain: Domain,
        forbidden: Points | None,
        like: Array,
        rng: np.random.Generator,
        settings: SearchSettings,
    ) -> None:
        self.objective, self.domain, self.forbidden, self.like, self.rng = objective, domain, forbidden, like, rng
        self.settings = settings

    def values(self, x: HostArray, problems: HostArray | None = None) -> HostArray:
        """Values (P', q) of some functions at legal points, -inf for forbidden ones and for what is not finite."""
        which = np.arange(len(x)) if problems is None else problems
        value = to_numpy(self.objective.value(move(x, self.like), which))
        banned = self.banned(x.reshape(-1, x.shape[-1])).reshape(value.shape)
        return np.where(np.isfinite(value) & ~banned, value, -np.inf)

    def banned(self, rows: HostArray) -> HostArray:
        """Which legal points (N, d) are forbidden."""
        return np.zeros(len(rows), dtype=bool) if self.forbidden is None else self.forbidden.has(rows)

    def ascend(
        self, x: HostArray, best: HostArray, held: HostArray | None = None,
        *, problems: HostArray | None = None, rough: bool = False,
    ) -> tuple[HostArray, HostArray]:  # fmt: skip
        """Search over the coordinates that are not held (default: the coarse ones are), round, keep what got better.

        Of some functions (P',), by default of all; `rough` tells good hills from bad ones.
        """
        held = self.domain.discrete if held is None else held
        if held.all():
            return x, best
        which = np.arange(len(x)) if problems is None else problems
        evaluate = _Held(self.objective, held).evaluate
        lower = move(np.zeros(x.shape[-1]), self.like)
        found = ascend(
            lambda points, rows: evaluate(points, which[rows]), move(x, self.like), lower, lower + 1.0,
            max_iterations=self.settings.mixed_rough_iterations if rough else self.settings.mixed_iterations,
        )  # fmt: skip
        higher = self.domain.snap(np.where(held, x, to_numpy(found.x)))
        return self._better(x, best, higher, self.values(higher, which))

    def step(self, x: HostArray, best: HostArray) -> tuple[HostArray, HostArray]:
        """Take the best discrete neighbour, again and again until none is better."""
        x, best = x.copy(), best.copy()
        moving = np.arange(len(x))
        for _ in range(self.settings.max_moves):
            (P, q, d), here = x[moving].shape, x[moving]
            around = self.domain.neighbours(here.reshape(-1, d), self.rng, self.settings.max_alternatives)
            moves = around.shape[1]
            if moves == 0 or P == 0:
                break
            value = self.values(around.reshape(P, q * moves, d), moving).reshape(P, q, moves)
            top = np.argmax(value, axis=-1)
            there = np.take_along_axis(around.reshape(P, q, moves, d), top[..., None, None], axis=2)[:, :, 0]
            height = np.take_along_axis(value, top[..., None], axis=2)[..., 0]
            improved = np.any(height > best[moving], axis=1)
            x[moving], best[moving] = self._better(here, best[moving], there, height)
            moving = moving[improved]
        return x, best

    @staticmethod
    def _better(x: HostArray, best: HostArray, y: HostArray, value: HostArray) -> tuple[HostArray, HostArray]:
        up = value > best
        return np.where(up[..., None], y, x), np.where(up, value, best)


@dataclass(frozen=True)
class _Held:
    """An objective whose discrete coordinates have no slope: a local search leaves them alone."""

    objective: Objective
    held: HostArray

    def evaluate(self, x: Array, problems: HostArray) -> Evaluation:
        value, gradient, hessian = self.objective.evaluate(x, problems)
        free = move(1.0 - self.held.astype(np.float64), gradient)
        if hessian is not None:
            xp = namespace(hessian)
            bend = xp.broadcast_to(move(np.diag(self.held.astype(np.float64)), gradient), hessian.shape)
            hessian = hessian * free[:, None] * free - bend
        return Evaluation(value, gradient * free, hessian)


def _best_part(x: HostArray, best: HostArray, one_in: int) -> tuple[HostArray, HostArray]:
    """The best of each function's points: one in so many, rounded up."""
    kept = -(-best.shape[1] // one_in)
    order = np.argsort(-best, axis=1, kind="stable")[:, :kept]
    return np.take_along_axis(x, order[..., None], axis=1), np.take_along_axis(best, order, axis=1)
