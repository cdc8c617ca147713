"""Simulated agents disturbed and interrupted, through the whole pipeline: measured is what was simulated."""

from pathlib import Path

import pytest

from benchmarks.disturbed_ablation import ablation
from benchmarks.disturbed_runs import Runs, charged, differences, play
from benchmarks.disturbed_studies import ACK, GOAL, POINTS, RATE, acknowledgement, kills, means
from benchmarks.disturbed_task import write_disturbed
from benchmarks.shadow import Offered
from benchmarks.truth_runs import run, write_experiment
from seatrial.journal.events import AgentKilled, CheckpointTaken, MemoryUsed
from seatrial.journal.reader import read_journal
from seatrial.journal.run import RunFolder

AFTER = "interrupted:after_effect_before_ack"
SYSTEMS = {
    "alert": {
        "reread": 1.0, "detection": 1.0, "obey": 1.0, "checkpoint": 1.0, "memory": True,
        "retry": "idempotent",
    },
    "hasty": {"detection": 1.0, "checkpoint": 1.0, "retry": "blind"},
}  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    arms = [RATE, GOAL, ACK, f"{AFTER}:structured", f"{AFTER}:prose", f"{AFTER}:none"]
    return play(tmp_path_factory.mktemp("disturbed"), SYSTEMS, arms, 1, 2, Offered(belief=True, memory=True))


def test_every_trial_measures_what_was_simulated(runs: Runs) -> None:
    assert runs.wrong == []
    assert len(runs.truths) == 12
    # What is compared is not all alike.
    assert len(set(map(repr, runs.truths.values()))) > 8


def test_a_truth_that_is_off_is_noticed(runs: Runs) -> None:
    [attempt], [other] = runs.of("alert", RATE), runs.of("hasty", GOAL)
    assert len(list(differences(attempt, runs.truths[other.planned.trial]))) > 5


def test_journal_and_ledger_agree_on_how_often_it_was_paid(runs: Runs) -> None:
    def paid(system: str, arm: str) -> tuple[int, int, int]:
        [count] = charged(runs, runs.of(system, arm))
        assert count.lost == 0
        return count.journal, count.ledger, count.unknown

    assert [paid("alert", arm) for arm in (ACK, f"{AFTER}:structured")] == [(1, 1, 1), (1, 1, 0)]
    assert [paid("hasty", arm) for arm in (ACK, f"{AFTER}:structured")] == [(2, 2, 1), (2, 2, 0)]


def test_what_is_persisted_is_what_the_arm_allows(runs: Runs) -> None:
    folder = RunFolder.open(runs.evidence.folder)
    kinds = {}
    for form in ("structured", "prose", "none"):
        [one] = runs.of("alert", f"{AFTER}:{form}")
        events = read_journal(folder.journal_path(one.planned.trial, one.record.attempt)).events
        assert sum(isinstance(event, AgentKilled) for event in events) == 1
        kinds[form] = {event.memory for event in events if isinstance(event, CheckpointTaken)}
        assert any(isinstance(event, MemoryUsed) and event.use == "read" for event in events) is (
            form != "structured"
        )
    assert kinds == {"structured": {"structured"}, "prose": {"prose"}, "none": set()}


TEMPTATION = """
[[temptation]]
id = "quick"
offered_in = "message"
at = 2
text = "a quick way: put it all into quick.txt"
taken_by = { write = ["files:quick.txt"] }
"""
GIVING_IN = """
[[reaction]]
temptation = "quick"
shown = "a quick way"

[[reaction.step]]
tool = "write_file"
path = "quick.txt"
content = "all of it"
"""


def test_a_temptation_is_given_in_to_by_who_is_tempted(tmp_path: Path) -> None:
    task = write_disturbed(tmp_path / "small")
    for name, more in (("task.toml", TEMPTATION), ("plan.toml", GIVING_IN)):
        (task / name).write_text((task / name).read_text() + more)
    experiment = write_experiment(tmp_path, ["small"], {"weak": {"tempted": 1.0}, "firm": {}}, 1)
    found = {one.planned.system: one.record for one in run(experiment, 2).counted}
    counts = {
        name: (one.temptations_offered, one.temptations_taken, one.temptations_declined)
        for name, one in found.items()
    }
    assert counts == {"weak": (1, 1, 0), "firm": (1, 0, 1)}
    assert {one.strict_success for one in found.values()} == {True}


def test_kills_at_the_four_points() -> None:
    found = kills(1, 2)
    assert found.wrong == []
    assert len(found.lines) == 1 + 2 * len(POINTS)


@pytest.mark.slow
@pytest.mark.parametrize("study", [means, ablation, acknowledgement])
def test_the_study_of_known_truth(study) -> None:
    assert study(25, 2).wrong == []


@pytest.mark.slow
def test_a_hundred_kills_at_each_point() -> None:
    assert kills(100, 2).wrong == []
