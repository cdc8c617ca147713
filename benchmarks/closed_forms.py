"""What a simulated agent's knobs imply on average over seeds, in closed form.

For a plan of n steps, each needing the one before, all with equal weights, and with every action the plan
format knows. Letters: p skill, c checking, A attempts, d drift, f forget,
s shortcut, g give_up, m premature, r repeat, w idle. A formula is given where it is exact, else null.
"""

from functools import cache

from seatrial.spec.simulated import SimulatedOptions


def done_right(p: float, c: float, attempts: int) -> float:
    """That a step ends right: p·(1 − x^A)/(1 − x) with x = c(1 − p), so p/(1 − x) without a bound on A."""
    return p * tries(p, c, attempts)


def tries(p: float, c: float, attempts: int) -> float:
    """Expected tries of a step: 1 + x + … + x^(A−1) with x = c(1 − p)."""
    return sum((c * (1 - p)) ** earlier for earlier in range(attempts))


def implied(options: SimulatedOptions, n: int, passing: bool = True) -> dict[str, float | None]:
    """Mean of each measure over seeds, by its column; ``regressed`` is P(regression_depth > 0).

    Args:
        options: the knobs.
        n: steps of the plan.
        passing: whether a subgoal passes after its shortcut.
    """
    assert not isinstance(options.skill, dict), "one skill for all steps"
    gone = 1 - (1 - options.give_up) * (1 - options.premature)
    whole = passing or not (options.shortcut or options.forget)
    success = strict_success(options, n, passing)
    gives_up = sum((1 - gone) ** step * options.give_up for step in range(n))
    return {
        "strict_success": success,
        "safe_success": strict_success(options, n, by_shortcut=False),
        "premature_finish": max(0.0, 1 - gives_up - success),
        "hard_violations": sum((1 - gone) ** step * tempted(options, step) for step in range(1, n + 1)),
        "actions": _actions(options, n, gone) if whole else None,
        "idle_actions": n * options.idle if _plain(options) else None,
        "wasted_unread": _wasted_unread(options, n),
        "wasted_undone": _wasted_undone(options, n),
        "regressed": 1 - (1 - options.drift) ** (n - 1)
        if options.skill == 1 and not gone and whole
        else None,
        "regression_depth": _regression_depth(options, n) if whole else None,
    }


def tempted(options: SimulatedOptions, step: int) -> float:
    """That a shortcut is taken at a step, if it is reached: 1 − (1 − f)^step·(1 − s)."""
    return 1 - (1 - options.forget) ** step * (1 - options.shortcut)


def strict_success(options: SimulatedOptions, n: int, by_shortcut: bool = True) -> float:
    """That every step stands at the end; a step that a shortcut was taken for only ``by_shortcut``.

    Product over steps of (1 − g)(1 − m), of the step's own chance to be right, and from the second step on of
    1 − d + d·c·q: no earlier step is broken, or it is noticed and put right (q as for a step done first).
    """
    assert not isinstance(options.skill, dict)
    q = done_right(options.skill, options.checking, options.attempts)
    stays = (1 - options.give_up) * (1 - options.premature)
    unbroken = 1 - options.drift + options.drift * options.checking * q
    mindful, forgetful = 1.0, 0.0
    for step in range(1, n + 1):
        mindful, forgetful = (
            mindful * (1 - options.forget) * stays,
            (forgetful + mindful * options.forget) * stays,
        )
        mindful *= (1 - options.shortcut) * q + by_shortcut * options.shortcut
        forgetful *= by_shortcut
        if step > 1:
            mindful, forgetful = mindful * unbroken, forgetful * unbroken
    return mindful + forgetful


def _plain(options: SimulatedOptions) -> bool:
    """Whether no step breaks, is skipped or is left early."""
    o = options
    return not (o.drift or o.forget or o.shortcut or o.give_up or o.premature) and (
        o.skill == 1 or not o.checking
    )


def _actions(options: SimulatedOptions, n: int, gone: float) -> float | None:
    """Steps reached, each with its tries, repeats and looks, drifts with their repair, and the last word."""
    assert not isinstance(options.skill, dict)
    if options.drift and options.skill < 1:
        return None
    times = tries(options.skill, options.checking, options.attempts)
    work = times * (1 + options.repeat) + times - 1
    total = 1.0
    for step in range(1, n + 1):
        shortcut = tempted(options, step)
        own = shortcut + (1 - shortcut) * work + 2 * options.idle
        drift = options.drift * (1 + options.checking * (1 + work)) if step > 1 else 0
        total += (1 - gone) ** step * (own + drift)
    return total


def _wasted_unread(options: SimulatedOptions, n: int) -> float | None:
    """A repeat is unread waste after a first try, and after a later one that put the step right."""
    assert not isinstance(options.skill, dict)
    if options.drift or options.forget or options.shortcut or options.give_up or options.premature:
        return None
    later = tries(options.skill, options.checking, options.attempts) - 1
    return n * options.repeat * (1 + later * options.skill)


def _wasted_undone(options: SimulatedOptions, n: int) -> float | None:
    """Each drift that is put right is one piece of work undone: (n − 1)·d·c with full skill."""
    if options.skill != 1 or options.give_up or options.premature or options.forget or options.shortcut:
        return None
    return (n - 1) * options.drift * options.checking


def _regression_depth(options: SimulatedOptions, n: int) -> float | None:
    """With full skill and no checking, by recursion over steps on the lowest broken step and how many are."""
    if options.skill != 1 or options.checking or options.give_up or options.premature:
        return None
    d = options.drift

    @cache
    def expected(step: int, peak: int, lowest: int | None, broken: int) -> float:
        if step > n:
            return 0.0 if lowest is None else (peak - lowest + 1) / n
        quiet = expected(step + 1, step if lowest is None else peak, lowest, broken)
        earlier = step - 1
        if not d or not earlier:
            return quiet
        if lowest is None:
            hits = [expected(step + 1, step, hit, 1) for hit in range(1, step)]
            return (1 - d) * quiet + d * sum(hits) / earlier
        standing = earlier - broken
        hits = [expected(step + 1, peak, hit, broken + 1) for hit in range(1, lowest)]
        above = (standing - len(hits)) * expected(step + 1, peak, lowest, broken + 1)
        return (1 - d) * quiet + d * (sum(hits) + above) / standing

    return expected(1, 0, None, 0)
