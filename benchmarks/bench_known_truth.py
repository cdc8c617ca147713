"""The knobs of simulated agents with few trials each; `python -m benchmarks.known_truth` runs many."""

from benchmarks.known_truth import WORKERS, by_knob

TRIALS = 20


def main() -> list[str]:
    """Summary, and whatever is not as it should be."""
    return list(by_knob(TRIALS, WORKERS).summary())
