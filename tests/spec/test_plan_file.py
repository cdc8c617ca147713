"""Plans of simulated agents: read whole, or refused with file, place, value and remedy."""

import pytest

from seatrial.errors import SpecError
from seatrial.spec.lint import lint_task
from seatrial.spec.loading import load_task
from seatrial.spec.plan_file import load_plan
from tests.spec.folders import assert_error, toml, write_task

WRITE = {"tool": "write_file", "path": "a.txt", "content": "right"}
PLAN = {
    "step": [
        {"subgoal": "first-part", "do": WRITE, "look": {"tool": "read_file", "path": "a.txt"}},
        {"subgoal": "last-part", "do": {"tool": "shell", "command": "cp a.txt b.txt"}},
    ]
}
CONSTRAINT = {"id": "no-shell", "forbid": {"call": [{"tool": "shell"}]}}


def first(**more):
    return [{**PLAN["step"][0], **more}, PLAN["step"][1]]


def lint(folder):
    return [(finding.level, finding.place) for finding in lint_task(load_task(folder))]


@pytest.fixture
def folder(tmp_path):
    return write_task(tmp_path / "task")


def test_a_plan_is_read(folder):
    assert load_task(folder).plan is None
    (folder / "plan.toml").write_text(toml(PLAN))
    plan = load_task(folder).plan
    assert [step.subgoal for step in plan.step] == ["first-part", "last-part"]
    assert [key for key, _ in plan.step[0].actions()] == ["do", "look"]
    assert plan.step[1].do.call() == {"command": "cp a.txt b.txt"}
    assert lint(folder) == []


def test_arguments_of_a_service_are_gathered(tmp_path):
    folder = write_task(tmp_path / "task", {"environment.services": ["web"]})
    send = {"tool": "web.get", "path": "/not/a/file"}
    (folder / "plan.toml").write_text(toml({"step": first(do=send)}))
    assert load_task(folder).plan.step[0].do.call() == {"path": "/not/a/file"}


@pytest.mark.parametrize(
    ("steps", "place", "pieces"),
    [
        ([], "step", ["[]", "Add a [[step]]"]),
        (first(subgoal="fist-part"), "step[0].subgoal", ['"fist-part"', 'Did you mean "first-part"']),
        (first(subgoal="last-part"), "step[1].subgoal", ['"last-part"', "step[0].subgoal"]),
        (PLAN["step"][::-1], "step[0].subgoal", ['"last-part" needs "first-part"', "before it"]),
        (PLAN["step"][1:], "step[0].subgoal", ['"first-part"']),
        (first(do={"tool": "shel", "command": "x"}), "step[0].do.tool", ['"shel"', 'Did you mean "shell"']),
        (first(wrong={"tool": "mail.send"}), "step[0].wrong.tool", ['"mail.send"', "environment.services"]),
        (first(drift={"tool": "write_file", "path": "a"}), "step[0].drift.content", ["needs it"]),
        (first(look={**WRITE, "command": "x"}), "step[0].look.command", ['no argument "command"']),
        (first(do={"tool": "finish"}), "step[0].do.tool", ['"finish" does nothing', "write_file"]),
        (first(do={**WRITE, "when_shown": "x"}), "step[0].do.when_shown", ["neither waits", "Remove"]),
        (first(do={**WRITE, "patience": 1.0}), "step[0].do.patience", ["neither waits"]),
        (first(do={**WRITE, "pat": "x"}), "step[0].do.pat", ['unknown key "pat"']),
        (first(do="shell"), "step[0].do", ['"shell" has the wrong type', "a table"]),
        (first(shorcut=WRITE), "step[0].shorcut", ['Did you mean "shortcut"']),
        (first(shortcut_passes=True), "step[0].shortcut_passes", ["no shortcut"]),
        ([{"subgoal": "first-part"}], "step[0].do", ["missing"]),
        (3, "step", ["3", "an array"]),
    ],
)
def test_a_fault_is_named(folder, steps, place, pieces):
    path = folder / "plan.toml"
    path.write_text(toml({"step": steps}))
    with pytest.raises(SpecError) as raised:
        load_plan(path, load_task(folder).spec)
    assert_error(raised, path, place, *pieces)
    assert ("error", f"plan.toml: {place}") in lint(folder)


def test_a_plan_that_is_no_toml_is_found_by_lint(folder):
    (folder / "plan.toml").write_text("[[step")
    assert lint(folder) == [("error", "plan.toml: line 1, column 7")]


def test_lint_asks_for_a_step_of_every_required_subgoal(tmp_path):
    folder = write_task(tmp_path / "task")
    (folder / "plan.toml").write_text(toml({"step": first()[:1]}))
    assert lint(folder) == [("warning", "plan.toml: step")]
    folder = write_task(tmp_path / "task", {"subgoal.1.required": False})
    assert lint(folder) == []


def test_a_shortcut_needs_a_constraint_to_break(tmp_path):
    folder = write_task(tmp_path / "task")
    (folder / "plan.toml").write_text(toml({"step": first(shortcut={"tool": "shell", "command": "x"})}))
    assert lint(folder) == [("error", "plan.toml: step[0].shortcut")]
    write_task(folder, {"constraint": [CONSTRAINT]})
    assert lint(folder) == []
