"""Content-addressed blobs: ``objects/ab/cdef…``, written once, never changed."""

import os
import re
from pathlib import Path
from typing import BinaryIO

from blake3 import blake3

from seatrial.errors import JournalError
from seatrial.journal.digest import PIECE, digest_bytes


class ObjectStore:
    """Blobs by digest under one folder. Safe for several writers: a blob appears whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        self._made: set[str] = set()

    def path(self, digest: str) -> str:
        """Where the blob lies or would lie."""
        return f"{self.folder}/{digest[:2]}/{digest[2:]}"

    def has(self, digest: str) -> bool:
        """Whether the blob is stored."""
        return os.path.exists(self.path(digest))

    def put(self, data: bytes, digest: str | None = None) -> str:
        """Store bytes and return their digest. ``digest`` may be given when already computed.

        Raises:
            JournalError: the disk is full or the folder may not be written; nothing half-written is left.
        """
        digest = digest or digest_bytes(data)
        path = self.path(digest)
        if os.path.exists(path):
            return digest
        try:
            self._write(path, data)
        except OSError as fault:
            raise JournalError(
                f"{path}: cannot be written: {fault.strerror}. Free space or permit it."
            ) from fault
        return digest

    def _write(self, path: str, data: bytes) -> None:
        shelf = os.path.dirname(path)
        if shelf not in self._made:
            os.makedirs(shelf, exist_ok=True)
            self._made.add(shelf)
        temporary = f"{path}.{os.getpid()}.tmp"
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(handle, view) :]
        except OSError:
            os.unlink(temporary)
            raise
        finally:
            os.close(handle)
        os.rename(temporary, path)

    def put_stream(self, file: BinaryIO) -> str:
        """Store what is left of an open file, whatever its size, and return its digest.

        Raises:
            JournalError: as for ``put``.
        """
        incoming = f"{self.folder}/incoming.{os.getpid()}.tmp"
        total = blake3()
        try:
            os.makedirs(self.folder, exist_ok=True)
            try:
                with open(incoming, "wb") as copy:
                    while piece := file.read(PIECE):
                        total.update(piece)
                        copy.write(piece)
                digest = total.hexdigest()
                if not self.has(digest):
                    os.makedirs(os.path.dirname(self.path(digest)), exist_ok=True)
                    os.rename(incoming, self.path(digest))
            finally:
                if os.path.exists(incoming):
                    os.unlink(incoming)
        except OSError as fault:
            raise JournalError(
                f"{incoming}: cannot be written: {fault.strerror}. Free space or permit it."
            ) from fault
        return digest

    def get(self, digest: str) -> bytes:
        """The blob's bytes, checked against its digest.

        Raises:
            JournalError: it is missing, or its bytes do not match its name.
        """
        try:
            with open(self.path(digest), "rb") as file:
                data = file.read()
        except FileNotFoundError:
            raise JournalError(
                f"{self.path(digest)}: object is missing. Restore it from a copy of the run."
            ) from None
        if digest_bytes(data) != digest:
            raise JournalError(
                f"{self.path(digest)}: content does not match its name. The object was changed."
            )
        return data


def is_store(folder: Path) -> bool:
    """Whether a folder holds objects of a store, or what a writer of them left, and nothing else."""
    return folder.is_dir() and all(
        _is_ours(path.relative_to(folder).as_posix()) for path in folder.rglob("*") if not path.is_dir()
    )


def _is_ours(relative: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{2}/[0-9a-f]{62}(\.\d+\.tmp)?|incoming\.\d+\.tmp", relative) is not None
