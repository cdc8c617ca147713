"""How long is waited before a call is sent again."""

import pytest

from seatrial.agents.model.calling import pause_before
from seatrial.spec.chat import Backoff


@pytest.mark.parametrize(
    ("failed", "retry_after", "pause"),
    [(1, None, 1.0), (2, None, 3.0), (3, None, 9.0), (4, None, 20.0), (160, None, 20.0), (1, 7.0, 7.0),
     (3, 0.0, 0.0), (1, 3600.0, 20.0)],
)  # fmt: skip
def test_waits_grow_to_a_bound_and_the_endpoint_may_name_them(
    failed: int, retry_after: float | None, pause: float
) -> None:
    assert pause_before(Backoff(first=1.0, factor=3.0, longest=20.0), failed, retry_after) == pause
