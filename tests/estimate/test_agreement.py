"""Agreement (F12): published answers, missing ratings, and the cases where agreement is undefined."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.estimate.agreement import cohen_kappa, fleiss_kappa, icc, krippendorff_alpha
from tests.estimate.gold import gold

# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability": four observers, twelve units.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
# Shrout and Fleiss (1979), table 2: six targets, four judges.
JUDGES = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


def rng():
    return np.random.default_rng(7)


def turned(raters):
    return [list(item) for item in zip(*raters, strict=True)]


def test_cohen_gives_the_known_answer():
    case = gold("cohen_kappa")
    pairs = [[i, j] for i, row in enumerate(case.given["table"]) for j, n in enumerate(row) for _ in range(n)]
    found = cohen_kappa(pairs, rng(), draws=2_000)
    assert found.value == pytest.approx(case.expected, abs=case.tolerance)
    # Its published large-sample error is √(po(1 − po)/n)/(1 − pe) = .1296, a close bound here.
    assert (found.high - found.low) / 2 / 1.96 == pytest.approx(0.1296, rel=0.12)
    assert (found.n_tasks, found.n_trials, found.unit) == (50, 100, "items")
    assert "Raw agreement is 0.7." in found.notes


def test_fleiss_gives_the_known_answer():
    case = gold("fleiss_kappa")
    items = [[j for j, n in enumerate(row) for _ in range(n)] for row in case.given["counts"]]
    found = fleiss_kappa(items, rng(), draws=2_000)
    assert found.value == pytest.approx(case.expected, abs=case.tolerance)
    assert found.low < found.value < found.high


@pytest.mark.parametrize("scale", ["nominal", "interval"])
def test_krippendorff_gives_the_known_answers(scale):
    case = gold("krippendorff")
    found = krippendorff_alpha(turned(case.given["raters_by_units"]), rng(), scale, draws=2_000)
    assert found.value == pytest.approx(case.expected[scale], abs=case.tolerance)
    assert found.low < found.value < found.high <= 1
    assert "3 items with fewer than two ratings are left out." in found.notes


@pytest.mark.parametrize(("scale", "answer"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_krippendorff_gives_the_published_answers(scale, answer):
    assert krippendorff_alpha(turned(OBSERVERS), rng(), scale).value == pytest.approx(answer, abs=5e-4)


def test_ordinal_looks_at_ranks_only():
    stretched = [[None if v is None else float(v) ** 3 for v in item] for item in turned(OBSERVERS)]
    found = krippendorff_alpha(stretched, rng(), "ordinal", draws=50)
    assert found.value == pytest.approx(
        krippendorff_alpha(turned(OBSERVERS), rng(), "ordinal", draws=50).value
    )
    assert krippendorff_alpha(stretched, rng(), "interval", draws=50).value != pytest.approx(0.849, abs=0.01)


@pytest.mark.parametrize(("form", "answer"), [("single", 0.29), ("mean", 0.62)])
def test_icc_gives_the_published_answers(form, answer):
    found = icc(JUDGES, rng(), form)
    assert found.value == pytest.approx(answer, abs=5e-3)
    assert found.low <= found.value <= found.high <= 1
    assert found.method.startswith("ICC(2,1)" if form == "single" else "ICC(2,k)")


def test_icc_punishes_a_rater_who_is_always_higher():
    shifted = [[v, v + 5.0] for v in (1.0, 2.0, 3.0, 4.0)]
    assert icc(shifted, rng()).value < 0.2
    exact = [[v, v] for v in (1.0, 2.0, 3.0, 4.0)]
    assert icc(exact, rng()).value == pytest.approx(1)


def test_where_nobody_varies_agreement_is_undefined_and_said():
    same = [["yes", "yes"]] * 5
    for found in (
        cohen_kappa(same, rng()),
        fleiss_kappa(same, rng()),
        krippendorff_alpha(same, rng()),
        krippendorff_alpha([[1, 1]] * 5, rng(), "interval"),
        krippendorff_alpha([[1, 1]] * 5, rng(), "ordinal"),
        icc([[3.0, 3.0]] * 5, rng()),
    ):
        assert (found.value, found.low, found.high) == (None, None, None)
        assert any("Undefined: all ratings are the same" in note for note in found.notes)
    assert "Raw agreement is 1." in cohen_kappa(same, rng()).notes


def test_samples_that_define_nothing_are_counted():
    rare = [["yes", "yes"]] * 9 + [["no", "no"]]
    found = cohen_kappa(rare, rng(), draws=4_000)
    assert found.value == 1 and found.low is None
    lost = next(int(note.split()[0]) for note in found.notes if "define no value" in note)
    assert lost / 4_000 == pytest.approx(0.9**10, abs=0.03)


def test_items_without_enough_ratings_are_left_out_and_counted():
    found = cohen_kappa([["a", "a"], ["b", None], ["a", "b"], ["b", "b"]], rng(), draws=100)
    assert found.n_tasks == 3 and "1 items not rated by both are left out." in found.notes
    assert cohen_kappa([["a", None]], rng()).value is None
    assert fleiss_kappa([], rng()).value is None
    assert krippendorff_alpha([["a", None]], rng()).value is None
    alone = krippendorff_alpha([["a", "b"]], rng())
    assert alone.value == pytest.approx(0) and alone.low is None


ratings = st.lists(st.lists(st.sampled_from([1, 2, 3]), min_size=3, max_size=3), min_size=2, max_size=10)


@given(ratings)
def test_no_measure_passes_one_or_knows_an_order(items):
    for measure in (fleiss_kappa, krippendorff_alpha, icc):
        found = measure(items, rng(), draws=50)
        again = measure([item[::-1] for item in items[::-1]], rng(), draws=50)
        if found.value is None:
            assert again.value is None
            continue
        assert found.value <= 1 + 1e-9
        assert again.value == pytest.approx(found.value)


@given(ratings, st.sampled_from(["nominal", "ordinal", "interval"]))
def test_krippendorff_is_one_minus_observed_over_expected_distance(items, scale):
    values = sorted(v for item in items for v in item)
    rank = {v: np.mean([i for i, w in enumerate(values) if w == v]) for v in values}
    far = {
        "nominal": lambda a, b: float(a != b),
        "ordinal": lambda a, b: (rank[a] - rank[b]) ** 2,
        "interval": lambda a, b: (a - b) ** 2,
    }[scale]
    n = len(values)
    seen = sum(far(a, b) for item in items for a in item for b in item) / 2 / n
    chance = sum(far(a, b) for a in values for b in values) / (n * (n - 1))
    found = krippendorff_alpha(items, rng(), scale, draws=20)
    assert found.value is None if chance == 0 else found.value == pytest.approx(1 - seen / chance)


def test_bad_tables_are_refused():
    for bad in ([["a"]], [["a", "b", "c"]], [["a", math.nan]]):
        with pytest.raises(ValueError, match="cohen_kappa"):
            cohen_kappa(bad, rng())
    for bad in ([["a", "b"], ["a"]], [["a", None]], [["a"]]):
        with pytest.raises(ValueError, match="fleiss_kappa"):
            fleiss_kappa(bad, rng())
    for bad in ([[1.0, 2.0]], [[1.0], [2.0]], [[1.0, 2.0], [1.0]], [[1.0, 2.0], [math.nan, 1.0]], []):
        with pytest.raises(ValueError, match="icc"):
            icc(bad, rng())
    with pytest.raises(ValueError, match="needs numbers"):
        krippendorff_alpha([["a", "b"]], rng(), "interval")
