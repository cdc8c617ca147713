"""A task's verifier files: frozen by digest, laid out once, labelled by what they and a subgoal declare."""

import os
import stat
import sys
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from seatrial.environment.confine.bytecode import compiled
from seatrial.errors import JournalError, SpecError
from seatrial.journal.digest import digest_bytes, digest_value
from seatrial.journal.objects import ObjectStore
from seatrial.journal.run import TaskFrozen
from seatrial.spec.folder import FileMap, content, scan_folder
from seatrial.spec.task import Subgoal

FOLDER = "verifiers"
_CACHE = "__pycache__"
# Compiling takes some hundred times as much memory, and here no limit bounds it.
_LARGE_SOURCE = 1 << 20
_NAME_BYTES = 255
# The last two where expressions are nested too deep.
_UNCOMPILABLE = (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError)


@dataclass(frozen=True)
class VerifierFiles:
    """The files verifiers bring along, by path inside the task folder; the bytes are in the object store."""

    files: FileMap

    @classmethod
    def of_task(cls, task: TaskFrozen) -> "VerifierFiles":
        """Those of a frozen task: all below ``verifiers/`` and whatever lies beside a verifier elsewhere."""
        homes = {FOLDER, *(str(subgoal["verifier"]).split("/")[0] for subgoal in task.spec["subgoal"])}
        return cls({path: kept for path, kept in task.files.items() if path.split("/")[0] in homes})

    @classmethod
    def of_folder(cls, folder: Path, objects: ObjectStore) -> "VerifierFiles":
        """Other ones, read from a folder that stands for ``verifiers/`` and kept in the object store.

        Raises:
            SpecError: a file cannot be read or frozen.
        """
        if not folder.is_dir():
            raise SpecError(str(folder), "", "is no folder", "Give the folder that holds the verifiers")
        files = scan_folder(folder)
        for relative, (digest, _) in files.items():
            data = content(folder, relative)
            if digest_bytes(data) != digest:
                raise SpecError(str(folder / relative), "", "was changed while it was read", "Start again")
            objects.put(data, digest)
        return cls({f"{FOLDER}/{relative}": kept for relative, kept in files.items()})

    def digest(self, subgoal: Subgoal) -> str:
        """The verifier's digest: all files, which of them is started, and what it declares to read."""
        return digest_value([self.files, subgoal.verifier, subgoal.reads])

    def program(self, subgoal: Subgoal) -> str:
        """The verifier's path inside its sandbox.

        Raises:
            JournalError: these files hold no such verifier.
        """
        if subgoal.verifier not in self.files:
            raise JournalError(
                f"subgoal {subgoal.id!r}: there is no {subgoal.verifier!r} among the verifier files "
                f"{sorted(self.files)[:10]}. Add it, or judge with the frozen ones."
            )
        return inside(subgoal.verifier)

    def lay_out(self, folder: Path, objects: ObjectStore) -> None:
        """Write them to a new folder, readable by everybody, with the bytecode of what they may import."""
        folder.mkdir(parents=True)
        folder.chmod(0o755)
        for path, (digest, mode) in sorted(self.files.items()):
            target = _laid_out(folder, path)
            for parent in reversed(target.relative_to(folder).parents[:-1]):
                (folder / parent).mkdir(exist_ok=True)
                (folder / parent).chmod(0o755)
            data = objects.get(digest)
            if stat.S_ISLNK(mode):
                os.symlink(data, os.fsencode(target))
            else:
                target.write_bytes(data)
                target.chmod(mode & 0o777 | 0o444)
        self._lay_out_bytecode(folder)

    def _lay_out_bytecode(self, folder: Path) -> None:
        """Compile modules once and not at each of a verifier's many runs; nobody can write there later.

        A folder whose bytecode the task itself brought, or that it gave that name, is left as it is. What
        Python would not compile, or not keep, is left to the verifier that imports it.
        """
        for path, (_, mode) in self.files.items():
            home = path.rpartition("/")[0]
            brought = any(f"{other}/".startswith(f"{home}/{_CACHE}/") for other in self.files)
            if not path.endswith(".py") or stat.S_ISLNK(mode) or brought:
                continue
            source = _laid_out(folder, path)
            name = f"{source.stem}.{sys.implementation.cache_tag}.pyc"
            if source.stat().st_size > _LARGE_SOURCE or len(os.fsencode(name)) > _NAME_BYTES:
                continue
            with warnings.catch_warnings(action="ignore"), suppress(*_UNCOMPILABLE):
                code = compiled(source, inside(path))
                cache = source.parent / _CACHE
                cache.mkdir(exist_ok=True)
                cache.chmod(0o755)
                (cache / name).write_bytes(code)
                (cache / name).chmod(0o644)


def _laid_out(folder: Path, path: str) -> Path:
    return Path(f"{folder}/{inside(path).removeprefix('/verifier/')}")


def inside(path: str) -> str:
    """Where a file of the task lies in a verifier's sandbox: ``verifiers/x`` becomes ``/verifier/x``."""
    return f"/verifier/{path.removeprefix(FOLDER + '/')}"
