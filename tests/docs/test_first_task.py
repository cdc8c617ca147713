"""``docs/first-task.md`` by itself: its commands are run in order, and what it says they show is shown."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[2] / "docs" / "first-task.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """Commands, and lines they show in this order, ``…`` for what may be anything."""

    commands: str
    shown: list[str]


def blocks() -> list[Block]:
    return [Block(commands, text.splitlines()) for commands, text in BLOCK.findall(PAGE.read_text())]


def missing(shown: list[str], output: str) -> str | None:
    """The first of the lines that does not come where it should."""
    lines = iter(output.splitlines())
    for line in shown:
        pattern = ".*".join(map(re.escape, line.split("…")))
        if not any(re.fullmatch(pattern, found) for found in lines):
            return line
    return None


def test_lines_are_looked_for_in_order():
    assert missing(["a…c", "d"], "x\nabc\ny\nd\n") is None
    assert missing(["a", "b"], "b\na\n") == "b"
    assert missing(["a"], "ab\n") == "a"


def test_the_page_does_what_it_says(tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    program = programs / "seatrial"
    program.write_text(
        f"#!/bin/sh\nexec {sys.executable} -c 'from seatrial.cli.main import main; main()' \"$@\"\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    room = tmp_path / "room"
    room.mkdir()
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "COLUMNS": "200"}
    found = blocks()
    assert len(found) == PAGE.read_text().count("```sh") > 5
    assert sum(bool(block.shown) for block in found) == len(found)
    for block in found:
        done = subprocess.run(
            ["bash", "-e", "-c", block.commands], cwd=room, env=environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        said = done.stdout + done.stderr
        assert done.returncode == 0, f"{block.commands}\n{said}"
        assert missing(block.shown, done.stdout) is None, f"{block.commands}\n{said}"
    assert (room / "run" / "report" / "report.json").exists()
