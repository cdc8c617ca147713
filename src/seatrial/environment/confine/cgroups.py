"""Limits, freezing and killing through control groups, version 2 or 1, where the host lets us.

Each slot gets a group of a neutral name in every hierarchy that is writable. Where none is, the caller
falls back on rlimits and on PID 1 stopping the others.
"""

import contextlib
import errno
import glob
import os
import time
from dataclasses import dataclass, field

_ROOTS_V2 = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
_POLL_SECONDS = 0.0002
_FREEZE_SECONDS = 5.0


def _writable_v2() -> str | None:
    for root in _ROOTS_V2:
        if os.path.exists(f"{root}/cgroup.procs") and os.access(root, os.W_OK):
            return root
    return None


def _controllers_v2(root: str) -> set[str]:
    with open(f"{root}/cgroup.controllers", encoding="ascii") as file:
        return set(file.read().split())


@dataclass
class ControlGroup:
    """The groups of one sandbox. ``folders`` are those a process must join before it unshares."""

    unified: str | None = None
    memory: str | None = None
    pids: str | None = None
    memory_is_v2: bool = False
    folders: list[str] = field(default_factory=list)

    @property
    def can_freeze(self) -> bool:
        """Whether ``freeze`` works here."""
        return self.unified is not None

    def freeze(self) -> None:
        """Stop every process of the group and wait until all have stopped.

        Raises:
            TimeoutError: a process did not stop (stuck in the kernel).
        """
        _put(f"{self.unified}/cgroup.freeze", "1")
        deadline = time.monotonic() + _FREEZE_SECONDS
        while "frozen 1" not in _get(f"{self.unified}/cgroup.events"):
            if time.monotonic() > deadline:
                raise TimeoutError("control group does not freeze")
            time.sleep(_POLL_SECONDS)

    def thaw(self) -> None:
        """Let the group run on."""
        _put(f"{self.unified}/cgroup.freeze", "0")

    def out_of_memory_kills(self) -> int:
        """How many processes the kernel killed here for memory so far."""
        if self.memory is None:
            return 0
        name = "memory.events" if self.memory_is_v2 else "memory.oom_control"
        for line in _get(f"{self.memory}/{name}").splitlines():
            key, _, value = line.partition(" ")
            if key == "oom_kill":
                return int(value)
        return 0

    def close(self) -> None:
        """Kill what is left and remove the groups; tolerates that they are gone."""
        if self.unified and os.path.exists(f"{self.unified}/cgroup.kill"):
            _put(f"{self.unified}/cgroup.kill", "1")
        deadline = time.monotonic() + _FREEZE_SECONDS
        for folder in reversed(self.folders):
            while True:
                try:
                    os.rmdir(folder)
                except FileNotFoundError:
                    pass
                except OSError as fault:
                    if fault.errno == errno.EBUSY and time.monotonic() < deadline:
                        time.sleep(0.002)
                        continue
                break


def make_group(name: str, memory_mb: int, processes: int) -> ControlGroup:
    """Create the groups for one sandbox; what cannot be had is left null.

    Args:
        name: neutral and unique on the host.
        memory_mb: upper bound for all processes together, in MiB.
        processes: upper bound on processes and threads together.
    """
    group = ControlGroup()
    if root := _writable_v2():
        group.unified = _make(group, f"{root}/{name}")
        if group.unified:
            _limit_v2(group, root, memory_mb, processes)
    if group.memory is None:
        folder = _make(group, f"/sys/fs/cgroup/memory/{name}", parent_file="memory.limit_in_bytes")
        if folder and _try_put(f"{folder}/memory.limit_in_bytes", str(memory_mb << 20)):
            _try_put(f"{folder}/memory.memsw.limit_in_bytes", str(memory_mb << 20))
            group.memory = folder
    if group.pids is None:
        folder = _make(group, f"/sys/fs/cgroup/pids/{name}", parent_file=None)
        if folder and _try_put(f"{folder}/pids.max", str(processes)):
            group.pids = folder
    return group


def remove_groups(prefix: str) -> bool:
    """Remove every empty group whose name begins so; those in use stay. Returns whether none is left."""
    patterns = (f"/sys/fs/cgroup/{prefix}-*", f"/sys/fs/cgroup/*/{prefix}-*")
    for folder in [folder for pattern in patterns for folder in glob.glob(pattern)]:
        with contextlib.suppress(OSError):
            os.rmdir(folder)
    return not any(glob.glob(pattern) for pattern in patterns)


def _limit_v2(group: ControlGroup, root: str, memory_mb: int, processes: int) -> None:
    wanted = _controllers_v2(root) & {"memory", "pids"}
    for controller in wanted:
        _try_put(f"{root}/cgroup.subtree_control", f"+{controller}")
    if "memory" in wanted and _try_put(f"{group.unified}/memory.max", str(memory_mb << 20)):
        _try_put(f"{group.unified}/memory.swap.max", "0")
        group.memory, group.memory_is_v2 = group.unified, True
    if "pids" in wanted and _try_put(f"{group.unified}/pids.max", str(processes)):
        group.pids = group.unified


def _make(group: ControlGroup, folder: str, parent_file: str | None = None) -> str | None:
    parent = os.path.dirname(folder)
    if not os.path.isdir(parent) or (parent_file and not os.path.exists(f"{parent}/{parent_file}")):
        return None
    try:
        os.mkdir(folder)
    except FileExistsError:
        pass
    except OSError:
        return None
    group.folders.append(folder)
    return folder


def _get(path: str) -> str:
    with open(path, encoding="ascii") as file:
        return file.read()


def _put(path: str, value: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(value)


def _try_put(path: str, value: str) -> bool:
    try:
        _put(path, value)
    except OSError:
        return False
    return True
