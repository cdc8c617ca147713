"""The terminal's side of `seatrial shell`: what a line means, and what is shown of what came of it."""

import json
import os
import posixpath
import re
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from seatrial.cli.shell.input import Input, is_colon
from seatrial.cli.shell.save import Deed, kept, save_solution
from seatrial.cli.visible import visible, visible_line
from seatrial.errors import UsageError
from seatrial.journal.entries import ROOTS
from seatrial.records.verdicts import VerdictRow
from seatrial.spec.credit import progress
from seatrial.spec.experiment import Script
from seatrial.spec.faults import choose
from seatrial.spec.loading import LoadedTask
from seatrial.trial.sessions.session import Answer, Ask, Session

HOME = "/workspace"
SHOWN = 100
# State of a shell of one's own, which a fresh one for each command cannot keep.
HINTS = {
    "cd": "each command runs in a shell of its own. Type `:cd FOLDER` to go somewhere",
    "export": "each command runs in a shell of its own, so nothing exported lasts. Set it in the same line",
    "exit": "there is no shell to leave. Type `:finish`, `:giveup` or `:quit`",
}
# What leaves the work as it is, so that the lines after it mean the same when it cannot be done.
ASIDE = re.compile(r":(save|verify|watch)\b")
HELP = """\
A plain line is a shell command, run as the agent's would be: each in a fresh bash, through the gateway, with
the task's rules and budget, and recorded. Quotes, blocks, heredocs and a backslash go on in the next line.
  :goal                what the task asks for
  :cd [FOLDER]         where commands run from now on
  :read FILE           show a file                          (an action)
  :write FILE          write the lines up to a lone "."     (an action)
  :write FILE < MINE   write what a file of yours holds     (an action)
  :edit FILE           read it, open $EDITOR, write it back (two actions)
  :call TOOL {JSON}    call any tool, such as a service's  (an action)
  :verify [SUBGOAL]    judge the state as it is now, and show the evidence
  :progress            which subgoals count, and what that is worth
  :watch on|off        after each action: the verdicts that changed
  :state               fingerprint, changed paths, broken rules
  :log                 the steps so far; * marks those that changed the state
  :budget              what is used of it
  :save NAME           write those steps to the task's solutions/NAME.toml
  :finish [SUMMARY]    say that the work is done, and end  (an action)
  :giveup [REASON]     say that it cannot be done, and end (an action)
  :quit                leave; the attempt counts as broken off"""


class Front:
    """One session as a person sees it.

    Args:
        task: the task, from its folder.
        session: the process that holds the trial.
        lines: where commands come from.
        say: shows a text.
        complain: shows what is wrong with a line of a pipe that was passed over.

    Attributes:
        unmet: subgoals that the last ``:verify`` found other than passed.
        passed_over: whether a line of a pipe was complained of and the session went on.
    """

    def __init__(
        self, task: LoadedTask, session: Session, lines: Input, say: Callable[[str], None],
        complain: Callable[[str], None],
    ) -> None:  # fmt: skip
        self._task, self._session, self._lines = task, session, lines
        self._say, self._complain = say, complain
        self._cwd, self._watched = HOME, False
        self._deeds: list[Deed] = []
        self._known: dict[str, str] = {}
        self._broken = list(session.start.broken)
        self._broken_told = 0
        self._over = False
        self.unmet: list[str] = []
        self.passed_over = False
        self._commands: dict[str, Callable[[str], None]] = {
            "help": self._help, "goal": self._goal, "cd": self._cd, "read": self._read, "write": self._write,
            "edit": self._edit, "call": self._call, "verify": self._verify, "progress": self._progress,
            "watch": self.watch, "state": self._state, "log": self._log, "budget": self._budget,
            "save": self._save, "finish": self._finish, "giveup": self._giveup, "quit": self._quit,
        }  # fmt: skip

    @property
    def over(self) -> bool:
        """Whether nothing more can be done."""
        return self._over

    # -- the loop -------------------------------------------------------------------------------------
    def converse(self) -> None:
        """Take commands until the trial has ended or there are no more.

        Raises:
            UsageError: at a pipe, the first line that means nothing, unless the work does not depend on it
                (``:save``, ``:verify``, ``:watch``); that one, and any at a terminal, is only told.
        """
        while not self.over:
            text: str | None = None
            try:
                text = self._lines.command(f"{self._cwd}$ ")
                if text is None:
                    return
                if text.strip() and not text.startswith("#"):
                    self.obey(text)
            except KeyboardInterrupt:
                if not self._lines.is_terminal:
                    raise
                self._say("")
            except (UsageError, OSError) as fault:
                problem = f"line {self._lines.begun}: {fault}"
                if self._lines.is_terminal:
                    self._say(str(fault))
                elif ASIDE.match(text or ""):
                    self._complain(problem)
                    self.passed_over = True
                else:
                    raise UsageError(problem) from fault

    def obey(self, text: str) -> None:
        """Do what one command says."""
        if is_colon(text):
            name, _, rest = text[1:].strip().partition(" ")
            known = {**self._commands, "?": self._help}
            if name not in known:
                near = choose(name, self._commands, "a command")
                raise UsageError(f"unknown command {':' + name!r}. {near}")
            known[name](rest.strip())
            return
        word = re.fullmatch(r"\s*(cd|export|exit)(\s+[^;&|\n]*)?", text)
        if word is not None:
            raise UsageError(f"{text.strip()!r} was not run: {HINTS[word[1]]}.")
        self._act("shell", {"command": text, **({} if self._cwd == HOME else {"cwd": self._cwd})})

    def play(self, script: Script, name: str) -> None:
        """Play a script's steps up to where it ends the trial, and hand over.

        Raises:
            UsageError: at a pipe, a step waits for what was not shown; at a terminal it is only told.
        """
        shown = ""
        for number, step in enumerate(script.step, 1):
            if step.tool in ("finish", "give_up"):
                self._say(f"[{name}: its {step.tool} is left to you]")
                break
            if step.when_shown is not None and not re.search(step.when_shown, shown):
                problem = f"{name}: step {number} waits for {step.when_shown!r}, which was not shown."
                if not self._lines.is_terminal:
                    raise UsageError(problem)
                self._say(problem)
                break
            self._say(f"[{name}, step {number}] {step.tool} {_arguments(step.call())}")
            shown = self._act(step.tool, step.call())
            if self.over:
                return

    # -- acting ---------------------------------------------------------------------------------------
    def _act(self, tool: str, arguments: dict[str, Any], quiet: bool = False) -> str:
        """Do one action and show what came of it; returns what an agent would have been shown."""
        answer = self._ask(Ask(what="act", tool=tool, arguments=arguments))
        seen = answer.observation
        assert seen is not None
        # A request after the end takes no step.
        if answer.step > (self._deeds[-1].step if self._deeds else 0):
            changed = answer.changed or answer.alive > 0
            self._deeds.append(Deed(answer.step, tool, arguments, seen.outcome, seen.exit_code, changed))
        if not quiet and seen.text.strip():
            self._say(visible(seen.text.rstrip("\n")))
        if seen.exit_code or seen.outcome not in ("ok", "failed"):
            ending = "" if seen.exit_code is None else f", exit code {seen.exit_code}"
            self._say(f"[{seen.outcome}{ending}]")
        if self._watched and not self.over:
            self._show_moved()
        return seen.text

    def _call(self, rest: str) -> None:
        tool, _, given = rest.partition(" ")
        try:
            arguments = json.loads(given or "{}")
        except ValueError as fault:
            problem = f"{given!r} is no JSON: {fault}."
            raise UsageError(f'{problem} Write it like {{"path": "a"}}.') from fault
        if not tool or not isinstance(arguments, dict):
            raise UsageError("':call' takes a tool and its arguments as a JSON object.")
        self._act(tool, arguments)

    def _read(self, path: str) -> None:
        self._act("read_file", {"path": self._place(path, "read")})

    def _write(self, rest: str) -> None:
        path, taken, source = rest.partition("<")
        place = self._place(path.strip(), "write")
        content = _own_text(source.strip()) if taken else self._lines.block(place)
        self._act("write_file", {"path": place, "content": content})

    def _edit(self, path: str) -> None:
        if not self._lines.is_terminal:
            raise UsageError("':edit' needs a terminal. Use ':write'.")
        place = self._place(path, "edit")
        before = self._act("read_file", {"path": place}, quiet=True)
        if self.over:
            return
        if self._deeds[-1].outcome != "ok":
            before = ""
        limit = self._task.spec.environment.limits.output_kb << 10
        if "\N{REPLACEMENT CHARACTER}" in before or len(before.encode()) >= limit:
            raise UsageError(f"{place}: is no text or too long to be edited here. Use a shell command.")
        with tempfile.TemporaryDirectory() as folder:
            mine = Path(folder) / posixpath.basename(place)
            mine.write_bytes(before.encode())
            editor = _editor()
            # The editor's interrupts are its own.
            handler = signal.signal(signal.SIGINT, lambda number, frame: None)
            try:
                subprocess.run([*editor, str(mine)], check=False)
            finally:
                signal.signal(signal.SIGINT, handler)
            after = _own_text(str(mine))
        if after == before:
            self._say("[unchanged, not written]")
        else:
            self._act("write_file", {"path": place, "content": after})

    def _place(self, path: str, command: str) -> str:
        if not path:
            raise UsageError(f"':{command}' needs a file: `:{command} FILE`.")
        return path if self._cwd == HOME else posixpath.normpath(posixpath.join(self._cwd, path))

    def _finish(self, summary: str) -> None:
        self._act("finish", {"summary": summary} if summary else {}, quiet=True)

    def _giveup(self, reason: str) -> None:
        self._act("give_up", {"reason": reason} if reason else {}, quiet=True)

    def _quit(self, rest: str) -> None:
        self._over = True

    # -- looking --------------------------------------------------------------------------------------
    def _help(self, rest: str) -> None:
        self._say(HELP)

    def _goal(self, rest: str) -> None:
        self._say(self._task.instruction(1).rstrip("\n"))

    def _cd(self, folder: str) -> None:
        self._cwd = posixpath.normpath(posixpath.join(self._cwd, folder or HOME))

    def _ask(self, request: Ask) -> Answer:
        # At a terminal an interrupt is for the command under way; a pipe's interrupt is for all of it.
        answer = self._session.ask(request, interruptible=self._lines.is_terminal)
        self._broken += answer.broken
        self._over = answer.stop_reason is not None
        return answer

    def _judged(self, names: list[str]) -> list[VerdictRow]:
        rows = self._ask(Ask(what="verify", subgoals=names)).verdicts
        self._known |= {row.subgoal: row.verdict for row in rows}
        return rows

    @property
    def _subgoals(self) -> list[str]:
        return [subgoal.id for subgoal in self._task.spec.subgoals_for(1)]

    def _verify(self, name: str) -> None:
        if name and name not in self._subgoals:
            raise UsageError(f"unknown subgoal {name!r}. {choose(name, self._subgoals, 'a subgoal')}")
        rows = self._judged([name] if name else self._subgoals)
        self.unmet = [row.subgoal for row in rows if row.verdict != "pass"]
        for row in rows:
            self._say(f"{row.verdict:<8}{row.subgoal}")
            for key, value in (row.evidence or {}).items():
                text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
                self._say("        " + visible(f"{key}: {text}").rstrip("\n").replace("\n", "\n        "))

    def _progress(self, rest: str) -> None:
        self._judged(self._subgoals)
        self._say_progress()
        for name in self._subgoals:
            self._say(f"  {self._known[name]:<8}{name}")

    def _say_progress(self) -> None:
        passed = {name for name, verdict in self._known.items() if verdict == "pass"}
        self._say(f"progress {progress(self._task.spec, passed, 1):.4g}")

    def watch(self, wish: str) -> None:
        """Show after each action which verdicts it changed, or stop doing so."""
        if wish not in ("on", "off"):
            raise UsageError(f"':watch {wish}'. Write `:watch on` or `:watch off`.")
        self._watched = wish == "on"
        if self._watched:
            self._progress("")
            self._broken_told = len(self._broken)

    def _show_moved(self) -> None:
        before = dict(self._known)
        for row in self._judged(self._subgoals):
            if before.get(row.subgoal) != row.verdict:
                self._say(f"  {row.subgoal}: {before.get(row.subgoal, 'not judged')} → {row.verdict}")
        if self._known != before:
            self._say_progress()
        for event in self._broken[self._broken_told :]:
            self._say(f"  {'hard' if event.hard else 'soft'} constraint broken: {event.constraint}")
        self._broken_told = len(self._broken)

    def _state(self, rest: str) -> None:
        answer = self._ask(Ask(what="look"))
        self._say(f"fingerprint {answer.fingerprint}")
        for entry in answer.changes[:SHOWN]:
            root, _, below = entry.path.partition("/")
            path = visible_line(f"{ROOTS.get(root, root)}/{below}".rstrip("/"))
            gone = entry.kind == "absent"
            self._say(f"  removed {path}" if gone else f"  written {path} ({entry.kind}, {entry.size} bytes)")
        if len(answer.changes) > SHOWN:
            self._say(f"  … {len(answer.changes) - SHOWN} more")
        if not answer.changes:
            self._say("  nothing differs from the start")
        for event in self._broken:
            kind = "hard" if event.hard else "soft"
            self._say(f"  {kind} constraint broken at step {event.step}: {event.constraint}")

    def _log(self, rest: str) -> None:
        for deed in self._deeds:
            mark = "*" if deed.changed else " "
            self._say(f"{deed.step:>4}{mark} {deed.outcome:<8}{deed.tool} {_arguments(deed.arguments)}")

    def _budget(self, rest: str) -> None:
        used = self._ask(Ask(what="look")).used
        for resource, amount in used.items():
            limit = getattr(self._task.spec.budget, resource)
            bound = "without a limit" if limit is None else f"of {limit:g}"
            self._say(f"{resource}: {amount:.4g} {bound}")

    def _save(self, name: str) -> None:
        broke = {event.step: event.constraint for event in self._broken if event.certain}
        deeds = kept(self._deeds, broke)
        path = save_solution(self._task.folder, name, deeds)
        steps = ", ".join(str(deed.step) for deed in deeds)
        self._say(f"{path}: the steps that changed the state or broke a rule ({steps}), and a finish")
        for deed in deeds:
            if deed.step in broke:
                self._say(
                    f"  step {deed.step} broke {broke[deed.step]} and is kept: a solution that must be "
                    "accepted must not have it"
                )


def _own_text(path: str) -> str:
    """What a file of the person's own holds, to the byte.

    Raises:
        UsageError: it cannot be read, or is not UTF-8.
    """
    try:
        return Path(path).read_bytes().decode()
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not UTF-8. Write it with a shell command.") from None
    except (OSError, ValueError) as fault:  # a name with a null byte is a wrong value
        reason = getattr(fault, "strerror", None) or fault
        raise UsageError(f"{path!r}: cannot be read: {reason}. Give a file of yours.") from fault


def _editor() -> list[str]:
    """The person's editor, as a command.

    Raises:
        UsageError: its quotes do not close.
    """
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        return shlex.split(command)
    except ValueError as fault:
        raise UsageError(f"the editor {command!r} is no command: {fault}. Set EDITOR anew.") from fault


def _arguments(arguments: Mapping[str, Any]) -> str:
    """A call's arguments on one line, cut to a readable length."""
    text = visible_line(", ".join(map(str, arguments.values())))
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
