"""What a declaration covers, and when it expires."""

import sqlite3
from pathlib import Path

import msgspec

from seatrial.journal.entries import Entry, State
from seatrial.verify.reads import Reads, Seen, reads_digest
from tests.verify.bench import Maker


def digest_of(maker: Maker, state: State, *reads: str) -> str:
    seen = Seen(Reads(reads), maker.objects)
    seen.become(state)
    return seen.digest()


def test_only_declared_paths_are_visible_and_count(tmp_path: Path) -> None:
    maker = Maker(tmp_path)
    state = maker.state({"src/a.py": "1", "notes": "x"})
    seen = Seen(Reads(["files:src/**"]), maker.objects)
    assert seen.become(state) == {"workspace/src/a.py"}
    before = seen.digest()
    assert before == reads_digest([state["workspace/src/a.py"]])
    assert seen.apply([maker.file("workspace/notes", "y")]) == set()
    assert seen.digest() == before
    assert seen.apply([maker.file("workspace/src/a.py", "2")]) == {"workspace/src/a.py"}
    assert seen.digest() != before
    seen.become(state)
    assert seen.digest() == before
    seen.apply([Entry(path="workspace/src/a.py", kind="absent")])
    assert seen.digest() == reads_digest([])


def test_mode_owner_links_and_attributes_count(tmp_path: Path) -> None:
    maker = Maker(tmp_path)
    plain = maker.file("workspace/a", "1")
    changes = [{"mode": 0o600}, {"owner": "base"}, {"links": "workspace/a"}, {"xattrs": {"user.x": "00"}}]
    others = [msgspec.structs.replace(plain, **change) for change in changes]
    digests = {digest_of(maker, {e.path: e}, "files:a") for e in [plain, *others]}
    assert len(digests) == 5
    later = msgspec.structs.replace(plain, mtime=5)
    assert digest_of(maker, {later.path: later}, "files:a") == digest_of(
        maker, {plain.path: plain}, "files:a"
    )


def test_no_declaration_is_the_whole_state(tmp_path: Path) -> None:
    maker = Maker(tmp_path)
    reads = Reads([])
    assert reads.whole
    assert reads.roots == ("workspace", "home", "tmp", "var-tmp", "shm", "services")
    before = digest_of(maker, maker.state({"a": "1", "tmp:b": "2"}))
    assert before != digest_of(maker, maker.state({"a": "1", "tmp:b": "3"}))


def test_roots_follow_the_declaration() -> None:
    assert Reads(["files:**"]).roots == ("workspace",)
    assert Reads(["files:~/notes", "files:/tmp/*"]).roots == ("workspace", "home", "tmp")
    assert Reads(["service:mail"]).services == ["mail"]


def database(path: Path, rows: int, vacuum: bool = False, wal: bool = False) -> None:
    connection = sqlite3.connect(path)
    if wal:
        connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, s TEXT)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", [(n, "x" * 100) for n in range(rows + 50)])
    connection.execute("DELETE FROM t WHERE n >= ?", (rows,))
    connection.commit()
    if vacuum:
        connection.execute("VACUUM")
    if not wal:
        connection.close()
        return
    for name in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        name.with_name(f"copy-{name.name}").write_bytes(name.read_bytes())
    connection.close()


def test_a_database_counts_by_content(tmp_path: Path) -> None:
    maker = Maker(tmp_path)
    for name, options in {"a": {}, "b": {"vacuum": True}, "w": {"wal": True}}.items():
        database(tmp_path / name, 20, **options)
    database(tmp_path / "c", 21)
    content = {name: (tmp_path / name).read_bytes() for name in "abc"}
    assert content["a"] != content["b"]
    states = {name: maker.state({"app.db": data}) for name, data in content.items()}
    sides = {f"app.db{end}": (tmp_path / f"copy-w{end}").read_bytes() for end in ("", "-wal", "-shm")}
    states["w"] = maker.state(sides)
    by_content = {name: digest_of(maker, state, "db:app.db") for name, state in states.items()}
    assert by_content["a"] == by_content["b"] == by_content["w"] != by_content["c"]
    by_bytes = {digest_of(maker, state, "files:app.db*") for state in states.values()}
    assert len(by_bytes) == 4
    assert digest_of(maker, states["a"], "db:app.db", "files:*") != digest_of(
        maker, states["b"], "db:app.db", "files:*"
    )


def test_the_providers_digest_is_used_where_it_was_recorded(tmp_path: Path) -> None:
    maker = Maker(tmp_path)
    one = maker.state({"app.db": maker.file("x", "bytes", logical="m")})
    two = maker.state({"app.db": maker.file("x", "other bytes", logical="m")})
    assert digest_of(maker, one, "db:app.db") == digest_of(maker, two, "db:app.db")


def test_what_is_no_database_counts_by_bytes(tmp_path: Path) -> None:
    maker = Maker(tmp_path)
    digests = {digest_of(maker, maker.state({"app.db": text}), "db:app.db") for text in ("not", "a database")}
    assert len(digests | {digest_of(maker, maker.state({}), "db:app.db")}) == 3
