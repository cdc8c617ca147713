"""The runs that most tests of the report look at."""

from pathlib import Path

import pytest

from tests.measure.disturbances import BASE, BLIND, CAREFUL, TASK, begun, blind, careful
from tests.measure.story import Story, table
from tests.measure.trials import WITH_REPAIR, WITHOUT_REPAIR, verdicts
from tests.report.runs import RunMaker, all_pass, cell


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Three systems, one trial each: the worked example, the same without its repair, and one that cheats."""
    plan = [cell("t-1"), cell("t-2", "hasty"), cell("t-3", "cheating")]
    made = RunMaker(tmp_path / "run", plan)
    made.trial(plan[0], None, stop="environment_fault", infrastructure=True, steps=2)
    made.trial(plan[0], verdicts(WITH_REPAIR), attempt=2)
    made.trial(plan[1], verdicts(WITHOUT_REPAIR))
    made.trial(plan[2], all_pass(), violation={4: True, 6: False})
    return made.folder


@pytest.fixture
def disturbed_run(tmp_path: Path) -> Path:
    """Two systems with and without the disturbance, and one trial in which it never came about."""
    arm = "perturbed:limits"
    plan = [
        cell("t-1"), cell("t-2", arm=arm), cell("t-3", "hasty"), cell("t-4", "hasty", arm=arm),
        cell("t-5", "hasty", arm=arm, repeat=1),
    ]  # fmt: skip
    made = RunMaker(tmp_path / "run", plan, TASK)
    done = {1: {"clean": "pass"}, 2: {"totals": "pass"}, 3: {"letter": "pass"}}
    calm = (
        Story(BASE).write("clean.csv", "1").write("totals.csv", "10", "clean.csv").write("letter.txt", "10")
    )
    made.story(plan[0], calm.finish().end(), table(TASK, done))
    made.story(plan[2], calm, table(TASK, done))
    made.story(plan[1], careful(), table(TASK, CAREFUL))
    made.story(plan[3], blind(), table(TASK, BLIND))
    never = begun().write("letter.txt", "10", "totals.csv").finish().end()
    made.story(plan[4], never, table(TASK, done))
    return made.folder
