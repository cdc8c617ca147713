"""A real task, world and gateway in a few lines, for tests."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from seatrial.environment.confine.host import Host
from seatrial.environment.ground import ActionLimits, Ground
from seatrial.environment.state.base import index_base, lay_out
from seatrial.environment.world import World as AnyWorld
from seatrial.environment.world import open_world
from seatrial.gateway.gateway import Gateway, Offer
from seatrial.gateway.meter import Meter
from seatrial.gateway.policy import Policy, masked_paths
from seatrial.gateway.services import ServiceDoor
from seatrial.journal.events import Event, TrialStarted
from seatrial.journal.objects import ObjectStore
from seatrial.journal.reader import Journal, read_journal
from seatrial.journal.writer import JournalWriter
from seatrial.spec.task import Task
from tests.stocks import FILES as STOCKS
from tests.stocks import make_stock

FILES = {"LICENSE": "free\n", "notes.txt": "one\n", "src/a.py": "x = 1\n"}


def make_task(constraints: list[dict[str, Any]] | None = None, **more: Any) -> Task:
    """A task with one subgoal and the given constraints."""
    return msgspec.convert(
        {
            "schema": "seatrial/task@1",
            "id": "example/test",
            "version": "1.0.0",
            "goal": [{"version": 1, "instruction": "instruction.md"}],
            "subgoal": [{"id": "one", "verifier": "verifiers/one.sh", "reads": ["files:notes.txt"]}],
            "constraint": constraints or [],
            **more,
        },
        Task,
    )


def make_ground(
    folder: Path, host: Host, files: dict[str, str] | None = None, services: Sequence[str] = (), **limits: Any
) -> Ground:
    """A base of a few files under ``folder``, with the rows of ``tests.stocks``."""
    source = folder / "files"
    for name, text in (FILES if files is None else files).items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    source.mkdir(parents=True, exist_ok=True)
    scratch = folder / "scratch"
    lay_out(source, scratch / "bases" / "one", host.uid("world") if host.mode == "root" else None)
    objects = ObjectStore(folder / "objects")
    stock = make_stock(folder, objects, {name: STOCKS[name] for name in services}) if services else None
    rows, databases = (stock.rows, stock.digests) if stock else ({}, {})
    base = index_base(str(scratch / "bases" / "one"), objects, host.uid("world"), (), rows, databases)
    return Ground(host, str(scratch), base, objects, ActionLimits(**limits), stock=stock)


@dataclass
class World:
    """A gateway with what stands behind it."""

    gateway: Gateway
    sandbox: AnyWorld
    objects: ObjectStore
    path: Path
    meter: Meter
    door: ServiceDoor | None = None

    def act(self, tool: str, key: str | None = None, **arguments: Any) -> Any:
        """One action."""
        return self.gateway.act(tool, arguments, key)

    def journal(self) -> Journal:
        """What was written so far."""
        return read_journal(self.path)

    def events(self, kind: type[Event]) -> list[Any]:
        """Events of one kind so far."""
        return [event for event in self.journal().events if isinstance(event, kind)]


@contextmanager
def world(folder: Path, host: Host, task: Task, offer: Offer | None = None, **limits: Any) -> Iterator[World]:
    """A live world on ``FILES`` behind a gateway."""
    ground = make_ground(folder, host, services=task.environment.services, **limits)
    sandbox = open_world(ground, masked=masked_paths(task, ground.base.state))
    meter = Meter(task.budget)
    path = folder / "journal.jsonl"
    journal = JournalWriter(path, meter.now_us)
    try:
        journal.append(
            TrialStarted(
                trial="t", attempt=1, task=task.id, system="s", arm="baseline", seed=1,
                base=ground.base.listing, fingerprint=sandbox.prove_reset(), reset_proved=True,
            )
        )  # fmt: skip
        offer, door = offer or Offer(), None
        if sandbox.services is not None:
            door = ServiceDoor(sandbox.services, journal, ground.objects, ground.limits.seconds, 1 << 16)
            offer.tools.update(door.tools)
            offer.handlers.update(door.handlers())
        gateway = Gateway(sandbox, journal, ground.objects, Policy(task, sandbox), meter, offer)
        if door is not None:
            door.attach(gateway)
        yield World(gateway, sandbox, ground.objects, path, meter, door)
    finally:
        journal.close()
        sandbox.close()
