"""The entry point: how the command ends when it is interrupted before it could begin."""

import signal
import subprocess
import sys


def test_an_interrupt_while_loading_is_one_line() -> None:
    program = (
        "import seatrial.cli, signal, os; os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(9)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGINT
    assert done.stderr == "seatrial: interrupted.\n"
