"""Disturbed trials with few seeds each; `python -m benchmarks.disturbed_truth` runs many."""

from benchmarks.disturbed_studies import acknowledgement, kills, means

TRIALS, WORKERS = 10, 2


def main() -> list[str]:
    """What three of the studies find.

    Raises:
        RuntimeError: something in it is not as it should be.
    """
    lines = []
    for study in (means, kills, acknowledgement):
        found = study(TRIALS, WORKERS)
        if found.wrong:
            raise RuntimeError("\n".join(found.wrong))
        lines += [f"{found.what}: {line}" for line in found.lines]
    return lines
