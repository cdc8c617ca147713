"""Trials in which a person edited a call or acted are pooled with nothing and compared with nobody (C6)."""

import csv
import json
import shutil
from pathlib import Path

import msgspec
import pytest

from seatrial.evidence.read import AttemptEvidence, read_run
from seatrial.records.people import told_apart
from seatrial.report.build import build_report
from seatrial.report.cases import picked
from seatrial.report.disturbances import disturbed_arms
from seatrial.report.headline import headline_of
from seatrial.report.interruptions import contrasts
from seatrial.report.people import SELECTED, people_limits
from seatrial.report.tables import cells
from tests.report.runs import RunMaker, all_pass, cell
from tests.report.test_disturbances import FIRED, SEEN, record
from tests.report.with_people import run_with_people
from tests.trial.test_trial import seatrial

JOINT = "leaning (human-machine)"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_with_people(tmp_path_factory.mktemp("people"))


@pytest.fixture(scope="module")
def data(run: Path) -> dict:
    return build_report(run, run.parent / "report")


def row(data: dict, system: str, measure: str, stratum: str = "all") -> dict:
    (found,) = (
        r
        for r in data["main_table"]
        if (r["system"], r["measure"], r["stratum"]) == (system, measure, stratum)
    )
    return found


def test_each_population_has_its_own_numerators_and_denominators(data: dict) -> None:
    rows = {r["system"]: r for r in data["headline"]["rows"] if r["stratum"] == "all"}
    assert list(rows) == ["leaning", "alone", JOINT]
    counts = {name: (r["safe"]["events"], r["valid"], r["trials"], r["tasks"]) for name, r in rows.items()}
    assert counts == {"leaning": (2, 2, 2, 2), "alone": (3, 4, 4, 4), JOINT: (2, 2, 2, 2)}
    for measure in ("strict_success", "actions", "elapsed_seconds"):
        own, joint = (row(data, name, measure)["denominators"] for name in ("leaning", JOINT))
        assert (own["valid"], joint["valid"], own["attempts"]) == (2, 2, 2)
    assert {line["system"]: line["trials"] for line in data["calls"]} == {"leaning": 2, "alone": 4, JOINT: 2}
    # The rows of single trials keep the name of their system, and say whose they are.
    joint = [t["trial"] for t in data["trials"] if t["human_machine"]]
    assert joint == ["pay-four.leaning.baseline.1", "pay-three.leaning.baseline.1"]
    assert {t["system"] for t in data["trials"]} == {"leaning", "alone"}


def test_what_they_cost_stays_with_them(data: dict, run: Path) -> None:
    spent = {t["trial"]: t["actions"] for t in data["trials"] if t["system"] == "leaning"}
    by_hand = {t["trial"] for t in data["trials"] if t["human_machine"]}
    own = sum(n for trial, n in spent.items() if trial not in by_hand)
    assert row(data, "leaning", "actions_per_success")["estimate"]["value"] == own / 2
    assert row(data, JOINT, "actions_per_success")["denominators"]["events"] == 2


def test_they_are_compared_with_nobody_and_the_tasks_that_leave_are_named(data: dict) -> None:
    assert {(c["a"], c["b"]) for c in data["comparisons"]} == {("leaning", "alone")}
    (primary,) = (c for c in data["comparisons"] if c["role"] == "primary")
    # Pooled, leaning would win pay/four and lose nothing.
    assert (primary["wins"], primary["losses"], primary["ties"]) == (0, 0, 2)
    assert primary["estimate"]["n_tasks"] == 2
    for task in ("pay/four", "pay/three"):
        assert f"{task} is left out: no valid trial of leaning." in primary["estimate"]["notes"]


def test_the_limits_say_what_left_and_what_that_leaves_open(data: dict) -> None:
    said = (
        "leaning (baseline): in 2 of 4 trials a person edited a call or acted. They stand apart as "
        f"{JOINT}, are in no number of leaning and are compared with nobody. Had it been left alone in all, "
        "its safe success would be between 50.0 % and 100.0 %, as a mean over tasks."
    )
    assert said in data["limits"] and SELECTED in data["limits"]
    caveats = {r["system"]: r["caveats"] for r in data["headline"]["rows"] if r["stratum"] == "all"}
    assert said in caveats[JOINT] and caveats["leaning"] == caveats["alone"] == []


def test_tiers_of_help_are_told_and_divided(data: dict) -> None:
    text = " ".join(data["limits"])
    assert "alone (baseline), the most help that people gave in a valid trial: approval 1, none 3." in text
    assert (
        "leaning (baseline), the most help that people gave in a valid trial: approval 2. It is no auto"
        in text
    )
    allowed, unhelped = (row(data, "alone", "safe_success", f"help: {tier}") for tier in ("approval", "none"))
    assert (allowed["denominators"]["events"], allowed["denominators"]["valid"]) == (1, 1)
    assert (unhelped["denominators"]["events"], unhelped["denominators"]["valid"]) == (2, 3)


def test_the_page_and_the_tables_show_both(data: dict, run: Path) -> None:
    out = run.parent / "report"
    page = (out / "index.html").read_text()
    results = page[page.index('<section id="results">') : page.index('<section id="comparisons">')]
    assert f'<th scope="row">{JOINT}</th>' in results
    assert "so these parts are not to be compared with each other" in results
    with (out / "tables" / "main.csv").open() as file:
        systems = {line["system"] for line in csv.DictReader(file)}
    assert systems == {"leaning", "alone", JOINT}
    shown = seatrial("show", str(run))
    assert JOINT in shown and "in 2 of 4 trials a person edited" in " ".join(shown.split())


def test_a_fork_in_which_a_person_acts_is_in_no_rate_and_no_pair(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    seatrial("fork", str(copy), "pay-four.leaning.baseline.1@0", "-n", "1", "--system", "alone")
    data = build_report(copy, tmp_path / "report")
    (group,) = data["forks"]["groups"]
    assert {line["candidate"]: line["valid"] for line in group["lines"]} == {
        "control": 0,
        "component=alone": 1,
    }
    assert all(effect["estimate"]["value"] is None for effect in group["effects"])
    notes = " ".join(group["notes"])
    assert "control: in 1 fork a person edited a call or acted." in notes
    assert "In pay-four.leaning.baseline.1 a person edited a call or acted: this state may be" in notes
    assert len(data["trials"]) == 10
    json.dumps(data)


def sorted_out(*records):
    return cells(*told_apart(records, records))


def test_a_disturbance_is_paired_with_the_baseline_of_the_system_alone():
    names = [f"f/{n}" for n in range(4)]
    helped = {"human_machine": True, "human_tier": "takeover"}
    alone = {"human_machine": False, "human_tier": "none"}
    baseline = [record(f"b-{t}", task=t, **(helped if t == "f/3" else alone)) for t in names]
    # Where a person took over it was recovered, and nowhere else.
    lost = {**FIRED, **SEEN, "recovered": False, "safe_success": False, **alone}
    disturbed = [record(f"d-{t}", "perturbed:limits", t, **lost) for t in names[:2]]
    disturbed += [record(f"d-{t}", "perturbed:limits", t, **{**FIRED, **SEEN, **helped}) for t in names[2:]]
    own, joint = disturbed_arms(sorted_out(*baseline, *disturbed), 7)
    assert (own.system, own.delivery.planned, own.delivery.recovered) == ("s", 2, 0)
    assert (own.drop.drop.value, own.drop.drop.n_tasks) == (1.0, 2)
    assert (joint.system, joint.delivery.planned, joint.delivery.recovered) == ("s (human-machine)", 2, 2)
    assert joint.drop is None


def test_arms_are_contrasted_without_people():
    names = [f"f/{n}" for n in range(3)]
    records = [
        record(
            f"{arm}-{t}", f"compacted:{arm}", t, human_machine=t == "f/2", human_tier="none", compactions=1,
            safe_success=arm == "raw" or t == "f/2",
        )
        for arm in ("raw", "gold")
        for t in names
    ]  # fmt: skip
    (found,) = contrasts(sorted_out(*records), 7)
    assert (found.system, found.difference.value, found.difference.n_tasks) == ("s", 1.0, 2)


def test_no_trial_of_ones_own_and_trials_of_which_it_is_unknown_are_told():
    (first, *_) = people_limits(sorted_out(record("1", human_machine=True, human_tier="takeover")))
    assert first.startswith(
        "s (baseline): in 1 of 1 trial a person edited a call or acted. It stands apart as"
    )
    assert first.endswith("No valid trial of s is its own.")
    unsaid = people_limits(
        sorted_out(
            record("1", human_machine=False, human_tier="none", safe_success=False),
            record("2", human_machine=None),
        )
    )
    assert unsaid[0].startswith(
        "s (baseline): of 1 of 2 trials nobody says whether a person edited a call or acted. It stands apart "
        "as s (human-machine unknown), is in no number of s"
    )
    assert "between 0.0 % and 50.0 %" in unsaid[0]
    (pooled,) = people_limits(sorted_out(record("1"), record("2")))
    assert pooled.startswith("Of 2 valid trials of s nobody says whether a person edited a call or acted.")


def test_without_people_nothing_is_said_and_no_stratum_is_made():
    calm = {"human_machine": False, "human_tier": "none"}
    never = record("3", terminal_class="infrastructure")
    found = sorted_out(record("1", **calm), record("2", **calm), never)
    assert people_limits(found) == []
    assert [(one.system, one.stratum, len(one.records)) for one in found] == [("s", "all", 3)]


def test_the_attempts_of_a_trial_are_in_the_stratum_of_its_help():
    lost = record("1", terminal_class="infrastructure", human_tier=None)
    again = record("1", attempt=2, human_machine=False, human_tier="approval")
    other = record("2", human_machine=False, human_tier="none")
    found = {one.stratum: one for one in cells(*told_apart([again, other], [lost, again, other]))}
    assert [r.attempt for r in found["help: approval"].every] == [1, 2]
    assert list(found) == ["all", "help: approval", "help: none"]


def test_a_persons_own_session_is_the_persons(tmp_path: Path) -> None:
    made = RunMaker(tmp_path / "run", [cell("t-1", system="person")], systems={"person": {"agent": "human"}})
    made.trial(cell("t-1", system="person"), all_pass())
    evidence = read_run(made.folder)
    for attempt in evidence.attempts:
        attempt.record.human_machine, attempt.record.human_tier = True, "takeover"
    assert [r.system for r in headline_of(evidence).rows] == ["person"]


def test_cases_are_picked_of_each_population(run: Path) -> None:
    counted: list[AttemptEvidence] = read_run(run).counted
    found = picked(counted)
    assert "ordinary success" in found["pay-four.leaning.baseline.1"]
    assert "ordinary success" in found["pay-one.leaning.baseline.1"]
    msgspec.json.encode(found)
