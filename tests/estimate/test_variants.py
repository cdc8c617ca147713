"""Paired gap between originals and their variants (F28)."""

import numpy as np
import pytest

from seatrial.estimate.variants import variant_gap


def gap(originals, variants, original_of):
    return variant_gap(originals, variants, original_of, np.random.default_rng(1))


def test_the_original_is_the_sampling_unit():
    originals = {f"o{i}": [True, True] for i in range(8)}
    original_of = {f"o{i}-{j}": f"o{i}" for i in range(8) for j in range(5)}
    variants = {v: [int(o[1]) % 2 == 0] for v, o in original_of.items()}
    found = gap(originals, variants, original_of)
    assert found.difference.value == pytest.approx(0.5)
    assert (found.difference.n_tasks, found.wins, found.ties) == (8, 4, 4)
    assert found.difference.notes[0] == "40 variants of 8 originals; the original is the sampling unit."


def test_originals_without_variants_are_named():
    found = gap(
        {"a": [True], "b": [True], "c": [False]}, {"a1": [False], "b1": [True]}, {"a1": "a", "b1": "b"}
    )
    assert "c is left out: no valid trial of a variant." in found.difference.notes
    assert found.difference.n_tasks == 2


def test_a_variant_of_nothing_is_refused():
    for original_of in ({}, {"a1": "gone"}):
        with pytest.raises(ValueError, match="a1 has no original"):
            gap({"a": [True]}, {"a1": [True]}, original_of)
