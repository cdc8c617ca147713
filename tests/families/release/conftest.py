"""A generated release task."""

from pathlib import Path

import pytest

from seatrial.families.release import Knobs, generate


@pytest.fixture(scope="session")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The smallest one: two releases."""
    return generate(Knobs(), tmp_path_factory.mktemp("release") / "task")
