"""Makes a run folder for an experiment, or opens the one it began in."""

import fcntl
import os
import platform
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import IO

from seatrial.environment.confine.host import bwrap_version, check_host
from seatrial.environment.confine.namespaces import is_real_root
from seatrial.environment.state.overlay import remove_tree
from seatrial.errors import UsageError
from seatrial.journal.events import SCHEMA
from seatrial.journal.run import Manifest, RunFolder, TrialPlanned
from seatrial.schedule.amendments import add_trials
from seatrial.schedule.endpoints import check_endpoints
from seatrial.schedule.setups import build_setups
from seatrial.schedule.supported import refuse_unsupported
from seatrial.spec.identity import blobs, freeze
from seatrial.spec.loading import LoadedExperiment

_PACKAGES = ("seatrial", "msgspec", "blake3")


def open_run(loaded: LoadedExperiment, folder: Path, unsafe: bool = False) -> RunFolder:
    """Create the run folder, or continue the one there is.

    Args:
        loaded: the experiment.
        folder: where the run is or shall be.
        unsafe: run without a sandbox; a run is one or the other from its first trial to its last.

    Raises:
        SpecError: the experiment asks for what this release cannot carry out, or a model's endpoint is not
            there.
        UsageError: the folder holds something else, or a run of another experiment or plan.
        EnvironmentFault: a new run needs a sandbox and this host can make none; nothing is written.
    """
    refuse_unsupported(loaded)
    check_endpoints(loaded)
    _check_name(folder)
    frozen = freeze(loaded)
    if (folder / "manifest.json").exists():
        run = RunFolder.open(folder)
        manifest = run.manifest()
        if manifest.experiment_id != frozen.experiment_id:
            raise UsageError(
                f"{folder}: holds a run of another experiment ({manifest.name}, "
                f"{manifest.experiment_id[:12]}; this one is {frozen.experiment_id[:12]}). "
                "Give another folder with -o."
            )
        missing = {p.trial for p in manifest.plan} - {p.trial for p in frozen.plan}
        if missing:
            raise UsageError(
                f"{folder}: its plan has {len(missing)} trials that this one has not, such as "
                f"{min(missing)!r}. A plan may grow, never shrink; give another folder with -o."
            )
        _check_safety(folder, manifest, unsafe)
        return _amended(run, frozen.plan)
    if folder.exists() and not (folder.is_dir() and _unborn(folder)):
        raise UsageError(f"{folder}: is not empty and holds no run. Give another folder with -o.")
    if not unsafe:
        check_host()
    return _create(loaded, folder, unsafe)


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


def _unborn(folder: Path) -> bool:
    """Whether a folder is empty, or holds only what a runner that was killed before the manifest left."""
    return all(
        entry.name == "objects" or (entry.name.startswith(".manifest.json.") and entry.suffix == ".tmp")
        for entry in folder.iterdir()
    )


def _create(loaded: LoadedExperiment, folder: Path, unsafe: bool) -> RunFolder:
    """Objects first, the manifest last: a folder with a manifest is whole, and nothing else is left.

    Where a setup script fails, nothing is left either.
    """
    existed = folder.exists()
    try:
        run = _written(loaded, folder, unsafe)
        build_setups(loaded, run)
        return run
    except BaseException:
        (folder / "manifest.json").unlink(missing_ok=True)
        for part in ("objects", "scratch"):
            remove_tree(str(folder / part))
        if not existed:
            remove_tree(str(folder))
        raise


def _written(loaded: LoadedExperiment, folder: Path, unsafe: bool) -> RunFolder:
    run = RunFolder(folder)
    for digest, data in blobs(loaded):
        run.objects.put(data, digest)
    frozen = freeze(loaded)
    manifest = Manifest(
        **frozen._asdict(),
        host=host_facts(),
        packages={name: metadata.version(name) for name in _PACKAGES},
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        unsafe=unsafe,
    )
    return RunFolder.create(folder, manifest)


def _amended(run: RunFolder, plan: list[TrialPlanned]) -> RunFolder:
    """Append trials the plan has gained, with a dated note; not while another runner goes by the old one."""
    if {p.trial for p in plan} - {p.trial for p in run.manifest().plan}:
        with lock_run(run):
            manifest = run.manifest()
            known = {p.trial for p in manifest.plan}
            add_trials(run, manifest, [p for p in plan if p.trial not in known])
    return run


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


def lock_run(run: RunFolder) -> IO[str]:
    """Hold the run folder for this process; the lock ends with it, however it ends.

    Raises:
        UsageError: another runner holds it.
    """
    handle = open(run.folder / "lock", "w", encoding="ascii")  # noqa: SIM115 (held as long as the run)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        handle.close()
        raise UsageError(
            f"{run.folder}: another runner works on it. Wait for it, or give another folder."
        ) from None
    return handle
