"""``seatrial gc``: what a run takes on disk, and the part of it that nothing refers to."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from seatrial.schedule.gc import Garbage, delete, disk_use, find_garbage
from seatrial.schedule.locking import lock_run


def gc(
    run: Annotated[Path, typer.Argument(help="Run folder, in use by nobody.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Delete nothing, only say what would be.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say what a run takes on disk by part, and delete unreachable objects and leftovers of killed processes.

    An object that the manifest, a journal, a derived file or another kept object names stays, whatever the
    name means there. Finished and unfinished runs can be cleaned alike; a run somebody works on is refused.
    """
    with lock_run(run) as folder:
        before, garbage = disk_use(run), find_garbage(folder)
        if not dry_run:
            delete(folder, garbage)
        after = disk_use(run)
    if json:
        typer.echo(msgspec.json.encode(_outcome(run, before, after, garbage, dry_run)).decode())
    else:
        _print(before, after, garbage, dry_run)


def _outcome(
    run: Path, before: dict[str, int], after: dict[str, int], garbage: Garbage, dry_run: bool
) -> dict[str, object]:
    return {
        "run": str(run),
        "bytes": before,
        "bytes_after": after,
        "unreachable_objects": garbage.objects,
        "unfinished_objects": [path.name for path in garbage.unfinished],
        "stale_scratch": [str(path.relative_to(run / "scratch")) for path in garbage.scratch],
        "garbage_bytes": garbage.bytes,
        "deleted": not dry_run,
    }


def _print(before: dict[str, int], after: dict[str, int], garbage: Garbage, dry_run: bool) -> None:
    for part, size in before.items():
        typer.echo(f"  {part}: {readable_size(size)}")
    typer.echo(f"  all: {readable_size(sum(before.values()))}")
    verb = "would be deleted" if dry_run else "deleted"
    typer.echo(
        f"{len(garbage.objects)} unreachable objects, {len(garbage.unfinished)} unfinished ones and "
        f"{len(garbage.scratch)} leftovers in scratch {verb}: {readable_size(garbage.bytes)}"
    )
    if not dry_run:
        typer.echo(f"left: {readable_size(sum(after.values()))}")


def readable_size(size: int) -> str:
    """Bytes as ``812 B``, ``3.4 MB`` …, in powers of ten."""
    amount = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"
