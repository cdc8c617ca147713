"""The conformance kits, run on the implementations that come with the package."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from seatrial.environment.conformance import PROVIDER_CHECKS, SANDBOX_CHECKS, MakeSandbox, ProviderCase
from seatrial.environment.ground import ActionLimits
from seatrial.environment.state.providers import SqliteProvider
from tests.environment.lab import Lab

PATH = "workspace/data.db"


def named(check: Callable[..., None]) -> str:
    return check.__name__.removeprefix("check_")


@pytest.mark.parametrize("check", SANDBOX_CHECKS, ids=named)
def test_bubblewrap_sandbox(lab: Lab, check: Callable[[MakeSandbox], None]):
    ground = lab.ground(lab.base({}), ActionLimits(seconds=3.0))
    check(lambda: lab.world(ground))


def fill(rows: list[int], mode: str) -> Callable[[str], None]:
    def work(tree: str) -> None:
        with closing(sqlite3.connect(f"{tree}/{PATH}")) as connection:
            connection.execute(f"PRAGMA journal_mode={mode}")
            connection.execute("CREATE TABLE IF NOT EXISTS t(x)")
            connection.execute("DELETE FROM t")
            connection.executemany("INSERT INTO t VALUES(?)", [(row,) for row in rows])
            connection.commit()

    return work


def shuffle(tree: str) -> None:
    before = Path(f"{tree}/{PATH}").read_bytes()
    with closing(sqlite3.connect(f"{tree}/{PATH}")) as connection:
        connection.execute("PRAGMA user_version=3")
        rows = connection.execute("SELECT x FROM t").fetchall()
        connection.execute("DELETE FROM t")
        connection.executemany("INSERT INTO t VALUES(?)", rows[::-1])
        connection.commit()
    assert Path(f"{tree}/{PATH}").read_bytes() != before


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
@pytest.mark.parametrize("check", PROVIDER_CHECKS, ids=named)
def test_sqlite_provider(check: Callable[[ProviderCase], None], mode: str):
    case = ProviderCase(lambda: SqliteProvider(PATH), fill([1, 2], mode), fill([2, 3], mode), shuffle)
    check(case)
