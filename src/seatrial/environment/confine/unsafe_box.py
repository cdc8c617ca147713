"""A box on a host without a sandbox: an ordinary process, with what would be mounted at its own place.

Nothing is hidden and nothing is bounded but by rlimits. Inside paths become real ones where they stand alone:
as a word of the command, as a part of a variable between colons, as the working directory. A path in the
middle of a word, or in a file, stays as it is and names the host's.
"""

import os
import secrets
import shutil
import subprocess

from seatrial.environment.confine import rootfs
from seatrial.environment.confine.box import Box
from seatrial.environment.confine.host import Host
from seatrial.environment.confine.marked import NAME, Family
from seatrial.errors import EnvironmentFault

_HOME, _TMP = "/home/agent", "/tmp"


class PlainProcess(subprocess.Popen[bytes]):
    """A started box, with what is needed to end it."""

    family: Family
    folder: str

    def end(self) -> None:
        """Kill it and all that carries its mark, and remove its folder; safe to call again."""
        if self.poll() is None:
            self.family.kill(session=self.pid)
            self.kill()
        self.wait()
        self.family.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class _Places:
    """Where the inside paths of a box really are."""

    def __init__(self, box: Box, folder: str) -> None:
        self._folder = folder
        self._mounts = {mount.target: mount.source for mount in box.mounts}
        self._files = list(box.files)
        self._own = [*box.tmpfs, *box.folders]
        self._own += [path for path in (_HOME, _TMP) if self._mounted(path) is None]
        for path in self._own:
            os.makedirs(folder + path, exist_ok=True)
        for path, data in box.files.items():
            os.makedirs(os.path.dirname(folder + path), exist_ok=True)
            with open(os.open(folder + path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o555), "wb") as file:
                file.write(data)

    def real(self, path: str) -> str:
        """The path on this host; what the box does not hold stays as it is."""
        if not path.startswith("/"):
            return path
        mounted = self._mounted(path)
        if mounted is not None:
            return mounted
        is_own = any(path == own or path.startswith(f"{own}/") for own in self._own)
        leads_to_file = any(f"{file}/".startswith(f"{path.rstrip('/')}/") for file in self._files)
        return self._folder + path if is_own or (leads_to_file and path != "/") else path

    def _mounted(self, path: str) -> str | None:
        holding = [t for t in self._mounts if path == t or path.startswith(f"{t}/")]
        if not holding:
            return None
        target = max(holding, key=len)
        return self._mounts[target] + path[len(target) :]

    def environment(self, variables: dict[str, str]) -> dict[str, str]:
        return {name: ":".join(map(self.real, value.split(":"))) for name, value in variables.items()}


def start_plain(
    box: Box, host: Host, stdin: int | None, stdout: int | None, stderr: int | None
) -> PlainProcess:
    """Start a box's command as a child; see ``box.start``."""
    token = secrets.token_hex(16)
    folder = f"{host.stage}/b{token}"
    os.mkdir(folder, 0o700)
    places = _Places(box, folder)
    variables = {**rootfs.plain_environment(host.interpreter), "TMPDIR": _TMP, **box.environment}
    mark = f"{os.path.basename(host.stage)}/{token}"
    own = {"PYTHONPYCACHEPREFIX": f"{host.stage}/pycache", NAME: mark}
    try:
        process = PlainProcess(
            [places.real(word) for word in box.command],
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=subprocess.DEVNULL if stdout is None else stdout,
            stderr=subprocess.DEVNULL if stderr is None else stderr,
            pass_fds=box.keep,
            cwd=places.real(box.chdir),
            env={**places.environment(variables), **own},
            start_new_session=True,
        )
    except (OSError, ValueError) as fault:
        shutil.rmtree(folder, ignore_errors=True)
        raise EnvironmentFault(f"cannot start {box.command[0]}: {fault}.") from fault
    process.family, process.folder = Family(mark), folder
    return process
