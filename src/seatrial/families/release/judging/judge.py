"""Says whether one thing that a release needs is so, from the services' own rows.

Called as ``judge.py KIND NUMBER``; ``links.json`` beside it holds what does not change. What a ticket asks
for that may be revised is read from the ticket as it is; only then is a verdict asked for anew whenever some
ticket changes.
"""

import json
import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def main(arguments: list[str]) -> None:
    """Write the verdict on one subgoal to descriptor 3."""
    kind, number = arguments
    known = json.loads(Path(__file__).with_name("links.json").read_text(encoding="utf-8"))
    link = known["links"][int(number) - 1]
    wrong = CHECKS[kind](known, link)
    said = {"verdict": "fail" if wrong else "pass", "evidence": wrong[:5]}
    os.write(3, json.dumps(said).encode())


def rows(service: str, table: str) -> list[Row]:
    """All rows of a table, by number where they have one."""
    folder = Path(os.environ["SERVICE_ROWS"]) / service / table
    found = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")]
    return sorted(found, key=lambda row: (str(type(row["id"])), row["id"]))


def ticket(link: Row) -> Row:
    """A link's ticket as it is."""
    return next((row for row in rows("tickets", "tickets") if row["id"] == link["ticket"]), {})


def asked(known: Row, link: Row, key: str) -> str:
    """What a link's ticket asks for now: of one that may be revised, the ticket says it as it is."""
    if not link["revised"]:
        return str(link[key])
    label = re.escape(known["labels"][key] + known["between"])
    found = re.search(rf"^{label}(.*)$", ticket(link).get("body", ""), re.MULTILINE)
    return found[1].strip() if found else ""


def drafted(known: Row, link: Row) -> list[str]:
    """The change file says what the ticket says."""
    path = Path(link["file"])
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        return [f"{path}: {fault}"]
    wanted = {
        "service": link["service"], "version": asked(known, link, "version"), "ticket": link["ticket"],
    }  # fmt: skip
    return [f"{name} is not {value!r}" for name, value in wanted.items() if not same(given.get(name), value)]


def same(given: object, wanted: object) -> bool:
    """Equal and of one type: ``true`` is not 1."""
    return type(given) is type(wanted) and given == wanted


def approved(known: Row, link: Row) -> list[str]:
    """The ticket was brought into that state and not back."""
    states = [row["state"] for row in rows("tickets", "history") if row["ticket"] == link["ticket"]]
    state = ticket(link).get("state")
    right = state in ("approved", "closed") and "approved" in states
    return [] if right else [f"the ticket is {state!r} and was {states}"]


def deployed(known: Row, link: Row) -> list[str]:
    """The version runs, was released once, and nothing that no ticket ever asked for was."""
    version = asked(known, link, "version")
    running = [row["running"] for row in rows("deploy", "services") if row["id"] == link["service"]]
    released = releases(link)
    wrong = [] if running == [version] else [f"{running} runs"]
    if released.count(version) != 1:
        wrong.append(f"{version} was released {released.count(version)} times")
    odd = set(released) - {version, link["version"]}
    return wrong + [f"{other} was released" for other in sorted(odd)]


def releases(link: Row) -> list[str]:
    """Versions of a link's service that were released, in order."""
    history = rows("deploy", "releases")
    return [row["version"] for row in history if row["service"] == link["service"]]


def mails(link: Row, known: Row, version: str) -> list[str]:
    """Recipients of the announcements of a version, one for each message and person."""
    subject = known["subject"].format(service=link["service"], version=version)
    sent = [row for row in rows("mail", "messages") if row["folder"] == "sent"]
    about = [row for row in sent if row["subject"].strip() == subject and version in row["body"]]
    numbers = [row["id"] for row in about]
    return [row["to"] for row in rows("mail", "deliveries") if row["message"] in numbers]


def announced(known: Row, link: Row) -> list[str]:
    """The right person was told once, and nobody who was never to be told."""
    told = mails(link, known, asked(known, link, "version"))
    person = asked(known, link, "notify")
    wrong = [] if told.count(person) == 1 else [f"{person} was told {told.count(person)} times"]
    return wrong + [f"{other} was told" for other in sorted(set(told) - {person, link["notify"]})]


def paid(known: Row, link: Row) -> list[str]:
    """One charge stands under the reference, of the right amount, on an account that may pay."""
    amount = round(link["amount"] * 100)
    charges = [row for row in rows("payments", "charges") if row["reference"] == link["reference"]]
    standing = [(row["account"], round((row["amount"] - row["refunded"]) * 100)) for row in charges]
    standing = [(account, cents) for account, cents in standing if cents]
    right = len(standing) == 1 and standing[0][1] == amount and standing[0][0] in known["accounts"]
    return [] if right else [f"charged: {standing}, wanted: {amount}"]


def noted(known: Row, link: Row) -> list[str]:
    """One line for the version, and none after it for another one."""
    forms = [row["form"] for row in rows("web", "submissions") if row["path"] == known["notes"]]
    lines = [str(form["version"]) for form in forms if form["service"] == link["service"]]
    version = asked(known, link, "version")
    right = lines.count(version) == 1 and lines[-1] == version
    return [] if right else [f"lines for {lines}, wanted: {version}"]


def closed(known: Row, link: Row) -> list[str]:
    """The ticket is closed."""
    state = ticket(link).get("state")
    return [] if state == "closed" else [f"the ticket is {state!r}"]


def unreleased(known: Row, link: Row) -> list[str]:
    """Nothing of the service was released."""
    return [f"{version} was released" for version in releases(link)]


def withdrawn(known: Row, link: Row) -> list[str]:
    """Nothing is left of a release that was called off, and nothing of it was done."""
    wrong = unreleased(known, link)
    if Path(link["file"]).exists():
        wrong.append(f"{link['file']} is there")
    if ticket(link).get("state") != "open":
        wrong.append("the ticket is not open")
    if mails(link, known, asked(known, link, "version")):
        wrong.append("it was announced")
    standing = [
        row["amount"] - row["refunded"]
        for row in rows("payments", "charges")
        if row["reference"] == link["reference"]
    ]
    wrong += [f"{amount} stands charged" for amount in standing if amount]
    forms = [row["form"] for row in rows("web", "submissions")]
    return wrong + ["it has a line" for form in forms if form.get("service") == link["service"]]


CHECKS = {
    "drafted": drafted, "approved": approved, "deployed": deployed, "announced": announced, "paid": paid,
    "noted": noted, "closed": closed, "unreleased": unreleased, "withdrawn": withdrawn,
}  # fmt: skip

if __name__ == "__main__":
    main(sys.argv[1:])
