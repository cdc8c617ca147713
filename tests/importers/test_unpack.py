"""Archives are read in memory; what is cut off, damaged, hostile or too large is one clear error."""

import gzip
import io
import tarfile
import zipfile

import pytest

from seatrial.errors import SpecError
from seatrial.importers import unpack as room
from seatrial.importers.unpack import unpack
from tests.importers.small import tar, tar_gz

WANTED = ("*.json",)


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def names(data: bytes) -> list[str]:
    return [piece.name for piece in unpack("a.bin", data, 3, WANTED)]


@pytest.mark.parametrize("pack", [tar, tar_gz, zipped])
def test_wanted_members_come_out_in_order(pack):
    pieces = unpack(
        "a.bin", pack({"x/b.json": b"1", "x/c.txt": b"2", "a.json": b"3", "._a.json": b"4"}), 3, WANTED
    )
    assert [(p.name, p.path, p.data, p.source) for p in pieces] == [
        ("a.bin/x/b.json", "x/b.json", b"1", 3),
        ("a.bin/a.json", "a.json", b"3", 3),
    ]


def test_a_plain_file_is_a_piece_whatever_its_name():
    assert names(b"{}") == ["a.bin"]
    [piece] = unpack("a.bin", gzip.compress(b"one") + gzip.compress(b"two") + b"\0\0", 0, WANTED)
    assert piece.data == b"onetwo"


BIG = bytes(range(256)) * 40


@pytest.mark.parametrize("pack", [tar, tar_gz, zipped])
def test_an_archive_that_is_cut_off_anywhere_is_refused(pack):
    whole = pack({"a.json": BIG, "b.json": BIG})
    # A tar may lose padding behind the block of zeros that ends it, and nothing else.
    end = len(whole) if pack is not tar else 2 * (512 + len(BIG)) + 512
    for cut in [*range(1, end, 211), end - 1]:
        try:
            found = unpack("a.bin", whole[:cut], 0, WANTED)
        except SpecError:
            continue
        # Too little is left to tell an archive by: the importer of the format refuses such bytes.
        assert [piece.name for piece in found] == ["a.bin"] and cut < 512


@pytest.mark.parametrize(
    "name", ["../a.json", "x/../../a.json", "/etc/a.json", "..\\a.json", "x/../../readme.txt"]
)
@pytest.mark.parametrize("pack", [tar, zipped])
def test_a_name_that_leaves_the_folder_is_refused(pack, name):
    with pytest.raises(SpecError, match="leaves the archive's folder"):
        names(pack({name: b"1", "b.json": b"2"}))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_a_link_or_device_in_place_of_a_file_is_refused(kind):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo("a.json")
        member.type, member.linkname = kind, "/etc/hostname"
        archive.addfile(member)
    with pytest.raises(SpecError, match=r"a\.json: is a link or device"):
        names(buffer.getvalue())


def test_a_member_twice_is_refused():
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for data in (b"1", b"2"):
            member = tarfile.TarInfo("a.json")
            member.size = 1
            archive.addfile(member, io.BytesIO(data))
    with pytest.raises(SpecError, match=r"a\.json: is there twice"):
        names(buffer.getvalue())


@pytest.mark.parametrize("pack", [gzip.compress, lambda data: zipped({"a.json": data})])
def test_what_grows_beyond_measure_is_refused(pack, monkeypatch):
    monkeypatch.setattr(room, "MOST_BYTES", 1000)
    with pytest.raises(SpecError, match="holds more than"):
        names(pack(b"0" * 1001))
    assert names(pack(b"0" * 1000))


def test_an_archive_without_anything_wanted_is_refused():
    with pytest.raises(SpecError, match=r"holds no \*\.json"):
        names(tar({"a.txt": b""}))


def test_damaged_data_is_refused():
    data = bytearray(gzip.compress(BIG))
    data[len(data) // 2] ^= 0xFF
    with pytest.raises(SpecError, match="gzip"):
        names(bytes(data))
    data = bytearray(zipped({"a.json": BIG}))
    data[60] ^= 0xFF
    with pytest.raises(SpecError, match="zip"):
        names(bytes(data))


def test_many_members_of_any_size_are_one_file():
    parts = [b"", b"x" * 3_000_000, *[b""] * 3000, bytes(range(256)) * 40, b"end"]
    data = b"".join(map(gzip.compress, parts)) + bytes(100)
    (piece,) = unpack("a.gz", data, 0, WANTED)
    assert piece.data == b"".join(parts)
    with pytest.raises(SpecError, match="ends early"):
        unpack("a.gz", data[:-130], 0, WANTED)
