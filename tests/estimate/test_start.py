"""What is loaded when: numpy and scipy would slow every command's start."""

import subprocess
import sys


def test_neither_numpy_nor_scipy_is_loaded_before_it_is_needed():
    code = (
        "import sys, seatrial.cli.main, seatrial.report.build, seatrial.estimate.rates as r;"
        "r.rate_over_tasks({'a': [True], 'b': [None]});"
        "print([name for name in ('numpy', 'scipy') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
