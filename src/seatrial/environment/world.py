"""What the gateway needs of a world, and the world that a host can give."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from seatrial.environment.delta import Delta, Result
from seatrial.environment.ground import Ground
from seatrial.environment.sandbox import BubblewrapSandbox
from seatrial.environment.services.opened import OpenServices
from seatrial.environment.state.tracker import Tracker
from seatrial.environment.unsafe import UnsafeWorld
from seatrial.environment.watching.touched import Watcher
from seatrial.journal.entries import Entry, State


class World(Protocol):
    """A world that a trial runs in; ``BubblewrapSandbox`` says what each member holds to."""

    after_undo: list[Callable[[list[str]], None]]

    services: OpenServices | None

    @property
    def ground(self) -> Ground:
        """What it stands on."""

    @property
    def tracker(self) -> Tracker:
        """Its state as known."""

    @property
    def watcher(self) -> Watcher | None:
        """Who saw what happened; null where nobody watches: then every window is unknown."""

    @property
    def tree(self) -> str:
        """Folder that holds the roots."""

    @property
    def alive(self) -> int:
        """Processes the last action left behind."""

    @property
    def unsettled(self) -> bool:
        """Whether the state may have moved since the last ``settle``."""

    def shell(self, command: str, cwd: str = "/workspace", seconds: float | None = None) -> Result:
        """Run one fresh shell."""

    def run(self, argv: Sequence[str], cwd: str = "/workspace", seconds: float | None = None) -> Result:
        """Run one command."""

    def file_tool(
        self, tool: str, path: str, content: bytes = b"", old: bytes = b"", new: bytes = b""
    ) -> Result:
        """Read, write or edit a file as the agent."""

    def interrupt(self) -> None:
        """End the action under way, from a signal handler."""

    def settle(self) -> Delta:
        """The changes since the last call, with nothing running meanwhile."""

    def frozen(self) -> AbstractContextManager[None]:
        """Hold every process still."""

    def undo(self, changes: Sequence[Entry], before: State) -> int:
        """Put changed paths back."""

    def put(self, wanted: Mapping[str, Entry]) -> None:
        """Make paths what they are to be, from outside."""

    def audit(self) -> bool:
        """Whether a full scan from nothing gives the same fingerprint."""

    def prove_reset(self) -> str:
        """Prove that the world is the base, and return the fingerprint."""

    def close(self) -> None:
        """End every process and forget the world."""


def open_world(ground: Ground, delta: State | None = None, masked: Sequence[str] = ()) -> World:
    """A world on a ground: a sandbox, or what the host's mode leaves of one.

    Args:
        ground: what it stands on.
        delta: the state to begin in, as a difference from the base.
        masked: paths to hide; without a sandbox nothing can be hidden, and reads of them are unknown.
    """
    if ground.host.mode == "unsafe":
        return UnsafeWorld(ground, delta)
    return BubblewrapSandbox(ground, delta, masked)
