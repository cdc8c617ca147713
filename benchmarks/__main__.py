"""Run every `bench_*.py` beside this file, or those named: `python -m benchmarks [NAME ...]`.

A benchmark is a module with `main() -> list[str]`; each string is one line of its result.
"""

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path

PREFIX = "bench_"


def available() -> list[str]:
    """Names of the benchmarks, without the prefix, in order."""
    return sorted(path.stem.removeprefix(PREFIX) for path in Path(__file__).parent.glob(f"{PREFIX}*.py"))


def lines(name: str) -> Iterable[str]:
    """The result of one benchmark, each line led by its name."""
    module = importlib.import_module(f"{__package__}.{PREFIX}{name}")
    for line in module.main():
        yield f"{name}: {line}"


def main(arguments: list[str]) -> int:
    """Print the asked benchmarks' lines; returns the exit code (2: no such benchmark)."""
    known = available()
    asked = [argument.removeprefix(PREFIX) for argument in arguments] or known
    for name in asked:
        if name not in known:
            print(f"no benchmark {name!r}; there are: {', '.join(known) or 'none yet'}", file=sys.stderr)
            return 2
    for name in asked:
        for line in lines(name):
            print(line, flush=True)
    if not asked:
        print("no benchmarks yet")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
