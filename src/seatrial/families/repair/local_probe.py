"""``probe`` without a sandbox, for the check at generation, when no agent has touched anything yet.

It keeps the command line of the real one and none of its walls: never run it on what an agent made.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TIMED_OUT = 124


def main(argv: list[str]) -> int:
    """Runs a command on a scratch copy of the working directory."""
    options, command = argv[: argv.index("--")], argv[argv.index("--") + 1 :]
    seconds: float | None = None
    placed: list[tuple[str, str]] = []
    while options:
        name, value, *options = options
        if name == "--timeout":
            seconds = float(value)
        else:
            source, _, target = value.partition("=")
            placed.append((os.path.abspath(source), target))
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder, "workspace")
        shutil.copytree(".", scratch, symlinks=True)
        for source, target in placed:
            shutil.copy(source, scratch / target.removeprefix("/workspace/"))
        try:
            return subprocess.run(command, cwd=scratch, timeout=seconds, check=False).returncode
        except subprocess.TimeoutExpired:
            return TIMED_OUT


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
