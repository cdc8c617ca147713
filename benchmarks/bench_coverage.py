"""The coverage study with few repeats; `python -m benchmarks.coverage` runs it with many."""

from benchmarks.coverage import report, study

REPEATS = 400


def main() -> list[str]:
    """Summary and misses."""
    return report(list(study(REPEATS)), REPEATS, every=False)
