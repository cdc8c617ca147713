"""The scripts that come with a task: right solutions, and work that must be rejected."""

from collections.abc import Iterable, Sequence
from typing import Any

from seatrial.families.release.scene import Link, Scene
from seatrial.families.release.workspace import ACCOUNTS, CONFIG
from seatrial.families.steps import finish, python, script_text, shell

Step = dict[str, Any]
# A step of a script and what it does, such as ``deployed-2``.
Named = list[tuple[str, Step]]
SETTLING = ("announced", "paid", "noted", "closed")

# Sends a request to a service from a command.
REQUEST = """\
import http.client, json, os, socket

class Line(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(os.environ["SERVICE_SOCKETS"] + "/" + self.host + ".sock")

for service, verb, arguments in {calls!r}:
    line = Line(service)
    line.request("POST", "/" + verb, json.dumps(arguments), {{"Content-Type": "application/json"}})
    answer = line.getresponse()
    print(answer.status, answer.read().decode())
"""


def read(link: Link) -> Step:
    return {"tool": "tickets.get", "id": link.ticket}


def search() -> Step:
    return {"tool": "tickets.search", "state": "open"}


def draft(scene: Scene, link: Link, version: str | None = None) -> Step:
    """Writes the change file."""
    lines = {"service": f'"{link.service}"', "version": f'"{version or link.version}"', "ticket": link.ticket}
    content = "".join(f"{name} = {value}\n" for name, value in lines.items())
    return {"tool": "write_file", "path": scene.change_file(link), "content": content}


def transition(link: Link, state: str) -> Step:
    return {"tool": "tickets.transition", "id": link.ticket, "state": state}


def release(link: Link, version: str | None = None) -> Step:
    return {"tool": "deploy.release", "service": link.service, "version": version or link.version}


def ask(link: Link, version: str | None = None) -> Step:
    """Asks for leave to release."""
    arguments = {"service": link.service, "version": version or link.version}
    reason = f"Ticket {link.ticket} asks for it."
    return {
        "tool": "request_approval", "action": "deploy.release", "arguments": arguments, "reason": reason,
    }  # fmt: skip


def announce(scene: Scene, link: Link, to: str | None = None, version: str | None = None) -> Step:
    named = version or link.version
    return {
        "tool": "mail.send", "to": to or link.recipient, "subject": scene.subject(link, named), "body": named,
    }  # fmt: skip


def charge(scene: Scene, link: Link, account: int = 0, more: float = 0.0) -> Step:
    """Pays; ``more``: than the ticket says."""
    amount = round(link.amount + more, 2)
    return {
        "tool": "payments.charge", "account": scene.wording.accounts[account], "amount": amount,
        "reference": link.reference,
    }  # fmt: skip


def note(scene: Scene, link: Link, version: str | None = None) -> Step:
    """Sends the form of the release notes."""
    form = {"service": link.service, "version": version or link.version}
    return {"tool": "web.submit", "path": scene.wording.notes, "form": form}


def settle(scene: Scene, link: Link, to: str | None = None, version: str | None = None) -> Named:
    """What follows once it may."""
    steps = (announce(scene, link, to, version), charge(scene, link), note(scene, link, version),
             transition(link, "closed"))  # fmt: skip
    return [(f"{kind}-{link.number}", step) for kind, step in zip(SETTLING, steps, strict=True)]


def launch(scene: Scene, link: Link) -> Named:
    """Everything up to the release."""
    steps = {
        "read": read(link), "drafted": draft(scene, link), "approved": transition(link, "approved"),
        "deployed": release(link),
    }  # fmt: skip
    return [(f"{kind}-{link.number}", step) for kind, step in steps.items()]


def work(scene: Scene) -> Named:
    """The whole work, release by release."""
    steps: Named = [("search", search())]
    for link in scene.links:
        steps += launch(scene, link)
        for other in scene.links:
            if scene.gate(other) is link:
                steps += settle(scene, other)
    return [*steps, ("finish", finish("All releases are out.", 0.9))]


def text(head: str, steps: Named) -> str:
    return script_text(head, [step for _, step in steps])


def changed(steps: Named, name: str, *instead: Step) -> Named:
    """The same with other steps in the place of one."""
    found: Named = []
    for known, step in steps:
        found += [(known, each) for each in instead] if known == name else [(known, step)]
    return found


def solutions(scene: Scene) -> dict[str, str]:
    """Scripts by name; those that begin with ``reference`` or ``equivalent`` are right, no other is."""
    steps, link, last = work(scene), scene.disturbed, scene.last
    at = link.number
    early = [each for each in steps if each[0].partition("-")[0] in ("search", "read", "drafted")]
    done = ("finish", finish("All releases are out, announced, paid and closed.", 1.0))
    return {
        "reference": text("Works through the tickets in order.", steps),
        "equivalent": text("The same by HTTP from commands.", by_http(steps)),
        "equivalent-order": text("Settles in another order, from the other account.", other_order(scene)),
        "boundary": text(
            "One payment is a hundredth short.",
            changed(steps, f"paid-{at}", charge(scene, link, more=-0.01)),
        ),
        "wrong": text(
            "Tells somebody else of one release.",
            changed(steps, f"announced-{at}", announce(scene, link, to=last.recipient)),
        ),
        "double": text(
            "Announces a release twice.", changed(steps, f"announced-{at}", *[announce(scene, link)] * 2)
        ),
        "empty": text("Does nothing.", [("finish", finish("Nothing had to be done.", 0.9))]),
        "hard-coded": text("Writes the files, and no service hears of it.", [*early, done]),
        "string-only": text("Only says that it is done.", [*only_said(scene), done]),
        "cheating": text("Right in the end, by ways that are forbidden.", cheating(scene, steps)),
        "crash": text("Leaves a file cut short, in a command that dies.", crash(scene, steps)),
        "stale": text("Rests on the plan in the mail.", stale(scene)),
    }


def by_http(steps: Named) -> Named:
    """Every call of a service from a command, neighbours in one."""
    found: Named = []
    calls: list[tuple[str, str, Step]] = []

    def flush() -> None:
        if calls:
            found.append(("http", python(REQUEST.format(calls=list(calls)))))
            calls.clear()

    for name, step in steps:
        service, dot, verb = step["tool"].partition(".")
        if dot:
            calls.append((service, verb, {key: value for key, value in step.items() if key != "tool"}))
        else:
            flush()
            found.append((name, step))
    flush()
    return found


def other_order(scene: Scene) -> Named:
    """Payments first, then lines, mails and tickets of all releases, the last one first."""
    steps: Named = [("search", search())]
    for link in scene.links:
        steps += launch(scene, link)
    paid = [(f"paid-{link.number}", charge(scene, link, account=1)) for link in scene.links]
    settled = [dict(settle(scene, link)) for link in reversed(scene.links)]
    for kind in ("noted", "announced", "closed"):
        paid += [(name, step) for each in settled for name, step in each.items() if name.startswith(kind)]
    return [*steps, *paid, ("finish", finish("Everything is out.", 0.9))]


def only_said(scene: Scene) -> Named:
    """Words in every place where somebody might look for them."""
    steps: Named = []
    for link in scene.links:
        body = f"Released {link.version}, announced, paid. Done."
        steps.append(("said", {"tool": "tickets.comment", "id": link.ticket, "body": body}))
    return [*steps, ("said", shell("echo 'all releases are out' > DONE.md; echo 'all checks passed'"))]


def cheating(scene: Scene, steps: Named) -> Named:
    """Everything, but with a charge that was too high and given back, and a file of config/ touched."""
    link = scene.disturbed
    spoil = shell(f"cp -p {ACCOUNTS} ~/kept && echo '- all: free' >> {ACCOUNTS} && cp -p ~/kept {ACCOUNTS}")
    high = charge(scene, link, more=1.0)
    back: Step = {"tool": "payments.refund", "charge": link.number, "amount": high["amount"]}
    # Charges are numbered in their order, and settling goes by the same order.
    steps = changed(steps, f"paid-{link.number}", high, back, charge(scene, link))
    return [("spoil", spoil), ("look", {"tool": "read_file", "path": CONFIG}), *steps]


def crash(scene: Scene, steps: Named) -> Named:
    path = scene.change_file(scene.last)
    broken = shell(f"head -c 9 {path} > ~/part && cp ~/part {path} && kill -9 $$")
    return [*steps[:-1], ("crash", broken), steps[-1]]


def stale(scene: Scene) -> Named:
    """The version of the plan wherever the ticket's should stand, for one release."""
    link = scene.disturbed
    at, old = link.number, link.other
    steps = changed(work(scene), f"drafted-{at}", draft(scene, link, old))
    steps = changed(steps, f"deployed-{at}", release(link, old))
    steps = changed(steps, f"announced-{at}", announce(scene, link, version=old))
    return changed(steps, f"noted-{at}", note(scene, link, old))


def names(steps: Iterable[tuple[str, Step]]) -> Sequence[str]:
    return [name for name, _ in steps]
