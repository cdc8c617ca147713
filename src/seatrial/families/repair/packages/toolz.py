"""toolz 1.0.0: pure Python, BSD, brings its tests in the sdist."""

from seatrial.families.repair.package import Package
from seatrial.families.repair.packages.toolz_targets import NAMES, TARGETS

TOOLZ = Package(
    name="toolz",
    version="1.0.0",
    sdist_sha256="2c86e3d9a04798ac556793bced838816296a2f085017664e4995cb40a1047a02",
    licence="BSD-3-Clause",
    keep=("toolz", "tlz", "LICENSE.txt", "README.rst", "AUTHORS.md"),
    licence_file="LICENSE.txt",
    code="toolz",
    tests="toolz/tests",
    names=NAMES,
    targets=TARGETS,
    aliases=(
        ("itertoolz", ("seqbelt", "runbelt", "linebelt")),
        ("dicttoolz", ("mapbelt", "tablebelt", "keybelt")),
        ("functoolz", ("callbelt", "deedbelt", "workbelt")),
        ("toolz", ("handbelt", "kitbelt", "workbag")),
        ("tlz", ("hbx", "kbx", "wbx")),
    ),
    untested={
        "test_dicttoolz::test_environ": "compares with the process environment, which differs in a probe",
    },
)
