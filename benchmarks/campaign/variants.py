"""The variants of a campaign, each a `Method` by name, and the other libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from xstar import Method
from xstar.acquisition import PES, Acquisition, LogEI
from xstar.gp import CommonScale, Gamma, Prior, SliceSampling
from xstar.methods import INDEPENDENT, Balance, ModelSettings, WarpSettings


class Variant(NamedTuple):
    """What is compared."""

    title: str
    method: Callable[[], Method]


def _method(
    balance: Balance | None = None,
    prior: Prior | None = None,
    acquisition: Acquisition | None = None,
    model: ModelSettings | None = None,
) -> Method:
    return Method(
        inference=SliceSampling(prior=prior or Prior()),
        acquisition=acquisition or PES(),
        model=model or ModelSettings(),
        balance=balance,
    )


LESS_NOISE = Prior(noise=Gamma(0.3, 3.0))
BEFORE = ModelSettings(caution=0.0, caution_among_tested=0.0, warp=WarpSettings())
ONE_WARP = ModelSettings(warp=WarpSettings())
VARIANTS: dict[str, Variant] = {
    "default": Variant("the default", Method),
    "logei": Variant("LogEI", lambda: _method(acquisition=LogEI())),
    "pes": Variant("information only", _method),
    "pes-before": Variant(
        "information only, independent lengthscales, one transform (the default before)",
        lambda: _method(prior=INDEPENDENT, model=BEFORE),
    ),
    "pes-common": Variant(
        "the same, lengthscales with a common scale",
        lambda: _method(model=BEFORE),
    ),
    "confirm": Variant("information, confirmed", lambda: _method(Balance(improve=0.0))),
    "half": Variant("half of the turns improve", lambda: _method(Balance(improve=0.5))),
    "every-turn": Variant("every turn may improve", lambda: _method(Balance(improve=1.0))),
    "always-improve": Variant("they improve whatever the noise", lambda: _method(Balance(improve_above=0.0))),
    "above-noise": Variant("they improve above one sd of the noise", lambda: _method(Balance(improve_above=1.0))),
    "any-gain": Variant("they improve however small the gain", lambda: _method(Balance(least_gain=0.0))),
    "more-caution": Variant(
        "recommended if better by two sd, by one among the tested",
        lambda: _method(Balance(), model=ModelSettings(caution=2.0, caution_among_tested=1.0)),
    ),
    "less-noise": Variant("a prior of less noise", lambda: _method(Balance(), LESS_NOISE)),
    "narrower": Variant(
        "lengthscales with median 0.9, common 0.8, own 0.6",
        lambda: _method(Balance(), Prior(lengthscale=CommonScale(0.9, 0.8, 0.6))),
    ),
    "one-warp": Variant("one output transform", lambda: _method(Balance(), model=ONE_WARP)),
    "warp-up": Variant(
        "a third transform, of the upper half",
        lambda: _method(
            Balance(), model=ModelSettings(warp=(WarpSettings(), WarpSettings(below=0.5), WarpSettings(above=0.5)))
        ),
    ),
    "logei-one-warp": Variant("LogEI, one output transform", lambda: _method(acquisition=LogEI(), model=ONE_WARP)),
}
LIBRARIES = ("optuna-gp", "botorch-logei", "optuna-tpe")
"""By the names of `experiments.peers`, whose sessions are driven one at a time."""
