"""An imported run: sources kept as objects, rows made anew from them, written whole or not at all."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatrial.errors import JournalError, SeatrialError, SpecError, UsageError
from seatrial.importers.formats import FORMATS
from seatrial.importers.imported import Wish, import_run, rebuild
from seatrial.importers.sources import label_of
from seatrial.journal.digest import digest_bytes
from seatrial.journal.run import RunFolder
from seatrial.records.table import read_records
from tests.importers.conftest import TAUBENCH
from tests.importers.small import METR_ROW, REPORT, TRIAL, lines, read, tar_gz

MAPPING = 'schema = "seatrial/mapping@1"\n[columns]\ntask = "task_id"\nsystem = "agent"\nrepeat = "trial"\n'


@pytest.fixture
def mapping(tmp_path: Path) -> Path:
    path = tmp_path / "mapping.toml"
    path.write_text(MAPPING)
    return path


def test_the_manifest_says_what_was_imported_and_the_objects_hold_it(tmp_path, mapping):
    manifest, records = import_run(Wish("csv", [TAUBENCH], mapping, "mine"), tmp_path / "run")
    run = RunFolder.open(tmp_path / "run")
    facts = run.manifest().imported
    assert facts is not None and manifest.imported == facts
    assert (facts.format, facts.rows, run.manifest().name) == ("csv", 200, "mine")
    [source] = facts.sources
    assert (source.name, source.size) == (TAUBENCH.name, TAUBENCH.stat().st_size)
    assert run.objects.get(source.digest) == TAUBENCH.read_bytes()
    assert facts.mapping is not None
    assert run.objects.get(facts.mapping.digest) == mapping.read_bytes()
    assert read_records(tmp_path / "run" / "records.parquet") == records
    assert {record.experiment for record in records} == {manifest.experiment_id}


def test_nothing_of_the_place_the_sources_lay_in_is_kept(tmp_path, mapping):
    import_run(Wish("csv", [TAUBENCH], mapping), tmp_path / "run")
    text = (tmp_path / "run" / "manifest.json").read_text()
    assert str(tmp_path) not in text and str(TAUBENCH.parent) not in text


def test_rows_are_made_anew_without_the_sources(tmp_path, mapping):
    source = tmp_path / "t.csv"
    source.write_bytes(TAUBENCH.read_bytes())
    _, records = import_run(Wish("csv", [source], mapping), tmp_path / "run")
    source.unlink()
    mapping.unlink()
    (tmp_path / "run" / "records.parquet").unlink()
    assert rebuild(tmp_path / "run")[1] == records


def test_the_same_bytes_are_the_same_experiment_and_other_ones_are_not(tmp_path, mapping):
    def identity(out: str, **more) -> str:
        return import_run(Wish("csv", [TAUBENCH], mapping, **more), tmp_path / out)[0].experiment_id

    first = identity("a")
    assert identity("b", name="other") == first
    mapping.write_text(MAPPING + 'score = "reward"\n')
    assert identity("c") != first


def test_systems_are_named_again_when_rows_are_made_anew(tmp_path):
    import json

    (tmp_path / "r.json").write_text(json.dumps(REPORT))
    import_run(Wish("swebench", [tmp_path / "r.json"], systems=["mine"]), tmp_path / "run")
    assert {record.system for record in rebuild(tmp_path / "run")[1]} == {"mine"}


def test_a_changed_object_is_found(tmp_path):
    import_run(Wish("taubench", [TAUBENCH]), tmp_path / "run")
    path = Path(RunFolder(tmp_path / "run").objects.path(digest_bytes(TAUBENCH.read_bytes())))
    path.write_bytes(TAUBENCH.read_bytes().replace(b",1.0,", b",0.0,"))
    with pytest.raises(JournalError, match="does not match its name"):
        rebuild(tmp_path / "run")


@pytest.mark.parametrize("there", ["file", "folder"])
def test_what_is_there_is_not_overwritten(tmp_path, there):
    out = tmp_path / "run"
    if there == "file":
        out.write_text("mine")
    else:
        out.mkdir()
        (out / "mine").write_text("mine")
    with pytest.raises(UsageError, match="is there already"):
        import_run(Wish("taubench", [TAUBENCH]), out)
    assert (out if there == "file" else out / "mine").read_text() == "mine"


def test_a_fault_leaves_nothing_behind(tmp_path):
    (tmp_path / "t.csv").write_text("task_id,agent,trial,reward\na,m,0,nan\n")
    with pytest.raises(SpecError):
        import_run(Wish("taubench", [tmp_path / "t.csv"]), tmp_path / "run")
    assert os.listdir(tmp_path) == ["t.csv"]


def test_a_disk_that_takes_no_more_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(*_args, **_more):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(RunFolder, "create", full)
    with pytest.raises(JournalError, match="No space left"):
        import_run(Wish("taubench", [TAUBENCH]), tmp_path / "run")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        (Wish("taubench", []), "no source given"),
        (Wish("taubanch", [TAUBENCH]), "no format 'taubanch'. Did you mean"),
        (Wish("csv", [TAUBENCH]), "needs --mapping FILE"),
        (Wish("taubench", [TAUBENCH], mapping=TAUBENCH), "takes no --mapping"),
        (Wish("swebench", [TAUBENCH], systems=["a", "b"]), "2 --system for 1 sources"),
    ],
)
def test_options_that_do_not_fit_are_refused(tmp_path, wish, message):
    with pytest.raises(UsageError, match=message):
        import_run(wish, tmp_path / "run")


def test_sources_that_cannot_be_read_are_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    for paths, message in (
        ([tmp_path / "none.csv"], "cannot be read"),
        ([TAUBENCH, TAUBENCH], "is given twice"),
        ([tmp_path / "empty"], r"holds no \*\.csv"),
    ):
        with pytest.raises(SpecError, match=message):
            import_run(Wish("taubench", paths), tmp_path / "run")


def test_links_out_of_a_folder_are_not_followed(tmp_path):
    folder = tmp_path / "f"
    folder.mkdir()
    (folder / "t.csv").symlink_to(TAUBENCH)
    with pytest.raises(SpecError, match="holds no"):
        import_run(Wish("taubench", [folder]), tmp_path / "run")


@pytest.mark.parametrize(
    ("name", "label"),
    [("a.tar.gz", "a"), ("gpt-4.1.json", "gpt-4.1"), ("runs/x/y.json", "runs"), (".json", ".json")],
)
def test_a_source_is_called_by_its_name_without_endings(name, label):
    assert label_of(name) == label


def whole_sources() -> dict[str, bytes]:
    import json

    return {
        "metr": lines(METR_ROW, {**METR_ROW, "run_id": "r-2"}),
        "swebench": json.dumps(REPORT).encode(),
        "terminal-bench": tar_gz({"r/hello/x/results.json": json.dumps(TRIAL).encode()}),
        "taubench": TAUBENCH.read_bytes()[:300].rsplit(b"\n", 1)[0],
        "csv": TAUBENCH.read_bytes()[:300].rsplit(b"\n", 1)[0],
    }


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
@given(name=st.sampled_from(sorted(FORMATS)), data=st.data())
def test_any_change_of_any_source_reads_or_is_a_clear_error(name, data):
    source = bytearray(whole_sources()[name])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(source) - 1))
        source[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    try:
        found = read(name, {"source": bytes(source)}, MAPPING if name == "csv" else None)
    except SeatrialError as fault:
        assert str(fault).startswith("source")
    else:
        assert all(record.experiment == "e" * 64 for record in found.records)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_source_given_as_another_format_is_refused(name):
    for other, source in whole_sources().items():
        if other != name and {other, name} != {"taubench", "csv"}:
            with pytest.raises(SpecError, match="source"):
                read(name, {"source": source}, MAPPING if name == "csv" else None)
