"""Which tables a page has, and what makes each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.published import (
    accuracy,
    calibration,
    campaign,
    core,
    gpu,
    growth,
    outputs,
    readme,
    regret,
    speed,
    studies,
    trust,
)
from benchmarks.published.markdown import Lines, fill, stale

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Page:
    """A Markdown file, and the functions that make its tables, by the names in its markers."""

    path: str
    tables: dict[str, Callable[[], Lines]]

    def write(self, root: Path = ROOT) -> bool:
        """Bring the page up to date; whether anything had to be changed."""
        file = root / self.path
        text = file.read_text(encoding="utf-8")
        filled = fill(text, self._made())
        if filled != text:
            file.write_text(filled, encoding="utf-8")
        return filled != text

    def stale(self, root: Path = ROOT) -> list[str]:
        """The names of the tables that are not what the results say."""
        return stale((root / self.path).read_text(encoding="utf-8"), self._made())

    def _made(self) -> dict[str, Lines]:
        return {name: make() for name, make in self.tables.items()}


PAGES = (
    Page("README.md", {"compared": readme.compared}),
    Page(
        "docs/pes.md",
        {
            "accuracy_2d": partial(accuracy.accuracy, "2d", ("fine", "coarse")),
            "accuracy_1d": partial(accuracy.accuracy, "1d"),
            "accuracy_3d": partial(accuracy.accuracy, "3d"),
            "accuracy_noisy": partial(accuracy.accuracy, "noisy"),
            "accuracy_noisier": partial(accuracy.accuracy, "noisier"),
            "accuracy_2d_zoomed": partial(accuracy.accuracy, "2d_zoomed", ("zoomed",)),
            "within_model": accuracy.within_model,
            "robustness": accuracy.robustness,
        },
    ),
    Page(
        "docs/core.md",
        {"modes": core.modes, "core": core.core, "likelihoods": core.likelihoods, "search": core.search},
    ),
    Page(
        "docs/scale.md",
        {
            "series": growth.series,
            "speed": speed.speed,
            "speed_without_greenlet": speed.speed_without_greenlet,
            "startup": speed.startup,
            "limits": growth.limits,
            "gpu_seconds": gpu.gpu_seconds,
            "gpu_step": gpu.gpu_step,
            "gpu_agreement": gpu.gpu_agreement,
        },
    ),
    Page(
        "docs/regret.md",
        {
            "regret": regret.regret,
            "defaults_branin": partial(regret.defaults, "branin"),
            "defaults_gp": partial(regret.defaults, "gp"),
            "failures": regret.failures,
        },
    ),
    Page(
        "docs/choices.md",
        {
            "campaign_methods": campaign.campaign_methods,
            "campaign_choices": campaign.campaign_choices,
            "campaign_choices_evaluated": partial(campaign.campaign_choices, "evaluated"),
            "bbob": campaign.bbob,
            "tables": campaign.tables,
            "recommendation": campaign.recommendation,
        },
    ),
    Page(
        "docs/trust.md",
        {
            "kills": trust.kills,
            "situations": trust.situations,
            "soak": trust.soak,
            "calibration": calibration.calibration,
            "calibration_worst": calibration.worst,
        },
    ),
    Page("docs/optuna.md", {"through_optuna": regret.through_optuna, "latency": regret.latency}),
    Page(
        "docs/experiments.md",
        {
            "likeness": studies.likeness,
            "findings": studies.findings,
            "standings": studies.standings,
            "repeats": studies.repeats,
            "problems": studies.problems,
        },
    ),
    Page(
        "docs/benchmarks.md",
        {
            "medians": studies.medians,
            "library_regrets": studies.library_regrets,
            "library_seconds": studies.library_seconds,
            "speed_excerpt": speed.speed_excerpt,
            "outputs": outputs.compared,
        },
    ),
    Page("docs/how-to/outputs.md", {"accuracy_outputs": outputs.accuracy}),
)
