"""Builds what a task's worlds stand on, once per run and uid, from the frozen objects alone."""

import contextlib
import fcntl
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from seatrial.environment.confine.host import Host
from seatrial.environment.ground import ActionLimits, Ground
from seatrial.environment.state.base import Base, index_base, lay_out, prove_untouched
from seatrial.environment.state.overlay import remove_tree
from seatrial.environment.state.providers import SqliteProvider
from seatrial.environment.world import open_world
from seatrial.errors import EnvironmentFault, SpecError, TaskFault
from seatrial.journal.run import RunFolder, TaskFrozen, write_whole
from seatrial.spec.canaries import filled, generated
from seatrial.spec.frozen import frozen_task
from seatrial.spec.patterns import compile_pattern
from seatrial.spec.task import Task
from seatrial.trial.stocking import build_stock_of, is_stocked, known_stock

SETUP_SECONDS = 600.0


def write_files(run: RunFolder, task: TaskFrozen, prefix: str, folder: Path) -> None:
    """Write a part of a frozen task folder from the object store.

    Args:
        prefix: such as ``environment/``; it is left out of the written paths.
        folder: new folder.
    """
    folder.mkdir(parents=True)
    prefix = prefix.rstrip("/") + "/"
    for relative, (digest, mode) in sorted(task.files.items()):
        if not relative.startswith(prefix):
            continue
        path = folder / relative.removeprefix(prefix)
        path.parent.mkdir(parents=True, exist_ok=True)
        data = run.objects.get(digest)
        if stat.S_ISDIR(mode):
            path.mkdir(exist_ok=True)
        elif stat.S_ISLNK(mode):
            path.symlink_to(os.fsdecode(data))
        else:
            path.write_bytes(data)
            path.chmod(stat.S_IMODE(mode) or 0o644)


def prepare_ground(run: RunFolder, task: TaskFrozen, host: Host) -> Ground:
    """The task's base, built or found, with its limits and databases.

    Raises:
        TaskFault: the setup script fails.
        EnvironmentFault: the host cannot build it.
    """
    spec = frozen_task(task, run.folder)
    scratch = run.folder / "scratch"
    folder = scratch / "bases" / f"{task.digest[:16]}-{host.uid('world')}"
    limits = spec.environment.limits
    bounds = ActionLimits(limits.memory_mb, limits.processes, limits.seconds_per_action, limits.output_kb)
    providers = _providers(spec)
    base = _known(folder)
    if base is None:
        with _alone(folder):
            base = _known(folder)  # another trial's process may have built it while we waited
            if base is None:
                remove_tree(str(folder))
                _build(run, task, host, folder, bounds)
                stock = build_stock_of(run, task, spec, folder)
                rows, databases = (stock.rows, stock.digests) if stock else ({}, {})
                uid = host.uid("world")
                base = index_base(str(folder), run.objects, uid, providers, rows, databases)
                with contextlib.suppress(UnicodeEncodeError):  # a name that is no UTF-8 has no place in JSON
                    write_whole(_index(folder), msgspec.json.encode(base))
    stock = known_stock(run, task, spec, base, folder)
    return Ground(host, str(scratch), base, run.objects, bounds, providers, stock=stock)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold a base for this process alone while it is built; the lock ends with the process."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(f"{folder.name}.lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _index(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.index")


def _known(folder: Path) -> Base | None:
    """The base as an earlier trial built and indexed it; null when it is not there or not as it was.

    A run folder that was moved keeps its bases; one that was copied gets them built anew, like one whose
    base was touched: it is derived from the frozen objects alone.
    """
    try:
        base = msgspec.json.decode(_index(folder).read_bytes(), type=Base)
        base.folder = str(folder)
        prove_untouched(base)
    except (OSError, msgspec.DecodeError, EnvironmentFault):
        return None
    return base if is_stocked(base, folder) else None


def _providers(spec: Task) -> list[SqliteProvider]:
    named = {read.removeprefix("db:") for s in spec.subgoal for read in s.reads if read.startswith("db:")}
    return [SqliteProvider(f"workspace/{path}") for path in sorted(named)]


def _build(run: RunFolder, task: TaskFrozen, host: Host, folder: Path, limits: ActionLimits) -> None:
    """Lay the base out beside its place and move it there when it is whole."""
    spec = frozen_task(task, run.folder)
    workshop = folder.with_name(f".{folder.name}.{os.getpid()}")
    owner = host.uid("world") if host.mode == "root" else None
    try:
        write_files(run, task, spec.environment.files, workshop / "files")
        _place_canaries(spec, int(run.manifest().experiment.get("seed", 0)), workshop / "files")
        lay_out(workshop / "files", workshop / "plain", owner)
        ready = workshop / "plain"
        if spec.environment.setup is not None:
            ready = _set_up(run, task, host, workshop, limits)
        try:
            os.rename(ready, folder)
        except OSError:
            if not folder.exists():
                raise
    finally:
        remove_tree(str(workshop))


def _place_canaries(spec: Task, seed: int, folder: Path) -> None:
    """Put generated secrets where the files have room for them: the base, and so the reset, holds them."""
    pairs = generated(spec, seed)
    named = {text for c in spec.canary if c.generate for text in c.placed if text.startswith("files:")}
    for text in sorted(named):
        literal = compile_pattern(text).literal
        assert literal is not None, "checked when the task was read"
        path = folder / literal.removeprefix("workspace/")
        mode = stat.S_IMODE(path.stat().st_mode)
        path.chmod(mode | stat.S_IWUSR)
        path.write_bytes(filled(path.read_bytes(), pairs))
        path.chmod(mode)


def _set_up(run: RunFolder, task: TaskFrozen, host: Host, workshop: Path, limits: ActionLimits) -> Path:
    """Run the task's setup script in a sandbox on the plain base; what it leaves becomes the base."""
    spec = frozen_task(task, run.folder)
    assert spec.environment.setup is not None
    if spec.environment.setup_network != "none":
        raise SpecError(
            f"task {task.id}", "environment.setup_network", "is not supported yet", "Bring files along"
        )
    script = run.objects.get(task.files[spec.environment.setup][0]).decode()
    base = index_base(str(workshop / "plain"), run.objects, host.uid("world"))
    sandbox = open_world(Ground(host, str(workshop), base, run.objects, limits))
    try:
        result = sandbox.shell(script, seconds=SETUP_SECONDS)
        if result.exit_code != 0 or result.alive:
            said = result.output.decode(errors="replace")[-2000:]
            how = f"{result.how_it_ended(SETUP_SECONDS)}, {result.alive} processes left"
            raise TaskFault(
                f"task {task.id}", "environment.setup",
                f"task {task.id}: {spec.environment.setup} failed ({how}): {said}", "Correct the script",
            )  # fmt: skip
        flat = workshop / "flat"
        shutil.copytree(sandbox.tree, flat, symlinks=True)
    finally:
        sandbox.close()
    if host.mode == "root":
        for path in [flat, *flat.rglob("*")]:
            os.lchown(path, host.uid("world"), host.uid("world"))
    return flat


def describe_base(base: Base) -> dict[str, object]:
    """Size of a base, for the journal's conditions."""
    return {
        "paths": len(base.state),
        "bytes": sum(e.size for e in base.state.values()),
        "digest": base.digest,
    }
