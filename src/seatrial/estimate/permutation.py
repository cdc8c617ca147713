"""Sign flips of paired differences: what chance alone would do if the two systems were alike."""

import math
from collections.abc import Sequence

import numpy as np

# Up to this many tasks all 2ⁿ sign patterns are counted.
EXACT_UP_TO = 12
FLIPS = 10_000
CELLS = 1_000_000


def sign_flip_p(differences: Sequence[float], rng: np.random.Generator, flips: int = FLIPS) -> float:
    """Two-sided p value of the mean difference under random signs (Fisher 1935).

    Exact for up to 12 tasks that differ, else (1 + flips at least as far out) / (1 + flips). Ties flip to
    themselves, so they change nothing and are left out.

    Args:
        differences: one per task, finite; their order does not matter.
        rng: source of the sampled signs.
        flips: sampled patterns, at least 1.

    Returns:
        In (0, 1]; 1 where no task differs.

    Raises:
        ValueError: a difference is NaN or infinite, or there is no flip.
    """
    if not all(map(math.isfinite, differences)) or flips < 1:
        raise ValueError(f"sign_flip_p: needs finite differences and flips >= 1, not {flips}")
    sizes = np.sort(np.abs([difference for difference in differences if difference != 0]))
    if not len(sizes):
        return 1.0
    # Sums equal but for rounding count as equally far out.
    reached = abs(math.fsum(differences)) - 1e-9 * float(sizes.sum())
    if len(sizes) <= EXACT_UP_TO:
        patterns = np.arange(2 ** len(sizes))
        signs = 1 - 2 * ((patterns[:, None] >> np.arange(len(sizes))) & 1)
        return float((np.abs(signs @ sizes) >= reached).mean())
    far, step = 0, max(1, CELLS // len(sizes))
    for start in range(0, flips, step):
        signs = 1 - 2 * rng.integers(0, 2, (min(step, flips - start), len(sizes)), dtype=np.int8)
        far += int((np.abs(signs @ sizes) >= reached).sum())
    return (1 + far) / (1 + flips)
