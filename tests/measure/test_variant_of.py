"""Whose variant a task is (F28): what its provenance says, and nothing that it does not."""

from pathlib import Path

import pytest

from seatrial.measure.trial import original_of
from seatrial.spec.loading import load_task
from seatrial.spec.new_task import new_task


@pytest.mark.parametrize(
    ("provenance", "original"),
    [('variant_of = "repair/a"', "repair/a"), ("variant = 0", None), ("variant_of = 3", None)],
)
def test_a_variant_names_its_original(tmp_path: Path, provenance: str, original: str | None) -> None:
    new_task(tmp_path / "guests", "example/guests")
    with (tmp_path / "guests" / "task.toml").open("a") as file:
        file.write(f"\n[provenance]\n{provenance}\n")
    assert original_of(load_task(tmp_path / "guests").spec) == original
