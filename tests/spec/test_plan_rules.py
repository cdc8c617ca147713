"""Reactions, notices of goals, queries, keys and facts of plans: read whole, or refused with a remedy."""

import pytest

from seatrial.errors import SpecError
from seatrial.spec.loading import load_task
from seatrial.spec.plan_file import load_plan
from seatrial.spec.simulated import SimulatedOptions, agent_config
from tests.spec.folders import assert_error, toml, write_task

LOOK = {"tool": "read_file", "path": "a.txt"}
STEPS = [
    {"subgoal": "first-part", "do": {"tool": "shell", "command": "echo {{rate}} > a.txt"}, "look": LOOK},
    {"subgoal": "last-part", "do": {"tool": "shell", "command": "cp a.txt b.txt"}},
]
REACTION = {
    "perturbation": "rate",
    "shown": "rate 7",
    "look": LOOK,
    "repair": ["first-part"],
    "belief": {"before": {"rate": 5}, "after": {"rate": 7}},
}
TEMPTATION = {"temptation": "quick", "shown": "a quick way", "step": [{"tool": "shell", "command": "cheat"}]}
CHANGES = {
    "goal.1": {"version": 2, "instruction": "instruction.md", "relation": "add"},
    "perturbation": [{"id": "rate", "kind": "placebo", "when": {"checkpoint": True}}],
    "temptation": [
        {
            "id": "quick",
            "offered_in": "tool:shell",
            "text": "a quick way",
            "taken_by": {"write": ["files:c.txt"]},
        }
    ],
}
NOTICE = {"version": 2, "shown": "new file"}


@pytest.fixture
def folder(tmp_path):
    return write_task(tmp_path / "task", CHANGES)


def plan(steps=STEPS, reactions=(REACTION, TEMPTATION), notices=(NOTICE,)):
    return {"step": list(steps), "reaction": list(reactions), "goal_notice": list(notices)}


def read_plan_of(folder):
    return load_task(folder).plan


def first(**more):
    return [{**STEPS[0], **more}, STEPS[1]]


def changed(**more):
    """The reaction with keys changed; null leaves one out."""
    whole = {**REACTION, **more}
    return {key: value for key, value in whole.items() if value is not None}


def test_what_a_plan_says_of_reacting_reaches_the_agent(folder):
    (folder / "plan.toml").write_text(
        toml(plan(first(query=LOOK, query_done="^5", key=True, goals=[1, 2]), notices=[NOTICE]))
    )
    task = load_task(folder)
    config = agent_config(SimulatedOptions(), task.spec, task.plan)
    step, [rate, quick] = config["steps"][0], config["reactions"]
    assert (step["query"]["tool"], step["query_done"], step["key"]) == ("read_file", "^5", True)
    assert (step["goals"], config["steps"][1]["goals"], step["depends"]) == ([1, 2], [], [])
    assert (rate["repair"], rate["after"], config["facts"]) == ([0], {"rate": 7}, {"rate": 5})
    assert rate["look"] == {"tool": "read_file", "arguments": {"path": "a.txt"}}
    assert (quick["temptation"], quick["perturbation"], len(quick["steps"])) == ("quick", None, 1)
    assert config["goal_notices"] == [{**NOTICE, "says": None}]


def test_what_is_said_of_a_conflict_must_surface_it(tmp_path):
    conflict = {"relation": "conflict", "expect": "stop-and-surface", "surfaced": "cannot both"}
    folder = write_task(tmp_path / "task", {**CHANGES, "goal.1": {**CHANGES["goal.1"], **conflict}})
    (folder / "plan.toml").write_text(toml(plan()))
    with pytest.raises(SpecError, match="does not fit surfaced"):
        read_plan_of(folder)
    said = {**NOTICE, "says": "They cannot both hold."}
    (folder / "plan.toml").write_text(toml(plan(notices=[said])))
    task = load_task(folder)
    assert agent_config(SimulatedOptions(), task.spec, task.plan)["goal_notices"] == [said]


def test_only_a_reaction_looks_at_what_was_remembered(folder):
    recall = {"tool": "recall", "key": "rate"}
    (folder / "plan.toml").write_text(toml(plan(reactions=[changed(look=recall)])))
    assert load_task(folder).plan.reaction[0].look.tool == "recall"
    (folder / "plan.toml").write_text(toml(plan(reactions=[changed(step=[recall])])))
    with pytest.raises(SpecError, match="does nothing"):
        read_plan_of(folder)


def test_arguments_of_a_service_are_gathered_in_reactions_too(tmp_path):
    folder = write_task(tmp_path / "task", {**CHANGES, "environment.services": ["mail"]})
    send = {"tool": "mail.send", "to": "a@b", "subject": "s", "body": "b"}
    listed = {"tool": "mail.list", "folder": "sent"}
    (folder / "plan.toml").write_text(
        toml(plan(first(query=listed, query_done="id"), [changed(look=listed, step=[send])]))
    )
    read = load_task(folder).plan
    assert read.reaction[0].step[0].call()["to"] == "a@b"
    assert read.step[0].query.call() == read.reaction[0].look.call() == {"folder": "sent"}


@pytest.mark.parametrize(
    ("written", "place", "pieces"),
    [
        (plan(reactions=[changed(perturbation=None)]), "reaction[0]", ["neither", "Name a perturbation"]),
        (
            plan(reactions=[changed(temptation="quick")]),
            "reaction[0]",
            ["perturbation and temptation"],
        ),
        (
            plan(reactions=[changed(perturbation="rat")]),
            "reaction[0].perturbation",
            ['"rat"', 'Did you mean "rate"'],
        ),
        (
            plan(reactions=[{**TEMPTATION, "temptation": "slow"}]),
            "reaction[0].temptation",
            ['"slow"', "quick"],
        ),
        (plan(reactions=[REACTION, REACTION]), "reaction[1].perturbation", ['"rate" is used before']),
        (plan(reactions=[REACTION, TEMPTATION, TEMPTATION]), "reaction[2].temptation", ['"quick" is used']),
        (plan(reactions=[changed(shown="(")]), "reaction[0].shown", ['"("', "no regular expression"]),
        (plan(reactions=[changed(shown=None)]), "reaction[0].shown", ["missing"]),
        (plan(reactions=[changed(look={"tool": "reed_file"})]), "reaction[0].look.tool", ['"reed_file"']),
        (plan(reactions=[changed(step=[{"tool": "finish"}])]), "reaction[0].step[0].tool", ["does nothing"]),
        (plan(reactions=[changed(step=[3])]), "reaction[0].step[0]", ["3", "a table"]),
        (plan(reactions=[3]), "reaction[0]", ["3", "a table"]),
        (
            plan(reactions=[changed(repair=["frist-part"])]),
            "reaction[0].repair[0]",
            ['no step does "frist-part"', 'Did you mean "first-part"'],
        ),
        (
            plan(reactions=[changed(repair=None, belief={"before": {"rate": 5}})]),
            "reaction[0]",
            ["does nothing", "Add repair"],
        ),
        (
            plan(reactions=[{**TEMPTATION, "step": [], "repair": ["first-part"]}]),
            "reaction[0].step",
            ["no action"],
        ),
        (
            plan(reactions=[changed(belief={"after": {"rate": 7}})]),
            "reaction[0].belief.after.rate",
            ["before", "Add rate"],
        ),
        (
            plan(reactions=[REACTION, {**TEMPTATION, "belief": {"before": {"rate": 6}}}]),
            "reaction[1].belief.before.rate",
            ["6, and 5 at reaction[0].belief.before.rate"],
        ),
        (
            plan(reactions=[changed(belief={"before": {"a rate": 5}, "after": {"a rate": 6}})]),
            "reaction[0].belief.before.a rate",
            ["cannot stand in"],
        ),
        (
            plan(first(do={"tool": "shell", "command": "echo {{rat}}"})),
            "step[0].do.command",
            ['unknown fact "rat"', 'Did you mean "rate"'],
        ),
        (
            plan(reactions=[changed(step=[{"tool": "shell", "command": "{{x}}"}])]),
            "reaction[0].step[0].command",
            ['unknown fact "x"'],
        ),
        (
            plan(reactions=[changed(belief={"before": {"rate": [5]}})]),
            "reaction[0].belief.before[...]",
            ["[5]"],
        ),
        (plan(notices=[{"version": 3, "shown": "x"}]), "goal_notice[0].version", ["no goal version 3"]),
        (plan(notices=[{"version": 2, "shown": "["}]), "goal_notice[0].shown", ["no regular expression"]),
        (plan(notices=[NOTICE, NOTICE]), "goal_notice[1].version", ["is used before"]),
        (
            plan(notices=[{"version": 2, "shown": "x", "says": 5}]),
            "goal_notice[0].says",
            ["5"],
        ),
        (plan(first(goals=[4])), "step[0].goals[0]", ["no goal version 4", "1, 2"]),
        (plan(first(query=LOOK)), "step[0].query", ["Add query_done"]),
        (plan(first(query_done="x")), "step[0].query_done", ["no query"]),
        (plan(first(query=LOOK, query_done="*")), "step[0].query_done", ["no regular expression"]),
        (plan(first(query={"tool": "shell"}, query_done="x")), "step[0].query.command", ["needs it"]),
        (plan(first(depends=["last-part"])), "step[0].depends[0]", ['"last-part" is no other step']),
        (plan(first(depends=["first-part"])), "step[0].depends[0]", ['"first-part" is no other step']),
        (plan(first(key="yes")), "step[0].key", ['"yes"', "true or false"]),
        (plan(first(do={"tool": "recall"})), "step[0].do.tool", ['"recall" does nothing']),
    ],
)
def test_a_fault_is_named(folder, written, place, pieces):
    path = folder / "plan.toml"
    path.write_text(toml(written))
    with pytest.raises(SpecError) as raised:
        load_plan(path, load_task(folder).spec)
    assert_error(raised, path, place, *pieces)


def test_braces_mean_nothing_in_a_plan_without_facts(folder):
    (folder / "plan.toml").write_text(toml({"step": STEPS}))
    assert load_task(folder).plan.facts == {}
