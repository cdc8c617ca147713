"""Cleaning a run: what is reachable stays and works, what is not goes."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from seatrial.errors import UsageError
from seatrial.journal.calls import BLOCK, keep_request, read_request
from seatrial.journal.digest import digest_bytes
from seatrial.journal.events import ActionFinished, TrialStarted
from seatrial.journal.objects import ObjectStore
from seatrial.journal.reader import read_journal, state_at
from seatrial.journal.run import RunFolder
from seatrial.schedule.gc import disk_use, find_garbage
from seatrial.schedule.locking import lock_run
from tests.schedule.small import DONE, experiment, go_on, plan, seatrial, shown

# Enough changes in one step that the journal keeps them as an object.
MANY = "for n in $(seq 3000); do echo $n > file-$n; done"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gc")
    go_on(experiment(folder, {"a": [MANY, "rm file-1*", DONE], "b": [DONE]}), folder / "run")
    return folder / "run"


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished, tmp_path / "run")
    return tmp_path / "run"


def objects(run: Path) -> set[str]:
    return {path.parent.name + path.name for path in run.glob("objects/??/*")}


def cleaned(run: Path, *options: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(seatrial("gc", str(run), "--json", *options))
    return told


def test_a_finished_run_loses_nothing_and_still_works(run: Path) -> None:
    before = objects(run)
    told = cleaned(run)
    assert (told["unreachable_objects"], told["stale_scratch"], told["garbage_bytes"]) == ([], [], 0)
    assert objects(run) == before
    assert "0 differ" in seatrial("verify", str(run), "--check")
    seatrial("report", str(run))
    assert {trial["terminal_class"] for trial in shown(run)} == {"success"}
    assert cleaned(run)["unreachable_objects"] == []  # with the report that was written meanwhile


def test_every_object_a_journal_needs_is_there_after_cleaning(run: Path) -> None:
    folder = RunFolder.open(run)
    rubbish = {folder.objects.put(f"nobody names {number}".encode()) for number in range(20)}
    assert set(cleaned(run)["unreachable_objects"]) == rubbish
    named, large = set(), 0
    for trial in plan(run):
        journal = read_journal(folder.journal_path(trial, 1))
        for event in journal.events:
            if isinstance(event, TrialStarted):
                named.add(event.base)
            elif isinstance(event, ActionFinished):
                named.add(event.observation)
                large += event.changes_object is not None
        for entry in state_at(journal, folder.objects, 2).values():
            if entry.kind == "file":
                assert digest_bytes(folder.objects.get(str(entry.digest))) == entry.digest
    assert large
    for name in named:
        folder.objects.get(name)
    for task in folder.manifest().tasks:
        for digest, _ in task.files.values():
            folder.objects.get(digest)


def test_a_chain_of_names_keeps_its_end_and_a_name_in_a_torn_line_counts(run: Path) -> None:
    store = ObjectStore(run / "objects")
    end = store.put(b"the end")
    middle = store.put(json.dumps({"unheard-of": [end]}).encode())
    # A name that lies across two pieces of what is read at once.
    first = store.put(b"x" * ((1 << 20) - 30) + middle.encode())
    alone = store.put(b"nobody names this")
    with next(run.glob("trials/*/1/journal.jsonl")).open("ab") as file:
        file.write(f'{{"kind":"of-the-future","object":"{first}'.encode())
    garbage = find_garbage(RunFolder.open(run))
    assert garbage.objects == [alone]
    assert {end, middle, first} <= objects(run)


@pytest.mark.parametrize("count", [2, BLOCK + 1])
def test_a_model_call_keeps_every_object_of_its_conversation(run: Path, count: int) -> None:
    store = ObjectStore(run / "objects")
    before = objects(run)
    body = {
        "messages": [{"role": "user", "content": str(number)} for number in range(count)],
        "tools": [{"type": "function", "function": {"name": "shell"}}],
    }
    request, response = keep_request(store, body), store.put(b"{}")
    added = objects(run) - before
    assert set(find_garbage(RunFolder.open(run)).objects) == added
    with next(run.glob("trials/*/1/journal.jsonl")).open("ab") as file:
        file.write(f'{{"kind":"model.called","request":"{request}","response":"{response}"'.encode())
    assert cleaned(run)["unreachable_objects"] == []
    assert read_request(store, request) == body
    # Request, response, tools and every message; a full block of messages is one more.
    assert len(added) == 3 + count + (count >= BLOCK)


def test_a_dry_run_deletes_nothing_and_says_the_same(run: Path) -> None:
    store = ObjectStore(run / "objects")
    alone = store.put(b"nobody names this")
    (run / "objects" / "incoming.77.tmp").write_bytes(b"half")
    (run / "scratch" / "worlds" / "w77-1" / "upper").mkdir(parents=True)
    (run / "scratch" / "judge-77-1").mkdir()
    would = cleaned(run, "--dry-run")
    assert would["deleted"] is False
    assert would["bytes"] == would["bytes_after"] == disk_use(run)
    assert store.has(alone)
    did = cleaned(run)
    for key in ("unreachable_objects", "unfinished_objects", "stale_scratch", "garbage_bytes"):
        assert did[key] == would[key]
    assert did["unfinished_objects"] == ["incoming.77.tmp"]
    assert did["stale_scratch"] == ["judge-77-1", "worlds/w77-1"]
    assert not store.has(alone)
    assert not list(run.glob("objects/*.tmp"))
    assert not list((run / "scratch" / "worlds").iterdir())
    words = seatrial("gc", str(run))
    assert "0 unreachable objects, 0 unfinished ones and 0 leftovers in scratch deleted: 0 B" in words
    assert "journals: " in words


def test_a_base_that_no_trial_has_used_yet_keeps_its_objects(run: Path) -> None:
    (index,) = run.glob("scratch/bases/*.index")
    listing = json.loads(index.read_bytes())["listing"]
    shutil.rmtree(run / "trials")
    (run / "index.jsonl").unlink()
    shutil.rmtree(run / "verdicts")
    (run / "records.parquet").unlink()
    folder = RunFolder.open(run)
    assert listing not in find_garbage(folder).objects
    index.unlink()
    assert listing in find_garbage(folder).objects


def test_a_run_in_use_is_refused(run: Path) -> None:
    alone = ObjectStore(run / "objects").put(b"nobody names this")
    with lock_run(run):
        for options in ([], ["--dry-run"]):
            assert "another runner works on it" in seatrial("gc", str(run), *options, status=2)
    assert ObjectStore(run / "objects").has(alone)
    with lock_run(run), pytest.raises(UsageError), lock_run(run):
        pass


def test_what_is_no_run_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "objects" / "ab").mkdir(parents=True)
    said = seatrial("gc", str(tmp_path), status=2)
    assert "is no run folder" in said
    assert [path.name for path in tmp_path.iterdir()] == ["objects"]
