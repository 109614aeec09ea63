"""Candidates evaluated one batch after another, by scikit-learn's own means, on the same folds.

scikit-learn's searches evaluate all candidates at once; two things are different where they come one by one. A
splitter that shuffles would split anew for each batch, so splits are made once. And a batch without a single successful
fit is an error, where among all candidates it is a few failed fits: it is remembered, and entered into the results at
the end.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import FitFailedWarning

ALL_FAILED = re.compile(r"\s*All the \d+ fits failed")
"""How scikit-learn begins to say that no fit of a batch has succeeded."""


class SameSplits:
    """A splitter that is asked once: its splits are the same for all candidates."""

    def __init__(self, splitter: Any) -> None:
        self._splitter = splitter
        self._splits: list[Any] | None = None

    def split(self, X: Any, y: Any = None, **params: Any) -> list[Any]:
        """Return the splits of the splitter, made when first asked for."""
        if self._splits is None:
            self._splits = list(self._splitter.split(X, y, **params))
        return self._splits


class Fits(NamedTuple):
    """What scikit-learn has gathered: candidates, and the outcomes of their fits, candidate by candidate."""

    candidates: list[dict[str, Any]]
    outcomes: list[dict[str, Any]]
    num_splits: int

    def of(self, position: int) -> list[dict[str, Any]]:
        """Return the outcomes of a candidate's folds."""
        return self.outcomes[position * self.num_splits : (position + 1) * self.num_splits]


class _Lost(NamedTuple):
    """A batch without a successful fit."""

    position: int
    candidates: list[dict[str, Any]]
    seconds: float
    error: ValueError


class Evaluations:
    """What was evaluated so far, batch by batch."""

    def __init__(self, evaluate: Callable[..., dict[str, Any]], cv: Any, error_score: Any) -> None:
        self._evaluate = evaluate
        # Numbers of folds, and lists of splits, are made by scikit-learn into splitters that do not shuffle.
        self._splits = SameSplits(cv) if hasattr(cv, "split") else None
        self._error_score = error_score
        self._lost: list[_Lost] = []
        self._count = 0
        self.fits: Fits | None = None
        self.results: dict[str, Any] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # scikit-learn sends the search, for its callbacks, with every fit; this, with all data, need not go along.
        return type(None), ()

    def evaluate(self, candidates: Sequence[dict[str, Any]], **context: Any) -> bool:
        """Evaluate a batch, and return whether any of its fits succeeded."""
        position, began = self._count, time.monotonic()
        self._count += len(candidates)
        with warnings.catch_warnings():
            # One for each batch is one for each candidate; all of them are told of at the end.
            warnings.simplefilter("ignore", FitFailedWarning)
            try:
                self.results = self._evaluate(candidates, cv=self._splits, **context)
            except ValueError as error:
                if self._error_score == "raise" or not ALL_FAILED.match(str(error)):
                    raise
                self._lost.append(_Lost(position, list(candidates), time.monotonic() - began, error))
                return False
        return True

    def complete(self) -> Fits:
        """Return all fits, in the order of evaluation; raise if none has succeeded, and warn if some have not."""
        if self.fits is None:
            lost = self._lost[0]
            lost.error.add_note(f"xstar: that was the first of {self._count} candidates, and no other did better.")
            raise lost.error
        candidates, outcomes, num_splits = list(self.fits.candidates), list(self.fits.outcomes), self.fits.num_splits
        for lost in self._lost:
            candidates[lost.position : lost.position] = lost.candidates
            rows = [self._failed(lost, split) for _ in lost.candidates for split in range(num_splits)]
            at = lost.position * num_splits
            outcomes[at:at] = rows
        self._warn(outcomes)
        return Fits(candidates, outcomes, num_splits)

    def _failed(self, lost: _Lost, split: int) -> dict[str, Any]:
        """The outcome of a failed fit, in the form of others on the same split."""
        assert self.fits is not None
        like = dict(self.fits.outcomes[split])
        for key in ("test_scores", "train_scores"):
            if key in like:
                scores = like[key]
                like[key] = dict.fromkeys(scores, self._error_score) if isinstance(scores, dict) else self._error_score
        share = lost.seconds / (len(lost.candidates) * self.fits.num_splits)
        traceback = str(lost.error).rpartition("following error:\n")[2]
        return {**like, "fit_error": traceback, "fit_time": share, "score_time": 0.0}

    def _warn(self, outcomes: list[dict[str, Any]]) -> None:
        errors = [outcome["fit_error"] for outcome in outcomes if outcome["fit_error"] is not None]
        if errors:
            warnings.warn(
                f"{len(errors)} of {len(outcomes)} fits failed. Their scores are {self._error_score}, and the search "
                "has learned to avoid such parameters. If failures are not expected, error_score='raise' shows where "
                f"they come from. The last one:\n{errors[-1].strip()}",
                FitFailedWarning,
                stacklevel=2,
            )


def has_failed(outcomes: list[dict[str, Any]], mean: float) -> bool:
    """Return whether any fit of a candidate has failed, or its mean score is no finite number."""
    return not np.isfinite(mean) or any(outcome["fit_error"] is not None for outcome in outcomes)
