"""Disturbed trials from the experiment file to the report: arms, online verdicts, goals, what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from seatrial.errors import SpecError
from seatrial.journal.events import (
    ActionFinished,
    AgentKilled,
    AgentResumed,
    EffectRecorded,
    Event,
    GoalChanged,
    HarnessFaulted,
    MemoryUsed,
    PerturbationArmed,
    PerturbationFired,
    SubgoalJudged,
    TrialEnded,
)
from seatrial.journal.reader import read_journal, state_at
from seatrial.journal.run import RunFolder
from seatrial.spec.loading import load_experiment
from tests.runs import open_run
from tests.schedule.small import seatrial, shown
from tests.trial.disturbed import write_disturbed

STATE = ["baseline", "perturbed:limit-changed", "perturbed:nothing", "perturbed:never"]
GOALS = ["baseline", "perturbed:tripled", "perturbed:contradicted", "perturbed:half-done"]


@pytest.fixture(scope="module")
def state_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("state")
    seatrial("run", str(write_disturbed(folder, STATE, ["careful", "hasty"])), "-o", str(folder / "run"))
    return folder / "run"


@pytest.fixture(scope="module")
def goal_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("goals")
    file = write_disturbed(folder, GOALS, ["careful", "tripling", "stopping"])
    seatrial("run", str(file), "-o", str(folder / "run"))
    return folder / "run"


def events(run: Path, system: str, arm: str) -> list[Event]:
    opened = RunFolder.open(run)
    trial = next(p.trial for p in opened.manifest().plan if (p.system, p.arm) == (system, arm))
    return read_journal(opened.journal_path(trial, 1)).events


def of(kind: type[Any], lines: list[Event]) -> list[Any]:
    return [event for event in lines if isinstance(event, kind)]


def outcome(run: Path, key: str = "terminal_class") -> dict[tuple[str, str], Any]:
    return {(trial["system"], trial["arm"].partition(":")[2]): trial[key] for trial in shown(run)}


def test_only_who_reads_again_overcomes_a_change_and_a_placebo_is_like_the_baseline(state_run: Path) -> None:
    found = outcome(state_run)
    assert found.pop(("hasty", "limit-changed")) == "failure"
    assert set(found.values()) == {"success"}
    assert len(found) == 7


def test_the_change_comes_when_the_subgoal_is_first_verified(state_run: Path) -> None:
    lines = events(state_run, "hasty", "perturbed:limit-changed")
    (armed,), (fired,) = of(PerturbationArmed, lines), of(PerturbationFired, lines)
    (judged,), (effect,) = of(SubgoalJudged, lines), of(EffectRecorded, lines)
    assert (judged.subgoal, judged.verdict, judged.label, judged.step) == ("noted", "pass", "online", 1)
    assert (fired.step, fired.paths) == (1, ["workspace/config/limit"])
    assert armed.seq < judged.seq < effect.seq < fired.seq
    assert [e.outcome for e in of(ActionFinished, lines)] == ["ok"] * 4
    assert of(TrialEnded, lines)[0].audit == "equal"
    run = RunFolder.open(state_run)
    trial = next(p.trial for p in run.manifest().plan if p.arm == "perturbed:limit-changed")
    journal = read_journal(run.journal_path(trial, 1))
    kept = [state_at(journal, run.objects, step)["workspace/config/limit"].digest for step in (0, 1, 2)]
    assert [run.objects.get(digest or "") for digest in kept] == [b"10\n", b"12\n", b"12\n"]


def test_a_placebo_is_written_alike(state_run: Path) -> None:
    lines = events(state_run, "hasty", "perturbed:nothing")
    (fired,) = of(PerturbationFired, lines)
    assert (fired.step, fired.change, fired.pre) == (1, "placebo", fired.post)
    assert not of(EffectRecorded, lines)
    assert len(of(SubgoalJudged, lines)) == 1


def test_a_trigger_that_is_never_met_is_armed_and_not_fired(state_run: Path) -> None:
    lines = events(state_run, "hasty", "perturbed:never")
    assert len(of(PerturbationArmed, lines)) == 1
    assert not of(PerturbationFired, lines)
    assert not of(SubgoalJudged, lines)  # nothing waits for a verdict, so none is taken


def test_the_baseline_is_armed_with_nothing(state_run: Path) -> None:
    lines = events(state_run, "hasty", "baseline")
    assert not of(PerturbationArmed, lines) and not of(SubgoalJudged, lines)


def test_a_new_goal_is_told_and_judged_by(goal_run: Path) -> None:
    found = outcome(goal_run)
    assert found["careful", "tripled"] == "failure"
    assert found["tripling", "tripled"] == "success"
    assert found["tripling", ""] == "failure"
    (changed,) = of(GoalChanged, events(goal_run, "careful", "perturbed:tripled"))
    assert (changed.step, changed.relation, changed.perturbation) == (1, "replace", "tripled")
    told = RunFolder.open(goal_run).objects.get(changed.instruction).decode()
    assert told == "[New instruction]\nWrite three times the limit into total."


def test_a_conflict_is_won_by_stopping_and_saying_so(goal_run: Path) -> None:
    found = outcome(goal_run)
    assert found["stopping", "contradicted"] == "success"
    assert found["careful", "contradicted"] == "failure"
    (changed,) = of(GoalChanged, events(goal_run, "stopping", "perturbed:contradicted"))
    told = RunFolder.open(goal_run).objects.get(changed.instruction).decode()
    assert told.startswith("[Instruction]\nNote the limit")
    assert told.endswith("\n\nDo not write total.")


def test_a_lost_acknowledgement_is_an_unknown_action(goal_run: Path) -> None:
    lines = events(goal_run, "careful", "perturbed:half-done")
    assert [e.outcome for e in of(ActionFinished, lines)] == ["ok", "ok", "unknown", "ok"]
    assert of(PerturbationFired, lines)[0].step == 3
    assert outcome(goal_run)["careful", "half-done"] == "success"


def test_show_and_report_know_the_arms(state_run: Path) -> None:
    assert {trial["arm"] for trial in shown(state_run)} == set(STATE)
    seatrial("report", str(state_run))
    report = json.loads((state_run / "report" / "report.json").read_text())
    assert {row["arm"] for row in report["main_table"]} == set(STATE)


def test_early_success_is_judged_by_the_goal_that_holds(tmp_path: Path) -> None:
    file = write_disturbed(tmp_path, ["perturbed:tripled"], ["careful", "tripling"], 'stop = "first_success"')
    seatrial("run", str(file), "-o", str(tmp_path / "run"))
    found = outcome(tmp_path / "run", "stop_reason")
    assert found == {("careful", "tripled"): "finished", ("tripling", "tripled"): "first_success"}


def test_a_script_that_fails_costs_one_attempt_and_stops_the_run(tmp_path: Path) -> None:
    file = write_disturbed(tmp_path, ["baseline", "perturbed:limit-changed"], ["hasty"])
    task, run = tmp_path / "task" / "task.toml", tmp_path / "run"
    old = 'change = { write = "perturbations/limit", to = "files:config/limit" }'
    text = task.read_text().replace(old, 'change = { script = "perturbations/limit" }')
    task.write_text(text)
    said = seatrial("run", str(file), "-o", str(run), "--arm", "perturbed:limit-changed", status=2)
    lines = events(run, "hasty", "perturbed:limit-changed")
    (fault,) = of(HarnessFaulted, lines)
    assert "perturbation limit-changed: change: its script perturbations/limit failed" in fault.problem
    assert of(TrialEnded, lines)[0].stop_reason == "task_fault"
    (line,) = RunFolder(run).index()
    assert (line.stop_reason, line.infrastructure, line.note) == ("task_fault", True, fault.problem)
    assert f"trial {line.trial}: task " in said
    assert fault.problem.rstrip(".") in said
    # The trial is given up; the others can still be run.
    ended = seatrial("run", str(file), "-o", str(run), status=1)
    assert "1 trials could not be completed" in ended
    assert outcome(run, "stop_reason") == {
        ("hasty", ""): "finished",
        ("hasty", "limit-changed"): "task_fault",
    }


def test_without_a_sandbox_changes_are_delivered_and_reads_cannot_be_awaited(tmp_path: Path) -> None:
    file = write_disturbed(tmp_path, STATE[1:3], ["hasty"])
    task = tmp_path / "task" / "task.toml"
    old, new = (
        '"placebo"\nwhen = { subgoal_verified = "noted" }',
        '"placebo"\nwhen = { file_read = "files:**" }',
    )
    task.write_text(task.read_text().replace(old, new))
    seatrial("run", str(file), "-o", str(tmp_path / "run"), "--unsafe-no-sandbox")
    lines = events(tmp_path / "run", "hasty", "perturbed:limit-changed")
    assert [fired.paths for fired in of(PerturbationFired, lines)] == [["workspace/config/limit"]]
    blind = events(tmp_path / "run", "hasty", "perturbed:nothing")
    assert [armed.observable for armed in of(PerturbationArmed, blind)] == [False]
    assert not of(PerturbationFired, blind)


def test_a_memory_that_lies_is_planted_and_read(tmp_path: Path) -> None:
    file = write_disturbed(tmp_path, ["baseline", "perturbed:lied"], ["recalling"], "memory = true")
    seatrial("run", str(file), "-o", str(tmp_path / "run"))
    lines = events(tmp_path / "run", "recalling", "perturbed:lied")
    assert [(m.use, m.source, m.polluted) for m in of(MemoryUsed, lines)] == [
        ("planted", "stale_fact", True), ("read", "", True),
    ]  # fmt: skip
    (fired,) = of(PerturbationFired, lines)
    assert fired.visible == {"hidden": True}
    assert fired.details == {"channel": "memory", "source": "stale_fact", "key": "limit"}
    assert not of(MemoryUsed, events(tmp_path / "run", "recalling", "baseline"))


def test_the_world_changes_while_the_agent_is_down(tmp_path: Path) -> None:
    head = '[interruption]\nsubgoal = "noted"\nwhile_down = "limit-changed"'
    file = write_disturbed(tmp_path, ["interrupted:subgoal_verified"], ["careful", "hasty"], head)
    seatrial("run", str(file), "-o", str(tmp_path / "run"))
    lines = events(tmp_path / "run", "careful", "interrupted:subgoal_verified")
    (armed,), (killed,) = of(PerturbationArmed, lines), of(AgentKilled, lines)
    (fired,), (resumed,) = of(PerturbationFired, lines), of(AgentResumed, lines)
    assert armed.trigger == {"while_down": True}
    assert killed.seq < fired.seq < resumed.seq
    assert fired.paths == resumed.changed == ["workspace/config/limit"]
    assert outcome(tmp_path / "run", "strict_success") == {
        ("careful", "subgoal_verified"): True, ("hasty", "subgoal_verified"): False,
    }  # fmt: skip


def test_an_arm_whose_channel_is_not_offered_is_refused(tmp_path: Path) -> None:
    file = write_disturbed(tmp_path, ["perturbed:lied"], ["hasty"])
    with pytest.raises(SpecError, match="a memory that is not offered"):
        load_experiment(file)
    file.write_text(file.read_text().replace("seed = 3", "seed = 3\nmemory = true"))
    assert open_run(load_experiment(file), tmp_path / "run").manifest().plan
