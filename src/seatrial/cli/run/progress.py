"""How a run that is under way is shown: a live display on a terminal, plain lines elsewhere."""

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from seatrial.cli.visible import visible
from seatrial.schedule.spending import Spent
from seatrial.schedule.watching import Running, RunProgress
from seatrial.trial.job import TrialDone

# Where nobody looks at a display, a line this often says that the run is alive.
PLAIN_SECONDS = 60.0
NOTE_CHARACTERS = 400


def progress(console: Console) -> Progress:
    """An empty display for ``Shown``; shows nothing where the console is no terminal."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[words]}", markup=False),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


class Shown:
    """The trials done, the attempts under way and the cost so far; and a line for each attempt that ended.

    Args:
        total: trials of the plan.
        bar: where to show it.
    """

    def __init__(self, total: int, bar: Progress) -> None:
        self._bar, self._total, self._done = bar, total, -1
        self._task = bar.add_task("trials", total=total, words="")
        self._rows: dict[str, TaskID] = {}
        self._said = time.monotonic()

    def began(self, trial: str, attempt: int) -> None:
        """Nothing yet: ``moved`` follows at once."""

    def moved(self, progress: RunProgress) -> None:
        """Show how the run stands."""
        if self._done < 0:
            self._done = progress.done
        self._bar.update(self._task, total=progress.total, completed=progress.done, words=overall(progress))
        running = {row.trial: row for row in progress.running}
        for trial in [trial for trial in self._rows if trial not in running]:
            self._bar.remove_task(self._rows.pop(trial))
        for trial, row in running.items():
            if trial not in self._rows:
                self._rows[trial] = self._bar.add_task(f"  {trial}", total=None, words="")
            self._bar.update(self._rows[trial], words=under_way(row))
        now = time.monotonic()
        if not self._bar.console.is_terminal and now - self._said >= PLAIN_SECONDS:
            self._say(f"{overall(progress)}; under way: {', '.join(running) or 'nothing'}")

    def ended(self, done: TrialDone) -> None:
        """Say how an attempt ended."""
        note = f" ({last_line(done.note)})" if done.note else ""
        again = f", attempt {done.attempt}" if done.attempt > 1 else ""
        self._done += not done.infrastructure
        self._say(
            f"[{self._done}/{self._total}] {done.trial}{again}: {done.stop_reason} after {done.steps} "
            f"steps{note}"
        )

    def holding(self, reason: str, running: int) -> None:
        """Say why nothing more is started."""
        rest = f"; {running} attempts under way are finished and judged" if running else ""
        self._say(f"Nothing more is started: {reason}{rest}.")

    def _say(self, text: str) -> None:
        self._said = time.monotonic()
        self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)


def overall(progress: RunProgress) -> str:
    """A whole run in one line."""
    parts = [f"{progress.done}/{progress.total} done", cost(progress.spent)]
    if progress.infrastructure_ends:
        parts.append(f"{progress.infrastructure_ends} infrastructure ends")
    if progress.seconds_left is not None:
        parts.append(f"about {duration(progress.seconds_left)} left")
    return ", ".join(parts)


def under_way(row: Running) -> str:
    """One attempt in a few words."""
    again = f"attempt {row.attempt}, " if row.attempt > 1 else ""
    what = "being judged" if row.judge_only else f"step {row.steps}"
    return f"{again}{what}, {duration(row.seconds)}"


def cost(spent: Spent) -> str:
    """What was spent, in words; what nobody knows is said to be unknown."""
    unseen = f"; {spent.unseen} attempts whose model calls nobody saw" if spent.unseen else ""
    if not spent.calls:
        return "no model calls" + unseen
    tokens = _sum(f"{spent.tokens:,} tokens", "tokens unknown", spent.without_tokens, spent.calls)
    known = f"{spent.currency or 'money'} {spent.money:.4f}"
    money = _sum(known, "money unknown", spent.without_money, spent.calls)
    return f"{spent.calls} model calls, {tokens}, {money}{unseen}"


def _sum(known: str, nothing_known: str, unknown: int, calls: int) -> str:
    """A sum, with what it leaves out."""
    if unknown == calls:
        return nothing_known
    return f"{known} + {unknown} calls of unknown cost" if unknown else known


def duration(seconds: float) -> str:
    """Seconds as ``42s``, ``3m10s`` or ``2h05m``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02}m"


def last_line(note: str) -> str:
    """The end of what may be an agent's own words, safe for a terminal."""
    return visible((note.splitlines() or [""])[-1][:NOTE_CHARACTERS])
