"""The run folder: manifest, index of attempts, journals, objects, and what is derived from them.

``manifest.json`` holds the frozen objects; ``index.jsonl`` gets one line when an attempt ends, with the
digest of its journal's last line. Everything under ``verdicts/``, ``report/`` and ``records.parquet`` is
derived and may be deleted.
"""

import contextlib
import errno
import fcntl
import os
from pathlib import Path
from typing import Any, Literal

import msgspec

from seatrial.errors import JournalError
from seatrial.journal.events import INFRASTRUCTURE, TrialEnded
from seatrial.journal.follow import LineFollower
from seatrial.journal.objects import ObjectStore

MANIFEST_SCHEMA = "seatrial/run@1"
# How much of a file's end is read at once when its last whole line is looked for.
_TAIL = 1 << 12


class TaskFrozen(msgspec.Struct, kw_only=True):
    """A task as it was when the run began.

    Attributes:
        spec: ``task.toml`` as plain data.
        files: every file of the task folder, relative path to (digest of its bytes, permission bits);
            the bytes are in the object store.
        digest: of spec and files together.
    """

    id: str
    digest: str
    spec: dict[str, Any]
    files: dict[str, tuple[str, int]]


class ForkOrigin(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """Where a forked trial begins, and what is changed there; written by `seatrial fork`.

    Attributes:
        trial, attempt, step: whose state after which step.
        fingerprint: of that state, as its journal has it.
        group: forks that are compared with each other.
        number: of the fork among those of its candidate, from 1; those of one number share a seed.
        candidate: ``continued`` (nothing is changed), ``control`` (of a comparison), ``action=NAME``,
            ``component=SYSTEM``, ``perturbation=ID`` or ``undisturbed``.
        forced: object with the calls that are carried out first, as a JSON list; null without any.
        memory: what the agent begins with: its last ``checkpoint`` at or before the step, the recorded
            observations told again (``replay``), or ``none``: the instruction alone.
        armed: perturbations that wait for their triggers, by id; empty in manifests of before, whose forks
            had none.
        same_seed: the seed is that of the original; otherwise each fork has one of its own.
        lost: what of the state could not be copied, in words; a fork that lost anything is not causal.
        chosen: how step and number of forks were chosen.
    """

    trial: str
    attempt: int
    step: int
    fingerprint: str
    group: str
    number: int
    candidate: str
    forced: str | None = None
    memory: Literal["checkpoint", "replay", "none"] = "none"
    armed: list[str] = []
    same_seed: bool = False
    lost: list[str] = []
    chosen: dict[str, Any] = {}

    @property
    def causal(self) -> bool:
        """Whether all of the state was copied."""
        return not self.lost


class TrialPlanned(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """One cell of the plan. ``trial`` names its folder; ``fork`` is null but for those of `seatrial fork`."""

    trial: str
    task: str
    system: str
    arm: str
    seed: int
    repeat: int
    fork: ForkOrigin | None = None


class SourceKept(msgspec.Struct, kw_only=True, frozen=True):
    """A file as imported: its name without the place where it lay, and its object; ``size`` in bytes."""

    name: str
    digest: str
    size: int


class ImportFacts(msgspec.Struct, kw_only=True):
    """Where an imported run's rows come from; the rows can be made anew from what this names.

    Attributes:
        format: name of the importer.
        sources: the files read, in order, each stored as an object.
        group: for each file, the number of the source (as given on the command line, from 0) it belongs to.
        systems: names given on the command line, one a source; empty where the sources name their systems.
        mapping: the column mapping, where the format takes one.
        rows: how many rows they gave.
        limits: what the rows cannot say, in words.
        mixed: versions or protocols that differ within the rows, in words.
    """

    format: str
    sources: list[SourceKept]
    group: list[int]
    systems: list[str] = []
    mapping: SourceKept | None = None
    rows: int
    limits: list[str] = []
    mixed: list[str] = []


class Manifest(msgspec.Struct, kw_only=True):
    """``manifest.json``. ``experiment_id`` is the digest of the five objects; the plan may be amended.

    An imported run has no tasks and no plan; its ``experiment_id`` is the digest of what was imported.
    """

    experiment_id: str
    name: str
    experiment: dict[str, Any]
    tasks: list[TaskFrozen]
    systems: dict[str, dict[str, Any]]
    plan: list[TrialPlanned]
    amendments: list[dict[str, Any]] = []
    host: dict[str, Any] = {}
    packages: dict[str, str] = {}
    created: str = ""
    unsafe: bool = False
    imported: ImportFacts | None = None
    schema: str = MANIFEST_SCHEMA

    def task(self, task_id: str) -> TaskFrozen:
        """The frozen task of that id.

        Raises:
            JournalError: not part of this run.
        """
        for task in self.tasks:
            if task.id == task_id:
                return task
        raise JournalError(
            f"run {self.name!r}: has no task {task_id!r}. It has {[t.id for t in self.tasks]}."
        )


class IndexLine(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An attempt that ended; after an ``infrastructure`` end another may follow.

    ``runner_ended`` marks one that ended because its runner was killed or interrupted: it is kept like every
    attempt, and uses up none of those the retry policy allows.
    """

    trial: str
    attempt: int
    digest: str
    stop_reason: str
    infrastructure: bool = False
    runner_ended: bool = False
    note: str = ""


def index_line(trial: str, attempt: int, digest: str, end: TrialEnded) -> IndexLine:
    """What the index says of an attempt that has an end: the last line of its journal and nothing else.

    Args:
        digest: of that line.
    """
    # An agent that never came to act was kept from it by the host.
    unstarted = end.stop_reason == "agent_fault" and not end.details.get("started")
    return IndexLine(
        trial=trial, attempt=attempt, digest=digest, stop_reason=end.stop_reason,
        infrastructure=end.stop_reason in INFRASTRUCTURE or unstarted,
        note=str(end.details.get("problem", "")),
    )  # fmt: skip


class RunFolder:
    """Paths and small files of one run. Creating one never overwrites; ``open`` checks that it is one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.objects = ObjectStore(folder / "objects")

    @classmethod
    def create(cls, folder: Path, manifest: Manifest) -> "RunFolder":
        """Make the folder unless it is there, and write its manifest, whole or not at all.

        Raises:
            JournalError: it holds a run already.
        """
        if (folder / "manifest.json").exists():
            raise JournalError(f"{folder}: holds a run already. Give another folder.")
        folder.mkdir(parents=True, exist_ok=True)
        run = cls(folder)
        run._write_manifest(manifest)
        return run

    def replace_manifest(self, manifest: Manifest) -> None:
        """Write an amended manifest in place of the one there is, whole or not at all; hold the run's lock.

        Raises:
            JournalError: there is none, or it is another experiment's.
        """
        before = self.manifest()
        if before.experiment_id != manifest.experiment_id:
            raise JournalError(
                f"{self.folder}: an amendment of {manifest.experiment_id[:12]} does not fit the run of "
                f"{before.experiment_id[:12]}. Only the plan of a run may change."
            )
        self._write_manifest(manifest)

    def _write_manifest(self, manifest: Manifest) -> None:
        write_json(self.folder / "manifest.json", manifest)

    @classmethod
    def open(cls, folder: Path) -> "RunFolder":
        """Open an existing run.

        Raises:
            JournalError: the folder is missing, is no run, or its manifest is damaged.
        """
        run = cls(folder)
        run.manifest()
        return run

    def manifest(self) -> Manifest:
        """Read ``manifest.json``."""
        path = self.folder / "manifest.json"
        try:
            data = path.read_bytes()
        except OSError as fault:
            raise JournalError(
                f"{self.folder}: is no run folder ({fault.strerror}: manifest.json). "
                "Give the folder that `seatrial run -o` wrote."
            ) from None
        try:
            return msgspec.json.decode(data, type=Manifest)
        except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError) as fault:
            raise JournalError(f"{path}: damaged: {fault}. Restore it from a copy of the run.") from fault

    def attempt_folder(self, trial: str, attempt: int) -> Path:
        """``trials/<trial>/<attempt>``."""
        return self.folder / "trials" / trial / str(attempt)

    def journal_path(self, trial: str, attempt: int) -> Path:
        """The attempt's journal."""
        return self.attempt_folder(trial, attempt) / "journal.jsonl"

    def verdicts_path(self, trial: str, attempt: int) -> Path:
        """The attempt's derived verdict table."""
        return self.folder / "verdicts" / f"{trial}.{attempt}.json"

    def attempts(self, trial: str) -> list[int]:
        """Numbers of the attempts that have a journal, ascending."""
        folder = self.folder / "trials" / trial
        if not folder.is_dir():
            return []
        names = (p.name for p in folder.iterdir() if (p / "journal.jsonl").exists())
        return sorted(int(name) for name in names if name.isdigit())

    def index(self) -> list[IndexLine]:
        """Ended attempts, in the order they ended; a torn last line is dropped."""
        return self.follow_index().look()

    def follow_index(self) -> "IndexFollower":
        """The index for one who needs it again and again while attempts end."""
        return IndexFollower(self.folder / "index.jsonl")

    def add_to_index(self, line: IndexLine) -> None:
        """Append one line, whole or not at all, and flush it to disk. A torn last line is cut off first.

        Raises:
            JournalError: the disk is full or the file may not be written.
        """
        path = self.folder / "index.jsonl"
        data = msgspec.json.encode(line) + b"\n"
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                kept = _whole_lines(handle)
                os.ftruncate(handle, kept)
                if os.pwrite(handle, data, kept) < len(data):
                    os.ftruncate(handle, kept)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as fault:
            raise JournalError(
                f"{path}: cannot be written: {fault.strerror}. Free space or permit it."
            ) from fault

    def ended(self, trial: str, attempt: int) -> IndexLine | None:
        """The index line of one attempt, or null when it never ended."""
        found = [line for line in self.index() if (line.trial, line.attempt) == (trial, attempt)]
        return found[-1] if found else None


class IndexFollower:
    """An index that grows, each byte read once."""

    def __init__(self, path: Path) -> None:
        self._lines = LineFollower(path)

    def look(self) -> list[IndexLine]:
        """Lines added since the last look, the oldest first; an unfinished one waits for the next look.

        Raises:
            JournalError: a line is damaged.
        """
        try:
            return [msgspec.json.decode(line, type=IndexLine) for line in self._lines.look()]
        except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError) as fault:
            raise JournalError(
                f"{self._lines.path}: damaged: {fault}. Restore it from a copy of the run."
            ) from fault


def _whole_lines(handle: int) -> int:
    """Bytes of a file's whole lines; only the file's end is read, as far as its last line goes."""
    end = os.fstat(handle).st_size
    while end > 0:
        begin = max(0, end - _TAIL)
        found = os.pread(handle, end - begin, begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0


def write_whole(path: Path, data: bytes, sync: bool = True) -> None:
    """Write a file so that it is there whole or not at all; with ``sync`` also after a power cut."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as fault:
        with contextlib.suppress(OSError):
            temporary.unlink()
        # A full disk names no file of its own accord.
        raise OSError(fault.errno, fault.strerror, str(path)) from fault


def write_json(path: Path, value: object) -> None:
    """Write a value as indented JSON, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n")
