"""Bootstrap samples of tasks in parts: whole samples, the law of the mean, however many fit at once."""

import numpy as np
import pytest

from seatrial.estimate.bootstrap import CELLS
from seatrial.estimate.resample import over_tasks

VALUES = np.array([0.0, 1.0, 2.0, 7.0])


def mean(weights):
    assert (weights.sum(axis=1) == 4).all()
    return weights @ VALUES / 4


@pytest.mark.parametrize("cells", [0, CELLS // 1_000])
def test_every_sample_is_whole_and_their_mean_follows_its_law(cells):
    found = over_tasks(4, np.random.default_rng(1), 20_000, mean, cells)
    assert found.shape == (20_000,)
    assert found.mean() == pytest.approx(VALUES.mean(), abs=0.03)
    assert found.std() == pytest.approx(VALUES.std() / 2, rel=0.03)


def test_no_draw_is_refused():
    with pytest.raises(ValueError, match="draws"):
        over_tasks(4, np.random.default_rng(1), 0, mean)
