"""What the README shows runs, the demo draws its picture, the benchmarks work, and importing stays light."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent


def test_the_code_of_the_readme_runs():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    names: dict = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert names["x_star"].x.shape == (50, 2)
    assert names["inferred"].hyper.batch_shape == (10,)
    assert np.all((names["x_next"] >= 0.0) & (names["x_next"] <= 1.0))


def test_the_demo_draws_its_picture(tmp_path):
    picture = tmp_path / "paths.png"
    done = subprocess.run(
        [sys.executable, "-m", "examples.sample_paths", str(picture)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert picture.stat().st_size > 20_000
    assert str(picture) in done.stdout


def test_importing_is_light():
    """No heavy package is loaded until it is needed."""
    heavy = ["torch", "cupy", "matplotlib", "sklearn", "optuna", "scipy.stats", "scipy.spatial", "scipy.optimize"]
    code = f"import sys, xstar, xstar.acquisition; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_robustness_benchmark_counts_nothing():
    from benchmarks.robustness import count

    row = count(2, 8, constructions=1, points=30)
    assert row["points"] == 30
    assert sum(row[key] for key in row if key.endswith(("finite", "converged", "dropped")) or key == "negative") == 0


def test_the_regret_benchmark_improves_on_the_start():
    from benchmarks.within_model import run

    regrets = run("EI", seed=0, evaluations=8)
    assert len(regrets) == 9
    assert min(regrets) > -1e-9
    assert regrets[-1] < regrets[0]


def test_the_accuracy_benchmark_compares_surfaces():
    from benchmarks.accuracy import SETTINGS, compare, data_set, truths

    setting = SETTINGS["1d"]._replace(fine=41, coarse=21)
    truth = truths(data_set(setting, 0), setting, draws=4000, seed=0)
    assert truth["coarse"].grid.shape == (21, 1)
    itself = compare(truth["fine"].gain, truth["fine"])
    assert itself["attained"] == 1.0
    assert itself["pearson"] > 0.999
