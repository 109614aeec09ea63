"""Settings that make no sense are refused where they are written, by their name."""

import pytest

from xstar import Method
from xstar.acquisition import ES, MES, PES, ESSettings, PESSettings
from xstar.entropy import ConditioningSettings, EPSettings, MaximizerSettings
from xstar.errors import DataError, SettingsError
from xstar.feasibility import FeasibilitySettings
from xstar.gp import ApproximationSettings, SliceSampling
from xstar.lockstep import LockstepSettings, Problems
from xstar.methods import ModelSettings, WarpSettings
from xstar.search import BoxSearch, SearchSettings

WRONG = [
    (PESSettings, {"num_screening_samples": 0}), (PESSettings, {"min_distance": 0.0}),
    (PESSettings, {"max_ep_residual": -1.0}), (PESSettings, {"maximizers": None}), (PESSettings, {"conditioning": 3}),
    (PES, {"settings": "fast"}), (ES, {"settings": None}), (MES, {"maximizers": 5}),
    (EPSettings, {"damping": 5.0}), (EPSettings, {"damping": 0.0}), (EPSettings, {"late_damping": 1.1}),
    (EPSettings, {"sequential_damping": -0.5}), (EPSettings, {"tolerance": 0.0}), (EPSettings, {"max_sweeps": 0}),
    (EPSettings, {"late_after": -1}), (ConditioningSettings, {"ep": None}),
    (ModelSettings, {"max_data": 0}), (ModelSettings, {"search": "x"}), (ModelSettings, {"warp": None}),
    (ModelSettings, {"least_noise": 0.0}), (ModelSettings, {"lookahead": 1}), (ModelSettings, {"feasibility": 0.9}),
    (WarpSettings, {"below": 0.0}), (WarpSettings, {"min_values": 0}),
    (FeasibilitySettings, {"kernel": None}), (FeasibilitySettings, {"max_results": 0}),
    (FeasibilitySettings, {"relative_level": 2.0}), (FeasibilitySettings, {"amplitudes": (-1.0,)}),
    (LockstepSettings, {"num_candidates": -5}), (LockstepSettings, {"tolerance": 0.0}),
    (SearchSettings, {"num_finished": 0}), (SearchSettings, {"perturbation_scales": (0.0,)}),
    (BoxSearch, {"settings": None}), (SliceSampling, {"approximation": None}), (Method, {"model": None}),
]  # fmt: skip


@pytest.mark.parametrize("kind, wrong", WRONG, ids=[f"{kind.__name__}-{wrong}" for kind, wrong in WRONG])
def test_a_wrong_setting_is_named(kind, wrong):
    (name,) = wrong
    with pytest.raises(SettingsError, match=name):
        kind(**wrong)


@pytest.mark.parametrize("wrong", [{"level": 5.0}, {"recommended_level": 1.0}, {"base_rates": (0.0,)}])
def test_probabilities_are_below_one(wrong):
    with pytest.raises(SettingsError, match=r"must be a number > 0"):
        FeasibilitySettings(**wrong)


def test_problems_in_lockstep_are_checked():
    for wrong in ((5, 0.1), (abs, 0.1, "pes"), (abs, 0.1, Method(), None)):
        with pytest.raises(SettingsError, match=r"values must be|method must be|settings must be"):
            Problems(*wrong)
    with pytest.raises(DataError, match="noise must be a standard deviation"):
        Problems(abs, -1.0)


@pytest.mark.parametrize("kind", [
    PESSettings, ESSettings, EPSettings, ConditioningSettings, MaximizerSettings, ModelSettings, WarpSettings,
    FeasibilitySettings, LockstepSettings, SearchSettings, ApproximationSettings,
])  # fmt: skip
def test_defaults_are_equal_and_hashable(kind):
    assert kind() == kind()
    assert hash(kind()) == hash(kind())
