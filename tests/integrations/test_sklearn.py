"""scikit-learn's own checks, and what a search with suggestions does that one at random does not."""

import pickle
import re
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy.stats import loguniform, randint
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold, RandomizedSearchCV, ShuffleSplit
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import xstar
from xstar.errors import SettingsError, SpaceError
from xstar.integrations.sklearn import XstarSearchCV
from xstar.integrations.sklearn.folds import INDEPENDENT, noise_of_means

ALPHA = {"alpha": xstar.Real(0.1, 1.0, log=True)}
X = np.linspace(0.0, 1.0, 40)[:, None]
Y = X[:, 0]


class Bowl(RegressorMixin, BaseEstimator):
    """Its score is known: largest at a = 0.3, a little different on each fold; it fails where it is told to."""

    def __init__(self, a=0.0, b=0, fails_above=2.0, fails_on_first=2.0):
        self.a = a
        self.b = b
        self.fails_above = fails_above
        self.fails_on_first = fails_on_first

    def fit(self, X, y, sample_weight=None):
        if self.a > self.fails_above or (self.a > self.fails_on_first and X[0, 0] > 0.0):
            raise RuntimeError(f"a={self.a} is too much")
        self.weight_ = 1.0 if sample_weight is None else float(np.mean(sample_weight))
        return self

    def predict(self, X):
        return np.full(len(X), self.a)

    def score(self, X, y):
        return 1.0 - (self.a - 0.3) ** 2 - 0.1 * self.b + 0.1 * float(np.mean(X))


LINE = {"a": xstar.Real(0.0, 1.0)}


def search(space=LINE, estimator=None, **settings):
    settings = {"n_iter": 6, "cv": 4, "random_state": 0, **settings}
    return XstarSearchCV(Bowl() if estimator is None else estimator, space, **settings)


def states(fitted):
    return [trial.state for trial in fitted.optimizer_.trials]


# As scikit-learn tests its own searches


def checked():
    common = {"n_iter": 2, "cv": 2, "error_score": "raise", "random_state": 0}
    yield XstarSearchCV(Ridge(), ALPHA, **common)
    yield XstarSearchCV(LogisticRegression(), {"C": xstar.Real(0.1, 1.0, log=True)}, **common)
    yield XstarSearchCV(Pipeline([("pca", PCA()), ("ridge", Ridge())]), {"ridge__alpha": ALPHA["alpha"]}, **common)


def expected_to_fail(searching):
    """What scikit-learn expects of `RandomizedSearchCV` too, with a regressor."""
    if isinstance(searching.estimator, LogisticRegression):
        return {}
    return {"check_supervised_y_2d": "Ridge takes a y of two dimensions without a warning"}


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")  # scikit-learn's, of infinite y
@parametrize_with_checks(list(checked()), expected_failed_checks=expected_to_fail)
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


# A search


def test_it_finds_what_it_looks_for_and_is_told_as_scikit_learn_tells():
    fitted = search(n_iter=10).fit(X, Y)
    assert abs(fitted.best_params_["a"] - 0.3) < 0.02
    results = fitted.cv_results_
    other = RandomizedSearchCV(Bowl(), {"a": loguniform(0.1, 1.0)}, n_iter=2, cv=4).fit(X, Y)
    assert set(results) == set(other.cv_results_)
    assert len(results["params"]) == len(results["mean_test_score"]) == 10
    assert fitted.best_score_ == results["mean_test_score"][fitted.best_index_]
    assert fitted.best_params_ == results["params"][fitted.best_index_]
    assert [trial.params["a"] for trial in fitted.optimizer_.trials] == [params["a"] for params in results["params"]]
    assert [trial.value for trial in fitted.optimizer_.trials] == results["mean_test_score"].tolist()
    assert fitted.best_estimator_.a == fitted.best_params_["a"]
    assert np.all(fitted.predict(X) == fitted.best_params_["a"])


def test_what_is_known_afterwards():
    fitted = search().fit(X, Y)
    low, high = fitted.optimizer_.where().interval("a")
    assert low <= 0.3 <= high
    assert fitted.result_.nfev == 6
    assert fitted.result_.stop_reason == "budget"
    assert fitted.optimizer_.explain(5).method == "pes"
    with pytest.raises(NotFittedError):
        _ = search().result_


def test_the_same_random_state_gives_the_same_search():
    found = search(n_iter=8).fit(X, Y).cv_results_["param_a"]
    assert np.array_equal(found, search(n_iter=8).fit(X, Y).cv_results_["param_a"])
    assert not np.array_equal(found, search(n_iter=8, random_state=1).fit(X, Y).cv_results_["param_a"])
    assert search(n_iter=1, random_state=7).fit(X, Y).optimizer_.seed == 7
    state = np.random.RandomState(5)
    seeds = [search(n_iter=1, random_state=state).fit(X, Y).optimizer_.seed for _ in range(2)]
    assert seeds[0] != seeds[1]
    assert seeds[0] == search(n_iter=1, random_state=np.random.RandomState(5)).fit(X, Y).optimizer_.seed


def test_workers_get_batches_that_do_not_depend_on_timing():
    with parallel_config("threading", n_jobs=4):
        runs = [search(n_iter=7, cv=2).fit(X, Y) for _ in range(2)]
    found, again = (run.cv_results_["param_a"] for run in runs)
    assert np.array_equal(found, again)
    assert len(found) == 7
    alone = search(n_iter=7, cv=2).fit(X, Y).cv_results_["param_a"]
    assert not np.array_equal(found, alone), "in batches of two, the second knows less"


def test_processes_give_what_one_gives():
    """The search itself goes along with every fit, but not what it is in the midst of."""
    found, alone = (search(n_iter=4, cv=2, n_jobs=n_jobs).fit(X, Y).cv_results_ for n_jobs in (2, None))
    assert found["params"] == alone["params"]
    assert found["mean_test_score"].tolist() == alone["mean_test_score"].tolist()


def test_a_fitted_search_is_pickled_and_cloned():
    fitted = search().fit(X, Y)
    copy = pickle.loads(pickle.dumps(fitted))
    assert copy.best_params_ == fitted.best_params_
    assert copy.optimizer_.recommend() == fitted.optimizer_.recommend()
    assert not hasattr(clone(fitted), "optimizer_")
    assert clone(fitted).get_params()["n_iter"] == 6
    assert "XstarSearchCV" in fitted._repr_html_()


# Spaces


def test_what_others_write_is_a_space_too():
    space = {
        "m__C": loguniform(1e-2, 1e2), "m__degree": randint(1, 4), "m__gamma": (1e-3, 1.0, "log-uniform"),
        "m__kernel": ["rbf", "poly"], "s": [StandardScaler(), MinMaxScaler(), "passthrough"],
        "m__coef0": xstar.Real(0.0, 1.0),
    }  # fmt: skip
    fitted = search(space, Pipeline([("s", "passthrough"), ("m", SVC())]), n_iter=5).fit(*load_iris(return_X_y=True))
    for params in fitted.cv_results_["params"]:
        assert set(params) == set(space)
        assert 1e-2 <= params["m__C"] <= 1e2
        assert params["m__degree"] in (1, 2, 3)
        assert params["m__kernel"] in ("rbf", "poly")
    fitted = search({"b": [16, 64, 32]}, n_iter=9).fit(X, Y)
    assert sorted(fitted.cv_results_["param_b"].tolist()) == [16, 32, 64]


def test_a_finite_space_is_evaluated_once():
    space = {"a": xstar.Categorical([0.1, 0.5]), "b": xstar.Integer(0, 2)}
    fitted = search(space, n_iter=20).fit(X, Y)
    found = {tuple(sorted(params.items())) for params in fitted.cv_results_["params"]}
    assert len(found) == len(fitted.cv_results_["params"]) == 6
    assert fitted.best_params_["b"] == 0
    assert fitted.result_.stop_reason == "exhausted"
    with parallel_config("threading", n_jobs=9):
        assert len(search(space, n_iter=20, cv=2).fit(X, Y).cv_results_["params"]) == 6


def test_failures_are_not_repeated_either():
    fitted = search({"b": xstar.Integer(0, 3)}, Bowl(a=0.5), n_iter=9, scoring=lambda e, X, y: 1.0 if e.b else np.nan)
    with pytest.warns(UserWarning, match="non-finite"):
        fitted.fit(X, Y)
    assert sorted(states(fitted)) == ["done", "done", "done", "failed"]


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"space": None}, SpaceError, "takes a dictionary of parameters by their names.*received space=None"),
        ({"space": [(0.0, 1.0)]}, SpaceError, "takes a dictionary of parameters"),
        ({"space": {}}, SpaceError, "at least one parameter"),
        ({"space": {"q": xstar.Real(0.0, 1.0)}}, ValueError, "Invalid parameter 'q' for estimator Bowl"),
        ({"n_iter": 0}, SettingsError, "n_iter must be at least 1; received 0"),
        ({"n_iter": 2.5}, SettingsError, "n_iter must be a whole number"),
        ({"scoring": "acuracy"}, ValueError, "The 'scoring' parameter of XstarSearchCV"),
        ({"method": "pess"}, SettingsError, "method must be one of"),
        ({"cv": GroupKFold(2)}, ValueError, "groups"),
    ],
)
def test_what_makes_no_sense_is_refused_in_fit(settings, error, said):
    with pytest.raises(error, match=said):
        search(**settings).fit(X, Y)


# Splits


def test_all_candidates_meet_the_same_splits():
    fitted = search({"a": xstar.Categorical([0.1, 0.2, 0.4])}, n_iter=3, cv=ShuffleSplit(3, test_size=5)).fit(X, Y)
    folds = np.array([fitted.cv_results_[f"split{k}_test_score"] for k in range(3)])
    assert np.ptp(folds - fitted.cv_results_["mean_test_score"], axis=1) == pytest.approx(0.0, abs=1e-12)
    assert np.ptp(folds[:, 0]) > 0.001, "of different splits"


@pytest.mark.parametrize("cv", [None, KFold(3), list(KFold(3).split(X)), ShuffleSplit(1, random_state=0)])
def test_ways_to_split(cv):
    fitted = search(n_iter=3, cv=cv).fit(X, Y)
    assert fitted.n_splits_ == {type(None): 5, ShuffleSplit: 1}.get(type(cv), 3)
    assert search(n_iter=3, cv=KFold(3).split(X)).fit(X, Y).n_splits_ == 3, "a generator is used up once"


def test_groups_weights_and_frames():
    fitted = search(n_iter=3, cv=GroupKFold(2)).fit(X, Y, groups=np.arange(40) % 4)
    assert fitted.n_splits_ == 2
    frame = pd.DataFrame(X, columns=["one"])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The scoring .* does not support sample_weight")
        assert search(n_iter=2).fit(frame, Y, sample_weight=np.full(40, 3.0)).best_estimator_.weight_ == 3.0
    with config_context(enable_metadata_routing=True):
        routed = search(n_iter=2, estimator=Bowl().set_fit_request(sample_weight=True))
        assert routed.fit(X, Y, sample_weight=np.full(40, 2.0)).best_estimator_.weight_ == 2.0


# Metrics


def two_metrics(estimator, X, y):
    return {"steep": -abs(estimator.a - 0.9), "flat": estimator.score(X, y)}


def test_the_metric_of_refit_guides():
    scoring = {"flat": lambda e, X, y: e.score(X, y), "steep": lambda e, X, y: -abs(e.a - 0.9)}
    for given in (scoring, two_metrics):
        fitted = search(n_iter=10, scoring=given, refit="steep").fit(X, Y)
        assert abs(fitted.best_params_["a"] - 0.9) < 0.05
        assert fitted.best_score_ == fitted.cv_results_["mean_test_steep"][fitted.best_index_]
        assert fitted.multimetric_
    first = search(n_iter=4, scoring=scoring, refit=False).fit(X, Y)
    assert [trial.value for trial in first.optimizer_.trials] == first.cv_results_["mean_test_flat"].tolist()
    assert not hasattr(first, "best_index_")


def test_a_choice_of_the_user_wins():
    fitted = search(refit=lambda results: 2).fit(X, Y)
    assert fitted.best_index_ == 2
    assert fitted.best_params_ == fitted.cv_results_["params"][2]
    assert not hasattr(fitted, "best_score_")


def test_the_luckiest_candidate_is_not_the_best():
    """One value of a lattice is far luckier than its neighbors, on two folds of four: that is noise."""

    def score(estimator, X, y):
        luck = 0.6 * (estimator.b == 3) * (X[0, 0] > 0.4)
        return 1.0 - ((estimator.b - 9) / 14) ** 2 + luck + 0.1 * np.sin(37.0 * estimator.b + 9.0 * X[0, 0])

    fitted = search({"b": xstar.Integer(0, 15)}, n_iter=16, scoring=score).fit(X, Y)
    means = fitted.cv_results_["mean_test_score"]
    assert fitted.cv_results_["param_b"][np.argmax(means)] == 3
    assert abs(fitted.best_params_["b"] - 9) <= 2
    assert fitted.best_score_ == means[fitted.best_index_] < means.max()
    assert fitted.cv_results_["rank_test_score"][fitted.best_index_] > 1


# Failures


def test_failed_fits_teach():
    fitted = search(n_iter=12, estimator=Bowl(fails_above=0.5))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fitted.fit(X, Y)
    assert [one.category for one in told] == [FitFailedWarning, UserWarning], "each once, not for each candidate"
    assert re.match(r"\d+ of 48 fits failed(.|\n)*is too much", str(told[0].message))
    assert "One or more of the test scores are non-finite" in str(told[1].message)
    results = fitted.cv_results_
    failed = np.array([params["a"] > 0.5 for params in results["params"]])
    assert 1 <= failed.sum() <= 5
    assert np.array_equal(np.isnan(results["mean_test_score"]), failed)
    assert [state == "failed" for state in states(fitted)] == failed.tolist()
    assert np.all(results["rank_test_score"][failed] == len(failed) - failed.sum() + 1)
    assert np.all(results["mean_fit_time"] > 0.0)
    assert abs(fitted.best_params_["a"] - 0.3) < 0.05


def test_candidates_without_a_successful_fit_stand_in_their_place():
    """The first, some amid others, and the last, with several metrics and scores of training."""
    space = {"a": xstar.Categorical([0.1, 0.3, 0.5]), "fails_above": [-1.0, 2.0]}
    firsts = set()
    for seed in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = search(
                space, n_iter=6, random_state=seed, scoring=two_metrics, refit="flat", return_train_score=True
            ).fit(X, Y)
        results = fitted.cv_results_
        hopeless = np.array([params["fails_above"] < 0.0 for params in results["params"]])
        assert hopeless.sum() == 3
        for key in ("mean_test_flat", "split3_test_steep", "mean_train_flat"):
            assert np.array_equal(np.isnan(results[key]), hopeless)
        assert [trial.params for trial in fitted.optimizer_.trials] == results["params"]
        assert len(results["std_fit_time"]) == 6
        assert hopeless[-1], "what is likely to fail is left for the end"
        firsts.add(bool(hopeless[0]))
    assert firsts == {True, False}


def test_one_failed_fold_is_a_failed_candidate_whatever_score_it_is_given():
    for score in (np.nan, 5.0):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = search(n_iter=5, estimator=Bowl(fails_on_first=0.4), error_score=score).fit(X, Y)
        failed = [params["a"] > 0.4 for params in fitted.cv_results_["params"]]
        assert any(failed)
        assert [state == "failed" for state in states(fitted)] == failed
        assert not failed[fitted.best_index_]
        assert np.isnan(fitted.cv_results_["mean_test_score"][failed]).all() == np.isnan(score)


def test_what_is_to_be_raised_is_raised():
    with pytest.raises(RuntimeError, match="is too much"):
        search(estimator=Bowl(fails_above=-1.0), error_score="raise").fit(X, Y)


def test_without_any_success_the_error_is_that_of_scikit_learn():
    with pytest.raises(ValueError, match="All the 4 fits failed") as raised:
        search(estimator=Bowl(fails_above=-1.0)).fit(X, Y)
    assert "first of 6 candidates" in raised.value.__notes__[0]
    nothing = search(n_iter=3, scoring=lambda e, X, y: np.nan)
    with pytest.warns(UserWarning, match="One or more of the test scores are non-finite") as told:
        nothing.fit(X, Y)
    assert len(told) == 1
    assert nothing.best_index_ == 0
    assert nothing.result_.params is None
    assert np.isnan(nothing.best_score_)


def test_other_errors_are_not_taken_for_failures():
    def scoring(estimator, X, y):
        return "good"

    with pytest.raises(ValueError, match="scoring must return a number"):
        search(scoring=scoring).fit(X, Y)


def test_after_an_interruption_the_trials_are_there():
    calls = []

    def scoring(estimator, X, y):
        calls.append(estimator.a)
        if len(calls) > 9:
            raise KeyboardInterrupt
        return estimator.score(X, y)

    interrupted = search(scoring=scoring)
    with pytest.raises(KeyboardInterrupt):
        interrupted.fit(X, Y)
    assert states(interrupted) == ["done", "done", "withdrawn"]


# The noise of fold scores


def fold_scores(rng, n, folds=5, sd=0.02, common=0.2):
    means = rng.uniform(0.5, 0.9, n)
    return means[:, None] + common * rng.standard_normal(folds) + sd * rng.standard_normal((n, folds))


def test_what_folds_have_in_common_is_no_noise():
    found = [noise_of_means(fold_scores(np.random.default_rng(seed), 20)).mean() for seed in range(40)]
    assert np.mean(found) == pytest.approx(INDEPENDENT * 0.02 / np.sqrt(5), rel=0.05)
    scores = fold_scores(np.random.default_rng(0), 20)
    shifted = noise_of_means(scores + np.array([0.0, 1.0, -2.0, 0.5, 3.0]))
    assert shifted == pytest.approx(noise_of_means(scores), rel=1e-9)


def test_a_diverged_candidate_does_not_make_the_others_noisy():
    scores = fold_scores(np.random.default_rng(0), 20)
    before = noise_of_means(scores)
    worst = np.argmin(scores.mean(axis=1))
    scores[worst] = [-50.0, 3.0, -900.0, -8.0, 0.0]
    after = noise_of_means(scores)
    others = np.arange(20) != worst
    assert after[others] == pytest.approx(before[others], rel=1e-9)
    assert after[worst] > 1000.0 * before[worst]


def test_single_candidates_are_drawn_toward_the_others():
    own = []
    for seed in range(200):
        scores = fold_scores(np.random.default_rng(seed), 10)
        own.append(np.ptp(np.log(noise_of_means(scores))))
    raw = [np.ptp(np.log(fold_scores(np.random.default_rng(seed), 10, common=0.0).std(axis=1))) for seed in range(200)]
    assert np.mean(own) < 0.5 * np.mean(raw)


@pytest.mark.parametrize(
    "scores", [np.ones((2, 5)), np.ones((9, 1)), np.ones((9, 5)), np.arange(9.0)[:, None] + np.zeros(5)]
)
def test_noise_is_unknown_where_folds_say_nothing(scores):
    assert np.isnan(noise_of_means(scores)).all()


def test_noise_is_told_with_the_scores():
    fitted = search(n_iter=5, scoring=lambda e, X, y: e.score(X, y) + 0.01 * np.sin(99.0 * e.a * X[0, 0])).fit(X, Y)
    told = [trial.sd for trial in fitted.optimizer_.trials]
    folds = np.stack([fitted.cv_results_[f"split{k}_test_score"] for k in range(4)], axis=1)
    assert told == pytest.approx(noise_of_means(folds))


# Without scikit-learn


def test_it_says_what_to_install():
    code = "import sys; sys.modules['sklearn'] = None; import xstar.integrations.sklearn"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "SettingsError: XstarSearchCV needs scikit-learn: pip install 'xstar[sklearn]'." in done.stderr
