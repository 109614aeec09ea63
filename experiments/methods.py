"""The methods that are compared.

Four are those of the paper, with its model, a squared-exponential kernel: EI and PES average over samples of the
hyperparameters, ES and PES-NB use the mean of such samples. PES is the algorithm of 2014: its constraints take every
maximum for an interior one, its incumbent is the largest noisy value, and its paths are drawn from weights. The others
are acquisitions of xstar with the kernel chosen by the data. All of these have independent lengthscales, suggest by
their acquisition alone and recommend the best posterior mean. "xstar" is the library's default as it comes. Known
hyperparameters are given to all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from experiments.problems import Problem
from experiments.problems.within_model import LENGTHSCALE
from xstar import Method
from xstar.acquisition import EI, ES, MES, PES, Acquisition, LogEI, Thompson
from xstar.gp import Fixed, Hyperparameters, Inference, PosteriorMean, SliceSampling, SquaredExponential
from xstar.methods import INDEPENDENT, ModelSettings, WarpSettings


@dataclass(frozen=True)
class Contender:
    """A method of xstar, and how figures show it."""

    title: str
    color: str
    acquisition: Callable[[], Acquisition | None]
    papers: bool = False
    """Whether it has the paper's kernel."""
    inference: Callable[[], Inference] = lambda: SliceSampling(prior=INDEPENDENT)
    alone: bool = False
    """Whether it works on one problem at a time only."""

    whole: bool = False
    """Whether it is the library's default in every part."""

    def method(self, problem: Problem) -> Method:
        """For a problem."""
        own = Method() if self.whole else self._alone()
        if problem.name != "within-model":
            return own
        known = Hyperparameters(np.full(problem.dimension, LENGTHSCALE), 1.0, problem.noise)
        return replace(own, kernel=SquaredExponential(), inference=Fixed(known))

    def _alone(self) -> Method:
        """The acquisition without anything that shares the evaluations or looks twice at a recommendation."""
        plain = ModelSettings(caution=0.0, caution_among_tested=0.0, warp=WarpSettings())
        own = Method(inference=self.inference(), acquisition=self.acquisition(), model=plain, balance=None)
        return replace(own, kernel=SquaredExponential()) if self.papers else own


def _mean_of_samples() -> PosteriorMean:
    return PosteriorMean(SliceSampling(prior=INDEPENDENT))


def _pes_2014() -> PES:
    return PES(boundary="paper", incumbent="paper", paths="weights")


CONTENDERS = {
    "xstar": Contender("xstar", "#d62728", PES, whole=True),
    "pes": Contender("PES of xstar", "#ff9896", PES),
    "pes-2014": Contender("PES, 2014", "#1f77b4", _pes_2014, papers=True),
    "pes-nb": Contender("PES-NB, 2014", "#17becf", _pes_2014, papers=True, inference=_mean_of_samples),
    "es": Contender("ES", "#2ca02c", ES, papers=True, inference=_mean_of_samples, alone=True),
    "ei": Contender("EI", "#000000", EI, papers=True),
    "logei": Contender("LogEI", "#7f7f7f", LogEI),
    "mes": Contender("MES", "#9467bd", MES),
    "thompson": Contender("Thompson", "#ff7f0e", Thompson),
    "random": Contender("random", "#c7c7c7", lambda: None),
    "pes-se": Contender("PES of xstar, the paper's kernel", "#e377c2", PES, papers=True),
    "pes-2014-chosen": Contender("PES, 2014, kernel chosen", "#8c564b", _pes_2014),
}
FIGURED = ("xstar", "pes", "pes-2014", "pes-nb", "es", "ei", "logei", "mes", "thompson")
"""Those of the figures; the last ones above tell what is due to the kernel."""
PEERS = {
    "botorch-logei": "BoTorch LogEI",
    "botorch-pes": "BoTorch PES",
    "botorch-jes": "BoTorch JES",
    "optuna-gp": "Optuna GPSampler",
    "optuna-tpe": "Optuna TPE",
}
"""Libraries to compare with; `experiments.peers` drives them."""
TITLES = {name: contender.title for name, contender in CONTENDERS.items()} | PEERS
