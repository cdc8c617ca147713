"""Group-sequential boundaries (F14): published constants, and the error they keep in simulation."""

import math

import numpy as np
import pytest

from seatrial.estimate.boundaries import classical_boundaries, spending, spending_boundaries
from tests.estimate.gold import gold

CASE = gold("group_sequential_K5")
TIMES = CASE.given["information"]


def zs(looks):
    return [look.z for look in looks]


def close(answer):
    return pytest.approx(answer, abs=CASE.tolerance)


def test_the_classical_designs_give_the_published_constants():
    pocock = classical_boundaries(TIMES, shape="pocock")
    assert zs(pocock) == close([CASE.expected["pocock_two_sided_05"]] * 5)
    fleming = classical_boundaries(TIMES)
    assert zs(fleming) == close(CASE.expected["obf_two_sided_05_z"])
    assert fleming[-1].z == close(CASE.expected["obf_two_sided_05_final"])
    assert fleming[-1].spent == pytest.approx(0.05, abs=1e-6)


def test_spending_gives_the_known_answers():
    fleming = spending_boundaries(TIMES, 0.025, sides=1)
    assert zs(fleming) == close(CASE.expected["lan_demets_obf_one_sided_025"])
    assert [look.spent for look in fleming] == pytest.approx(CASE.expected["obf_spend_025"], abs=1e-9)
    pocock = spending_boundaries(TIMES, 0.025, "pocock", 1)
    assert zs(pocock) == close(CASE.expected["lan_demets_pocock_one_sided_025"])


def test_two_sides_spend_half_each():
    two, one = spending_boundaries(TIMES, 0.05), spending_boundaries(TIMES, 0.025, sides=1)
    assert zs(two) == pytest.approx(zs(one), abs=1e-4), (
        "crossing one side after the other is next to impossible"
    )
    assert two[-1].spent == pytest.approx(0.05)


def test_one_look_is_the_ordinary_test():
    for shape in ("pocock", "obrien-fleming"):
        assert zs(spending_boundaries([1.0], 0.05, shape)) == pytest.approx([1.959964], abs=1e-5)
        assert zs(classical_boundaries([1.0], 0.05, shape)) == pytest.approx([1.959964], abs=1e-5)
    assert spending_boundaries([1.0], 0.05, sides=1)[0].z == pytest.approx(1.644854, abs=1e-5)
    assert spending_boundaries([1.0])[0].p == pytest.approx(0.05)


@pytest.mark.parametrize("shape", ["pocock", "obrien-fleming"])
@pytest.mark.parametrize("sides", [1, 2])
def test_irregular_looks_keep_the_error(shape, sides):
    times = np.array([0.1, 0.13, 0.5, 0.9, 1.0])
    looks = spending_boundaries(times.tolist(), 0.05, shape, sides)
    rng = np.random.default_rng(1)
    steps = rng.normal(size=(200_000, 5)) * np.sqrt(np.diff(times, prepend=0))
    z = np.cumsum(steps, axis=1) / np.sqrt(times)
    crossed = (np.abs(z) if sides == 2 else z) >= np.array(zs(looks))
    assert crossed.any(axis=1).mean() == pytest.approx(0.05, abs=0.0025)
    by_look = np.maximum.accumulate(crossed, axis=1).mean(axis=0)
    assert by_look == pytest.approx([look.spent for look in looks], abs=0.0025)


def test_a_look_too_early_to_stop_spends_nothing():
    first = spending_boundaries([0.001, 1.0])[0]
    assert first.spent == 0 and first.z == pytest.approx(9)
    assert spending(1.0, 0.05, "pocock") == pytest.approx(0.05) == spending(1.0, 0.05, "obrien-fleming")


@pytest.mark.parametrize("information", [[], [0.5, 0.5], [0.6, 0.5], [0.0, 1.0], [0.5, 1.1], [math.nan]])
def test_bad_looks_are_refused(information):
    for boundaries in (spending_boundaries, classical_boundaries):
        with pytest.raises(ValueError, match="boundaries"):
            boundaries(information)
    with pytest.raises(ValueError, match="must be at 1"):
        classical_boundaries([0.5, 0.9])
    with pytest.raises(ValueError, match="alpha"):
        spending_boundaries([1.0], 0)


def test_looks_close_to_each_other_spend_no_more_than_one():
    close = spending_boundaries([0.5, 0.5005, 1.0])
    assert close[-1].z == pytest.approx(spending_boundaries([0.5, 1.0])[-1].z, abs=2e-3)
    with pytest.raises(ValueError, match=r"at least 0\.0001 apart"):
        spending_boundaries([0.5, 0.50005, 1.0])


def test_looks_are_bounded_in_number():
    looks = [i / 101 for i in range(1, 102)]
    with pytest.raises(ValueError, match="101 looks; 100 at most"):
        spending_boundaries(looks)
