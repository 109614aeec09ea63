"""Write the files of this version: python -m tests.data.make. Those of released versions are never written again."""

import sys
from pathlib import Path

import optuna

from xstar import Categorical, Integer, Optimizer, Ordinal, Real, Space, Value
from xstar.acquisition import PES
from xstar.cli import main
from xstar.gp import MAP, Matern52, SquaredExponential
from xstar.methods import Balance, Method, ModelSettings

HERE = Path(__file__).parent
SPACE = {
    "rate": Real(1e-5, 1e-1, log=True),
    "dropout": Real(0.0, 0.5, step=0.05),
    "temperature": Real(20.0, 90.0, unit="°C"),
    "layers": Integer(1, 6),
    "width": Integer(8, 512, log=True),
    "even": Integer(2, 10, step=2),
    "batch": Ordinal([16, 32, 64]),
    "solvent": Categorical(["water", "methanol", None], descriptors=[[10.2, 100.0], [5.1, 65.0], [0.1, 69.0]]),
    "flag": Categorical([True, False, 1.5, "Größe"]),
    "fixed": Real(2.0, 2.0),
}
METHOD = Method(
    (Matern52(), SquaredExponential()), MAP(num_prior_draws=8), acquisition=PES(num_samples=5, num_features=64),
    model=ModelSettings(caution=0.5), balance=Balance(),
)  # fmt: skip
DEFINITION = """# A definition with all that one may have.
name = "tuning"
direction = "minimize"
method = "logei"
seed = 7
noise = 0.01
num_initial = 4
result = "loss"
unit = "%"
stale_after = 3600

[parameters]
lr = { low = 1e-5, high = 1e-1, log = true }
layers = { low = 1, high = 6 }
dropout = { low = 0.0, high = 0.5, step = 0.05 }
temperature = { type = "real", low = 20, high = 90, unit = "°C" }
batch = { levels = [16, 32, 64] }
activation = ["relu", "gelu"]

[parameters.solvent]
choices = ["water", "methanol"]
descriptors = { water = [10.2, 100], methanol = [5.1, 65] }

[run]
command = ["python", "train.py", "{lr}"]
budget = 40
workers = 2
"""


def write(folder: Path) -> None:
    """Write all files."""
    folder.mkdir(exist_ok=True)
    everything = Optimizer(Space(SPACE), direction="minimize", method=METHOD, seed=3, num_initial=3)
    for k, value in enumerate((1.5, 0.5, Value(2.5, sd=0.25))):
        everything.tell(everything.ask(), value)
        assert len(everything.trials) == k + 1
    everything.fail(everything.ask(), "out of memory: <b>é</b>")
    everything.tell(everything.ask(), 0.75)
    everything.ask(2)
    everything.save(folder / "everything.json")
    known = Optimizer([(0.0, 1.0), (-5.0, 5.0)], noise=0.1, seed=1, method="pes")
    for k in range(6):
        known.tell([k / 6, 5.0 - k], -((k / 6 - 0.4) ** 2))
    known.ask()
    known.save(folder / "known_noise.json")
    Optimizer({"x": Real(0.0, 1.0)}, method="random", seed=2).save(folder / "empty.json")
    (folder / "tuning.toml").write_text(DEFINITION, encoding="utf-8", newline="\n")
    command("csv", folder / "tuning.csv", "--batch", 3)
    lines = (folder / "tuning.csv").read_text(encoding="utf-8-sig").splitlines()
    told = [lines[0], f"{lines[1]}12.5", f"{lines[2]}failed", *lines[3:]]
    (folder / "tuning.csv").write_text("\n".join(told) + "\n", encoding="utf-8-sig", newline="")
    (folder / "tuning.csv.bak").unlink(missing_ok=True)
    (folder / "tuning.db").unlink(missing_ok=True)
    point = ["layers=3", "dropout=0.1", "temperature=55.5", "batch=32", "activation=gelu", "solvent=water"]
    command("tell", folder / "tuning.toml", "lr=0.001", *point, 0.5)
    command("tell", folder / "tuning.toml", "lr=0.01", *point, 0.25, "--sd", 0.125)
    command("fail", folder / "tuning.toml", "lr=0.1", *point, "--reason", "diverged")
    command("ask", folder / "tuning.toml")


def command(*arguments: object) -> None:
    """Run a command of xstar."""
    if main([str(argument) for argument in arguments]):
        sys.exit(f"{arguments} failed")


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    write(HERE / "0.1")
