import io
import subprocess
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from seatrial.errors import EnvironmentFault, SpecError
from seatrial.families import sdist
from seatrial.families.repair import PACKAGES

TOOLZ = PACKAGES["toolz"]


def archive(folder: Path, *members: tuple[str, bytes]) -> Path:
    path = folder / "made.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for name, kind in members:
            entry = tarfile.TarInfo(name)
            entry.type, entry.size, entry.linkname = kind, 2 if kind == tarfile.REGTYPE else 0, "/etc/passwd"
            entry.mode, entry.uid = 0o4777, 77
            tar.addfile(entry, io.BytesIO(b"x\n") if entry.size else None)
    return path


def test_an_archive_with_other_bytes_is_refused(tmp_path: Path):
    (tmp_path / f"toolz-{TOOLZ.version}.tar.gz").write_bytes(b"other")
    with pytest.raises(SpecError, match="the pinned one is 2c86e3d9"):
        sdist.archive_of(TOOLZ, tmp_path)


@pytest.mark.parametrize(
    ("said", "error", "message"),
    [
        ("ERROR: Could not find a version", EnvironmentFault, "Check that pip and the network work"),
        (
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES from the requirements file.",
            SpecError,
            "Do not use it",
        ),
    ],
)
def test_pips_failures_say_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said, error, message):
    failed = subprocess.CompletedProcess([], 1, "", said)
    monkeypatch.setattr(sdist.subprocess, "run", lambda *args, **kwargs: failed)
    with pytest.raises(error, match=message):
        sdist.archive_of(TOOLZ, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_cache_that_cannot_be_written_says_so(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentFault, match="Name a cache folder"):
        sdist.archive_of(TOOLZ, tmp_path / "file")


def test_only_kept_regular_files_are_unpacked(tmp_path: Path):
    package = replace(TOOLZ, keep=("toolz",))
    top = f"toolz-{TOOLZ.version}"
    made = archive(
        tmp_path,
        (f"{top}/toolz/a.py", tarfile.REGTYPE),
        (f"{top}/toolz/link", tarfile.SYMTYPE),
        (f"{top}/toolz/fifo", tarfile.FIFOTYPE),
        (f"{top}/setup.py", tarfile.REGTYPE),
        ("toolz/b.py", tarfile.REGTYPE),
    )
    sdist.unpack(package, made, tmp_path / "out")
    found = [path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*")]
    assert sorted(found) == ["toolz", "toolz/a.py"]
    assert (tmp_path / "out/toolz/a.py").stat().st_mode & 0o7111 == 0


def test_a_path_that_leaves_the_folder_is_refused(tmp_path: Path):
    made = archive(tmp_path, (f"toolz-{TOOLZ.version}/toolz/../../../evil.py", tarfile.REGTYPE))
    with pytest.raises(SpecError, match="cannot be unpacked"):
        sdist.unpack(replace(TOOLZ, keep=("toolz",)), made, tmp_path / "a" / "b")
    assert not list(tmp_path.rglob("evil.py"))


def test_a_broken_or_incomplete_archive_is_refused(tmp_path: Path):
    made = archive(tmp_path, (f"toolz-{TOOLZ.version}/toolz/a.py", tarfile.REGTYPE))
    with pytest.raises(SpecError, match=r"holds no tlz, LICENSE\.txt"):
        sdist.unpack(TOOLZ, made, tmp_path / "out")
    made.write_bytes(made.read_bytes()[:60])
    with pytest.raises(SpecError, match="cannot be unpacked"):
        sdist.unpack(TOOLZ, made, tmp_path / "out2")
