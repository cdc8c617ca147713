"""What a person types, or a pipe brings: lines, and commands of several lines."""

import importlib
import re
import subprocess
import sys

from seatrial.errors import UsageError

# What bash says of text that has no fault but lacks its end.
_UNENDED = re.compile(r"unexpected EOF|unexpected end of file|delimited by end-of-file")
CONTINUED = "> "


class Input:
    """Lines from stdin; with line editing and history at a terminal, without prompts elsewhere.

    Attributes:
        number: of the line read last, from 1.
        begun: the line in which the command under way began.
    """

    def __init__(self) -> None:
        self.is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        self.number = self.begun = 0
        if self.is_terminal:
            # Gives input() line editing and history; elsewhere it would only take hold of the terminal.
            importlib.import_module("readline")

    def line(self, prompt: str) -> str | None:
        """The next line without its end; null when there is no more.

        Raises:
            UsageError: the line is not UTF-8.
            KeyboardInterrupt: at a terminal: the line is thrown away.
        """
        try:
            if self.is_terminal:
                text = input(prompt)
                # Some locales hand over such bytes as characters that nothing could write down.
                text.encode()
            else:
                # As bytes: how the text layer reads others depends on the locale, and it reads ahead.
                data = sys.stdin.buffer.readline()
                if not data:
                    return None
                text = data.decode().removesuffix("\n").removesuffix("\r")
        except EOFError:
            print()
            return None
        except (UnicodeDecodeError, UnicodeEncodeError) as fault:
            self.number += 1
            self.begun = self.number
            raise UsageError(f"the input is not UTF-8: {fault.reason}.") from fault
        self.number += 1
        return text

    def command(self, prompt: str) -> str | None:
        """The next command: one line, or as many as its quotes, blocks, heredocs or backslashes take."""
        text = self.line(prompt)
        self.begun = self.number
        while text is not None and not is_colon(text) and is_unended(text):
            more = self.line(CONTINUED)
            if more is None:
                raise UsageError(f"the command never ends: {text.splitlines()[0]!r}.")
            text = f"{text}\n{more}"
        return text

    def block(self, what: str) -> str:
        """Lines up to a lone ``.``, each with its end.

        Raises:
            UsageError: the input ends before that.
        """
        lines = list[str]()
        while (line := self.line(CONTINUED)) != ".":
            if line is None:
                raise UsageError(f"the text for {what} never ends. End it with a line that holds one dot.")
            lines.append(f"{line}\n")
        return "".join(lines)


def is_colon(text: str) -> bool:
    """Whether it is a command to the session and not to the shell, which knows a ``:`` of its own."""
    return re.match(r":[A-Za-z?]", text) is not None


def is_unended(text: str) -> bool:
    """Whether a shell command goes on in the next line. Bash reads it for that, and runs nothing."""
    last = text.rpartition("\n")[2]
    if (len(last) - len(last.rstrip("\\"))) % 2:
        return True
    read = subprocess.run(
        ["bash", "--norc", "-n"],
        input=f"{text}\n".encode(errors="replace"),
        capture_output=True,
        check=False,
        env={"LC_ALL": "C", "PATH": "/usr/local/bin:/usr/bin:/bin"},
    )
    return _UNENDED.search(read.stderr.decode(errors="replace")) is not None
