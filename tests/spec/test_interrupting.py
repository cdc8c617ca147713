"""Arms that interrupt or compact: what they need, and which tasks bear them."""

import shutil
from pathlib import Path

import pytest

from seatrial.errors import SpecError
from seatrial.spec.identity import experiment_id, freeze
from seatrial.spec.interrupting import checkpoints_offered, interruption_arm
from seatrial.spec.lint import lint_task
from seatrial.spec.loading import load_experiment, load_task
from seatrial.spec.scripts import load_script
from tests.spec.folders import TASK, assert_error, changed, toml, write_experiment
from tests.spec.test_perturbation_rules import perturbation
from tests.worlds import make_task

AT = {"at_subgoal": "first-part"}


@pytest.mark.parametrize(
    ("change", "place", "pieces"),
    [
        ({"arms": ["interrupted:before_effekt"]}, "arms[0]", ['Did you mean "before_effect"']),
        ({"arms": ["interrupted:before_effect:"]}, "arms[0]", ['"" is no form']),
        ({"arms": ["interrupted:before_effect:prosa"]}, "arms[0]", ['Did you mean "prose"']),
        ({"arms": ["compacted:golden"], "compaction": AT}, "arms[0]", ['Did you mean "gold"']),
        ({"arms": ["compacted:raw"]}, "arms[0]", ["needs a compaction", "[compaction]"]),
        ({"arms": ["interrupted:compaction:none"]}, "arms[0]", ["needs a compaction"]),
        ({"interruption": {"state_bytes": 0}}, "interruption.state_bytes", ["0"]),
        ({"interruption": {"occasions": 1001}}, "interruption.occasions", ["1001"]),
        ({"interruption": {"tool": "shel"}}, "interruption.tool", ['Did you mean "shell"']),
        ({"interruption": {"tool": "pay.*"}}, "interruption.tool", ["fits no tool"]),
        ({"interruption": {"tool": "mail"}}, "interruption.tool", ["fits no tool"]),
        ({"interruption": {"tool": "mail.sent"}}, "interruption.tool", ["fits no tool"]),
        (
            {"arms": ["interrupted:before_effect"], "interruption": {"tool": "mail.*"}},
            "arms[0]",
            ['no tool "mail.*"'],
        ),
        ({"compaction": {}}, "compaction", ["must say when"]),
        ({"compaction": {**AT, "every_tokens": 10}}, "compaction", ["must say when"]),
        ({"compaction": {"every_tokens": 10}}, "compaction.every_tokens", ["nobody counts", '"scripted"']),
        (
            {"arms": ["baseline", "compacted:gold"], "compaction": AT},
            "arms[1]",
            ["no task can bear", "compaction/gold.md"],
        ),
        (
            {"arms": ["compacted:raw"], "compaction": {"at_subgoal": "nothing"}},
            "arms[0]",
            ['no subgoal "nothing"'],
        ),
        (
            {"arms": ["interrupted:subgoal_verified"], "interruption": {"subgoal": "nothing"}},
            "arms[0]",
            ['no subgoal "nothing"'],
        ),
        (
            {"arms": ["interrupted:before_effect"], "interruption": {"while_down": "nothing"}},
            "arms[0]",
            ['no perturbation "nothing"'],
        ),
    ],
)
def test_an_experiment_that_breaks_a_rule(tmp_path, change, place, pieces):
    path = write_experiment(tmp_path, change)
    (tmp_path / "tasks" / "one" / "task.toml").write_text(toml(changed(TASK, perturbation())))
    with pytest.raises(SpecError) as raised:
        load_experiment(path)
    assert_error(raised, path, place, *pieces)


def test_an_arm_is_planned_for_the_tasks_that_bear_it(tmp_path):
    arms = ["baseline", "compacted:gold", "compacted:raw"]
    path = write_experiment(tmp_path, {"arms": arms, "compaction": AT})
    shutil.copytree(tmp_path / "tasks" / "one", tmp_path / "tasks" / "two")
    (tmp_path / "tasks" / "two" / "task.toml").write_text(toml(changed(TASK, {"id": "ledger/other"})))
    gold = tmp_path / "tasks" / "one" / "compaction"
    gold.mkdir()
    (gold / "gold.md").write_text("The schema is there.\n")
    plan = freeze(load_experiment(path)).plan
    tasks = {arm: {planned.task for planned in plan if planned.arm == arm} for arm in arms}
    assert tasks["baseline"] == tasks["compacted:raw"] == {TASK["id"], "ledger/other"}
    assert tasks["compacted:gold"] == {TASK["id"]}


def test_they_are_part_of_the_identity_only_where_they_are_used(tmp_path):
    def identity(name, **change):
        (tmp_path / name).mkdir()
        return experiment_id(load_experiment(write_experiment(tmp_path / name, change)))

    plain = identity("plain")
    assert plain == identity("defaults", interruption={"state_bytes": 8192}, memory=False)
    others = [
        identity("memory", memory=True),
        identity("bytes", interruption={"state_bytes": 100}),
        identity("compaction", compaction=AT),
    ]
    assert len({plain, *others}) == 4


def test_arms_that_are_compared_offer_the_same_checkpoints():
    task = make_task(perturbation=[{"id": "p", "kind": "placebo", "when": {"checkpoint": True}}])
    arms = ["baseline", "interrupted:before_effect:none", "interrupted:before_effect:prose", "perturbed:p"]
    offered = [checkpoints_offered(task, arms, arm) for arm in arms]
    assert offered == ["prose", None, "prose", "prose"]
    assert checkpoints_offered(task, ["baseline", "perturbed:p"], "baseline") is None
    assert checkpoints_offered(task, ["baseline", "perturbed:p"], "perturbed:p") == "structured"
    assert interruption_arm("interrupted:compaction") == ("compaction", "structured")
    assert interruption_arm("perturbed:p") is None


def test_lint_asks_for_what_a_compaction_can_lose(tmp_path):
    write_experiment(tmp_path, {})
    folder = tmp_path / "tasks" / "one"

    def warned() -> str:
        return "".join(f.problem for f in lint_task(load_task(folder)) if "compactions" in f.problem)

    assert not warned()
    (folder / "compaction").mkdir()
    (folder / "compaction" / "gold.md").write_text("All is well.\n")
    assert "constraint, failure_reason, external_id" in warned()
    (folder / "task.toml").write_text(toml(changed(TASK, {"subgoal.0.needs": "failure_reason"})))
    assert "constraint, external_id" in warned()


@pytest.mark.parametrize(
    ("check", "place", "piece"),
    [
        ('{ tool = "shell", command = "ls" }', "step[0].check.shows", "a check needs it"),
        ('{ tool = "shell", command = "ls", shows = "(" }', "step[0].check.shows", "no regular expression"),
        ('{ tool = "shell", shows = "x" }', "step[0].check.command", "needs it"),
        ('{ tool = "shel", shows = "x" }', "step[0].check.tool", "shel"),
        ('{ command = "ls", shows = "x" }', "step[0].check.tool", "missing"),
        ('{ tool = "shell", command = "ls", shows = "x", patience = 1 }', "step[0].check.patience", "belong"),
    ],
)
def test_a_check_that_is_no_call(tmp_path: Path, check: str, place: str, piece: str) -> None:
    path = tmp_path / "script.toml"
    path.write_text(f'retry = "query"\n[[step]]\ntool = "shell"\ncommand = "ls"\ncheck = {check}\n')
    with pytest.raises(SpecError) as raised:
        load_script(path)
    assert_error(raised, path, place, piece)
