"""Starts and stops a described sandbox with bubblewrap, or without one on a host that has none."""

import contextlib
import os
import select
import signal
import subprocess

from seatrial.environment.confine import bytecode, rootfs
from seatrial.environment.confine.box import Box
from seatrial.environment.confine.host import Host
from seatrial.environment.confine.unsafe_box import PlainProcess, start_plain
from seatrial.errors import EnvironmentFault

_PASSWD = "root:x:0:0::/:/usr/sbin/nologin\nagent:x:1000:1000::/home/agent:/bin/bash\n"
_GROUP = "root:x:0:\nagent:x:1000:\n"
_HOSTS = "127.0.0.1 localhost\n::1 localhost\n"
_END_SECONDS = 10.0
_NSSWITCH = "passwd: files\ngroup: files\nhosts: files\n"


def start(
    box: Box, host: Host, stdin: int | None = None, stdout: int | None = None, stderr: int | None = None
) -> subprocess.Popen[bytes]:
    """Start the process; it dies with the thread that called this. Where the host has no sandbox it is a
    plain process that does neither: see ``unsafe_box``.

    Args:
        box: what to run and what it sees.
        host: the prepared host (namespaces entered, stage mounted).
        stdin, stdout, stderr: descriptors; null means ``/dev/null``.

    Raises:
        EnvironmentFault: the process cannot be started at all.
    """
    if host.mode == "unsafe":
        return start_plain(box, host, stdin, stdout, stderr)
    hidden = {path: b"" for path, is_folder in box.masks.items() if not is_folder}
    with _sealed({**box.files, **hidden}) as sealed:
        listing = _spool(_arguments(box, host, sealed.numbers))
        command = [host.bwrap, "--args", str(listing), "--", *box.command]
        try:
            return subprocess.Popen(
                _launcher(box, host, command),
                stdin=subprocess.DEVNULL if stdin is None else stdin,
                stdout=subprocess.DEVNULL if stdout is None else stdout,
                stderr=subprocess.DEVNULL if stderr is None else stderr,
                pass_fds=[*box.keep, *sealed.numbers.values(), listing],
                cwd="/",
                env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
                start_new_session=True,
            )
        except OSError as fault:
            raise EnvironmentFault(f"cannot start {host.bwrap}: {fault.strerror}.") from fault
        finally:
            os.close(listing)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Kill a box and everything in it, and wait until nothing of it is left."""
    if isinstance(process, PlainProcess):
        process.end()
        return
    first = [descriptor for pid in _children(process.pid) if (descriptor := _pidfd(pid)) is not None]
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for descriptor in first:
        # The first process of a PID namespace ends only after all others in it have.
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.poll(_END_SECONDS * 1000)
        os.close(descriptor)


def end_leftovers(process: subprocess.Popen[bytes]) -> None:
    """After the first process of a box has ended: end all others where no PID namespace did."""
    if isinstance(process, PlainProcess):
        process.end()


def _children(pid: int) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def _pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def _launcher(box: Box, host: Host, command: list[str]) -> list[str]:
    """Join control groups and drop the uid before bubblewrap unshares anything."""
    if host.mode == "root":
        identity = ["--reuid", str(box.uid), "--regid", str(box.uid), "--clear-groups", "--no-new-privs"]
        command = [host.setpriv, *identity, *command]
    if not box.join:
        return command
    script = "".join('echo $$ > "$1/cgroup.procs" || exit 120; shift; ' for _ in box.join) + 'exec "$@"'
    return ["/bin/sh", "-c", script, "sh", *box.join, *command]


def _arguments(box: Box, host: Host, sealed: dict[str, int]) -> list[str]:
    arguments = ["--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL"]
    if host.can_disable_userns:
        arguments.append("--disable-userns")
    arguments += ["--die-with-parent", "--new-session", "--hostname", "host", "--clearenv"]
    if box.as_init:
        arguments.append("--as-pid-1")
    for name, value in {**rootfs.plain_environment(host.interpreter), **box.environment}.items():
        arguments += ["--setenv", name, value]
    arguments += rootfs.curated_arguments(host.interpreter, host.stage)
    arguments += ["--proc", "/proc", "--dev", "/dev", "--dir", "/run", "--dir", "/home", "--dir", "/var"]
    arguments += ["--ro-bind", f"{host.stage}/pycache", bytecode.PREFIX]
    for folder in box.folders:
        arguments += ["--dir", folder]
    for path, descriptor in sealed.items():
        if path not in box.masks:
            arguments += ["--perms", "0555", "--ro-bind-data", str(descriptor), path]
    for mount in box.mounts:
        arguments += ["--bind" if mount.writable else "--ro-bind", mount.source, mount.target]
    for path, is_folder in box.masks.items():
        if is_folder:
            arguments += ["--perms", "0000", "--tmpfs", path, "--remount-ro", path]
        else:
            arguments += ["--perms", "0000", "--ro-bind-data", str(sealed[path]), path]
    for folder in box.tmpfs:
        arguments += ["--perms", "0700", "--tmpfs", folder]
    # Everything that is left writable by now but not declared would escape the fingerprint.
    return [*arguments, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", box.chdir]


class _sealed:
    """Files handed to bubblewrap through descriptors, so that no host path is bound for them."""

    def __init__(self, files: dict[str, bytes]) -> None:
        plain = {
            "/etc/passwd": _PASSWD.encode(),
            "/etc/group": _GROUP.encode(),
            "/etc/hosts": _HOSTS.encode(),
            "/etc/nsswitch.conf": _NSSWITCH.encode(),
        }
        self.numbers: dict[str, int] = {}
        for path, data in {**plain, **files}.items():
            self.numbers[path] = _in_memory(data)

    def __enter__(self) -> "_sealed":
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self.numbers.values():
            os.close(descriptor)


def _spool(arguments: list[str]) -> int:
    """A descriptor from which bubblewrap reads its arguments, so that no process shows them."""
    return _in_memory(b"\0".join(os.fsencode(a) for a in arguments) + b"\0")


def _in_memory(data: bytes) -> int:
    descriptor = os.memfd_create("data")
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
