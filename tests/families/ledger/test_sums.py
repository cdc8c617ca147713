"""Tables of sums: each rule on figures that can be worked out by hand, in Python and in SQL."""

import sqlite3

import pytest

from seatrial.families.ledger.sums import OPERATIONS, first_sums, opposed

# Two parties over three years, one of them without the middle year.
GIVEN = {("a", "1"): 5, ("a", "2"): 9, ("a", "3"): 2, ("b", "1"): 7, ("b", "3"): 4}
BY_HAND = {
    "running": [5, 14, 16, 7, 11],
    "change": [5, 4, -7, 7, -3],
    "above": [0, 0, 0, 2, 2],
    "gap": [2, 0, 2, 0, 0],
    "spread": [3, 7, 0, 3, 0],
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_python_and_sql_make_what_is_worked_out_by_hand(name: str):
    operation = OPERATIONS[name]
    assert operation.compute(GIVEN) == dict(zip(GIVEN, BY_HAND[name], strict=True))
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE t (who, term, total)")
    database.executemany("INSERT INTO t VALUES (?, ?, ?)", [(*key, value) for key, value in GIVEN.items()])
    made = operation.sql.format(party="who", period="term", total="total")
    found = database.execute(f"SELECT {made} FROM t ORDER BY who, term").fetchall()
    assert [value for (value,) in found] == BY_HAND[name]


def test_first_sums_add_up():
    assert first_sums([("b", "1", 2), ("a", "2", 3), ("b", "1", 5)]) == {("a", "2"): 3, ("b", "1"): 7}


def test_a_rule_never_follows_one_that_it_undoes():
    assert opposed("running", "change") and opposed("change", "running") and opposed("gap", "gap")
    assert not opposed("running", "above")
