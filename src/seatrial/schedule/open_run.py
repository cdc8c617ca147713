"""Makes a run folder for an experiment, or goes on with the one it began in; both under the run's lock."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from seatrial.environment.confine.host import bwrap_version, check_host
from seatrial.environment.confine.namespaces import is_real_root
from seatrial.environment.state.overlay import remove_tree
from seatrial.errors import UsageError
from seatrial.journal.events import SCHEMA
from seatrial.journal.objects import is_store
from seatrial.journal.run import Manifest, RunFolder, TrialPlanned
from seatrial.schedule.amendments import add_trials
from seatrial.schedule.endpoints import check_endpoints
from seatrial.schedule.leftovers import close_dead_attempts
from seatrial.schedule.locking import LOCK, lock_new_folder
from seatrial.schedule.queue import Ledger, execution_order, ledger_of, to_begin
from seatrial.schedule.runner import Orders
from seatrial.schedule.setups import build_setups
from seatrial.schedule.supported import refuse_unsupported
from seatrial.spec.identity import Frozen, blobs, freeze
from seatrial.spec.loading import LoadedExperiment

_PACKAGES = ("seatrial", "msgspec", "blake3")


class HeldRun(NamedTuple):
    """A run that nobody else works on.

    Attributes:
        manifest: as it is in the folder; it is amended in place.
        died: trials with an attempt that a runner which died had under way.
    """

    run: RunFolder
    manifest: Manifest
    died: list[str]


@contextmanager
def hold_run(
    loaded: LoadedExperiment, folder: Path, orders: Orders | None = None, unsafe: bool = False
) -> Iterator[HeldRun]:
    """Create the run folder, or continue the one there is, and keep every other runner away from it.

    The lock is taken before anything is written and held until the block is left. Attempts of a runner that
    died are closed, and what it left is cleared away.

    Args:
        loaded: the experiment.
        folder: where the run is or shall be.
        orders: what is to be run now; by default all of the plan.
        unsafe: run without a sandbox; a run is one or the other from its first trial to its last.

    Raises:
        SpecError: the experiment asks for what this release cannot carry out, the endpoint of a model that
            has attempts to begin is not there, or a setup script fails.
        UsageError: the folder holds something else, or a run of another experiment or plan; another runner
            works on it; or a filter of the orders fits nothing.
        EnvironmentFault: a new run needs a sandbox and this host can make none; nothing is written.
    """
    orders = orders or Orders()
    refuse_unsupported(loaded, unsafe)
    _check_name(folder)
    frozen = freeze(loaded)
    wanted = _wanted(frozen, orders)  # a filter that fits nothing is told before anything is written
    _check_place(folder)
    with lock_new_folder(folder):
        _check_place(folder)
        if _is_run(folder):
            yield _continued(loaded, frozen, RunFolder.open(folder), orders, unsafe)
        else:
            check_endpoints(loaded, to_begin(wanted, Ledger(0), orders.selection.limit))
            if not unsafe:
                check_host()
            run = _create(loaded, frozen, folder, unsafe)
            yield HeldRun(run, run.manifest(), [])


def _continued(
    loaded: LoadedExperiment, frozen: Frozen, run: RunFolder, orders: Orders, unsafe: bool
) -> HeldRun:
    """Go on with a run that is held."""
    manifest = run.manifest()
    _check_same(run.folder, manifest, frozen)
    _check_safety(run.folder, manifest, unsafe)
    died = close_dead_attempts(run, manifest)
    ledger = ledger_of(manifest, run.index())
    wanted, rerun = _wanted(frozen, orders), orders.rerun_infrastructure
    begun_now = to_begin(wanted, ledger, orders.selection.limit, rerun)
    check_endpoints(loaded, begun_now)
    if begun_now:
        build_setups(loaded, run)  # the runner that made the run may have died before it had
    known = {planned.trial for planned in manifest.plan}
    gained = [planned for planned in frozen.plan if planned.trial not in known]
    if gained:
        add_trials(run, manifest, gained)
    return HeldRun(run, manifest, died)


def _wanted(frozen: Frozen, orders: Orders) -> list[TrialPlanned]:
    return orders.selection.of(execution_order(frozen.plan, int(frozen.experiment.get("seed", 0))))


def _check_same(folder: Path, manifest: Manifest, frozen: Frozen) -> None:
    """Refuse to go on with another experiment's run, or with a part of its plan."""
    if manifest.experiment_id != frozen.experiment_id:
        raise UsageError(
            f"{folder}: holds a run of another experiment ({manifest.name}, "
            f"{manifest.experiment_id[:12]}; this one is {frozen.experiment_id[:12]}). "
            "Give another folder with -o."
        )
    # Forks are added by a command of their own and stand in no experiment.
    missing = {p.trial for p in manifest.plan if p.fork is None} - {p.trial for p in frozen.plan}
    if missing:
        raise UsageError(
            f"{folder}: its plan has {len(missing)} trials that this one has not, such as "
            f"{min(missing)!r}. A plan may grow, never shrink; give another folder with -o."
        )


def _check_safety(folder: Path, manifest: Manifest, unsafe: bool) -> None:
    """Refuse to mix trials in a sandbox with trials without one."""
    if unsafe and not manifest.unsafe:
        raise UsageError(
            f"{folder}: its trials run in a sandbox. Go on without --unsafe-no-sandbox, or give another "
            "folder with -o."
        )
    if manifest.unsafe and not unsafe:
        raise UsageError(
            f"{folder}: its trials run without a sandbox. Go on with --unsafe-no-sandbox, or give another "
            "folder with -o."
        )


def _check_name(folder: Path) -> None:
    """Refuse a path that no JSON of the run could hold."""
    try:
        str(folder.resolve()).encode()
    except UnicodeEncodeError:
        raise UsageError(f"{str(folder)!r}: is not UTF-8. Give another folder with -o.") from None


def _check_place(folder: Path) -> None:
    """Refuse a folder that holds something else than a run, or a file."""
    if folder.exists() and not (folder.is_dir() and (_is_run(folder) or _unborn(folder))):
        raise UsageError(f"{folder}: is not empty and holds no run. Give another folder with -o.")


def _is_run(folder: Path) -> bool:
    return (folder / "manifest.json").exists()


def _unborn(folder: Path) -> bool:
    """Whether a folder is empty, or holds only what a runner has before the manifest."""
    return all(
        entry.name == LOCK
        or (entry.name == "objects" and is_store(entry))
        or (entry.name.startswith(".manifest.json.") and entry.suffix == ".tmp")
        for entry in folder.iterdir()
    )


def _create(loaded: LoadedExperiment, frozen: Frozen, folder: Path, unsafe: bool) -> RunFolder:
    """Objects first, the manifest last: a folder with a manifest is whole, and nothing else is left.

    Where a setup script fails, nothing is left either. Call it with the lock held: what is there is ours.
    """
    try:
        run = _written(loaded, frozen, folder, unsafe)
        build_setups(loaded, run)
        return run
    except BaseException:
        (folder / "manifest.json").unlink(missing_ok=True)
        for part in ("objects", "scratch"):
            remove_tree(str(folder / part))
        raise


def _written(loaded: LoadedExperiment, frozen: Frozen, folder: Path, unsafe: bool) -> RunFolder:
    run = RunFolder(folder)
    for digest, data in blobs(loaded):
        run.objects.put(data, digest)
    manifest = Manifest(
        **frozen._asdict(),
        host=host_facts(),
        packages={name: metadata.version(name) for name in _PACKAGES},
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        unsafe=unsafe,
    )
    return RunFolder.create(folder, manifest)


def host_facts() -> dict[str, object]:
    """What of the host matters to results; no name and no path of it."""
    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "bubblewrap": ".".join(map(str, bwrap_version("bwrap"))),
        "root": is_real_root(),
        "journal": SCHEMA,
    }
