"""Run the experiments and draw their figures.

    python -m experiments run figure2 --preset quick          runs what is missing, then draws
    python -m experiments run all --repeats 50 --jobs 2
    python -m experiments run figure3 --lockstep torch:cuda   all repeats together on a GPU, where the method can
    python -m experiments collect                             results files from the runs on disk
    python -m experiments figures                             figures and page from the results files
    python -m experiments table                               the comparison with other libraries, from the same
    python -m experiments status                              what there is

What is on disk is not run again: a command that was stopped goes on when it is given again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tqdm import tqdm

import xstar
from experiments import page, store, surfaces, table
from experiments.course import START
from experiments.methods import CONTENDERS, PEERS
from experiments.problems import TITLES, find_problem
from experiments.runner import BACKENDS, goes_in_lockstep, missing, run_in_lockstep, run_separately
from experiments.studies import FIGURES, PRESETS, PROBLEMS, Preset, plan

HERE = Path(__file__).parent
FOLDER = Path("output") / "experiments"
RESULTS = HERE / "results"
DRAWN = HERE.parent / "docs" / "experiments"
SURFACES = "figure1.json"
DATA_SETS, QUICK_DATA_SETS = 20, 3
"""Of figure 1."""
SLOWER = {2: 1.0, 3: 1.2, 6: 2.5, 8: 4.0}
"""About how much longer a step takes by the number of coordinates, for the time that is left."""
SLOW_METHODS = {"es": 3.0, "botorch-logei": 2.0, "botorch-jes": 15.0, "botorch-pes": 60.0}


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        "python -m experiments", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="make the runs that are missing, and draw")
    run.add_argument(
        "what", choices=["all", "figure1", *FIGURES, "problems"], help="a figure, or the problems named by --problems"
    )
    _add_selection(run)
    run.add_argument(
        "--jobs", type=int, default=2, help="runs at a time, in lockstep the threads that draw (default 2)"
    )
    run.add_argument("--backend", choices=BACKENDS, default="loky", help="of joblib (default loky: this machine)")
    run.add_argument("--address", help="of the Dask scheduler or the Ray cluster; without it, one is started here")
    run.add_argument("--lockstep", metavar="COMPUTE", help='"numpy", "torch:cuda" or "cupy": all repeats together')
    run.add_argument("--no-figures", action="store_true", help="run only")
    collect = commands.add_parser("collect", help="write results files from the runs")
    _add_selection(collect)
    collect.add_argument("--results", type=Path, default=RESULTS)
    figures = commands.add_parser("figures", help="draw figures and write the page from results files")
    figures.add_argument("--results", type=Path, default=RESULTS)
    figures.add_argument("--to", type=Path, default=DRAWN)
    peers = commands.add_parser("table", help="print the comparison with other libraries, in Markdown")
    peers.add_argument("--results", type=Path, default=RESULTS)
    status = commands.add_parser("status", help="count the runs on disk")
    _add_selection(status)
    options = parser.parse_args(arguments)
    if getattr(options, "repeats", None) is not None and options.repeats < 1:
        parser.error("--repeats must be at least 1.")
    if getattr(options, "evaluations", None) is not None and options.evaluations <= START:
        parser.error(f"--evaluations must be more than the {START} that a run starts with.")
    if getattr(options, "jobs", 1) < 1:
        parser.error("--jobs must be at least 1.")
    if getattr(options, "what", None) == "problems" and not options.problems:
        parser.error(f"name the problems: --problems {' '.join(TITLES)}")
    return options


def _add_selection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--preset", choices=PRESETS, default="default")
    parser.add_argument("--repeats", type=int, help="of every problem, instead of the preset's")
    parser.add_argument("--evaluations", type=int, help="at most so many in a run")
    parser.add_argument("--problems", nargs="+", choices=list(TITLES), help="only these")
    parser.add_argument("--methods", nargs="+", choices=[*CONTENDERS, *PEERS], help="only these")
    parser.add_argument("--folder", type=Path, default=FOLDER, help=f"of runs (default {FOLDER})")


def selected(options: argparse.Namespace) -> list[store.Task]:
    """The runs that the options ask for."""
    preset = PRESETS[options.preset]
    if options.evaluations is not None:
        preset = Preset(preset.repeats, options.evaluations, preset.exceptions)
    wanted = FIGURES.get(getattr(options, "what", "all"), PROBLEMS)
    wanted = tuple(options.problems) if options.problems else wanted
    tasks = plan(wanted, preset, options.repeats, tuple(options.methods) if options.methods else None)
    if not tasks:
        raise SystemExit("there is nothing to run: none of these methods is for these problems.")
    return tasks


class Progress:
    """A bar over the cost of all runs, so that the time left does not depend on which come first."""

    def __init__(self, tasks: Sequence[store.Task]) -> None:
        self.count, self.done = len(tasks), 0.0
        shape = "{desc} {percentage:3.0f}%|{bar}| {elapsed} gone, {remaining} left{postfix}"
        self.bar = tqdm(total=sum(map(_cost, tasks)), bar_format=shape, desc="runs", file=sys.stderr)

    def __call__(self, tasks: Sequence[store.Task], share: float) -> None:
        """A share more of these tasks has been done."""
        self.done += share * len(tasks)
        self.bar.set_postfix_str(f"{self.done:.0f} of {self.count} runs", refresh=False)
        self.bar.update(share * sum(map(_cost, tasks)))


@cache
def _slowness(problem: str) -> float:
    return SLOWER.get(find_problem(problem).dimension, 4.0)


def _cost(task: store.Task) -> float:
    return task.evaluations * _slowness(task.problem) * SLOW_METHODS.get(task.method, 1.0)


def run(options: argparse.Namespace) -> None:
    """Make runs, and draw what they show."""
    tasks = [] if options.what == "figure1" else selected(options)
    if options.what == "figure1" or (options.what == "all" and not options.problems):
        _measure_surfaces(options)
    if tasks:
        _make_runs(tasks, options)
    if not options.no_figures:
        store.write_results(options.folder / "results", store.collect(options.folder, tasks))
        _draw(options.folder / "results", options.folder)


def _make_runs(tasks: list[store.Task], options: argparse.Namespace) -> None:
    to_do = missing(tasks, options.folder)
    print(f"{len(tasks)} runs, of which {len(tasks) - len(to_do)} are on disk in {options.folder}")
    progress = Progress(to_do)
    if options.lockstep:
        able = [task for task in to_do if goes_in_lockstep(task)]
        run_in_lockstep(able, options.folder, options.lockstep, options.jobs, progress)
        to_do = [task for task in to_do if not goes_in_lockstep(task)]
    if to_do:
        run_separately(to_do, options.folder, options.jobs, options.backend, options.address, progress)
    progress.bar.close()


def _measure_surfaces(options: argparse.Namespace) -> None:
    """Figure 1, unless it is on disk."""
    path = options.folder / "results" / SURFACES
    quick = options.preset == "quick"
    count = options.repeats or (QUICK_DATA_SETS if quick else DATA_SETS)
    draws = surfaces.DRAWS // 3 if quick else surfaces.DRAWS
    if path.exists():
        content = surfaces.load(path)
        if len(content["likeness"]) >= count and content["draws"] >= draws:
            return
    bar = tqdm(total=count, desc="data sets of figure 1", file=sys.stderr)
    surfaces.save(path, surfaces.measure(count, draws, lambda _: bar.update()))
    bar.close()


def _draw(results: Path, to: Path) -> None:
    for path in page.write(results, to):
        print(f"written: {path}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the command line says; what is wrong with it is said in a line."""
    options = parse(arguments)
    try:
        _do(options)
    except (ValueError, ImportError, xstar.XstarError) as error:
        raise SystemExit(f"experiments: {error}") from error
    except KeyboardInterrupt:
        raise SystemExit("stopped; the same command goes on from here.") from None


def _do(options: argparse.Namespace) -> None:
    if options.command == "run":
        run(options)
    elif options.command == "collect":
        written = store.write_results(options.results, store.collect(options.folder, selected(options)))
        surfaces_there, surfaces_here = (folder / SURFACES for folder in (options.folder / "results", options.results))
        if surfaces_there.exists():
            surfaces.save(surfaces_here, surfaces.load(surfaces_there))
            written.append(surfaces_here)
        for path in written:
            print(f"written: {path}")
    elif options.command == "figures":
        _draw(options.results, options.to)
    elif options.command == "table":
        print("\n".join(table.lines(store.read_results(options.results, PROBLEMS))))
    else:
        tasks = selected(options)
        for problem in dict.fromkeys(task.problem for task in tasks):
            own = [task for task in tasks if task.problem == problem]
            left = len(missing(own, options.folder))
            print(f"{TITLES[problem]:36s}{len(own) - left:6d} of {len(own)} runs")


if __name__ == "__main__":
    main()
