"""The report of disturbed trials: before and after, latency, recovery, chains, kills, compactions, causes."""

import csv
import json
from pathlib import Path

import pytest

from seatrial.records.trial import TrialRecord
from seatrial.report.build import build_report
from seatrial.report.causes import condition_lines, failure_lines
from seatrial.report.disturbance_section import disturbance_section
from seatrial.report.disturbances import disturbed_arms, flat_arm, strength_lines
from seatrial.report.interruptions import compaction_lines, contrasts, interruption_lines
from seatrial.report.tables import cells

FIRED = {
    "perturbation": "limits", "perturbation_kind": "state", "strength": "core", "delivered": True,
    "fired_step": 2, "oracle_cost": 2.0,
}  # fmt: skip
SEEN = {
    "detected": True,
    "observed_step": 5,
    "recovered": True,
    "safe_success": True,
    "terminal_class": "success",
}
MISSED = {"detected": False, "recovered": False, "safe_success": False, "terminal_class": "failure"}


def record(trial: str, arm: str = "baseline", task: str = "f/a", **more) -> TrialRecord:
    known = {"experiment": "e", "attempt": 1, "task_version": "1", "family": "f", "system": "s", "seed": 1}
    base = {"terminal_class": "success", "safe_success": True, "actions": 10, "repeat": 1}
    return TrialRecord(trial=trial, arm=arm, task=task, **{**known, **base, **more})


def arms(records):
    return disturbed_arms(cells(records, records), 7)


def paired(tasks: int, **disturbed) -> list[TrialRecord]:
    """One baseline and one disturbed trial a task."""
    names = [f"f/{number}" for number in range(tasks)]
    return [record(f"b-{name}", task=name) for name in names] + [
        record(f"d-{name}", "perturbed:limits", name, **{**FIRED, **disturbed}) for name in names
    ]


def test_every_denominator_is_there_and_what_was_not_delivered_stays_visible():
    records = [
        *(record(f"b-{i}", task=f"f/{i}") for i in range(4)),
        record("d-0", "perturbed:limits", "f/0", **FIRED, **SEEN),
        record("d-1", "perturbed:limits", "f/1", **{**FIRED, **MISSED}),
        record("d-2", "perturbed:limits", "f/2", **{**FIRED, "delivered": False, "fired_step": None}),
        record("d-3", "perturbed:limits", "f/3", **{**FIRED, "terminal_class": "infrastructure"}),
    ]
    (arm,) = arms(records)
    counts = arm.delivery
    assert (counts.planned, counts.valid, counts.delivered, counts.detected, counts.recovered) == (
        4,
        3,
        2,
        1,
        1,
    )
    # Not delivered, the third trial succeeded: it is in the drop as planned and not in the other.
    assert arm.drop.after.value == pytest.approx(2 / 3)
    assert arm.drop_delivered.after.value == pytest.approx(1 / 2)
    assert (arm.drop.drop.n_tasks, arm.drop_delivered.drop.n_tasks) == (3, 2)


def test_latency_is_censored_where_it_was_never_seen():
    records = paired(2, **MISSED)
    records[-1] = record("d-f/1", "perturbed:limits", "f/1", **FIRED, **SEEN)
    (arm,) = arms(records)
    assert (arm.latency.curve.places, arm.latency.curve.values) == ([3.0], [0.5])
    assert (arm.latency.curve.n_censored, arm.latency.miss_rate.value) == (1, 0.5)
    assert arm.latency.curve.watched_until == 8


def test_amplification_pairs_by_task_and_repeat_and_keeps_to_recovered_trials():
    records = paired(3, **SEEN, actions=16)
    records[-1] = record("d-f/2", "perturbed:limits", "f/2", **{**FIRED, **MISSED, "actions": 500})
    records.append(
        record("d-extra", "perturbed:limits", "f/0", **{**FIRED, **SEEN, "repeat": 9, "actions": 90})
    )
    (arm,) = arms(records)
    assert (arm.amplification.ratio.value, arm.amplification.extra.value) == (3.0, 6.0)
    assert (arm.amplification.pairs, arm.delivery.recovered) == (2, 3)
    assert arm.amplification.recovery_rate.value == pytest.approx(2 / 3)


def test_cost_beyond_the_partner_in_other_units():
    records = paired(2, **SEEN, elapsed_us=9_000_000, output_tokens=50)
    records[0].elapsed_us, records[1].elapsed_us = 4_000_000, 6_000_000
    (arm,) = arms(records)
    seconds = arm.extra[0]
    assert (seconds.measure, seconds.estimate.value, seconds.known) == ("elapsed_seconds", 4.0, 2)
    assert len(arm.extra) == 1, "tokens of the partners are unknown"


def test_a_placebo_has_a_drop_and_nothing_to_see():
    (arm,) = arms(paired(3, perturbation_kind="placebo", perturbation="calm"))
    assert (arm.kind, arm.strength, arm.drop.drop.value) == ("placebo", None, 0)
    assert (arm.latency, arm.amplification, arm.chain, arm.broke_at) == (None, None, [], {})


def test_where_there_is_nothing_to_see_or_to_recover_from_no_trial_is_counted_as_having_failed_to():
    (calm,) = arms(paired(3, perturbation_kind="placebo", perturbation="calm"))
    counts = calm.delivery
    assert (counts.delivered, counts.detected, counts.unknown_detected) == (3, None, None)
    assert (counts.recovered, counts.unknown_recovered, counts.fully_recovered) == (None, None, None)
    (mild,) = arms(paired(3, strength="cosmetic", detected=False, recovered=True))
    assert (mild.delivery.detected, mild.delivery.unknown_detected) == (0, 0)
    assert (mild.delivery.recovered, mild.delivery.unknown_fully) == (None, None)
    assert (mild.amplification, mild.costs, mild.chain, mild.broke_at) == (None, [], [], {})
    assert mild.latency.miss_rate.value == 1
    records = paired(3, strength="cosmetic", detected=True, recovered=True)
    lines = {line.arm: line for line in condition_lines(cells(records, records))}
    assert lines["perturbed:limits"].recovery.reached == 0


def test_the_means_of_the_parts_are_over_the_trials_in_which_they_add_up():
    whole = {"detect_actions": 3, "locate_actions": 2, "restore_actions": 0, "redo_actions": 1}
    records = paired(3, **SEEN, **whole, recovery_cost=6.0)
    records[-1] = record(
        "d-f/2", "perturbed:limits", "f/2", **FIRED, **SEEN, detect_actions=9, recovery_cost=0.0
    )
    (arm,) = arms(records)
    costs = {mean.measure: mean for mean in arm.costs}
    parts = [costs[name] for name in whole]
    assert [(mean.known, mean.of) for mean in parts] == [(2, 3)] * 4
    assert sum(mean.estimate.value for mean in parts) == 6
    assert (costs["recovery_cost"].known, costs["recovery_cost"].estimate.value) == (3, 4)


def test_a_placebo_has_no_strength_in_any_table_or_sentence():
    groups = cells(records := paired(2, perturbation_kind="placebo", perturbation="calm"), records)
    section = disturbance_section(groups, 7)
    assert [line.strength for line in section.strengths] == [None]
    (sentence,) = section.sentences()
    assert sentence.startswith("s under calm (placebo): delivered in 2 of 2 valid trials; safe success ")


def test_systems_of_which_the_same_is_to_be_said_share_a_sentence():
    records = [r for system in "abc" for r in paired(2, **(MISSED if system == "c" else {}))]
    for number, r in enumerate(records):
        r.system, r.trial = "abc"[number // 4], f"{number}"
    alike, other = disturbance_section(cells(records, records), 7).sentences()
    assert alike.startswith("a and b under limits (state, core), each: delivered in 2 of 2")
    assert other.startswith("c under limits (state, core): delivered in 2 of 2")


def test_all_arms_have_the_same_columns():
    (calm,) = arms(paired(3, perturbation_kind="placebo", perturbation="calm"))
    (loud,) = arms(paired(3, chain_broke_at="observed", chain_held=["visible"]))
    line = flat_arm(calm)
    assert list(line) == list(flat_arm(loud))
    assert (line["broke_at_observed"], flat_arm(loud)["broke_at_observed"]) == (None, 3)


def test_where_chains_broke():
    records = paired(3, chain_broke_at="observed", chain_held=["visible"])
    records[-1] = record("d-f/2", "perturbed:limits", "f/2", **FIRED, **SEEN, chain_broke_at="none",
                         chain_held=["visible", "observed", "repaired", "finished"])  # fmt: skip
    (arm,) = arms(records)
    assert arm.broke_at == {
        "visible": 0, "observed": 2, "understood": 0, "repaired": 0, "finished": 0, "none": 1, "unknown": 0,
    }  # fmt: skip
    assert [(link.reached, link.held) for link in arm.chain] == [(3, 3), (3, 1), (1, 0), (1, 1), (1, 1)]


def test_without_a_baseline_nothing_is_compared():
    (arm,) = arms([record("d", "perturbed:limits", **FIRED, **SEEN)])
    assert (arm.drop, arm.amplification.pairs) == (None, 0)


def test_strengths_pool_the_disturbances_that_share_one():
    records = paired(2, **MISSED)
    for name, strength in (("limits-b", "core"), ("comment", "cosmetic")):
        records += [
            record(f"{name}-{i}", f"perturbed:{name}", f"f/{i}", **{**FIRED, "strength": strength})
            for i in (0, 1)
        ]
    lines = strength_lines(cells(records, records), 7)
    assert [(line.strength, line.arms, line.drop.drop.value) for line in lines] == [
        ("core", ["perturbed:limits", "perturbed:limits-b"], 0.5), ("cosmetic", ["perturbed:comment"], 0.0),
    ]  # fmt: skip


def killed(memory: str, number: int, **more) -> TrialRecord:
    known = {"killed_step": 3, "resumed_step": 3, "interrupted_point": "before_effect", "memory_arm": memory}
    counts = {
        "repeated_effects": 0,
        "duplicate_effects": 0,
        "redone_actions": 1,
        "resumed_from_old_goal": False,
    }
    return record(
        f"{memory}-{number}", f"interrupted:before_effect:{memory}", f"f/{number}",
        **{**known, **counts, "delivered": True, "resume_correct_step": 5, **more},
    )  # fmt: skip


def test_kills_and_the_form_of_what_was_persisted():
    records = [record(f"b-{i}", task=f"f/{i}") for i in range(3)]
    records += [killed("structured", i) for i in range(3)]
    records += [
        killed("prose", i, safe_success=False, terminal_class="failure", repeated_effects=2,
               duplicate_effects=2, resume_correct_step=None, resumed_from_old_goal=i == 0)
        for i in range(3)
    ]  # fmt: skip
    groups = cells(records, records)
    structured, prose = interruption_lines(groups, 7)
    assert (structured.point, structured.memory) == ("before_effect", "structured")
    assert (structured.killed, structured.repeated) == (3, 0)
    assert (structured.first_correct.median.value, structured.drop.drop.value) == (2, 0)
    assert (prose.repeated, prose.duplicated, prose.old_goal, prose.drop.drop.value) == (6, 6, 1, 1)
    assert prose.first_correct.miss_rate.value == 1
    (found,) = contrasts(groups, 7)
    assert (found.a, found.b, found.difference.value) == (
        "interrupted:before_effect:structured", "interrupted:before_effect:prose", 1,
    )  # fmt: skip


def test_ways_of_compaction_and_their_three_contrasts():
    records = []
    for way, right in (("raw", True), ("gold", True), ("automatic", False), ("structured", True)):
        records += [
            record(f"{way}-{i}", f"compacted:{way}", f"f/{i}", safe_success=right, compactions=2,
                   delivered=True,
                   compacted_tokens=None if way == "raw" else 800,
                   needs_met=["external_id"], needs_missed=[] if right else ["constraint"])
            for i in range(3)
        ]  # fmt: skip
    groups = cells(records, records)
    lines = {line.arm: line for line in compaction_lines(groups, 7)}
    assert lines["compacted:automatic"].needs_missed == {"constraint": 3}
    assert (lines["compacted:raw"].needs_missed, lines["compacted:raw"].needs_met) == ({}, {"external_id": 3})
    assert [m.measure for m in lines["compacted:raw"].means] == ["compactions"]
    assert [(c.a, c.b, c.difference.value) for c in contrasts(groups, 7)] == [
        ("compacted:raw", "compacted:gold", 0), ("compacted:gold", "compacted:automatic", 1),
        ("compacted:structured", "compacted:automatic", 1),
    ]  # fmt: skip


def test_causes_have_their_own_denominators():
    chance = ["execution", "recovery", "infrastructure"]
    records = [
        record("a", cause_opportunities=chance),
        record("b", terminal_class="failure", first_cause="recovery", first_cause_confidence=0.7,
               secondary_causes=["execution"], cause_opportunities=chance),
        record("c", terminal_class="failure", first_cause="unknown", secondary_causes=[],
               cause_opportunities=["execution"]),
    ]  # fmt: skip
    lines = failure_lines(cells(records, records))
    assert [(x.cause, x.first, x.secondary, x.opportunities, x.unsuccessful) for x in lines] == [
        ("recovery", 1, 0, 2, 2), ("unknown", 1, 0, 3, 2), ("execution", 0, 1, 3, 2),
    ]  # fmt: skip


def test_a_condition_counts_only_where_those_before_it_held():
    records = [
        record("a", local_ability=True, own_breaks=0, verified_right=True),
        record("b", local_ability=True, own_breaks=2, verified_right=False),
        record("c", local_ability=False, own_breaks=0, verified_right=True),
        record(
            "d",
            local_ability=True,
            own_breaks=None,
            verified_right=True,
            **{**FIRED, **MISSED, "detected": True},
        ),
    ]
    (line,) = condition_lines(cells(records, records))
    assert [(x.link, x.reached, x.held, x.unknown) for x in line.chain] == [
        ("local ability", 4, 3, 0), ("state kept", 3, 1, 1), ("verified right", 1, 1, 0),
    ]  # fmt: skip
    assert (line.recovery.reached, line.recovery.held, line.recovery.broke) == (1, 0, 1)


def test_sentences_name_the_floor_and_the_trials_that_were_not_disturbed():
    records = paired(10, **MISSED)
    for number in range(9):
        records[number] = record(
            f"b-{number}", task=f"f/{number}", safe_success=False, terminal_class="failure"
        )
    records[-1] = record("d-f/9", "perturbed:limits", "f/9", **{**FIRED, **MISSED, "delivered": False})
    (sentence,) = disturbance_section(cells(records, records), 7).sentences()
    assert "delivered in 9 of 10 valid trials" in sentence
    assert "near the floor" in sentence


def test_the_report_of_a_disturbed_run(disturbed_run: Path, tmp_path: Path):
    data = build_report(disturbed_run, tmp_path / "out")
    careful_arm, hasty = data["disturbances"]
    assert careful_arm["latency"]["curve"]["places"] == [3.0]
    assert careful_arm["delivery"]["recovered"] == 1
    assert (hasty["delivery"]["delivered"], hasty["delivery"]["valid"]) == (1, 2)
    assert hasty["broke_at"]["observed"] == 1
    assert {line["cause"] for line in data["failures"]} == {"state", "verification"}
    page = (tmp_path / "out" / "index.html").read_text()
    assert '<section id="disturbances">' in page and "1 of 2" in page
    assert page.index('id="results"') < page.index('id="disturbances"') < page.index('id="comparisons"')
    assert page.index("Perturbation limits") < page.index('id="results"'), "before any number"
    assert page.count('<figure class="coloured">') == 3
    assert {p.name for p in (tmp_path / "out" / "figures").glob("disturbances-*.svg")} == {
        "disturbances-before-after.svg", "disturbances-latency.svg", "disturbances-chain.svg",
    }  # fmt: skip
    rows = list(csv.DictReader((tmp_path / "out" / "tables" / "disturbances.csv").read_text().splitlines()))
    assert [(row["system"], row["delivered"], row["broke_at_observed"]) for row in rows] == [
        ("careful", "1", "0"), ("hasty", "1", "1"),
    ]  # fmt: skip
    assert json.loads((tmp_path / "out" / "report.json").read_text())["disturbances"] == data["disturbances"]


def test_without_a_disturbed_trial_the_page_has_no_such_section(run: Path, tmp_path: Path):
    data = build_report(run, tmp_path / "out")
    assert (data["disturbances"], data["interruptions"], data["contrasts"]) == ([], [], [])
    assert 'id="disturbances"' not in (tmp_path / "out" / "index.html").read_text()
    assert not list((tmp_path / "out" / "figures").glob("disturbances-*"))
