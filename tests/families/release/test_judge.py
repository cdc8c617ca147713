"""What the verifiers say of rows made by hand."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seatrial.families.release import Knobs
from seatrial.families.release.folder import known
from seatrial.families.release.judging import judge
from seatrial.families.release.scene import Link, Scene, build_scene

Say = Callable[[str], list[str]]
Put = Callable[..., None]


@pytest.fixture
def scene() -> Scene:
    return build_scene(Knobs())


@pytest.fixture
def link(scene: Scene) -> Link:
    return scene.disturbed


@pytest.fixture
def put(scene: Scene, link: Link, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """Writes a row; the ticket, as it is at first, is there already."""
    monkeypatch.setenv("SERVICE_ROWS", str(tmp_path / "services"))
    monkeypatch.chdir(tmp_path)

    def write(place: str, **row: Any) -> None:
        path = tmp_path / "services" / place / f"{row['id']}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(row))

    write("tickets/tickets", id=link.ticket, state="open", body=scene.body(link))
    return write


@pytest.fixture
def said(scene: Scene, link: Link, put: Put) -> Say:
    """What is wrong, by a kind of subgoal of the disturbed link."""
    given = json.loads(json.dumps(known(scene)))
    return lambda kind: judge.CHECKS[kind](given, given["links"][link.number - 1])


def charge(
    put: Put, link: Link, number: int, amount: float, refunded: float = 0, account: str = "operations"
) -> None:
    put(
        "payments/charges", id=number, account=account, amount=amount, reference=link.reference,
        refunded=refunded,
    )  # fmt: skip


def mail(put: Put, scene: Scene, link: Link, number: int, to: str, version: str) -> None:
    subject = scene.subject(link, version)
    put("mail/messages", id=number, folder="sent", subject=subject, body=f"It is {version}.")
    put("mail/deliveries", id=number, message=number, to=to)


def test_one_payment_must_stand(said: Say, put: Put, link: Link) -> None:
    assert said("paid")
    charge(put, link, 1, link.amount)
    assert said("paid") == []
    charge(put, link, 2, link.amount)
    assert said("paid"), "paid twice"
    charge(put, link, 2, link.amount, refunded=link.amount)
    assert said("paid") == [], "the second one was given back"
    charge(put, link, 1, link.amount, account="reserve")
    assert said("paid"), "from an account that must not pay"


def test_a_revised_ticket_changes_what_is_right(said: Say, put: Put, scene: Scene, link: Link) -> None:
    file = Path(scene.change_file(link))
    file.parent.mkdir()
    text = f'service = "{link.service}"\nversion = "{link.version}"\nticket = {link.ticket}\n'
    file.write_text(text)
    mail(put, scene, link, 1, link.recipient, link.version)
    assert (said("drafted"), said("announced")) == ([], [])
    put("tickets/tickets", id=link.ticket, state="open", body=scene.body(link, version=link.revised))
    assert said("drafted") and said("announced")
    file.write_text(text.replace(link.version, link.revised))
    mail(put, scene, link, 2, link.recipient, link.revised)
    assert (said("drafted"), said("announced")) == ([], [])


def test_nobody_is_told_twice_and_no_stranger_at_all(said: Say, put: Put, scene: Scene, link: Link) -> None:
    mail(put, scene, link, 1, link.recipient, link.version)
    mail(put, scene, link, 2, scene.last.recipient, link.version)
    assert said("announced") == [f"{scene.last.recipient} was told"]
    mail(put, scene, link, 2, link.recipient, link.version)
    assert said("announced") == [f"{link.recipient} was told 2 times"]


def test_a_revised_recipient_must_be_told_although_another_was(
    said: Say, put: Put, scene: Scene, link: Link
) -> None:
    mail(put, scene, link, 1, link.recipient, link.version)
    body = scene.body(link, recipient=link.revised_recipient)
    put("tickets/tickets", id=link.ticket, state="open", body=body)
    assert said("announced") == [f"{link.revised_recipient} was told 0 times"]
    mail(put, scene, link, 2, link.revised_recipient, link.version)
    assert said("announced") == []


def test_releases_that_no_ticket_asked_for_are_wrong_for_good(said: Say, put: Put, link: Link) -> None:
    put("deploy/services", id=link.service, running=link.version)
    put("deploy/releases", id=1, service=link.service, version=link.version)
    assert said("deployed") == []
    assert said("unreleased") == [f"{link.version} was released"]
    put("deploy/releases", id=2, service=link.service, version=link.other)
    assert said("deployed") == [f"{link.other} was released"]


def test_the_last_line_of_the_notes_counts(said: Say, put: Put, scene: Scene, link: Link) -> None:
    def line(number: int, version: str) -> None:
        form = {"service": link.service, "version": version}
        put("web/submissions", id=number, path=scene.wording.notes, form=form)

    line(9, link.other)
    line(10, link.version)
    assert said("noted") == []
    line(11, link.other)
    assert said("noted")


def test_a_ticket_is_approved_before_it_is_closed(said: Say, put: Put, scene: Scene, link: Link) -> None:
    put("tickets/tickets", id=link.ticket, state="closed", body=scene.body(link))
    assert (said("closed"), bool(said("approved"))) == ([], True)
    put("tickets/history", id=1, ticket=link.ticket, was="open", state="approved")
    assert said("approved") == []


def test_what_was_called_off_must_leave_nothing(said: Say, put: Put, scene: Scene, link: Link) -> None:
    assert said("withdrawn") == []
    Path(scene.change_file(link)).parent.mkdir()
    Path(scene.change_file(link)).write_text("")
    charge(put, link, 1, link.amount)
    put("tickets/tickets", id=link.ticket, state="approved", body=scene.body(link))
    assert len(said("withdrawn")) == 3


@pytest.mark.parametrize("text", ["", "version = ", 'service = "x"\n', "\x00"])
def test_a_file_that_says_nothing_is_wrong_and_no_crash(
    said: Say, put: Put, scene: Scene, link: Link, text: str
) -> None:
    assert said("drafted")
    Path(scene.change_file(link)).parent.mkdir()
    Path(scene.change_file(link)).write_text(text)
    assert said("drafted")
