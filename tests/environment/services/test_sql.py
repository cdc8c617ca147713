"""What the agent's SQL can and cannot do. Every statement here is tried on the real database."""

from pathlib import Path

import pytest

from seatrial.environment.services import sql_tables
from seatrial.environment.services.call import Answer
from seatrial.environment.services.services import Services
from seatrial.journal.entries import Entry
from tests.stocks import FILES, Shop

QUICK = {**FILES, "sql": FILES["sql"].replace("script", "settings.seconds = 0.2\nscript")}


def query(services: Services, statement: str) -> Answer:
    return services.call("sql", "query", {"statement": statement})


def execute(services: Services, statement: str) -> Answer:
    return services.call("sql", "execute", {"statement": statement})


def test_reading_and_writing(tmp_path: Path) -> None:
    with Shop(tmp_path).open() as services:
        assert query(services, "SELECT name FROM u WHERE id > 1 ORDER BY id").body == {
            "columns": ["name"], "rows": [["b"], ["c"]], "more": False,
        }  # fmt: skip
        assert query(services, "SELECT a, b FROM t").body["rows"] == [[1, "x"], [2, None]]
        assert execute(services, "INSERT INTO u VALUES (7, 'g'), (8, 'h')").body == {"changed": 2}
        returned = execute(services, "UPDATE u SET name = upper(name) WHERE id < 3 RETURNING id, name")
        assert returned.body["rows"] == [[1, "A"], [2, "B"]]
        assert returned.body["changed"] == 2
        assert not execute(services, "SELECT 1").effect
        assert query(services, "SELECT value FROM json_each('[1, 2]')").body["rows"] == [[1], [2]]
        assert [row[1] for row in query(services, "SELECT * FROM pragma_table_info('u')").body["rows"]] == [
            "id", "name",
        ]  # fmt: skip
        assert [row[0] for row in query(services, "SELECT name FROM sqlite_master").body["rows"]] == [
            "u", "sqlite_autoindex_u_1", "t",
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("statement", "paths"),
    [
        ("INSERT INTO u VALUES (9, 'z')", {"u/9"}),
        ("INSERT OR REPLACE INTO u VALUES (9, 'a')", {"u/1", "u/9"}),
        ("INSERT INTO u VALUES (2, 'x') ON CONFLICT (id) DO UPDATE SET name = 'y'", {"u/2"}),
        ("UPDATE u SET id = 20 WHERE id = 2", {"u/2", "u/20"}),
        ("DELETE FROM u", {"u/1", "u/2", "u/3"}),
        ("UPDATE t SET a = a + 1 WHERE b IS NULL", {"t/2"}),
        ("UPDATE u SET name = name WHERE id = 1", set()),
        ("INSERT INTO u VALUES (9, 'z'), (10, 'a')", set()),
    ],
)
def test_only_rows_that_changed_are_touched(tmp_path: Path, statement: str, paths: set[str]) -> None:
    shop = Shop(tmp_path)
    with shop.open() as services:
        execute(services, statement)
        changed = {
            entry.path.removeprefix("services/sql/").removesuffix(".json")
            for entry in services.settle()
            if shop.stock.rows.get(entry.path, Entry(path=entry.path, kind="absent")) != entry
        }
        assert {path for path in changed if not path.startswith("ledger")} == paths


# What SQLite takes and gives nothing for.
HARMLESS = ("-- nothing", "SELECT '\0'", "SELECT printf('%.*c', 1 << 26, 'x')")


@pytest.mark.parametrize(
    "statement",
    [
        "ATTACH '/tmp/seatrial-never.db' AS x", "PRAGMA writable_schema = ON", "PRAGMA query_only = OFF",
        "PRAGMA temp_store_directory = '/tmp'", "DETACH main", "VACUUM",
        "VACUUM INTO '/tmp/seatrial-never.db'",
        "SELECT load_extension('x')", "DROP TABLE u", "ALTER TABLE u RENAME TO v", "CREATE TABLE x (y)",
        "CREATE TEMP TABLE x (y)", "CREATE TRIGGER x AFTER INSERT ON u BEGIN SELECT 1; END",
        "CREATE VIEW x AS SELECT 1", "CREATE VIRTUAL TABLE x USING fts5(y)", "BEGIN", "COMMIT", "ROLLBACK",
        "SAVEPOINT x", "REINDEX", "ANALYZE", "INSERT INTO sqlite_master VALUES (1, 2, 3, 4, 5)",
        "UPDATE sqlite_master SET sql = ''", "DELETE FROM sqlite_schema", "SELECT * FROM sqlite_temp_master",
        "SELECT _row_written('u', 1)", "SELECT * FROM rows", "SELECT * FROM ledger",
        "SELECT * FROM main.rows",
        "INSERT INTO u VALUES (5, 'e'); DROP TABLE u", "", "  ", "-- nothing", "SELECT", "\0", "SELECT '\0'",
        "SELECT zeroblob(1 << 30)", "SELECT printf('%.*c', 1 << 26, 'x')", "SELECT " + "(" * 5000,
        "EXPLAIN " * 1000, "SELECT '" + "x" * (300 << 10) + "'", "DROP TRIGGER _note_0_INSERT",
        "INSERT INTO u SELECT 1, name FROM u",
    ],
)  # fmt: skip
@pytest.mark.parametrize("verb", ["query", "execute"])
def test_everything_else_is_refused_and_does_nothing(tmp_path: Path, statement: str, verb: str) -> None:
    shop = Shop(tmp_path)
    with shop.open() as services:
        answer = services.call("sql", verb, {"statement": statement})
        if statement not in HARMLESS:
            assert 400 <= answer.status < 500, answer
        assert not answer.effect
        assert services.entries() == shop.stock.rows
        assert execute(services, "INSERT INTO u VALUES (9, 'z')").effect  # and all goes on
        assert "services/sql/u/9.json" in {entry.path for entry in services.settle()}
    assert not Path("/tmp/seatrial-never.db").exists()


def test_reading_writes_nothing(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    with shop.open() as services:
        for statement in (
            "INSERT INTO u VALUES (9, 'z')", "WITH x AS (SELECT 1) DELETE FROM u",
            "REPLACE INTO u VALUES (1, 'q')", "UPDATE u SET name = 'q' RETURNING *",
        ):  # fmt: skip
            assert query(services, statement).status == 403
        assert services.entries() == shop.stock.rows and not services.unsettled


def test_a_statement_that_does_not_end_is_ended_and_undone(tmp_path: Path) -> None:
    endless = "WITH RECURSIVE r(n) AS (SELECT 100 UNION ALL SELECT n + 1 FROM r)"
    shop = Shop(tmp_path, QUICK)
    with shop.open() as services:
        assert query(services, f"{endless} SELECT max(n) FROM r").status == 408
        assert execute(services, f"{endless} INSERT INTO t SELECT n, n FROM r").status == 408
        assert services.entries() == shop.stock.rows
    with Shop(tmp_path / "patient").open() as services:
        assert query(services, f"{endless} SELECT n FROM r").body["more"]  # its first rows are there at once


def test_what_is_written_in_one_step_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_tables, "MOST_WRITTEN", 10)
    shop = Shop(tmp_path)
    with shop.open() as services:
        fill = "INSERT INTO t SELECT a.id, b.name FROM u a, u b"
        assert execute(services, fill).body == {"changed": 9}
        before = services.entries()
        assert execute(services, fill).status == 413
        assert services.entries() == before
        assert len(services.settle()) == 10  # nine rows and their ledger's
        assert execute(services, fill).status == 200
        services.set_rows("sql", {"t": [{"a": n} for n in range(20)]})  # from outside nothing is bounded
        services.settle()
        live = services.entries()
    with shop.open(shop.delta(live)) as again:
        assert again.entries() == live


def test_results_are_bounded(tmp_path: Path) -> None:
    with Shop(tmp_path).open() as services:
        many = query(services, "SELECT a.id FROM u a, u b, u c, u d, u e, u f").body
        assert (len(many["rows"]), many["more"]) == (200, True)
        wide = query(services, "SELECT printf('%.*c', 200000, 'x') FROM u").body
        assert (len(wide["rows"]), wide["more"]) == (1, True)


def test_any_value_comes_back_from_its_row(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    values = "(9e999), (-9e999), (-0.0), (1e-300), (9223372036854775807), (x''), (x'00ff'), (NULL)"
    values += """, ('é\n"'), (''), ('{"$blob": 1}')"""
    with shop.open() as services:
        assert execute(services, f"INSERT INTO t(b) VALUES {values}, (CAST(x'ff41' AS TEXT))").effect
        select = "SELECT rowid, typeof(b), quote(b), hex(b) FROM t"
        before, live = query(services, select).body, services.entries()
        services.settle()
    with shop.open(shop.delta(live)) as again:
        assert query(again, select).body == before
        assert again.entries() == live


def test_rows_that_trade_places_are_restored(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    with shop.open() as services:
        execute(services, "UPDATE u SET name = '-' || name")
        execute(services, "UPDATE u SET name = CASE id WHEN 1 THEN 'b' WHEN 2 THEN 'a' ELSE 'c' END")
        services.settle()
        live = services.entries()
    with shop.open(shop.delta(live)) as again:
        assert again.entries() == live
