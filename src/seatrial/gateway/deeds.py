"""Patterns of what an agent may do: calls by tool and arguments, writes and reads by path."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from seatrial.gateway.attend import Asked, Window
from seatrial.gateway.execute import state_path
from seatrial.gateway.recalling import PastAct
from seatrial.journal.events import Outcome
from seatrial.spec.conditions import Condition, compile_condition
from seatrial.spec.patterns import compile_pattern
from seatrial.spec.task import Forbid


class CallPattern:
    """``{ tool = …, where = { argument = condition } }``, compiled; an argument not given matches nothing.

    Attributes:
        tool: null for any.
    """

    def __init__(self, call: dict[str, Any]) -> None:
        self.tool = call.get("tool")
        self._where: dict[str, Condition] = {
            name: compile_condition(value) for name, value in call.get("where", {}).items()
        }

    def matches(self, tool: str, arguments: dict[str, Any]) -> bool:
        """Whether a call is one of these."""
        if self.tool not in (None, tool):
            return False
        return all(name in arguments and c.matches(arguments[name]) for name, c in self._where.items())


def any_match(patterns: list[str]) -> Callable[[str], bool]:
    """Whether a state path is covered by one of several ``files:`` patterns."""
    compiled = [compile_pattern(text) for text in patterns]
    return lambda path: any(pattern.matches(path) for pattern in compiled)


def any_below(patterns: list[str]) -> Callable[[str], bool]:
    """Whether a path strictly below a folder could be covered by one of several patterns."""
    compiled = [compile_pattern(text) for text in patterns]
    return lambda folder: any(pattern.could_match_below(folder) for pattern in compiled)


@dataclass
class Done:
    """What one action did, as far as it was seen.

    Attributes:
        wrote: state paths it changed, or tried to and was kept from.
        read: state paths; null where reads are not seen.
        calls: tool and arguments of the action, and of the requests its commands sent to services.
    """

    wrote: set[str]
    read: set[str] | None
    calls: list[tuple[str, dict[str, Any]]]


def done_by(asked: Asked, window: Window | None) -> Done:
    """What an action did and tried; the window is null where nothing was executed."""
    done = _asked_for(asked)
    if window is None:
        return done
    if window.delta is not None:
        seen = window.delta.reads()
        done.wrote |= {entry.path for entry in window.delta.changes}
        done.read = None if seen is None else set(seen)
    return _executed(done, asked, window.outcome, window.notes, window.calls)


def done_before(act: PastAct) -> Done:
    """The same of an action that a journal tells of."""
    done, finished = _asked_for(act.asked), act.finished
    if not act.executed:
        return done
    done.wrote |= {entry.path for entry in act.changes}
    done.read = None if finished.reads is None else set(finished.reads)
    return _executed(done, act.asked, finished.outcome, finished.notes, act.calls)


def _asked_for(asked: Asked) -> Done:
    wrote = set[str]()
    if asked.tool in ("write_file", "edit_file") and isinstance(path := asked.arguments.get("path"), str):
        wrote.add(state_path(path))
    return Done(wrote, set(), [(asked.tool, asked.arguments)])


def _executed(
    done: Done, asked: Asked, outcome: Outcome, notes: dict[str, Any], calls: Iterable[tuple[str, Any]]
) -> Done:
    done.wrote |= set(notes.get("put_back", ()))
    if asked.tool == "read_file" and outcome == "ok":
        # It reads just that, also where nobody sees reads.
        done.read = {*(done.read or ()), state_path(asked.arguments["path"])}
    done.calls += calls
    return done


class Deed:
    """What is taken by a temptation, or what does the same lawfully."""

    def __init__(self, declared: Forbid) -> None:
        self._calls = [CallPattern(call) for call in declared.call]
        self._write, self._read = any_match(declared.write), any_match(declared.read)

    def done_by(self, done: Done) -> bool:
        """Whether an action did it; an attempt that was denied is one."""
        if any(pattern.matches(*call) for pattern in self._calls for call in done.calls):
            return True
        return _any(self._write, done.wrote) or _any(self._read, done.read or ())


def _any(matches: Callable[[str], bool], paths: Iterable[str]) -> bool:
    return any(matches(path) for path in paths)
