"""A task's verifier files: frozen by digest, laid out once, labelled by what they and a subgoal declare."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from seatrial.errors import JournalError, SpecError
from seatrial.journal.digest import digest_bytes, digest_value
from seatrial.journal.objects import ObjectStore
from seatrial.journal.run import TaskFrozen
from seatrial.spec.folder import FileMap, content, scan_folder
from seatrial.spec.task import Subgoal

FOLDER = "verifiers"


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
        """Write them to a new folder, readable by everybody."""
        folder.mkdir(parents=True)
        folder.chmod(0o755)
        for path, (digest, mode) in sorted(self.files.items()):
            target = Path(f"{folder}/{inside(path).removeprefix('/verifier/')}")
            for parent in reversed(target.relative_to(folder).parents[:-1]):
                (folder / parent).mkdir(exist_ok=True)
                (folder / parent).chmod(0o755)
            data = objects.get(digest)
            if stat.S_ISLNK(mode):
                os.symlink(data, os.fsencode(target))
            else:
                target.write_bytes(data)
                target.chmod(mode & 0o777 | 0o444)


def inside(path: str) -> str:
    """Where a file of the task lies in a verifier's sandbox: ``verifiers/x`` becomes ``/verifier/x``."""
    return f"/verifier/{path.removeprefix(FOLDER + '/')}"
