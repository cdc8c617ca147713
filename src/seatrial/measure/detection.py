"""When an agent first saw what a disturbance changed (D3).

It saw it when an action read a changed path, or asked a service for a changed row, or when the text it was
shown holds a line that the change brought. Latency is counted in steps from the firing; a trial without is
watched to its end and no further.
"""

from collections.abc import Iterable, Sequence

import msgspec

from seatrial.journal.entries import Entry, is_row
from seatrial.journal.events import AgentKilled, AgentResumed
from seatrial.measure.acts import Act, matches_call
from seatrial.measure.coverage import pattern_of
from seatrial.measure.scene import Firing, Scene

# A shorter line is found in a text by chance.
SHORTEST = 4
NOTICED_OUTCOMES = ("failed", "partial", "unknown")


class Detection(msgspec.Struct, frozen=True, kw_only=True):
    """Names are the TrialRecord's columns.

    Attributes:
        detected: null where the journal cannot say.
        observed_step: null where it did not, and where that is unknown.
    """

    detected: bool | None = None
    observed_step: int | None = None


def detect(scene: Scene, firing: Firing) -> Detection:
    """When the agent first saw a disturbance; unknown where an earlier action may have shown it unseen."""
    if firing.spec.kind == "placebo":
        return Detection()
    if firing.goal is not None:
        return told(scene, firing)
    if scene.trail is None or not scene.trusted:
        return Detection()
    if firing.spec.kind in ("observation", "execution") and not firing.spec.observed_when:
        return at_once(scene, firing)
    lines = new_lines(scene, firing)
    for act in scene.after(firing.order):
        seen = saw(scene, act, firing, lines)
        if seen is None:
            return Detection()
        if seen:
            return Detection(detected=True, observed_step=act.step)
    return Detection(detected=False)


def told(scene: Scene, firing: Firing) -> Detection:
    """Of a change of goal: told with the answer of this very step, or to the process that is started next."""
    killed = [e for e in scene.all_of(AgentKilled) if e.step <= firing.step and not e.acknowledged]
    resumed = [event for event in scene.all_of(AgentResumed) if event.step >= firing.step]
    if killed and not resumed:
        return Detection(detected=False)
    return Detection(detected=True, observed_step=resumed[0].step if killed else firing.step)


def at_once(scene: Scene, firing: Firing) -> Detection:
    """Of a disturbed answer: seen with the answer when that says that something went wrong, else unknown."""
    here = next((act for act in scene.acts if act.step == firing.step), None)
    told = here is not None and here.finished is not None and here.finished.outcome in NOTICED_OUTCOMES
    return Detection(detected=True, observed_step=firing.step) if told else Detection()


def saw(scene: Scene, act: Act, firing: Firing, lines: Sequence[bytes]) -> bool | None:
    """Whether one action showed the agent the change; null where nobody can say."""
    if act.finished is not None and act.finished.outcome == "denied":
        return False
    declared = firing.spec.observed_when
    if "call" in declared:
        # What shows it may be talk, such as recalling what was remembered.
        asked = [(act.tool, act.arguments)]
        asked += [(f"{call.service}.{call.verb}", call.arguments) for call in act.calls if call.acknowledged]
        return any(matches_call(tool, arguments, declared["call"]) for tool, arguments in asked)
    if act.talk:
        return False
    read = read_one(act, watched(firing, declared.get("reads")))
    if read:
        return True
    text = None if act.finished is None else scene.texts.get(act.finished.observation)
    if text is not None and any(line in text for line in lines):
        return True
    # What was not shown was not seen, whatever a program read; but without lines to look for, nobody knows.
    return None if read is None and (text is None or not lines) else False


def watched(firing: Firing, reads: str | None) -> tuple[list[str], str | None]:
    """Changed paths whose reading counts, and the declared pattern when no changed path fits it."""
    if reads is None:
        return firing.paths, None
    covers = pattern_of(reads)
    paths = [path for path in firing.paths if covers(path)]
    return paths, None if paths else reads


def read_one(act: Act, what: tuple[Iterable[str], str | None]) -> bool | None:
    """Whether an action read one of some paths, or any that a pattern covers."""
    paths, pattern = what
    answers = [act.read_it(path) for path in paths]
    if pattern is not None:
        if pattern.startswith("service:"):
            answers.append(any(call.service == pattern.partition(":")[2] for call in act.calls))
        else:
            covers = pattern_of(pattern)
            answers.append(None if act.reads is None else any(covers(path) for path in act.reads))
    return True if True in answers else (None if None in answers else False)


def new_lines(scene: Scene, firing: Firing) -> list[bytes]:
    """Lines of the changed files that were not in them before; none where contents are unknown."""
    found: list[bytes] = []
    for entry in scene.changed_by(firing):
        if is_row(entry.path) or entry.kind != "file":
            continue
        before = content(scene, scene.content_before(entry.path, firing.order - 1))
        after = content(scene, entry)
        if before is None or after is None:
            continue
        old = {line.strip() for line in before.splitlines()}
        lines = (line.strip() for line in after.splitlines())
        found += [line for line in lines if len(line) >= SHORTEST and line not in old]
    return list(dict.fromkeys(found))


def content(scene: Scene, entry: Entry | None) -> bytes | None:
    """A file's content; empty where there is no file, null where it was not handed in."""
    if entry is None or entry.kind != "file" or entry.digest is None:
        return b""
    return scene.texts.get(entry.digest)
