"""Watches for what the agent could know only from elsewhere: the task's name, hidden files, solutions."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from seatrial.gateway.attend import Asked, Idle, Window
from seatrial.gateway.recalling import Past
from seatrial.journal.digest import digest_bytes
from seatrial.journal.events import ActionFinished, ContaminationFlagged
from seatrial.journal.writer import JournalWriter

# A fragment of a solution: so many lines in a row, with so many characters. Shorter ones come by themselves.
LINES, CHARACTERS = 3, 80
# A value in a verifier that nobody types by chance; paths come by themselves.
VALUE = re.compile(r"""["']([^\s"'`=,;()<>\[\]{}\\$/]{16,200})["']""")
TOKEN = re.compile(r"[^\s\"'`=,;()<>\[\]{}]+")


@dataclass
class Markers:
    """What to watch for in one task.

    Attributes:
        words: token to what it is, in requests and outputs.
        values: expected values, flagged in a request when nothing showed them before.
        fragments: digests of fragments of solutions to the file each is from.
    """

    words: dict[str, str] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    fragments: dict[str, str] = field(default_factory=dict)

    @property
    def kinds(self) -> list[str]:
        """Which kinds there are, for the trial's conditions."""
        kinds = {"task": self.words, "expected": self.values, "solution": self.fragments}
        return [kind for kind, marked in kinds.items() if marked]


def markers(task: str, hidden: Mapping[str, str], given: Iterable[str], informed: bool) -> Markers:
    """The markers of a task.

    Args:
        task: its id.
        hidden: texts of the verifiers and solutions, by path.
        given: texts the agent gets: instructions and files. What stands in them marks nothing.
        informed: the system was given a solution or a plan, so only names are watched.
    """
    texts = list(given)
    known_tokens = {token for text in texts for token in TOKEN.findall(text)}
    known_values = {value for text in texts for value in VALUE.findall(text)} | known_tokens
    known_fragments = {digest for text in texts for digest in _fragments(text)}
    found = Markers({task: "task id"} if task not in known_tokens else {})
    for path, text in hidden.items():
        if path not in known_tokens:
            found.words[path] = f"name of the hidden {path}"
        if informed:
            continue
        if path.startswith("verifiers/"):
            found.values.update({v: path for v in VALUE.findall(text) if v not in known_values})
        if path.startswith("solutions/"):
            found.fragments.update({d: path for d in _fragments(text) if d not in known_fragments})
    return found


class Contamination(Idle):
    """An attendant that flags each marker once in a trial, at a cost of the new text alone."""

    def __init__(self, watched: Markers, journal: JournalWriter) -> None:
        self._watched, self._journal = watched, journal
        self._shown_values: set[str] = set()
        self._flagged: set[str] = set()
        self._searched = 0

    def recall(self, past: Past) -> None:
        """Know what was flagged and shown before, for a trial that goes on from another one's state."""
        flagged = (event for event in past.events if isinstance(event, ContaminationFlagged))
        self._flagged |= {event.marker for event in flagged}
        for act in past.acts if self._watched.values else ():
            if act.executed:
                self._see(past.shown(act))

    def _see(self, text: str) -> None:
        """Values that were shown may be typed from then on."""
        if self._watched.values:
            self._shown_values |= self._watched.values.keys() & set(TOKEN.findall(text))

    def executed(self, asked: Asked, window: Window) -> None:
        """Search the request, then what is shown of it."""
        request, self._searched = "\n".join(_texts(asked.arguments)), asked.step
        self._search(asked.step, request, "request")
        for token in TOKEN.findall(request) if self._watched.values else ():
            if token in self._watched.values and token not in self._shown_values:
                self._flag(asked.step, f"expected value of {self._watched.values[token]}", "request")
        self._search(asked.step, window.text, "output")
        self._see(window.text)

    def committed(self, asked: Asked, finished: ActionFinished) -> None:
        """A request that was not carried out is searched too."""
        if self._searched != asked.step:
            self._search(asked.step, "\n".join(_texts(asked.arguments)), "request")

    def _search(self, step: int, text: str, where: str) -> None:
        for token in TOKEN.findall(text):
            what = self._watched.words.get(token) or self._watched.words.get(token.strip(".:/"))
            if what is not None:
                self._flag(step, what, where)
        if self._watched.fragments:
            for digest in _fragments(text):
                if digest in self._watched.fragments:
                    self._flag(step, f"fragment of {self._watched.fragments[digest]}", where)

    def _flag(self, step: int, marker: str, where: str) -> None:
        if marker not in self._flagged:
            self._flagged.add(marker)
            self._journal.append(ContaminationFlagged(step=step, marker=marker, where=where))


def _fragments(text: str) -> Iterator[str]:
    """Digests of every few lines in a row that are long enough together; blanks and indents do not count."""
    lines = [" ".join(line.split()) for line in text.replace("\\n", "\n").splitlines()]
    lines = [line for line in lines if line]
    for start in range(len(lines) - LINES + 1):
        joined = "\n".join(lines[start : start + LINES])
        if len(joined) >= CHARACTERS:
            yield digest_bytes(joined.encode("utf-8", "surrogatepass"))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
