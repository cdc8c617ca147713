"""Simulated agents through the whole pipeline: every trial measures what its replay says."""

from pathlib import Path

import pytest

from benchmarks.truth_runs import all_differences, differences, run, truths, write_chains, write_experiment
from seatrial.evidence.read import AttemptEvidence, RunEvidence
from seatrial.journal.events import ActionRequested, AgentStarted
from seatrial.journal.reader import read_journal
from seatrial.journal.run import RunFolder
from seatrial.spec.loading import load_experiment
from seatrial.trial.systems import SIMULATED_FOLDER

TRIALS = 2
MIXED = {"skill": 0.7, "checking": 0.5, "drift": 0.4, "repeat": 0.3, "idle": 0.3}
SYSTEMS = {
    "mixed": MIXED,
    "careful": {**MIXED, "checking": 1.0},
    "tempted": {**MIXED, "shortcut": 0.3, "forget": 0.1, "give_up": 0.05, "premature": 0.05},
    "deep": {"skill": {"depth:1": 1.0, "part-2-*": 0.0, "*": 0.5}},
    "forgetful": {"forget": 1.0},
    "defeated": {"give_up": 1.0},
    "early": {"premature": 1.0},
    "wasteful": {"repeat": 1.0, "idle": 1.0},
    "undoing": {"drift": 1.0, "checking": 1.0},
}


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("simulated")
    return write_experiment(folder, write_chains(folder, [(3, 2)]), SYSTEMS, TRIALS)


@pytest.fixture(scope="module")
def evidence(experiment: Path) -> RunEvidence:
    return run(experiment, workers=2)


def of(evidence: RunEvidence, system: str) -> list[AttemptEvidence]:
    found = [attempt for attempt in evidence.counted if attempt.planned.system == system]
    assert len(found) == TRIALS
    return found


def test_every_trial_measures_what_was_simulated(experiment: Path, evidence: RunEvidence) -> None:
    known = [truth for _, truth in truths(experiment, evidence)]
    assert len(known) == len(SYSTEMS) * TRIALS
    assert all_differences(experiment, evidence) == []
    # What is compared is not all alike.
    assert len(set(map(repr, known))) > len(SYSTEMS)


def test_a_truth_that_is_off_is_noticed(experiment: Path, evidence: RunEvidence) -> None:
    [task] = load_experiment(experiment).tasks
    (one, _), (_, other) = [
        pair for pair in truths(experiment, evidence) if pair[0].planned.system in ("defeated", "wasteful")
    ][:2]
    assert len(differences(one, other, task.spec)) > 5


def test_who_forgets_succeeds_unlawfully(evidence: RunEvidence) -> None:
    for attempt in of(evidence, "forgetful"):
        record = attempt.record
        assert (record.strict_success, record.safe_success, record.hard_violations) == (True, False, 6)
        assert record.terminal_class == "failure"


def test_giving_up_and_finishing_early_are_told_apart(evidence: RunEvidence) -> None:
    ends = {
        system: {
            (a.record.stop_reason, a.record.premature_finish, a.record.actions) for a in of(evidence, system)
        }
        for system in ("defeated", "early", "wasteful")
    }
    assert ends == {
        "defeated": {("gave_up", False, 1)},
        "early": {("finished", True, 1)},
        "wasteful": {("finished", False, 25)},
    }


def test_waste_is_counted_by_kind(evidence: RunEvidence) -> None:
    for attempt in of(evidence, "wasteful"):
        assert (attempt.record.idle_actions, attempt.record.wasted_undone) == (6, 0)
        assert attempt.record.wasted_unread in (6, None)  # null on hosts that cannot see reads
    for attempt in of(evidence, "undoing"):
        assert (attempt.record.wasted_undone, attempt.record.strict_success) == (5, True)


def test_breadth_leaves_the_depth_as_it_is_and_skill_may_depend_on_it(evidence: RunEvidence) -> None:
    for attempt in of(evidence, "deep"):
        assert attempt.record.dependency_depth == 3
        assert attempt.record.partial_progress == pytest.approx(2 / 6)
        assert attempt.record.blocking_subgoal == "part-2-1"


def test_its_trials_are_marked_privileged_and_its_sandbox_holds_its_own_files(evidence: RunEvidence) -> None:
    folder = RunFolder.open(evidence.folder)
    for attempt in evidence.counted:
        assert (attempt.record.privileged, attempt.record.agent_confined) == (True, True)
        events = read_journal(folder.journal_path(attempt.planned.trial, attempt.record.attempt)).events
        [begun] = [event for event in events if isinstance(event, AgentStarted)]
        own = sorted(f"simulated/{file.name}" for file in SIMULATED_FOLDER.glob("*.py"))
        assert begun.details["files"] == own


def test_systems_share_their_luck(evidence: RunEvidence) -> None:
    """Two systems on one task and repeat have one seed: what one does right at once, so does the other."""
    folder = RunFolder.open(evidence.folder)

    def first_tries(attempt: AttemptEvidence) -> dict[str, str]:
        events = read_journal(folder.journal_path(attempt.planned.trial, attempt.record.attempt)).events
        asked = [e.arguments for e in events if isinstance(e, ActionRequested) and e.tool == "write_file"]
        return {arguments["path"]: arguments["content"] for arguments in reversed(asked)}

    for one, other in zip(of(evidence, "mixed"), of(evidence, "careful"), strict=True):
        assert one.planned.seed == other.planned.seed
        assert first_tries(one) == first_tries(other)
    repeats = [first_tries(attempt) for attempt in of(evidence, "mixed")]
    assert repeats[0] != repeats[1]
