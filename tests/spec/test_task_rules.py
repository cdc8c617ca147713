import os

import pytest

from seatrial.errors import SpecError
from seatrial.spec.loading import load_task
from tests.spec.folders import assert_error, write_task

GOAL_2 = {"version": 2, "instruction": "instruction.md", "relation": "replace"}


def test_a_full_task_loads(tmp_path):
    change = {
        "human_minutes": {"times": [12, 15.5], "failed": [40]},
        "goal.1": GOAL_2,
        "goal.2": {
            "version": 3,
            "instruction": "instruction.md",
            "relation": "conflict",
            "expect": "stop-and-surface",
        },
        "subgoal.1.goals": [2, 3],
        "environment.services": ["mail"],
        "environment.limits": {"memory_mb": 512},
        "budget": {"actions": 60, "money": 5},
        "constraint": [{"id": "c", "forbid": {"call": [{"tool": "mail.send", "where": {"to": "~ @out"}}]}}],
    }
    task = load_task(write_task(tmp_path, change)).spec
    assert [s.id for s in task.subgoals_for(1)] == ["first-part"]
    assert [s.id for s in task.subgoals_for(3)] == ["first-part", "last-part"]
    assert (task.family, task.budget.money) == ("ledger", 5.0)


@pytest.mark.parametrize(
    ("change", "place", "pieces"),
    [
        ({"id": "ledger"}, "id", ['"ledger" is not family/name']),
        ({"id": "a/b/c"}, "id", ['"a/b/c"']),
        ({"id": "../x"}, "id", ['"../x"', "letters"]),
        ({"version": " "}, "version", ['" "']),
        ({"human_minutes": {"times": []}}, "human_minutes.times", ["[]"]),
        ({"human_minutes": {"times": [3, -1]}}, "human_minutes.times[1]", ["-1", "above 0"]),
        ({"horizon": {"irreversible_share": 1.5}}, "horizon.irreversible_share", ["1.5", "from 0 to 1"]),
        ({"environment.files": "none/"}, "environment.files", ['"none/"', "Create it"]),
        ({"environment.files": "."}, "environment.files", ["whole task"]),
        ({"environment.files": "./environment"}, "environment.files", ['"./environment"', '"environment/"']),
        ({"environment.files": "../x"}, "environment.files", ['"../x"', "lies outside"]),
        ({"environment.setup": "setup.sh"}, "environment.setup", ['"setup.sh" does not exist']),
        ({"environment.services": ["mial"]}, "environment.services[0]", ['"mial"', 'Did you mean "mail"']),
        ({"environment.services": ["mail", "mail"]}, "environment.services[1]", ["used before"]),
        ({"environment.limits": {"memory_mb": 1}}, "environment.limits.memory_mb", ["1 is", "from 16"]),
        ({"environment.limits": {"processes": 0}}, "environment.limits.processes", ["0 is out of range"]),
        ({"environment.limits": {"seconds_per_action": -3}}, "environment.limits.seconds_per_action", ["-3"]),
        ({"environment.limits": {"output_kb": 0}}, "environment.limits.output_kb", ["KB"]),
        ({"budget": {"actions": 0}}, "budget.actions", ["0 is out of range"]),
        ({"budget": {"money": -0.5}}, "budget.money", ["-0.5"]),
        ({"goal": []}, "goal", ["no goal"]),
        ({"goal.1": {**GOAL_2, "version": 1}}, "goal[1].version", ['"1" is used before, at goal[0].version']),
        ({"goal.1": {**GOAL_2, "version": 3}}, "goal[1].version", ["3 leaves a gap", "[1, 3]"]),
        ({"goal.0.version": 0}, "goal[0].version", ["0 leaves a gap"]),
        ({"goal.0.version": 2}, "goal[0].version", ["2 leaves a gap"]),
        (
            {"goal.1": {"version": 2, "instruction": "instruction.md"}},
            "goal[1].relation",
            ["version 2", "add"],
        ),
        ({"goal.0.relation": "add"}, "goal[0].relation", ['"add"', "Remove it"]),
        ({"goal.1": {**GOAL_2, "relation": "conflict"}}, "goal[1].expect", ["stop-and-surface"]),
        ({"goal.1": {**GOAL_2, "expect": "stop-and-surface"}}, "goal[1].expect", ["conflict only"]),
        ({"goal.0.instruction": "none.md"}, "goal[0].instruction", ['"none.md" does not exist']),
        ({"goal.0.instruction": "/etc/hostname"}, "goal[0].instruction", ["lies outside"]),
        ({"goal.0.instruction": "environment"}, "goal[0].instruction", ["is no file"]),
        ({"goal.0.instruction": ""}, "goal[0].instruction", ['"" is no path']),
        ({"subgoal": []}, "subgoal", ["no subgoal"]),
        ({"subgoal.1.id": "first-part"}, "subgoal[1].id", ['"first-part"', "at subgoal[0].id"]),
        ({"subgoal.0.id": "a b", "subgoal.1.after": []}, "subgoal[0].id", ['"a b"', "letters"]),
        ({"subgoal.0.weight": -1}, "subgoal[0].weight", ["-1 is out of range"]),
        ({"subgoal.0.weight": float("nan")}, "subgoal[0].weight", ["nan"]),
        ({"subgoal.0.weight": 0, "subgoal.1.weight": 0.0}, "subgoal", ["goal version 1: all weights are 0"]),
        (
            {"goal.1": GOAL_2, "subgoal.0.goals": [1], "subgoal.1.goals": [1]},
            "subgoal",
            ["goal version 2: no"],
        ),
        ({"subgoal.0.timeout": 0}, "subgoal[0].timeout", ["0 is out of range"]),
        ({"subgoal.1.goals": [1, 4]}, "subgoal[1].goals[1]", ["no goal version 4", "[1]"]),
        ({"subgoal.1.verifier": "verifiers/none.sh"}, "subgoal[1].verifier", ['"verifiers/none.sh"']),
        ({"subgoal.1.verifier": "../v.sh"}, "subgoal[1].verifier", ['"../v.sh" lies outside']),
        ({"subgoal.1.verifier": "/bin/sh"}, "subgoal[1].verifier", ['"/bin/sh" lies outside']),
        ({"subgoal.1.verifier": "./verifiers/last.sh"}, "subgoal[1].verifier", ['Write "verifiers/last.sh"']),
        ({"subgoal.1.verifier": "environment/start.txt"}, "subgoal[1].verifier", ["agent's world"]),
        ({"subgoal.1.verifier": "instruction.md"}, "subgoal[1].verifier", ["no run bit", "chmod +x"]),
        (
            {"subgoal.1.reads": ["a.txt"]},
            "subgoal[1].reads[0]",
            ["'a.txt' has no known prefix", "files:a.txt"],
        ),
        ({"subgoal.1.reads": ["file:a"]}, "subgoal[1].reads[0]", ["'file:a'", "files:PATTERN"]),
        (
            {"subgoal.1.reads": ["files:x", "files:/etc/x"]},
            "subgoal[1].reads[1]",
            ["'files:/etc/x'", "/workspace"],
        ),
        ({"subgoal.1.reads": ["service:mail"]}, "subgoal[1].reads[0]", ['no service "mail"', "declare"]),
        (
            {"subgoal.1.after": ["first-prat"]},
            "subgoal[1].after[0]",
            ['"first-prat"', 'Did you mean "first-part"'],
        ),
        ({"subgoal.1.after": ["first-part"] * 2}, "subgoal[1].after[1]", ["used before"]),
        ({"subgoal.0.after": ["last-part"]}, "subgoal[0].after", ["first-part → last-part → first-part"]),
        ({"subgoal.0.after": ["first-part"]}, "subgoal[0].after", ["first-part → first-part"]),
        (
            {"goal.1": GOAL_2, "subgoal.0.goals": [2]},
            "subgoal[1].after[0]",
            ['goal version 1 has "last-part"'],
        ),
    ],
)
def test_a_task_that_breaks_a_rule(tmp_path, change, place, pieces):
    folder = write_task(tmp_path, change)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SpecError) as raised:
        load_task(folder)
    assert_error(raised, folder / "task.toml", place, *pieces)
    assert sorted(tmp_path.rglob("*")) == before


def test_an_instruction_must_be_text(tmp_path):
    folder = write_task(tmp_path)
    (folder / "instruction.md").write_bytes(b"caf\xe9\n")
    with pytest.raises(SpecError) as raised:
        load_task(folder)
    assert_error(
        raised, folder / "task.toml", "goal[0].instruction", "instruction.md", "byte 3 (0xe9)", "UTF-8"
    )
    (folder / "instruction.md").write_text(" \n")
    with pytest.raises(SpecError) as raised:
        load_task(folder)
    assert_error(raised, folder / "task.toml", "goal[0].instruction", "is empty")


def test_a_verifier_reached_by_a_link(tmp_path):
    outside = tmp_path / "outside.sh"
    outside.write_text("#!/bin/sh\n")
    folder = write_task(tmp_path / "task", {"subgoal.1.verifier": "verifiers/link.sh"})
    os.symlink(outside, folder / "verifiers" / "link.sh")
    with pytest.raises(SpecError) as raised:
        load_task(folder)
    assert_error(raised, folder / "task.toml", "subgoal[1].verifier", '"verifiers/link.sh" leads out')
    (folder / "verifiers" / "link.sh").unlink()
    os.symlink("last.sh", folder / "verifiers" / "link.sh")
    with pytest.raises(SpecError) as raised:
        load_task(folder)
    assert_error(raised, folder / "task.toml", "subgoal[1].verifier", 'Write "verifiers/last.sh"')


def test_a_verifier_whose_place_is_taken(tmp_path):
    folder = write_task(tmp_path, {"subgoal.1.verifier": "checks/last.sh"})
    (folder / "checks").mkdir()
    (folder / "verifiers" / "last.sh").rename(folder / "checks" / "last.sh")
    load_task(folder)
    for taken in (lambda place: place.mkdir(), lambda place: place.symlink_to("../environment")):
        taken(folder / "verifiers" / "checks")
        with pytest.raises(SpecError) as raised:
            load_task(folder)
        assert_error(raised, folder / "task.toml", "subgoal[1].verifier", '"checks" is also there', "Rename")
        place = folder / "verifiers" / "checks"
        place.unlink() if place.is_symlink() else place.rmdir()


def test_the_file_is_named_as_the_user_named_it(tmp_path, monkeypatch):
    write_task(tmp_path / "t", {"id": "x"})
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SpecError, match=r"^t/task\.toml: id: "):
        load_task("t")


def test_a_task_without_an_environment_folder_begins_empty(tmp_path):
    folder = write_task(tmp_path, {"environment": None})
    (folder / "environment" / "start.txt").unlink()
    (folder / "environment").rmdir()
    assert load_task(folder).spec.environment.files == "environment/"
