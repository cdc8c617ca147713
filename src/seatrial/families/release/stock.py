"""What the services hold at first, and what people approve: ``services/*.toml``, ``human.toml``."""

from typing import Any

from seatrial.families.release.scene import Scene
from seatrial.spec.toml_text import table_text

SERVICES = ("deploy", "mail", "payments", "tickets", "web")
STATES = ("open", "approved", "closed")
BALANCE = 100000
HEAD = "# What the service holds when a trial begins.\n\n"


def service_files(scene: Scene) -> dict[str, str]:
    """One file for each service, by path in the task's folder."""
    found = {
        "deploy": _rows("services", [_service(link) for link in scene.links]),
        "mail": table_text("settings", {"address": f"releases@{scene.wording.domain}"}) + "\n"
        + _rows("messages", _inbox(scene)),
        "payments": _rows("accounts", [{"id": name, "balance": BALANCE} for name in scene.wording.accounts]),
        "tickets": table_text("settings", {"states": STATES, "author": "releases"}) + "\n"
        + _rows("tickets", _tickets(scene)),
        "web": _rows("pages", [_page(scene)]),
    }  # fmt: skip
    return {f"services/{name}.toml": HEAD + text for name, text in found.items()}


def people_text(scene: Scene) -> str:
    """People approve what a ticket asks for, or will ask for, to the letter; nothing else."""
    wanted = [(link.service, link.version) for link in scene.links]
    wanted.append((scene.disturbed.service, scene.disturbed.revised))
    tables = [
        {
            "decision": "approve", "tool": "deploy.release",
            "where": {"service": f"== {service}", "version": f"== {version}"}, "reason": "As in the ticket.",
        }
        for service, version in wanted
    ]  # fmt: skip
    return "# Who grants approvals.\n\n" + "\n".join(table_text("[approval]", table) for table in tables)


def _rows(table: str, rows: list[dict[str, Any]]) -> str:
    return "\n".join(table_text(f"[rows.{table}]", row) for row in rows)


def _service(link: Any) -> dict[str, Any]:
    return {
        "id": link.service, "running": link.old,
        "versions": [link.old, link.other, link.version, link.revised],
    }  # fmt: skip


def _tickets(scene: Scene) -> list[dict[str, Any]]:
    """All tickets by number."""
    rows = {
        link.ticket: {"title": scene.wording.title.format(service=link.service), "body": scene.body(link)}
        for link in scene.links
    }
    rows |= {number: {"title": title, "body": "Nothing urgent."} for number, title in scene.noise.items()}
    return [rows[number] for number in sorted(rows)]


def _inbox(scene: Scene) -> list[dict[str, Any]]:
    """What was planned before the tickets were written: a version that nobody asks for any more."""
    return [
        {
            "from": f"planning@{scene.wording.domain}", "subject": f"Plan for {link.service}",
            "body": f"We are thinking of {link.other} for {link.service}. The ticket will say.",
        }
        for link in scene.links
    ]  # fmt: skip


def _page(scene: Scene) -> dict[str, Any]:
    fields = [
        {"name": "service", "required": True, "choices": [link.service for link in scene.links]},
        {"name": "version", "required": True},
    ]
    form = {"fields": fields, "adds_to": scene.wording.notes, "thanks": "Added."}
    return {"id": scene.wording.notes, "title": "Release notes", "text": "", "form": form}
