"""`XstarSearchCV`: scikit-learn's search over hyperparameters, with xstar to suggest the candidates."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.model_selection._search import BaseSearchCV  # documented for subclassing, but public under no other name
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from xstar.errors import DegradedWarning, SpaceError, SpaceExhausted
from xstar.integrations.sklearn.evaluations import Evaluations, Fits, has_failed
from xstar.integrations.sklearn.folds import noise_of_means
from xstar.methods import Method
from xstar.numerics.arrays import HostArray
from xstar.numerics.checks import integer
from xstar.optimizer import Optimizer
from xstar.run import Result, StopReason
from xstar.space import Space
from xstar.trial import Trial


class XstarSearchCV(BaseSearchCV):  # type: ignore[misc]
    """Search over hyperparameters with cross-validation, every candidate chosen by what the others have taught.

    It takes the place of `RandomizedSearchCV`: what is not described here is as there, with several metrics, groups,
    metadata, failing fits, and everything that a fitted search can do.

    Parameters
    ----------
    estimator : estimator object
        What is tuned.
    space : dict or Space
        What may be varied, by the names of the parameters (`C`, `svc__C`): xstar's `Real`, `Integer` and
        `Categorical`, and whatever else `Space.of` accepts.
    n_iter : int, default=40
        How many candidates are evaluated. A finite space may have fewer: none is evaluated twice.
    scoring : str, callable, list, tuple, dict or None, default=None
        As in scikit-learn; larger is always better. Of several metrics, the one that `refit` names guides the search,
        or else the first.
    n_jobs : int or None, default=None
        How many fits run in parallel. Where the folds of one candidate do not keep them busy, candidates are suggested
        in batches; results depend on `n_jobs` then, but never on timing.
    refit : bool, str or callable, default=True
        Whether, by which metric, or by which choice of the best candidate, to fit the estimator to all data.
    cv : int, splitter, iterable or None, default=5
        How to split. All candidates are evaluated on the same splits, also where the splitter shuffles.
    verbose : int, default=0
        How much scikit-learn prints.
    pre_dispatch : int or str, default="2*n_jobs"
        How many fits are dispatched to workers at a time.
    random_state : int, RandomState or None, default=None
        Of the suggestions. An int is the seed of `optimizer_`.
    error_score : "raise" or number, default=numpy.nan
        The score of a fit that fails. Whatever it is, the search learns to avoid such parameters.
    return_train_score : bool, default=False
        Whether `cv_results_` has scores of the training sets.
    method : str or Method, default="pes"
        How candidates are chosen, as for `Optimizer`.

    Attributes
    ----------
    optimizer_ : Optimizer
        What is known about the optimum: `where`, `explain`, `recommend`, `save`, and all trials. The number of a trial
        is the index of its candidate.
    result_ : Result
        The same as a result of `maximize`, with `report`.
    best_index_ : int
        The candidate with the best posterior mean among those evaluated, unless `refit` is callable. The largest
        `mean_test_score` of many is partly luck; with noise, `best_index_` may be another candidate.
    best_score_ : float
        Its `mean_test_score`.
    cv_results_, best_params_, best_estimator_, scorer_, n_splits_, refit_time_, multimetric_
        As in scikit-learn. `rank_test_score` ranks by `mean_test_score` alone.

    Raises
    ------
    SpaceError
        In `fit`, if the space makes no sense.
    SettingsError
        In `fit`, if another setting of the search does.

    Notes
    -----
    The mean of the fold scores is told with a noise (`sd` of the trials): from the scatter of what a candidate does on
    a fold beyond what all candidates do there, pooled over the better candidates. How much fold scores differ because
    folds do is no part of it. When a simpler method had to choose a candidate, `optimizer_.explain` says so.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from xstar.integrations.sklearn import XstarSearchCV
    >>> space = {"C": xstar.Real(1e-2, 1e3, log=True), "kernel": xstar.Categorical(["rbf", "linear"])}
    >>> search = XstarSearchCV(SVC(), space, n_iter=6, random_state=0).fit(*load_iris(return_X_y=True))
    >>> len(search.cv_results_["params"]), bool(search.best_score_ > 0.95)
    (6, True)
    """

    def __init__(
        self,
        estimator: Any,
        space: Any,
        n_iter: int = 40,
        *,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool | str | Callable[[Mapping[str, Any]], int] = True,
        cv: Any = 5,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        method: str | Method = "pes",
    ) -> None:
        super().__init__(
            estimator, scoring=scoring, n_jobs=n_jobs, refit=refit, cv=cv, verbose=verbose, pre_dispatch=pre_dispatch,
            error_score=error_score, return_train_score=return_train_score,
        )  # fmt: skip
        self.space = space
        self.n_iter = n_iter
        self.random_state = random_state
        self.method = method

    @property
    def result_(self) -> Result:
        """What was found, as `maximize` has it."""
        check_is_fitted(self, "optimizer_")
        opt: Optimizer = self.optimizer_
        reason: StopReason = "budget" if len(opt.trials) >= self.n_iter else "exhausted"
        if opt.best_observed is None:
            return Result(None, None, None, opt.trials, None, reason, opt)
        known = opt.recommend(), opt.recommend(tested=True), opt.best_observed, opt.trials, opt.where()
        return Result(*known, reason, opt)

    def _run_search(self, evaluate_candidates: Callable[..., dict[str, Any]], callback_ctx: Any = None) -> None:
        n_iter = integer(self.n_iter, "n_iter", 1)
        if not isinstance(self.space, Mapping | Space):
            raise SpaceError(
                "XstarSearchCV takes a dictionary of parameters by their names, for example "
                f'{{"C": Real(1e-3, 1e3, log=True)}}; received space={self.space!r}.'
            )
        optimizer = Optimizer(Space.of(self.space), "maximize", self.method, self._seed())
        self._evaluations = Evaluations(evaluate_candidates, self.cv, self.error_score)
        try:
            with _watched(self, callback_ctx) as context:
                self._search(optimizer, n_iter, context)
            fits = self._evaluations.complete()
            results = self._evaluations.results
            assert results is not None, "of a search with a successful fit"
        finally:
            # Not before, because scikit-learn sends the search to its workers; but also if the user has interrupted it.
            for trial in optimizer.trials:
                if trial.state == "pending":
                    optimizer.withdraw(trial, "interrupted")
            self.optimizer_ = optimizer
            del self._evaluations
        # scikit-learn goes on with the dictionary that it has handed out.
        complete = super()._format_results(fits.candidates, fits.num_splits, fits.outcomes)
        results.clear()
        results.update(complete)

    def _search(self, optimizer: Optimizer, n_iter: int, context: Callable[[int], Any]) -> None:
        """Ask, evaluate, tell; a batch keeps all workers busy, once it is known how many folds there are."""
        size, evaluated = 1, list[Trial]()
        while batch := _ask(optimizer, size, n_iter):
            with context(len(batch)) as given:
                fitted = self._evaluations.evaluate([dict(trial.params) for trial in batch], **given)
            if fitted:
                evaluated += batch
                num_splits = self._tell(optimizer, evaluated)
                size = math.ceil(effective_n_jobs(self.n_jobs) / num_splits)
            else:
                for trial in batch:
                    optimizer.fail(trial, "all fits failed")

    def _tell(self, optimizer: Optimizer, evaluated: list[Trial]) -> int:
        """Tell the scores of all candidates, and return the number of folds.

        What the last candidates say of the folds changes the noise of the others.
        """
        results, fits = self._evaluations.results, self._evaluations.fits
        assert results is not None
        assert fits is not None
        metric = _guide(self.refit, results)
        mean = results[f"mean_test_{metric}"]
        good = np.array([not has_failed(fits.of(k), mean[k]) for k in range(len(evaluated))])
        sd = np.full(len(evaluated), np.nan)
        sd[good] = noise_of_means(_fold_scores(results, metric, fits.num_splits)[good])
        known = optimizer.trials
        for k, trial in enumerate(evaluated):
            state = known[trial.number].state
            if good[k]:
                noise = None if np.isnan(sd[k]) else float(sd[k])
                optimizer.tell(trial, float(mean[k]), noise, replace=state != "pending")
            elif state == "pending":
                optimizer.fail(trial, "a fit failed, or the score is not finite")
        return fits.num_splits

    def _seed(self) -> int:
        if isinstance(self.random_state, numbers.Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _format_results(
        self,
        candidate_params: list[dict[str, Any]],
        n_splits: int,
        out: list[dict[str, Any]],
        more_results: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """As in scikit-learn, which calls this after each batch with everything so far."""
        self._evaluations.fits = Fits(candidate_params, out, n_splits)
        with warnings.catch_warnings():
            # That some scores are not finite is told once, at the end.
            warnings.filterwarnings("ignore", message="One or more of the", category=UserWarning)
            formatted: dict[str, Any] = super()._format_results(candidate_params, n_splits, out, more_results)
        return formatted

    def _select_best_index(self, refit: Any, refit_metric: str, results: Mapping[str, Any]) -> int:
        """Return the index of the best candidate: that with the best posterior mean, of those evaluated."""
        told = [trial for trial in self.optimizer_.trials if trial.state == "done"]
        if callable(refit) or not told:
            return int(super()._select_best_index(refit, refit_metric, results))
        space = self.optimizer_.space
        # Its parameters have been to the cube and back, so they may differ by rounding from those of its trial.
        best = space.encode(self.optimizer_.recommend(tested=True).params)
        return min(told, key=lambda trial: float(np.abs(space.encode(trial.params) - best).max())).number


def _ask(optimizer: Optimizer, size: int, n_iter: int) -> list[Trial]:
    """The next candidates; none if there are enough, or all have been evaluated."""
    batch: list[Trial] = []
    with warnings.catch_warnings():
        # Scores that are all the same are nothing to be warned of for each candidate; diagnostics have it.
        warnings.simplefilter("ignore", DegradedWarning)
        while len(batch) < size and len(optimizer.trials) < n_iter:
            try:
                batch.append(optimizer.ask(last=len(optimizer.trials) == n_iter - 1, repeat=False))
            except SpaceExhausted:
                break
    return batch


def _guide(refit: Any, results: Mapping[str, Any]) -> str:
    """The metric that is maximized: the only one, that of `refit`, or the first."""
    metrics = [key.removeprefix("mean_test_") for key in results if key.startswith("mean_test_")]
    return refit if isinstance(refit, str) and refit in metrics else metrics[0]


def _fold_scores(results: Mapping[str, Any], metric: str, num_splits: int) -> HostArray:
    return np.stack([results[f"split{k}_test_{metric}"] for k in range(num_splits)], axis=1)


@contextmanager
def _watched(search: XstarSearchCV, callback_ctx: Any) -> Iterator[Callable[[int], Any]]:
    """Tell scikit-learn's callbacks, where it has them (from 1.9 on), of the search and of each batch."""

    @contextmanager
    def of_batch(size: int) -> Iterator[dict[str, Any]]:
        if callback_ctx is None:
            yield {}
            return
        batch = whole.subcontext(
            task_name="batch", max_subtasks=size * search.n_splits_, sequential_subtasks=False
        ).call_on_fit_task_begin(estimator=search)
        yield {"callback_ctx": batch}
        batch.call_on_fit_task_end(estimator=search)

    if callback_ctx is None:
        yield of_batch
        return
    whole = callback_ctx.subcontext(task_name="search", max_subtasks=None).call_on_fit_task_begin(estimator=search)
    yield of_batch
    whole.call_on_fit_task_end(estimator=search)
