"""What of the hidden part of a task shows in what the agent is given (A14, C10)."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from seatrial.journal.digest import digest_bytes
from seatrial.spec.loading import LoadedTask

# Words that tell the agent it is being tested.
TELLING = ("benchmark", "verifier", "seatrial", "subgoal", "test harness", "evaluation harness")
HIDDEN = ("verifiers/", "solutions/", "perturbations/")
EMPTY = digest_bytes(b"")
# A shorter id that is a plain word, such as ``db`` or ``text``, is in many an instruction by chance.
TELLING_LETTERS = 5


class Leak(NamedTuple):
    """One leak. ``certain`` is false for a word that may be there for another reason."""

    certain: bool
    place: str
    problem: str
    remedy: str


def find_leaks(loaded: LoadedTask) -> Iterator[Leak]:
    """Leaks in the instructions, then in the agent's world."""
    for index, goal in enumerate(loaded.spec.goal):
        yield from _in_text(loaded, f"goal[{index}].instruction", loaded.instruction(goal.version))
    yield from _in_world(loaded)


def _in_text(loaded: LoadedTask, place: str, text: str) -> Iterator[Leak]:
    for word, what, certain in _secrets(loaded):
        if _mentions(text, word, alone=not certain):
            yield Leak(certain, place, f"the agent would read {word!r}, {what}", "Say it in other words")


def _secrets(loaded: LoadedTask) -> Iterator[tuple[str, str, bool]]:
    """Words no instruction should hold, what each is, and whether finding it settles the matter."""
    for word in TELLING:
        yield word, "which tells that this is a test", True
    yield loaded.spec.id, "the task's id", True
    for subgoal in loaded.spec.subgoal:
        # An id that is an ordinary word may stand in an instruction for what it means.
        certain = re.search(r"[-_.0-9]", subgoal.id) is not None
        if certain or len(subgoal.id) >= TELLING_LETTERS:
            yield subgoal.id, "the id of a subgoal", certain
    world = {PurePosixPath(path).name for path in _world(loaded)}
    for path in loaded.files:
        if path.startswith(HIDDEN) and PurePosixPath(path).name not in world:
            yield PurePosixPath(path).name, f"the name of the hidden {path}", True


def _mentions(text: str, word: str, alone: bool) -> bool:
    """Whether a word stands in a text; ``alone``: and is no part of a longer name such as ``totals.db``."""
    before, after = (r"(?<![\w./-])", r"(?![\w/-]|\.\w)") if alone else (r"(?<![\w-])", r"(?![\w-])")
    return re.search(rf"{before}{re.escape(word)}s?{after}", text, re.IGNORECASE) is not None


def _world(loaded: LoadedTask) -> list[str]:
    prefix = loaded.spec.environment.files.rstrip("/") + "/"
    return [path for path in loaded.files if path.startswith(prefix)]


def _in_world(loaded: LoadedTask) -> Iterator[Leak]:
    hidden = {digest: path for path, (digest, _) in loaded.files.items() if path.startswith(HIDDEN)}
    for path in _world(loaded):
        digest = loaded.files[path][0]
        if digest in hidden and digest != EMPTY:
            problem = f"the agent would find a copy of the hidden {hidden[digest]!r}"
            yield Leak(True, path, problem, "Remove it from the agent's world")
