"""The knobs of simulated agents with few trials each; `python -m benchmarks.known_truth` runs many."""

from benchmarks.known_truth import WORKERS, by_knob

TRIALS = 20


def main() -> list[str]:
    """The summary, with the means that chance put outside.

    Raises:
        RuntimeError: the study failed.
    """
    return by_knob(TRIALS, WORKERS).proven()
