"""Names and wordings: those of the original, and others for its variants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Wording:
    """How things are called in one instance.

    Attributes:
        services: names of what is released.
        people: first parts of addresses.
        domain: of all addresses.
        labels: of the lines of a ticket: service, version, amount, reference, notify, after.
        between: stands between a label and its value.
        title, subject: of a ticket and of an announcement; with ``{service}``, ``{version}``.
        folder: of the change files.
        notes: path of the page with the release notes.
        accounts: the account that pays, another that may, and the one that must not be touched.
        invoice: beginning of references.
    """

    services: Sequence[str]
    people: Sequence[str]
    domain: str
    labels: Mapping[str, str]
    between: str
    title: str
    subject: str
    folder: str
    notes: str
    accounts: tuple[str, str, str]
    invoice: str


WORDINGS = (
    Wording(
        services=(
            "billing", "search", "catalogue", "login", "mailer", "orders", "stock", "reports", "gateway",
            "exports", "imports", "labels", "pricing", "returns",
        ),
        people=(
            "anna", "bela", "carla", "dario", "edith", "faruk", "greta", "hanno", "ines", "jonas", "karim",
            "lotte", "mirko", "nadia", "oskar", "paula", "quirin", "rosa", "sven", "tilda", "ulla", "vera",
            "wanda", "xenia", "yusuf", "zora",
        ),
        domain="harbour.example",
        labels={
            "service": "Service", "version": "Version", "amount": "Amount", "reference": "Invoice",
            "notify": "Notify", "after": "After ticket",
        },
        between=": ", title="Release {service}", subject="Released {service} {version}", folder="changes",
        notes="/notes", accounts=("operations", "operations-eu", "reserve"), invoice="INV",
    ),
    Wording(
        services=(
            "kiosk", "ledger-view", "parcel", "roster", "signup", "survey", "tariff", "tracker", "vault",
            "waiver", "yard", "zoning", "depot", "ferry",
        ),
        people=(
            "abel", "birgit", "cem", "doris", "emil", "fatma", "georg", "helga", "ivan", "judit", "kai",
            "lea", "milan", "noor", "olga", "pavel", "ruth", "sami", "timo", "uwe", "viola", "willem",
            "yara", "zeno", "arno", "bente",
        ),
        domain="northquay.example",
        labels={
            "service": "Component", "version": "Build", "amount": "Sum due", "reference": "Bill",
            "notify": "Inform", "after": "Follows ticket",
        },
        between=" = ", title="Ship {service}", subject="{service} {version} is live", folder="rollouts",
        notes="/whats-new", accounts=("main", "main-north", "deposit"), invoice="B",
    ),
    Wording(
        services=(
            "atlas", "beacon", "compass", "dial", "easel", "flint", "grove", "hinge", "inlet", "jetty",
            "kiln", "loom", "mortar", "nook",
        ),
        people=(
            "agnes", "boris", "celia", "dmitri", "elsa", "felix", "gloria", "hugo", "irma", "jens", "kira",
            "ludo", "mona", "nils", "odile", "petra", "remo", "silke", "tamar", "urs", "vito", "wilma",
            "ylva", "zita", "alma", "bruno",
        ),
        domain="millrace.example",
        labels={
            "service": "Part", "version": "Revision", "amount": "Fee", "reference": "Order no.",
            "notify": "Tell", "after": "Only after ticket",
        },
        between=" - ", title="Bring {service} into production", subject="In production: {service} {version}",
        folder="records", notes="/log", accounts=("current", "current-b", "savings"), invoice="ON",
    ),
)  # fmt: skip


def chosen(pool: Sequence[T], variant: int) -> T:
    """The original takes the first of a pool; no variant takes the same."""
    return pool[0] if variant == 0 else pool[1 + (variant - 1) % (len(pool) - 1)]
