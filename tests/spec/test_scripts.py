import pytest

from seatrial.errors import SpecError
from seatrial.spec.scripts import load_script
from tests.spec.folders import assert_error, toml


def write(tmp_path, *steps):
    path = tmp_path / "script.toml"
    path.write_text(toml({"step": list(steps)}))
    return path


def test_every_tool_loads_with_its_arguments(tmp_path):
    calls = [
        ("shell", {"command": "ls", "cwd": "/tmp"}),
        ("read_file", {"path": "a"}),
        ("write_file", {"path": "a", "content": ""}),
        ("edit_file", {"path": "a", "old": "x", "new": ""}),
        ("finish", {"summary": "done", "confidence": 0.5}),
        ("finish", {}),
        ("give_up", {"reason": "cannot"}),
        ("report_belief", {"facts": {"a": 1}, "plan": ["b"], "goal_version": 1}),
        ("ask_human", {"question": "which?"}),
        ("mail.send", {"to": "ada", "subject": "3", "body": "x"}),
        ("tickets.comment", {"id": 3, "body": "x"}),
    ]
    script = load_script(
        write(tmp_path, *({"tool": tool, **arguments} for tool, arguments in calls)), ["mail", "tickets"]
    )
    assert [(step.tool, step.call()) for step in script.step] == calls


def test_steering_keys_are_no_arguments(tmp_path):
    step = {"when_shown": "ready|done", "patience": 5, "belief": {"facts": {}}}
    script = load_script(
        write(tmp_path, {"tool": "mail.read", "id": 1, **step}, {"tool": "shell", "command": "ls", **step})
    )
    assert [step.call() for step in script.step] == [{"id": 1}, {"command": "ls"}]
    assert [step.when_shown for step in script.step] == ["ready|done"] * 2


@pytest.mark.parametrize(
    ("step", "place", "pieces"),
    [
        ({"command": "ls"}, "step[1].tool", ["missing"]),
        ({"tool": "shel", "command": "ls"}, "step[1].tool", ['"shel"', 'Did you mean "shell"']),
        ({"tool": "shell"}, "step[1].command", ['"shell" needs it', "Add command"]),
        (
            {"tool": "shell", "command": "ls", "path": "x"},
            "step[1].path",
            ['no argument "path"', "command, cwd"],
        ),
        ({"tool": "shell", "comand": "ls"}, "step[1].comand", ["unknown key", 'Did you mean "command"']),
        ({"tool": "shell", "command": 3}, "step[1].command", ["3 has the wrong type", "a string"]),
        ({"tool": "write_file", "path": "x"}, "step[1].content", ["needs it"]),
        ({"tool": "edit_file", "path": "x", "old": "a"}, "step[1].new", ["needs it"]),
        ({"tool": "finish", "confidence": 1.2}, "step[1].confidence", ["1.2", "from 0 to 1"]),
        ({"tool": "report_belief"}, "step[1]", ["reports nothing", "facts"]),
        ({"tool": "mail.send"}, "step[1].tool", ['"mail.send"', "environment.services"]),
        ({"tool": "mial.send"}, "step[1].tool", ['"mial.send"']),
        ({"tool": "mail.snd"}, "step[1].tool", ['mail has no verb "snd"', 'Did you mean "send"']),
        ({"tool": "mail."}, "step[1].tool", ['"mail."']),
        ({"tool": "shell", "command": "x", "when_shown": "(a"}, "step[1].when_shown", ['"(a"', "regular"]),
        ({"tool": "shell", "command": "x", "patience": -1}, "step[1].patience", ["-1"]),
        (3, "step[1]", ["3 has the wrong type", "a table"]),
    ],
)
def test_a_step_that_cannot_be_taken(tmp_path, step, place, pieces):
    path = write(tmp_path, {"tool": "shell", "command": "true"}, step)
    with pytest.raises(SpecError) as raised:
        load_script(path, services=[])
    assert_error(raised, path, place, *pieces)


def test_a_script_must_have_steps(tmp_path):
    path = tmp_path / "script.toml"
    path.write_text("")
    with pytest.raises(SpecError) as raised:
        load_script(path)
    assert_error(raised, path, "step", "missing")
    path.write_text("step = []\n")
    assert load_script(path).step == []
    path.write_text("[step]\n")
    with pytest.raises(SpecError) as raised:
        load_script(path)
    assert_error(raised, path, "step", "an array")


@pytest.mark.parametrize(
    ("given", "place", "pieces"),
    [
        ({}, "statement", ['"sql.query" needs it', "Add statement"]),
        ({"statemnt": "x"}, "statemnt", ["no argument", 'Did you mean "statement"']),
    ],
)
def test_a_verb_has_arguments_of_its_own(tmp_path, given, place, pieces):
    path = write(tmp_path, {"tool": "sql.query", **given})
    with pytest.raises(SpecError) as raised:
        load_script(path, services=["sql"])
    assert_error(raised, path, f"step[0].{place}", *pieces)
