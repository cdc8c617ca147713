"""What the agent finds: files that came in, rules, a program that sends statements; and the database."""

import csv
import io
import json

from seatrial.families.ledger.book import BASE, CORE, LOCAL, MISSING, Book, Line
from seatrial.families.ledger.statements import Statements, quoted
from seatrial.families.ledger.sums import OPERATIONS

REWORDED = "reworded"
HEADS = {
    REWORDED: "# The rules, as agreed. They are changed here and nowhere else.\n",
    BASE: "# Rules of the book. Whoever changes a rule changes this file.\n",
}

CLIENT = '''\
"""Sends statements to the database of the book.

    python3 {client} "STATEMENT" …     one after the other
    python3 {client} -                 one, from standard input
    python3 {client} @FILE             one, from a file

Rows are printed one a line, their columns parted by commas.
"""

import http.client
import json
import os
import socket
import sys


class Book(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(os.environ.get("SERVICE_SOCKETS", "/run/services") + "/sql.sock")


def send(statement):
    first = statement.split(None, 1)[0].upper() if statement.split() else ""
    looking = first == "SELECT" or (first == "WITH" and "INSERT" not in statement.upper())
    book = Book("sql")
    sent = json.dumps({{"statement": statement}})
    book.request("POST", "/query" if looking else "/execute", sent, {{"Content-Type": "application/json"}})
    answer = book.getresponse()
    said = json.loads(answer.read())
    if answer.status != 200:
        sys.exit(f"{{answer.status}} {{said}}")
    for row in said.get("rows", []):
        print(*row, sep=",")


def main():
    for given in sys.argv[1:] or ["-"]:
        if given == "-":
            given = sys.stdin.read()
        elif given.startswith("@"):
            with open(given[1:], encoding="utf-8") as file:
                given = file.read()
        send(given.strip().rstrip(";"))


main()
'''


def environment(book: Book) -> dict[str, str]:
    """Files of the workspace."""
    words = book.words
    files = {words.intake.format(n=number): batch_text(book, batch)
             for number, batch in enumerate(book.batches, start=1)}  # fmt: skip
    files[words.rules] = rules_text(book, BASE)
    files[words.client] = CLIENT.format(client=words.client)
    files[words.script] = correction_script(book)
    return files


def batch_text(book: Book, batch: tuple[Line, ...]) -> str:
    """A file that came in."""
    told = io.StringIO()
    writer = csv.writer(told, lineterminator="\n")
    writer.writerow(book.words.line_columns)
    for line in batch:
        writer.writerow([getattr(line, name) for name in book.words.order])
    return told.getvalue()


def rules_text(book: Book, which: str) -> str:
    """The file of rules: ``base``, ``reworded``, or as the ``local`` or ``core`` change makes it."""
    words, rules, statements = book.words, book.rules, Statements(book)
    ceiling = rules.core_ceiling if which == CORE else rules.ceiling
    least = rules.local_least if which == LOCAL else rules.least
    lines = [
        HEADS.get(which, HEADS[BASE]),
        f"{words.ceiling} = {ceiling}",
        f"{words.least} = {least}",
        f"missing = {json.dumps(list(MISSING))}",
        "",
        "[units]",
        *(f"{json.dumps(unit)} = {factor}" for unit, factor in book.source.units),
        "",
        "[tables]",
    ]
    for number, (times, plus) in enumerate(rules.stages, start=1):
        lines.append(f"{statements.stage_name(number)} = {{ times = {times}, plus = {plus} }}")
    lines.append(f'{statements.sums_name(1)} = "by {words.party} and {words.period}"')
    for number, name in enumerate(rules.operations, start=2):
        rule = OPERATIONS[name].words.format(party=words.party, period=words.period, total=words.total)
        lines.append(f'{statements.sums_name(number)} = "{rule}"')
    return "\n".join(lines) + "\n"


def correction_script(book: Book) -> str:
    """The statement that carries late corrections over."""
    w = book.words
    return (
        f"UPDATE {w.clean} SET {w.amount} = (SELECT c.{w.amount} FROM {w.corrections} c "
        f"WHERE c.{w.line} = {w.clean}.{w.line})\n"
        f"WHERE {w.line} IN (SELECT c.{w.line} FROM {w.corrections} c);\n"
    )


def schema(book: Book) -> str:
    """The empty tables, and the short names."""
    w, statements = book.words, Statements(book)
    tables = {
        w.lines: f"{w.line} INTEGER PRIMARY KEY, {w.ref} TEXT, {w.party} TEXT, {w.stamp} TEXT, "
        f"{w.amount} TEXT, {w.unit} TEXT",
        w.corrections: f"{w.line} INTEGER PRIMARY KEY, {w.amount} INTEGER",
        w.aliases: f"{w.alias} TEXT PRIMARY KEY, {w.party} TEXT",
    }
    for number in range(book.knobs.delay + 1):
        tables[statements.stage_name(number)] = (
            f"{w.ref} TEXT PRIMARY KEY, {w.line} INTEGER, {w.party} TEXT, {w.stamp} TEXT, {w.amount} INTEGER"
        )
    for number in range(1, book.knobs.depth + 1):
        tables[statements.sums_name(number)] = (
            f"{w.party} TEXT, {w.period} TEXT, {w.total} INTEGER, PRIMARY KEY ({w.party}, {w.period})"
        )
    made = [f"CREATE TABLE {name} ({columns});" for name, columns in tables.items()]
    rows = ", ".join(f"({quoted(short)}, {quoted(party)})" for short, party in sorted(book.aliases.items()))
    return "\n".join([*made, f"INSERT INTO {w.aliases} ({w.alias}, {w.party}) VALUES {rows};", ""])
