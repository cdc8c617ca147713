"""The study of coverage and false positives, a few cells of it; `python -m benchmarks.coverage` runs all."""

import numpy as np
import pytest

from benchmarks.coverage import coverage, false_positives, inside

REPEATS = 500


@pytest.mark.parametrize("cell", [(0.5, 30, 0.2), (0.9, 10, 0.2), (0.95, 100, 0.05)])
def test_the_default_interval_covers_what_it_says(cell):
    held, width = coverage(np.random.default_rng(20261129), cell, REPEATS)
    assert inside(held, (0.92, 0.98), REPEATS)
    assert 0 < width < 0.5


def test_the_paired_test_errs_as_often_as_it_says():
    share = false_positives(np.random.default_rng(20261129), (0.8, 30, 0.2), REPEATS)
    assert inside(share, (0.04, 0.06), REPEATS)
