"""Hostile names and choices through the command line: passed on, stored, written and shown as what they are."""

import json
import sys
from xml.etree import ElementTree

import pytest

from tests.hostile import CHOICES, IMAGE, REFUSED_BY_PROGRAMS, SCRIPT, TEXTS
from xstar.cli.interview import Interview
from xstar.cli.program import Program, _variable
from xstar.errors import SettingsError
from xstar.files.definition import Definition
from xstar.files.draft import Draft, DraftParameter, _value
from xstar.files.letters import CONTROLS, FORMULA
from xstar.optimizer import Optimizer

RECORDING = """
import json, os, sys
with open("received", "a") as file:
    print(json.dumps([sys.argv[1:], json.loads(os.environ["XSTAR_PARAMS"])]), file=file)
print(len(sys.argv[1]) / 10)
"""
QUESTIONS = ("recommend", "where", "status", "explain")


def distinct(names):
    """Those that have environment variables of their own."""
    return list({_variable(name): name for name in names}.values())


NAMES = distinct(name for name in TEXTS if "{" not in name)


TESTED = (SCRIPT, "\x1b[31mred", "=a=b")
"""Enough for a model, which takes longer with every parameter."""


@pytest.fixture(params=[TESTED], ids=["some"])
def study(folder, request):
    """A definition in which everything is hostile."""
    parameters = [DraftParameter(name, "choices", listed=(name, IMAGE)) for name in request.param]
    draft = Draft((DraftParameter("number", "real"), *parameters), result=f"{SCRIPT} result")
    (folder / "study.toml").write_text(f'method = "random"\n{draft.toml}', encoding="utf-8", newline="")
    return Definition.read("study.toml")


def nothing_happened(folder, *known):
    assert {path.name for path in folder.iterdir()} <= {"study.toml", *known}


def test_a_program_receives_names_and_choices_as_they_are(folder, cli):
    """Each is one argument: there is no shell."""
    parameters = [DraftParameter(name, "choices", listed=(name, CHOICES[k])) for k, name in enumerate(NAMES)]
    parameters = [one for one in parameters if len(set(one.listed)) == 2]
    text = f'method = "random"\n{Draft(tuple(parameters)).toml}'
    (folder / "study.toml").write_text(text, encoding="utf-8", newline="")
    names = [one.name for one in parameters]
    assert len(names) > 20
    answer = cli(
        "run", "study.toml", "--budget", "3", "--", sys.executable, "-c", RECORDING, *(f"{{{n}}}" for n in names)
    )
    assert answer.code == 0, answer.err
    received = [json.loads(line) for line in (folder / "received").read_text().splitlines()]
    trials = json.loads(cli("export", "study.toml", "-", "--json").out)
    assert len(received) == len(trials) == 3
    for (arguments, environment), trial in zip(received, trials, strict=True):
        assert arguments == [trial[name] for name in names]
        assert environment == dict(zip(names, arguments, strict=True))
    nothing_happened(folder, "received", "study.db", "study.trials")


@pytest.mark.parametrize("name", REFUSED_BY_PROGRAMS)
def test_placeholders_cannot_be_names(name):
    with pytest.raises(SettingsError, match="has braces, which enclose placeholders; rename it"):
        Program(("echo", "{x}")).check(["x", name])


@pytest.mark.filterwarnings("ignore:Glyph")
def test_questions_are_answered_and_move_nothing(folder, study, cli):
    for k in range(4):
        pairs = [
            f" {name}={parameter.alternatives[k % 2]}" for name, parameter in list(study.space.parameters.items())[1:]
        ]
        answer = cli("tell", "study.toml", f"number={k / 4}", *pairs, k / 2)
        assert answer.code == 0, answer.err
    assert cli("fail", "study.toml", "number=0.9", *pairs, "--reason", f"=1+1\x1b[31m{IMAGE}").code == 0
    assert cli("ask", "study.toml").code == 0
    for question in QUESTIONS:
        answer = cli(question, "study.toml")
        assert answer.code == 0, answer.err
        assert not CONTROLS.search(answer.out + answer.err)
    answer = cli("explain", "study.toml", "number=0.5", *pairs)
    assert answer.code == 0, answer.err
    for name in ("table.csv", "study.json", "page.html", "picture.svg"):
        assert cli("export", "study.toml", name).code == 0
    ElementTree.parse("picture.svg")
    told = Optimizer.load("study.json").trials
    read = Optimizer(study.space).tell_table("table.csv")
    assert [trial.params for trial in read] == [trial.params for trial in told if trial.state == "done"]
    assert "'=1+1" in (folder / "table.csv").read_text()
    assert not any(line.startswith(FORMULA) for line in (folder / "table.csv").read_text().splitlines())
    nothing_happened(folder, "study.db", "table.csv", "study.json", "page.html", "picture.svg")


@pytest.mark.parametrize("study", [TEXTS[:1] + TEXTS[2:]], ids=["all"], indirect=True)
def test_a_spreadsheet_is_filled_in_and_read(folder, study, cli):
    for k in range(2):
        answer = cli("csv", "study.csv", "--batch", 3, "--json")
        assert answer.code == 0, answer.err
        assert answer.json["done"] == 3 * k
        text = (folder / "study.csv").read_bytes().decode("utf-8-sig")
        assert text.count(SCRIPT) >= 1
        # Rows end where their result is missing; a result is told.
        (folder / "study.csv").write_bytes(text.replace(",\n", f",{k}.5\n").encode("utf-8-sig"))
    answer = cli("recommend", "study.csv", "--json")
    assert answer.code == 0, answer.err
    assert answer.json["params"].keys() == study.space.parameters.keys()
    nothing_happened(folder, "study.csv", "study.csv.bak")


@pytest.mark.parametrize(
    "text", [SCRIPT, "--help", "../../etc/passwd", "C:\\x", "/etc/x", "..", "\x1b[31mred", "long" * 400]
)
def test_the_name_of_a_study_is_no_path(folder, text, ok):
    (folder / "inner").mkdir()
    text_of_file = f"name = {_value(text)}\nstorage = 'study.db'\n{Draft((DraftParameter('x', 'real'),)).toml}"
    (folder / "inner" / "study.toml").write_text(text_of_file, encoding="utf-8")
    ok("tell", "inner/study.toml", "x=0.5", "1")
    ok("report", "inner/study.toml")
    ok("run", "inner/study.toml", f"--study={text}", "--budget", "1", "--", "echo", "1")
    assert [path.name for path in folder.iterdir()] == ["inner"]


def test_an_interview_takes_no_keys_for_letters():
    answers, said = iter(["\x1b[A", "half \udcff", "yield"]), []
    assert Interview(lambda _: next(answers), said.append)._text("What is measured", "value") == "yield"
    assert len(said) == 2
    assert all("that has characters in it that are not letters; received" in line for line in said)
