"""An imported run: sources and mapping kept as objects, rows made from them, and made anew whenever asked."""

import os
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from seatrial import __version__
from seatrial.errors import JournalError, SeatrialError, UsageError
from seatrial.importers.formats import format_named
from seatrial.importers.mapping import read_mapping
from seatrial.importers.request import Format, Imported, Request
from seatrial.importers.sources import SourceFile, label_of, read_sources
from seatrial.importers.unpack import unpack
from seatrial.journal.digest import digest_bytes, digest_value
from seatrial.journal.run import ImportFacts, Manifest, RunFolder, SourceKept
from seatrial.records.table import write_records
from seatrial.records.trial import TrialRecord
from seatrial.spec.reading import read_text

RECORDS = "records.parquet"


@dataclass(frozen=True)
class MappingFile:
    """A mapping as it was read; ``name`` is without the place where it lay."""

    name: str
    text: str


@dataclass(frozen=True)
class Wish:
    """What is to be imported.

    Attributes:
        paths: files or folders.
        mapping: the mapping file, where the format takes one.
        name: of the run; the first source's name if null.
        systems: names of the sources' systems, in their order; empty takes those the sources give.
    """

    format: str
    paths: Sequence[Path]
    mapping: Path | None = None
    name: str | None = None
    systems: Sequence[str] = ()


def import_run(wish: Wish, out: Path) -> tuple[Manifest, list[TrialRecord]]:
    """Import sources into a new run folder, whole or not at all.

    Returns:
        Its manifest and its records.

    Raises:
        SpecError: a source or the mapping is wrong.
        UsageError: the options do not fit, or ``out`` is there already.
        JournalError: ``out`` cannot be written.
    """
    known = format_named(wish.format)
    _check(wish, known)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out}: is there already. Give a folder that does not exist yet.")
    files = read_sources(wish.paths, known.wanted)
    mapping = None
    if wish.mapping is not None:
        mapping = MappingFile(wish.mapping.name, read_text(wish.mapping))
    experiment = _identity(known, files, mapping, wish.systems)
    labels = [label_of(next(f.name for f in files if f.group == g)) for g in range(len(wish.paths))]
    read = _read(known, files, labels, mapping, wish.systems, experiment)
    manifest = Manifest(
        experiment_id=experiment,
        name=wish.name or labels[0],
        experiment={"name": wish.name or labels[0]},
        tasks=[],
        systems={record.system: {} for record in read.records},
        plan=[],
        packages={"seatrial": __version__},
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        imported=ImportFacts(
            format=known.name,
            sources=[SourceKept(name=f.name, digest=digest_bytes(f.data), size=len(f.data)) for f in files],
            group=[file.group for file in files],
            systems=list(wish.systems),
            mapping=None if mapping is None else _kept(mapping.name, mapping.text.encode()),
            rows=len(read.records),
            limits=read.limits,
            mixed=read.mixed,
        ),
    )
    _write(out, manifest, files, mapping, read.records)
    return manifest, read.records


def rebuild(folder: Path) -> tuple[Manifest, list[TrialRecord]]:
    """The rows of an imported run, made anew from its objects.

    Raises:
        JournalError: it is no imported run, or an object is missing or does not give what it gave before.
    """
    run = RunFolder.open(folder)
    manifest = run.manifest()
    facts = manifest.imported
    if facts is None:
        raise JournalError(f"{folder}: was not imported. Measure it with `seatrial measure`.")
    files = [
        SourceFile(kept.name, run.objects.get(kept.digest), group)
        for kept, group in zip(facts.sources, facts.group, strict=True)
    ]
    mapping = None
    if facts.mapping is not None:
        mapping = MappingFile(facts.mapping.name, run.objects.get(facts.mapping.digest).decode())
    labels = [label_of(next(f.name for f in files if f.group == g)) for g in sorted(set(facts.group))]
    try:
        known = format_named(facts.format)
        read = _read(known, files, labels, mapping, facts.systems, manifest.experiment_id)
    except SeatrialError as fault:
        raise JournalError(f"{folder}: cannot be read again by this release: {fault}") from fault
    return manifest, read.records


def _check(wish: Wish, known: Format) -> None:
    if not wish.paths:
        raise UsageError(f"import {known.name}: no source given. Give {known.expects}.")
    if known.takes_mapping and wish.mapping is None:
        raise UsageError(
            f"import {known.name}: needs --mapping FILE, which says what the columns mean. "
            "docs/importing.md describes it."
        )
    if wish.mapping is not None and not known.takes_mapping:
        raise UsageError(f"import {known.name}: takes no --mapping. Leave it out, or import as csv.")
    if wish.systems and len(wish.systems) != len(wish.paths):
        raise UsageError(
            f"import {known.name}: {len(wish.systems)} --system for {len(wish.paths)} sources. "
            "Give one a source, in their order."
        )


def _identity(
    known: Format, files: Sequence[SourceFile], mapping: MappingFile | None, systems: Sequence[str]
) -> str:
    """The same bytes imported in the same way are the same experiment."""
    return digest_value(
        {
            "format": known.name,
            "sources": [[file.name, digest_bytes(file.data), file.group] for file in files],
            "mapping": None if mapping is None else digest_bytes(mapping.text.encode()),
            "systems": list(systems),
        }
    )


def _read(
    known: Format,
    files: Sequence[SourceFile],
    labels: Sequence[str],
    mapping: MappingFile | None,
    systems: Sequence[str],
    experiment: str,
) -> Imported:
    pieces = [piece for f in files for piece in unpack(f.name, f.data, f.group, known.wanted)]
    read = known.read(
        Request(
            experiment=experiment,
            pieces=pieces,
            labels=labels,
            systems=systems,
            mapping=None if mapping is None else read_mapping(mapping.name, mapping.text),
        )
    )
    counts = Counter((record.trial, record.attempt) for record in read.records)
    first_copy = next((trial for (trial, _), count in counts.items() if count > 1), None)
    if first_copy is not None:
        raise UsageError(
            f"import {known.name}: two sources hold trial {first_copy!r}. Give each its own --system NAME, "
            "or leave one out."
        )
    return read


def _kept(name: str, data: bytes) -> SourceKept:
    return SourceKept(name=name, digest=digest_bytes(data), size=len(data))


def _write(
    out: Path,
    manifest: Manifest,
    files: Sequence[SourceFile],
    mapping: MappingFile | None,
    records: Sequence[TrialRecord],
) -> None:
    """Everything into a folder beside ``out``, which then takes its name."""
    unfinished = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    try:
        run = RunFolder(unfinished)
        unfinished.mkdir(parents=True)
        for file in files:
            run.objects.put(file.data)
        if mapping is not None:
            run.objects.put(mapping.text.encode())
        write_records(unfinished / RECORDS, records)
        RunFolder.create(unfinished, manifest)
        os.rename(unfinished, out)
    except OSError as fault:
        raise JournalError(f"{out}: cannot be written: {fault.strerror}. Free space or permit it.") from fault
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
