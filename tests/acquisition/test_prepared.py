"""The wrapper of scores: Hessians, blocks, subsets of problems, rough values."""

from dataclasses import replace

import numpy as np

from tests.acquisition.test_contract import posterior
from xstar.acquisition import PES, Prepared
from xstar.acquisition.mean import MeanScore
from xstar.gp import Hyperparameters, Posterior, SquaredExponential
from xstar.numerics import arrays


def test_hessians_are_passed_on_block_by_block(monkeypatch):
    score = Prepared(MeanScore(posterior(2).by_problem()))
    x = np.random.default_rng(0).random((1, 30, 2))
    whole = score.evaluate(x, np.array([0]))
    assert whole.hessian.shape == (1, 30, 2, 2)
    monkeypatch.setattr(arrays, "BLOCK_ELEMENTS", 200)
    for one, other in zip(whole, score.evaluate(x, np.array([0])), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_scores_of_some_problems_are_theirs():
    rng = np.random.default_rng(1)
    X, y = rng.random((3, 1, 5, 2)), rng.standard_normal((3, 1, 5))
    score = Prepared(MeanScore(Posterior(SquaredExponential(), Hyperparameters([0.4, 0.4], 1.0, 0.1), X, y)))
    x = rng.random((3, 4, 2))
    expected = score(x)
    for problems in ([2, 0], [1], [2, 0], [0, 1, 2]):
        np.testing.assert_allclose(score.value(x[problems], np.array(problems)), expected[problems], rtol=1e-12)


def test_rough_information_is_that_of_the_first_paths():
    """Ten samples of sixty: five paths of each of two hyperparameter samples, equally weighed."""
    prepared, Z = PES(60, 100).prepare(posterior(2), np.random.default_rng(0)), np.random.default_rng(1).random((7, 2))
    score = prepared.score
    assert score.weight.shape == (1, 2, 30, 1)
    single = []
    for h, s in np.ndindex(2, 5):
        weight = np.zeros_like(score.weight)
        weight[0, h, s] = 1.0
        single.append(Prepared(replace(score, weight=weight))(Z))
    np.testing.assert_allclose(prepared.screen(Z)[0], np.mean(single, axis=0), rtol=1e-9)
    rough = prepared.evaluate_roughly(Z[None], np.array([0]))
    np.testing.assert_allclose(rough.value[0], np.mean(single, axis=0), rtol=1e-9)
    few = PES(10, 100).prepare(posterior(2), np.random.default_rng(0))
    assert few.score.rough() is few.score, "ten are all there are"
