"""Whatever is written in a file, the loader answers with a value or with one clear error."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.errors import SpecError
from seatrial.spec.identity import freeze
from seatrial.spec.lint import lint_task
from seatrial.spec.loading import load_experiment, load_script, load_task
from tests.spec.folders import EXPERIMENT, SCRIPT, TASK, changed, toml, write_experiment, write_task
from tests.spec.test_perturbation_rules import GOOD

FULL_TASK = {
    **TASK,
    "budget": {"actions": 5},
    "constraint": [{"id": "c", "forbid": {"call": [{"tool": "shell", "where": {"command": "~ rm"}}]}}],
    "perturbation": [GOOD],
    "human_minutes": {"times": [3]},
}
FULL_EXPERIMENT = {
    **EXPERIMENT,
    "arms": ["baseline"],
    "primary": {"measure": "safe_success", "compare": ["careful", "hasty"]},
}
words = st.sampled_from(
    ["", "..", "/", "a\0b", "[", "~ (", "files:[", "é", "shell", "first-part", "*", "solutions"]
)
scalars = words | st.text(max_size=5) | st.integers() | st.floats() | st.booleans()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2)
)


def paths(plain, above=""):
    """Key paths of all values, as ``changed`` takes them."""
    items = plain.items() if isinstance(plain, dict) else enumerate(plain) if isinstance(plain, list) else ()
    for key, inner in items:
        yield f"{above}{key}"
        yield from paths(inner, f"{above}{key}.")


def encodable(plain):
    try:
        return toml(plain).encode()
    except UnicodeEncodeError:
        return None


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(paths(FULL_TASK))), values | st.none())
def test_a_task_with_anything_anywhere(path, value):
    text = encodable(changed(FULL_TASK, {path: value}))
    with tempfile.TemporaryDirectory() as home:
        folder = write_task(Path(home))
        (folder / "task.toml").write_bytes(text or b"")
        try:
            lint_task(load_task(folder))
        except SpecError as error:
            assert error.remedy and "\n" not in str(error)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(paths(FULL_EXPERIMENT))), values | st.none())
def test_an_experiment_with_anything_anywhere(path, value):
    text = encodable(changed(FULL_EXPERIMENT, {path: value}))
    with tempfile.TemporaryDirectory() as home:
        file = write_experiment(Path(home))
        file.write_bytes(text or b"")
        try:
            loaded = load_experiment(file)
        except SpecError as error:
            assert error.remedy and "\n" not in str(error)
        else:
            if loaded.spec.trials_per_task < 100:
                freeze(loaded)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=40), st.integers(0, len(SCRIPT)))
def test_a_script_with_any_bytes_in_it(noise, at):
    with tempfile.TemporaryDirectory() as home:
        file = Path(home) / "script.toml"
        file.write_bytes(SCRIPT[:at].encode() + noise + SCRIPT[at:].encode())
        try:
            load_script(file)
        except SpecError as error:
            assert error.remedy and "\n" not in str(error)
