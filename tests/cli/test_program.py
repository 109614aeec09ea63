"""Programs as functions: what reaches them, what is made of what they leave, and that they can be stopped."""

import json
import re
import signal
import threading
import time
from types import SimpleNamespace

import pytest

from tests.waiting import HANG, wait_until
from xstar.cli import program as module
from xstar.cli.program import Interrupted, Program
from xstar.errors import SettingsError

PARAMS = {"lr": 0.01, "layers": 3, "kind": "relu", "learning rate": 1e-05}


@pytest.fixture
def evaluate(tmp_path, monkeypatch):
    """Runs a program in an empty folder, as trial 7; its files are in `trial`."""
    monkeypatch.chdir(tmp_path)

    def call(*argv, params=PARAMS, stop=None, **settings):
        return Program(argv, **settings).evaluate(7, params, tmp_path / "trial", stop or threading.Event())

    return call


@pytest.fixture
def shell(evaluate):
    """Likewise, for a line of shell."""
    return lambda line, **settings: evaluate("sh", "-c", line, **settings)


# What reaches the program


@pytest.fixture
def filled(evaluate, tmp_path):
    """What becomes of arguments."""

    def call(*arguments, params=PARAMS):
        evaluate("printf", "%s\\0", *arguments, params=params)
        return (tmp_path / "trial" / "stdout.txt").read_text(encoding="utf-8").split("\0")[:-1]

    return call


@pytest.mark.parametrize(
    "argument, expected",
    [
        ("{lr}", "0.01"),
        ("--lr={lr},{layers}-{kind}", "--lr=0.01,3-relu"),
        ("{trial}", "7"),
        ("{{lr}}", "{lr}"),
        ("{{lr}} is {lr}", "{lr} is 0.01"),
        ("{}", "{}"),
        ("{ print $1 }", "{ print $1 }"),
        ('{"lr": {lr}}', '{"lr": 0.01}'),
        ('{"kind": "{kind}", "n": [{layers}]}', '{"kind": "relu", "n": [3]}'),
        ("file.{csv,txt}", "file.{csv,txt}"),
        ("größe {kind} 大", "größe relu 大"),
        ("", ""),
        ("*; $HOME `true`", "*; $HOME `true`"),
    ],
)
def test_placeholders(filled, argument, expected):
    assert filled(argument, "next") == [expected, "next"]


@pytest.mark.parametrize(
    "argument, expected",
    [
        ('{"model": {"depth": 2}}', '{"model": {"depth": 2}}'),
        ('{"model": {"lr": {lr}}}', '{"model": {"lr": 0.01}}'),
        ('{"a": {"b": {}}}', '{"a": {"b": {}}}'),
    ],
)
def test_the_braces_of_nested_json_are_left_alone(filled, argument, expected):
    assert filled(argument) == [expected]


def test_a_value_is_not_searched_for_placeholders(filled):
    assert filled("{kind}", params={"kind": "{lr} {{x}}", "lr": 1}) == ["{lr} {{x}}"]


def test_placeholders_name_files(evaluate, tmp_path):
    outcome = evaluate("sh", "-c", "cp {params_file} copy; echo '0.25' > {result_file}", value="json")
    assert outcome.told.value == 0.25
    assert json.loads((tmp_path / "copy").read_text()) == PARAMS


def test_the_environment(shell, tmp_path):
    line = 'cd /; echo "$XSTAR_TRIAL $XSTAR_PARAM_LR $XSTAR_PARAM_LEARNING_RATE"; echo "$XSTAR_PARAMS"; '
    assert shell(line + 'cat "$XSTAR_PARAMS_FILE"; echo "$KEPT"; echo 1').told.value == 1.0
    written = (tmp_path / "trial" / "stdout.txt").read_text().splitlines()
    assert written[0] == "7 0.01 1e-05"
    assert json.loads(written[1]) == json.loads(written[2]) == PARAMS


def test_the_rest_of_the_environment_is_kept(shell, monkeypatch):
    monkeypatch.setenv("KEPT", "0.125")
    assert shell('echo "$KEPT"').told.value == 0.125


def test_the_program_runs_where_xstar_does_without_input(shell, tmp_path):
    (tmp_path / "data").write_text("0.5\n")
    assert shell("cat - data").told.value == 0.5


def test_choices_keep_their_types_in_json(shell, tmp_path):
    params = {"flag": True, "none": None, "whole": 3, "text": "3", "real": 3.0}
    shell("true", params=params)
    written = (tmp_path / "trial" / "params.json").read_text()
    assert json.loads(written) == params
    assert '"real": 3.0' in written


# What comes back


@pytest.mark.parametrize(
    "line, how, value, sd",
    [
        ("echo 0.5", "last-line", 0.5, None),
        ("echo 1; echo; echo ' -2e-3 '; echo; echo", "last-line", -2e-3, None),
        ("echo 3; echo 4 >&2", "last-line", 3.0, None),
        ("printf 0.5", "last-line", 0.5, None),
        ("printf '10%%\\r100%%\\r\\n7\\r\\n'", "last-line", 7.0, None),
        ("echo 0.9 0.1", "last-line", 0.9, 0.1),
        ("echo '0.9 ± 0.1'", "last-line", 0.9, 0.1),
        ("echo 0.9±0.1", "last-line", 0.9, 0.1),
        ("echo 0.9 0", "last-line", 0.9, 0.0),
        ("printf '\\377\\n5\\n'", "last-line", 5.0, None),
        ('echo 0.25 > "$XSTAR_RESULT_FILE"; echo 9', "json", 0.25, None),
        ('echo 3 > "$XSTAR_RESULT_FILE"', "json", 3.0, None),
        ("""echo '{"value": 1.5, "sd": 0.5}' > "$XSTAR_RESULT_FILE" """, "json", 1.5, 0.5),
        ("""echo '{"value": 1.5, "sd": null, "more": []}' > "$XSTAR_RESULT_FILE" """, "json", 1.5, None),
        ("""echo '{"loss": 2.5}' > "$XSTAR_RESULT_FILE" """, "json:loss", 2.5, None),
        ("""echo '{"test": {"loss": {"mean": 2.5} } }' > "$XSTAR_RESULT_FILE" """, "json:test.loss.mean", 2.5, None),
        ("""echo '{"test": {"value": 2.5, "sd": 1} }' > "$XSTAR_RESULT_FILE" """, "json:test", 2.5, 1.0),
        ("echo loss=1; echo loss=2; echo end", r"regex:loss=(\S+)", 2.0, None),
        ("echo 'epoch 3 loss 0.5'", r"regex:epoch (?:\d+) loss (\S+)", 0.5, None),
        ("echo 'sd 0.1 mean 0.5'", r"regex:sd (?P<sd>\S+) mean (?P<value>\S+)", 0.5, 0.1),
        ("echo 'epoch 3: 0.5'", r"regex:epoch (\d+): (?P<value>\S+)", 0.5, None),
        ("echo 'loss 0.5'", r"regex:(\S+)(?: sd (?P<sd>\S+))?$", 0.5, None),
        ("echo 1; echo 'a: 4'; echo b", r"regex:^a: (\d)$", 4.0, None),
        ("echo 'a:b 3'", r"regex:a:b (\d)", 3.0, None),
    ],
)
def test_values(shell, line, how, value, sd):
    outcome = shell(line, value=how)
    assert (outcome.told.value, outcome.told.sd, outcome.told.reason) == (value, sd, None)


@pytest.mark.parametrize(
    "line, how, reason",
    [
        ("true", "last-line", "printed nothing, where its last line should be the value"),
        ("printf '\\n  \\n'", "last-line", "printed nothing, where its last line should be the value"),
        ("echo 0.5; echo done", "last-line", "its last line is 'done', not a number"),
        ("echo 1 2 3", "last-line", "its last line is '1 2 3', not a number"),
        ("echo 0,5", "last-line", "its last line is '0,5', not a number"),
        ("echo ±", "last-line", "its last line is '±', not a number"),
        ("echo nan", "last-line", "value was nan"),
        ("echo -inf", "last-line", "value was -inf"),
        ("echo 1e999", "last-line", "value was inf"),
        ("echo 0.5 -0.1", "last-line", "the standard deviation was -0.1"),
        ("echo 0.5 nan", "last-line", "the standard deviation was nan"),
        ("echo 0.5 inf", "last-line", "the standard deviation was inf"),
        ("echo 0.5", "json", r"wrote no result file \(XSTAR_RESULT_FILE\)"),
        ('echo 0.5. > "$XSTAR_RESULT_FILE"', "json", "its result file is not JSON: "),
        ('printf "\\377" > "$XSTAR_RESULT_FILE"', "json", "its result file is not JSON: "),
        ('mkdir "$XSTAR_RESULT_FILE"', "json", "its result file is not JSON: "),
        ('echo NaN > "$XSTAR_RESULT_FILE"', "json", "value was nan"),
        ('echo true > "$XSTAR_RESULT_FILE"', "json", "its result file has True where a number should be"),
        ("""echo '"0.5"' > "$XSTAR_RESULT_FILE" """, "json", "its result file has '0.5' where a number should be"),
        ('echo "[0.5]" > "$XSTAR_RESULT_FILE"', "json", r"its result file has \[0.5\] where a number should be"),
        ('echo "{}" > "$XSTAR_RESULT_FILE"', "json", "its result file has None where a number should be"),
        ("""echo '{"a": 1}' > "$XSTAR_RESULT_FILE" """, "json:b", "its result file has no 'b'"),
        ("""echo '{"a": 1}' > "$XSTAR_RESULT_FILE" """, "json:a.b", r"its result file has no 'a\.b'"),
        ("""echo '{"value": 1, "sd": -1}' > "$XSTAR_RESULT_FILE" """, "json", "the standard deviation was -1"),
        ("echo 0.5", r"regex:loss=(\S+)", r"no output matches 'loss=\(\\\\S\+\)'"),
        ("echo loss=high", r"regex:loss=(\S+)", "the output matches .* with 'high', not a number"),
        ("echo loss=", r"regex:loss=(\d+)?", "the output matches .* with None, not a number"),
        ("echo loss=nan", r"regex:loss=(\S+)", "value was nan"),
        ("echo 0.5; exit 3", "last-line", "exit code 3"),
        ("echo 0.5; echo first >&2; echo 'out of memory' >&2; echo >&2; exit 1", "last-line",
         "exit code 1: out of memory"),
        ("echo 0.5; kill -KILL $$", "last-line", "killed by signal SIGKILL"),
        ("kill -SEGV $$", "last-line", "killed by signal SIGSEGV"),
    ],
)  # fmt: skip
def test_failures(shell, line, how, reason):
    outcome = shell(line, value=how)
    assert (outcome.told.value, outcome.told.sd) == (None, None)
    assert re.match(reason, outcome.told.reason), outcome.told.reason


def test_reasons_are_short(shell):
    long = "x" * 500
    assert shell(f"echo {long}").told.reason == f"its last line is '{'x' * 57}...', not a number"
    assert shell(f"echo {long} >&2; exit 2").told.reason == f"exit code 2: {'x' * 57}..."


def test_a_number_that_no_float_can_hold_is_a_failure(shell):
    digits = "1" + "0" * 400
    assert shell(f"echo {digits}").told.reason == "value was inf"
    assert shell(f'echo {digits} > "$XSTAR_RESULT_FILE"', value="json").told.value is None


def test_a_signal_without_a_name_is_a_failure(shell):
    """Real-time signals have numbers only."""
    assert shell(f"kill -{signal.SIGRTMIN + 2} $$").told.reason.startswith("killed by signal ")


def test_a_program_that_cannot_be_started(evaluate, tmp_path):
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    outcome = evaluate(str(broken), retries=3)
    assert (outcome.told.value, outcome.told.reason) == (None, "could not be started: No such file or directory")
    assert summary(tmp_path)["attempts"] == 1, "it would not be started the second time either"
    broken.chmod(0o644)
    assert evaluate(str(broken)).told.reason == "could not be started: Permission denied"


def test_a_value_that_no_argument_can_hold_is_a_failure(evaluate):
    """The system refuses null characters."""
    assert evaluate("echo", "{kind}", params={"kind": "a\0b"}).told.reason.startswith("could not be started")


# Files of a trial


def summary(tmp_path):
    return json.loads((tmp_path / "trial" / "outcome.json").read_text())


def test_everything_is_on_the_disk(shell, tmp_path):
    outcome = shell("echo working; echo careful >&2; echo 0.5 0.1")
    files = {path.name: path.read_text() for path in (tmp_path / "trial").iterdir()}
    assert set(files) == {"params.json", "stdout.txt", "stderr.txt", "outcome.json"}
    assert files["stdout.txt"] == "working\n0.5 0.1\n"
    assert files["stderr.txt"] == "careful\n"
    assert summary(tmp_path) == {
        "value": 0.5, "sd": 0.1, "reason": None, "seconds": outcome.seconds, "attempts": 1,
        "params": (tmp_path / "trial" / "params.json").read_text().strip(),
    }  # fmt: skip


def test_the_reason_and_the_time_are_on_the_disk(shell, tmp_path):
    outcome = shell("sleep 0.3; exit 9")
    assert summary(tmp_path) == {
        "value": None, "sd": None, "reason": "exit code 9", "seconds": outcome.seconds, "attempts": 1,
        "params": (tmp_path / "trial" / "params.json").read_text().strip(),
    }  # fmt: skip
    assert outcome.seconds >= 0.3


def test_an_old_result_file_is_not_read(shell, tmp_path):
    (tmp_path / "trial").mkdir()
    (tmp_path / "trial" / "result.json").write_text("0.5")
    assert shell("true", value="json").told.reason.startswith("wrote no result file")


# Again

COUNTING = "echo run >> runs; n=$(wc -l < runs); echo attempt $n; "


def test_a_program_that_fails_twice_then_succeeds(shell, tmp_path):
    outcome = shell(COUNTING + "test $n -ge 3 && echo 0.5", retries=5)
    assert (outcome.told.value, outcome.told.reason) == (0.5, None)
    assert summary(tmp_path)["attempts"] == 3
    logs = {path.name: path.read_text().split()[1] for path in (tmp_path / "trial").glob("stdout*")}
    assert logs == {"stdout.txt": "1", "stdout.2.txt": "2", "stdout.3.txt": "3"}


def test_the_last_failure_counts(shell, tmp_path):
    outcome = shell(COUNTING + "exit $n", retries=2)
    assert outcome.told.reason == "exit code 3"
    assert summary(tmp_path)["attempts"] == 3


def test_no_value_is_tried_again_too(shell, tmp_path):
    assert shell(COUNTING + "test $n -lt 2 || echo 0.5", retries=1).told.value == 0.5
    assert summary(tmp_path)["attempts"] == 2


def test_an_attempt_does_not_read_the_result_of_another(shell):
    line = COUNTING + 'test $n -ge 2 || { echo 0.5 > "$XSTAR_RESULT_FILE"; exit 1; }'
    assert shell(line, value="json", retries=1).told.reason.startswith("wrote no result file")


# Stopping


CHILD = "sleep 3600 & echo $! > child; mv child pid; "


@pytest.fixture
def late(tmp_path, monkeypatch):
    """A clock that jumps by 2,000 seconds once the program has written `pid`, however long that takes it."""

    def clock():
        return time.monotonic() + 2000.0 * (tmp_path / "pid").exists()

    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=clock))


def test_a_time_out_ends_the_program_and_what_it_has_started(shell, tmp_path, ended, late):
    outcome = shell(CHILD + "echo 0.5; wait", timeout=1500.0, retries=3, terminate_seconds=HANG)
    assert (outcome.told.value, outcome.told.reason) == (None, "timed out after 1500 s")
    assert outcome.seconds < 2000.0 + HANG, "it ended when it was told to"
    assert summary(tmp_path)["attempts"] == 1, "it would take as long again"
    assert ended()


def test_a_program_that_does_not_want_to_end(shell, ended, late):
    line = "trap '' TERM; " + CHILD + "while true; do sleep 0.05; done"
    outcome = shell(line, timeout=1500.0, terminate_seconds=0.3)
    assert outcome.told.reason == "timed out after 1500 s"
    assert outcome.seconds > 2000.3
    assert ended()


def test_a_program_may_clean_up(shell, tmp_path, late):
    shell("trap 'touch clean; exit 1' TERM; " + CHILD + "wait", timeout=1500.0, terminate_seconds=HANG)
    assert (tmp_path / "clean").exists()


def test_a_program_that_is_in_time(shell):
    assert shell("sleep 0.2; echo 1", timeout=HANG).told.value == 1.0


def test_stopping(shell, tmp_path, ended):
    stop = threading.Event()

    def stop_when_it_runs():
        wait_until((tmp_path / "begun").exists)
        stop.set()

    threading.Thread(target=stop_when_it_runs).start()
    with pytest.raises(Interrupted):
        shell(CHILD + "touch begun; wait", stop=stop, retries=3)
    assert not (tmp_path / "trial" / "outcome.json").exists()
    assert ended()


def test_stopping_between_attempts(shell, tmp_path):
    """Each of them is over before anybody looks."""
    stop = threading.Event()
    stop.set()
    with pytest.raises(Interrupted):
        shell("echo run >> runs; exit 1", stop=stop, retries=20)


# Commands that cannot work


@pytest.mark.parametrize(
    "argv, how, message",
    [
        ((), "last-line", "there is no command to run; write it after two dashes"),
        (("echo", "{lrr}"), "last-line", r"has a placeholder \{lrr\}, but the parameters are lr, k; write \{\{lrr\}\}"),
        (("echo", "{lr", "{x}}"), "last-line", r"has a placeholder \{x\}"),
        (("no-such-program-at-all",), "last-line", "there is no program 'no-such-program-at-all'"),
        (("./train.sh",), "last-line", "there is no program './train.sh'"),
        (("echo",), "first-line", "value must be last-line, json, json:KEY or regex:PATTERN; received 'first-line'"),
        (("echo",), "regex:", "value must be last-line"),
        (("echo",), "", "value must be last-line"),
        (("echo",), "regex:loss=(", r"'loss=\(' is not a regular expression: "),
        (("echo",), "regex:loss=.*", "needs a group around the number"),
        (("echo",), "regex:loss=(?:.*)", "needs a group around the number"),
    ],
)
def test_commands_that_cannot_work_are_refused(argv, how, message):
    with pytest.raises(SettingsError, match=message):
        Program(argv, how).check(["lr", "k"])


@pytest.mark.parametrize(
    "argv, how",
    [
        (("echo", "{lr} {k} {trial} {params_file} {result_file} {{other}} {} { a }"), "last-line"),
        (("./{k}.sh",), "json:a.b"),
        (("sh", "-c", 'echo "{lr}"'), r"regex:(?P<value>\S+)"),
    ],
)
def test_commands_that_may_work_are_not(argv, how):
    Program(argv, how).check(["lr", "k"])
