"""What each kind of perturbation may change, and what trigger and change ask of each other."""

import pytest

from seatrial.errors import SpecError
from seatrial.spec.loading import load_task
from seatrial.spec.triggers import trigger_of
from tests.spec.folders import assert_error, write_task
from tests.spec.test_perturbation_rules import GOOD, perturbation

SERVICES = {"environment.services": ["mail", "tickets"]}
ACTION = {"action": {"tool": "shell"}}
MAIL = {"action": {"tool": "mail.send"}}
GOAL_2 = {"version": 2, "instruction": "instruction.md", "relation": "replace"}
GO = {"id": "go", "tool": "shell"}


def observation(**keys):
    return perturbation(**{"kind": "observation", "when": ACTION, **keys})


def execution(fault, **keys):
    change = {"fault": fault, **keys.pop("more", {})}
    return {**SERVICES, **perturbation(**{"kind": "execution", "when": ACTION, "change": change, **keys})}


@pytest.mark.parametrize(
    "change",
    [
        perturbation(change={"delete": "files:a*"}),
        perturbation(change={"script": "instruction.md", "to": "files:b.txt"}),
        perturbation(change={"write": "instruction.md", "to": "files:~/x", "owner": "base"}),
        {**SERVICES, **perturbation(change={"service": "tickets", "set": "rows.toml"})},
        {"approval": [GO], **perturbation(change={"revoke": "go"})},
        perturbation(
            change={"channel": "workspace", "source": "own_error", "key": "files:b.txt", "value": "x"}
        ),
        perturbation(change={"channel": "memory", "source": "stale_fact", "key": "limit", "value": "5"}),
        observation(change={"truncate": 0}),
        observation(change={"delay": 0.5, "times": 3}),
        observation(change={"error": "reset"}),
        observation(change={"append": "instruction.md"}),
        observation(when={"compaction": True}, change={"truncate": 9, "tool": "read_file"}),
        {"goal.1": GOAL_2, **perturbation(kind="goal", change={"goal": 2})},
        execution("partly"),
        execution("delay", more={"seconds": 2}),
        execution("partial", when={"action": {"tool": "mail.list"}}),
        execution("lost_ack", when={"checkpoint": True}, more={"tool": "mail.send"}),
        execution("rate_limit", when={"effect_attempted": True}),
        execution("transient", when={"effect_attempted": {"where": {"to": "~ ann"}}}),
        perturbation(kind="placebo", change={}),
        perturbation(recovered_when={"files": "files:b.txt", "equal": "instruction.md"}),
        perturbation(recovered_when={"files": "files:b.txt", "digest": "a" * 64}),
        perturbation(observed_when={"call": {"tool": "read_file", "where": {"path": "~ b"}}}),
    ],
)
def test_every_form_loads(tmp_path, change):
    folder = write_task(tmp_path, change)
    (folder / "rows.toml").write_text('[[tickets]]\ntitle = "t"\n')
    assert load_task(folder).spec.perturbation[0].id == "limits"


AT = "perturbation[0]"


@pytest.mark.parametrize(
    ("change", "place", "pieces"),
    [
        # A change that is none, or one too many, or of another kind.
        (perturbation(change={"wirte": "x"}), f"{AT}.change", ["names 0 of the changes", '"write"']),
        (perturbation(change={"write": "x", "delete": "files:x"}), f"{AT}.change", ["names 2"]),
        (perturbation(change={"truncate": 3}), f"{AT}.change", ['kind "state"']),
        (observation(change={}), f"{AT}.change", ['kind "observation" changes nothing', "truncate"]),
        (perturbation(change={"delete": "files:x", "to": "files:y"}), f"{AT}.change.to", ["unknown key"]),
        # Changes outside the state, or of no one file.
        (perturbation(change={"delete": "files:/etc/passwd"}), f"{AT}.change.delete", ["lies outside"]),
        (
            perturbation(change={"write": "instruction.md", "to": "files:/etc/x"}),
            f"{AT}.change.to",
            ["lies outside what the state holds"],
        ),
        (
            perturbation(change={"write": "instruction.md", "to": "files:a*"}),
            f"{AT}.change.to",
            ["not the path of one file"],
        ),
        (
            perturbation(change={"write": "instruction.md", "to": "files:/tmp"}),
            f"{AT}.change.to",
            ["one file"],
        ),
        (
            perturbation(change={"channel": "workspace", "source": "own_error", "key": "b", "value": "x"}),
            f"{AT}.change.key",
            ["'b' has no known prefix"],
        ),
        (
            perturbation(change={"channel": "mind", "source": "own_error", "key": "b", "value": "x"}),
            f"{AT}.change.channel",
            ['unknown value "mind"'],
        ),
        # Things that the task does not have.
        (
            perturbation(change={"service": "mail", "set": "rows.toml"}),
            f"{AT}.change.set",
            ["does not exist"],
        ),
        (perturbation(change={"revoke": "go"}), f"{AT}.change.revoke", ['unknown approval "go"']),
        (perturbation(kind="goal", change={"goal": 2}), f"{AT}.change.goal", ["2 is no goal version"]),
        (perturbation(kind="goal", change={"goal": 1}), f"{AT}.change.goal", ["1 is no goal version"]),
        (observation(change={"append": "none"}), f"{AT}.change.append", ['"none" does not exist']),
        # Numbers.
        (observation(change={"truncate": -1}), f"{AT}.change.truncate", ["-1 is out of range"]),
        (observation(change={"delay": 1e9}), f"{AT}.change.delay", ["out of range", "3600 s"]),
        (observation(change={"truncate": 1, "times": 0}), f"{AT}.change.times", ["0 is out of range"]),
        # Triggers and changes that do not go together.
        (
            observation(change={"truncate": 1, "tool": "shell"}),
            f"{AT}.change.tool",
            ["beside a trigger that names the action"],
        ),
        (
            observation(when={"checkpoint": True}, change={"truncate": 1, "tool": "finish"}),
            f"{AT}.change.tool",
            ['"finish" runs nothing'],
        ),
        (
            observation(when={"action": {"tool": "give_up"}}, change={"truncate": 1}),
            f"{AT}.when.action.tool",
            ['"give_up" runs nothing'],
        ),
        (
            observation(when={"file_read": "files:a.txt"}, change={"error": "no"}),
            f"{AT}.change.error",
            ["can no longer be kept from running"],
        ),
        (execution("partly", when={"checkpoint": True}), f"{AT}.change.tool", ["nothing says whose"]),
        (execution("rate_limit"), f"{AT}.change.fault", ['happens to services, not to "shell"']),
        (execution("partly", when={"action": {"tool": "write_file"}}), f"{AT}.change.fault", ["half done"]),
        (execution("partial", when=MAIL), f"{AT}.change.fault", ['cannot happen to "mail.send"']),
        (
            execution("partly", when={"action": {"tool": "mail.list"}}),
            f"{AT}.change.fault",
            ['cannot happen to "mail.list"'],
        ),
        (execution("delay"), f"{AT}.change.seconds", ["A delay needs its seconds"]),
        (execution("lost_ack", more={"seconds": 1}), f"{AT}.change.seconds", ["nothing else has any"]),
        (execution("lost"), f"{AT}.change.fault", ['Did you mean "lost_ack"']),
        # Triggers that say nothing.
        (perturbation(when={"checkpoint": 1}), f"{AT}.when.checkpoint", ["Write checkpoint = true"]),
        (perturbation(when={"effect_attempted": True}), f"{AT}.when.effect_attempted", ["has no service"]),
        (
            {**SERVICES, **perturbation(when={"effect_attempted": {"tool": "shell"}})},
            f"{AT}.when.effect_attempted.tool",
            ["no call of a service"],
        ),
        (
            {**SERVICES, **perturbation(when={"effect_attempted": {"tool": "mail.list"}})},
            f"{AT}.when.effect_attempted.tool",
            ["only looks"],
        ),
        (
            {**SERVICES, **perturbation(when={"effect_attempted": "yes"})},
            f"{AT}.when.effect_attempted",
            ['"yes" says nothing'],
        ),
        # What tells its course.
        (perturbation(observed_when={"read": "files:b"}), f"{AT}.observed_when.read", ['"reads"']),
        (perturbation(observed_when={"call": "shell"}), f"{AT}.observed_when.call", ["is no table"]),
        (
            perturbation(observed_when={"reads": "files:b", "call": {"tool": "shell"}}),
            f"{AT}.observed_when",
            ["says two things"],
        ),
        (
            perturbation(recovered_when={"files": "files:b.txt"}),
            f"{AT}.recovered_when",
            ["nothing that can be checked"],
        ),
        (
            perturbation(recovered_when={"files": "files:b.txt", "digest": "12"}),
            f"{AT}.recovered_when.digest",
            ["is no digest"],
        ),
        (
            perturbation(recovered_when={"files": "files:b.txt", "equal": "none"}),
            f"{AT}.recovered_when.equal",
            ['"none" does not exist'],
        ),
        (perturbation(scenario="a/b"), f"{AT}.scenario", ['"a/b" cannot be a name']),
    ],
)
def test_what_is_refused(tmp_path, change, place, pieces):
    folder = write_task(tmp_path, change)
    with pytest.raises(SpecError) as raised:
        load_task(folder)
    assert_error(raised, folder / "task.toml", place, *pieces)


def test_rows_of_a_table_there_is_not(tmp_path):
    folder = write_task(
        tmp_path, {**SERVICES, **perturbation(change={"service": "tickets", "set": "rows.toml"})}
    )
    for text, piece in (("[[ticket]]\n", 'Did you mean "tickets"'), ("tickets = 3\n", "is no list of rows")):
        (folder / "rows.toml").write_text(text)
        with pytest.raises(SpecError, match=piece):
            load_task(folder)


def both(first, second):
    return {"perturbation": [{**GOOD, **first}, {**GOOD, "id": "other", **second}]}


LEVELS = [{"scenario": "limit", "strength": "core"}, {"scenario": "limit", "strength": "local"}]


@pytest.mark.parametrize(
    ("first", "second", "place"),
    [
        ({}, {"change": {"write": "task.toml", "to": "files:b.txt"}}, "perturbation[1]"),
        ({}, {}, "perturbation[1]"),
        (LEVELS[0], LEVELS[0], "perturbation[1].strength"),
        (*LEVELS, None),
        ({}, {"when": {"compaction": True}}, None),
        ({}, {"kind": "placebo", "change": {}}, None),
        ({}, {"change": {"delete": "files:a.txt"}}, None),
        (
            {"kind": "observation", "change": {"truncate": 3}},
            {"kind": "observation", "change": {"error": "no"}},
            None,
        ),
        (
            {"kind": "observation", "change": {"truncate": 3}},
            {"kind": "observation", "change": {"truncate": 5}},
            "perturbation[1]",
        ),
    ],
)
def test_two_that_conflict_are_refused_unless_they_are_strengths(tmp_path, first, second, place):
    when = {"when": {"compaction": True}} if first.get("kind") == "observation" else {}
    folder = write_task(tmp_path, both({**first, **when}, {**second, **when}))
    if place is None:
        assert len(load_task(folder).spec.perturbation) == 2
        return
    with pytest.raises(SpecError) as raised:
        load_task(folder)
    assert_error(raised, folder / "task.toml", place)


@pytest.mark.parametrize(
    ("goal", "place", "piece"),
    [
        ({"relation": None}, "goal[1].relation", "does not say how it changes the one before"),
        ({"relation": "conflict"}, "goal[1].expect", "a conflict needs its expected response"),
        ({"surfaced": "x"}, "goal[1].surfaced", "belongs to a conflict only"),
        (
            {"relation": "conflict", "expect": "stop-and-surface", "surfaced": "("},
            "goal[1].surfaced",
            "no regular expression",
        ),
        ({"prominent": "newest"}, "goal[1].prominent", 'unknown value "newest"'),
    ],
)
def test_goal_versions_say_how_they_change_the_one_before(tmp_path, goal, place, piece):
    told = {key: value for key, value in {**GOAL_2, **goal}.items() if value is not None}
    folder = write_task(tmp_path, {"goal.1": told})
    with pytest.raises(SpecError) as raised:
        load_task(folder)
    assert_error(raised, folder / "task.toml", place, piece)


def test_the_first_goal_has_nothing_older_to_be_prominent(tmp_path):
    folder = write_task(tmp_path, {"goal.0.prominent": "old"})
    with pytest.raises(SpecError, match="before version 1 nothing was asked"):
        load_task(folder)


def test_a_trigger_compiles_to_what_it_says():
    assert trigger_of({"subgoal_verified": "a"}).subgoal == "a"
    assert trigger_of({"effect_attempted": True}).tool is None
    assert trigger_of({"effect_attempted": {"tool": "mail.send"}}).tool == "mail.send"
    pattern = trigger_of({"file_read": "files:src/**"}).pattern
    assert pattern is not None and pattern.matches("workspace/src/a.py")
