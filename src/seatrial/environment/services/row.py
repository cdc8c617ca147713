"""A row of a service as a path of the state: its name, its bytes, its entry."""

import re
from typing import Any

import msgspec

from seatrial.environment.services.refusal import Refusal
from seatrial.journal.digest import canonical_json, digest_bytes
from seatrial.journal.entries import SERVICES, Entry

Key = int | str
Row = dict[str, Any]
RowId = tuple[str, str, Key]
"""Service, table and key of a row."""

MODE = 0o644
LONGEST_ROW = 1 << 20
_LONGEST_NAME = 200
_ENDING = ".json"
_ESCAPED = re.compile(r"[^A-Za-z0-9_.-]|^\.")


def row_path(service: str, table: str, key: Key) -> str:
    """The state path of a row: ``services/<service>/<table>/<key>.json``.

    Characters of a key other than letters, digits, ``_``, ``.`` and ``-`` are written as ``=XX``, a byte of
    UTF-8 each; a key too long for a file name as ``=`` and a digest.
    """
    name = _ESCAPED.sub(lambda found: "".join(f"={byte:02X}" for byte in found[0].encode()), str(key))
    if not name or len(name) > _LONGEST_NAME:
        name = f"={digest_bytes(str(key).encode())}"
    return f"{SERVICES}/{service}/{table}/{name}{_ENDING}"


def row_bytes(row: Row) -> bytes:
    """Canonical JSON with a line end: equal rows have equal bytes.

    Raises:
        Refusal: the row is larger than 1 MiB.
    """
    data = canonical_json(row) + b"\n"
    if len(data) > LONGEST_ROW:
        raise Refusal(413, f"a row may have {LONGEST_ROW} bytes, this one has {len(data)}")
    return data


def row_entry(path: str, data: bytes) -> Entry:
    """The entry of a row; the caller has its bytes in the object store before it is written down."""
    return Entry(path=path, kind="file", mode=MODE, owner="base", digest=digest_bytes(data), size=len(data))


def read_row(data: bytes) -> Row:
    """The row that ``row_bytes`` wrote."""
    return msgspec.json.decode(data, type=Row)


def split_path(path: str) -> tuple[str, str, str]:
    """Service, table and file name without its ending."""
    _, service, table, name = path.split("/", 3)
    return service, table, name.removesuffix(_ENDING)
