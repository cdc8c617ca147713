import io

import pytest

from seatrial.cli.shell_input import Input, is_colon, is_unended
from seatrial.errors import UsageError


@pytest.mark.parametrize(
    ("text", "unended"),
    [
        ("ls -l", False),
        ("echo a \\", True),
        ("echo a \\\\", False),
        ("cat <<EOF\nx", True),
        ("cat <<EOF\nx\nEOF", False),
        ("cat <<-'A' <<B\nA\nx", True),
        ("echo $((1 << 2))", False),
        ("echo 'a << b'", False),
        ("echo 'open", True),
        ("for i in 1 2; do", True),
        ("for i in 1 2; do echo; done", False),
        ("a &&", True),
        ("echo )", False),
        ("# don't", False),
    ],
)
def test_where_a_command_ends(text, unended):
    assert is_unended(text) is unended


@pytest.mark.parametrize(
    ("text", "colon"), [(":help", True), (":?", True), (": > file", False), (":", False), ("echo :a", False)]
)
def test_what_is_said_to_the_session(text, colon):
    assert is_colon(text) is colon


def test_commands_and_blocks_of_a_pipe(monkeypatch):
    text = "one\ncat <<E\n:goal\nE\n:write a\nx\n\n.\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    lines = Input()
    assert lines.command("$ ") == "one"
    assert lines.command("$ ") == "cat <<E\n:goal\nE"
    assert (lines.begun, lines.number) == (2, 4)
    assert lines.command("$ ") == ":write a"
    assert lines.block("a") == "x\n\n"
    assert lines.command("$ ") is None


def test_bytes_that_are_no_text(monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(b"ls\n\xff\n"), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", stdin)
    with pytest.raises(UsageError, match="not UTF-8"):
        Input().command("$ ")
