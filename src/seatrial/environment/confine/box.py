"""What one sandbox holds; the world's, the agent's, a verifier's and a probe's differ in nothing else."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Mount:
    """A bind mount; ``source`` must be reachable by any uid (it lies under the stage)."""

    source: str
    target: str
    writable: bool = False


@dataclass
class Box:
    """What one sandbox holds.

    Attributes:
        command: argument vector, run as PID 1's only child, or as PID 1 itself with ``as_init``.
        uid: host uid to drop to (root mode only; without root the user's own is all there is).
        mounts: after the curated root file system, in order.
        tmpfs: empty writable folders.
        masks: inside paths to hide after all mounts, and whether each is a folder.
        files: inside path to bytes, read-only.
        folders: empty read-only folders to create.
        keep: descriptors the command inherits under their numbers.
        join: control group folders to join before anything is unshared.
        environment: added to the plain one.
    """

    command: list[str]
    uid: int
    mounts: list[Mount] = field(default_factory=list)
    tmpfs: list[str] = field(default_factory=list)
    masks: dict[str, bool] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    keep: list[int] = field(default_factory=list)
    join: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    chdir: str = "/"
    as_init: bool = False
