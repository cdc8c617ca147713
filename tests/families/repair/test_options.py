import pytest

from seatrial.errors import UsageError
from seatrial.families.repair import PACKAGES, Knobs
from seatrial.families.repair.options import check_knobs


@pytest.mark.parametrize(
    ("knobs", "said"),
    [
        ({"depth": 0}, "--depth 0 is too small. Choose a number from 1 to 12"),
        ({"breadth": -1}, "breadth -1 is too small"),
        ({"delay": -1}, "--delay -1 is too small. Choose a number from 0 to 20"),
        ({"size": 5001}, "size 5001 is too large. Choose a number from 0 to 5000"),
        ({"variant": -1}, "variant -1 is too small"),
        ({"seed": -1}, "seed -1 is too small"),
        ({"depth": 5, "breadth": 3}, "needs 15 functions to break, but toolz offers 12. Choose a smaller"),
        ({"seed": 2**63}, "--seed 9223372036854775808 is too large"),
        ({"variant": 10**30}, "--variant 1000000000000000000000000000000 is too large"),
        ({"delay": 21}, "--delay 21 is too large"),
        ({"depth": 13}, "--depth 13 is too large"),
        ({"breadth": 10**30}, "--breadth"),
        ({"group": "deep"}, "there is no group 'deep'. Choose one of: 'short and deep', 'long and shallow'"),
    ],
)
def test_impossible_knobs_say_what_is_possible(knobs, said: str):
    with pytest.raises(UsageError, match=said):
        check_knobs(Knobs(**knobs), PACKAGES["toolz"])


@pytest.mark.parametrize(
    ("depth", "breadth", "group"),
    [(4, 1, "short and deep"), (2, 2, "short and deep"), (1, 6, "long and shallow")],
)
def test_the_group_follows_from_depth_and_breadth(depth: int, breadth: int, group: str):
    assert Knobs(depth=depth, breadth=breadth).stratum == group
    assert Knobs(depth=depth, breadth=breadth, group="long and shallow").stratum == "long and shallow"


def test_every_knob_shows_in_the_name():
    assert Knobs().name("toolz") == "toolz-1-d3b1"
    all_knobs = Knobs(seed=7, depth=2, breadth=4, delay=3, size=9, variant=1)
    assert all_knobs.name("funcy") == "funcy-7-d2b4-k3-n9-v1"
