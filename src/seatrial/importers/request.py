"""What every importer takes and gives: files in memory in, records and words out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from seatrial.errors import UsageError
from seatrial.importers.mapping import Mapping
from seatrial.importers.rows import Row
from seatrial.records.trial import TerminalClass, TrialRecord
from seatrial.spec.faults import shown


@dataclass(frozen=True)
class Piece:
    """One file of a source, out of any archive.

    Attributes:
        name: as messages show it, such as ``runs.tar.gz/a/results.json``.
        path: within its source, such as ``a/results.json``.
        source: number of the source it belongs to, from 0.
    """

    name: str
    path: str
    data: bytes
    source: int


@dataclass(frozen=True)
class Request:
    """One import.

    Attributes:
        experiment: id that the rows get: the digest of all that is imported.
        labels: the sources' names without folders and endings; for formats that do not name their systems.
        systems: names given by the user, one a source, or none.
        mapping: column mapping, for the formats that need one.
    """

    experiment: str
    pieces: Sequence[Piece]
    labels: Sequence[str]
    systems: Sequence[str] = ()
    mapping: Mapping | None = None

    def system(self, source: int, own: str | None = None) -> str:
        """The user's name for a source's system, else the source's own, else the name of its file."""
        if self.systems:
            return self.systems[source]
        return own or self.labels[source]

    def refuse_systems(self, format_name: str) -> None:
        """For formats whose rows name their systems.

        Raises:
            UsageError: the user named systems all the same.
        """
        if self.systems:
            raise UsageError(
                f"import {format_name}: --system {self.systems[0]!r} has no place, since each row names its "
                "system. Leave --system out."
            )


@dataclass(frozen=True)
class Imported:
    """What an import gives.

    Attributes:
        limits: what the rows cannot say, one sentence each.
        mixed: versions or protocols that differ within the rows, one sentence each.
    """

    records: list[TrialRecord]
    limits: list[str]
    mixed: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Format:
    """One kind of source.

    Attributes:
        expects: what it reads, for people.
        wanted: patterns of the file names that are read out of folders and archives.
        takes_mapping: whether it needs a column mapping.
    """

    name: str
    expects: str
    wanted: tuple[str, ...]
    read: Callable[[Request], Imported]
    takes_mapping: bool = False


class Seen:
    """Refuses a second row of one trial."""

    def __init__(self) -> None:
        self._first: dict[object, Row] = {}

    def add(self, row: Row, column: str, key: object, remedy: str = "Leave each trial in once") -> None:
        """Note a row.

        Args:
            row: where it stands.
            column: to blame when it is there twice.
            key: what may be there only once.
            remedy: what to do about a second one.

        Raises:
            SpecError: a row before has the same key.
        """
        first = self._first.setdefault(key, row)
        if first is not row:
            before = first.place if first.file == row.file else f"{first.file}, {first.place}"
            raise row.fault(column, f"{shown(row.get(column))} is the same trial as in {before}", remedy)


def class_of(strict: bool | None) -> TerminalClass:
    """The class of a trial whose source judges results and nothing else."""
    if strict is None:
        return "unknown"
    return "success" if strict else "failure"


NO_CONSTRAINTS = (
    "The source watches no constraints: safe_success is unknown; terminal_class follows strict_success."
)


def unused_columns(names: Sequence[str]) -> list[str]:
    """The limit that lists columns which were not imported; none when there are none."""
    listed = ", ".join(sorted(names))
    return [f"Columns of the source that no row holds: {listed}."] if names else []
