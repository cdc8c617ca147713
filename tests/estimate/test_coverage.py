"""The study of coverage and false positives, a few cells of it; `python -m benchmarks.coverage` runs all."""

import numpy as np
import pytest

from benchmarks import coverage as room
from benchmarks.coverage import Cell, coverage, false_positives, inside, may_miss, population_coverage

REPEATS = 500


@pytest.mark.parametrize("cell", [(0.5, 30, 0.2), (0.9, 10, 0.2), (0.95, 100, 0.05)])
def test_the_default_interval_covers_what_it_says(cell):
    held, width = coverage(np.random.default_rng(20261129), cell, REPEATS)
    assert inside(held, (0.92, 0.98), REPEATS)
    assert 0 < width < 0.5


def test_the_paired_test_errs_as_often_as_it_says():
    share = false_positives(np.random.default_rng(20261129), (0.8, 30, 0.2), REPEATS)
    assert inside(share, (0.04, 0.06), REPEATS)


@pytest.mark.parametrize("measured", [False, True])
def test_a_population_mean_of_few_tasks_covers_what_it_says(measured):
    cell = ((0.8, 0.4), (0.7, 0.3), 3)
    assert inside(population_coverage(np.random.default_rng(7), cell, 300, measured), (0.92, 1), 300)


def test_a_miss_where_theory_allows_none_is_a_failure(monkeypatch, capsys):
    assert may_miss((0.5, 10, 0.2)) and may_miss((0.95, 30, 0.5)) and not may_miss((0.8, 30, 0.5))
    for cell, status in (
        (Cell(False, True, "few"), 0),
        (Cell(False, False, "many"), 1),
        (Cell(True, False, ""), 0),
    ):
        monkeypatch.setattr(room, "study", lambda repeats, cell=cell: [cell])
        assert room.main(["100"]) == status
    assert "MISS where theory allows none: many" in capsys.readouterr().out
