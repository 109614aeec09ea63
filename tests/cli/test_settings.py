"""Settings of `xstar run`: what the definition says, what options say, and which of the two holds."""

import pytest

from xstar.cli.parser import build_parser
from xstar.cli.settings import RunSettings
from xstar.errors import SettingsError

TABLE = {
    "command": ["python", "train.py", "{lr}"], "budget": 40, "workers": 2, "timeout": 60, "retries": 1,
    "value": "json:loss", "tolerance": 0.01, "max_failures": 3, "grace": 2.5, "heartbeat": 5, "logs": "logs",
}  # fmt: skip


def read(table, *options, program=()):
    return RunSettings.read(table, build_parser().parse_args(["run", "study.toml", *options]), program)


def test_the_definition():
    settings = read(TABLE)
    assert (settings.budget, settings.workers, settings.tolerance, settings.max_failures) == (40, 2, 0.01, 3)
    assert (settings.grace, settings.heartbeat, settings.logs) == (2.5, 5, "logs")
    program = settings.program
    assert (program.value, program.timeout, program.retries) == ("json:loss", 60.0, 1)


@pytest.mark.parametrize(
    "command", [TABLE["command"], "python train.py {lr}", "python 'train.py' \"{lr}\""], ids=["list", "text", "quotes"]
)
def test_the_command_of_the_definition(command):
    assert read({**TABLE, "command": command}).program.argv == ("python", "train.py", "{lr}")


def test_what_is_not_said():
    settings = read({"budget": 9}, program=["echo", "1"])
    assert (settings.workers, settings.tolerance, settings.max_failures) == (1, None, 20)
    assert (settings.grace, settings.heartbeat, settings.logs) == (10.0, 30, None)
    program = settings.program
    assert (program.value, program.timeout, program.retries) == ("last-line", None, 0)


def test_options_have_the_last_word():
    options = (
        "--budget=5 --workers=3 --timeout=7 --retries=4 --value=last-line --tolerance=2 --max-failures=6 --grace=8 "
        "--heartbeat=9 --logs=elsewhere"
    )
    settings = read(TABLE, *options.split(), program=["echo", "{lr}"])
    assert (settings.budget, settings.workers, settings.tolerance, settings.max_failures) == (5, 3, 2.0, 6)
    assert (settings.grace, settings.heartbeat, settings.logs) == (8.0, 9, "elsewhere")
    program = settings.program
    assert (program.argv, program.value) == (("echo", "{lr}"), "last-line")
    assert (program.timeout, program.retries) == (7.0, 4)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"budget": 0}, "budget must be at least 1; received 0"),
        ({"budget": "40"}, "budget must be a whole number"),
        ({"budget": True}, "budget must be a whole number"),
        ({"workers": "two"}, "workers must be a whole number >= 1; received 'two'"),
        ({"workers": 0}, "workers must be at least 1"),
        ({"timeout": 0}, "timeout must be a number > 0"),
        ({"timeout": "1h"}, "timeout must be a number > 0"),
        ({"retries": -1}, "retries must be at least 0"),
        ({"retries": 1.5}, "retries must be a whole number"),
        ({"value": 3}, "value must be a text; received 3"),
        ({"tolerance": -1}, "tolerance must be a number > 0"),
        ({"max_failures": 0}, "max_failures must be at least 1"),
        ({"grace": "long"}, "grace must be a number > 0"),
        ({"heartbeat": 0}, "heartbeat must be at least 1"),
        ({"heartbeat": 1.5}, "heartbeat must be a whole number"),
        ({"logs": ["logs"]}, "logs must be a text"),
        ({"comand": "echo"}, r"\[run\] has no setting 'comand'; did you mean command\?"),
        ({"command": 3}, "command must be a list of texts, .* received 3"),
        ({"command": ["echo", 3]}, "command must be a list of texts"),
        ({"command": "echo 'open"}, 'command "echo \'open" cannot be read: No closing quotation'),
    ],
)
def test_settings_that_make_no_sense(changes, message):
    with pytest.raises(SettingsError, match=message):
        read({**TABLE, **changes})


def test_how_many_trials_must_be_said():
    with pytest.raises(
        SettingsError, match=r"how many evaluations\? Write budget = 40 below \[run\], or use --budget 40"
    ):
        read({}, program=["echo"])


def test_the_old_name_of_the_budget():
    with pytest.warns(DeprecationWarning, match=r"\[run\]: 'trials' is called 'budget' now"):
        assert read({"trials": 9}, program=["echo"]).budget == 9
    with pytest.warns(DeprecationWarning, match="'trials' is called 'budget' now"):
        assert read(TABLE, "--trials=5").budget == 5
    with pytest.raises(SettingsError, match="'trials' and 'budget', which mean the same; leave 'trials' out"):
        read({"trials": 9, "budget": 9}, program=["echo"])
