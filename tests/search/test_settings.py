"""What a search is tuned by: checked, and heeded."""

import numpy as np
import pytest

from tests.search.test_box import Watched, waves
from tests.search.test_mixed import Smooth
from xstar.errors import SettingsError
from xstar.search import BoxSearch, Domain, Lattice, MixedSearch, SearchSettings, draw_candidates


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"num_finished": 0}, "num_finished must be at least 1; received 0"),
        ({"num_perturbations": -1}, "num_perturbations must be at least 0; received -1"),
        ({"min_separation": 0.0}, "min_separation must be a number > 0"),
        ({"perturbation_scales": (0.1, -0.1)}, "perturbation_scales must be a number > 0 and finite; received -0.1"),
    ],
)
def test_settings_are_checked(wrong, message):
    with pytest.raises(SettingsError, match=message):
        SearchSettings(**wrong)
    with pytest.raises(SettingsError, match="settings must be a SearchSettings"):
        BoxSearch(settings=wrong)


def test_scales_may_be_a_list():
    assert SearchSettings(perturbation_scales=[0.1, 0.2]) == SearchSettings(perturbation_scales=(0.1, 0.2))


@pytest.mark.parametrize("count", [1, 3])
def test_so_many_searches_are_finished(rng, count):
    objective = Watched(waves)
    search = BoxSearch(num_starts=9, settings=SearchSettings(num_finished=count, rough_iterations=2))
    search.maximize(objective, draw_candidates(256, np.zeros((0, 2)), rng))
    assert objective.exact_widths[0] == count
    assert len(objective.rough_widths) <= 1 + 2


def test_a_domain_is_searched_completely_up_to_a_size(rng):
    """With no candidate near the maximum and no moves to get there, only complete search finds it."""
    domain = Domain((Lattice(30), Lattice(30)))
    objective = Smooth(np.array([0.9, 0.9]))
    few = np.full((1, 2), 0.05)
    complete = MixedSearch(domain).maximize(objective, few)
    partial = MixedSearch(
        domain, settings=SearchSettings(max_enumerated=100, num_rounds=1, max_moves=1)
    ).maximize(objective, few)  # fmt: skip
    assert complete.value[0] == pytest.approx(0.0, abs=2.0 / 60.0**2)
    assert partial.value[0] < -0.1


def test_local_candidates_have_the_scales_asked_for(rng):
    center = np.full((1, 3), 0.5)
    settings = SearchSettings(perturbation_scales=(1e-4,), num_perturbations=50)
    points = draw_candidates(8, np.zeros((0, 3)), rng, around=center, settings=settings)[8:]
    assert points.shape == (51, 3)
    assert np.abs(points - center).max() < 1e-3
