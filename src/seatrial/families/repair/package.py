"""What the generator must know of a package: an entry of ``packages`` is one instance of ``Package``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from seatrial.families.draws import Draws


@dataclass(frozen=True)
class Stage:
    """A program of a pipeline, as far as it is the function's own.

    Every program reads two files of records and writes one, so that any may follow any other.

    Attributes:
        names: what the program is called in an original, and in variants.
        purpose: one sentence, its docstring; ``$items`` and other words are filled in.
        code: ``work(rows, extra)`` and what it needs, as a template. ``$lib`` stands for the module of the
            function; ``stamp`` and ``itemgetter`` are there.
        numbers: names in the template that stand for an integer, with its range.
    """

    names: tuple[str, str]
    purpose: str
    code: str
    numbers: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """A function that a fault may be seeded in, and the program that leans on it.

    Attributes:
        name: the public function.
        file: where it stands, relative to the sdist's root.
        parts: top-level functions of that file that hold its behaviour; a fault goes into one of them.
        cases: hidden inputs: Python expressions over ``t``, the function's module, and over the names that
            the package's ``names`` defines.
        equivalents: another right body of each part, by part.
        stage: the program.
    """

    name: str
    file: str
    parts: tuple[str, ...]
    cases: Callable[[Draws], list[str]]
    equivalents: Mapping[str, str]
    stage: Stage


@dataclass(frozen=True)
class Package:
    """A pinned release and how tasks are made of it.

    Attributes:
        name: on the index and as imported.
        version: the pinned release.
        sdist_sha256: of its source archive.
        licence: SPDX id or the wording of its metadata.
        keep: files and folders of the sdist that go to the workspace; everything else is left out.
        licence_file: one of them, protected by a hard constraint.
        code: the package's folder.
        tests: folder of upstream tests.
        names: source that binds the names which ``cases`` use.
        targets: functions that faults can go into; no one rests on another.
        aliases: for variants: pattern of a name in sources and paths, and what may stand there instead.
        untested: upstream tests (``module`` or ``module::test``) that look at the interpreter rather than
            at the package, or cannot run without a test runner; with the reason.
    """

    name: str
    version: str
    sdist_sha256: str
    licence: str
    keep: tuple[str, ...]
    licence_file: str
    code: str
    tests: str
    names: str
    targets: tuple[Target, ...]
    aliases: tuple[tuple[str, tuple[str, ...]], ...]
    untested: Mapping[str, str] = field(default_factory=dict)


def module_of(path: str) -> str:
    """The import name of a source file."""
    return ".".join(PurePosixPath(path).with_suffix("").parts)
