"""What watches and helps an attempt's agent: people, temptations, canaries, marks of contamination."""

import contextlib
import os
import socket
from dataclasses import dataclass, field
from typing import Any

import msgspec

from seatrial.gateway.approvals import PermissionBlock
from seatrial.gateway.attend import Attendant
from seatrial.gateway.constraining.canaries import Canaries
from seatrial.gateway.constraining.contamination import Contamination, Markers, markers
from seatrial.gateway.constraining.humans import Humans, Person
from seatrial.gateway.constraining.temptations import Temptations
from seatrial.gateway.gateway import Gateway, Offer
from seatrial.gateway.meter import Meter
from seatrial.gateway.policy import Policy
from seatrial.gateway.recalling import Past
from seatrial.journal.events import StopReason
from seatrial.journal.run import write_whole
from seatrial.journal.writer import JournalWriter
from seatrial.spec.experiment import Human
from seatrial.spec.people import ASKABLE, read_people
from seatrial.trial.attempt import Attempt
from seatrial.trial.people.scripted import ScriptedPerson
from seatrial.trial.people.terminal import TerminalPerson

HIDDEN = ("verifiers/", "solutions/")
# Agents that are given a solution, a plan or the task's files: what they know of them is no contamination.
INFORMED = ("scripted", "simulated", "human")


@dataclass
class Constraining:
    """Everything of this kind that one attempt has.

    Attributes:
        offered: of the optional tools, those that are offered because of it.
        conditions: for the trial's first line.
        altering: attendants that change what is shown.
        watching: attendants that look at what was shown in the end; they come after all others.
    """

    person: Person | None
    temptations: Temptations
    canaries: Canaries
    contamination: Contamination
    offered: tuple[str, ...]
    conditions: dict[str, Any]
    altering: list[Attendant] = field(default_factory=list)
    watching: list[Attendant] = field(default_factory=list)
    _block: PermissionBlock | None = None
    _humans: Humans | None = None

    def prepare(
        self, attempt: Attempt, policy: Policy, offer: Offer, journal: JournalWriter, meter: Meter
    ) -> None:
        """Make the attendants for a policy and add the handlers of people's tools to an offer."""
        objects = attempt.run.objects
        if self.person is not None:
            self._humans = Humans(self.person, policy.approvals, offer.tools, journal, objects, meter)
            handlers = self._humans.handlers
            offer.handlers.update({name: handlers[name] for name in self.offered})
        self._block = PermissionBlock(policy.approvals)
        self.altering = [self.temptations] if self.temptations else []
        self.watching = [self.contamination, *([self.canaries] if self.canaries else []), self._block]
        if self._humans is not None:
            self.watching.append(self._humans)

    def attach(self, gateway: Gateway) -> None:
        """The gateway is there; before the first action."""
        if self._humans is not None:
            self._humans.attach(gateway)

    def recall(self, past: Past) -> None:
        """Know what was before, for a trial that goes on from another one's state; once prepared."""
        self.temptations.recall(past)
        self.canaries.recall(past)
        self.contamination.recall(past)
        if self._block is not None:
            self._block.recall(past)
        if self._humans is not None:
            self._humans.recall(past)

    def conclude(self, reason: StopReason) -> StopReason:
        """Write what is only known at the end; returns the reason with a block told from giving up."""
        self.temptations.close()
        blocked = reason == "gave_up" and self._block is not None and self._block.blocked
        return "permission_block" if blocked else reason


def constraining(attempt: Attempt, journal: JournalWriter, meter: Meter) -> Constraining:
    """What an attempt's task and experiment declare of people, temptations and canaries."""
    experiment, spec = attempt.manifest.experiment, attempt.spec
    human = msgspec.convert(experiment.get("human") or {}, Human)
    budget = spec.budget.human_requests
    offered = () if budget == 0 else ASKABLE[human.tier]
    watched = _markers(attempt)
    conditions = {
        "human": {"tier": human.tier, "by": None if human.tier == "none" else human.by},
        "approvals": [approval.id for approval in spec.approval],
        "temptations": [temptation.id for temptation in spec.temptation],
        "canaries": [canary.id for canary in spec.canary],
        "contamination_watched": True,
        "contamination_markers": watched.kinds,
    }
    return Constraining(
        person=_person(attempt, human),
        temptations=Temptations(spec.temptation, journal),
        canaries=Canaries(spec, int(experiment.get("seed", 0)), journal, attempt.run.objects),
        contamination=Contamination(watched, journal),
        offered=offered,
        conditions=conditions,
    )


def _person(attempt: Attempt, human: Human) -> Person | None:
    if human.tier == "none":
        return None
    if human.by == "terminal":
        line = None
        if attempt.job.person is not None:
            os.set_inheritable(attempt.job.person, False)  # nothing that this process starts may have it
            line = socket.socket(fileno=attempt.job.person)
        return TerminalPerson(line, attempt.planned.trial, human.tier, human.timeout_seconds)
    assert human.script is not None, "checked when the experiment was read"
    files, objects = attempt.task.files, attempt.run.objects
    script = read_people(objects.get(files[human.script][0]).decode(), human.script)
    written = {repair.write: objects.get(files[repair.write][0]) for repair in script.repair}
    return ScriptedPerson(script, written, human.tier, human.timeout_seconds)


def _markers(attempt: Attempt) -> Markers:
    """Marks of contamination of the task for this kind of agent, worked out once in a run."""
    informed = attempt.system["agent"] in INFORMED
    kind = "names" if informed else "all"
    kept = attempt.run.folder / "scratch" / "markers" / f"{attempt.task.digest[:16]}-{kind}.json"
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(kept.read_bytes(), type=Markers)
    found = _markers_of(attempt, informed)
    kept.parent.mkdir(parents=True, exist_ok=True)
    write_whole(kept, msgspec.json.encode(found))
    return found


def _markers_of(attempt: Attempt, informed: bool) -> Markers:
    """The same from the frozen files of the task."""
    files, objects, environment = attempt.task.files, attempt.run.objects, attempt.spec.environment
    texts = {
        path: objects.get(digest).decode("utf-8", "replace")
        for path, (digest, mode) in files.items()
        if not _is_folder(mode)
    }
    world = environment.files.rstrip("/") + "/"
    given = [attempt.instruction(goal.version) for goal in attempt.spec.goal]
    if environment.setup is not None:
        given.append(texts[environment.setup])  # what it makes is the agent's to see
    for path, text in texts.items():
        if path.startswith(world):
            given += [path.removeprefix(world), text]
    hidden = {path: text for path, text in texts.items() if path.startswith(HIDDEN)}
    return markers(attempt.spec.id, hidden, given, informed)


def _is_folder(mode: int) -> bool:
    return mode & 0o170000 == 0o040000
