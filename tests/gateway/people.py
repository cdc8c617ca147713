"""A world with approvals, people, temptations and canaries behind its gateway, for tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seatrial.environment.confine.host import Host
from seatrial.environment.world import open_world
from seatrial.gateway.approvals import Approvals, PermissionBlock
from seatrial.gateway.constraining.canaries import Canaries
from seatrial.gateway.constraining.humans import Humans, Person
from seatrial.gateway.constraining.temptations import Temptations
from seatrial.gateway.gateway import Gateway, Offer
from seatrial.gateway.meter import Meter
from seatrial.gateway.policy import Policy, masked_paths
from seatrial.journal.events import TrialStarted
from seatrial.journal.writer import JournalWriter
from seatrial.spec.people import PeopleScript, read_people
from seatrial.spec.task import Task
from seatrial.trial.people.scripted import ScriptedPerson
from tests.worlds import World, make_ground

SEED = 7


@dataclass(kw_only=True)
class Watched(World):
    """A gateway with who watches it."""

    policy: Policy
    temptations: Temptations
    block: PermissionBlock
    canaries: Canaries
    humans: Humans


@contextmanager
def watched_world(
    folder: Path, host: Host, task: Task, person: Person | None = None, files: dict[str, str] | None = None
) -> Iterator[Watched]:
    """A live world with all attendants of constraints, as a trial lists them."""
    ground = make_ground(folder, host, files)
    sandbox = open_world(ground, masked=masked_paths(task, ground.base.state))
    meter, path = Meter(task.budget), folder / "journal.jsonl"
    journal = JournalWriter(path, meter.now_us)
    policy, offer = Policy(task, sandbox), Offer()
    temptations, block = Temptations(task.temptation, journal), PermissionBlock(policy.approvals)
    canaries = Canaries(task, SEED, journal, ground.objects)
    offer.attendants = [temptations, canaries, block]
    gateway = Gateway(sandbox, journal, ground.objects, policy, meter, offer)
    humans = Humans(person or scripted(""), policy.approvals, offer.tools, journal, ground.objects, meter)
    offer.handlers.update(humans.handlers)
    offer.attendants.append(humans)
    humans.attach(gateway)
    try:
        journal.append(
            TrialStarted(
                trial="t", attempt=1, task=task.id, system="s", arm="baseline", seed=1,
                base=ground.base.listing, fingerprint=sandbox.prove_reset(), reset_proved=True,
            )
        )  # fmt: skip
        yield Watched(
            gateway, sandbox, ground.objects, path, meter,
            policy=policy, temptations=temptations, block=block, canaries=canaries, humans=humans,
        )  # fmt: skip
    finally:
        journal.close()
        sandbox.close()


def scripted(text: str, tier: str = "takeover", timeout: float = 60.0, **files: bytes) -> ScriptedPerson:
    """A person who follows a script."""
    script: PeopleScript = read_people(text, "human.toml")
    return ScriptedPerson(script, files, tier, timeout)


def covered(approvals: Approvals, tool: str, arguments: dict[str, Any], key: str | None = None) -> set[str]:
    """Ids of the approvals that a call would have."""
    held = approvals.hold(tool, arguments, key)
    approvals.release(held)
    return {grant.approval.id for grant in held}


def calling(**where: Any) -> list[dict[str, Any]]:
    """``forbid.call`` on the shell."""
    return [{"tool": "shell", "where": where}]
