"""What a run still has to do and in which order: pure, from the plan and the index alone."""

from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from typing import NamedTuple

from seatrial.errors import UsageError
from seatrial.journal.digest import digest_value
from seatrial.journal.events import TASK_FAULT
from seatrial.journal.run import IndexLine, Manifest, TrialPlanned
from seatrial.schedule.amendments import granted


def execution_order(plan: Iterable[TrialPlanned], seed: int) -> list[TrialPlanned]:
    """The plan in the order its trials are started: a permutation drawn by the seed.

    All first repeats come before all second ones, so that a run that stops early has been to every task.
    Within a repeat the tasks come in random order, and the systems and arms of one task and repeat, which
    are compared with each other, stand together in random order: what drifts meanwhile meets all of them
    alike. Trials added to a plan leave the order of the others among themselves as it was.
    """

    def place(planned: TrialPlanned) -> tuple[int, str, str]:
        pair = digest_value([seed, planned.task, planned.repeat])
        return planned.repeat, pair, digest_value([seed, planned.trial])

    return sorted(plan, key=place)


@dataclass(frozen=True)
class Selection:
    """Which trials of the plan are wanted this time; an empty list takes all.

    Attributes:
        tasks: globs on task ids.
        systems, arms, trials: names.
        limit: at most so many trials are begun, in execution order; null without a bound.
    """

    tasks: Collection[str] = ()
    systems: Collection[str] = ()
    arms: Collection[str] = ()
    limit: int | None = None
    trials: Collection[str] = ()

    def of(self, plan: Iterable[TrialPlanned]) -> list[TrialPlanned]:
        """The trials wanted, in the order given; the limit is not applied.

        Raises:
            UsageError: a filter that fits nothing of the plan; names what there is.
        """
        plan = list(plan)
        tasks = sorted({planned.task for planned in plan})
        for glob in self.tasks:
            if not any(fnmatchcase(task, glob) for task in tasks):
                raise UsageError(f"--task {glob!r}: no task of this run fits. There are: {', '.join(tasks)}.")
        _check("--system", self.systems, {planned.system for planned in plan})
        _check("--arm", self.arms, {planned.arm for planned in plan})
        return [planned for planned in plan if self._wants(planned)]

    def _wants(self, planned: TrialPlanned) -> bool:
        return (
            (not self.tasks or any(fnmatchcase(planned.task, glob) for glob in self.tasks))
            and (not self.systems or planned.system in self.systems)
            and (not self.arms or planned.arm in self.arms)
            and (not self.trials or planned.trial in self.trials)
        )


def _check(option: str, wanted: Collection[str], there: Collection[str]) -> None:
    for name in wanted:
        if name not in there:
            listed = ", ".join(sorted(there))
            raise UsageError(f"{option} {name!r}: not in the plan of this run. There are: {listed}.")


class Ledger:
    """Every ended attempt by trial, and what the retry policy still allows.

    Args:
        retries: attempts allowed after infrastructure ends, beside the first.
        granted: more attempts granted since, by trial.
    """

    def __init__(self, retries: int, granted: Mapping[str, int] | None = None) -> None:
        self.retries = retries
        self._granted: Mapping[str, int] = granted or {}
        self._lines: dict[str, list[IndexLine]] = {}
        self._counted: dict[str, IndexLine] = {}
        self._used = Counter[str]()
        self.infrastructure_ends = 0

    def add(self, lines: Iterable[IndexLine]) -> None:
        """Take in lines of the index."""
        for line in lines:
            self._lines.setdefault(line.trial, []).append(line)
            self._used[line.trial] += not line.runner_ended
            if line.stop_reason == TASK_FAULT:
                # Another attempt would end so too: this one uses up what the policy, or the last grant, gave.
                self._used[line.trial] += -self._used[line.trial] % (self.retries + 1)
            if line.infrastructure:
                self.infrastructure_ends += 1
            else:
                self._counted.setdefault(line.trial, line)

    def grant(self, granted: Mapping[str, int]) -> None:
        """Allow more attempts, by trial."""
        self._granted = granted

    def attempts(self, trial: str) -> list[IndexLine]:
        """Ended attempts of a trial in the order they ended."""
        return self._lines.get(trial, [])

    @property
    def done(self) -> int:
        """How many trials have a counted attempt."""
        return len(self._counted)

    def counted(self, trial: str) -> IndexLine | None:
        """The attempt that counts: the first that did not end for a reason of infrastructure."""
        return self._counted.get(trial)

    def given_up(self, trial: str) -> bool:
        """Whether it has used up its attempts; those that their runner ended are not held against it."""
        allowed = self.retries + self._granted.get(trial, 0)
        return trial not in self._counted and self._used[trial] > allowed

    def next_attempt(self, trial: str) -> int:
        """The number of a trial's next attempt, from 1."""
        return max((line.attempt for line in self.attempts(trial)), default=0) + 1


def ledger_of(manifest: Manifest, lines: Iterable[IndexLine]) -> Ledger:
    """The ledger of a run as its manifest's retry policy and amendments have it."""
    retries = int((manifest.experiment.get("retry") or {}).get("infrastructure", 2))
    ledger = Ledger(retries, granted(manifest))
    ledger.add(lines)
    return ledger


def to_begin(
    order: Iterable[TrialPlanned], ledger: Ledger, limit: int | None = None, rerun: bool = False
) -> list[TrialPlanned]:
    """The trials that are to be begun, at most ``limit`` of them, in the order given.

    Args:
        rerun: also those that have used up their attempts, since they are to be granted new ones.
    """
    wanted = (p for p in order if not ledger.counted(p.trial) and (rerun or not ledger.given_up(p.trial)))
    return list(islice(wanted, limit))


class Todo(NamedTuple):
    """One process to start; ``judge_only`` for an attempt that ended without having been judged."""

    trial: str
    attempt: int
    judge_only: bool = False


class Queue:
    """What is still to be started. A trial tried again goes to the front, beside those it is compared with.

    Args:
        order: the trials wanted, in execution order.
        ledger: what has ended; it is asked again whenever something is taken.
        unjudged: counted attempts without verdicts. They are judged first.
        limit: how many trials without a counted attempt may be begun.
    """

    def __init__(
        self,
        order: Iterable[TrialPlanned],
        ledger: Ledger,
        unjudged: Iterable[IndexLine] = (),
        limit: int | None = None,
    ) -> None:
        self._ledger = ledger
        self._unjudged = deque(Todo(line.trial, line.attempt, judge_only=True) for line in unjudged)
        self._trials = deque(planned.trial for planned in to_begin(order, ledger, limit))

    def __len__(self) -> int:
        return len(self._unjudged) + len(self._trials)

    def take(self, begin: bool = True) -> Todo | None:
        """The next process to start; null when there is none.

        Args:
            begin: whether attempts may be begun; otherwise only what has ended is judged.
        """
        if self._unjudged:
            return self._unjudged.popleft()
        if not begin or not self._trials:
            return None
        trial = self._trials.popleft()
        return Todo(trial, self._ledger.next_attempt(trial))

    def again(self, trial: str) -> bool:
        """Put a trial back for another attempt; false when it has used them up."""
        if self._ledger.given_up(trial):
            return False
        self._trials.appendleft(trial)
        return True

    def judge(self, trial: str, attempt: int) -> None:
        """Have an attempt judged that ended and whose own process did not come to that."""
        self._unjudged.append(Todo(trial, attempt, judge_only=True))

    @property
    def is_begun(self) -> bool:
        """Whether every trial wanted has been begun."""
        return not self._trials

    @property
    def waiting(self) -> list[str]:
        """Trials not begun yet."""
        return list(self._trials)

    @property
    def unjudged(self) -> list[str]:
        """Trials that ended and are still to be judged."""
        return [todo.trial for todo in self._unjudged]
