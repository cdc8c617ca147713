import pytest

from seatrial.errors import UsageError
from seatrial.families.ledger import SOURCES, Knobs
from seatrial.families.ledger.options import check_knobs


def test_every_knob_that_is_not_at_its_default_is_in_the_name():
    knobs = Knobs(seed=5, depth=2, breadth=3, delay=4, size=6, variant=7, group="belief and world diverge")
    assert knobs.name("weather") == "weather-5-d2b3-k4-n6-belief-v7"
    assert knobs.original().name("weather") == "weather-5-d2b3-k4-n6-belief"
    assert Knobs().name("weather") == "weather-1-d3b2"


def test_the_group_follows_from_depth_and_breadth():
    assert Knobs(depth=3, breadth=3).stratum == "short and deep"
    assert Knobs(depth=2, breadth=3).stratum == "long and shallow"
    assert Knobs(group="goal changes, world does not").stratum == "goal changes, world does not"


@pytest.mark.parametrize(
    ("data", "knobs", "said"),
    [
        ("weather", {"seed": -1}, "--seed -1 is too small for weather. Choose a number from 0"),
        ("weather", {"depth": 0}, "--depth 0 is too small"),
        ("weather", {"depth": 13}, "Choose a number from 1 to 12"),
        ("weather", {"breadth": 9}, "Choose a number from 1 to 8"),
        ("weather", {"delay": 9}, "Choose a number from 0 to 8"),
        ("employment", {"size": 161}, "Choose a number from 0 to 160"),
        ("electricity", {"size": 1}, "Choose a number from 0 to 0"),
        ("weather", {"group": "short but irreversible"}, "Choose one of: 'short and deep'"),
    ],
)
def test_what_no_task_can_have_is_refused(data: str, knobs: dict[str, int], said: str):
    with pytest.raises(UsageError) as refused:
        check_knobs(Knobs(**knobs), SOURCES[data])
    assert said in str(refused.value)
