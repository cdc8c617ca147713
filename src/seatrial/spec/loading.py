"""Reads tasks and experiments with everything they name, so that all of it is checked before a run."""

import glob
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from seatrial.errors import SpecError
from seatrial.journal.digest import digest_value
from seatrial.spec import experiment as experiments
from seatrial.spec import task as tasks
from seatrial.spec.agent_code import check_defined
from seatrial.spec.experiment import Experiment, Script, System
from seatrial.spec.experiment_rules import check_experiment
from seatrial.spec.faults import Source, shown
from seatrial.spec.folder import FileMap, need_file, resolve_inside, scan_folder
from seatrial.spec.interrupting import check_borne
from seatrial.spec.people import PEOPLE_FILE, check_human, check_people
from seatrial.spec.plan_file import PLAN_FILE, Plan, load_plan
from seatrial.spec.reading import check_schema, convert, read_text, read_toml
from seatrial.spec.scripts import load_script
from seatrial.spec.service_rules import check_services
from seatrial.spec.simulated import check_covers, check_fits, read_options
from seatrial.spec.suite_file import ENDING, check_frozen, load_suite
from seatrial.spec.task import Task
from seatrial.spec.task_rules import check_task

__all__ = ["LoadedExperiment", "LoadedTask", "load_experiment", "load_script", "load_task"]

TASK_FILE = "task.toml"
# How an experiment names a suite: the file NAME.suite.toml beside the experiment.
SUITE = "suite:"
# What a calibration found, kept beside what it is about: not part of the task.
CALIBRATION_FILE = "calibration.json"


@dataclass(frozen=True)
class LoadedTask:
    """A task that was read and checked.

    Attributes:
        folder: as the user gave it.
        spec: ``task.toml`` as a struct.
        raw: ``task.toml`` as plain data.
        files: the whole folder, relative path to (digest, mode); see ``folder.FileMap`` for modes.
    """

    folder: Path
    spec: Task
    raw: dict[str, Any]
    files: FileMap

    @property
    def file(self) -> str:
        """The task file, as messages name it."""
        return str(self.folder / TASK_FILE)

    @cached_property
    def plan(self) -> Plan | None:
        """What simulated agents play; null when the task has no plan.

        Raises:
            SpecError: the first thing that is wrong with it.
        """
        return load_plan(self.folder / PLAN_FILE, self.spec) if PLAN_FILE in self.files else None

    @cached_property
    def digest(self) -> str:
        """Of ``task.toml`` and all files together; changes with any verifier, solution or instruction."""
        return digest_value({"spec": self.raw, "files": self.files})

    def instruction(self, goal_version: int) -> str:
        """The text the agent is given for a goal version.

        Raises:
            KeyError: there is no such version.
        """
        texts = {goal.version: goal.instruction for goal in self.spec.goal}
        return read_text(self.folder / texts[goal_version])


@dataclass(frozen=True)
class LoadedExperiment:
    """An experiment that was read and checked with all it names.

    Attributes:
        path: as the user gave it.
        spec: the file as a struct.
        raw: the file as plain data.
        tasks: in the file's order, those of one glob by name.
        scripts: system name to task id to the script, for systems that have one.
        code: system name to the files of its ``path``.
    """

    path: Path
    spec: Experiment
    raw: dict[str, Any]
    tasks: list[LoadedTask]
    scripts: dict[str, dict[str, Script]]
    code: dict[str, FileMap]

    def code_folder(self, system: System) -> Path | None:
        """Where the code of a ``python`` system lies."""
        return None if system.path is None else self.path.parent / system.path


def load_task(folder: Path) -> LoadedTask:
    """Read and check one task folder.

    Raises:
        SpecError: the first thing that is wrong with it.
    """
    folder = Path(folder)
    if not os.path.isfile(folder / TASK_FILE):
        problem = (
            "is no task folder: it has no task.toml" if os.path.isdir(folder) else "there is no such folder"
        )
        raise SpecError(
            str(folder), "", problem, "Give a task's folder, or make one with `seatrial suite new`"
        )
    source = Source(str(folder / TASK_FILE))
    raw = read_toml(folder / TASK_FILE)
    check_schema(source, raw, tasks.SCHEMA)
    spec = convert(source, raw, Task)
    environment = raw.get("environment", {})
    check_task(source, folder, spec, files_declared="files" in environment)
    files = scan_folder(folder, keep=spec.environment.files.rstrip("/"))
    files.pop(CALIBRATION_FILE, None)
    if PEOPLE_FILE in files:
        check_people(folder / PEOPLE_FILE, folder, spec)
    _check_world_links(source, folder, spec, files)
    check_services(folder, spec.environment.services, files)
    return LoadedTask(folder, spec, raw, files)


def _check_world_links(source: Source, folder: Path, spec: Task, files: FileMap) -> None:
    """A link in the agent's world must stay in it: elsewhere it would dangle and name what is hidden."""
    world = folder / spec.environment.files
    prefix = spec.environment.files.rstrip("/") + "/"
    for relative in files:
        if relative.startswith(prefix) and (folder / relative).is_symlink():
            resolve_inside(source, "environment.files", world, relative.removeprefix(prefix))


def load_experiment(path: Path) -> LoadedExperiment:
    """Read and check an experiment, its tasks, and the scripts and code of its systems.

    Raises:
        SpecError: the first thing that is wrong; in the experiment, a task or a script.
    """
    path = Path(path)
    source = Source(str(path))
    raw = read_toml(path)
    check_schema(source, raw, experiments.SCHEMA)
    spec = convert(source, raw, Experiment)
    loaded = _load_tasks(source, path.parent, spec.tasks)
    check_experiment(source, spec, [task.spec for task in loaded])
    check_borne(source, spec, [(task.spec, task.files) for task in loaded])
    check_human(source, spec, [(task.folder, task.spec) for task in loaded])
    scripts, code = {}, {}
    for index, system in enumerate(spec.system):
        place = f"system[{index}]"
        if system.script is not None:
            scripts[system.name] = {
                task.spec.id: _load_system_script(source, place, system, task) for task in loaded
            }
        if system.agent == "simulated":
            _check_plans(source, place, system, loaded)
        if system.path is not None:
            code[system.name] = _load_code(source, place, path.parent / system.path, system)
    return LoadedExperiment(path, spec, raw, loaded, scripts, code)


def _load_tasks(source: Source, base: Path, entries: list[str]) -> list[LoadedTask]:
    found: dict[Path, LoadedTask] = {}
    places: dict[str, str] = {}
    if not entries:
        raise source.fault("tasks", "[] names no task", 'Name folders or globs, such as "tasks/*"')
    for index, entry in enumerate(entries):
        if entry.startswith(SUITE):
            folders = _suite_folders(source, f"tasks[{index}]", base, entry)
        else:
            folders = _task_folders(source, f"tasks[{index}]", base, entry)
        for folder in folders:
            if folder.resolve() in found:
                continue
            task = load_task(folder)
            if task.spec.id in places:
                raise source.fault(
                    f"tasks[{index}]",
                    f"{task.folder} has the id {shown(task.spec.id)} of {places[task.spec.id]}",
                    "Give each task its own id",
                )
            places[task.spec.id] = str(task.folder)
            found[folder.resolve()] = task
    return list(found.values())


def _suite_folders(source: Source, place: str, base: Path, entry: str) -> list[Path]:
    """The folders of a frozen suite, each of which must still be what was frozen."""
    name = entry.removeprefix(SUITE)
    if not name or "/" in name or "\0" in name:
        raise source.fault(
            place, f"{shown(entry)} is no suite's name", f"Write {SUITE}NAME, with NAME{ENDING} beside the "
            "experiment",
        )  # fmt: skip
    path = base / (name + ENDING)
    if not os.path.isfile(path):
        raise source.fault(
            place, f"{shown(entry)}: there is no file {path}", "Make it with `seatrial suite freeze`"
        )
    suite = load_suite(path)
    if suite.state == "retired":
        reason = suite.reason.strip() or "the suite does not say why"
        raise source.fault(place, f"{shown(entry)} is retired ({reason})", "Name a suite in use")
    for index, frozen in enumerate(suite.task):
        task = load_task(path.parent / frozen.folder)
        check_frozen(Source(str(path)), f"task[{index}]", frozen, task.spec, task.digest)
    return [path.parent / task.folder for task in suite.task]


def _task_folders(source: Source, place: str, base: Path, entry: str) -> list[Path]:
    if "\0" in entry or not entry:
        raise source.fault(place, f"{shown(entry)} is no path", "Name a task folder or a glob")
    if not glob.has_magic(entry):
        if not os.path.isdir(base / entry):
            raise source.fault(place, f"there is no folder {shown(entry)} in {base}", "Correct the path")
        return [base / entry]
    names = sorted(glob.glob(entry, root_dir=base, recursive=True))
    folders = [base / name for name in names if os.path.isfile(base / name / TASK_FILE)]
    if not folders:
        raise source.fault(
            place,
            f"{shown(entry)} matches no task in {base}",
            "Correct the glob; a task is a folder with task.toml",
        )
    return folders


def _load_system_script(source: Source, place: str, system: System, task: LoadedTask) -> Script:
    script = system.script or ""
    path = need_file(source, f"{place}.script", task.folder, script)
    return load_script(path, task.spec.environment.services)


def _check_plans(source: Source, place: str, system: System, loaded: list[LoadedTask]) -> None:
    """Every task must have a plan, and the system a skill for each step and for nothing else."""
    options = read_options(source, f"{place}.options", system.options)
    plans = list[tuple[Task, Plan]]()
    for task in loaded:
        if task.plan is None:
            raise source.fault(
                f"{place}.agent", f"a simulated agent follows a plan, and {task.folder} has no {PLAN_FILE}",
                "Write one there, or leave the task out",
            )  # fmt: skip
        check_covers(source, f"{place}.options", options, task.spec, task.plan)
        plans.append((task.spec, task.plan))
    check_fits(source, f"{place}.options", options, plans)


def _load_code(source: Source, place: str, folder: Path, system: System) -> FileMap:
    if not os.path.isdir(folder):
        raise source.fault(f"{place}.path", f"there is no folder {shown(system.path)}", "Correct the path")
    files = scan_folder(folder)
    code = system.code or ""
    module = code.partition(":")[0].replace(".", "/")
    # A package comes before a module of the same name, as where it is imported.
    found = next((name for name in (f"{module}/__init__.py", f"{module}.py") if name in files), None)
    if found is None:
        raise source.fault(
            f"{place}.code", f"{shown(code)}: there is no module {shown(module)} in {folder}",
            "Correct the module's name or the path",
        )  # fmt: skip
    check_defined(source, f"{place}.code", folder / found, code)
    return files
