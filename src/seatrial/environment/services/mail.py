"""Mail: folders of messages; what is sent stays in ``sent`` and is delivered once to each recipient."""

import re
from typing import Any

from seatrial.environment.services.refusal import Refusal
from seatrial.environment.services.service import Service

_ADDRESS = re.compile(r"[^\s@,]+@[^\s@,]+")
_MOST_RECIPIENTS = 100


class Mail(Service):
    """Settings: ``address``, the sender."""

    name = "mail"

    def do_send(self, given: dict[str, Any]) -> Any:
        """Keep a copy in ``sent``, then deliver."""
        recipients = [part.strip() for part in given["to"].split(",")]
        for recipient in recipients:
            if not _ADDRESS.fullmatch(recipient):
                raise Refusal(400, f"{recipient[:80]!r} is no address")
        if len(recipients) > _MOST_RECIPIENTS:
            raise Refusal(400, f"a message goes to at most {_MOST_RECIPIENTS} recipients")
        sender = str(self.settings.get("address", "agent@example.org"))
        text = {"subject": given["subject"], "body": given["body"]}
        sent = self.add("messages", {"folder": "sent", "from": sender, "to": ", ".join(recipients), **text})
        for recipient in dict.fromkeys(recipients):
            self.add("deliveries", {"message": sent["id"], "to": recipient})
        return {"id": sent["id"], "delivered": len(set(recipients))}

    def do_list(self, given: dict[str, Any]) -> Any:
        """Messages without their bodies."""
        folder = given.get("folder") or "inbox"
        rows, more = self.page("messages", folder, given.get("after"))
        heads = [{name: row[name] for name in ("id", "from", "to", "subject")} for row in rows]
        return {"folder": folder, **self.listed("messages", (heads, more))}

    def do_read(self, given: dict[str, Any]) -> Any:
        """One message."""
        return self.need("messages", given["id"], "message")
