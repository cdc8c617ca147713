"""The task folder of an instance: which files it holds and what stands in them."""

from pathlib import Path

from seatrial.families.release import disturbances, workspace
from seatrial.families.release.declaration import subgoals, task_text
from seatrial.families.release.plan import plan_text
from seatrial.families.release.recoveries import recovery_texts
from seatrial.families.release.scene import Scene
from seatrial.families.release.scripts import solutions
from seatrial.families.release.stock import people_text, service_files
from seatrial.families.task_folder import Files, json_text

JUDGE = Path(__file__).with_name("judging") / "judge.py"
VERIFIER = """\
#!/bin/sh
exec python3 -I -S -B "${{0%/*}}/judging/judge.py" {kind} {number}
"""


def task_files(scene: Scene) -> Files:
    """Every file of the task by relative path, with its text and mode."""
    texts = {f"environment/{path}": text for path, text in workspace.files(scene).items()}
    texts |= {f"solutions/{name}.toml": text for name, text in solutions(scene).items()}
    disturbed = {each["id"] for each in disturbances.perturbations(scene)}
    recoveries = {name: text for name, text in recovery_texts(scene).items() if name in disturbed}
    texts |= {f"solutions/recover-{name}.toml": text for name, text in recoveries.items()}
    texts |= service_files(scene) | disturbances.files(scene)
    requests = workspace.requests(scene)
    texts |= {"instruction.md": requests[1], "human.toml": people_text(scene), "task.toml": task_text(scene)}
    if len({version for node in subgoals(scene) for version in node["goals"]}) > 1:
        texts |= {f"instruction-{version}.md": requests[version] for version in requests if version > 1}
    texts["plan.toml"] = plan_text(scene)
    texts["verifiers/judging/judge.py"] = JUDGE.read_text(encoding="utf-8")
    texts["verifiers/judging/links.json"] = json_text(known(scene))
    return {path: (text, 0o644) for path, text in texts.items()} | verifiers(scene)


def known(scene: Scene) -> dict[str, object]:
    """What verifiers know beforehand: everything but what a ticket asks for once it is revised."""
    wording = scene.wording
    return {
        "labels": dict(wording.labels), "between": wording.between, "subject": wording.subject,
        "notes": wording.notes, "accounts": list(wording.accounts[:2]),
        "links": [
            {
                "ticket": link.ticket, "service": link.service, "reference": link.reference,
                "file": scene.change_file(link), "version": link.version, "notify": link.recipient,
                "amount": link.amount, "revised": link is scene.disturbed,
            }
            for link in scene.links
        ],
    }  # fmt: skip


def verifiers(scene: Scene) -> Files:
    """One for each subgoal."""
    files: Files = {}
    for node in subgoals(scene):
        kind, _, number = str(node["id"]).rpartition("-")
        files[str(node["verifier"])] = (VERIFIER.format(kind=kind, number=number), 0o755)
    return files
