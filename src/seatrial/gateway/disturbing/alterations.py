"""How a disturbance alters one action: what it did, or what is shown of it."""

import math
import time
from dataclasses import dataclass, replace
from typing import Any

from seatrial.gateway.answers import ORIGINAL
from seatrial.gateway.attend import Asked, Window
from seatrial.gateway.disturbing.disturbance import Hands
from seatrial.gateway.gateway import Gateway
from seatrial.journal.entries import ROOTS, Entry
from seatrial.spec import changes
from seatrial.spec.changes import Alteration

UNAVAILABLE = "temporarily unavailable; try again"
NO_ANSWER = "[no answer came in time]"


@dataclass
class Altered:
    """What was done to one action.

    Attributes:
        pre, post: fingerprints around what was put back; empty where the state was left alone.
        paths: state paths that were put back.
    """

    details: dict[str, Any]
    pre: str = ""
    post: str = ""
    paths: list[str] | None = None


def instead(change: Alteration) -> Window | None:
    """The answer in place of running the action; null for alterations that let it run."""
    if isinstance(change, changes.FailOnce):
        return Window("failed", change.error, 1)
    if isinstance(change, changes.Fault) and change.fault == "transient":
        return Window("failed", UNAVAILABLE, 1)
    return None


def alter(change: Alteration, asked: Asked, window: Window, gateway: Gateway, hands: Hands) -> Altered | None:
    """Alter an action that has run; null where it gives nothing to alter, so that the next is awaited."""
    match change:
        case changes.Truncate():
            return _truncate(change.truncate, window, hands)
        case changes.Delay():
            return _delay(change.delay, window, hands)
        case changes.Append():
            return _append(hands.file(change.append)[0].decode(), window, hands)
        case changes.Fault(fault="delay"):
            return _delay(change.seconds or 0.0, window, hands)
        case changes.Fault(fault="lost_ack"):
            return _lose_acknowledgement(window, hands)
        case changes.Fault(fault="partly"):
            return _half_do(window, gateway, hands)
    return None


def _original(window: Window, hands: Hands) -> str:
    return hands.objects.put(window.text.encode("utf-8", "surrogatepass"))


def _truncate(count: int, window: Window, hands: Hands) -> Altered | None:
    data = window.text.encode("utf-8", "surrogatepass")
    if len(data) <= count:
        return None
    window.notes[ORIGINAL] = original = _original(window, hands)
    window.text = data[:count].decode("utf-8", "ignore")
    return Altered({"original": original, "left_out_bytes": len(data) - count})


def _append(text: str, window: Window, hands: Hands) -> Altered:
    window.notes[ORIGINAL] = original = _original(window, hands)
    window.text += text if not window.text or window.text.endswith("\n") else f"\n{text}"
    return Altered({"original": original})


def _delay(seconds: float, window: Window, hands: Hands) -> Altered:
    """Wait on the trial clock, no longer than the budget lasts."""
    left = hands.meter.seconds_left()
    waited = seconds if left is None else max(0.0, min(seconds, left))
    time.sleep(waited)
    spent = round(waited * 1e6)
    hands.meter.tool_worked(spent)
    if window.result is not None:
        window.result = replace(window.result, tool_us=window.result.tool_us + spent)
    else:
        window.tool_us += spent
    return Altered({"delayed_us": spent})


def _lose_acknowledgement(window: Window, hands: Hands) -> Altered | None:
    """What was done stays done, and the agent does not learn it."""
    if not _did(window):
        return None
    details = {"original": _original(window, hands), "exit_code": window.exit_code, "outcome": window.outcome}
    window.text, window.exit_code, window.outcome = NO_ANSWER, None, "unknown"
    return Altered(details)


def _half_do(window: Window, gateway: Gateway, hands: Hands) -> Altered | None:
    """Leave the first half of the files a command changed, put the rest back, and fail."""
    delta = window.delta
    files = [entry for entry in _did(window) if _in_files(entry)]
    if delta is None or window.outcome != "ok" or len(files) < 2:
        return None
    files.sort(key=_order)
    kept = {entry.path for entry in files[: len(files) // 2]}
    undone = [e for e in delta.changes if e.path not in kept and _in_files(e) and not _holds(e, kept)]
    details = {
        "original": _original(window, hands),
        "exit_code": window.exit_code,
        "kept": sorted(kept)[:100],
    }
    pre = delta.fingerprint
    window.delta, _ = gateway.take_back(delta, undone)
    lines = window.text.splitlines(keepends=True)
    window.text = (
        "".join(lines[: len(lines) // 2]) + f"{_inside(files[len(kept)].path)}: Input/output error\n"
    )
    window.exit_code, window.outcome = 1, "partial"
    return Altered(details, pre, window.delta.fingerprint, [entry.path for entry in undone])


def _did(window: Window) -> list[Entry]:
    """The files an action changed or removed."""
    before = window.delta.before if window.delta else {}
    return [
        entry
        for entry in (window.delta.changes if window.delta else [])
        if (before[entry.path].kind if entry.kind == "absent" else entry.kind) != "dir"
    ]


def _order(entry: Entry) -> tuple[float, str]:
    """First what was written first; when something was removed nobody knows, so that comes last."""
    return (math.inf if entry.kind == "absent" else entry.mtime), entry.path


def _in_files(entry: Entry) -> bool:
    """Whether it is a path of the sandbox; what a command had services do is done."""
    return entry.path.partition("/")[0] in ROOTS


def _holds(entry: Entry, kept: set[str]) -> bool:
    """Whether a folder has a kept file in it."""
    return entry.kind == "dir" and any(path.startswith(f"{entry.path}/") for path in kept)


def _inside(path: str) -> str:
    """A state path as the agent knows it."""
    root, slash, rest = path.partition("/")
    return ROOTS.get(root, root) + slash + rest
