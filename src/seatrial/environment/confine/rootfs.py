"""The curated root file system of every sandbox: an interpreter, a shell, and nothing of the host's own.

Third-party packages of the host's interpreters are masked: a package under repair may be installed there.
"""

import glob
import os
import sys
from dataclasses import dataclass
from functools import cache

from seatrial.environment.confine import bytecode, syscalls
from seatrial.environment.confine.namespaces import is_real_root

PYTHON_HOME = "/opt/python"
_MERGED_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_PACKAGE_FOLDERS = {"site-packages", "dist-packages", "_bundled", "python-wheels"}
_LIBRARY_FOLDERS = ("/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/share")
# Large, and without programs.
_NO_PACKAGES = {"doc", "icons", "info", "locale", "man", "zoneinfo"}
_ETC = ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "magic", "mime.types")


@dataclass(frozen=True)
class Interpreter:
    """The Python inside the sandbox: ``program`` there, and the folder to mount (null when under /usr)."""

    program: str
    prefix: str | None
    library_path: str | None

    @property
    def home(self) -> str:
        """Its prefix as seen from inside a sandbox."""
        return "/usr" if self.prefix is None else PYTHON_HOME


def find_interpreter() -> Interpreter:
    """The interpreter that runs this process, seen from inside a sandbox."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    prefix = os.path.realpath(sys.base_prefix)
    if prefix == "/usr":
        return Interpreter(f"/usr/bin/{version}", None, None)
    shared = glob.glob(f"{prefix}/lib/libpython*.so*")
    return Interpreter(f"{PYTHON_HOME}/bin/{version}", prefix, f"{PYTHON_HOME}/lib" if shared else None)


def own_interpreter() -> Interpreter:
    """The interpreter that runs this process, where it lies on the host."""
    inside = find_interpreter()
    library = None if inside.library_path is None else f"{os.path.realpath(sys.base_prefix)}/lib"
    return Interpreter(os.path.realpath(sys.executable), None, library)


def mount_interpreter(interpreter: Interpreter, stage: str) -> None:
    """Make the prefix available under ``stage`` without its host path showing in any ``/proc`` file.

    A bind mount shows the folder's path on its device; an overlay shows only the names it was given,
    here two names relative to the stage.
    """
    if interpreter.prefix is None:
        return
    for name in ("nothing", "python"):
        os.makedirs(f"{stage}/{name}", exist_ok=True)
    os.symlink(interpreter.prefix, f"{stage}/prefix")
    here = os.getcwd()
    os.chdir(stage)
    try:
        options = "lowerdir=prefix:nothing"
        if not is_real_root():
            options = f"userxattr,{options}"
        syscalls.mount("overlay", "python", "overlay", syscalls.MS_RDONLY | syscalls.MS_NOSUID, options)
    finally:
        os.chdir(here)


@cache
def package_folders() -> list[str]:
    """Folders below /usr that hold third-party packages, those of bundled interpreters too."""
    found: list[str] = []
    pending = [folder for folder in _LIBRARY_FOLDERS if not os.path.islink(folder)]
    while pending:
        try:
            entries = os.scandir(pending.pop())
        except OSError:
            continue
        with entries:
            for entry in entries:
                if entry.name in _NO_PACKAGES or not entry.is_dir(follow_symlinks=False):
                    continue
                (found if entry.name in _PACKAGE_FOLDERS else pending).append(entry.path)
    return sorted(found)


def curated_arguments(interpreter: Interpreter, stage: str) -> list[str]:
    """bwrap arguments for the read-only part of the root file system."""
    arguments = ["--ro-bind", "/usr", "/usr", "--tmpfs", "/usr/local", "--remount-ro", "/usr/local"]
    for name in _MERGED_LINKS:
        path = f"/{name}"
        if os.path.islink(path):
            arguments += ["--symlink", os.readlink(path).lstrip("/"), path]
        elif os.path.isdir(path):
            arguments += ["--ro-bind", path, path]
    for folder in package_folders():
        arguments += ["--tmpfs", folder, "--remount-ro", folder]
    for name in _ETC:
        if os.path.exists(f"/etc/{name}"):
            arguments += ["--ro-bind", f"/etc/{name}", f"/etc/{name}"]
    if interpreter.prefix is not None:
        arguments += ["--ro-bind", f"{stage}/python", PYTHON_HOME]
        for pattern in ("lib/python*/site-packages", "lib/python*/ensurepip/_bundled"):
            for folder in sorted(glob.glob(f"{interpreter.prefix}/{pattern}")):
                inside = f"{PYTHON_HOME}/{os.path.relpath(folder, interpreter.prefix)}"
                arguments += ["--tmpfs", inside, "--remount-ro", inside]
    return arguments


def search_path(interpreter: Interpreter) -> str:
    """``PATH`` inside the sandbox."""
    own = os.path.dirname(interpreter.program)
    return ":".join(dict.fromkeys([own, "/usr/bin", "/bin", "/usr/sbin", "/sbin"]))


def plain_environment(interpreter: Interpreter) -> dict[str, str]:
    """Environment variables of every process inside.

    Bytecode is neither written nor read beside sources: the cache prefix lies on a read-only place that holds
    the interpreter's own, so planted or stale ``__pycache__`` folders never run.
    """
    variables = {
        "PATH": search_path(interpreter),
        "HOME": "/home/agent",
        "USER": "agent",
        "LANG": "C.UTF-8",
        "SHELL": "/bin/bash",
        "TERM": "dumb",
        "PYTHONPYCACHEPREFIX": bytecode.PREFIX,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
    }
    if interpreter.library_path:
        variables["LD_LIBRARY_PATH"] = interpreter.library_path
    return variables
