"""The harness's own private mount namespace, so that no mount of a trial is seen or outlives its process."""

import os
from typing import Literal

from seatrial.environment.confine import syscalls
from seatrial.errors import EnvironmentFault

Mode = Literal["root", "rootless", "unsafe"]
# Far above what distributions hand out: the uids that sandboxes of a real root drop to begin here.
FIRST_UID = 1_610_000_000
_entered: Mode | None = None


def is_real_root() -> bool:
    """Whether this process may use any uid of the host; uid 0 of a user namespace may not."""
    if os.getuid() != 0:
        return False
    with open("/proc/self/uid_map", encoding="ascii") as file:
        ranges = [tuple(map(int, line.split())) for line in file]
    return any(first <= FIRST_UID < first + count for first, _, count in ranges)


def forget_namespaces() -> None:
    """For a forked child: what its parent entered is not its own, it may enter anew."""
    global _entered
    _entered = None


def enter_private_namespaces() -> Mode:
    """Put this process into a private mount namespace (without root: inside a new user namespace too).

    Must run before any thread is started. Calling it again is harmless. Without root the process is uid 0
    of its user namespace afterwards, and may mount overlays but nothing else changes for the host.

    Raises:
        EnvironmentFault: the host forbids it; the message holds the remedy.
    """
    global _entered
    if _entered:
        return _entered
    uid, gid = os.getuid(), os.getgid()
    mode: Mode = "root" if is_real_root() else "rootless"
    try:
        if mode == "root":
            syscalls.unshare(syscalls.CLONE_NEWNS)
        else:
            syscalls.unshare(syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS)
            _write("/proc/self/setgroups", "deny")
            _write("/proc/self/uid_map", f"0 {uid} 1")
            _write("/proc/self/gid_map", f"0 {gid} 1")
        syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    except OSError as fault:
        raise EnvironmentFault(
            f"cannot create a private namespace: {fault.strerror}. "
            "Run `seatrial doctor`: it says what this host lacks and how to allow it."
        ) from fault
    _entered = mode
    return mode


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
