"""docs/formats.md names every key there is, and its examples load."""

import re
import tomllib

import msgspec
import pytest

from seatrial.spec import experiment, plan_file, task
from seatrial.spec.loading import load_experiment, load_script, load_task
from seatrial.spec.new_task import new_task
from seatrial.spec.tools import SERVICES, TOOLS
from tests.house.files import ROOT

TEXT = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
TASK, EXPERIMENT, SCRIPT, PLAN, REACTIONS = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
# What the reactions of the example answer.
DISTURBED = """
[[goal]]
version = 2
instruction = "instruction.md"
relation = "add"
[[perturbation]]
id = "guest-cancels"
kind = "placebo"
when = { checkpoint = true }
"""
CODE = " ".join(re.findall(r"`([^`\n]+)`", TEXT))
STRUCTS = [
    struct
    for module in (task, experiment, plan_file)
    for struct in vars(module).values()
    if isinstance(struct, type) and issubclass(struct, task.Strict) and struct is not task.Strict
]


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_every_key_is_named(struct):
    # What a service takes stands flat in a script; the struct only gathers it.
    keys = [field.name for field in msgspec.structs.fields(struct) if field.name != "arguments"]
    assert [key for key in keys if not re.search(rf"\b{key}\b", CODE)] == []


def test_every_tool_and_service_is_named():
    assert [name for name in (*TOOLS, *SERVICES) if f"`{name}`" not in TEXT] == []


def test_the_examples_load(tmp_path):
    folder = tmp_path / "tasks" / "party"
    new_task(folder, "party/seating")
    (folder / "task.toml").write_text(TASK)
    assert load_task(folder).spec.id == "party/seating"
    (tmp_path / "pilot.toml").write_text(EXPERIMENT)
    assert load_experiment(tmp_path / "pilot.toml").spec.trials_per_task == 3
    (tmp_path / "script.toml").write_text(SCRIPT)
    assert [step.tool for step in load_script(tmp_path / "script.toml").step] == ["shell", "finish"]
    (folder / "plan.toml").write_text(PLAN)
    assert [key for key, _ in load_task(folder).plan.step[0].actions()] == list(plan_file.ACTIONS)
    (folder / "task.toml").write_text(TASK + DISTURBED)
    (folder / "plan.toml").write_text(PLAN + REACTIONS)
    assert load_task(folder).plan.facts == {"guests": 12}
    assert tomllib.loads(TASK)["schema"] == task.SCHEMA
