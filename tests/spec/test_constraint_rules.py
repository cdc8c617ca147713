import pytest

from seatrial.errors import SpecError
from seatrial.spec.loading import load_task
from tests.spec.folders import assert_error, write_task


def constraint(**keys):
    return {"constraint": [{"id": "rule", "forbid": {"write": ["files:LICENSE"]}, **keys}]}


def call(**keys):
    return constraint(forbid={"call": [{"tool": "shell", **keys}]})


@pytest.mark.parametrize(
    ("change", "place", "pieces"),
    [
        ({"constraint": constraint()["constraint"] * 2}, "constraint[1].id", ['"rule" is used before']),
        (constraint(id=""), "constraint[0].id", ['""']),
        (constraint(kind="soft"), "constraint[0].severity", ["severity = 0.0 … 1.0"]),
        (constraint(kind="soft", severity=1.5), "constraint[0].severity", ["1.5", "from 0 to 1"]),
        (constraint(severity=0.5), "constraint[0].severity", ["0.5 on a hard constraint", "soft"]),
        (constraint(mode="prevnt"), "constraint[0].mode", ['Did you mean "prevent"']),
        (constraint(forbid={}), "constraint[0].forbid", ["forbids nothing"]),
        (
            call(where={"comand": "~ rm"}),
            "constraint[0].forbid.call[0].where.comand",
            ['"shell" has no argument "comand"', 'Did you mean "command"'],
        ),
        (
            constraint(forbid={"write": ["LICENSE"]}),
            "constraint[0].forbid.write[0]",
            ["'LICENSE'", "files:LICENSE"],
        ),
        (constraint(forbid={"read": ["db:x"]}), "constraint[0].forbid.read[0]", ["'db:x' names no files"]),
        (constraint(forbid={"read": ["files:[a"]}), "constraint[0].forbid.read[0]", ["'files:[a'", "']'"]),
        (constraint(forbid={"call": [{}]}), "constraint[0].forbid.call[0].tool", ["missing"]),
        (call(tool="shel"), "constraint[0].forbid.call[0].tool", ['"shel"', 'Did you mean "shell"']),
        (call(tool=3), "constraint[0].forbid.call[0].tool", ["3 has the wrong type"]),
        (
            call(tool="mail.send"),
            "constraint[0].forbid.call[0].tool",
            ["does not have", "environment.services"],
        ),
        (call(tool="post.send"), "constraint[0].forbid.call[0].tool", ['"post.send"', "payments"]),
        (call(were={}), "constraint[0].forbid.call[0].were", ['Did you mean "where"']),
        (call(where=[]), "constraint[0].forbid.call[0].where", ["[] has the wrong type"]),
        (
            call(where={"command": "~ (rm"}),
            "constraint[0].forbid.call[0].where.command",
            ["'~ (rm'", "regular"],
        ),
        (
            call(where={"command": "> ten"}),
            "constraint[0].forbid.call[0].where.command",
            ["'> ten'", "no number"],
        ),
        (call(where={"command": []}), "constraint[0].forbid.call[0].where.command", ["[] is no condition"]),
    ],
)
def test_a_constraint_that_breaks_a_rule(tmp_path, change, place, pieces):
    folder = write_task(tmp_path, change)
    with pytest.raises(SpecError) as raised:
        load_task(folder)
    assert_error(raised, folder / "task.toml", place, *pieces)
