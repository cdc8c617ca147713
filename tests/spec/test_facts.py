"""Facts of a task: which declarations load, and what is said of the others."""

import pytest

from seatrial.errors import SpecError
from seatrial.journal.run import TaskFrozen
from seatrial.spec.frozen import with_digest
from seatrial.spec.loading import load_task
from seatrial.spec.task import Perturbation
from tests.spec.folders import assert_error, write_task


def fact(**keys):
    return {"fact": [{"id": "max", "file": "files:config/limits.toml", **keys}]}


SERVICES = {"environment": {"files": "environment/", "services": ["tickets"]}}


@pytest.mark.parametrize(
    "change",
    [
        fact(),
        fact(pattern=r"max = (\d+)", weight=3.0),
        fact(json_key="limits.max"),
        SERVICES | fact(file="service:tickets/tickets/T1"),
    ],
)
def test_what_loads(tmp_path, change):
    assert load_task(write_task(tmp_path / "task", change)).spec.fact[0].id == "max"


@pytest.mark.parametrize(
    ("change", "place", "pieces"),
    [
        ({"fact": fact()["fact"] * 2}, "fact[1].id", ['"max" is used before']),
        (fact(id="a b"), "fact[0].id", ['"a b" cannot be a name']),
        (fact(weight=-1.0), "fact[0].weight", ["-1", "out of range"]),
        (fact(file="config"), "fact[0].file", ["no known prefix"]),
        (fact(file="files:config/*"), "fact[0].file", ["names no single file"]),
        (fact(file="db:app.sqlite"), "fact[0].file", ["names no single file"]),
        (fact(file="service:tickets"), "fact[0].file", ["names no row", "service:NAME/TABLE/KEY"]),
        (fact(file="service:mail/a/b"), "fact[0].file", ['no service "mail"']),
        (fact(pattern="max = ("), "fact[0].pattern", ["no regular expression"]),
        (fact(pattern="max"), "fact[0].pattern", ["0 groups", "Put just the value in"]),
        (fact(pattern="(a)(b)"), "fact[0].pattern", ["2 groups"]),
        (fact(pattern="(a)", json_key="a"), "fact[0].pattern", ["read in two ways"]),
        (fact(json_key=""), "fact[0].json_key", ["names no key"]),
        (fact(colour="red"), "fact[0].colour", ["colour"]),
    ],
)
def test_what_is_refused(tmp_path, change, place, pieces):
    folder = write_task(tmp_path / "task", change)
    with pytest.raises(SpecError) as raised:
        load_task(folder)
    assert_error(raised, folder / "task.toml", place, *pieces)


def test_a_file_of_the_task_that_recovery_is_compared_with_is_known_by_its_digest():
    frozen = TaskFrozen(id="f/a", digest="d", spec={}, files={"p/limits": ("abc", 0o644)})
    spec = Perturbation(
        id="x", kind="state", when={}, recovered_when={"files": "files:limits", "equal": "./p/limits"}
    )
    assert with_digest(spec, frozen).recovered_when == {"files": "files:limits", "digest": "abc"}
    other = Perturbation(id="x", kind="state", when={}, recovered_when={"subgoal": "a"})
    assert with_digest(other, frozen) is other
