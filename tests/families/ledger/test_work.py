"""Scripts, recoveries and plan, played on the real services and judged by the verifiers' own code."""

import json
import os
import re
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seatrial.spec.loading import load_task
from tests.families.ledger.conftest import Desk, Made

Open = Callable[[Path], Desk]
EVERYTHING = {"load-1", "load-2", "clean-all", "sum-1", "sum-2", "sum-3", "report-party"}
TABLES = EVERYTHING - {"load-1", "load-2"}
FAILS = {
    "reference": set(), "equivalent": set(), "equivalent-order": set(), "hard-coded": set(), "wrong": TABLES,
    "boundary": TABLES, "cheating": TABLES, "stale": TABLES, "crash": TABLES, "empty": EVERYTHING,
    "string-only": EVERYTHING, **{f"broken-{name}": {name} for name in sorted(EVERYTHING)},
}  # fmt: skip


def steps(task: Path, name: str) -> list[dict[str, Any]]:
    return tomllib.loads((task / f"solutions/{name}.toml").read_text())["step"]


def plan(task: Path) -> list[dict[str, Any]]:
    return tomllib.loads((task / "plan.toml").read_text())["step"]


def facts(task: Path, rules: str = "") -> dict[str, int]:
    loaded = load_task(task)
    path = task / rules if rules else task / "environment" / loaded.spec.fact[0].file.removeprefix("files:")
    told = tomllib.loads(path.read_text())
    return {fact.id: told[fact.id] for fact in loaded.spec.fact}


@pytest.mark.parametrize("name", FAILS)
def test_every_script_gets_the_verdicts_it_must(made: Made, desk: Open, name: str):
    at = desk(made())
    for step in steps(made(), name):
        at.play(step)
    assert at.failing() == FAILS[name]


@pytest.mark.parametrize(
    "knobs", [{"seed": 2, "delay": 2, "variant": 1}, {"seed": 3, "depth": 5, "variant": 2}]
)
def test_the_reference_is_right_under_other_names_and_knobs(made: Made, desk: Open, knobs: dict[str, int]):
    for data in ("employment", "electricity"):
        at = desk(made(data, **knobs))
        for step in steps(made(data, **knobs), "reference"):
            at.play(step)
        assert at.failing() == set()


@pytest.mark.parametrize("name", ["least-changed", "ceiling-changed", "late-correction", "rules-reworded"])
def test_a_change_from_outside_breaks_what_it_must_and_the_recovery_mends_it(
    made: Made, desk: Open, name: str
):
    task = made()
    usual, recovery = desk(task), desk(task)
    for step in steps(task, "reference"):
        usual.play(step)
    usual.disturb(name)
    affected = {each.id: each.affects for each in usual.task.spec.perturbation}[name]
    assert usual.failing() == (set() if name == "rules-reworded" else set(affected))
    for step in steps(task, f"recover-{name}"):
        if step["tool"] == "sql.query" or step["tool"] == "read_file":
            recovery.disturb(name)  # before it looks again, and harmless before that
        recovery.play(step)
    assert recovery.failing() == set()


def test_a_recovery_that_the_agent_makes_up_itself_does_not_count(made: Made, desk: Open):
    """Other rules written by the agent, and a correction that nobody gave, are held against what holds."""
    task = made()
    at = desk(task)
    for step in steps(task, "recover-ceiling-changed"):
        at.play(step)
    rules = at.workspace / "rules/book.toml"
    rules.write_text((task / "perturbations/core.toml").read_text() + "\n")
    assert at.failing() == TABLES
    other = desk(task)
    for step in steps(task, "reference"):
        other.play(step)
    other.play({"tool": "sql.execute", "statement": "INSERT INTO corrections VALUES (1001, 3)"})
    assert other.failing() == set()


def test_another_goal_is_served_by_another_report(made: Made, desk: Open):
    task = made()
    at = desk(task)
    for step in steps(task, "reference"):
        at.play(step)
    assert at.failing(goal=2) == {"report-period"} and at.failing(goal=3) == set()
    for step in steps(task, "recover-by-period"):
        at.play(step)
    assert at.failing(goal=2) == set() and at.failing(goal=1) == {"report-party"}
    forced = {step["subgoal"]: step for step in plan(task)}["report-honest"]
    at.play(forced["wrong"])
    assert at.failing(goal=3) == {"report-honest"}
    at.play(forced["do"])
    assert at.failing(goal=3) == set()


@pytest.mark.parametrize("knobs", [{}, {"seed": 2, "delay": 2, "variant": 1}])
def test_actions_of_the_plan_do_what_they_promise(made: Made, desk: Open, knobs: dict[str, int]):
    task = made(**knobs)
    at, believed = desk(task), facts(task)
    wanted = [step for step in plan(task) if 1 in step.get("goals", [1])]
    for step in wanted:
        at.play(step["do"], believed)
    assert at.failing() == set()
    for step in wanted:
        for key in ("wrong", "drift"):
            at.play(step[key], believed)
            assert at.failing() == {step["subgoal"]}, key
            at.play(step["do"], believed)
        if "shortcut" in step:
            at.play(step["shortcut"], believed)
            assert at.failing() == {step["subgoal"]}
            at.play(step["do"], believed)
        before = at.services.entries()
        at.play(step["look"], believed)
        assert at.services.entries() == before and at.failing() == set()


def test_the_plan_follows_what_is_believed(made: Made, desk: Open):
    task = made()
    at = desk(task)
    at.disturb("ceiling-changed")
    believed = facts(task, "perturbations/core.toml")
    for step in plan(task):
        if 1 in step.get("goals", [1]):
            at.play(step["do"], believed)
    assert at.failing() == set()


def test_reactions_know_what_shows_their_disturbance(made: Made, desk: Open):
    task = made()
    at = desk(task)
    reactions = tomllib.loads((task / "plan.toml").read_text())["reaction"]
    found = {each["perturbation"]: each for each in reactions if "perturbation" in each}
    for name in ("ceiling-changed", "least-changed", "late-correction"):
        look, pattern = found[name]["look"], found[name]["shown"]
        assert not re.search(pattern, at.play(look))
        at.disturb(name)
        assert re.search(pattern, at.play(look)), name
    planted = {each.id: each.change for each in at.task.spec.perturbation}["memory-stale"]
    stale = found["memory-stale"]
    assert stale["look"] == {"tool": "recall", "key": planted["key"]}
    assert re.search(stale["shown"], planted["value"])
    assert not re.search(stale["shown"], at.play(stale["step"][0]))
    cut = found["names-cut-short"]
    whole = at.services.call("sql", "query", {"statement": cut["look"]["statement"]}).body
    shown = json.dumps(whole)
    assert re.search(cut["shown"], shown[:40]) and not re.search(cut["shown"], shown)


def test_a_verifier_runs_as_it_is_run_in_earnest(made: Made, desk: Open, tmp_path: Path):
    task = made()
    at = desk(task)
    for step in steps(task, "reference"):
        at.play(step)
    record = tmp_path / "record"
    for name in sorted(EVERYTHING):
        done = subprocess.run(
            ["bash", "-c", 'exec "$0" 3>"$1"', str(task / f"verifiers/{name}.sh"), str(record)],
            cwd=at.workspace, env={"PATH": os.environ["PATH"], "SERVICE_ROWS": str(at.rows())}, check=False,
        )  # fmt: skip
        assert done.returncode == 0 and '"verdict": "pass"' in record.read_text()


def test_the_client_says_what_is_wrong(made: Made, desk: Open):
    at = desk(made())
    assert "no such table" in at.play(
        {"tool": "shell", "command": "python3 tools/sql.py 'SELECT 1 FROM absent'"}
    )
    lines = at.play(
        {"tool": "shell", "command": "echo 'SELECT 1, 2 UNION SELECT 3, 4' | python3 tools/sql.py -"}
    )
    assert lines == "1,2\n3,4\n"
    at.play({"tool": "shell", "command": "python3 tools/sql.py @tools/corrections.sql"})
    assert at.services.rows("sql", "kept") == []
