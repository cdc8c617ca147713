"""funcy 2.1: pure Python, BSD; its tests lie beside the package."""

from seatrial.families.repair.package import Package
from seatrial.families.repair.packages.funcy_targets import NAMES, TARGETS

FUNCY = Package(
    name="funcy",
    version="2.1",
    sdist_sha256="8979feb3de7120afd1d00e5a8eae810c1942e4bfbc91697151e9ee1e49f79284",
    licence="BSD-3-Clause",
    keep=("funcy", "tests", "LICENSE", "README.rst", "CHANGELOG"),
    licence_file="LICENSE",
    code="funcy",
    tests="tests",
    names=NAMES,
    targets=TARGETS,
    aliases=(
        ("funcy", ("deedly", "workly", "handly")),
        (r"(?<=[./'_])seqs\b", ("rows_of", "flows", "lines_of")),
        (r"(?<=[./'_])tree\b", ("boughs", "nests", "branches")),
    ),
)
