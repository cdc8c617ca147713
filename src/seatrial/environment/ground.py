"""What the worlds of one task stand on, and the bounds they have."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from seatrial.environment.confine.host import Host
from seatrial.environment.services.stock import Stock
from seatrial.environment.state.base import Base
from seatrial.environment.state.providers import StateProvider
from seatrial.environment.state.tracker import Start
from seatrial.environment.watching.fanotify import Places
from seatrial.journal.digest import digest_bytes
from seatrial.journal.entries import State
from seatrial.journal.objects import ObjectStore


@dataclass(frozen=True)
class ActionLimits:
    """Bounds on one action and on the sandbox as a whole; see ``spec.task.Limits``.

    Attributes:
        memory_mb: of all processes together (without control groups: of each process).
        processes: at once.
        seconds: wall time of one action.
        output_kb: what is shown of one action's output.
        file_mb: size of a single file.
        state_mb: of all changed files together, holes counted: what a journal records of this world.
    """

    memory_mb: int = 2048
    processes: int = 256
    seconds: float = 60.0
    output_kb: int = 64
    file_mb: int = 1024
    state_mb: int = 4096


@dataclass
class Ground:
    """What worlds of one task stand on: host, scratch folder, base, objects, limits."""

    host: Host
    scratch: str
    base: Base
    objects: ObjectStore
    limits: ActionLimits = field(default_factory=ActionLimits)
    providers: Sequence[StateProvider] = ()
    layers: dict[str, dict[int, str]] = field(default_factory=dict)
    starts: dict[str, Start] = field(default_factory=dict)
    places: dict[str, Places] = field(default_factory=dict)
    stock: Stock | None = None

    def __post_init__(self) -> None:
        self.base.give_meaning(self.providers)

    def start(self, delta: State) -> tuple[str, Start]:
        """A state to begin in and the name of its layer; worked out once, however many worlds begin in it."""
        name = _name_of(self.base, delta)
        if name not in self.starts:
            self.starts[name] = Start(self.base, delta, self.providers)
        return name, self.starts[name]

    @property
    def base_layer(self) -> str:
        """The base's folder relative to the scratch folder."""
        return os.path.relpath(self.base.folder, self.scratch)


def _name_of(base: Base, delta: State) -> str:
    """The name of a state's layer: its fingerprint with content, since layers hold bytes, not meaning."""
    entries = [delta[path] for path in sorted(delta)]
    return digest_bytes(base.digest.encode() + msgspec.json.encode(entries))
