"""`seatrial import`, and what the other verbs say of an imported run."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from seatrial.cli.main import application
from seatrial.errors import SpecError, UsageError
from seatrial.records.table import read_records
from tests.importers.conftest import TAUBENCH


def run(*arguments):
    return CliRunner().invoke(application(), [str(argument) for argument in arguments])


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    assert run("import", "taubench", TAUBENCH, "-o", folder).exit_code == 0
    return folder


def test_an_import_says_what_came_of_it(tmp_path):
    done = run("import", "taubench", TAUBENCH, "-o", tmp_path / "run")
    assert "200 rows from taubench, 1 files" in done.output
    assert "gpt-4o: 200 trials of 50 tasks: 84 success, 116 failure" in done.output
    assert "limit: The cost in the source is that of the simulated user" in done.output


def test_an_import_as_json(tmp_path):
    plain = json.loads(run("import", "taubench", TAUBENCH, "-o", tmp_path / "run", "--json").output)
    assert (plain["run"], plain["format"], plain["rows"]) == (str(tmp_path / "run"), "taubench", 200)
    assert plain["systems"] == [
        {"system": "gpt-4o", "trials": 200, "tasks": 50, "success": 84, "failure": 116, "infrastructure": 0,
         "unknown": 0, "censored": 0}
    ]  # fmt: skip
    assert plain["limits"] and plain["mixed"] == [] and plain["mapping"] is None


def test_bad_input_is_left_to_the_main_command(tmp_path):
    assert isinstance(run("import", "metr", TAUBENCH, "-o", tmp_path / "run").exception, SpecError)
    assert isinstance(run("import", "nothing", TAUBENCH, "-o", tmp_path / "run").exception, UsageError)
    assert list(tmp_path.iterdir()) == []


def test_measure_makes_the_table_anew(out):
    before = read_records(out / "records.parquet")
    (out / "records.parquet").unlink()
    assert run("measure", out).exit_code == 0
    assert read_records(out / "records.parquet") == before


def test_show_gives_systems_and_rows(out):
    assert "84 success" in run("show", out).output
    plain = json.loads(run("show", out, "--json").output)
    assert len(plain["trials"]) == 200 and plain["imported"]["format"] == "taubench"
    one = run("show", out, "gpt-4o/airline/0/0").output
    assert "without journal" in one and "strict_success" in one and "safe_success" not in one
    plain = json.loads(run("show", out, "gpt-4o/airline/0/0", "--json").output)
    assert (plain["task"], plain["safe_success"]) == ("airline/0", None)
    with pytest.raises(UsageError, match="no row of trial 'x'"):
        raise run("show", out, "x").exception
    with pytest.raises(UsageError, match="have no steps"):
        raise run("show", out, "gpt-4o/airline/0/0", "--steps").exception


@pytest.mark.parametrize("verb", [["report"], ["verify"], ["show", "--follow"]])
def test_what_needs_journals_says_so(out, verb):
    with pytest.raises(UsageError, match="200 rows imported from taubench and no journals"):
        raise run(*verb, out).exception
    assert sorted(path.name for path in out.iterdir()) == ["manifest.json", "objects", "records.parquet"]


def test_gc_keeps_the_sources(out):
    assert run("gc", out).exit_code == 0
    (out / "records.parquet").unlink()
    assert run("measure", out).exit_code == 0
