"""``docs/cli.md`` is what the commands say of themselves."""

from pathlib import Path

from seatrial.cli.reference import reference


def test_the_reference_is_current() -> None:
    page = Path(__file__).parents[2] / "docs" / "cli.md"
    assert page.read_text() == reference(), "run: python -m seatrial.cli.reference > docs/cli.md"


def test_every_verb_has_json_and_help_that_teaches() -> None:
    for section in reference().split("\n## ")[2:]:
        name = section.splitlines()[0]
        if name != "`seatrial suite`":
            assert "--json" in section, name
        assert "Usage: seatrial" in section
