"""Starting is cheap: the package and the command line load none of the heavy libraries."""

import subprocess
import sys

import pytest

HEAVY = (
    "numpy", "polars", "scipy", "altair", "pandas", "jinja2", "vl_convert", "asyncio", "httpx", "starlette",
    "uvicorn",
)  # fmt: skip


@pytest.mark.parametrize("module", ["seatrial", "seatrial.cli.main", "seatrial.trial.worker"])
def test_starting_loads_nothing_heavy(module: str) -> None:
    program = f"import sys, {module}; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
