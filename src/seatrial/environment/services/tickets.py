"""Tickets: what is asked for, what was said about it, and through which states it went."""

from typing import Any

from seatrial.environment.services.refusal import Refusal
from seatrial.environment.services.row import Row
from seatrial.environment.services.service import Service

STATES = ("open", "in progress", "approved", "done", "closed")


class Tickets(Service):
    """Settings: ``author`` of the agent's comments; ``states`` a ticket may have, the first for new ones."""

    name = "tickets"

    @property
    def _states(self) -> list[str]:
        return list(self.settings.get("states", STATES))

    @property
    def _author(self) -> str:
        return str(self.settings.get("author", "agent"))

    def do_create(self, given: dict[str, Any]) -> Any:
        """Open a ticket in the first state."""
        state = self._states[0]
        text = {"title": given["title"], "body": given["body"]}
        ticket = self.add("tickets", {**text, "state": state, "comments": 0})
        self.add("history", {"ticket": ticket["id"], "was": "", "state": state, "ledger": self.number})
        return {"id": ticket["id"], "state": state}

    def do_comment(self, given: dict[str, Any]) -> Any:
        """Write the comment, then count it."""
        ticket = self.need("tickets", given["id"], "ticket")
        said = {"ticket": ticket["id"], "author": self._author, "body": given["body"]}
        comment = self.add("comments", said)
        self.put("tickets", {**ticket, "comments": ticket["comments"] + 1})
        return {"ticket": ticket["id"], "comment": comment["id"]}

    def do_transition(self, given: dict[str, Any]) -> Any:
        """Change the state; going back to the state before takes that change back."""
        ticket = self.need("tickets", given["id"], "ticket")
        if given["state"] not in self._states:
            raise Refusal(400, f"{given['state']!r} is no state; there are {', '.join(self._states)}")
        if given["state"] == ticket["state"]:
            raise Refusal(409, f"ticket {ticket['id']} is {ticket['state']!r} already")
        rows = self._store.newest(self.name, "history", str(ticket["id"]))
        if rows and rows[0]["was"] == given["state"]:
            self.compensates = rows[0].get("ledger")
        change = {"ticket": ticket["id"], "was": ticket["state"], "state": given["state"]}
        self.put("tickets", {**ticket, "state": given["state"]})
        self.add("history", {**change, "ledger": self.number})
        return {"id": ticket["id"], "state": given["state"], "was": ticket["state"]}

    def do_get(self, given: dict[str, Any]) -> Any:
        """A ticket with the first page of its comments."""
        ticket = self.need("tickets", given["id"], "ticket")
        rows, more = self.page("comments", str(ticket["id"]))
        return {**_head(ticket), "body": ticket["body"], **self.listed("comments", (rows, more))}

    def do_search(self, given: dict[str, Any]) -> Any:
        """Tickets without their bodies."""
        rows, more = self._store.search(
            self.name, "tickets", given.get("text") or "", ("title", "body"), given.get("state"),
            given.get("after"),
        )  # fmt: skip
        return self.listed("tickets", ([_head(row) for row in rows], more))


def _head(ticket: Row) -> Row:
    return {name: ticket[name] for name in ("id", "title", "state")}
