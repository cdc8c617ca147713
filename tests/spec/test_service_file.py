"""Files of a task's services: what they may say, and what is refused when the task is read."""

from pathlib import Path

import pytest

from seatrial.errors import SpecError
from seatrial.spec import sql_file
from seatrial.spec.faults import Source
from seatrial.spec.loading import load_task
from seatrial.spec.service_file import parse_service
from seatrial.spec.services import TABLES, VERBS
from seatrial.spec.tools import SERVICES
from tests.spec.folders import assert_error, write_task
from tests.stocks import FILES, TEXTS

SQL = {"sql": FILES["sql"], **TEXTS}


def with_services(folder: Path, files: dict[str, str], services: list[str] | None = None) -> Path:
    named = [name for name in files if name in VERBS] if services is None else services
    task = write_task(folder, {"environment.services": named})
    (task / "services").mkdir()
    for name, text in files.items():
        path = task / name if "/" in name else task / "services" / f"{name}.toml"
        path.write_text(text)
    return task


def test_every_service_is_read(tmp_path: Path) -> None:
    assert load_task(with_services(tmp_path, {**FILES, **TEXTS})).spec.environment.services == list(FILES)
    assert tuple(VERBS) == SERVICES == tuple(sorted(FILES))
    assert TABLES.keys() == VERBS.keys()


def test_rows_get_numbers_and_defaults() -> None:
    text = '[[rows.messages]]\nfrom = "a"\n[[rows.messages]]\nid = 7\nfrom = "b"\nfolder = "spam"\n'
    rows = parse_service(Source("x"), "mail", text).rows["messages"]
    assert [(row["id"], row["folder"], row["subject"]) for row in rows] == [(1, "inbox", ""), (7, "spam", "")]


def test_only_sql_needs_a_file(tmp_path: Path) -> None:
    load_task(with_services(tmp_path / "one", {}, ["mail", "web"]))
    task = with_services(tmp_path / "two", {}, ["mail", "sql"])
    with pytest.raises(SpecError) as raised:
        load_task(task)
    assert_error(raised, task / "task.toml", "environment.services[1]", "services/sql.toml")


@pytest.mark.parametrize(
    ("service", "text", "place", "pieces"),
    [
        ("mail", "[[rows.mesages]]\nfrom = 'x'", "rows.mesages", ['"mesages"', 'Did you mean "messages"']),
        ("mail", "[[rows.messages]]\nsubject = 'x'", "rows.messages[0].from", ["missing"]),
        ("mail", "[[rows.messages]]\nfrom = 3", "rows.messages[0].from", ["3 has the wrong type"]),
        ("mail", "[[rows.messages]]\nfrm = 'x'", "rows.messages[0].frm", ['Did you mean "from"']),
        ("mail", "[[rows.messages]]\nfrom = 'x'\nid = 'one'", "rows.messages[0].id", ['"one" is no id']),
        ("mail", "rows.messages = [{from='x', id=2}, {from='y'}]", "rows.messages[1].id", ["2 is"]),
        ("mail", "[[rows.ledger]]\nid = 1", "rows.ledger", ['"ledger"']),
        ("mail", "[settings]\naddres = 'x'", "settings.addres", ['Did you mean "address"']),
        ("mail", "seting = 1", "seting", ['"seting"']),
        ("mail", "script = 'x.sql'", "script", ["no database"]),
        ("payments", "[[rows.accounts]]\nbalance = 1", "rows.accounts[0].id", ["null is no id"]),
        ("payments", "[[rows.accounts]]\nid = 'a'\nbalance = '1'", "rows.accounts[0].balance", ["a number"]),
        ("payments", "[settings]\nx = 1", "settings.x", ['"x"']),
        ("deploy", "[[rows.services]]\nid='a'\nversions='1'", "rows.services[0].versions", ["oldest first"]),
        ("tickets", "[settings]\nstates = []", "settings.states", ["no state"]),
        ("web", "[[rows.pages]]\nid = 'a'", "rows.pages[0].id", ["no path"]),
        ("web", "[[rows.pages]]\nid = '/get'", "rows.pages[0].id", ["taken"]),
        ("web", "[[rows.pages]]\nid='/'\nform={field=[]}", "rows.pages[0].form.field", ['"fields"']),
        ("web", "[[rows.pages]]\nid='/'\nlinks='/a'", "rows.pages[0].links", ["list of paths"]),
        ("web", "[settings]\nlines = 0", "settings.lines", ["0"]),
        ("sql", "", "table", ["no table"]),
        ("sql", "script='s'\n[[rows.u]]\nid=1", "rows", ["script or CSV"]),
        ("sql", "script = '../s.sql'", "script", ["leaves the task"]),
        ("sql", "script = 's'\nsettings.seconds = 1e9", "settings.seconds", ["out of range"]),
        ("sql", "[[table]]\nname = 'a b'\ncsv = 'x'", "table[0].name", ['"a b"']),
        ("mail", "[[rows.messages]]\nid=-1\nfrom='a'", "rows.messages[0].id", ["-1 is no id", "from 1"]),
        ("mail", f"[[rows.messages]]\nid={2**63 - 1}\nfrom='a'", "rows.messages[0].id", ["is no id"]),
        ("mail", "[[rows.messages]\n", "line 1, column 16", ["not TOML"]),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file(service: str, text: str, place: str, pieces: list[str]) -> None:
    with pytest.raises(SpecError) as raised:
        parse_service(Source("x.toml"), service, text)
    assert_error(raised, Path("x.toml"), place, *pieces)


@pytest.mark.parametrize(
    ("files", "file", "pieces"),
    [
        ({"fax": ""}, "services/fax.toml", ['"fax"']),
        ({"sql": "script = 'services/s.sql'"}, "services/sql.toml", ["services/s.sql", "Add it"]),
        ({**SQL, "services/t.csv": "a,b\n1\n"}, "services/t.csv", ["line 2", "1 cells"]),
        ({**SQL, "services/t.csv": ""}, "services/t.csv", ["line 1"]),
        ({**SQL, "services/t.csv": "a,c\n1,2\n"}, "services/t.csv", ["no column named c"]),
        ({**SQL, "services/t.csv": 'a,b\n1,2\n"x"y,2\n'}, "services/t.csv", ["line 3", "is no CSV"]),
        ({**SQL, "services/t.csv": 'a,b\n"x,2\n'}, "services/t.csv", ["line 2", "is no CSV"]),
        ({**SQL, "services/t.csv": f"a,b\n1,{'x' * 200_000}\n"}, "services/t.csv", ["line 2", "is no CSV"]),
        ({**SQL, "services/s.sql": "BEGIN; CREATE TABLE x (a)"}, "services/s.sql", ["Add COMMIT"]),
        ({**SQL, "services/s.sql": 'CREATE TABLE ".." (a)'}, "services/s.sql", ["no name of a table"]),
        ({**SQL, "services/s.sql": "CREATE TABLE Ledger (a)"}, "services/s.sql", ["'Ledger'", "itself"]),
        ({**SQL, "services/s.sql": "CREATE TABLE credential (a)"}, "services/s.sql", ["itself"]),
        ({**SQL, "services/s.sql": "CREATE TABL x"}, "services/s.sql", ["syntax error"]),
        ({**SQL, "services/s.sql": "ATTACH 'x' AS y"}, "services/s.sql", ["not authorized"]),
        ({**SQL, "services/s.sql": "CREATE TABLE x (rowid)"}, "services/s.sql", ["'rowid'"]),
        (
            {**SQL, "services/s.sql": "CREATE TABLE x (a PRIMARY KEY) WITHOUT ROWID"},
            "services/s.sql", ["WITHOUT ROWID"],
        ),
        (
            {**SQL, "services/s.sql": "CREATE TABLE x (a INTEGER PRIMARY KEY AUTOINCREMENT)"},
            "services/s.sql", ["AUTOINCREMENT"],
        ),
        (
            {
                **SQL,
                "services/s.sql": "CREATE TABLE x (a); CREATE TRIGGER y DELETE ON x BEGIN SELECT 1; END;",
            },
            "services/s.sql", ["not authorized"],
        ),
    ],
)  # fmt: skip
def test_a_task_whose_services_cannot_be_made(
    tmp_path: Path, files: dict[str, str], file: str, pieces: list[str]
) -> None:
    task = with_services(tmp_path, files, [name for name in files if name in VERBS])
    with pytest.raises(SpecError) as raised:
        load_task(task)
    assert raised.value.file == str(task / file)
    for piece in pieces:
        assert piece in str(raised.value)


ENDLESS = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) "


@pytest.mark.parametrize(
    ("statement", "piece"),
    [
        ("INSERT INTO x SELECT count(*) FROM c", "runs longer"),
        ("INSERT INTO x SELECT zeroblob(n * 100) FROM c", "full"),
    ],
)
def test_a_script_that_never_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str, piece: str
) -> None:
    monkeypatch.setattr(sql_file, "SCRIPT_SECONDS", 0.2 if piece == "runs longer" else 60.0)
    monkeypatch.setattr(sql_file, "_MOST_PAGES", 1000)
    text = f"CREATE TABLE x (a); {ENDLESS}{statement};"
    task = with_services(tmp_path, {**SQL, "services/s.sql": text}, ["sql"])
    with pytest.raises(SpecError) as raised:
        load_task(task)
    assert raised.value.file == str(task / "services/s.sql")
    assert piece in str(raised.value)


def test_a_byte_order_mark_is_no_part_of_a_column(tmp_path: Path) -> None:
    load_task(with_services(tmp_path, {**SQL, "services/t.csv": "\ufeffa,b\n1,2\n"}, ["sql"]))
