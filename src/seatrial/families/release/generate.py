"""From knobs to a task folder."""

from pathlib import Path

from seatrial.errors import SpecError
from seatrial.families.release.folder import task_files
from seatrial.families.release.options import Knobs, check_knobs
from seatrial.families.release.scene import build_scene
from seatrial.families.task_folder import place, require_free
from seatrial.spec.lint import lint_task
from seatrial.spec.loading import load_task
from seatrial.spec.plan_file import PLAN_FILE, load_plan

BUILDING = ".seatrial-release-"


def generate(knobs: Knobs, out: Path) -> Path:
    """Writes a complete task folder; the same knobs give the same bytes.

    Args:
        knobs: the seed and what makes the task difficult.
        out: the task's folder; it must not exist, or be empty.

    Returns:
        The task's folder.

    Raises:
        UsageError: impossible knobs, or the folder is taken.
        SpecError: lint finds an error in what was made.
        EnvironmentFault: the folder could not be written.
    """
    check_knobs(knobs)
    require_free(out)
    place(task_files(build_scene(knobs)), out, BUILDING, check_task)
    return out


def check_task(folder: Path) -> None:
    """Refuses a folder of which lint or the plan's rules say that it is no good task.

    What solutions and recoveries are worth is shown by a calibration.

    Raises:
        SpecError: the first thing that is wrong.
    """
    task = load_task(folder)
    load_plan(folder / PLAN_FILE, task.spec)
    for finding in lint_task(task):
        if finding.level == "error":
            raise SpecError(str(folder), finding.place, finding.problem, finding.remedy)
