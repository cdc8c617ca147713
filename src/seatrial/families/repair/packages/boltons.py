"""boltons 26.2.0: pure Python, BSD; its tests lie beside the package."""

from seatrial.families.repair.package import Package
from seatrial.families.repair.packages.boltons_targets import NAMES, TARGETS

BOLTONS = Package(
    name="boltons",
    version="26.2.0",
    sdist_sha256="d39cfd15c1a1c3bd4d705c82252fa9edb8e4f5e8cc039f8e39afac7b1b47e92c",
    licence="BSD-3-Clause",
    keep=("boltons", "tests", "LICENSE", "README.md"),
    licence_file="LICENSE",
    code="boltons",
    tests="tests",
    names=NAMES,
    targets=TARGETS,
    aliases=(
        ("boltons", ("rivetry", "fixings", "brackets")),
        ("iterutils", ("seqparts", "runparts", "lineparts")),
        ("mathutils", ("sumparts", "numparts", "figparts")),
    ),
    untested={
        "test_iterutils::test_backoff_jitter": "rests on random numbers",
        "test_iterutils::test_guiderator": "looks at random identifiers",
        "test_iterutils::test_seqguiderator": "looks at random identifiers",
    },
)
