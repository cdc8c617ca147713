"""Many logistic fits of one slope at once: exact Newton steps, no loop over fits."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seatrial.estimate.bootstrap import Floats

# Steps shrink with their square near the optimum: after one this small, what is left is rounding.
TOLERANCE = 1e-8
# Cells (fits times places) worked on at once: few enough to stay in the processor's cache.
CELLS = 32_768
MOST_STEPS = 60
# No step moves a fitted log-odds by more than this, or than this share of where it is: far out the curvature
# says too little to trust it, and yet an optimum that two close places of unlike classes put hundreds away
# must be reached.
LONGEST_STEP, LONGEST_SHARE = 8.0, 0.5
SAFE_STEP = 1.0
HALVINGS = 30
FLAT = 1e-9


class Fits(NamedTuple):
    """Fitted lines of log-odds, one an entry; each array has shape (fits,).

    ``converged`` is false where the steps did not shrink: without a ridge, data whose classes a point on the
    axis separates have no finite optimum.
    """

    intercept: Floats
    slope: Floats
    converged: NDArray[np.bool_]


class _State(NamedTuple):
    """Intercept and slope of the fits still moving, and the chance of success they give each place."""

    a: Floats
    b: Floats
    chance: Floats


def fit_logistic(weights: Floats, successes: Floats, x: Floats, ridge: float) -> Fits:
    """Least loss Σ w·nll / Σ w + ridge/2 · slope², the intercept free, for every row of weights.

    Args:
        weights: weight of all trials at each place of the axis, shape (fits, places), at least 0.
        successes: weight of the successes among them, same shape, between 0 and ``weights``.
        x: the axis, shape (places,), or (fits, places) where it differs by fit; finite.
        ridge: penalty per unit of total weight, at least 0. With 0 a fit may have no finite optimum.

    Returns:
        Log-odds = intercept + slope · x.

    Raises:
        ValueError: shapes differ, a row has no weight, or the ridge is negative, NaN or infinite.
    """
    total = weights.sum(axis=1, keepdims=True) if weights.ndim == 2 else np.zeros(1)
    if weights.shape != successes.shape or x.shape[-1:] != weights.shape[1:] or not (total > 0).all():
        raise ValueError(
            f"fit_logistic: shapes {weights.shape}, {successes.shape}, {x.shape}; rows need weight"
        )
    if not 0 <= ridge < np.inf:
        raise ValueError(f"fit_logistic: ridge {ridge} is no finite number of at least 0")
    centre = float(x.mean())
    w, s, z = weights / total, successes / total, x - centre
    # Draws of one sample lie about its own fit, so starting there saves half of their steps.
    mean_z = z if z.ndim == 1 else z.mean(axis=0)
    about = _newton(w.mean(axis=0)[None], s.mean(axis=0)[None], mean_z, ridge, np.zeros((2, 1)))
    start = np.stack(about[:2]) if about.converged[0] else np.zeros((2, 1))
    block = max(1, CELLS // w.shape[1])
    parts = [
        _newton(w[rows], s[rows], z if z.ndim == 1 else z[rows], ridge, start)
        for rows in (slice(first, first + block) for first in range(0, len(w), block))
    ]
    a, b, converged = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Fits(a - b * centre, b, converged)


def _newton(w: Floats, s: Floats, z: Floats, ridge: float, start: Floats) -> Fits:
    """Intercepts and slopes on the centred axis, all from one start of shape (2, 1)."""
    rows = len(w)
    a, b = np.broadcast_to(start, (2, rows)).copy()
    converged, moving = np.zeros(rows, bool), np.arange(rows)
    state = _at(a, b, z)
    for _ in range(MOST_STEPS):
        step_a, step_b = _newton_step(state, w, s, z, ridge)
        state = _descend(state, (step_a, step_b), (w, s, z), ridge)
        a[moving], b[moving] = state.a, state.b
        done = np.abs(step_a) + np.abs(step_b) < TOLERANCE
        if not done.any():
            continue
        converged[moving[done]] = _is_held(state, w, z, ridge)[done]
        if done.all():
            break
        keep = ~done
        moving, w, s = moving[keep], w[keep], s[keep]
        z = z if z.ndim == 1 else z[keep]
        state = _State(*(part[keep] for part in state))
    return Fits(a, b, converged)


def _at(a: Floats, b: Floats, z: Floats) -> _State:
    """The chances at the given lines; the hyperbolic tangent cannot overflow."""
    return _State(a, b, 0.5 + 0.5 * np.tanh(0.5 * (a[:, None] + b[:, None] * z)))


def _loss(a: Floats, b: Floats, data: tuple[Floats, Floats, Floats], ridge: float) -> Floats:
    """What is minimised, by row; exponents are of negative numbers only."""
    w, s, z = data
    odds = a[:, None] + b[:, None] * z
    soft = np.maximum(odds, 0) + np.log1p(np.exp(-np.abs(odds)))
    return np.asarray((w * soft - s * odds).sum(axis=1) + ridge / 2 * b * b, float)


def _newton_step(state: _State, w: Floats, s: Floats, z: Floats, ridge: float) -> tuple[Floats, Floats]:
    """The step to the optimum of the local parabola, cut to the longest trusted one."""
    gap = s - w * state.chance
    curve = w * state.chance * (1 - state.chance)
    along = gap @ z if z.ndim == 1 else (gap * z).sum(axis=1)
    cross = curve @ z if z.ndim == 1 else (curve * z).sum(axis=1)
    square = curve @ (z * z) if z.ndim == 1 else (curve * z * z).sum(axis=1)
    up_a, up_b = gap.sum(axis=1), along - ridge * state.b
    # Saturated fits have next to no curvature; the floor keeps the quotient finite, the cut keeps it sane.
    aa, bb = curve.sum(axis=1) + 1e-300, square + ridge + 1e-300
    determinant = np.maximum(aa * bb - cross * cross, 1e-14 * aa * bb)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        step_a, step_b = (bb * up_a - cross * up_b) / determinant, (aa * up_b - cross * up_a) / determinant
    step_a, step_b = np.nan_to_num(step_a), np.nan_to_num(step_b)
    far = np.abs(z).max(initial=0)
    reach, now = np.abs(step_a) + np.abs(step_b) * far, np.abs(state.a) + np.abs(state.b) * far
    cut = np.minimum(1.0, np.maximum(LONGEST_STEP, LONGEST_SHARE * now) / np.maximum(reach, TOLERANCE))
    return step_a * cut, step_b * cut


def _is_held(state: _State, w: Floats, z: Floats, ridge: float) -> NDArray[np.bool_]:
    """Whether the loss still curves both ways: where it has flattened out, the optimum is at infinity."""
    if ridge > 0:
        return np.ones(len(w), bool)
    curve = w * state.chance * (1 - state.chance)
    level, cross, square = curve.sum(axis=1), (curve * z).sum(axis=1), (curve * z * z).sum(axis=1)
    return np.asarray((level > FLAT) & (level * square - cross * cross > FLAT * level * square))


def _descend(
    state: _State, step: tuple[Floats, Floats], data: tuple[Floats, Floats, Floats], ridge: float
) -> _State:
    """The state after the step, halved for each fit until its loss does not rise.

    A Newton step that moves no log-odds by more than 1.79 cannot raise this loss, since its third derivative
    is bounded by its second (Bach 2010, generalised self-concordance): only longer ones are looked at.
    """
    z = data[2]
    a, b = state.a + step[0], state.b + step[1]
    reach = np.abs(step[0]) + np.abs(step[1]) * np.abs(z).max(initial=0)
    worse, share = np.flatnonzero(reach > SAFE_STEP), 1.0
    for _ in range(HALVINGS):
        own = (data[0][worse], data[1][worse], z if z.ndim == 1 else z[worse])
        rises = ~(_loss(a[worse], b[worse], own, ridge) <= _loss(state.a[worse], state.b[worse], own, ridge))
        worse = worse[rises]
        if not len(worse):
            break
        share /= 2
        a[worse], b[worse] = state.a[worse] + share * step[0][worse], state.b[worse] + share * step[1][worse]
    return _at(a, b, z)
