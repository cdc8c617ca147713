"""Knobs of simulated agents: checked before a run, and what the agent is configured with."""

import re
import tomllib

import msgspec
import pytest

from seatrial.errors import SpecError
from seatrial.spec.faults import Source
from seatrial.spec.identity import freeze
from seatrial.spec.loading import load_experiment, load_task
from seatrial.spec.simulated import SimulatedOptions, agent_config, read_options, skill_at
from tests.house.files import ROOT
from tests.spec.folders import assert_error, toml, write_experiment, write_task
from tests.spec.test_plan_file import PLAN


def experiment(folder, options, plan=PLAN):
    system = {"name": "s", "agent": "simulated", "options": options}
    path = write_experiment(folder, {"system.0": system})
    if plan is not None:
        (folder / "tasks" / "one" / "plan.toml").write_text(toml(plan))
    return path


def test_a_simulated_system_is_privileged(tmp_path):
    systems = freeze(load_experiment(experiment(tmp_path, {"skill": 0.9}))).systems
    assert (systems["s"]["privileged"], systems["hasty"]["privileged"]) == (True, False)


def test_a_simulated_system_needs_a_plan(tmp_path):
    path = experiment(tmp_path, {}, plan=None)
    with pytest.raises(SpecError) as raised:
        load_experiment(path)
    assert_error(raised, path, "system[0].agent", "one has no plan.toml", "Write one")


def test_a_damaged_plan_is_named_by_its_own_file(tmp_path):
    path = experiment(tmp_path, {}, plan={"step": []})
    with pytest.raises(SpecError) as raised:
        load_experiment(path)
    assert_error(raised, tmp_path / "tasks" / "one" / "plan.toml", "step", "[]")


def test_a_simulated_system_has_no_script(tmp_path):
    path = experiment(tmp_path, {})
    path.write_text(path.read_text().replace('"options"', '"script" = "plan.toml", "options"', 1))
    with pytest.raises(SpecError) as raised:
        load_experiment(path)
    assert_error(raised, path, "system[0].script", '"plan.toml" means nothing', "Remove it")


@pytest.mark.parametrize(
    ("options", "place", "pieces"),
    [
        ({"skill": 1.5}, "skill", ["1.5 is out of range", "from 0 to 1"]),
        ({"skill": -0.1}, "skill", ["-0.1"]),
        ({"skill": "high"}, "skill", ['"high" has the wrong type', "a number"]),
        ({"skill": {"first-part": 2}}, "skill.first-part", ["2 is out of range"]),
        ({"skill": {"first-part": 0.5}}, "skill", ['"last-part" of "ledger/steps"', '"*"']),
        ({"skill": {"depth:1": 0.5, "frist-*": 0.1}}, "skill", ['"last-part"']),
        ({"skill": {"depth:x": 0.5, "*": 1}}, "skill.depth:x", ['"x" is no depth', "depth:1"]),
        ({"skill": {"depth:0": 0.5, "*": 1}}, "skill.depth:0", ['"0" is no depth']),
        ({"skill": {"*": 1, "first-pert": 0}}, "skill.first-pert", ["fits no", 'Did you mean "first-part"']),
        ({"skill": {"*": 1, "depth:3": 0}}, "skill.depth:3", ["fits no", 'Did you mean "depth:']),
        ({"skill": {"*": 1, "depth:02": 0}}, "skill.depth:02", ['Did you mean "depth:2"']),
        ({"skill": {"*": 1, "third-*": 0}}, "skill.third-*", ["fits no", "first-part"]),
        ({"skill": {"*": 1, "zz": 0}}, "skill.zz", ["subgoal or depth: depth:1, depth:2, first-part, last"]),
        ({"drift": 1.01}, "drift", ["1.01"]),
        ({"checking": -1}, "checking", ["-1"]),
        ({"forget": 7}, "forget", ["7"]),
        ({"shortcut": 7}, "shortcut", ["7"]),
        ({"give_up": 7}, "give_up", ["7"]),
        ({"premature": 7}, "premature", ["7"]),
        ({"repeat": 7}, "repeat", ["7"]),
        ({"idle": True}, "idle", ["true has the wrong type"]),
        ({"detection": 7}, "detection", ["7"]),
        ({"reread": 7}, "reread", ["7"]),
        ({"refresh": 7}, "refresh", ["7"]),
        ({"recover": 7}, "recover", ["7"]),
        ({"checkpoint": 7}, "checkpoint", ["7"]),
        ({"obey": 7}, "obey", ["7"]),
        ({"tempted": 7}, "tempted", ["7"]),
        ({"memory": 1}, "memory", ["1 has the wrong type", "true or false"]),
        ({"retry": "idempotnet"}, "retry", ['unknown value "idempotnet"', 'Did you mean "idempotent"']),
        ({"attempts": 0}, "attempts", ["0 is out of range", "from 1 to 100"]),
        ({"attempts": 2.5}, "attempts", ["2.5 has the wrong type", "a whole number"]),
        ({"chekcing": 0.5}, "chekcing", ['Did you mean "checking"']),
    ],
)
def test_an_option_that_is_wrong_is_named(tmp_path, options, place, pieces):
    path = experiment(tmp_path, options)
    with pytest.raises(SpecError) as raised:
        load_experiment(path)
    assert_error(raised, path, f"system[0].options.{place}", *pieces)


def test_a_key_may_fit_one_task_of_several(tmp_path):
    path = experiment(tmp_path, {"skill": {"*": 1, "first-*": 0.5, "only": 0.5, "depth:2": 0.5}})
    with pytest.raises(SpecError, match=r"skill\.only"):
        load_experiment(path)
    other = write_task(tmp_path / "tasks" / "other", {"id": "ledger/other", "subgoal.0.id": "only",
                                                      "subgoal.1.after": ["only"]})  # fmt: skip
    (other / "plan.toml").write_text(toml({"step": [{**PLAN["step"][0], "subgoal": "only"}]}))
    assert len(load_experiment(path).tasks) == 2


def test_a_subgoals_name_comes_before_its_depth_and_that_before_patterns():
    table = {"*": 0.1, "part-*": 0.2, "depth:2": 0.3, "part-c": 0.4}
    assert [skill_at(table, *asked) for asked in (("x", 1), ("part-a", 1), ("part-b", 2), ("part-c", 2))] == [
        0.1, 0.2, 0.3, 0.4,
    ]  # fmt: skip
    assert skill_at({"part-a": 1.0}, "x", 1) is None
    assert skill_at(0.7, "x", 5) == 0.7


def test_the_agent_is_given_actions_and_skill_of_each_step(tmp_path):
    load_experiment(experiment(tmp_path, {}))
    task = load_task(tmp_path / "tasks" / "one")
    options = SimulatedOptions(skill={"depth:1": 0.9, "depth:2": 0.4}, drift=0.1)
    config = agent_config(options, task.spec, task.plan)
    assert [step["skill"] for step in config["steps"]] == [0.9, 0.4]
    assert config["steps"][1]["do"] == {"tool": "shell", "arguments": {"command": "cp a.txt b.txt"}}
    assert config["steps"][1]["wrong"] is None
    assert (config["drift"], config["attempts"], "skill" in config) == (0.1, 3, False)
    assert (config["reactions"], config["goal_notices"], config["facts"]) == ([], [], {})


def test_every_knob_is_in_the_manual():
    text = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    section = text.partition("## Simulated")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", section, re.MULTILINE)
    defaults = {field.name: field.default for field in msgspec.structs.fields(SimulatedOptions)}
    written = {
        name: value if isinstance(value, str | bool) else int(value) for name, value in defaults.items()
    }
    assert dict(rows) == {name: str(value).lower() for name, value in written.items()}
    [example] = re.findall(r"```toml\n(.*?)```", section, re.DOTALL)
    [system] = tomllib.loads(example)["system"]
    assert read_options(Source("agents.md"), "options", system["options"]).drift == 0.1
