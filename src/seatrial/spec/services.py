"""The services a task may have: their verbs, what those take and do, and the tables that hold their state."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["str", "number", "object"]


@dataclass(frozen=True)
class Argument:
    """One argument of a verb."""

    kind: Kind = "str"
    required: bool = True
    words: str = ""


@dataclass(frozen=True)
class Verb:
    """One operation of a service.

    Attributes:
        words: what it does, for agents.
        arguments: by name, in the order they are described.
        writes: whether it may change the service's rows.
        irreversible: no verb of the service takes its effect back.
        compensated_by: the verb that does; null where there is none.
    """

    words: str
    arguments: Mapping[str, Argument]
    writes: bool = False
    irreversible: bool = False
    compensated_by: str | None = None


@dataclass(frozen=True)
class Table:
    """One table of rows.

    Attributes:
        columns: name to default of a row in a task's file; ``REQUIRED`` where there is none. ``id`` is the
            row's key: a number counted from 1 where ``numbered``, otherwise required.
        group: the column by which rows are listed; null when they are only fetched by key.
    """

    columns: Mapping[str, object]
    numbered: bool = True
    group: str | None = None
    hidden: bool = field(default=False, kw_only=True)


class _Required:
    def __repr__(self) -> str:
        return "required"


REQUIRED = _Required()
# Every service has these; a task cannot give rows of them.
LEDGER = Table({}, group="key", hidden=True)
CREDENTIAL = Table({}, numbered=False, hidden=True)
_AFTER = Argument("number", False, "show what comes after this id; results come in pages")


def _takes(*required: str, number: str = "", **optional: Argument) -> dict[str, Argument]:
    """Arguments by name: required texts, those in ``number`` as numbers, then optional ones."""
    numbers = number.split()
    return {**{name: Argument("number" if name in numbers else "str") for name in required}, **optional}


_RENEW = Verb("Get a new credential, after an answer 401.", {})
_MAIL = {
    "send": Verb(
        "Send a message; several recipients are separated by commas.", _takes("to", "subject", "body"),
        writes=True, irreversible=True,
    ),
    "list": Verb(
        "List the messages of a folder, by default inbox.",
        {"folder": Argument(required=False), "after": _AFTER},
    ),
    "read": Verb("Show a message.", _takes("id", number="id")),
}  # fmt: skip
_PAYMENTS = {
    "charge": Verb(
        "Take an amount from an account.",
        {**_takes("account", "amount", number="amount"), "reference": Argument(words="what it is for")},
        writes=True, compensated_by="refund",
    ),
    "refund": Verb(
        "Give back a part of a charge, or all of it.", _takes("charge", "amount", number="charge amount"),
        writes=True, irreversible=True,
    ),
    "balance": Verb("Show what is in an account.", _takes("account")),
    "list": Verb("List the charges for a reference.", _takes("reference", after=_AFTER)),
}  # fmt: skip
_DEPLOY = {
    "release": Verb(
        "Bring a version of a service into production.", _takes("service", "version"),
        writes=True, compensated_by="rollback",
    ),
    "rollback": Verb(
        "Bring an earlier version of a service back.", _takes("service", "version"), writes=True
    ),
    "status": Verb("Show which version of a service runs, and its history.", _takes("service")),
}  # fmt: skip
_TICKETS = {
    "create": Verb("Open a ticket.", _takes("title", "body"), writes=True),
    "comment": Verb("Write a comment under a ticket.", _takes("id", "body", number="id"), writes=True),
    "transition": Verb(
        "Bring a ticket into another state.", _takes("id", "state", number="id"),
        writes=True, compensated_by="transition",
    ),
    "get": Verb("Show a ticket with its comments.", _takes("id", number="id")),
    "search": Verb(
        "Find tickets by words in title or body, and by state.",
        {"text": Argument(required=False), "state": Argument(required=False), "after": _AFTER},
    ),
}  # fmt: skip
_WEB = {
    "get": Verb(
        "Show a page of the site with its links and forms.",
        _takes("path", page=Argument("number", False, "of a long page, from 1")),
    ),
    "submit": Verb(
        "Send a form of a page.", {"path": Argument(words="the page with the form"),
                                   "form": Argument("object", words="field to value")},
        writes=True, irreversible=True,
    ),
}  # fmt: skip
_SQL = {
    "query": Verb("Read from the database with one SELECT.", _takes("statement")),
    "execute": Verb(
        "Run one INSERT, UPDATE or DELETE on the database.", _takes("statement"), writes=True,
        irreversible=True,
    ),
}  # fmt: skip

VERBS: Mapping[str, Mapping[str, Verb]] = {
    name: {**verbs, "renew": _RENEW}
    for name, verbs in sorted(
        {
            "deploy": _DEPLOY, "mail": _MAIL, "payments": _PAYMENTS, "sql": _SQL, "tickets": _TICKETS,
            "web": _WEB,
        }.items()
    )
}  # fmt: skip

_OWN: Mapping[str, Mapping[str, Table]] = {
    "mail": {
        "messages": Table(
            {"folder": "inbox", "from": REQUIRED, "to": "", "subject": "", "body": ""}, group="folder"
        ),
        "deliveries": Table({"message": REQUIRED, "to": REQUIRED}, group="to"),
    },
    "payments": {
        "accounts": Table({"balance": REQUIRED, "limit": 0}, numbered=False),
        "charges": Table(
            {"account": REQUIRED, "amount": REQUIRED, "reference": "", "refunded": 0}, group="reference"
        ),
        "refunds": Table({"charge": REQUIRED, "amount": REQUIRED}, group="charge"),
    },
    "deploy": {
        "services": Table({"running": "", "versions": REQUIRED}, numbered=False),
        "releases": Table(
            {"service": REQUIRED, "version": REQUIRED, "was": "", "kind": "release"}, group="service"
        ),
    },
    "tickets": {
        "tickets": Table({"title": REQUIRED, "body": "", "state": "open", "comments": 0}, group="state"),
        "comments": Table({"ticket": REQUIRED, "author": "", "body": REQUIRED}, group="ticket"),
        "history": Table({"ticket": REQUIRED, "was": "", "state": REQUIRED}, group="ticket"),
    },
    "web": {
        "pages": Table({"title": "", "text": "", "links": [], "form": None}, numbered=False),
        "submissions": Table({"path": REQUIRED, "form": REQUIRED}, group="path"),
    },
    "sql": {},
}  # fmt: skip
TABLES: Mapping[str, Mapping[str, Table]] = {
    name: {**tables, "ledger": LEDGER, "credential": CREDENTIAL} for name, tables in _OWN.items()
}
