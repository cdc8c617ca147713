"""Success of one skill by depth and breadth, few trials; `python -m benchmarks.known_truth` runs many."""

from benchmarks.known_truth import WORKERS, by_shape

TRIALS = 30


def main() -> list[str]:
    """Every shape, then the summary.

    Raises:
        RuntimeError: the study failed.
    """
    study = by_shape(TRIALS, WORKERS)
    return [*map(str, study.cells), *study.proven()]
