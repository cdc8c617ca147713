"""A run folder, a frozen task and states made by hand, for tests of verdicts."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from seatrial.environment.confine.host import Host
from seatrial.journal.digest import digest_bytes, digest_value
from seatrial.journal.entries import Entry, State
from seatrial.journal.events import ActionFinished, ActionRequested, TrialEnded, TrialStarted
from seatrial.journal.objects import ObjectStore
from seatrial.journal.reader import Journal, read_journal
from seatrial.journal.run import Manifest, RunFolder, TaskFrozen
from seatrial.journal.writer import JournalWriter
from seatrial.records.verdicts import VerdictRow
from seatrial.verify.engine import Judge

Content = str | bytes | Entry
PYTHON = "#!/usr/bin/env python3\n"
SHELL = "#!/bin/sh\n"


class Maker:
    """Makes states and journals whose blobs lie in one run."""

    def __init__(self, folder: Path) -> None:
        manifest = Manifest(experiment_id="e", name="n", experiment={}, tasks=[], systems={}, plan=[])
        place = folder / "run"
        # A second maker in one test goes on with the run of the first.
        there = (place / "manifest.json").exists()
        self.run = RunFolder.open(place) if there else RunFolder.create(place, manifest)
        self.objects: ObjectStore = self.run.objects

    def file(self, path: str, content: str | bytes, **more: Any) -> Entry:
        """A file's entry; its blob is stored."""
        data = content.encode() if isinstance(content, str) else content
        kept: dict[str, Any] = {"mode": 0o644, **more}
        return Entry(path=path, kind="file", digest=self.objects.put(data), size=len(data), **kept)

    def link(self, path: str, target: str) -> Entry:
        """A symlink's entry."""
        return Entry(path=path, kind="link", target=target, digest=digest_bytes(target.encode()))

    def state(self, files: dict[str, Content]) -> State:
        """A state with these paths (relative to the workspace unless they name a root by ``:``)."""
        state: State = {}
        for name, content in files.items():
            path = name.replace(":", "/", 1) if ":" in name else f"workspace/{name}"
            entry = content if isinstance(content, Entry) else self.file(path, content)
            state[path] = msgspec.structs.replace(entry, path=path)
            parts = path.split("/")[:-1]
            for depth in range(1, len(parts) + 1):
                above = "/".join(parts[:depth])
                state.setdefault(above, Entry(path=above, kind="dir", mode=0o755))
        state.setdefault("workspace", Entry(path="workspace", kind="dir", mode=0o755))
        return state

    def task(self, verifiers: dict[str, str], subgoals: Sequence[dict[str, Any]], **more: Any) -> TaskFrozen:
        """A frozen task whose verifier files are given by name."""
        files = {
            f"verifiers/{name}": (self.objects.put(text.encode()), 0o755) for name, text in verifiers.items()
        }
        spec = {
            "schema": "seatrial/task@1", "id": "example/test", "version": "1.0.0",
            "goal": [{"version": 1, "instruction": "instruction.md"}],
            "subgoal": list(subgoals), **more,
        }  # fmt: skip
        return TaskFrozen(id="example/test", digest=digest_value([spec, files]), spec=spec, files=files)

    def journal(self, states: Sequence[State], goal_versions: dict[int, int] | None = None) -> Journal:
        """A journal in which action k turns state k - 1 into state k."""
        folder = self.run.attempt_folder("t", 1)
        folder.mkdir(parents=True)
        writer = JournalWriter(self.run.journal_path("t", 1), lambda: 0)
        base = self.objects.put(msgspec.json.encode([states[0][path] for path in sorted(states[0])]))
        writer.append(
            TrialStarted(
                trial="t", attempt=1, task="example/test", system="s", arm="baseline", seed=1,
                base=base, fingerprint="", reset_proved=True,
            )
        )  # fmt: skip
        for step, (before, after) in enumerate(pairwise(states), start=1):
            writer.goal_version = (goal_versions or {}).get(step, writer.goal_version)
            changes = [entry for path, entry in after.items() if before.get(path) != entry]
            changes += [Entry(path=path, kind="absent") for path in before if path not in after]
            writer.append(ActionRequested(step=step, tool="shell", arguments={}, key="", pre=""))
            writer.append(
                ActionFinished(step=step, outcome="ok", pre="", post="", changes=changes, observation="")
            )
        writer.append(TrialEnded(stop_reason="finished", fingerprint=""))
        writer.close()
        return read_journal(self.run.journal_path("t", 1))


@contextmanager
def judging(folder: Path, host: Host, maker: Maker, task: TaskFrozen, **more: Any) -> Iterator[Judge]:
    """A judge with a scratch folder of its own."""
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    with Judge(host, str(scratch), maker.run, task, **more) as judge:
        yield judge


def ask(
    folder: Path,
    host: Host,
    verifier: str,
    files: dict[str, Content],
    reads: Sequence[str] = ("files:**",),
    **subgoal: Any,
) -> VerdictRow:
    """The row that one verifier (its text) gives for one state."""
    maker = Maker(folder)
    task = maker.task(
        {"v": verifier}, [{"id": "one", "verifier": "verifiers/v", "reads": list(reads), **subgoal}]
    )
    with judging(folder, host, maker, task) as judge:
        return judge.judge(maker.state(files), "one")
