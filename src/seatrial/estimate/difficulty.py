"""Empirical difficulty of tasks from who solved them: item response models by maximum a posteriori (MAP).

Labelled empirical, and never to be used to stratify the systems it was fitted on: a task is then hard because
they failed it, so the strata would repeat the result.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from seatrial.estimate.bootstrap import Floats
from seatrial.estimate.trials import Outcomes, count_unknown, measured

# Below this many systems the slope of a task cannot be told from chance.
SYSTEMS_FOR_2PL = 100
# Standard deviations of the priors: abilities, difficulties and the log of discriminations.
ABILITY, DIFFICULTY, DISCRIMINATION = 1.0, 2.0, 0.5
FEWEST_ANCHORS = 3
LABEL = "Empirical: fitted on these systems, so never use it to stratify them."


class ItemDifficulty(msgspec.Struct, frozen=True, kw_only=True):
    """One task. ``difficulty`` is the ability, in logits, at which success has a chance of ½.

    Attributes:
        difficulty, error: mode and its standard deviation (Laplace).
        discrimination: slope; 1 in the one-parameter model.
        n_trials: trials it rests on.
        bounded_by_prior: all trials succeeded, or all failed: only the prior keeps it finite.
    """

    difficulty: float
    error: float
    discrimination: float
    n_trials: int
    bounded_by_prior: bool


class DifficultyScale(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks and systems on one scale, whose zero is the mean ability of the systems it was fitted on.

    Attributes:
        model: "1PL" or "2PL".
        tasks: by name.
        abilities: system to ability, in logits; higher is abler.
        ability_errors: their standard deviations (Laplace).
        notes: what a reader must know; the first is the label.
    """

    model: str
    tasks: dict[str, ItemDifficulty]
    abilities: dict[str, float]
    ability_errors: dict[str, float]
    notes: list[str]


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """How to bring a new scale onto an old one: add ``shift`` to its difficulties and abilities.

    Attributes:
        shift, error: mean difference of the anchors' difficulties, old less new, and its standard error.
        anchors: those used.
        drifted: anchors left out, whose difference is far from the others' (beyond 3 robust deviations).
        one_sided: anchors left out since all or none solved them in a generation: only the prior places them.
    """

    shift: float
    error: float
    anchors: list[str]
    drifted: list[str]
    one_sided: list[str]


class _Table(NamedTuple):
    """Successes and trials, shape (systems, tasks)."""

    systems: list[str]
    tasks: list[str]
    won: Floats
    tried: Floats


def fit_difficulty(
    responses: Mapping[str, Outcomes], model: Literal["1PL", "2PL"] = "1PL"
) -> DifficultyScale:
    """Fit logit P(success) = a·(ability − difficulty), with a = 1 in the 1PL (Rasch 1960).

    Priors: abilities N(0, 1), difficulties N(0, 2²), in the 2PL ln a ~ N(0, .5²). Trials of one system on
    one task are taken as independent given both. Not every system needs every task.

    Args:
        responses: system to task to the outcomes of its valid trials, all known.
        model: the 2PL is refused below 100 systems.

    Raises:
        ValueError: fewer than two systems or tasks, an unknown outcome, or a 2PL below 100 systems.
    """
    table = _table(responses)
    if model == "2PL" and len(table.systems) < SYSTEMS_FOR_2PL:
        raise ValueError(
            f"fit_difficulty: {len(table.systems)} systems cannot tell slopes apart; a 2PL needs "
            f"{SYSTEMS_FOR_2PL}. Use the 1PL."
        )
    ability, difficulty, slope, errors = _fit(table, model == "2PL")
    centre = float(ability.mean())
    solved, tried = table.won.sum(axis=0), table.tried.sum(axis=0)
    one_sided = (solved == 0) | (solved == tried)
    notes = [LABEL]
    if one_sided.any():
        notes.append(f"{int(one_sided.sum())} tasks were always or never solved: the prior bounds them.")
    n = len(table.systems)
    return DifficultyScale(
        model=model,
        tasks={
            task: ItemDifficulty(
                difficulty=float(difficulty[i]) - centre,
                error=float(errors[n + i]),
                discrimination=float(slope[i]),
                n_trials=int(tried[i]),
                bounded_by_prior=bool(one_sided[i]),
            )
            for i, task in enumerate(table.tasks)
        },
        abilities={name: float(ability[i]) - centre for i, name in enumerate(table.systems)},
        ability_errors={name: float(errors[i]) for i, name in enumerate(table.systems)},
        notes=notes,
    )


def link_scales(old: DifficultyScale, new: DifficultyScale, anchors: list[str]) -> Link:
    """Mean linking over anchor tasks, after anchors that moved by themselves are set aside.

    Args:
        old, new: scales of two generations of systems, both 1PL.
        anchors: tasks unchanged between the two, at least 3 of which are bounded by data in both.

    Raises:
        ValueError: too few anchors, an anchor missing on a side, or a 2PL scale.
    """
    if old.model != "1PL" or new.model != "1PL":
        raise ValueError("link_scales: a shift links 1PL scales only")
    if missing := [task for task in anchors if task not in old.tasks or task not in new.tasks]:
        raise ValueError(f"link_scales: anchor {missing[0]} is not in both generations")
    sound = sorted(
        task
        for task in set(anchors)
        if not (old.tasks[task].bounded_by_prior or new.tasks[task].bounded_by_prior)
    )
    if len(sound) < FEWEST_ANCHORS:
        raise ValueError(
            f"link_scales: {len(sound)} anchors that some solve and some fail in both generations; "
            f"needs {FEWEST_ANCHORS}"
        )
    gaps = np.array([old.tasks[t].difficulty - new.tasks[t].difficulty for t in sound])
    noise = np.array([math.hypot(old.tasks[t].error, new.tasks[t].error) for t in sound])
    middle = float(np.median(gaps))
    # The fits' own noise is the least spread anchors can have, so few that agree by luck condemn none.
    robust = np.maximum(noise, 1.4826 * float(np.median(np.abs(gaps - middle))))
    kept = np.abs(gaps - middle) <= 3 * robust
    used = gaps[kept]
    error = max(float(used.std(ddof=1)), float(np.sqrt((noise[kept] ** 2).mean()))) / math.sqrt(len(used))
    return Link(
        shift=float(used.mean()),
        error=error,
        anchors=[task for task, keeps in zip(sound, kept, strict=True) if keeps],
        drifted=[task for task, keeps in zip(sound, kept, strict=True) if not keeps],
        one_sided=sorted(set(anchors) - set(sound)),
    )


def information(ability: float, item: ItemDifficulty) -> float:
    """What one more trial says of an ability: a²·p(1 − p), at most a²/4.

    Greatest where success is a coin's toss: run budget belongs there, not where all succeed or all fail.
    """
    chance = 1 / (1 + math.exp(-max(-700.0, min(700.0, item.discrimination * (ability - item.difficulty)))))
    return item.discrimination**2 * chance * (1 - chance)


def most_telling(scale: DifficultyScale, abilities: Sequence[float]) -> list[str]:
    """Tasks from the one whose next trial says most of these abilities together: the transition zone first.

    Args:
        scale: of systems other than those to be measured; their expected abilities are given.
        abilities: on that scale.

    Raises:
        ValueError: no ability, or one that is not finite.
    """
    if not abilities or not all(map(math.isfinite, abilities)):
        raise ValueError(f"most_telling: abilities {list(abilities)}; give at least one, all finite")
    gain = {
        task: math.fsum(information(ability, item) for ability in abilities)
        for task, item in scale.tasks.items()
    }
    return sorted(gain, key=lambda task: (-gain[task], task))


def _table(responses: Mapping[str, Outcomes]) -> _Table:
    systems = sorted(name for name, outcomes in responses.items() if measured(outcomes))
    tasks = sorted({task for name in systems for task in measured(responses[name])})
    if len(systems) < 2 or len(tasks) < 2:
        raise ValueError(f"fit_difficulty: {len(systems)} systems, {len(tasks)} tasks; needs two of each")
    if lost := [name for name in systems if count_unknown(responses[name])]:
        raise ValueError(f"fit_difficulty: {lost[0]} has unknown outcomes. Bound them both ways first.")
    places = {task: i for i, task in enumerate(tasks)}
    won, tried = np.zeros((2, len(systems), len(tasks)))
    for row, name in enumerate(systems):
        for task, trials in measured(responses[name]).items():
            won[row, places[task]], tried[row, places[task]] = sum(map(bool, trials)), len(trials)
    return _Table(systems, tasks, won, tried)


def _fit(table: _Table, slopes: bool) -> tuple[Floats, Floats, Floats, Floats]:
    """Mode of abilities, difficulties and slopes, and standard deviations of the first two."""
    # Slow to load, and needed here alone.
    from scipy.optimize import minimize

    n, m = table.won.shape

    def parts(at: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        ability, difficulty = at[:n], at[n : n + m]
        slope = np.exp(at[n + m :]) if slopes else np.ones(m)
        return ability, difficulty, slope, slope * (ability[:, None] - difficulty)

    def loss(at: Floats) -> tuple[float, Floats]:
        ability, difficulty, slope, odds = parts(at)
        gap = table.tried / (1 + np.exp(-np.clip(odds, -700, 700))) - table.won
        value = (table.tried * np.logaddexp(0, odds) - table.won * odds).sum()
        value += (ability @ ability) / ABILITY**2 / 2 + (difficulty @ difficulty) / DIFFICULTY**2 / 2
        down = [(gap * slope).sum(axis=1) + ability / ABILITY**2]
        down.append(-(gap * slope).sum(axis=0) + difficulty / DIFFICULTY**2)
        if slopes:
            value += (at[n + m :] @ at[n + m :]) / DISCRIMINATION**2 / 2
            down.append((gap * odds).sum(axis=0) + at[n + m :] / DISCRIMINATION**2)
        return float(value), np.concatenate(down)

    start = np.zeros(n + m + (m if slopes else 0))
    found = minimize(
        loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-14, "gtol": 1e-7}
    )
    ability, difficulty, slope, odds = parts(found.x)
    chance = 1 / (1 + np.exp(-np.clip(odds, -700, 700)))
    curve = table.tried * chance * (1 - chance)
    blocks = [[(curve * slope**2).sum(axis=1), -curve * slope**2], [None, (curve * slope**2).sum(axis=0)]]
    size = len(start)
    hessian = np.zeros((size, size))
    hessian[:n, :n] = np.diag(blocks[0][0] + 1 / ABILITY**2)
    hessian[:n, n : n + m] = blocks[0][1]
    hessian[n : n + m, n : n + m] = np.diag(blocks[1][1] + 1 / DIFFICULTY**2)
    if slopes:
        # Expected curvature, which is positive everywhere.
        hessian[:n, n + m :] = curve * slope * odds
        hessian[n : n + m, n + m :] = np.diag(-(curve * slope * odds).sum(axis=0))
        hessian[n + m :, n + m :] = np.diag((curve * odds**2).sum(axis=0) + 1 / DISCRIMINATION**2)
    hessian = np.triu(hessian) + np.triu(hessian, 1).T
    return ability, difficulty, slope, np.sqrt(np.diag(np.linalg.inv(hessian)))
