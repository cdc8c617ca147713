"""What getting over a disturbance takes, by the scripts that do it."""

import pytest

from seatrial.families.release import Knobs
from seatrial.families.release.recoveries import oracle_costs, recoveries
from seatrial.families.release.scene import build_scene
from seatrial.families.release.scripts import names, work

COSTS = {
    "recipient-changed": 1, "version-changed": 3, "payment-unanswered": 1, "credential-expired": 2,
    "leave-withdrawn": 2, "list-cut-short": 1, "false-report": 1, "stale-memory": 2,
}  # fmt: skip


@pytest.mark.parametrize(("depth", "delay"), [(2, 0), (3, 1), (7, 0), (7, 5)])
def test_costs_do_not_depend_on_how_long_the_work_is(depth: int, delay: int) -> None:
    assert oracle_costs(build_scene(Knobs(depth=depth, delay=delay))) == COSTS


@pytest.mark.parametrize("delay", [0, 1, 2])
def test_nothing_of_a_release_that_is_called_off_is_done(delay: int) -> None:
    scene = build_scene(Knobs(depth=4, delay=delay))
    done = names(recoveries(scene)["release-cancelled"])
    assert [name for name in done if name.endswith("-4")] == ["read-4", "drafted-4"]
    assert done[done.index("drafted-4") + 1] == "withdrawn"
    assert {name for name in done if not name.endswith("-4")} - {"withdrawn"} == {
        name for name in names(work(scene)) if not name.endswith("-4")
    }
    assert len(done) == len(set(done))
