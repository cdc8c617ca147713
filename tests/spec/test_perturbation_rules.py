import pytest

from seatrial.errors import SpecError
from seatrial.spec.loading import load_task
from tests.spec.folders import assert_error, write_task

GOOD = {
    "id": "limits",
    "kind": "state",
    "when": {"subgoal_verified": "first-part"},
    "change": {"write": "instruction.md", "to": "files:b.txt"},
    "affects": ["last-part"],
    "observed_when": {"reads": "files:b.txt"},
    "recovered_when": {"subgoal": "last-part"},
}


def perturbation(**keys):
    return {"perturbation": [{**GOOD, **keys}]}


def test_a_good_one_loads(tmp_path):
    assert load_task(write_task(tmp_path, perturbation())).spec.perturbation[0].affects == ["last-part"]


@pytest.mark.parametrize(
    ("change", "place", "pieces"),
    [
        ({"perturbation": [GOOD, GOOD]}, "perturbation[1].id", ['"limits" is used before']),
        (perturbation(version=0), "perturbation[0].version", ["0 is out of range"]),
        (perturbation(kind="stat"), "perturbation[0].kind", ['Did you mean "state"']),
        (perturbation(when={}), "perturbation[0].when", ["0 triggers", "exactly one"]),
        (
            perturbation(when={"subgoal": "x"}),
            "perturbation[0].when.subgoal",
            ['Did you mean "subgoal_verified"'],
        ),
        (perturbation(when={"subgoal_verified": "x"}), "perturbation[0].when.subgoal_verified", ['"x"']),
        (
            perturbation(when={"file_read": "x"}),
            "perturbation[0].when.file_read",
            ["'x' has no known prefix"],
        ),
        (perturbation(when={"file_read": 3}), "perturbation[0].when.file_read", ["3 has the wrong type"]),
        (perturbation(when={"action": "shell"}), "perturbation[0].when.action", ['"shell" is no table']),
        (perturbation(when={"action": {"tool": "x"}}), "perturbation[0].when.action.tool", ['"x"']),
        (perturbation(change={}), "perturbation[0].change", ["changes nothing"]),
        (perturbation(kind="placebo"), "perturbation[0].change", ["placebo"]),
        (perturbation(change={"write": "none", "to": "files:b"}), "perturbation[0].change.write", ['"none"']),
        (perturbation(change={"script": "../x"}), "perturbation[0].change.script", ["lies outside"]),
        (perturbation(change={"script": 1}), "perturbation[0].change.script", ["1 has the wrong type"]),
        (
            perturbation(change={"write": "instruction.md", "to": "b.txt"}),
            "perturbation[0].change.to",
            ["'b.txt'"],
        ),
        (perturbation(affects=["lst-part"]), "perturbation[0].affects[0]", ['Did you mean "last-part"']),
        (perturbation(observed_when={"reads": "b"}), "perturbation[0].observed_when.reads", ["'b'"]),
        (
            perturbation(when={"action": {"tool": "shell", "where": {"cmd": "x"}}}),
            "perturbation[0].when.action.where.cmd",
            ['"shell" has no argument "cmd"'],
        ),
        (
            perturbation(change={"write": "instruction.md", "to": f"files:{'b' * 256}"}),
            "perturbation[0].change.to",
            ["too long"],
        ),
        (perturbation(oracle={"actoins": 1}), "perturbation[0].oracle.actoins", ['Did you mean "actions"']),
        (perturbation(oracle={"actions": 0}), "perturbation[0].oracle.actions", ["0 is no cost", "above 0"]),
        (perturbation(oracle={"actions": "3"}), "perturbation[0].oracle.actions", ['"3" is no cost']),
        (perturbation(oracle={"actions": True}), "perturbation[0].oracle.actions", ["true is no cost"]),
        (perturbation(recovered_when={"subgoal": []}), "perturbation[0].recovered_when.subgoal", ["[]"]),
    ],
)
def test_a_perturbation_that_breaks_a_rule(tmp_path, change, place, pieces):
    folder = write_task(tmp_path, change)
    with pytest.raises(SpecError) as raised:
        load_task(folder)
    assert_error(raised, folder / "task.toml", place, *pieces)


@pytest.mark.parametrize(
    "change",
    [
        {"write": "task.toml", "to": "files:/workspace/b.txt"},
        {"write": "task.toml", "to": "files:.//b.txt"},
        {"delete": "files:*.txt"},
        {"channel": "workspace", "source": "stale_fact", "key": "files:b.txt", "value": "x"},
    ],
)
def test_two_that_change_one_path_at_one_moment(tmp_path, change):
    folder = write_task(tmp_path, {"perturbation": [GOOD, {**GOOD, "id": "other", "change": change}]})
    with pytest.raises(SpecError) as raised:
        load_task(folder)
    assert_error(raised, folder / "task.toml", "perturbation[1]", '"other" and "limits"', "scenario")


def test_two_that_change_different_paths_at_one_moment(tmp_path):
    other = {**GOOD, "id": "other", "change": {"delete": "files:c*"}}
    assert len(load_task(write_task(tmp_path, {"perturbation": [GOOD, other]})).spec.perturbation) == 2
