"""Optuna's samplers and ours by name, and a study that one of them drives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

SAMPLERS = ("xstar", "xstar-logei", "xstar-pes", "GPSampler", "TPESampler", "RandomSampler")
"""Ours as it comes, by LogEI, and by information only; GPSampler needs torch."""
TITLES = {
    "xstar": "xstar",
    "xstar-logei": "xstar, LogEI",
    "xstar-pes": "xstar, information only",
    "GPSampler": "Optuna GPSampler",
    "TPESampler": "Optuna TPE",
    "RandomSampler": "random",
}


def make(name: str, seed: int, distributions: Mapping[str, Any]) -> Any:
    """A sampler as its users get it, but that ours are given the search space."""
    import optuna

    from xstar import Method
    from xstar.integrations.optuna import XstarSampler

    methods: dict[str, Any] = {"xstar": "pes", "xstar-logei": "logei", "xstar-pes": Method(balance=None)}
    if name in methods:
        return XstarSampler(seed=seed, method=methods[name], search_space=distributions)
    return getattr(optuna.samplers, name)(seed=seed)


def drive(
    name: str, seed: int, distributions: Mapping[str, Any], objective: Callable[[dict[str, Any]], float],
    trials: int, direction: Literal["minimize", "maximize"],
) -> list[dict[str, Any]]:  # fmt: skip
    """The parameters of each trial of a study."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction=direction, sampler=make(name, seed, distributions))
    asked = []
    for _ in range(trials):
        trial = study.ask(fixed_distributions=dict(distributions))
        asked.append(dict(trial.params))
        study.tell(trial, objective(asked[-1]))
    return asked
