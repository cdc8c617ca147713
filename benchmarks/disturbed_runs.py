"""Runs simulated agents on the disturbed task and holds every trial against its replay."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.disturbed_replay import BESIDE, DisturbedTruth, disturbed_truth
from benchmarks.disturbed_task import write_disturbed
from benchmarks.shadow import Offered
from benchmarks.truth_runs import SEED, configured, equal, run, toml
from seatrial.evidence.read import AttemptEvidence, RunEvidence
from seatrial.journal.events import ActionFinished, ServiceCalled
from seatrial.journal.reader import read_journal
from seatrial.journal.run import RunFolder
from seatrial.spec.loading import LoadedTask, load_task
from seatrial.spec.simulated import SimulatedOptions

TASK = "small"
# Null where the host cannot see reads.
NEEDS_READS = ("detected", "observed_step")
LOCAL = ("local-1", "local-2")
TABLES = """
[interruption]
tool = "payments.charge"
subgoal = "paid"
state_bytes = {bytes}

[compaction]
at_subgoal = "paid"
"""
Options = dict[str, Any]
NOTHING = Offered()


@dataclass(frozen=True)
class Runs:
    """A run with what must be measured of each of its trials.

    Attributes:
        wrong: where a trial's measures differ from its replay, in words.
    """

    evidence: RunEvidence
    truths: dict[str, DisturbedTruth]
    wrong: list[str]

    def of(self, system: str, arm: str) -> list[AttemptEvidence]:
        """The trials of a cell, in the order of their repeats; one repeat has one seed in all cells."""
        counted = self.evidence.counted
        found = [one for one in counted if (one.planned.system, one.planned.arm) == (system, arm)]
        return sorted(found, key=lambda one: one.planned.repeat)

    def values(self, system: str, arm: str, measure: str) -> list[Any]:
        """A measure of every trial of a cell."""
        return [value_of(one, measure) for one in self.of(system, arm)]


def play(
    folder: Path, systems: Mapping[str, Options], arms: Sequence[str], trials: int, workers: int,
    offered: Offered = NOTHING,
) -> Runs:  # fmt: skip
    """Run systems in arms on the disturbed task, in a new folder, and replay every trial.

    Args:
        systems: name to options.
        arms: each system is run in every one, ``trials`` times.
    """
    task = load_task(write_disturbed(folder / TASK))
    evidence = run(_experiment(folder, systems, arms, trials, offered), workers)
    truths = {
        one.planned.trial: disturbed_truth(
            config_of(task, systems[one.planned.system]), one.planned.seed, one.planned.arm, offered
        )
        for one in evidence.counted
    }
    wrong = [text for one in evidence.counted for text in differences(one, truths[one.planned.trial])]
    missing = len(systems) * len(arms) * trials - len(evidence.counted)
    return Runs(evidence, truths, [*wrong, *([f"{missing} trials are missing"] if missing else [])])


def config_of(task: LoadedTask, options: Options) -> dict[str, Any]:
    """The agent's configuration on the task."""
    return configured(msgspec.convert(options, SimulatedOptions), task)


def _experiment(
    folder: Path, systems: Mapping[str, Options], arms: Sequence[str], trials: int, offered: Offered
) -> Path:
    text = f'schema = "seatrial/experiment@1"\nname = "disturbed-truth"\nseed = {SEED}\ntasks = ["{TASK}"]\n'
    text += f"arms = {json.dumps(list(arms))}\ntrials_per_task = {trials}\nfinal_verdicts = 1\n"
    text += f"belief = {json.dumps(offered.belief)}\nmemory = {json.dumps(offered.memory)}\n"
    text += TABLES.format(bytes=offered.state_bytes)
    for name, options in systems.items():
        text += f'[[system]]\nname = "{name}"\nagent = "simulated"\noptions = {toml(options)}\n'
    path = folder / "experiment.toml"
    path.write_text(text)
    return path


def differences(attempt: AttemptEvidence, truth: DisturbedTruth) -> Iterator[str]:
    """Where measured and known differ, in words."""
    for field in fields(DisturbedTruth):
        known, measured = getattr(truth, field.name), value_of(attempt, field.name)
        if field.name == "looks" or (
            measured is None and field.name in NEEDS_READS and attempt.blind_actions
        ):
            continue
        if not equal(measured, known):
            yield f"{attempt.planned.trial}: {field.name} is {known}, measured {measured}"


def value_of(attempt: AttemptEvidence, measure: str) -> Any:
    """A column of the record, or what stands beside it."""
    if measure == "local_right":
        final = attempt.verdicts.final
        return all(set(final[name]) == {"pass"} for name in LOCAL) if final.keys() >= set(LOCAL) else None
    return None if measure in BESIDE else getattr(attempt.record, measure)


@dataclass(frozen=True)
class Charged:
    """How often a trial paid, counted twice over.

    Attributes:
        journal: effects among the requests that the service took.
        ledger: rows of the service's ledger in the state at the end.
        unknown: actions of the payment whose end the agent was told is unknown.
        lost: effects that the agent was told of and that no row shows.
    """

    journal: int
    ledger: int
    unknown: int
    lost: int


def charged(runs: Runs, attempts: Iterable[AttemptEvidence]) -> Iterator[Charged]:
    """Count payments in journals and in the services' own rows."""
    folder = RunFolder.open(runs.evidence.folder)
    for one in attempts:
        events = read_journal(folder.journal_path(one.planned.trial, one.record.attempt)).events
        calls = [event for event in events if isinstance(event, ServiceCalled) and event.verb == "charge"]
        rows: set[str] = set()
        for event in events:
            for entry in event.changes if isinstance(event, ActionFinished) else ():
                if entry.path.startswith("services/payments/ledger/"):
                    (rows.discard if entry.kind == "absent" else rows.add)(entry.path)
        told = {call.ledger for call in calls if call.effect and call.acknowledged}
        numbers = {int(path.rpartition("/")[2].removesuffix(".json")) for path in rows}
        steps = {call.step for call in calls}
        yield Charged(
            journal=sum(call.effect for call in calls),
            ledger=len(rows),
            unknown=sum(
                event.outcome == "unknown" and event.step in steps
                for event in events
                if isinstance(event, ActionFinished)
            ),
            lost=len(told - numbers),
        )
