"""What the README shows runs, the demo draws its picture, the benchmarks work, and importing stays light."""

import itertools
import re
import shlex
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from benchmarks.functions import NAMES, problem
from benchmarks.published.markdown import outside
from website import pages

ROOT = Path(__file__).parent.parent


def test_the_code_of_the_readme_runs_and_prints_what_it_shows(tmp_path, monkeypatch):
    """Its consoles are those of a shell, and tried elsewhere."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8").replace("```console", "```shell")
    now, names = pages.run(text, "README.md")
    assert now == text, "what is printed has changed"
    assert np.allclose(names["result"].x, [0.3, -1.0], atol=0.1)
    assert [trial.state for trial in names["opt"].trials] == ["done", "failed", "pending"]
    assert (tmp_path / "study.json").exists()
    assert len(names["study"].trials) == 8


def test_the_readme_is_read_in_a_minute():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 900
    assert max(len(line) for line in outside(text).splitlines()) <= 120
    assert all((ROOT / target.split("#")[0]).exists() for target in re.findall(r"\]\(([^):]+)\)", text))


def run_example(name, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", f"examples.{name}", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["demo", "sample_paths"])
def test_examples_draw_their_pictures(name, tmp_path):
    picture = tmp_path / "picture.png"
    assert str(picture) in run_example(name, str(picture))
    assert picture.stat().st_size > 20_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("one_call", r"recommended: x0 = 0\.[23]\d*, x1 = -[12]\.\d*"),
        ("ask_tell", r"recommended: \{'minutes': (3\.9|4\.0)\d*, 'temperature': 9[12]\.\d*\}"),
        ("tune_sklearn", r"best of 20 candidates: .*\naccuracy: 0\.9\d+ in cross-validation"),
        ("lab_csv", r"9 results read, 2 of them failed"),
        ("batch_of_four", r"24 evaluations in 6 batches, \d+ failed"),
        ("optuna_study", r"16 trials, best 0\.[0-3]\d* at"),
    ],
)
def test_examples_say_what_they_found(name, said):
    assert re.search(said, run_example(name))


@pytest.mark.slow
def test_the_program_of_the_readme_is_tuned(tmp_path):
    """Its commands, with fewer trials."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    console = re.findall(r"```console\n(xstar run.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    folder, answers = Path(sys.executable).parent, []
    for command in console[0].splitlines():
        words = shlex.split(command.replace(" -- ", " --budget 8 -- "))
        words = [{"xstar": str(folder / "xstar"), "python": sys.executable}.get(word, word) for word in words]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
        answers.append(done.stdout)
    assert re.search(r"value there: 0\.\d+ ±", answers[0])
    assert "left to gain" in answers[1]
    assert sorted(path.name for path in (tmp_path / "examples" / "study.trials").iterdir()) == [
        f"{k:05d}" for k in range(8)
    ]


def test_importing_is_light():
    """No heavy package is loaded until it is needed."""
    heavy = [
        "torch",
        "cupy",
        "matplotlib",
        "sklearn",
        "optuna",
        "scipy.stats",
        "scipy.spatial",
        "scipy.optimize",
        "tqdm",
    ]
    code = f"import sys, xstar.acquisition, xstar.run; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_robustness_benchmark_counts_nothing():
    from benchmarks.robustness import count

    row = count(2, 8, constructions=1, points=30)
    assert row["points"] == 30
    assert sum(row[key] for key in row if key.endswith(("finite", "converged", "dropped")) or key == "negative") == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_problems_know_their_maxima(name):
    """No point of a search is above the stated maximum, and some come close."""
    task = problem(name, seed=0)
    domain = task.space.domain
    rows = domain.spread(np.random.default_rng(0).random((4000, len(domain.blocks))))
    found = max(task.value(task.space.decode(row)) for row in rows)
    for _ in range(6):
        best = max(rows, key=lambda row: task.value(task.space.decode(row)))
        near = domain.snap(best + 0.03 * np.random.default_rng(1).standard_normal((2000, domain.dimension)))
        rows = np.concatenate([[best], near, domain.neighbours(best[None], np.random.default_rng(2))[0]])
        found = max(found, *(task.value(task.space.decode(row)) for row in rows))
    assert found <= task.maximum + 1e-9
    assert found > task.maximum - 0.05 * abs(task.maximum) - 0.05


def test_the_regret_benchmark_runs_through_the_public_interface():
    from benchmarks.regret import run

    one_by_one, in_batches = run("recipe", "logei", 0, 9), run("recipe", "logei x3", 0, 9)
    for curve in (one_by_one["regret"], in_batches["regret"]):
        assert len(curve) == 7
        assert min(curve) > -1e-9
    assert one_by_one["regret"][0] == in_batches["regret"][0]


def test_the_failures_benchmark_counts_failures():
    from benchmarks.failures import ours

    assert 8 <= ours("fails on the right, rises to the border", "random", 0) <= 18


def test_the_latency_benchmark_finds_the_same_point_by_both_ways(tmp_path):
    from benchmarks.latency import ask, fill

    path = str(tmp_path / "study.db")
    fill(12, path)
    (_, ours), (_, theirs) = (ask(who, 12, path) for who in ("Optimizer.ask", "XstarSampler"))
    assert ours == theirs


def test_the_benchmark_through_optuna_is_the_same_with_the_space_given():
    from benchmarks.through_optuna import run

    direct, given, inferred = (
        run("branin", driver, 0, 6) for driver in ("Optimizer", "sampler, space given", "sampler")
    )
    assert direct == given
    assert direct != inferred


def test_the_regret_benchmark_within_the_model_improves_on_the_start():
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


def test_the_map_of_the_house_is_the_tree():
    """Every module of the package is on the map of CONTRIBUTING, and nothing else is."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (house,) = re.findall(r"```text\nsrc/xstar/\n(.*?)```", text, re.DOTALL)
    package = ROOT / "src" / "xstar"
    for folder in [package, *(path.parent for path in package.rglob("__init__.py") if path.parent != package)]:
        modules = {path.stem for path in folder.glob("*.py") if not path.stem.startswith("__")}
        block = house
        if folder != package:
            # From the line of the folder to the next that is indented no more.
            (own,) = re.findall(rf"^( *)(.*\b{folder.name}/.*)$", house, re.MULTILINE)[:1]
            after = house[house.index("".join(own)) :].splitlines()
            deeper = itertools.takewhile(lambda line, least=own[0]: line.startswith(least + " "), after[1:])
            block = "\n".join([own[1], *deeper])
        assert modules <= set(re.findall(r"[a-z_][a-z_0-9]*", block)), folder.name
    named = set(re.findall(r"^ {2,4}((?:[a-z_/]+, )*[a-z_/]+)(?: {2,}|/|$)", house, re.MULTILINE))
    listed = {name.strip("/") for line in named for name in re.split(r"[/,]\s*", line) if name.strip("/")}
    there = {path.stem for path in package.rglob("*") if path.suffix == ".py" or path.is_dir()}
    assert listed <= there | {"xstar"}


def test_the_reference_has_public_names_only():
    """Whatever the page documents is in `__all__` of where it is documented from."""
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference").glob("*.md")]
    names = re.findall(r"^::: (\S+)", "\n".join(pages), re.MULTILINE)
    assert len(names) > 40
    for name in names:
        home, _, own = name.rpartition(".")
        assert own in import_module(home).__all__, name


def test_names_in_the_pages_exist():
    """Every dotted name of the package, and every file of the tree, that a page mentions."""
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        for name in set(re.findall(r"`(xstar(?:\.[A-Za-z_]+)+)`", text)):
            assert resolves(name), f"{page.name}: {name}"
        for path in set(re.findall(r"`((?:src|tests|benchmarks|experiments|examples|website)/[\w/.-]+)`", text)):
            assert (ROOT / path).exists(), f"{page.name}: {path}"


def resolves(name):
    """Whether a dotted name can be had: a module, or what is in one."""
    parts = name.split(".")
    for k in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:k]))
        except ModuleNotFoundError:
            continue
        for part in parts[k:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False
