"""Mounting the one overlay that holds every writable root, and materialising recorded states as layers."""

import contextlib
import os
import shutil
import subprocess

from seatrial.environment.confine import syscalls
from seatrial.environment.confine.host import Host
from seatrial.environment.state.base import Base
from seatrial.environment.state.restore import make_equal
from seatrial.errors import EnvironmentFault
from seatrial.journal.entries import State, path_bytes
from seatrial.journal.objects import ObjectStore

# With an index and file handles the kernel can tell fanotify which file an event is about.
_TRACEABLE = "index=on,nfs_export=on,"


# A world is never mounted again after a crash, so that nothing in it needs to wait for the disk.
_UNSYNCED = "volatile,"


def _mount_first(tree: str, choices: list[str]) -> str:
    """Mount with the first options that this kernel takes, and return them."""
    for options in choices[:-1]:
        with contextlib.suppress(OSError):
            syscalls.mount("overlay", tree, "overlay", 0, options)
            return options
    syscalls.mount("overlay", tree, "overlay", 0, choices[-1])
    return choices[-1]


class Overlay:
    """One mounted overlay.

    Attributes:
        tree: where it is mounted, under the host's stage.
        upper: its upper layer.
        traceable: whether fanotify can follow it.
    """

    def __init__(
        self, host: Host, scratch: str, name: str, lowers: list[str], traceable: bool = True
    ) -> None:
        """Mount a fresh upper layer over ``lowers`` (paths relative to ``scratch``, topmost first).

        Args:
            traceable: whether fanotify should be able to follow it, where that is possible; an index makes
                every change slower.

        Raises:
            EnvironmentFault: the host cannot mount it.
        """
        self.name, self._scratch = name, scratch
        self.upper = f"{scratch}/worlds/{name}/upper"
        self._work = f"{scratch}/worlds/{name}/work"
        self.tree = f"{host.stage}/{name}"
        for folder in (self.upper, self._work, self.tree):
            os.makedirs(folder, exist_ok=True)
        os.chmod(self.upper, 0o755)
        self.traceable = traceable and host.mode == "root"
        try:
            self._mount(host, lowers)
        except OSError as fault:
            shutil.rmtree(f"{scratch}/worlds/{name}", ignore_errors=True)
            raise EnvironmentFault(
                f"cannot mount an overlay: {fault}. "
                "Put the run folder on ext4, xfs or btrfs; see `seatrial doctor`."
            ) from fault

    def _mount(self, host: Host, lowers: list[str]) -> None:
        layers = (
            f"lowerdir={':'.join(lowers)},upperdir=worlds/{self.name}/upper,workdir=worlds/{self.name}/work"
        )
        here = os.getcwd()
        os.chdir(self._scratch)
        try:
            if host.mode == "rootless":
                _mount_first(self.tree, [f"{_UNSYNCED}userxattr,{layers}", f"userxattr,{layers}"])
                return
            plain = [_UNSYNCED + layers, layers]
            choices = [_UNSYNCED + _TRACEABLE + layers, _TRACEABLE + layers] if self.traceable else []
            self.traceable = _TRACEABLE in _mount_first(self.tree, [*choices, *plain])
        finally:
            os.chdir(here)

    def close(self) -> None:
        """Unmount and delete the upper layer."""
        try:
            syscalls.unmount(self.tree)
            os.rmdir(self.tree)
        except OSError:
            pass
        remove_tree(f"{self._scratch}/worlds/{self.name}")


def remove_tree(folder: str) -> None:
    """Delete a tree whatever modes its folders have and however deep it is."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except (OSError, RecursionError):
        # An agent can make folders deeper than the interpreter follows; this walks by descriptors.
        subprocess.run(["/bin/rm", "-rf", "--", folder], check=False, stderr=subprocess.DEVNULL)


def layer_inodes(folder: str, delta: State) -> dict[int, str]:
    """Inode numbers of all but the folders of a layer, which the overlay shows unchanged, to their paths."""
    numbers = {}
    for path, entry in delta.items():
        if entry.kind not in ("absent", "dir"):
            numbers[os.lstat(os.fsencode(folder) + b"/" + path_bytes(path)).st_ino] = path
    return numbers


def make_layer(
    host: Host, scratch: str, base: Base, base_layer: str, delta: State, objects: ObjectStore, name: str
) -> str:
    """Materialise a state as a layer that any number of forks can share.

    Args:
        base_layer: the base's folder relative to ``scratch``.
        delta: how the state differs from the base.
        name: of the layer; the state's fingerprint.

    Returns:
        The layer's path relative to ``scratch``. It is made once and then only read.
    """
    layer = f"layers/{name}-{host.uid('world')}"  # its files belong to the uid of one slot
    if os.path.isdir(f"{scratch}/{layer}"):
        return layer
    os.makedirs(f"{scratch}/layers", exist_ok=True)
    overlay = Overlay(host, scratch, f"layer-{name[:16]}-{os.getpid()}", [base_layer], traceable=False)
    try:
        make_equal(overlay.tree, base.state, delta, objects, host.uid("world"))
        syscalls.unmount(overlay.tree)
        try:
            os.rename(overlay.upper, f"{scratch}/{layer}")
        except OSError:
            if not os.path.isdir(f"{scratch}/{layer}"):
                raise
    finally:
        overlay.close()
    return layer
