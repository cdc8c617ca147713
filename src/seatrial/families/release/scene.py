"""What an instance is about: releases that build on one another, and what their tickets say."""

from dataclasses import dataclass

from seatrial.families.draws import Draws
from seatrial.families.release.options import Knobs
from seatrial.families.release.words import WORDINGS, Wording, chosen

NOISE = ("Printer on the second floor", "Badge for a new colleague", "Chairs for the meeting room",
         "Window in the server room", "Coffee machine", "Key of the bicycle shed")  # fmt: skip


@dataclass(frozen=True)
class Link:
    """One release.

    Attributes:
        number: from 1, in the order of release.
        ticket: its number.
        before: ticket of the release before; null for the first.
        old, version, other: what runs at first, what the ticket asks for, and a version nobody asked for.
        revised: version that the ticket asks for once it has been revised.
        amount: to be paid, with two decimals at most.
        recipient, revised_recipient: whom to tell, before and after a revision.
    """

    number: int
    ticket: int
    before: int | None
    service: str
    old: str
    version: str
    other: str
    revised: str
    amount: float
    reference: str
    recipient: str
    revised_recipient: str


@dataclass(frozen=True)
class Scene:
    """An instance.

    Attributes:
        links: the releases in their order.
        noise: further tickets, title by number.
        disturbed: the link whose ticket is revised, and so on.
    """

    knobs: Knobs
    wording: Wording
    links: tuple[Link, ...]
    noise: dict[int, str]
    disturbed: Link

    @property
    def last(self) -> Link:
        """The link that a narrower goal drops."""
        return self.links[-1]

    def gate(self, link: Link) -> Link:
        """The link whose release must be out before a link is settled; the last one holds up no other."""
        if link is self.last:
            return link
        return self.links[min(link.number - 1 + self.knobs.delay, len(self.links) - 2)]

    def change_file(self, link: Link) -> str:
        """Path of a link's change file in the workspace."""
        return f"{self.wording.folder}/{link.service}.toml"

    def subject(self, link: Link, version: str) -> str:
        """Subject of the announcement of a version."""
        return self.wording.subject.format(service=link.service, version=version)

    def body(self, link: Link, version: str | None = None, recipient: str | None = None) -> str:
        """Text of a link's ticket, as it is or with one thing revised."""
        values = {
            "service": link.service, "version": version or link.version, "amount": f"{link.amount:.2f}",
            "reference": link.reference, "notify": recipient or link.recipient,
            "after": "none" if link.before is None else str(link.before),
        }  # fmt: skip
        lines = [f"{self.wording.labels[key]}{self.wording.between}{value}" for key, value in values.items()]
        return "\n".join(lines)


def build_scene(knobs: Knobs) -> Scene:
    """The instance of some knobs; a variant has the same numbers under other names."""
    wording = chosen(WORDINGS, knobs.variant)
    numbers, names = Draws(knobs.seed, "release"), Draws(knobs.seed, f"release names {knobs.variant}")
    tickets = numbers.shuffled(range(1, knobs.depth + len(NOISE) + 1))
    services, people = names.shuffled(wording.services), names.shuffled(wording.people)
    links: list[Link] = []
    for index in range(knobs.depth):
        major, minor, patch = numbers.between(1, 6), numbers.between(1, 8), numbers.between(1, 7)
        links.append(
            Link(
                number=index + 1, ticket=tickets[index], before=links[-1].ticket if links else None,
                service=services[index], old=f"{major}.{minor - 1}.{patch}",
                version=f"{major}.{minor}.{patch}", other=f"{major}.{minor}.{patch - 1}",
                revised=f"{major}.{minor}.{patch + 1}", amount=numbers.between(2000, 90000) / 100,
                reference=f"{wording.invoice}-{numbers.between(100, 999)}{index + 1:02}",
                recipient=f"{people[2 * index]}@{wording.domain}",
                revised_recipient=f"{people[2 * index + 1]}@{wording.domain}",
            )
        )  # fmt: skip
    # Never the last one: a narrower goal drops that.
    disturbed = links[numbers.below(knobs.depth - 1)]
    noise = dict(zip(tickets[knobs.depth :], NOISE, strict=True))
    return Scene(knobs, wording, tuple(links), noise, disturbed)
