"""The reference recovery from each disturbance: what somebody does who meets it and knows what it is."""

from seatrial.families.release.scene import Scene
from seatrial.families.release.scripts import (
    Named,
    announce,
    ask,
    changed,
    draft,
    names,
    note,
    read,
    release,
    search,
    settle,
    text,
    work,
)
from seatrial.families.steps import shell

REMEMBERED = "handover"


def recoveries(scene: Scene) -> dict[str, Named]:
    """Steps by disturbance; the placebo needs none."""
    link, steps = scene.disturbed, work(scene)
    at = link.number
    deployed = release(link)
    settled = dict(steps)
    return {
        "ticket-reworded": steps,
        "recipient-changed": changed(
            steps, f"announced-{at}", read(link), announce(scene, link, to=link.revised_recipient)
        ),
        "version-changed": version_changed(scene, steps),
        "payment-unanswered": changed(
            steps, f"paid-{at}", settled[f"paid-{at}"],
            {"tool": "payments.list", "reference": link.reference},
        ),
        "credential-expired": changed(
            steps, f"deployed-{at}", deployed, {"tool": "deploy.renew"}, deployed
        ),
        "leave-withdrawn": changed(steps, f"deployed-{at}", deployed, ask(link), deployed),
        "list-cut-short": changed(steps, "search", search(), search()),
        "false-report": changed(steps, f"paid-{at}", read(link), settled[f"paid-{at}"]),
        "stale-memory": changed(
            steps, f"paid-{at}", {"tool": "recall", "key": REMEMBERED}, read(link), settled[f"paid-{at}"]
        ),
        "release-cancelled": cancelled(scene, steps),
        "goals-conflict": [
            *until(steps, f"drafted-{scene.last.number}"),
            ("give_up", {"tool": "give_up", "reason": "It must be released today and must not be released."}),
        ],
    }  # fmt: skip


def version_changed(scene: Scene, steps: Named) -> Named:
    """Reads the ticket again, and everything of the old version is done for the new one."""
    link = scene.disturbed
    at, new = link.number, link.revised
    steps = changed(
        steps, f"deployed-{at}", read(link), draft(scene, link, new), ask(link, new), release(link, new)
    )
    again = dict(settle(scene, link, version=new))
    steps = changed(steps, f"announced-{at}", again[f"announced-{at}"])
    return changed(steps, f"noted-{at}", note(scene, link, new))


def cancelled(scene: Scene, steps: Named) -> Named:
    """Takes the file of the last release away and leaves the rest of it undone."""
    last = scene.last.number
    left = [(name, step) for name, step in steps if not name.endswith(f"-{last}")]
    begun = until(steps, f"drafted-{last}")
    rest = left[len([name for name in names(begun) if not name.endswith(f"-{last}")]) :]
    return [*begun, ("withdrawn", shell(f"rm {scene.change_file(scene.last)}")), *rest]


def until(steps: Named, last: str) -> Named:
    """The steps up to one, and that one."""
    return steps[: names(steps).index(last) + 1]


def recovery_texts(scene: Scene) -> dict[str, str]:
    """Scripts by disturbance."""
    return {name: text(f"Gets over {name}.", steps) for name, steps in recoveries(scene).items()}


def oracle_costs(scene: Scene) -> dict[str, int]:
    """Actions that each recovery takes beyond the reference; those that take no more are left out."""
    usual = len(work(scene))
    extra = {name: len(steps) - usual for name, steps in recoveries(scene).items()}
    return {name: cost for name, cost in extra.items() if cost > 0}
