"""Whose result a trial is: its system's own, or that of the system and a person (C6)."""

from seatrial.records.people import left_alone, own_first, own_name, stands_apart, told_apart
from seatrial.records.trial import TrialRecord


def record(trial: str, attempt: int = 1, **more) -> TrialRecord:
    known = {
        "experiment": "e", "task": "f/a", "task_version": "1", "family": "f", "system": "s",
        "arm": "baseline", "seed": 1, "terminal_class": "success",
    }  # fmt: skip
    return TrialRecord(trial=trial, attempt=attempt, **{**known, **more})


def names(records, every=None, persons=()):
    counted, attempts = told_apart(records, records if every is None else every, persons)
    return [r.system for r in counted], [r.system for r in attempts]


def test_a_trial_in_which_a_person_acted_is_of_a_population_of_its_own():
    records = [
        record("1", system="s", human_machine=False, human_tier="approval"),
        record("2", system="s", human_machine=True, human_tier="takeover"),
    ]
    assert names(records)[0] == ["s", "s (human-machine)"]
    assert [stands_apart(name) for name in names(records)[0]] == [False, True]
    assert [own_name(name) for name in names(records)[0]] == ["s", "s"]
    # The records that were given stay as they are.
    assert [r.system for r in records] == ["s", "s"]


def test_all_attempts_of_a_trial_go_with_the_one_that_stands_for_it():
    lost = record("1", attempt=1, system="s", human_machine=False, terminal_class="infrastructure")
    helped = record("1", attempt=2, system="s", human_machine=True)
    assert names([helped], [lost, helped])[1] == ["s (human-machine)"] * 2
    acted = record("2", attempt=1, system="s", human_machine=True, terminal_class="infrastructure")
    alone = record("2", attempt=2, system="s", human_machine=False)
    assert names([alone], [acted, alone])[1] == ["s", "s"]


def test_unknown_stays_unknown_where_the_source_says_it_of_others():
    said, unsaid = record("1", system="s", human_machine=False), record("2", system="s", human_machine=None)
    assert names([said, unsaid])[0] == ["s", "s (human-machine unknown)"]
    # An import that says it of no trial knows nobody beside its systems; another experiment tells it nothing.
    assert names([unsaid])[0] == ["s"]
    imported = record("2", experiment="other", system="s", human_machine=None)
    assert names([said, imported])[0] == ["s", "s"]
    # What could not even begin is a loss of its system.
    never = record("2", system="s", human_machine=None, terminal_class="infrastructure")
    assert names([said, never])[0] == ["s", "s"]


def test_a_system_that_is_a_person_has_its_own_results():
    session = record("1", system="person", human_machine=True)
    assert names([session], persons={"person"})[0] == ["person"]


def test_nobody_knows_how_the_system_alone_would_have_done():
    acted = record("1", system="s (human-machine)", human_machine=True, strict_success=True, money=1.0)
    alone = left_alone(acted)
    assert (alone.trial, alone.task, alone.system, alone.terminal_class) == ("1", acted.task, "s", "unknown")
    assert (alone.strict_success, alone.money, alone.human_machine) == (None, None, None)
    lost = left_alone(record("1", system="s (human-machine)", terminal_class="infrastructure"))
    assert lost.terminal_class == "infrastructure"


def test_systems_keep_their_order_and_what_stands_apart_comes_last():
    groups = [("b (human-machine)", "x"), ("a", "x"), ("b", "x"), ("a (human-machine)", "x"), ("a", "y")]
    assert own_first(groups) == [
        ("b", "x"), ("a", "x"), ("a", "y"), ("b (human-machine)", "x"), ("a (human-machine)", "x"),
    ]  # fmt: skip
