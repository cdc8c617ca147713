"""The run that most tests of the report look at."""

from pathlib import Path

import pytest

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
