"""Endings written short, for the tests of curves."""

from seatrial.estimate.endings import Ending

CAUSES = {0: None, 1: "success", 2: "gave up", 3: "constraint"}


def endings(times, codes):
    """One trial a task: code 0 censored, 1 success, 2 gave up, 3 constraint."""
    pairs = enumerate(zip(times, codes, strict=True))
    return {f"t{place:03d}": [Ending(float(at), CAUSES[code])] for place, (at, code) in pairs}


def repeated(rng, tasks, trials, spread=1.0, share=0.8):
    """Repeated trials whose tasks differ in speed: exponential ends, some censored."""
    speed = rng.normal(0, spread, tasks)
    return {
        f"t{task:03d}": [
            Ending(float(rng.exponential(10) * 2 ** speed[task]), "success" if rng.random() < share else None)
            for _ in range(trials)
        ]
        for task in range(tasks)
    }
