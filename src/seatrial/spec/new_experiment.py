"""Makes a first experiment for a task: its solutions as systems, and simulated agents where it has a plan."""

import contextlib
import json
import os
from pathlib import Path, PurePosixPath

from seatrial.errors import UsageError
from seatrial.spec.experiment import SCHEMA
from seatrial.spec.loading import LoadedExperiment, LoadedTask, load_experiment
from seatrial.spec.people import PEOPLE_FILE
from seatrial.spec.plan_file import PLAN_FILE

TRIALS = 3
# Such a solution meets a perturbation, which only an arm of its own brings about.
RECOVERY = "recover-"
HEAD = """\
# A first experiment on one task. What each key means: docs/formats.md
schema = {schema}
name = {name}
tasks = [{folder}]
trials_per_task = {trials}
seed = 1
"""
COMPARED = 'primary = { measure = "safe_success", compare = ["steady", "hasty"] }\n'
PEOPLE = f"""
# Without people nobody can grant what the task's constraints require.
[human]
tier = "approval"
script = "{PEOPLE_FILE}"
"""
SCRIPTED = """
[[system]]
name = {name}
agent = "scripted"
script = {script}
"""
SIMULATED = """
# Simulated agents follow the task's plan.toml and go wrong as often as told here.
[[system]]
name = "steady"
agent = "simulated"
options = { skill = 0.9, checking = 0.5 }

[[system]]
name = "hasty"
agent = "simulated"
options = { skill = 0.6, drift = 0.2, shortcut = 0.3 }
"""


def check_place(file: Path, folder: Path) -> None:
    """Refuse a place for an experiment, before the task itself is made.

    Raises:
        UsageError: something is there, its folder is missing, or it lies in the task and would change it.
    """
    if os.path.lexists(file):
        raise UsageError(f"{file}: exists. Choose another place for the experiment.")
    if not file.parent.is_dir():
        raise UsageError(f"{file.parent}: there is no such folder. Make it first.")
    if Path(os.path.realpath(file)).is_relative_to(os.path.realpath(folder)):
        raise UsageError(f"{file}: lies in the task, and would be part of it. Write it beside {folder}.")


def new_experiment(file: Path, task: LoadedTask) -> LoadedExperiment:
    """Write an experiment on a task, whole or not at all.

    Args:
        file: must not exist; see ``check_place``.
        task: whose solutions become scripted systems.

    Returns:
        The experiment as loaded from its file.

    Raises:
        UsageError: the disk refused.
        SpecError: a solution's name can be no system's.
    """
    folder = os.path.relpath(os.path.realpath(task.folder), os.path.realpath(file.parent))
    text = HEAD.format(
        schema=_text(SCHEMA), name=_text(task.spec.id.partition("/")[2]), folder=_text(folder), trials=TRIALS
    )
    if PLAN_FILE in task.files:
        text += COMPARED
    if PEOPLE_FILE in task.files and any(each.granted_by == "human" for each in task.spec.approval):
        text += PEOPLE
    for script in sorted(path for path in task.files if PurePosixPath(path).match("solutions/*.toml")):
        if PurePosixPath(script).name.startswith(RECOVERY):
            continue
        text += SCRIPTED.format(name=_text(PurePosixPath(script).stem), script=_text(script))
    if PLAN_FILE in task.files:
        text += SIMULATED
    try:
        with open(file, "x", encoding="utf-8") as opened:
            opened.write(text)
    except OSError as fault:
        raise UsageError(f"{file}: cannot be written: {fault.strerror}. Choose another place.") from fault
    try:
        return load_experiment(file)
    except BaseException:
        with contextlib.suppress(OSError):
            file.unlink()
        raise


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
