"""Fetches a pinned source archive with pip, checks it and unpacks the wanted part of it."""

import hashlib
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import IO, Protocol

from seatrial.environment.scratch import scratch_folder
from seatrial.errors import EnvironmentFault, SpecError

FETCH_SECONDS = 300
FETCHING = ".seatrial-fetching-"


class Pinned(Protocol):
    """A source archive that is the one meant.

    Attributes:
        name, version: as the package index knows them.
        sdist_sha256: of the archive, 64 hex digits.
        keep: files and folders that are unpacked, relative to the archive's top folder.
    """

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def sdist_sha256(self) -> str: ...
    @property
    def keep(self) -> tuple[str, ...]: ...


def archive_of(package: Pinned, cache: Path) -> Path:
    """The package's sdist, from the cache folder or fetched into it.

    Raises:
        SpecError: an archive is there but is not the pinned one.
        EnvironmentFault: it could not be fetched.
    """
    kept = cache / f"{package.name}-{package.version}.tar.gz"
    if not kept.exists():
        fetch(package, kept)
    check_hash(package, kept)
    return kept


def check_hash(package: Pinned, archive: Path) -> None:
    """Refuses any other bytes than the pinned ones."""
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != package.sdist_sha256:
        raise SpecError(
            str(archive),
            "",
            f"its sha256 is {found}, but the pinned one is {package.sdist_sha256}",
            "Delete the file and generate again; if it repeats, do not use what the index serves",
        )


def fetch(package: Pinned, kept: Path) -> None:
    """Downloads with pip's own hash check, then moves the archive to its place in one step."""
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with scratch_folder(FETCHING, kept.parent) as folder:
            pinned = folder / "pinned.txt"
            pinned.write_text(
                f"{package.name}=={package.version} --hash=sha256:{package.sdist_sha256}\n", encoding="utf-8"
            )
            run_pip(package, folder, pinned)
            found = sorted(folder.glob("*.tar.gz"))
            if len(found) != 1:
                raise EnvironmentFault(
                    f"pip left {len(found)} source archives of {package.name}; expected one"
                )
            os.replace(found[0], kept)
    except OSError as fault:
        raise EnvironmentFault(
            f"cannot keep {kept}: {fault}. Name a cache folder that can be written"
        ) from fault


def run_pip(package: Pinned, folder: Path, pinned: Path) -> None:
    """Runs ``pip download``; where it looks is the machine's own configuration."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += [
        "--no-binary",
        ":all:",
        "--require-hashes",
        "--dest",
        str(folder),
        "--requirement",
        str(pinned),
    ]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False,
            env={**os.environ, "TMPDIR": str(folder.resolve())},
        )  # fmt: skip
    except subprocess.TimeoutExpired as late:
        raise EnvironmentFault(
            f"fetching {package.name} took over {FETCH_SECONDS} s. Check the network and generate again"
        ) from late
    if done.returncode == 0:
        return
    said = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
    if "DO NOT MATCH THE HASHES" in done.stderr.upper():
        raise SpecError(
            f"{package.name}=={package.version}",
            "",
            f"the index serves an archive whose sha256 is not {package.sdist_sha256}",
            "Do not use it; ask where the index gets its files",
        )
    raise EnvironmentFault(
        f"pip could not fetch {package.name}=={package.version}: {said}. "
        "Check that pip and the network work, "
        f"or put {package.name}-{package.version}.tar.gz into the cache folder"
    )


def unpack(package: Pinned, archive: Path, target: Path) -> None:
    """Unpacks the kept files of an sdist, without its top folder.

    Raises:
        SpecError: the archive holds something that must not be unpacked, or lacks a kept file.
    """
    top = f"{package.name}-{package.version}/"
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for member in tar:
                inside = member.name.removeprefix(top)
                if member.isreg() and member.name.startswith(top) and is_kept(package, inside):
                    # Owners, times and odd modes of the archive are nobody's business.
                    _write(tar.extractfile(member), target, inside)
    except (tarfile.TarError, OSError, EOFError) as fault:
        raise SpecError(
            str(archive), "", f"cannot be unpacked: {fault}", "Delete it and generate again"
        ) from fault
    missing = [name for name in package.keep if not (target / name).exists()]
    if missing:
        raise SpecError(str(archive), "", f"holds no {', '.join(missing)}", "Correct the package's `keep`")


def read_member(package: Pinned, archive: Path, inside: str) -> bytes:
    """The bytes of one file of an sdist.

    Args:
        inside: its path without the archive's top folder.

    Raises:
        SpecError: the archive cannot be read, or has no such file.
    """
    try:
        with tarfile.open(archive, "r:gz") as tar:
            content = tar.extractfile(f"{package.name}-{package.version}/{inside}")
            if content is None:
                raise tarfile.TarError(f"{inside!r} is no regular file")
            return content.read()
    except (tarfile.TarError, OSError, EOFError, KeyError) as fault:
        raise SpecError(
            str(archive), "", f"cannot be read: {fault}", "Delete it and generate again"
        ) from fault


def _write(content: IO[bytes] | None, target: Path, inside: str) -> None:
    """Write one regular file below ``target``; its name must not lead out of it."""
    path = target / inside
    if content is None or not path.resolve().is_relative_to(target.resolve()):
        raise tarfile.TarError(f"{inside!r} leads out of the folder")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.read())
    path.chmod(0o644)


def is_kept(package: Pinned, path: str) -> bool:
    """Whether a file of the sdist belongs to the workspace. Bytecode was left there by mistake."""
    return "__pycache__" not in path and any(
        path == name or path.startswith(f"{name}/") for name in package.keep
    )
