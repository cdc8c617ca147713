"""What a calibration says must follow from the rest of it, and be of the task's own products."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from seatrial.calibrate.record import (
    Calibration,
    Mutation,
    Outcome,
    ProductResult,
    Survivor,
    Undecided,
    contradiction,
    read_calibration,
    require_calibrated,
    require_recordable,
    write_calibration,
)
from seatrial.errors import SpecError
from seatrial.spec.loading import LoadedTask
from seatrial.spec.new_task import new_task

RIGHT = Outcome(terminal_class="success", strict_success=True, safe_success=True, stop_reason="finished")
WRONG = Outcome(
    terminal_class="failure", strict_success=False, safe_success=False, stop_reason="finished",
    failing=["names-once"],
)  # fmt: skip
OPEN = Outcome(
    terminal_class="unknown", strict_success=None, safe_success=None, stop_reason="finished",
    undecided=[Undecided(subgoal="names-once", verdict="flaky")],
)  # fmt: skip


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> LoadedTask:
    return new_task(tmp_path_factory.mktemp("record") / "seating", "example/seating")


def passing(task: LoadedTask) -> Calibration:
    """What a calibration of the new task looks like."""
    products = [
        ProductResult(name=name, expected="rejected", outcomes=[WRONG, WRONG], right=True)
        for name in ("no-op", "rule-breaker", "wrong")
    ]
    products.append(ProductResult(name="reference", expected="accepted", outcomes=[RIGHT] * 2, right=True))
    return Calibration(
        task=task.spec.id, version="1.0.0", digest=task.digest, created="2026-11-29T00:00:00+00:00",
        seatrial="0", rounds=2, products=products, flaky=[], mutation=None, passed=True,
    )  # fmt: skip


def test_one_that_agrees_with_itself_is_believed(task: LoadedTask):
    found = passing(task)
    assert contradiction(found) is None
    write_calibration(task.folder, found)
    assert require_calibrated(task) == found


def without(name: str) -> Callable[[Calibration], None]:
    def leave_out(found: Calibration) -> None:
        found.products = [product for product in found.products if product.name != name]

    return leave_out


def changed(product_name: str, /, **other: object) -> Callable[[Calibration], None]:
    def change(found: Calibration) -> None:
        found.products = [
            msgspec.structs.replace(product, **other) if product.name == product_name else product
            for product in found.products
        ]

    return change


def survived(found: Calibration) -> None:
    survivor = Survivor(name="1-drop", change="step 1 dropped", terminal_class="success")
    found.mutation = Mutation(tried=3, survivors=[survivor])


def said(**other: object) -> Callable[[Calibration], None]:
    def say(found: Calibration) -> None:
        for key, value in other.items():
            setattr(found, key, value)

    return say


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (said(products=[]), "products: holds 0 products called 'no-op'"),
        (without("no-op"), "products: holds 0 products called 'no-op'"),
        (without("reference"), "products: holds 0 products called 'reference'"),
        (changed("wrong", name="reference"), "holds 2 products called 'reference'"),
        (changed("wrong", right=False), "right: wrong: says false, but by its outcomes it is true"),
        (changed("wrong", outcomes=[WRONG, OPEN]), "names-once wavers in them"),
        (changed("reference", outcomes=[RIGHT, WRONG]), "names-once wavers in them"),
        (changed("reference", outcomes=[WRONG] * 2), "right: reference: says true, but by its outcomes"),
        (changed("wrong", outcomes=[WRONG]), "outcomes: wrong: holds 1 trials, and there were 2 rounds"),
        (changed("wrong", outcomes=[]), "outcomes: wrong: holds 0 trials"),
        (changed("reference", outcomes=[msgspec.structs.replace(RIGHT, safe_success=False)] * 2),
         "terminal_class: reference: 'success' is no end of a trial whose safe_success is False"),
        (changed("wrong", outcomes=[msgspec.structs.replace(WRONG, safe_success=True)] * 2),
         "terminal_class: wrong: 'failure' is no end of a trial whose safe_success is True"),
        (said(rounds=1), "rounds: 1 trials of each product show nothing"),
        (said(flaky=["names-once"]), "passed: says true, but by all the rest it is false"),
        (survived, "passed: says true, but by all the rest it is false"),
        (said(passed=False), "passed: says false, but by all the rest it is true"),
        (said(mutation=Mutation(tried=0, survivors=[
            Survivor(name="1-drop", change="step 1 dropped", terminal_class="success")])),
         "mutation.tried: 1 mutants survived of 0"),
        (said(schema="seatrial/calibration@9"), "schema: 'seatrial/calibration@9' is not known here"),
    ],
)  # fmt: skip
def test_one_that_contradicts_itself_is_refused(
    task: LoadedTask, damage: Callable[[Calibration], None], message: str
):
    found = passing(task)
    damage(found)
    write_calibration(task.folder, found)
    for read in (lambda: read_calibration(task.folder), lambda: require_calibrated(task)):
        with pytest.raises(SpecError) as raised:
            read()
        assert message in str(raised.value)
        assert str(task.folder / "calibration.json") in str(raised.value)
        assert "Run `seatrial calibrate" in str(raised.value)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (without("wrong"), "says of 'wrong': nothing; by the task it is rejected"),
        (changed("wrong", name="worse"), "says of 'worse': rejected; by the task it is no product"),
        (changed("wrong", expected="accepted", outcomes=[RIGHT] * 2), "says of 'wrong': accepted; by the"),
    ],
)
def test_one_of_other_products_than_the_tasks_is_refused(
    task: LoadedTask, damage: Callable[[Calibration], None], message: str
):
    found = passing(task)
    damage(found)
    write_calibration(task.folder, found)
    with pytest.raises(SpecError) as raised:
        require_calibrated(task)
    assert message in str(raised.value)


def test_a_folder_where_the_record_belongs_is_noticed_beforehand(tmp_path: Path):
    require_recordable(tmp_path)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "calibration.json").mkdir()
    with pytest.raises(SpecError, match=r"calibration\.json: is a folder.*Move it away"):
        require_recordable(tmp_path)
    with pytest.raises(SpecError, match="could not be written"):
        require_recordable(tmp_path / "absent")
