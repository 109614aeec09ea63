"""Scores of evaluations that may fail."""

from __future__ import annotations

from typing import Any

from xstar.acquisition.base import Score
from xstar.entropy.success import CLIFF, HIGHER_CLIFF, Success, rows
from xstar.numerics.arrays import Array, HostArray, move, namespace
from xstar.numerics.ascent import Evaluation


class Weighed(Score):
    """A score times P(success)^power, and next to nothing where success is not likely.

    Where scores are logarithms or values, the logarithm is added. With a power of 1 it is the expected score: a failure
    tells nothing of the function.
    """

    def __init__(self, score: Score, success: Success, power: float) -> None:
        self.score, self.success, self.power = score, success, power
        self.additive = score.additive
        self.cliff = HIGHER_CLIFF if score.additive else CLIFF
        super().__init__(score._like, score.num_problems, score._elements, score.diagnostics)

    def screen(self, X: Any, /) -> Array:
        value = self.score.screen(X)
        penalty = self.success.penalty(rows(X), self.power, self.cliff)
        return self._combine(value, move(penalty.reshape(-1, value.shape[1]), value))

    def value(self, x: Array, problems: HostArray, /) -> Array:
        value = self.score.value(x, problems)
        return self._combine(
            value, move(self.success.penalty(rows(x), self.power, self.cliff).reshape(value.shape), value)
        )

    def evaluate(self, x: Array, problems: HostArray, /) -> Evaluation:
        value, gradient, _ = self.score.evaluate(x, problems)
        return Evaluation(*self._combine_slopes(value, gradient, x))

    def evaluate_roughly(self, x: Array, problems: HostArray, /) -> Evaluation:
        value, gradient, _ = self.score.evaluate_roughly(x, problems)
        return Evaluation(*self._combine_slopes(value, gradient, x))

    def _value(self, X: Array) -> Array:
        value = self.score._value(X)
        penalty = self.success.penalty(rows(X), self.power, self.cliff).reshape(value.shape)
        return self._combine(value, move(penalty, value))

    def _value_and_gradient(self, X: Array) -> tuple[Array, Array]:
        return self._combine_slopes(*self.score._value_and_gradient(X), X)

    def _combine(self, value: Array, penalty: Array) -> Array:
        xp = namespace(value)
        # A score below zero (ES has some) must not gain by a small weight.
        return value + penalty if self.additive else xp.clip(value, min=0.0) * xp.exp(penalty)

    def _combine_slopes(self, value: Array, gradient: Array, x: Array) -> tuple[Array, Array]:
        xp = namespace(value)
        host, host_slope = self.success.penalty_gradient(rows(x), self.power, self.cliff)
        penalty = move(host.reshape(value.shape), value)
        slope = move(host_slope.reshape(gradient.shape), value)
        if self.additive:
            return value + penalty, gradient + slope
        weight = xp.where(value > 0.0, xp.exp(penalty), 0.0)
        return self._combine(value, penalty), weight[..., None] * (gradient + value[..., None] * slope)
