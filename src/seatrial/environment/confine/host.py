"""What this host can do, and the prepared place from which sandboxes are started."""

import fcntl
import glob
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from seatrial.environment.confine import syscalls
from seatrial.environment.confine.bytecode import link_bytecode
from seatrial.environment.confine.cgroups import remove_groups
from seatrial.environment.confine.marked import Family
from seatrial.environment.confine.namespaces import (
    FIRST_UID,
    Mode,
    enter_private_namespaces,
    forget_namespaces,
)
from seatrial.environment.confine.rootfs import (
    Interpreter,
    find_interpreter,
    mount_interpreter,
    own_interpreter,
)
from seatrial.errors import EnvironmentFault

# Each slot takes a block of this many uids.
_UIDS_PER_SLOT = 8
_CHECK_SLOT = 998
_STAGES, _STAGE, _UNSAFE_STAGE = "/tmp", "seatrial-stage-", "seatrial-unsafe-"
_DISABLE_USERNS_SINCE = (0, 8, 0)
UNSAFE_WAY = (
    "`seatrial run --unsafe-no-sandbox` runs trials all the same, with no protection at all, and marks "
    "every record."
)


@dataclass(frozen=True)
class Host:
    """A host made ready: this process is in a private mount namespace and ``stage`` is mounted there.

    Attributes:
        mode: ``root``, ``rootless``, or ``unsafe``: nothing entered, nothing mounted, no sandbox.
        stage: neutral folder, reachable by any uid, on which worlds and views are mounted.
        slot: which block of uids is ours; worlds of different slots share no uid.
    """

    mode: Mode
    bwrap: str
    setpriv: str
    can_disable_userns: bool
    interpreter: Interpreter
    stage: str
    slot: int = 0

    def uid(self, role: str) -> int:
        """The host uid of a role of this slot (root mode); without root every role is the user.

        Without a sandbox only the world's is told, to know its files by; -1 leaves an owner as it is.
        """
        if self.mode == "unsafe":
            return os.getuid() if role == "world" else -1
        if self.mode == "rootless":
            return 0
        return FIRST_UID + self.slot * _UIDS_PER_SLOT + ("world", "agent", "verifier", "probe").index(role)


def bwrap_version(path: str) -> tuple[int, ...]:
    """bubblewrap's version; empty when it cannot be told."""
    try:
        text = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return ()
    return tuple(int(n) for n in re.findall(r"\d+", text)[:3])


def find_program(name: str, remedy: str) -> str:
    """Absolute path of a program the harness needs.

    Raises:
        EnvironmentFault: it is not installed.
    """
    path = shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin") or shutil.which(name)
    if path is None:
        raise EnvironmentFault(f"{name} is not installed. {remedy}")
    return path


def prepare_host(slot: int = 0, unsafe: bool = False) -> Host:
    """Make the host ready. Call once per process, before any thread starts.

    Args:
        slot: which block of uids to use.
        unsafe: do without a sandbox; nothing about this process is changed then.

    Raises:
        EnvironmentFault: this host cannot sandbox; the message holds the remedy.
    """
    if unsafe:
        sweep_unsafe()
        stage = _make_stage(_UNSAFE_STAGE, 0o700)
        link_bytecode(f"{stage}/pycache", os.path.realpath(sys.base_prefix))
        return Host("unsafe", "", "", False, own_interpreter(), stage, slot)
    try:
        return enter_host(slot)
    except EnvironmentFault as fault:
        raise EnvironmentFault(f"{fault} {UNSAFE_WAY}") from fault


def enter_host(slot: int) -> Host:
    """Enter private namespaces and mount the stage.

    Raises:
        EnvironmentFault: this host cannot sandbox; the message holds the remedy.
    """
    bwrap = find_program("bwrap", "Install it: apt-get install bubblewrap")
    setpriv = find_program("setpriv", "Install it: apt-get install util-linux")
    mode = enter_private_namespaces()
    if mode == "root":
        _check_uids(slot)
    _sweep()
    stage = _make_stage(_STAGE, 0o755)
    try:
        syscalls.mount("stage", stage, "tmpfs", syscalls.MS_NOSUID | syscalls.MS_NODEV, "mode=0755")
    except OSError as fault:
        os.rmdir(stage)
        raise EnvironmentFault(
            f"cannot mount in a private namespace: {fault}. Run `seatrial doctor`."
        ) from fault
    interpreter = find_interpreter()
    mount_interpreter(interpreter, stage)
    link_bytecode(f"{stage}/pycache", interpreter.home)
    usable = bwrap_version(bwrap) >= _DISABLE_USERNS_SINCE
    return Host(mode, bwrap, setpriv, usable, interpreter, stage, slot)


def check_host() -> None:
    """Try in a child whether this host can be made ready; nothing about this process or the host is changed.

    Raises:
        EnvironmentFault: it cannot; the message holds the remedy.
    """
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # The child of a process with threads makes system calls only, and ends.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        said = "the check itself failed. Run `seatrial doctor`."
        try:
            forget_namespaces()
            release_host(prepare_host(_CHECK_SLOT))
            said = ""
        except EnvironmentFault as fault:
            said = str(fault)
        finally:
            os.write(writer, said.encode(errors="replace"))
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as file:
        answer = file.read().decode(errors="replace")
    os.waitpid(pid, 0)
    if answer:
        raise EnvironmentFault(answer)


def release_host(host: Host) -> None:
    """Detach the stage and remove its folder; safe to call twice."""
    if host.mode == "unsafe":
        shutil.rmtree(host.stage, ignore_errors=True)
        return
    try:
        syscalls.unmount(host.stage)
        os.rmdir(host.stage)
    except OSError:
        pass


def _make_stage(prefix: str, mode: int) -> str:
    """A new folder, locked for as long as this process lives; another's sweep may take it before that."""
    while True:
        stage = tempfile.mkdtemp(prefix=prefix, dir=_STAGES)
        try:
            os.chmod(stage, mode)
            lock = os.open(stage, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(lock, fcntl.LOCK_SH)
            if os.path.samestat(os.fstat(lock), os.stat(stage)):
                return stage
            os.close(lock)
        except FileNotFoundError:
            continue


def _sweep() -> None:
    """Remove what harnesses that were killed could not: their stages' folders and control groups.

    A living harness holds a lock on its folder, whichever namespaces it is in.
    """
    for stage in _dead_stages(_STAGE):
        try:
            # A folder is what its groups are found by: it stays while a dying process holds one of them.
            if remove_groups(os.path.basename(stage)):
                os.rmdir(stage)
        except OSError:
            pass


def sweep_unsafe() -> None:
    """End what trials without a sandbox left when their harness was killed, by their marks alone."""
    for stage in _dead_stages(_UNSAFE_STAGE):
        try:
            ours = os.stat(stage).st_uid == os.getuid()
        except FileNotFoundError:
            continue
        if ours:
            Family(os.path.basename(stage)).kill()
            shutil.rmtree(stage, ignore_errors=True)


def _dead_stages(prefix: str) -> Iterator[str]:
    """Stages whose harness is gone; each is locked while it is looked at."""
    for stage in glob.glob(f"{_STAGES}/{prefix}*"):
        try:
            lock = os.open(stage, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield stage
        except OSError:
            pass
        finally:
            os.close(lock)


def _check_uids(slot: int) -> None:
    """Refuse a uid block that the host has given to somebody."""
    first = FIRST_UID + slot * _UIDS_PER_SLOT
    for uid in range(first, first + _UIDS_PER_SLOT):
        try:
            name = pwd.getpwuid(uid).pw_name
        except KeyError:
            continue
        raise EnvironmentFault(f"uid {uid} belongs to user {name!r}. Free it or run with another slot.")
