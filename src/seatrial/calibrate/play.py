"""Plays products as a real experiment: the same sandbox, gateway, journal and judging as any run."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from seatrial.calibrate.record import Outcome, Undecided
from seatrial.errors import EnvironmentFault
from seatrial.evidence.read import AttemptEvidence, read_ended_journal, read_run
from seatrial.journal.events import Event
from seatrial.journal.run import RunFolder
from seatrial.schedule.open_run import hold_run
from seatrial.schedule.queue import Selection
from seatrial.schedule.runner import Orders, Tally, run_plan
from seatrial.schedule.watching import Watcher
from seatrial.spec.experiment import SCHEMA
from seatrial.spec.loading import LoadedTask, load_experiment
from seatrial.spec.people import people_beside
from seatrial.spec.toml_text import table_text

SCRIPTS = "calibrating"
BASELINE = "baseline"
REASON_CHARACTERS = 200


@dataclass(frozen=True)
class Played:
    """How one product ended, trial by trial."""

    outcomes: list[Outcome]
    flaky: set[str]


@dataclass(frozen=True)
class Round:
    """What to play and how often.

    Attributes:
        scripts: TOML of a script by the product's name.
        repeats: trials of each, at least 1.
        final_verdicts: fresh judgements of each final state.
        workers: trials at once.
        arms: in which a product is played, by its name; ``baseline`` for all others.
        memory: offer the scripts a memory.
    """

    scripts: Mapping[str, str]
    repeats: int
    final_verdicts: int
    workers: int = 1
    arms: Mapping[str, str] = field(default_factory=dict)
    memory: bool = False

    def arm_of(self, name: str) -> str:
        """The arm in which a product is played."""
        return self.arms.get(name, BASELINE)


def play(task: LoadedTask, folder: Path, what: Round, watcher: Callable[[int], Watcher]) -> RunFolder:
    """Run every product of a round on a copy of the task.

    Args:
        task: the task; its folder is left alone.
        folder: where the copy, the experiment and the run go; it must not exist.
        what: the products.
        watcher: given the number of trials, who is told of them.

    Returns:
        The run, ended and judged.

    Raises:
        EnvironmentFault: a trial could not be completed or judged, whoever's fault it was: no verdict on the
            product, so none on the task.
        SeatrialError: as of any run.
    """
    copy = folder / "task"
    shutil.copytree(task.folder, copy, symlinks=True)
    scripts = copy / SCRIPTS
    while scripts.exists():
        scripts = scripts.with_name(f"{scripts.name}-")
    scripts.mkdir()
    systems = []
    for name, text in what.scripts.items():
        (scripts / f"{name}.toml").write_text(text, encoding="utf-8")
        systems.append({"name": name, "agent": "scripted", "script": f"{scripts.name}/{name}.toml"})
    head = {
        "schema": SCHEMA, "name": "calibration", "tasks": ["task"], "trials_per_task": what.repeats,
        "final_verdicts": what.final_verdicts, "memory": what.memory,
        "arms": sorted({what.arm_of(name) for name in what.scripts}),
    }  # fmt: skip
    human = people_beside(task.files)
    tables = [table_text("", head), *(table_text("[system]", system) for system in systems)]
    if human.script is not None:
        tables.append(table_text("human", {"tier": human.tier, "script": human.script}))
    experiment = folder / "experiment.toml"
    experiment.write_text(
        "\n".join(tables),
        encoding="utf-8",
    )
    orders = Orders(workers=what.workers)
    with hold_run(load_experiment(experiment), folder / "run", orders) as held:
        wanted = [trial.trial for trial in held.manifest.plan if trial.arm == what.arm_of(trial.system)]
        planned = len(wanted)
        selected = Orders(workers=what.workers, selection=Selection(trials=wanted))
        tally = run_plan(held.run, held.manifest, watcher(planned), selected)
    _refuse_incomplete(task, tally, planned)
    return held.run


def _refuse_incomplete(task: LoadedTask, tally: Tally, planned: int) -> None:
    lost = {**tally.given_up, **tally.unjudged}
    if lost:
        trial, note = next(iter(lost.items()))
        raise EnvironmentFault(
            f"{task.folder}: {len(lost)} of {planned} trials could not be completed, and nothing was "
            f"recorded; {trial}: {note.rstrip('.') or 'no reason was given'}. Mend that "
            "(see `seatrial doctor`), then calibrate again; with --keep the run is kept."
        )


def outcomes_of(run: RunFolder) -> dict[str, Played]:
    """How each product of a run ended, by name.

    Raises:
        JournalError: the run is damaged.
    """
    found: dict[str, Played] = {}
    for attempt in read_run(run.folder).counted:
        played = found.setdefault(attempt.record.system, Played([], set()))
        played.outcomes.append(_outcome(attempt))
        played.flaky.update(attempt.record.flaky_verifiers or ())
    return found


def _outcome(attempt: AttemptEvidence) -> Outcome:
    record = attempt.record
    final = attempt.verdicts.final
    undecided = _undecided(attempt)
    open_ones = {each.subgoal for each in undecided}
    return Outcome(
        terminal_class=record.terminal_class,
        strict_success=record.strict_success,
        safe_success=record.safe_success,
        stop_reason=record.stop_reason,
        failing=sorted(
            name for name, runs in final.items() if set(runs) == {"fail"} and name not in open_ones
        ),
        undecided=undecided,
        hard_violations=record.hard_violations,
        actions=record.actions,
        approvals_asked=record.approvals_asked,
    )


def _undecided(attempt: AttemptEvidence) -> list[Undecided]:
    """The subgoals without a certain verdict on the final state, each with its reason."""
    flaky = set(attempt.record.flaky_verifiers or ())
    triggered = set(attempt.record.product_triggered_errors or ())
    last = {row.subgoal: row for row in sorted(attempt.verdicts.rows, key=lambda row: row.step)}
    found: list[Undecided] = []
    for name, runs in sorted(attempt.verdicts.final.items()):
        if name in flaky:
            said = f"its runs on one state say {', '.join(runs)}"
            found.append(Undecided(subgoal=name, verdict="flaky", reason=said))
        elif set(runs) not in ({"pass"}, {"fail"}):
            verdict: Literal["error", "unknown"] = "error" if set(runs) == {"error"} else "unknown"
            row = last.get(name)
            reason = _reason(row.evidence) if row is not None and row.verdict == verdict else None
            found.append(
                Undecided(subgoal=name, verdict=verdict, reason=reason, product_triggered=name in triggered)
            )
    return found


def _reason(evidence: object) -> str | None:
    """Why a verifier did not decide, on one line: what the harness saw of it, or what it gave itself."""
    if not isinstance(evidence, Mapping):
        return None
    if "reason" in evidence:
        said = str(evidence.get("stderr", "")).strip().splitlines()
        text = ": ".join([str(evidence["reason"]), *said[-1:]])
    elif "given" in evidence:
        given = evidence["given"]
        text = given if isinstance(given, str) else msgspec.json.encode(given).decode()
    else:
        return None
    text = " ".join(text.split())
    return text if len(text) <= REASON_CHARACTERS else f"{text[:REASON_CHARACTERS]}…"


def events_of(run: RunFolder, system: str) -> Sequence[Event]:
    """The journal of a product's first counted attempt; empty when it has none."""
    line = next(
        (
            line
            for planned in run.manifest().plan
            for line in run.index()
            if planned.system == system and line.trial == planned.trial and not line.infrastructure
        ),
        None,
    )
    return read_ended_journal(run, line).events if line is not None else []
