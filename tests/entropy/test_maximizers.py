import numpy as np
import pytest

from xstar.entropy import ConditioningSettings, MaximizerSettings, draw_maximizers
from xstar.entropy.maximizers import best_of_each
from xstar.errors import SettingsError
from xstar.gp import Hyperparameters, Posterior, SquaredExponential
from xstar.search import SearchSettings


@pytest.fixture
def post(rng):
    X = rng.random((7, 2))
    return Posterior(SquaredExponential(), Hyperparameters([[0.3, 0.3]] * 2, 1.0, 0.1), X, np.sin(5.0 * X[:, 0]))


@pytest.mark.parametrize("sets", [1, 4, 12])
def test_paths_share_features_as_asked(post, rng, sets):
    """Two hyperparameter samples with six paths each."""
    drawn = draw_maximizers(post, 6, rng, num_features=20, settings=MaximizerSettings(min_feature_sets=sets))
    assert drawn.paths.features.phases.shape[0] == max(sets, 2)


def test_incumbents_are_the_best_data_inside_the_cube(post):
    points, found = best_of_each(post, 2)
    mean = post.predict_mean(post.data.X).mean(axis=0)
    np.testing.assert_array_equal(points[0], post.data.X[np.argsort(-mean)[:2]])
    assert found.all()
    outside = Posterior(post.kernel, post.hyper, post.data.X + np.array([0.0, 1.0]), post.data.y)
    assert not best_of_each(outside)[1].any()


def test_settings_change_how_paths_are_maximized_and_not_which(post):
    """A thorough search is nowhere worse than one from few candidates."""
    hasty = MaximizerSettings(num_candidates=4, num_incumbents=1, search=SearchSettings(num_finished=1))
    one, other = (
        draw_maximizers(post, 8, np.random.default_rng(1), num_features=50, settings=settings).value
        for settings in (hasty, MaximizerSettings())
    )
    assert np.all(other >= one - 1e-6)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: MaximizerSettings(num_incumbents=0), "num_incumbents must be at least 1; received 0"),
        (lambda: MaximizerSettings(search=3), "search must be a SearchSettings"),
        (lambda: ConditioningSettings(least_spread=0.0), "least_spread must be a number > 0"),
        (lambda: ConditioningSettings(ep=None), "ep must be a EPSettings"),
    ],
)
def test_settings_are_checked(make, message):
    with pytest.raises(SettingsError, match=message):
        make()
