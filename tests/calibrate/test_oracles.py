"""Real trials of recoveries: what each costs, which ones do not recover, what never comes about."""

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from seatrial.calibrate.freeze import freeze_suite
from seatrial.calibrate.oracle_record import DisturbedEnd, Oracle, oracle_contradiction, weighed
from seatrial.calibrate.oracles import check_recoveries
from seatrial.calibrate.record import Calibration, read_calibration
from seatrial.errors import SpecError
from seatrial.spec.loading import load_task
from tests.calibrate.test_calibrate import calibrate
from tests.trial.disturbed import FIRST, write_disturbed

TOTAL = "echo $(( 2 * $(cat config/limit) )) > total"
TRIPLE = "echo $(( 3 * $(cat config/limit) )) > total"
RECOVERIES = {
    "limit-changed": [FIRST, "true", "cat config/limit", TOTAL],
    "tripled": [FIRST, TRIPLE],
    "half-done": [FIRST, "cat config/limit", TOTAL, "cat total"],
}
GIVING_UP = 'tool = "give_up"\nreason = "the new instruction contradicts the first"'


def script(commands: list[str], end: str = 'tool = "finish"') -> str:
    steps = "".join(f"[[step]]\ntool = \"shell\"\ncommand = '''{command}'''\n" for command in commands)
    return f"{steps}[[step]]\n{end}\n"


def write_task(folder: Path) -> Path:
    """The disturbed task with its recoveries; nothing of it is wrong."""
    write_disturbed(folder, ["baseline"], ["careful"])
    task = folder / "task"
    for name in ("careful", "hasty", "recalling"):
        (task / "solutions" / f"{name}.toml").unlink()
    text = (task / "task.toml").read_text()
    begin, end = text.index('[[perturbation]]\nid = "never"'), text.index('[[perturbation]]\nid = "tripled"')
    (task / "task.toml").write_text(text[:begin] + text[end:])
    for name, commands in RECOVERIES.items():
        (task / "solutions" / f"recover-{name}.toml").write_text(script(commands))
    (task / "solutions" / "recover-contradicted.toml").write_text(script([FIRST], GIVING_UP))
    return task


def edit(task: Path, old: str, new: str) -> None:
    text = (task / "task.toml").read_text()
    assert old in text
    (task / "task.toml").write_text(text.replace(old, new, 1))


def only(task: Path, *kept: str) -> None:
    """Leave a task these perturbations, and no solution but the reference: fewer trials show as much."""
    head, *tables = (task / "task.toml").read_text().split("[[perturbation]]\n")
    names = [table.split('"')[1] for table in tables]
    left = [table for name, table in zip(names, tables, strict=True) if name in kept]
    (task / "task.toml").write_text("[[perturbation]]\n".join([head, *left]))
    for path in (task / "solutions").iterdir():
        if path.stem not in ("reference", *(f"recover-{name}" for name in kept)):
            path.unlink()


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    task = write_task(tmp_path_factory.mktemp("oracles"))
    status, said = calibrate(str(task))
    assert status == 0, said
    assert "right  perturbation limit-changed: costs 1 actions, 0 approvals beyond the reference\n" in said
    assert "right  perturbation tripled: costs -1 actions, 0 approvals beyond the reference\n" in said
    assert "half-done: costs 1 actions, 0 approvals beyond the reference; the task does not say so" in said
    assert "right  perturbation lied: comes about; what getting over it costs is unknown" in said
    return task


@pytest.fixture
def task(calibrated: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(calibrated, tmp_path / "task"))


def oracles_of(task: Path) -> dict[str, Oracle]:
    found = read_calibration(task)
    assert found is not None and found.oracles is not None
    return {oracle.perturbation: oracle for oracle in found.oracles}


def test_what_a_recovery_takes_beyond_the_reference_is_measured_and_kept(calibrated: Path) -> None:
    found = oracles_of(calibrated)
    costs = {name: oracle.cost and oracle.cost["actions"] for name, oracle in found.items()}
    assert costs == {
        "limit-changed": 1, "nothing": 0, "tripled": -1, "contradicted": -2, "lied": None, "half-done": 1,
    }  # fmt: skip
    assert all(end.delivered for oracle in found.values() for end in oracle.ends)
    assert [end.recovered for end in found["contradicted"].ends] == [True, True]
    assert found["limit-changed"].base == [{"actions": 4, "approvals": 0}] * 2
    assert found["lied"].script == "reference"


def test_a_suite_takes_oracles_as_they_were_measured_and_no_others(task: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.suite.toml"
    freeze_suite([load_task(task)], out)
    found = read_calibration(task)
    assert found is not None and found.oracles is not None
    kept = (task / "calibration.json").read_bytes()

    def claimed(oracles: list[Oracle] | None) -> None:
        (task / "calibration.json").write_bytes(
            msgspec.json.encode(msgspec.structs.replace(found, oracles=oracles))
        )

    claimed([msgspec.structs.replace(found.oracles[0], cost={"actions": 7, "approvals": 0})])
    with pytest.raises(SpecError, match=r"oracles\[0\].*limit-changed: says it costs .*7.* it is .*1"):
        freeze_suite([load_task(task)], out)
    for oracles in (None, found.oracles[1:]):
        claimed(oracles)
        with pytest.raises(SpecError, match="says nothing of the perturbation 'limit-changed'"):
            freeze_suite([load_task(task)], out)
    other = weighed(msgspec.structs.replace(found.oracles[0], declared={}))
    claimed([other, *found.oracles[1:]])
    with pytest.raises(SpecError, match=r"limit-changed.*declared \{\}; by the task it is \{'actions': 1\}"):
        freeze_suite([load_task(task)], out)
    (task / "calibration.json").write_bytes(kept)
    freeze_suite([load_task(task)], out)


def test_wrong_oracles_are_bad_input_and_each_is_named_with_its_script(tmp_path: Path) -> None:
    task = write_task(tmp_path)
    only(task, "limit-changed", "half-done")
    edit(task, "oracle = { actions = 1 }", "oracle = { actions = 3 }")
    (task / "solutions" / "recover-half-done.toml").write_text(script([FIRST, "true", "true", "true"]))
    never = '[[perturbation]]\nid = "never"\nkind = "state"\naffects = ["total"]\n'
    never += 'when = { action = { tool = "read_file" } }\nchange = { delete = "files:config/limit" }\n'
    edit(task, '[[perturbation]]\nid = "half-done"', f'{never}[[perturbation]]\nid = "half-done"')
    status, said = calibrate(str(task), "--rounds", "2")
    assert status == 2, said
    problem = (
        "'limit-changed' is declared to cost 3 actions, but solutions/recover-limit-changed.toml takes 1 "
        "more than solutions/reference.toml"
    )
    assert f"task.toml: perturbation[0]: {problem}" in said
    found = oracles_of(task)
    assert {name for name, oracle in found.items() if oracle.problem} == {
        "limit-changed", "half-done", "never",
    }  # fmt: skip
    assert found["never"].problem == "never came about when solutions/reference.toml was played"
    lost = str(found["half-done"].problem)
    assert "WRONG  perturbation half-done: " in said and "recover-half-done.toml" in lost
    whole = read_calibration(task)
    assert whole is not None and not whole.passed


@pytest.mark.parametrize(
    ("old", "new", "added", "message"),
    [
        ("", "", "recover-limit-chnged", r"no perturbation .limit-chnged.*limit-changed"),
        ("", "", "recover-nothing", "'nothing' is a placebo: there is nothing to recover from"),
        ('id = "lied"', 'id = "lied"\noracle = { actions = 2 }', "", "there is no solutions/recover-lied"),
    ],
)
def test_what_needs_no_trial_is_refused_before_one(
    task: Path, old: str, new: str, added: str, message: str
) -> None:
    edit(task, old, new)
    if added:
        (task / "solutions" / f"{added}.toml").write_text(script(["true"]))
    with pytest.raises(SpecError, match=message):
        check_recoveries(load_task(task))
    status, said = calibrate(str(task), "--json")
    assert status == 2 and not said.startswith("{")


def test_a_script_cannot_be_disturbed_at_a_checkpoint(task: Path) -> None:
    only(task, "lied")
    place = 'id = "lied"\nkind = "state"\nwhen = '
    edit(task, f'{place}{{ subgoal_verified = "noted" }}', f"{place}{{ checkpoint = true }}")
    status, said = calibrate(str(task), "--json")
    assert status == 0, said
    found = msgspec.convert(json.loads(said)["calibrations"][0], Calibration)
    lied = next(oracle for oracle in found.oracles or () if oracle.perturbation == "lied")
    assert (lied.unplayed, lied.ends, lied.cost) == (
        "it waits for a checkpoint, and a script has none",
        [],
        None,
    )


def entry(taken: list[int], **changed: Any) -> Oracle:
    """A recovery that took so many actions, trial by trial; the reference takes 5."""
    ends = [
        DisturbedEnd(
            terminal_class="success", delivered=True, recovered=True, costs={"actions": n, "approvals": 0}
        )
        for n in taken
    ]
    base = [{"actions": 5, "approvals": 0}] * len(taken)
    found = Oracle(perturbation="x", kind="state", script="recover-x", base=base, ends=ends)
    return weighed(msgspec.structs.replace(found, **changed))


def test_a_placebo_must_cost_nothing() -> None:
    assert entry([5, 5], kind="placebo", script="reference").problem is None
    assert entry([6, 6], kind="placebo", script="reference").problem == (
        "changes nothing, so it must cost 0 actions, but solutions/reference.toml takes 1 more than "
        "solutions/reference.toml"
    )


def test_a_cost_that_is_another_in_each_trial_is_unknown_and_no_oracle() -> None:
    found = entry([6, 7], declared={"actions": 1})
    assert found.cost == {"actions": None, "approvals": 0}
    assert found.problem is not None and "was not the same in each trial" in found.problem
    assert entry([6, 7]).problem is None


@pytest.mark.parametrize("recovered", [False, None])
def test_success_without_recovery_is_not_enough(recovered: bool | None) -> None:
    found = entry([6])
    ends = [msgspec.structs.replace(found.ends[0], recovered=recovered)]
    again = weighed(msgspec.structs.replace(found, ends=ends))
    word = "no" if recovered is False else "unknown"
    assert again.problem == f"is not got over by solutions/recover-x.toml: recovered is {word} at its end"
    assert weighed(msgspec.structs.replace(again, overcome=False)).problem is None


def test_an_entry_must_follow_from_its_trials() -> None:
    found = entry([6, 6], declared={"actions": 1})
    assert oracle_contradiction(found) is None
    assert oracle_contradiction(entry([], declared={})) == "holds no trial"
    hidden = msgspec.structs.replace(entry([7, 7], declared={"actions": 1}), problem=None)
    assert "says its problem is None" in str(oracle_contradiction(hidden))
