"""One disturbance from its firing to the end: seen, repaired, overcome, and at what cost (D1–D7, D14, E9)."""

import msgspec
import pytest

from seatrial.journal.events import EffectRecorded, PerturbationFired
from seatrial.measure.mechanism import measure_mechanism
from seatrial.spec.task import Perturbation
from tests.measure.disturbances import BASE, BEFORE, BLIND, CAREFUL, NEW, TASK, begun, blind, careful, make
from tests.measure.story import Story, table


def test_a_careful_agent_step_by_step():
    found = careful().record(TASK, table(TASK, CAREFUL))
    assert (found.perturbation, found.perturbation_kind, found.strength) == ("limits", "state", "core")
    assert (found.delivered, found.firings, found.fired_step, found.oracle_cost) == (True, 1, 2, 3.0)
    assert (found.detected, found.observed_step) == (True, 5)
    assert (found.recovered, found.repaired_step, found.recovered_step) == (True, 7, 7)
    assert (found.chain_broke_at, found.chain_held) == (
        "none",
        ["visible", "observed", "repaired", "finished"],
    )
    assert (found.first_correct_step, found.strict_success) == (7, True)


def test_the_four_parts_of_the_cost_add_up_to_the_whole():
    found = careful().record(TASK, table(TASK, CAREFUL))
    parts = (found.detect_actions, found.locate_actions, found.restore_actions, found.redo_actions)
    assert parts == (3, 2, 0, 0)
    assert sum(parts) == found.recovery_cost == 5


def test_work_redone_after_the_last_repair_of_what_stood_is_its_own_part():
    task = make(subgoal=[
        *[s for s in TASK.subgoal if s.id != "totals"],
        TASK.subgoal[1].__class__(id="totals", verifier="v", reads=["files:totals.csv", "files:sum.txt"]),
    ])  # fmt: skip
    story = begun().disturb("limits", changes={"config/limits.toml": NEW})
    story.look("config/limits.toml").write("totals.csv", "25", "clean.csv").look("totals.csv")
    story.write("sum.txt", "25", "totals.csv").write("letter.txt", "x").finish().end()
    moves = {1: {"clean": "pass"}, 6: {"totals": "pass"}, 7: {"letter": "pass"}}
    found = story.record(task, table(task, moves))
    parts = (found.detect_actions, found.locate_actions, found.restore_actions, found.redo_actions)
    assert (parts, found.recovery_cost) == ((1, 1, 0, 2), 4)


def test_an_agent_that_never_looks_is_watched_to_the_end_and_breaks_at_observed():
    found = blind().record(TASK, table(TASK, BLIND))
    assert (found.detected, found.observed_step, found.detect_actions) == (False, None, None)
    assert (found.recovered, found.recovered_step, found.recovery_cost) == (False, None, None)
    assert (found.chain_broke_at, found.chain_held) == ("observed", ["visible"])
    assert (found.first_cause, found.first_cause_step) == ("state", 2)
    assert found.secondary_causes == ["verification"]


@pytest.mark.parametrize(("finder", "broke"), [(careful, "none"), (blind, "visible")])
def test_a_change_that_no_reading_shows_was_visible_to_who_ran_into_it(finder, broke):
    story = finder()
    for event in story.events:
        if isinstance(event, PerturbationFired):
            event.visible["hidden"] = True
    assert story.record(TASK, table(TASK, CAREFUL if finder is careful else BLIND)).chain_broke_at == broke


def test_wrong_actions_and_what_they_polluted():
    found = careful().record(TASK, table(TASK, CAREFUL))
    # Step 4 wrote the totals on the old limits; the letter of step 8 rests on step 7, not on it.
    assert (found.wrong_actions_after, found.polluted_products, found.polluted_left) == (1, 1, 0)
    found = blind().record(TASK, table(TASK, BLIND))
    assert (found.wrong_actions_after, found.polluted_products, found.polluted_left) == (1, 2, 2)


def test_a_path_put_back_to_an_earlier_version_is_rollback():
    story = begun().disturb("limits", changes={"config/limits.toml": NEW})
    story.write("totals.csv", "11").look("config/limits.toml").write("totals.csv", "10").finish().end()
    found = story.record(TASK, table(TASK, {**BEFORE, 2: {"totals": "fail"}}))
    assert found.rollback_paths == 1
    assert careful().record(TASK, table(TASK, CAREFUL)).rollback_paths == 0


def test_what_was_shown_counts_as_seen_where_reads_are_not():
    story = begun().disturb("limits", changes={"config/limits.toml": NEW})
    story.act(reads=None, shows="nothing here").act(
        reads=None, shows="limits: max = 25 (of 30)"
    ).finish().end()
    found = story.record(TASK, table(TASK, {**BEFORE, 2: {"totals": "fail"}}))
    assert (found.detected, found.observed_step) == (True, 4)
    assert found.h_dep is None and found.polluted_products == 0


def test_a_file_taken_away_leaves_no_line_to_look_for():
    story = begun().disturb("limits", changes={"config/limits.toml": None})
    story.act(reads=None, shows="no such file").finish().end()
    found = story.record(TASK, table(TASK, {**BEFORE, 2: {"totals": "fail"}}))
    assert (found.detected, found.observed_step, found.chain_broke_at) == (None, None, None)


def test_a_trigger_that_never_fires_is_not_delivered():
    found = begun().finish().end().record(TASK, table(TASK, BEFORE))
    assert (found.perturbation, found.delivered, found.firings, found.fired_step) == (
        "limits",
        False,
        0,
        None,
    )
    assert (found.detected, found.recovered, found.chain_broke_at) == (None, None, None)


def test_a_placebo_is_delivered_and_there_is_nothing_to_see_or_mend():
    story = begun("perturbed:calm").disturb("calm", "placebo").write("letter.txt", "x").finish().end()
    found = story.record(TASK, table(TASK, {**BEFORE, 3: {"letter": "pass"}}))
    assert (found.perturbation_kind, found.delivered, found.fired_step) == ("placebo", True, 2)
    assert (found.detected, found.recovered, found.wrong_actions_after) == (None, None, None)
    assert (found.kept_work, found.undone_work, found.chain_broke_at) == (2, 0, None)


def test_a_baseline_has_nothing_of_a_disturbance():
    story = Story(BASE).write("clean.csv", "1\n2\n", "raw.csv").finish().end()
    found = story.record(TASK, table(TASK, {1: {"clean": "pass"}}))
    assert (found.perturbation, found.delivered, found.detected, found.kept_work) == (None,) * 4


@pytest.mark.parametrize("audit", ["different", "not run"])
def test_a_state_that_is_not_trusted_says_when_it_fired_and_nothing_more(audit: str):
    story = careful()
    story.events[-1].audit = audit
    found = story.record(TASK, table(TASK, CAREFUL))
    assert (found.delivered, found.fired_step) == (True, 2)
    assert (found.detected, found.recovered, found.wrong_actions_after, found.kept_work) == (None,) * 4


def test_a_change_made_before_an_action_runs_can_be_seen_by_that_action():
    story = begun()
    changes = story.firing("limits", changes={"config/limits.toml": NEW}, step=3)
    story.act(reads=["config/limits.toml"], during=changes).finish().end()
    found = story.record(TASK, table(TASK, {**BEFORE, 3: {"totals": "fail"}}))
    assert (found.fired_step, found.observed_step, found.detect_actions) == (3, 3, 0)


def test_a_disturbed_answer_is_seen_at_once_only_when_it_says_that_something_went_wrong():
    def told(outcome: str):
        story = begun("perturbed:cut")
        story.act(outcome=outcome, during=story.firing("cut", "observation", step=3)).finish().end()
        return story.record(TASK, table(TASK, BEFORE))

    assert (told("failed").detected, told("failed").observed_step) == (True, 3)
    assert told("ok").detected is None


def test_a_fault_that_never_bit_costs_nothing():
    story = begun().disturb("limits", changes={"config/limits.toml": NEW})
    story.look("config/limits.toml").write("letter.txt", "x").finish().end()
    found = story.record(TASK, table(TASK, {**BEFORE, 4: {"letter": "pass"}}))
    assert (found.recovered, found.repaired_step, found.recovered_step, found.recovery_cost) == (
        True,
        None,
        2,
        0,
    )
    # It was over before it was seen, so that no part of its cost is one of finding it.
    assert (found.observed_step, found.detect_actions, found.redo_actions) == (3, None, None)


def test_leaving_alone_what_is_cosmetic_is_no_damage():
    task = msgspec.structs.replace(
        TASK, perturbation=[msgspec.structs.replace(p, strength="cosmetic") for p in TASK.perturbation]
    )
    found = blind().record(task, table(task, BLIND))
    assert (found.delivered, found.detected, found.rollback_paths) == (True, False, 0)
    assert (found.wrong_actions_after, found.polluted_products, found.polluted_left) == (None,) * 3
    assert (found.chain_broke_at, found.chain_held) == (None, None)


def test_earlier_work_that_the_disturbance_spared_must_still_stand():
    story = begun().disturb("limits", changes={"config/limits.toml": NEW})
    story.look("config/limits.toml").write("totals.csv", "25").write("clean.csv", "broken").finish().end()
    moves = {**BEFORE, 2: {"totals": "fail"}, 4: {"totals": "pass"}, 5: {"clean": "fail"}}
    found = story.record(TASK, table(TASK, moves))
    assert (found.recovered, found.kept_work, found.undone_work, found.full_recovery) == (True, 0, 1, False)
    assert (found.own_breaks, found.local_ability) == (1, False)


def test_recovery_declared_by_a_file_and_its_digest():
    spec = Perturbation(
        id="limits", kind="state", when={}, recovered_when={
            "files": "files:config/limits.toml", "digest": Story().entry("x", "max = 10\nmin = 1\n").digest,
        },
    )  # fmt: skip
    task = make()
    task.perturbation[:] = [spec]
    story = begun().disturb("limits", changes={"config/limits.toml": NEW}).look("raw.csv")
    story.write("config/limits.toml", "max = 10\nmin = 1\n", "config/limits.toml").finish().end()
    found = story.record(task, table(task, BEFORE))
    assert (found.recovered, found.repaired_step, found.recovered_step) == (True, 4, 4)


@pytest.mark.parametrize(
    ("links", "broke", "held"),
    [
        ([True, True, True, True, True], "none", 5),
        ([False, False, None, False, False], "visible", 0),
        ([True, True, False, False, False], "understood", 2),
        ([True, True, None, False, False], "repaired", 2),
        ([True, True, None, True, False], "finished", 3),
        ([True, None, None, True, True], None, 3),
        ([True, False, None, True, True], "observed", 3),
    ],
)
def test_the_first_link_that_broke(links, broke, held):
    names = ("visible", "observed", "understood", "repaired", "finished")
    found = measure_mechanism(dict(zip(names, links, strict=True)))
    assert (found.chain_broke_at, len(found.chain_held)) == (broke, held)


def midway(shows: str = "") -> Story:
    """A command reads the limits and writes the totals before they change under it, and a note after."""
    story = begun()
    story.step += 1
    first = EffectRecorded(actor="agent", pre="state-2", post="a", changes=[story.entry("totals.csv", "11")])
    during = [first, *story.firing("limits", changes={"config/limits.toml": NEW})]
    story.step -= 1
    writes = {"totals.csv": "11", "note.txt": "n"}
    return story.act(reads=["config/limits.toml", "totals.csv"], writes=writes, shows=shows, during=during)


def test_what_a_command_did_before_the_world_changed_under_it_is_no_answer_to_the_change():
    found = midway().look("config/limits.toml", shows=NEW).finish().end().record(TASK, table(TASK, BEFORE))
    assert (found.fired_step, found.detected, found.observed_step) == (3, True, 4)
    assert found.wrong_actions_after == 0
    shown = midway(NEW).finish().end().record(TASK, table(TASK, BEFORE))
    assert (shown.detected, shown.observed_step) == (True, 3)


def test_a_command_that_was_disturbed_twice_did_its_first_parts_before():
    story = Story(BASE, arm="forked:t@1").armed(TASK, "limits").armed(TASK, "calm")
    parts = [
        EffectRecorded(actor="agent", pre="a", post="a", changes=[story.entry(path, "1")] if path else [])
        for path in ("totals.csv", "")
    ]
    limits = story.firing("limits", changes={"config/limits.toml": NEW}, step=1)
    calm = story.firing("calm", "placebo", step=1)
    during = [parts[0], *limits, parts[1], *calm]
    scene = (
        story.act(writes={"totals.csv": "1", "note.txt": "n"}, during=during)
        .finish()
        .end()
        .scene(TASK, table(TASK, {}))
    )
    last = next(place for place, event in enumerate(scene.events) if event is calm[-1])
    (act, _) = scene.after(last)
    assert [entry.path for entry in act.writes] == ["workspace/note.txt"]


def test_of_several_that_waited_the_one_that_fired_is_told_of():
    story = Story(BASE, arm="forked:t@1").armed(TASK, "calm").armed(TASK, "limits")
    story.write("clean.csv", "1").disturb("limits", changes={"config/limits.toml": NEW})
    found = story.finish().end().record(TASK, table(TASK, BEFORE))
    assert (found.perturbation, found.fired_step, found.delivered) == ("limits", 1, True)
    waits = Story(BASE, arm="forked:t@1").armed(TASK, "calm").armed(TASK, "limits")
    none = waits.finish().end().record(TASK, table(TASK, {}))
    assert (none.perturbation, none.fired_step, none.delivered) == ("calm", None, False)


def test_a_command_that_was_disturbed_midway_rests_on_what_it_read_and_is_waste_of_none():
    story = midway().look("totals.csv").finish().end()
    found = story.record(TASK, table(TASK, BEFORE))
    assert (found.h_dep, found.wasted_undone) == (4, 0)


def test_what_was_remembered_untruly_is_seen_when_it_is_recalled():
    polluted = Perturbation(
        id="stale", kind="state", when={"subgoal_verified": "clean"}, affects=["totals"],
        change={"channel": "memory", "source": "stale_fact", "key": "max", "value": "max = 9"},
        observed_when={"call": {"tool": "recall"}}, recovered_when={"subgoal": "totals"},
    )  # fmt: skip
    task = msgspec.structs.replace(TASK, perturbation=[polluted])
    story = Story(BASE, arm="perturbed:stale").armed(task, "stale").write("clean.csv", "1", "raw.csv")
    story.disturb("stale").look("raw.csv").act(tool="recall", arguments={"key": "max"})
    found = story.finish().end().record(task, table(task, BEFORE))
    assert (found.fired_step, found.detected, found.observed_step) == (1, True, 3)
