"""The command reference, made from the commands' own help.

Run ``python -m seatrial.cli.reference > docs/cli.md`` after a command changed.
"""

from collections.abc import Iterator

import typer
from typer.testing import CliRunner

from seatrial.cli.main import application

_INTRO = """# Commands

Made from `--help`; a test keeps it equal. Every verb exits with 0 when all is fine, 1 on a finding, 2 on
wrong usage or bad input, and takes `--json` for the same facts as data.
"""
_WIDTH = {"COLUMNS": "100", "TERMINAL_WIDTH": "100"}


def reference() -> str:
    """The whole reference as Markdown."""
    parts, app = [_INTRO], application()
    for words in _commands(app):
        shown = CliRunner().invoke(app, [*words, "--help"], env=_WIDTH, prog_name="seatrial")
        parts.append(f"## `{' '.join(['seatrial', *words])}`\n\n```\n{shown.output.strip()}\n```\n")
    return "\n".join(parts)


def _commands(app: typer.Typer) -> Iterator[list[str]]:
    yield []
    for command in app.registered_commands:
        assert command.callback is not None
        yield [command.name or command.callback.__name__]
    for group in app.registered_groups:
        assert group.typer_instance is not None
        yield [str(group.name)]
        for command in group.typer_instance.registered_commands:
            assert command.callback is not None
            yield [str(group.name), command.name or command.callback.__name__]


if __name__ == "__main__":
    print(reference(), end="")
