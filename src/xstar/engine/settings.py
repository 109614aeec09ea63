"""What a study is about and how its suggestions are made: decided once, and not changed afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from xstar.direction import Direction
from xstar.errors import SettingsError
from xstar.goals import Goals
from xstar.methods import Method, ModelSettings, find_method, name_of
from xstar.numerics.arrays import Array
from xstar.numerics.checks import array_of, integer
from xstar.space import Space, SpaceLike
from xstar.trial import check_sd

SEVERAL = '"pes", "pes-alone", "logei", "ei", "thompson" and "random"'


@dataclass(frozen=True)
class Settings:
    """The settings of an optimizer; `Settings.check` makes them of what a user gives."""

    space: Space
    direction: Direction
    method: str | Method
    """As it was given: a name, or the method itself."""
    seed: int
    noise: float | None
    """The standard deviation of values told without one of their own; None if it is to be learned."""
    num_initial: int
    """Evaluations that fill the space before the model is asked."""
    threads: int | None
    compute: str
    goals: Goals | None = None
    """Of several outputs; None for one. The direction is then that of the first objective."""
    noises: Mapping[str, float] = field(default_factory=dict)
    """The noise of some of several outputs, where it is not the same for all."""

    @classmethod
    def check(
        cls, space: SpaceLike, direction: str, method: str | Method, seed: int | None, *,
        noise: float | Mapping[str, float] | None, num_initial: int | None, threads: int | None, compute: str,
        objectives: Any = None, constraints: Any = None,
    ) -> Settings:  # fmt: skip
        """Return settings, or complain about the first that makes no sense."""
        given = Space.of(space)
        strategy = find_method(method)
        array_of(compute)
        goals = _goals(objectives, constraints, direction)
        noises: dict[str, float] = {}
        if isinstance(noise, Mapping):
            if goals is None:
                raise SettingsError(f"noise is one number for one output; received {noise!r}.")
            noises = {name: check_sd(sd, f"noise of {name!r}") for name, sd in goals.known(noise).items()}
            noise = None
        if goals is not None and not strategy.handles_several_outputs:
            raise SettingsError(f"method {name_of(method)!r} is for one output; {SEVERAL} are for several.")
        return cls(
            space=given,
            direction=Direction.parse(direction) if goals is None else goals.direction(goals.names[0]),
            method=method,
            seed=draw_seed() if seed is None else integer(seed, "seed", 0),
            noise=None if noise is None else check_sd(noise, "noise"),
            num_initial=_enough(given) if num_initial is None else integer(num_initial, "num_initial", 1),
            threads=None if threads is None else integer(threads, "threads", 1),
            compute=compute,
            goals=goals,
            noises=noises,
        )

    def of_output(self, name: str) -> Settings:
        """Return the settings of one of several outputs, as those of a study of its own."""
        if name not in self._of_outputs:
            raise SettingsError(f"there is no output {name!r}; the outputs are {', '.join(self._of_outputs)}.")
        return self._of_outputs[name]

    @property
    def noise_of_all(self) -> float | None:
        """The noise of an evaluation with several outputs: 0 if none of them has any, None if that is not known."""
        noises = {own.noise for own in self._of_outputs.values()}
        return 0.0 if noises == {0.0} else None

    @cached_property
    def _of_outputs(self) -> dict[str, Settings]:
        goals = self.goals
        return {} if goals is None else {
            name: replace(
                self, direction=goals.direction(name), goals=None, noises={}, noise=self.noises.get(name, self.noise)
            )
            for name in goals.names
        }  # fmt: skip

    @cached_property
    def strategy(self) -> Method:
        """Kernels, inference and acquisition."""
        return find_method(self.method)

    @property
    def model(self) -> ModelSettings:
        """How models are fitted and searched."""
        return self.strategy.model

    @property
    def method_name(self) -> str:
        """The name of the method."""
        return name_of(self.method)

    @cached_property
    def like(self) -> Array:
        """An array where the model is computed, for others to be put beside it."""
        return array_of(self.compute)

    @cached_property
    def for_claims(self) -> Settings:
        """The same with a method whose hyperparameters are those that `claims_power` of the evidence has left."""
        own = self.strategy
        tempered = own.inference.tempered(own.model.claims_power)
        return self if tempered == own.inference else replace(self, method=replace(own, inference=tempered))

    def same_model(self, other: Settings) -> bool:
        """Whether the same evidence gives the same model."""
        return self._of_model() == other._of_model()

    def _of_model(self) -> tuple[Any, ...]:
        return self.space, self.direction, self.method, self.seed, self.noise, self.compute


def _goals(objectives: Any, constraints: Any, direction: str) -> Goals | None:
    """What is wanted of several outputs; None for one."""
    if objectives is None and not constraints:
        return None
    if objectives is None:
        objectives = {"value": direction}
    return Goals.check(objectives, constraints)


def draw_seed() -> int:
    """Return a seed that nobody has had before."""
    return int(np.random.SeedSequence().generate_state(1)[0])


def _enough(space: Space) -> int:
    """One more than the parameters that vary, from 3 to 10."""
    return min(max(len(space.free) + 1, 3), 10)
