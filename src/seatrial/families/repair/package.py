"""What the generator must know of a package: an entry of ``packages`` is one instance of ``Package``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from seatrial.families.repair.draws import Draws


@dataclass(frozen=True)
class Target:
    """A function that a fault may be seeded in.

    Attributes:
        name: the public function.
        file: where it stands, relative to the sdist's root.
        parts: top-level functions of that file that hold its behaviour; a fault goes into one of them.
        cases: hidden inputs: Python expressions over the names that the package's ``names`` defines.
        equivalents: another right implementation of each part, by part.
    """

    name: str
    file: str
    parts: tuple[str, ...]
    cases: Callable[[Draws], list[str]]
    equivalents: Mapping[str, str]


@dataclass(frozen=True)
class Stage:
    """One program of the pipeline, ``python3 -B -m MODULE INPUT… PRODUCT``, in the workspace."""

    module: str
    inputs: tuple[str, ...]
    product: str

    @property
    def command(self) -> str:
        """How a person starts it. No bytecode is kept: an edit of the same size within the same second would
        otherwise run the old one."""
        return " ".join(["python3 -B -m", self.module, *self.inputs, self.product])


@dataclass(frozen=True)
class Pipeline:
    """Three stages, each reading the product before it, and their data.

    Attributes:
        purpose: one sentence for the work request.
        stages: in order; the targets of stage n are used by the program of stage n.
        programs: source by path.
        data: what the agent is given, by path.
        hidden: other records under the same paths.
    """

    purpose: str
    stages: tuple[Stage, ...]
    programs: Mapping[str, str]
    data: Mapping[str, str]
    hidden: Mapping[str, str]


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
        code: folders of code, the same; what verifiers of functions read.
        tests: folder of upstream tests inside them.
        names: source that binds the names which ``cases`` use.
        targets: for each stage of the pipeline, the functions of which the seed picks one.
        pipeline: builds programs and data.
        untested: upstream tests (``module`` or ``module::test``) that look at the interpreter rather than
            at the package, or cannot run without a test runner; with the reason.
        own_raises: test modules whose subject is the package's own ``raises``.
    """

    name: str
    version: str
    sdist_sha256: str
    licence: str
    keep: tuple[str, ...]
    licence_file: str
    code: tuple[str, ...]
    tests: str
    names: str
    targets: tuple[tuple[Target, ...], ...]
    pipeline: Callable[[Draws], Pipeline]
    untested: Mapping[str, str] = field(default_factory=dict)
    own_raises: tuple[str, ...] = ()
