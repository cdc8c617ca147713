"""toolz 1.0.0: pure Python, BSD, brings its tests in the sdist."""

from seatrial.families.repair.package import Package
from seatrial.families.repair.packages.toolz_pipeline import pipeline
from seatrial.families.repair.packages.toolz_targets import NAMES, STAGE_TARGETS

INTERPRETER = "asks the interpreter about signatures of built-ins, which differ between releases"

TOOLZ = Package(
    name="toolz",
    version="1.0.0",
    sdist_sha256="2c86e3d9a04798ac556793bced838816296a2f085017664e4995cb40a1047a02",
    licence="BSD-3-Clause",
    keep=("toolz", "tlz", "LICENSE.txt", "README.rst", "AUTHORS.md"),
    licence_file="LICENSE.txt",
    code=("toolz", "tlz"),
    tests="toolz/tests",
    names=NAMES,
    targets=STAGE_TARGETS,
    pipeline=pipeline,
    untested={
        "test_compatibility": "asserts that importing a module warns, not what the package computes",
        "test_curried_doctests": "runs a test runner of the standard library on docstrings",
        "test_signatures": INTERPRETER,
        "test_inspect_args::test_introspect_builtin_modules": INTERPRETER,
        "test_inspect_args::test_inspect_wrapped_property": INTERPRETER,
        "test_inspect_args::test_inspect_signature_property": INTERPRETER,
        "test_inspect_args::test_has_unknown_args": INTERPRETER,
        "test_inspect_args::test_num_required_args": INTERPRETER,
        "test_inspect_args::test_has_keywords": INTERPRETER,
        "test_inspect_args::test_has_varargs": INTERPRETER,
        "test_inspect_args::test_is_arity": INTERPRETER,
        "test_curried::test_curried_operator": INTERPRETER,
        "test_curried::test_curried_namespace": INTERPRETER,
        "test_dicttoolz::test_environ": "compares with the process environment, which differs in a probe",
        "test_functoolz::test_compose_metadata": INTERPRETER,
        "test_functoolz::test_excepts": "compares docstrings, whose indentation differs between releases",
    },
    own_raises=("test_utils",),
)
