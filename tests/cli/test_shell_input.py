import io

import pytest

from seatrial.cli.shell.input import Input, is_colon, is_unended
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
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    lines = Input()
    assert lines.command("$ ") == "one"
    assert lines.command("$ ") == "cat <<E\n:goal\nE"
    assert (lines.begun, lines.number) == (2, 4)
    assert lines.command("$ ") == ":write a"
    assert lines.block("a") == "x\n\n"
    assert lines.command("$ ") is None


@pytest.mark.parametrize(
    ("encoding", "errors"),
    [("utf-8", "strict"), ("utf-8", "surrogateescape"), ("ascii", "surrogateescape"), ("latin-1", "strict")],
)
def test_bytes_that_are_no_text_whatever_the_locale(monkeypatch, encoding, errors):
    stdin = io.TextIOWrapper(io.BytesIO("é\ncat <<E\n".encode() + b"\xff\n"), encoding, errors)
    monkeypatch.setattr("sys.stdin", stdin)
    lines = Input()
    assert lines.command("$ ") == "é"
    with pytest.raises(UsageError, match="not UTF-8"):
        lines.command("$ ")
    assert (lines.begun, lines.number) == (3, 3)


def test_lines_may_end_as_on_other_systems(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"ls\r\npwd")))
    lines = Input()
    assert [lines.command("$ ") for _ in range(3)] == ["ls", "pwd", None]
