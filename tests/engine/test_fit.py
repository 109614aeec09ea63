"""Output transforms that the values choose between."""

import numpy as np
import pytest

from xstar import Method, Optimizer
from xstar.acquisition import LogEI
from xstar.engine.fit import candidate_scalings, design_weights
from xstar.engine.scaling import Scaling
from xstar.errors import SettingsError
from xstar.gp import MAP, Fixed, Hyperparameters, Matern52, Posterior, SquaredExponential, draw_paths
from xstar.gp.inference import infer_each_under_best
from xstar.gp.observations import Observations
from xstar.methods import ModelSettings, WarpSettings

STRAIGHT, WARPED = WarpSettings(), WarpSettings(below=0.5)
BOTH = ModelSettings(warp=(STRAIGHT, WARPED))


def path(rng, n=40, d=2):
    """Values of a smooth function at random points."""
    hyper = Hyperparameters(np.full(d, 0.4), 1.0, 1e-3)
    X = rng.random((n, d))
    prior = Posterior(SquaredExponential(), hyper, np.zeros((0, d)), np.zeros(0))
    return X, np.asarray(draw_paths(prior, 1, rng)(X))[0]


def chosen(X, values, settings=BOTH):
    opt = Optimizer([(0.0, 1.0)] * X.shape[1], method=Method(Matern52(), MAP(), LogEI(), settings), num_initial=3)
    for x, value in zip(X, values, strict=True):
        opt.tell(x, value)
    return opt._model().scaling.warp


def test_a_smooth_function_is_left_as_it_is_and_a_skewed_one_is_warped(rng):
    """Of ten functions, and of minus their exponentials, whose low values are exponentially far below."""
    straight, skewed = [], []
    for _ in range(10):
        X, values = path(rng)
        straight.append(chosen(X, values) == STRAIGHT)
        skewed.append(chosen(X, -np.exp(2.0 * values)) == WARPED)
    assert sum(straight) >= 7
    assert sum(skewed) >= 9


@pytest.mark.parametrize("shift, scale", [(0.0, 1.0), (1e6, 1e-3), (-5.0, 1e12), (0.0, 1e-12)])
def test_the_choice_does_not_depend_on_the_unit(rng, shift, scale):
    X, values = path(rng, n=20)
    assert chosen(X, shift + scale * -np.exp(2.0 * values)) == WARPED


def test_the_jacobian_is_the_derivative_of_the_map(rng):
    values = -np.exp(2.0 * rng.standard_normal(30))
    weights = design_weights(rng.random((30, 2)), ModelSettings())
    for warp in (STRAIGHT, WARPED, WarpSettings(above=0.5)):
        scaling = Scaling.fit(values, weights, warp)
        step = 1e-6
        slopes = (scaling.forward(values + step) - scaling.forward(values - step)) / (2.0 * step)
        assert scaling.log_jacobian(values) == pytest.approx(np.log(slopes).sum(), rel=1e-6)


def test_transforms_that_are_the_same_for_these_values_are_one(rng):
    X = rng.random((12, 1))
    assert len(candidate_scalings(X, np.linspace(0.0, 1.0, 12) ** 0.01, BOTH)) == 2
    assert len(candidate_scalings(X[:3], np.array([0.0, 1.0, 5.0]), BOTH)) == 1, "three values have no bulk"


def test_a_single_transform_may_be_asked_for(rng):
    X, values = path(rng)
    assert chosen(X, -np.exp(2.0 * values), ModelSettings(warp=STRAIGHT)) == STRAIGHT
    assert chosen(X, values, ModelSettings(warp=[WARPED])) == WARPED


@pytest.mark.parametrize("wrong", [(), (STRAIGHT, None), "log"])
def test_transforms_that_are_none_are_refused(wrong):
    with pytest.raises(SettingsError, match="warp must be"):
        ModelSettings(warp=wrong)


def test_noise_that_is_told_is_in_the_unit_of_the_transform_chosen(rng):
    X, values = path(rng)
    opt = Optimizer([(0.0, 1.0)] * 2, method=Method(Matern52(), MAP(), LogEI(), ModelSettings(warp=WARPED)))
    for x, value in zip(X, -np.exp(values), strict=True):
        opt.tell(x, value, sd=0.05)
    model = opt._model()
    values = model.evidence.values
    told = np.asarray(model.post.data.noise_sd)
    np.testing.assert_allclose(told, 0.05 * model.scaling.slope(values), rtol=1e-10)
    assert told.min() < 0.8 * told.max(), "where the transform is flat, noise is small"


# Versions of data sets


def test_of_several_versions_the_most_probable_is_kept(rng):
    """Version by version, one after the other, is the oracle."""
    X = np.stack([rng.random((9, 2)) for _ in range(3)])
    y = rng.standard_normal((3, 2, 9)) * np.array([1.0, 0.5])[:, None]
    jacobian = rng.standard_normal((3, 2))
    kernels = (SquaredExponential(), Matern52())
    versions = Observations.check(np.repeat(X, 2, axis=0), y.reshape(6, 9))
    found = infer_each_under_best(kernels, MAP(), versions, np.random.default_rng(1), log_jacobian=jacobian)
    assert sorted(int(s) // 2 for group in found for s in group.sets) == [0, 1, 2]
    for group in found:
        for k, chosen_set in enumerate(group.sets):
            r, v = divmod(int(chosen_set), 2)
            densities = {
                (kernel, version): float(
                    np.asarray(
                        MAP().infer(kernel, X[r], y[r, version], np.random.default_rng(1)).log_density
                    )[0]
                )
                + jacobian[r, version]
                for kernel in kernels
                for version in range(2)
            }  # fmt: skip
            best = max(densities, key=densities.get)
            assert densities[group.kernel, v] == pytest.approx(densities[best], abs=1e-4)
            assert float(np.asarray(group.inferred.log_density)[k, 0]) + jacobian[r, v] == pytest.approx(
                densities[best], abs=1e-4
            )


def test_known_hyperparameters_have_one_version():
    data = Observations.check(np.zeros((2, 3, 1)) + np.arange(3.0)[:, None], np.zeros((2, 3)))
    known = Fixed(Hyperparameters([0.3], 1.0, 0.1))
    with pytest.raises(SettingsError, match="they have no other version"):
        infer_each_under_best([Matern52()], known, data, np.random.default_rng(0), log_jacobian=np.zeros((1, 2)))
