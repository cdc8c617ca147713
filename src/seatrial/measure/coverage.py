"""Which subgoals read a path: files by pattern, databases with their companions, services by their rows."""

from collections.abc import Callable, Collection, Iterable

from seatrial.journal.entries import SERVICES
from seatrial.spec.patterns import compile_pattern, split_read
from seatrial.spec.task import Subgoal, Task

Matches = Callable[[str], bool]


class Coverage:
    """A task's declared reads, asked path by path. A subgoal that declares nothing reads everything."""

    def __init__(self, task: Task) -> None:
        self._of = {subgoal.id: [pattern_of(text) for text in subgoal.reads] for subgoal in task.subgoal}
        self._whole = frozenset(subgoal.id for subgoal in task.subgoal if not subgoal.reads)
        self._known: dict[str, frozenset[str]] = {}

    def readers(self, path: str) -> frozenset[str]:
        """Ids of the subgoals that read a path."""
        found = self._known.get(path)
        if found is None:
            named = {name for name, patterns in self._of.items() if any(match(path) for match in patterns)}
            found = self._known[path] = self._whole | named
        return found

    def touches(self, paths: Iterable[str], subgoals: Collection[str]) -> bool:
        """Whether one of the subgoals reads one of the paths."""
        return any(not self.readers(path).isdisjoint(subgoals) for path in paths)

    def reads_all(self, subgoals: Iterable[str]) -> bool:
        """Whether one of the subgoals declares no reads, so that any path is its."""
        return not self._whole.isdisjoint(subgoals)


def pattern_of(text: str) -> Matches:
    """What a declared read covers, as a test of state paths."""
    kind, name = split_read(text)
    if kind == "service":
        prefix = f"{SERVICES}/{name}/"
        return lambda path: path.startswith(prefix)
    return compile_pattern(text).matches


def only_of(task: Task, version: int, others: Iterable[int]) -> list[Subgoal]:
    """Subgoals of one goal version that none of the others has."""
    shared = {subgoal.id for other in others for subgoal in task.subgoals_for(other)}
    return [subgoal for subgoal in task.subgoals_for(version) if subgoal.id not in shared]
