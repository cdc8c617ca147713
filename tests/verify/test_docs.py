"""The examples of docs/verifiers.md give the verdicts that it says."""

import json
import re
import sqlite3
from pathlib import Path

import pytest

from seatrial.environment.confine.host import Host
from tests.verify.bench import Content, ask

TEXT = (Path(__file__).parents[2] / "docs" / "verifiers.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(
    r"<!-- verifier: files=(?P<files>{.*?}) reads=(?P<reads>\[.*?\]) verdict=(?P<verdict>\w+) -->\n"
    r"```\w+\n(?P<text>.*?)```",
    re.DOTALL,
)
EXAMPLES = [found.groupdict() for found in EXAMPLE.finditer(TEXT)]


def test_every_marked_example_is_found() -> None:
    assert len(EXAMPLES) == TEXT.count("<!-- verifier:") == 4


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_examples(tmp_path: Path, host: Host, example: dict[str, str]) -> None:
    files: dict[str, Content] = json.loads(example["files"])
    if files.get("app.db") == "SQLITE":
        with sqlite3.connect(tmp_path / "app.db") as database:
            database.execute("CREATE TABLE t (n INTEGER)")
            database.executemany("INSERT INTO t VALUES (?)", [(1,), (2,)])
        database.close()
        files["app.db"] = (tmp_path / "app.db").read_bytes()
    row = ask(tmp_path, host, example["text"], files, json.loads(example["reads"]))
    assert row.verdict == example["verdict"], row.evidence
