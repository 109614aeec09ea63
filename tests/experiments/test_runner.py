"""Runs are made once, kept whole, and come out the same wherever they are made."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import xstar
from experiments import __main__ as command
from experiments import runner, store
from experiments.__main__ import main, parse, selected
from experiments.course import START, noise_of, start_of, take_course
from experiments.methods import FIGURED, PEERS
from experiments.problems import TITLES, find_problem, within_model
from experiments.runner import goes_in_lockstep, missing, run_in_lockstep, run_separately, take_courses
from experiments.store import Task, collect, load_run, read_results, write_json, write_results
from experiments.studies import FIGURES, PRESETS, PROBLEMS, Preset, plan
from tests.waiting import HANG, wait_until

ROOT = Path(__file__).parent.parent.parent
TASKS = [Task("cosines", "random", repeat, START + 1) for repeat in range(3)]


def resume(tasks, folder):
    """Make what is missing, in this process; how many runs that were."""
    to_do = missing(tasks, folder)
    run_separately(to_do, folder, jobs=1)
    return len(to_do)


def files(folder):
    """All files under a folder, hidden ones too."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def same(run, course):
    """Whether a run on disk is that course."""
    return all(np.array_equal(run[part], getattr(course, part)) for part in ("X", "y", "recommended", "regret"))


class TestSeparately:
    def test_a_file_for_each(self, tmp_path):
        told = []
        run_separately(TASKS, tmp_path, jobs=1, report=lambda tasks, share: told.extend(tasks * (share == 1.0)))
        assert files(tmp_path) == [f"runs/cosines/random/{repeat:04d}.json" for repeat in range(3)]
        assert sorted(told) == TASKS
        for task in TASKS:
            run = load_run(tmp_path, task)
            assert Task(*(run[part] for part in Task._fields)) == task
            assert run["computed_by"] == store.ALONE
            assert run["versions"]["xstar"] == xstar.__version__
            assert run["versions"]["numpy"] == np.__version__
            assert same(run, take_course(*task))

    def test_processes_change_nothing(self, tmp_path):
        run_separately(TASKS, tmp_path, jobs=2)
        assert all(same(load_run(tmp_path, task), take_course(*task)) for task in TASKS)

    def test_nothing_to_do(self, tmp_path):
        run_separately([], tmp_path, jobs=1)
        assert files(tmp_path) == []


class TestResuming:
    def test_nothing_is_made_twice(self, tmp_path):
        assert resume(TASKS[:2], tmp_path) == 2
        before = {task: task.path(tmp_path).stat().st_mtime_ns for task in TASKS[:2]}
        assert resume(TASKS, tmp_path) == 1
        assert resume(TASKS, tmp_path) == 0
        assert {task: task.path(tmp_path).stat().st_mtime_ns for task in TASKS[:2]} == before

    def test_fewer_evaluations_are_there_already(self, tmp_path):
        longer = TASKS[0]._replace(evaluations=START + 2)
        assert resume(TASKS[:1], tmp_path) == 1
        assert resume([longer], tmp_path) == 1
        assert len(load_run(tmp_path, longer)["regret"]) == 3
        assert resume(TASKS[:1], tmp_path) == 0

    def test_another_version(self, tmp_path, monkeypatch):
        assert resume(TASKS[:1], tmp_path) == 1
        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(xstar, "__version__", "99.0")
            assert resume(TASKS[:1], tmp_path) == 1
            assert resume(TASKS[:1], tmp_path) == 0
        assert resume(TASKS[:1], tmp_path) == 1

    @pytest.mark.parametrize(
        "damage",
        [
            pytest.param(lambda content: content[: len(content) // 2], id="half"),
            pytest.param(lambda content: b"", id="empty"),
            pytest.param(lambda content: b"\xff\x00" + content, id="garbage"),
            pytest.param(lambda content: b"{}", id="nothing"),
            pytest.param(lambda content: b"null", id="null"),
            pytest.param(lambda content: b'{"evaluations": 4}', id="parts"),
        ],
    )
    def test_damaged(self, damage, tmp_path):
        resume(TASKS[:1], tmp_path)
        path = TASKS[0].path(tmp_path)
        whole = path.read_bytes()
        path.write_bytes(damage(whole))
        assert resume(TASKS[:1], tmp_path) == 1
        assert load_run(tmp_path, TASKS[0]) is not None
        assert files(tmp_path) == ["runs/cosines/random/0000.json"]

    def test_interrupted(self, tmp_path):
        def stop_at_the_second(tasks, share):
            if tasks[0].repeat == 1:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run_separately(TASKS, tmp_path, jobs=1, report=stop_at_the_second)
        assert len(files(tmp_path)) == 2
        assert resume(TASKS, tmp_path) == 1

    def test_a_run_that_fails_leaves_the_others(self, tmp_path, monkeypatch):
        real = runner.take_course

        def fail_at_the_second(problem, method, repeat, evaluations):
            if repeat == 1:
                raise np.linalg.LinAlgError("not positive definite")
            return real(problem, method, repeat, evaluations)

        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(runner, "take_course", fail_at_the_second)
            with pytest.raises(np.linalg.LinAlgError):
                run_separately(TASKS, tmp_path, jobs=1)
        assert files(tmp_path) == ["runs/cosines/random/0000.json"]
        assert resume(TASKS, tmp_path) == 2

    def test_killed(self, tmp_path):
        """At any time, what is on disk is whole."""
        words = [sys.executable, "-m", "experiments", *asked(tmp_path, "--repeats", "400")]
        with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                ended = lambda: process.poll() is not None  # noqa: E731
                wait_until(lambda: ended() or len(list(tmp_path.rglob("[0-9]*.json"))) >= 3, pause=0.01)
                assert not ended()
            finally:
                process.send_signal(signal.SIGKILL)
                process.wait()
        made = sorted(tmp_path.rglob("[0-9]*.json"))
        assert 3 <= len(made) < 400
        assert all(json.loads(path.read_text(encoding="utf-8"))["evaluations"] == START + 1 for path in made)
        tasks = [Task("cosines", "random", repeat, START + 1) for repeat in range(len(made) + 1)]
        assert resume(tasks, tmp_path) == 1


class TestWriting:
    def test_a_failure_leaves_the_old_file(self, tmp_path):
        path = tmp_path / "deep" / "a.json"
        write_json(path, {"is": "old"})
        with pytest.raises(TypeError):
            write_json(path, {"is": "new", "not": object()})
        assert json.loads(path.read_text(encoding="utf-8")) == {"is": "old"}
        assert files(tmp_path) == ["deep/a.json"]

    def test_nobody_sees_half_a_file(self, tmp_path, monkeypatch):
        path = tmp_path / "a.json"
        write_json(path, [1])
        seen, real = [], Path.replace
        monkeypatch.setattr(Path, "replace", lambda self, to: seen.append(path.read_text("utf-8")) or real(self, to))
        write_json(path, [2])
        assert seen == ["[1]\n"]
        assert path.read_text(encoding="utf-8") == "[2]\n"

    @pytest.mark.skipif(os.name == "nt", reason="permissions of another kind")
    def test_others_may_read(self, tmp_path):
        write_json(tmp_path / "a.json", [])
        assert (tmp_path / "a.json").stat().st_mode & 0o777 == 0o644


class TestLockstep:
    def test_same_start_and_noise(self, tmp_path):
        tasks = [Task("cosines", method, repeat, START + 3) for repeat in (0, 2) for method in ("ei", "random")]
        told = dict.fromkeys(tasks, 0.0)

        def report(some, share):
            told.update({task: told[task] + share for task in some})

        run_in_lockstep(tasks, tmp_path, "numpy", report=report)
        assert list(told.values()) == pytest.approx([1.0] * len(tasks)), "a third after each of three steps"
        assert missing(tasks, tmp_path) == []
        problem = find_problem("cosines")
        for task in tasks:
            run = load_run(tmp_path, task)
            x = np.array(run["X"])
            np.testing.assert_array_equal(x[:START], start_of(2, task.repeat))
            expected = problem.noise * noise_of(START + 3, task.repeat)
            np.testing.assert_allclose(run["y"] - problem.values(x), expected, rtol=0, atol=1e-12)
            assert run["regret"] == problem.regret(np.array(run["recommended"])).tolist()
            assert len(run["regret"]) == 4
            assert run["computed_by"] == "in lockstep, numpy"
            assert np.all((x >= 0.0) & (x <= 1.0))

    def test_within_the_model(self):
        """EI draws nothing at random where hyperparameters are known: together and alone, the course is the same."""
        tasks = [Task("within-model", "ei", repeat, 10) for repeat in range(3)]
        for task, together in zip(tasks, take_courses(tasks, "numpy"), strict=True):
            alone = take_course(*task)
            np.testing.assert_allclose(together.X, alone.X, rtol=0, atol=1e-2)
            np.testing.assert_allclose(together.regret, alone.regret, rtol=0, atol=1e-3)
            assert together.regret[-1] < 0.05
            np.testing.assert_allclose(
                together.y - find_problem(*task[:1], task.repeat).values(together.X),
                1e-3 * noise_of(10, task.repeat),
                rtol=0,
                atol=1e-10,
            )

    def test_one_at_a_time_where_there_is_room_for_no_more(self, tmp_path, monkeypatch):
        tasks = [Task("within-model", "ei", repeat, START + 2) for repeat in range(3)]
        run_in_lockstep(tasks, tmp_path / "all", "numpy")
        monkeypatch.setattr(runner, "AT_ONCE", 2)
        run_in_lockstep(tasks, tmp_path / "two", "numpy")
        for task in tasks:
            all_, two = (load_run(tmp_path / name, task) for name in ("all", "two"))
            np.testing.assert_allclose(all_["X"], two["X"], rtol=0, atol=1e-4)

    def test_which_methods(self):
        able = {name for name in (*FIGURED, "random", *PEERS) if goes_in_lockstep(Task("branin", name, 0, 5))}
        assert able == {*FIGURED, "random"} - {"es"}

    def test_files_are_strict_json(self, tmp_path):
        """NaN is not JSON: other programs could not read it."""
        task = Task("cosines", "random", 0, START + 1)
        run_in_lockstep([task], tmp_path, "numpy")
        collected = collect(tmp_path, [task])
        assert collected["cosines"]["methods"]["random"]["cpu_seconds"] is None
        (path,) = write_results(tmp_path / "results", collected)

        def refuse(name):
            raise AssertionError(name)

        json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
        json.loads(task.path(tmp_path).read_text(encoding="utf-8"), parse_constant=refuse)


class TestResults:
    def test_content(self, tmp_path):
        resume(TASKS, tmp_path)
        (path,) = write_results(tmp_path / "results", collect(tmp_path, TASKS))
        assert path == tmp_path / "results" / "cosines.json"
        content = json.loads(path.read_text(encoding="utf-8"))
        assert (content["problem"], content["start"]) == ("cosines", START)
        row = content["methods"]["random"]
        assert row["repeats"] == [0, 1, 2]
        assert row["versions"] == [store.versions()]
        assert row["computed_by"] == [store.ALONE]
        assert row["degraded"] == 0
        assert row["cpu_seconds"] > 0.0
        runs = [load_run(tmp_path, task) for task in TASKS]
        np.testing.assert_allclose(row["regret"], [run["regret"] for run in runs], rtol=6e-3)

    def test_longer_runs_are_cut(self, tmp_path):
        longer = [task._replace(evaluations=START + 2) for task in TASKS[1:]]
        resume([TASKS[0], *longer], tmp_path)
        curves = store.curves_of(collect(tmp_path, TASKS)["cosines"])["random"]
        assert curves.regret.shape == (3, 2)

    def test_what_is_missing_is_left_out(self, tmp_path):
        resume(TASKS[1:], tmp_path)
        assert collect(tmp_path, TASKS)["cosines"]["methods"]["random"]["repeats"] == [1, 2]
        assert collect(tmp_path / "nowhere", TASKS) == {}

    def test_earlier_methods_stay(self, tmp_path):
        ei = Task("cosines", "ei", 0, START + 1)
        resume([*TASKS, ei], tmp_path)
        results = tmp_path / "results"
        write_results(results, collect(tmp_path, TASKS))
        write_results(results, collect(tmp_path, [ei]))
        found = read_results(results, ["branin", "cosines"])
        assert list(found) == ["cosines"]
        assert {method: curves.repeats for method, curves in found["cosines"].items()} == {
            "random": [0, 1, 2],
            "ei": [0],
        }
        # What is collected again takes the place of what was there.
        write_results(results, collect(tmp_path, TASKS[:1]))
        assert read_results(results, ["cosines"])["cosines"]["random"].repeats == [0]

    def test_versions_are_told_apart(self, tmp_path):
        resume(TASKS, tmp_path)
        path = TASKS[1].path(tmp_path)
        run = json.loads(path.read_text(encoding="utf-8"))
        run["versions"]["numpy"] = "2.1.0"
        write_json(path, run)
        found = collect(tmp_path, TASKS)["cosines"]["methods"]["random"]["versions"]
        assert sorted(versions["numpy"] for versions in found) == sorted(["2.1.0", np.__version__])


class TestPlan:
    def test_the_papers_repeats(self):
        paper = PRESETS["paper"]
        assert [paper.repeats_of(name) for name in FIGURES["figure2"]] == [1000]
        assert [paper.repeats_of(name) for name in FIGURES["figure3"]] == [250] * 3
        repeats = {name: paper.repeats_of(name) for name in FIGURES["figure4"]}
        assert repeats.pop("hydrogen" if "hydrogen" in repeats else "fullerenes") == 500
        assert set(repeats.values()) == {250}
        assert paper.evaluations is None

    def test_quick_is_quick(self):
        for problem in PROBLEMS:
            counts = [PRESETS[name].repeats_of(problem) for name in ("quick", "default", "paper")]
            assert counts == sorted(set(counts))
        assert {task.evaluations for task in plan(PROBLEMS, PRESETS["quick"])} == {20}

    def test_evaluations_of_the_figures(self):
        tasks = plan(("branin", "hartmann"), Preset(1), methods=("ei",))
        assert [task.evaluations for task in tasks] == [50, 60]
        tasks = plan(("branin", "hartmann"), Preset(1, 55), methods=("ei",))
        assert [task.evaluations for task in tasks] == [50, 55]

    def test_repeat_after_repeat(self):
        tasks = plan(("branin", "cosines"), Preset(3))
        expected = [
            (problem, repeat, method) for problem in ("branin", "cosines") for repeat in range(3) for method in FIGURED
        ]
        assert [(task.problem, task.repeat, task.method) for task in tasks] == expected
        assert "random" not in FIGURED
        assert {"pes", "pes-2014", "pes-nb", "es", "ei"} <= set(FIGURED)

    def test_within_the_model(self):
        names = {task.method for task in plan(("within-model",), Preset(1))}
        assert names == set(FIGURED) - {"pes-nb"}
        asked_for = plan(("within-model",), Preset(1), methods=("pes-nb", "pes", *PEERS))
        assert [task.method for task in asked_for] == ["pes"]
        assert {task.method for task in plan(("branin",), Preset(1), methods=tuple(PEERS))} == set(PEERS)

    def test_titles_of_all(self):
        assert set(PROBLEMS) <= set(TITLES)


def asked(folder, *more):
    """The arguments of a small selection."""
    return [
        "run", "problems", "--problems", "cosines", "--methods", "random", "--evaluations", str(START + 1),
        "--jobs", "1", "--no-figures", "--folder", str(folder), *more,
    ]  # fmt: skip


def chosen(*arguments):
    """A selection without a command of its own."""
    return ["--problems", "cosines", "--evaluations", str(START + 1), *map(str, arguments)]


def without_figure_1(monkeypatch):
    """Nothing is measured or drawn; what would have been."""
    measured, drawn = [], []
    monkeypatch.setattr(command.surfaces, "measure", lambda count, *_: measured.append(count) or {})
    monkeypatch.setattr(command.surfaces, "save", lambda *_: None)
    monkeypatch.setattr(command.page, "write", lambda *places: drawn.append(places) or [])
    return measured, drawn


class TestCommand:
    def test_run_and_resume(self, tmp_path, capsys):
        main(asked(tmp_path, "--repeats", "2"))
        out, err = capsys.readouterr()
        assert f"2 runs, of which 0 are on disk in {tmp_path}" in out
        assert "2 of 2 runs" in err
        assert "100%" in err
        assert "left" in err
        main(asked(tmp_path, "--repeats", "3"))
        assert "3 runs, of which 2 are on disk" in capsys.readouterr().out
        main(asked(tmp_path, "--repeats", "3"))
        assert "3 runs, of which 3 are on disk" in capsys.readouterr().out
        assert files(tmp_path) == [f"runs/cosines/random/{repeat:04d}.json" for repeat in range(3)]

    def test_lockstep_leaves_the_rest_to_processes(self, tmp_path):
        methods = ["--methods", "random", "es", "--repeats", "1", "--lockstep", "numpy"]
        main(asked(tmp_path, *methods))
        by = {
            path.parent.name: json.loads(path.read_text(encoding="utf-8"))["computed_by"]
            for path in tmp_path.rglob("*.json")
        }
        assert by == {"random": "in lockstep, numpy", "es": store.ALONE}

    @pytest.mark.parametrize("what", ["all", "figure1", "problems"])
    def test_no_figures_means_none(self, what, tmp_path, monkeypatch):
        measured, drawn = without_figure_1(monkeypatch)
        main(["run", what, *asked(tmp_path, "--repeats", "1")[2:]])
        assert len(measured) == (what == "figure1"), "problems were named: all of them are meant, and no figure"
        assert drawn == []

    @pytest.mark.parametrize("what", ["all", "figure1"])
    @pytest.mark.parametrize("repeats", ["0", "-1"])
    def test_bad_numbers_for_figure_1(self, what, repeats, tmp_path, monkeypatch, capsys):
        measured, _ = without_figure_1(monkeypatch)
        with pytest.raises(SystemExit):
            main(["run", what, "--repeats", repeats, "--folder", str(tmp_path)])
        assert "--repeats must be" in capsys.readouterr().err
        assert measured == []

    def test_the_bar_is_cheap(self, monkeypatch, capsys):
        """A thousand repeats within the model must not cost a thousand searches for maxima."""
        made, real = [], within_model.within_model_problem
        monkeypatch.setattr(within_model, "within_model_problem", lambda repeat: made.append(repeat) or real(repeat))
        tasks = [Task("within-model", "ei", repeat, 50) for repeat in range(100)]
        progress = command.Progress(tasks)
        for task in tasks:
            progress([task], 1.0)
        progress.bar.close()
        assert "100 of 100 runs" in capsys.readouterr().err
        assert len(made) < 10

    def test_status(self, tmp_path, capsys):
        resume(TASKS[:2], tmp_path)
        main(["status", *chosen("--methods", "random", "--repeats", 3, "--folder", tmp_path)])
        assert capsys.readouterr().out.split() == ["Cosines", "2", "of", "3", "runs"]

    def test_collect(self, tmp_path, capsys):
        resume(TASKS, tmp_path)
        results = tmp_path / "r"
        options = chosen("--methods", "random", "--repeats", 3, "--folder", tmp_path, "--results", results)
        main(["collect", *options])
        assert str(results / "cosines.json") in capsys.readouterr().out
        assert read_results(results, PROBLEMS)["cosines"]["random"].regret.shape == (3, 2)

    @pytest.mark.parametrize(
        "arguments, said",
        [
            (["run", "figure5"], "figure5"),
            (["run", "figure2", "--preset", "slow"], "slow"),
            (["run", "figure3", "--problems", "ackley"], "ackley"),
            (["run", "figure3", "--methods", "pse"], "pse"),
            (["run", "figure3", "--backend", "slurm"], "slurm"),
            (["run", "figure3", "--repeats", "many"], "many"),
            (["walk"], "walk"),
            ([], "required"),
        ],
    )
    def test_not_understood(self, arguments, said, capsys):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 2
        assert said in capsys.readouterr().err

    @pytest.mark.parametrize("words", [["run", "figure3"], ["collect"], ["status"]])
    @pytest.mark.parametrize("option, value", [("--repeats", "0"), ("--repeats", "-3"), ("--evaluations", "2")])
    def test_bad_numbers(self, words, option, value, tmp_path, capsys):
        with pytest.raises(SystemExit) as stopped:
            main([*words, option, value, "--folder", str(tmp_path)])
        assert stopped.value.code == 2
        assert f"{option} must be" in capsys.readouterr().err
        assert files(tmp_path) == []

    @pytest.mark.parametrize(
        "words, said",
        [
            (["run", "problems"], "name the problems"),
            (["run", "figure3", "--jobs", "0"], "--jobs must be at least 1"),
        ],
    )
    def test_more_that_is_not_understood(self, words, said, capsys):
        with pytest.raises(SystemExit):
            main(words)
        assert said in capsys.readouterr().err

    @pytest.mark.parametrize(
        "words, said",
        [
            (["--problems", "hydrogen", "--methods", "random"], "XSTAR_HYDROGEN_CSV"),
            (["--problems", "within-model", "--methods", "pes-nb"], "nothing to run"),
            (["--problems", "cosines", "--methods", "random", "--lockstep", "nompy"], "compute must be"),
        ],
    )
    def test_what_is_wrong_is_said_in_a_line(self, words, said, tmp_path, monkeypatch):
        monkeypatch.delenv("XSTAR_HYDROGEN_CSV", raising=False)
        with pytest.raises(SystemExit, match=said):
            main(["run", "problems", *words, "--repeats", "1", "--folder", str(tmp_path), "--no-figures"])

    @pytest.mark.parametrize("figure", FIGURES)
    def test_selection_of_a_figure(self, figure):
        tasks = selected(parse(["run", figure, "--preset", "quick"]))
        assert tuple(dict.fromkeys(task.problem for task in tasks)) == FIGURES[figure]

    def test_selection_of_the_issue(self):
        tasks = selected(parse(["run", "figure2", "--repeats", "50", "--jobs", "2"]))
        assert len(tasks) == 50 * (len(FIGURED) - 1)
        assert {task.evaluations for task in tasks} == {50}

    def test_selection_of_all(self):
        assert {task.problem for task in selected(parse(["run", "all", "--repeats", "1"]))} == set(PROBLEMS)
        paper = selected(parse(["run", "all", "--preset", "paper", "--methods", "pes"]))
        assert len(paper) == 1000 + 3 * 250 + 500 + 4 * 250


def run_elsewhere(arguments, **environment):
    """The command in a process of its own, with what clusters leave behind ending there."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, timeout=HANG, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.extras
class TestClusters:
    def check(self, folder):
        assert missing(TASKS, folder) == []
        assert files(folder) == [f"runs/cosines/random/{repeat:04d}.json" for repeat in range(3)]
        for task in TASKS:
            run, alone = load_run(folder, task), take_course(*task)
            assert run["computed_by"] == store.ALONE
            np.testing.assert_allclose(run["y"], alone.y, rtol=0, atol=1e-9)

    def test_dask(self, tmp_path):
        done = run_elsewhere(["-m", "experiments", *asked(tmp_path, "--repeats", "3", "--backend", "dask")])
        assert "3 of 3 runs" in done.stderr
        self.check(tmp_path)

    def test_a_dask_scheduler_elsewhere(self, tmp_path):
        program = (
            "import sys\n"
            "from distributed import LocalCluster\n"
            "from experiments.__main__ import main\n"
            "settings = dict(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)\n"
            "with LocalCluster(**settings) as cluster:\n"
            "    main([*sys.argv[1:], '--address', cluster.scheduler_address])\n"
            "    assert cluster.scheduler.status.name == 'running'\n"
        )
        run_elsewhere(["-c", program, *asked(tmp_path, "--repeats", "3", "--backend", "dask")])
        self.check(tmp_path)

    def test_ray(self, tmp_path):
        # Not pytest's own folder: its name is too long for the sockets in it.
        with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
            done = run_elsewhere(
                ["-m", "experiments", *asked(tmp_path / "runs", "--repeats", "3", "--backend", "ray")],
                HOME=str(tmp_path),
                RAY_TMPDIR=folder,
                RAY_USAGE_STATS_ENABLED="0",
            )
        assert "3 of 3 runs" in done.stderr
        self.check(tmp_path / "runs")
