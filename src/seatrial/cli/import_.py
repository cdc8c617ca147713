"""``seatrial import``: somebody else's results as a run of rows."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from seatrial.cli.visible import visible
from seatrial.importers.formats import FORMATS
from seatrial.importers.imported import Wish, import_run
from seatrial.journal.run import Manifest
from seatrial.records.trial import TrialRecord


def import_(
    format_name: Annotated[str, typer.Argument(metavar="FORMAT", help=f"One of {', '.join(FORMATS)}.")],
    sources: Annotated[
        list[Path], typer.Argument(metavar="SRC", help="Files, archives or folders; they are only read.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="Run folder to make; must not exist yet.")],
    mapping: Annotated[
        Path | None, typer.Option(help="What the columns mean, as TOML; for csv, which also reads Parquet.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the run; the first source's if left out.")] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(help="Name of a source's system, once a source and in their order; for formats whose "
                     "sources hold one system each."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:  # fmt: skip
    """Make a run folder from results of other tools; docs/importing.md says what each format can tell.

    The bytes of the sources and the mapping are kept in the folder, and `seatrial measure RUN` makes
    records.parquet from them again. Either the whole folder is written or nothing.
    """
    manifest, records = import_run(Wish(format_name, sources, mapping, name, system or ()), out)
    if json:
        typer.echo(msgspec.json.encode({"run": str(out), **summary(manifest, records)}))
        return
    typer.echo(str(out))
    for line in summary_lines(manifest, records):
        typer.echo(visible(line))


def summary(manifest: Manifest, records: Sequence[TrialRecord]) -> dict[str, object]:
    """An imported run in figures: what it was made of, its systems, its limits."""
    facts = manifest.imported
    assert facts is not None, "only asked of imported runs"
    return {
        "name": manifest.name,
        "experiment": manifest.experiment_id,
        "format": facts.format,
        "sources": [msgspec.to_builtins(source) for source in facts.sources],
        "mapping": msgspec.to_builtins(facts.mapping),
        "rows": facts.rows,
        "systems": [system_figures(name, records) for name in manifest.systems],
        "limits": facts.limits,
        "mixed": facts.mixed,
    }


def system_figures(system: str, records: Sequence[TrialRecord]) -> dict[str, object]:
    """One system's trials, tasks and ends; ``censored`` counts those known to be."""
    own = [record for record in records if record.system == system]
    classes = Counter(record.terminal_class for record in own)
    return {
        "system": system,
        "trials": len(own),
        "tasks": len({record.task for record in own}),
        **{name: classes[name] for name in ("success", "failure", "infrastructure", "unknown")},
        "censored": sum(record.censored is True for record in own),
    }


def summary_lines(manifest: Manifest, records: Sequence[TrialRecord]) -> list[str]:
    """The same as text."""
    facts = manifest.imported
    assert facts is not None, "only asked of imported runs"
    lines = [f"{facts.rows} rows from {facts.format}, {len(facts.sources)} files"]
    for name in manifest.systems:
        found = system_figures(name, records)
        counts = ", ".join(
            f"{found[part]} {word}"
            for part, word in (("success", "success"), ("failure", "failure"),
                               ("infrastructure", "infrastructure"), ("unknown", "unknown"),
                               ("censored", "of all censored"))
            if found[part] or part in ("success", "failure")
        )  # fmt: skip
        lines.append(f"  {name}: {found['trials']} trials of {found['tasks']} tasks: {counts}")
    lines += [f"mixed: {line}" for line in facts.mixed]
    return lines + [f"limit: {line}" for line in facts.limits]
