"""The command reference, made from the commands' own help: ``python -m seatrial.cli.reference > docs/cli.md``."""

from collections.abc import Iterator

import click
import typer

from seatrial.cli.main import app

_INTRO = """# Commands

Made from `--help`; a test keeps it equal. Every verb exits with 0 when all is fine, 1 on a finding, 2 on wrong
usage or bad input, and takes `--json` for the same facts as data.
"""


def reference() -> str:
    """The whole reference as Markdown."""
    root = typer.main.get_command(app)
    parts = [_INTRO]
    for path, command in _walk(root, "seatrial"):
        context = click.Context(command, info_name=path, max_content_width=100, terminal_width=100)
        parts.append(f"## `{path}`\n\n```\n{command.get_help(context).rstrip()}\n```\n")
    return "\n".join(parts)


def _walk(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name in sorted(command.commands):
            yield from _walk(command.commands[name], f"{path} {name}")


if __name__ == "__main__":
    print(reference(), end="")
