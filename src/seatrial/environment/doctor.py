"""Says what this host can do for sandboxes, what it lacks, and the exact commands that remedy it."""

import contextlib
import os
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from seatrial.environment.confine import syscalls
from seatrial.environment.confine.cgroups import make_group
from seatrial.environment.confine.host import bwrap_version, enter_host, release_host
from seatrial.environment.confine.namespaces import enter_private_namespaces, forget_namespaces, is_real_root
from seatrial.environment.ground import Ground
from seatrial.environment.sandbox import BubblewrapSandbox
from seatrial.environment.scratch import scratch_folder
from seatrial.environment.state.base import index_base, lay_out
from seatrial.environment.state.overlay import Overlay
from seatrial.environment.watching.fanotify import FanotifyWatcher
from seatrial.errors import SeatrialError
from seatrial.journal.objects import ObjectStore

_PATIENCE_SECONDS = 30
_FREE_MB = 2048
_WATCHES = 65_536
_APPARMOR = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
_USERNS_SWITCHES = (
    ("/proc/sys/user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=15000"),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
)


class Check(msgspec.Struct, frozen=True):
    """One thing looked at.

    Attributes:
        name: short and stable.
        ok: whether trials can run as they should; a check that is not may still be one that only narrows
            what is seen (``needed`` is false).
        detail: what was found.
        remedy: exact commands or one sentence; empty when there is nothing to do.
        needed: whether a host that fails here cannot run trials at all.
    """

    name: str
    ok: bool
    detail: str
    remedy: str = ""
    needed: bool = True


def examine(folder: Path | None = None) -> list[Check]:
    """Look at this host; nothing about this process or the host is changed.

    Args:
        folder: where runs are kept; the folder for temporary files when null.
    """
    place = folder or Path(tempfile.gettempdir())
    return [
        _python(),
        _bubblewrap(),
        _in_child("setpriv", _setpriv),
        _in_child("user namespaces", _user_namespaces),
        _in_child("overlay", lambda: _overlay(place)),
        _in_child("fanotify", lambda: _fanotify(place)),
        _inotify(),
        _in_child("control groups", _control_groups),
        _in_child("sandbox", lambda: _sandbox(place)),
        _space(place),
        _in_child("observation", lambda: _observation(place)),
    ]


def _in_child(name: str, look: Callable[[], Check]) -> Check:
    """Run a check in a process of its own, since it may enter namespaces, mount or hang."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        signal.alarm(_PATIENCE_SECONDS)
        forget_namespaces()
        try:
            found = look()
        except SeatrialError as fault:
            found = Check(name, False, str(fault), "See the other checks")
        except BaseException:
            said = traceback.format_exc().strip().rpartition("\n")[2]
            found = Check(name, False, f"the check itself failed: {said}", "Report this")
        with open(writer, "wb") as file:
            file.write(msgspec.json.encode(found))
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as file:
        data = file.read()
    os.waitpid(pid, 0)
    if not data:
        return Check(name, False, f"no answer within {_PATIENCE_SECONDS} seconds", "Look at the kernel's log")
    return msgspec.json.decode(data, type=Check)


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    ok = sys.version_info >= (3, 11)
    return Check("python", ok, f"{version} at {sys.executable}", "" if ok else "Use Python 3.11 or newer")


def _bubblewrap() -> Check:
    path = shutil.which("bwrap", path="/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin") or shutil.which("bwrap")
    if path is None:
        remedy = "apt-get install bubblewrap (Debian, Ubuntu); dnf install bubblewrap (Fedora)"
        return Check("bubblewrap", False, "bwrap is not installed", remedy)
    version = bwrap_version(path)
    text = ".".join(map(str, version)) or "unknown"
    if version < (0, 5, 0):
        return Check("bubblewrap", False, f"{path} has version {text}", "Install bubblewrap 0.5 or newer")
    if version < (0, 8, 0):
        detail = f"{path} has version {text}: processes inside may make user namespaces of their own"
        return Check("bubblewrap", False, detail, "Install bubblewrap 0.8 or newer", needed=False)
    return Check("bubblewrap", True, f"{path}, version {text}")


def _setpriv() -> Check:
    path = shutil.which("setpriv", path="/usr/bin:/bin:/usr/sbin:/sbin")
    return Check(
        "setpriv", bool(path), path or "is not installed", "" if path else "apt-get install util-linux"
    )


def _user_namespaces() -> Check:
    name, mode = "user namespaces", "root" if is_real_root() else "an ordinary user"
    for switch, off, remedy in _USERNS_SWITCHES:
        if _read(switch) == off:
            return Check(name, False, f"{switch} is {off}", f"As root: {remedy}")
    try:
        enter_private_namespaces()
        syscalls.mount("probe", "/tmp", "tmpfs", 0, "size=4k")
    except (SeatrialError, OSError) as fault:
        return Check(name, False, f"not for {mode}: {fault}", _namespace_remedy())
    return Check(name, True, f"private namespaces and mounts work for {mode}")


def _namespace_remedy() -> str:
    """What to do where unprivileged user namespaces are forbidden; on recent Ubuntu by AppArmor."""
    if _read(_APPARMOR) != "1":
        return "Run as root, or in a container started with --privileged"
    program = os.path.realpath(sys.executable)
    head = "abi <abi/4.0>,\\ninclude <tunables/global>\\nprofile"
    allow = "flags=(unconfined) { userns, }\\n"
    return (
        "AppArmor forbids it. Allow this interpreter and bwrap, as root:\n"
        f"  printf '{head} seatrial {program} {allow}' > /etc/apparmor.d/seatrial\n"
        f"  printf '{head} seatrial-bwrap /usr/bin/bwrap {allow}' > /etc/apparmor.d/seatrial-bwrap\n"
        "  apparmor_parser -r /etc/apparmor.d/seatrial /etc/apparmor.d/seatrial-bwrap\n"
        "or for every program until the next start:\n"
        "  sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
    )


@contextlib.contextmanager
def _ground(place: Path) -> Iterator[Ground]:
    """A small ground in a folder of its own, gone afterwards."""
    host = enter_host(slot=999)
    try:
        with scratch_folder("seatrial-doctor-", place) as folder:
            base = folder / "bases" / "probe"
            lay_out(None, base, host.uid("world") if host.mode == "root" else None)
            objects = ObjectStore(folder / "objects")
            yield Ground(host, str(folder), index_base(str(base), objects, host.uid("world")), objects)
    finally:
        release_host(host)


def _overlay(place: Path) -> Check:
    with _ground(place) as ground:
        overlay = Overlay(ground.host, ground.scratch, "probe", [ground.base_layer])
        try:
            traceable = overlay.traceable
            Path(overlay.tree, "workspace", "written").write_text("x")
        finally:
            overlay.close()
    kind = "with an index and file handles" if traceable else "without an index"
    return Check("overlay", True, f"mounts on {place}, {kind}")


def _fanotify(place: Path) -> Check:
    lost = "writes undone within one command, in folders the command made itself, are reported as unknown"
    if not is_real_root():
        return Check("fanotify", False, f"needs root; without it {lost}", "Run as root", needed=False)
    with _ground(place) as ground:
        overlay = Overlay(ground.host, ground.scratch, "probe", [ground.base_layer])
        try:
            FanotifyWatcher(overlay.tree, [""]).close()
        except OSError as fault:
            detail = f"no mark on an overlay: {fault}; {lost}"
            return Check("fanotify", False, detail, "Use Linux 6.8 or newer", needed=False)
        finally:
            overlay.close()
    return Check("fanotify", True, "sees every file of a world")


def _inotify() -> Check:
    watches = int(_read("/proc/sys/fs/inotify/max_user_watches") or 0)
    instances = int(_read("/proc/sys/fs/inotify/max_user_instances") or 0)
    ok = watches >= _WATCHES and instances >= 64
    detail = f"{watches} watches (one a folder), {instances} instances (one a world)"
    remedy = (
        f"As root: sysctl -w fs.inotify.max_user_watches={_WATCHES * 8} fs.inotify.max_user_instances=1024"
    )
    return Check("inotify", ok, detail, "" if ok else remedy, needed=False)


def _control_groups() -> Check:
    name = "control groups"
    weaker = "memory is bounded for each process alone, and running out of it is not told from other deaths"
    if not is_real_root():
        return Check(name, False, f"need root; without them {weaker}", "Run as root", needed=False)
    group = make_group(f"seatrial-doctor-{os.getpid()}", 64, 16)
    try:
        if group.can_freeze:
            group.freeze()
            group.thaw()
        have = [
            f"memory (version {2 if group.memory_is_v2 else 1})" if group.memory else "",
            "processes" if group.pids else "",
            "freezing" if group.can_freeze else "",
        ]
    finally:
        group.close()
    found, ok = ", ".join(filter(None, have)) or "none", all(have)
    remedy = "" if ok else "Mount version 2: mount -t cgroup2 none /sys/fs/cgroup/unified"
    return Check(name, ok, found if ok else f"only {found}; {weaker}", remedy, needed=False)


def _sandbox(place: Path) -> Check:
    with _ground(place) as ground:
        world = BubblewrapSandbox(ground)
        try:
            world.prove_reset()
            result = world.shell("echo seen > file; id -un")
            changed = [entry.path for entry in world.settle().changes]
            whole = world.audit()
        finally:
            world.close()
    said = result.output.decode(errors="replace").strip()
    ok = result.exit_code == 0 and said == "agent" and changed == ["workspace/file"] and whole
    detail = f"an action ended with {result.exit_code}, said {said!r}, changed {changed}"
    return Check("sandbox", ok, detail, "" if ok else "See the other checks")


def _space(place: Path) -> Check:
    free = shutil.disk_usage(place).free >> 20
    ok = free >= _FREE_MB
    return Check(
        "disk", ok, f"{free} MiB free in {place}", "" if ok else f"Free {_FREE_MB} MiB", needed=False
    )


def _observation(place: Path) -> Check:
    """What a constraint with ``mode = "observe"`` can rely on here."""
    name = "observation"
    with _ground(place) as ground:
        world = BubblewrapSandbox(ground)
        try:
            world.shell("mkdir n; echo x > n/f; cat n/f; rm -r n")
            touched = world.settle().touched
        finally:
            world.close()
        kind = world.watcher.name if world.watcher else "none"
    if "workspace/n/f" in touched.paths and not touched.blind and not touched.overflow:
        return Check(name, True, f"reads and writes undone within one command are seen everywhere ({kind})")
    detail = (
        f"reads and writes undone within one command are seen ({kind}), but not in folders which that "
        "command makes: where a constraint reaches into one, the window counts as unknown, never as clean"
    )
    return Check(name, False, detail, "Run as root on Linux 6.8 or newer", needed=False)


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""
