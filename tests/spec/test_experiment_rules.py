import pytest

from seatrial.errors import SpecError
from seatrial.spec.loading import load_experiment
from tests.spec.folders import TASK, assert_error, changed, toml, write_experiment
from tests.spec.test_perturbation_rules import perturbation


def python(**keys):
    return {"system.0": {"name": "p", "agent": "python", "code": "agent:Mine", "path": "code", **keys}}


@pytest.mark.parametrize(
    ("change", "place", "pieces"),
    [
        ({"name": ""}, "name", ['""']),
        ({"trials_per_task": 0}, "trials_per_task", ["0 is out of range"]),
        ({"trials_per_task": -2}, "trials_per_task", ["-2 is out of range"]),
        ({"seed": -1}, "seed", ["-1"]),
        ({"final_verdicts": 0}, "final_verdicts", ["0"]),
        ({"retry": {"infrastructure": 3}}, "retry.infrastructure", ["3", "from 0 to 2"]),
        ({"system": []}, "system", ["no system"]),
        ({"system.1.name": "careful"}, "system[1].name", ['"careful"', "system[0].name"]),
        ({"system.1.name": "a/b"}, "system[1].name", ['"a/b"']),
        ({"system.0.script": None}, "system[0].script", ['a "scripted" agent needs it']),
        ({"system.0.code": "a:B"}, "system[0].code", ['"a:B" means nothing to a "scripted" agent']),
        (
            {"system.0.options": {"speed": 2}},
            "system[0].options",
            ['{"speed": 2} means nothing to a "scripted" agent'],
        ),
        (python(code="agent"), "system[0].code", ['"agent" is not module:Class']),
        (
            python(path=None, code=None) | {"system.0": {"name": "p", "agent": "python"}},
            "system[0].code",
            ["needs"],
        ),
        (python(), "system[0].path", ['no folder "code"']),
        (python(path="tasks"), "system[0].code", ['no module "agent" in']),
        ({"arms": []}, "arms", ["no arm"]),
        ({"arms": ["baseline", "baseline"]}, "arms[1]", ["used before"]),
        ({"arms": ["basline"]}, "arms[0]", ['unknown arm "basline"', "perturbed:ID"]),
        ({"arms": ["perturbed:limit"]}, "arms[0]", ['"perturbed:limit"', 'Did you mean "limits"']),
        ({"arms": ["interrupted:compation"]}, "arms[0]", ['"compation"', 'Did you mean "compaction"']),
        ({"arms": ["forked:"]}, "arms[0]", ['"forked:"']),
        ({"primary": {"measure": "safe_sucess"}}, "primary.measure", ['Did you mean "safe_success"']),
        (
            {"primary": {"measure": "actions", "compare": ["careful", "hasti"]}},
            "primary.compare[1]",
            ['unknown system "hasti"', 'Did you mean "hasty"'],
        ),
        (
            {"primary": {"measure": "actions", "compare": ["hasty"]}},
            "primary.compare",
            ["nothing to compare"],
        ),
        ({"primary": {"measure": "actions", "alpha": 1}}, "primary.alpha", ["1.0 is no level"]),
    ],
)
def test_an_experiment_that_breaks_a_rule(tmp_path, change, place, pieces):
    path = write_experiment(tmp_path, change)
    (tmp_path / "tasks" / "one" / "task.toml").write_text(toml(changed(TASK, perturbation())))
    with pytest.raises(SpecError) as raised:
        load_experiment(path)
    assert_error(raised, path, place, *pieces)


LIE = {"source": "stale_fact", "key": "limit", "value": "5"}
PROSE = {"arms": ["interrupted:before_effect:prose"], "interruption": {"while_down": "limits"}}


@pytest.mark.parametrize(
    ("experiment", "keys", "piece"),
    [
        (
            {},
            {"change": {"channel": "memory", **LIE}},
            "a memory that is not offered here. Add memory = true",
        ),
        (PROSE, {"change": {"channel": "memory", **LIE}}, "a memory that is not offered here"),
        ({}, {"change": {"channel": "summary", **LIE}}, "a summary that no agent is handed"),
        ({}, {"when": {"compaction": True}}, "waits for a compaction"),
        ({"memory": True}, {"change": {"channel": "memory", **LIE}}, None),
        (PROSE, {"change": {"channel": "summary", **LIE}}, None),
        ({"compaction": {"at_subgoal": "first-part"}}, {"when": {"compaction": True}}, None),
    ],
)
def test_a_disturbance_that_cannot_reach_the_agent_is_refused(tmp_path, experiment, keys, piece):
    path = write_experiment(tmp_path, {"arms": ["perturbed:limits"], **experiment})
    (tmp_path / "tasks" / "one" / "task.toml").write_text(toml(changed(TASK, perturbation(**keys))))
    if piece is None:
        assert load_experiment(path).spec.arms
        return
    with pytest.raises(SpecError, match=piece) as raised:
        load_experiment(path)
    assert raised.value.place == "arms[0]"


def test_all_kinds_of_arm_are_allowed(tmp_path):
    arms = ["baseline", "perturbed:limits", "interrupted:before_effect", "forked:x@3"]
    path = write_experiment(tmp_path, {"arms": arms, "primary": {"measure": "safe_success"}})
    (tmp_path / "tasks" / "one" / "task.toml").write_text(toml(changed(TASK, perturbation())))
    assert load_experiment(path).spec.arms == arms


def test_a_python_system_brings_its_code(tmp_path):
    path = write_experiment(tmp_path, python(code="pack.agent:Mine"))
    (tmp_path / "code" / "pack").mkdir(parents=True)
    (tmp_path / "code" / "pack" / "agent.py").write_text("class Mine: ...\n")
    loaded = load_experiment(path)
    assert list(loaded.code["p"]) == ["pack/agent.py"]
    assert loaded.code_folder(loaded.spec.system[0]) == tmp_path / "code"
