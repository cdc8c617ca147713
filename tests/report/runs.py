"""Small run folders, written by the real writer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from seatrial.journal.entries import Entry
from seatrial.journal.events import (
    ActionDecided,
    ActionFinished,
    ActionRequested,
    AgentStarted,
    ConstraintViolated,
    Cost,
    EffectRecorded,
    TrialEnded,
    TrialStarted,
)
from seatrial.journal.run import IndexLine, Manifest, RunFolder, TaskFrozen, TrialPlanned, write_json
from seatrial.journal.writer import JournalWriter
from seatrial.records.verdicts import TrialVerdicts
from seatrial.spec.task import Task
from tests.measure.story import Story
from tests.measure.trials import FIVE, hard, make_task, verdicts

COST = Cost(model_us=40_000, queue_us=0, tool_us=12_000, approval_us=0, recovery_us=0, cpu_us=9_000)


class RunMaker:
    """Makes one run of the five-step task, trial by trial."""

    def __init__(self, folder: Path, plan: list[TrialPlanned], task: Task | None = None, **manifest) -> None:
        self.task = task or make_task(constraint=[hard()])
        self.folder = folder
        experiment = {
            "trials_per_task": 1, "seed": 20261129, "stop": "agent", "belief": False, "cache": "cold",
            "retry": {"infrastructure": 2}, "final_verdicts": 3,
        }  # fmt: skip
        names = dict.fromkeys(cell.task for cell in plan)
        systems = {cell.system: {"agent": "scripted", "script": f"{cell.system}.toml"} for cell in plan}
        frozen = [TaskFrozen(id=n, digest="d" * 64, spec=self.spec(n), files={}) for n in names]
        host = {"kernel": "Linux 6.1", "sandbox": {"backend": "bubblewrap", "root": True}}
        made = {
            "systems": systems,
            "host": host,
            "packages": {"msgspec": "0.23"},
            "created": "2026-11-30T00:00:00Z",
            **manifest,
        }
        self.run = RunFolder.create(
            folder,
            Manifest(
                experiment_id=made.pop("experiment_id", "e" * 64), name="pilot", experiment=experiment,
                tasks=frozen, plan=plan, **made,
            ),
        )  # fmt: skip

    def spec(self, name: str) -> dict:
        return {**msgspec.to_builtins(self.task), "id": name}

    def entry(self, path: str, text: bytes | str, **more) -> Entry:
        data = text.encode() if isinstance(text, str) else text
        digest = self.run.objects.put(data)
        return Entry(path=path, kind="file", mode=0o644, digest=digest, size=len(data), **more)

    def trial(
        self,
        planned: TrialPlanned,
        table: TrialVerdicts | None,
        steps: int = 16,
        stop: str = "finished",
        attempt: int = 1,
        violation: Mapping[int, bool] | None = None,
        infrastructure: bool = False,
        **ended: Any,
    ) -> None:
        """Write one ended attempt; ``violation`` maps a step to whether it is certain.

        ``ended`` are fields of its last line.
        """
        folder = self.run.attempt_folder(planned.trial, attempt)
        folder.mkdir(parents=True)
        clock = iter(range(0, 10**9, 250_000))
        writer = JournalWriter(folder / "journal.jsonl", lambda: next(clock))
        base = self.run.objects.put(msgspec.json.encode([self.entry("workspace/log.txt", "start\n")]))
        writer.append(
            TrialStarted(
                trial=planned.trial, attempt=attempt, task=planned.task, system=planned.system,
                arm=planned.arm, seed=planned.seed, base=base, fingerprint="f", reset_proved=True,
                conditions={"sandboxed": True},
            )
        )  # fmt: skip
        writer.append(AgentStarted(agent="scripted", confined=True))
        text = "start\n"
        for step in range(1, steps + 1):
            text = self.step(writer, step, text, finish=step == steps and stop == "finished")
            if step in (violation or {}):
                certain = violation[step]
                writer.append(
                    ConstraintViolated(
                        step=step, constraint="keep-licence", hard=True, severity=1, certain=certain
                    )
                )
        writer.append(TrialEnded(stop_reason=stop, fingerprint="f", audit="equal", **ended))
        self.run.add_to_index(
            IndexLine(
                trial=planned.trial,
                attempt=attempt,
                digest=writer.close(),
                stop_reason=stop,
                infrastructure=infrastructure,
                note=str(ended.get("details", {}).get("problem", "")),
            )
        )
        if table is not None:
            table = msgspec.structs.replace(table, trial=planned.trial, attempt=attempt)
            write_json(self.run.verdicts_path(planned.trial, attempt), table)

    def story(self, planned: TrialPlanned, story: Story, table: TrialVerdicts) -> None:
        """Write one ended attempt as a story tells it."""
        folder = self.run.attempt_folder(planned.trial, 1)
        folder.mkdir(parents=True)
        clock = iter(range(0, 10**9, 250_000))
        writer = JournalWriter(folder / "journal.jsonl", lambda: next(clock))
        for text in story.texts.values():
            self.run.objects.put(text)
        base = self.run.objects.put(msgspec.json.encode(list(story.base.values())))
        first, *others = story.events
        named = {
            "trial": planned.trial, "task": planned.task, "system": planned.system, "arm": planned.arm,
            "base": base,
        }  # fmt: skip
        for event in [msgspec.structs.replace(first, **named), *others]:
            writer.append(event)
        ended = others[-1]
        assert isinstance(ended, TrialEnded)
        line = IndexLine(
            trial=planned.trial, attempt=1, digest=writer.close(), stop_reason=ended.stop_reason,
            infrastructure=False, note="",
        )  # fmt: skip
        self.run.add_to_index(line)
        table = msgspec.structs.replace(table, trial=planned.trial, goal_version=story.goal)
        write_json(self.run.verdicts_path(planned.trial, 1), table)

    def step(self, writer: JournalWriter, step: int, text: str, finish: bool) -> str:
        """One action that appends a line to a text; step 2 adds a binary, which goes behind step 3's back."""
        tool = "finish" if finish else "shell"
        arguments = {"summary": "done"} if finish else {"command": f"echo step {step} >> log.txt"}
        writer.append(
            ActionRequested(step=step, tool=tool, arguments=arguments, key=f"k{step}", pre="p", actor="agent")
        )
        writer.append(ActionDecided(step=step, decision="allow"))
        after = text if finish else f"{text}step {step}\n"
        changes = [] if finish else [self.entry("workspace/log.txt", after)]
        if step == 2:
            changes.append(self.entry("workspace/blob.bin", b"\0\xff\x00"))
        shown = self.run.objects.put(f"line one of {step}\n\x1b[31mred\x1b[0m <b>\n".encode())
        writer.append(
            ActionFinished(
                step=step, outcome="ok", exit_code=0, pre="p", post="q", changes=changes, observation=shown,
                cost=COST, reads=[],
            )
        )  # fmt: skip
        if step == 3:
            late = Entry(path="workspace/blob.bin", kind="absent")
            writer.append(EffectRecorded(pre="q", post="r", changes=[late], actor="background"))
        return after


def cell(
    trial: str, system: str = "careful", task: str = "ledger/five", repeat: int = 0, arm: str = "baseline"
) -> TrialPlanned:
    return TrialPlanned(trial=trial, task=task, system=system, arm=arm, seed=7, repeat=repeat)


def all_pass() -> TrialVerdicts:
    return verdicts({step: {name: "pass"} for step, name in enumerate(FIVE, start=1)})
