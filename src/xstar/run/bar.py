"""The progress of a run on a terminal."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any

from xstar.errors import TrialError
from xstar.optimizer import Optimizer
from xstar.trial import Trial


class Bar:
    """A progress bar on a terminal, nothing elsewhere."""

    def __init__(self, wanted: bool, budget: int | None) -> None:
        self.shown = wanted and sys.stderr.isatty()
        self._bar: Any = None
        self._budget = budget

    def __enter__(self) -> Bar:
        if self.shown:
            from tqdm import tqdm

            self._bar = tqdm(total=self._budget, unit="eval", dynamic_ncols=True)
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def show(self, optimizer: Optimizer, trial: Trial, left: float | None) -> None:
        """Show one more evaluation."""
        if self._bar is None:
            return
        several = optimizer.goals is not None and optimizer.goals.several
        parts = []
        # Of some output, nothing may be known yet.
        with suppress(TrialError):
            if several:
                parts.append(f"{len(optimizer.pareto().trials)} not dominated")
            else:
                best = optimizer.recommend()
                parts.append(f"best {best.mean:.4g} ± {best.sd:.1g}")
        if "purpose" in trial.diagnostics:
            parts.append(trial.diagnostics["purpose"])
        if "bits" in trial.diagnostics:
            parts.append(f"{trial.diagnostics['bits']:.2g} bits")
        if left is not None:
            parts.append(f"left < {left:.0%}" if several else f"regret < {left:.2g}")
        self._bar.set_postfix_str(", ".join(parts), refresh=False)
        self._bar.update()
