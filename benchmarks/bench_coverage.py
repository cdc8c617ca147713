"""The coverage study with few repeats; `python -m benchmarks.coverage` runs it with many."""

from benchmarks.coverage import report

REPEATS = 400


def main() -> list[str]:
    """Summary and misses."""
    return report(REPEATS, every=False)
