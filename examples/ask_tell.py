"""Ask for a point, evaluate it however you like, tell the value: the optimizer never calls your code.

    python -m examples.ask_tell

The study is saved after every value and continues from its file, with the same next suggestion, after a restart.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import xstar


def brew(minutes: float, temperature: float) -> float:
    """How good the coffee is: the part that happens in the real world."""
    return 8.0 - (minutes - 4.0) ** 2 - ((temperature - 92.0) / 4.0) ** 2


def main(file: Path) -> None:
    """Fifteen cups of coffee."""
    space = xstar.Space(minutes=xstar.Real(1.0, 10.0), temperature=xstar.Real(70.0, 100.0))
    opt = xstar.Optimizer(space, direction="maximize", noise=0.0, seed=2)
    opt.tell({"minutes": 3.0, "temperature": 85.0}, brew(3.0, 85.0))  # a cup from last week
    while len(opt.trials) < 15:
        trial = opt.ask()
        opt.tell(trial, brew(**trial.params))
        opt.save(file)
        opt = xstar.Optimizer.load(file)  # as if the program had been started again
    trial = opt.ask()
    print(f"the next cup would be {dict(trial.params)}, because:\n{opt.explain(trial)}\n")
    best = opt.recommend()
    print(f"recommended: {dict(best.params)}, expected {best.mean:.3f} ± {best.sd:.3f}")
    print(opt.where())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder) / "coffee.json")
