"""The study of disturbed trials can fail: it tells what is not as it was simulated, and exits with 1."""

from types import SimpleNamespace

import pytest

from benchmarks import disturbed_ablation, disturbed_coverage, disturbed_studies, disturbed_truth
from benchmarks.disturbed_ablation import ABLATION_ARMS, ABLATION_MEASURES, ABLATIONS, SYSTEMS
from benchmarks.disturbed_replay import disturbed_truth as known_truth
from benchmarks.disturbed_runs import NOTHING, Charged, Runs, config_of, differences
from benchmarks.disturbed_studies import GOAL, POINTS, RATE
from benchmarks.disturbed_task import write_disturbed
from benchmarks.findings import Findings
from seatrial.spec.loading import load_task

SEEDS = 30


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    return load_task(write_disturbed(tmp_path_factory.mktemp("disturbed") / "small"))


def attempt(system, arm, repeat, record):
    """One trial as if it had been run: its record is what the replay says."""
    verdict = "pass" if record.local_right else "fail"
    judged = () if record.local_right is None else ("local-1", "local-2")
    local = {name: [verdict] for name in judged}
    planned = SimpleNamespace(system=system, arm=arm, repeat=repeat, trial=f"{system}.{arm}.{repeat}")
    return SimpleNamespace(
        planned=planned, record=record, verdicts=SimpleNamespace(final=local), blind_actions=0
    )


@pytest.fixture
def replayed(task, monkeypatch):
    """Studies on replays in place of runs; ``alter`` may change what is measured."""

    def use(module, alter=lambda planned, record: record):
        def play(folder, systems, arms, trials, workers, offered=NOTHING):
            counted, truths = [], {}
            for system, options in systems.items():
                config = config_of(task, options)
                for arm in arms:
                    for seed in range(trials):
                        known = known_truth(config, seed, arm, offered)
                        record = SimpleNamespace(**vars(known), regression_depth=0.0)
                        one = attempt(system, arm, seed, record)
                        one.record = alter(one.planned, record)
                        counted.append(one)
                        truths[one.planned.trial] = known
            wrong = [text for one in counted for text in differences(one, truths[one.planned.trial])]
            return Runs(SimpleNamespace(counted=counted), truths, wrong)

        monkeypatch.setattr(module, "play", play)

    return use


def altered(measure, value, arm=None, system=None):
    def alter(planned, record):
        if arm in (None, planned.arm) and system in (None, planned.system):
            setattr(record, measure, value)
        return record

    return alter


def test_what_is_replayed_is_as_it_should_be(replayed):
    for module, study in (
        (disturbed_studies, disturbed_studies.means),
        (disturbed_studies, disturbed_studies.placebo),
        (disturbed_ablation, disturbed_ablation.ablation),
    ):
        replayed(module)
        found = study(SEEDS, 1)
        assert found.wrong == [], found.what
        assert found.lines[0].endswith("0 differences from their replay")


def test_one_measure_that_is_off_is_noticed(replayed):
    replayed(disturbed_studies, altered("recovery_cost", 6.0, RATE))
    found = disturbed_studies.means(SEEDS, 1)
    assert any("recovery_cost is 5.0, measured 6.0" in text for text in found.wrong)


def test_a_mean_far_from_what_was_set_is_noticed(replayed):
    replayed(disturbed_studies, altered("adopted", True, GOAL))
    found = disturbed_studies.means(SEEDS, 1)
    assert any(text.startswith("outside:") and "adopted" in text for text in found.wrong)


def test_a_habit_that_moves_what_it_should_not_is_noticed(replayed):
    replayed(disturbed_ablation, altered("residue_actions", 5, GOAL, "no-memory"))
    wrong = disturbed_ablation.ablation(SEEDS, 1).wrong
    assert any("without memory" in text and "residue_actions moved, and should not" in text for text in wrong)


def test_a_habit_that_moves_nothing_is_noticed(replayed):
    replayed(disturbed_ablation, altered("recovered", False, RATE))
    wrong = disturbed_ablation.ablation(SEEDS, 1).wrong
    assert any("without re-reading" in text and "recovered should move down" in text for text in wrong)


def test_every_expected_move_names_an_arm_and_a_measure_that_are_compared():
    for _, before, after, moved in ABLATIONS:
        assert {before, after} <= set(SYSTEMS)
        assert set(moved) <= set(ABLATION_ARMS)
        assert {measure for measures in moved.values() for measure in measures} <= set(ABLATION_MEASURES)


def test_a_placebo_that_does_something_is_noticed(replayed):
    replayed(disturbed_studies, altered("actions", 99, disturbed_studies.PLACEBO))
    assert any("moves actions" in text for text in disturbed_studies.placebo(SEEDS, 1).wrong)


def counts(monkeypatch, charged):
    monkeypatch.setattr(
        disturbed_studies, "charged", lambda runs, attempts: (charged(one.record) for one in attempts)
    )


def as_paid(record):
    paid = record.duplicate_effects + 1
    return Charged(journal=paid, ledger=paid, unknown=0, lost=0)


def test_kills_that_are_counted_rightly(replayed, monkeypatch):
    replayed(disturbed_studies)
    counts(monkeypatch, as_paid)
    found = disturbed_studies.kills(SEEDS, 1)
    assert (found.wrong, len(found.lines)) == ([], 1 + 2 * len(POINTS))


@pytest.mark.parametrize(
    ("charged", "said"),
    [
        (lambda r: Charged(journal=1, ledger=2, unknown=0, lost=0), "journal and ledger disagree"),
        (lambda r: Charged(journal=9, ledger=9, unknown=0, lost=0), "journal and ledger disagree"),
        (lambda r: Charged(**{**vars(as_paid(r)), "lost": 1}), "1 acknowledged payments are lost"),
    ],
)
def test_payments_that_do_not_add_up_are_noticed(replayed, monkeypatch, charged, said):
    replayed(disturbed_studies)
    counts(monkeypatch, charged)
    assert any(said in text for text in disturbed_studies.kills(2, 1).wrong)


def test_who_sends_a_key_and_pays_twice_is_noticed(replayed, monkeypatch):
    replayed(disturbed_studies, altered("duplicate_effects", 1, system="idempotent"))
    counts(monkeypatch, as_paid)
    assert any("paid twice in 2 trials" in text for text in disturbed_studies.kills(2, 1).wrong)


def test_an_end_that_is_not_unknown_is_noticed(replayed, monkeypatch):
    replayed(disturbed_studies)
    counts(monkeypatch, as_paid)
    wrong = disturbed_studies.acknowledgement(2, 1).wrong
    assert "blind: the end of a payment is not unknown" in wrong


def test_intervals_that_miss_what_was_set_are_noticed(monkeypatch):
    monkeypatch.setattr(disturbed_coverage, "BATCHES", 30)
    assert disturbed_coverage.coverage(1, 1).wrong == []
    _, estimate = disturbed_coverage.questions()[GOAL, "adopted"]
    monkeypatch.setattr(disturbed_coverage, "questions", lambda: {(GOAL, "adopted"): (0.55, estimate)})
    assert any("does not cover" in text for text in disturbed_coverage.coverage(1, 1).wrong)


def test_it_exits_with_1_when_something_is_wrong(monkeypatch, capsys):
    asked = []

    def study(name, wrong):
        def run(trials, workers):
            asked.append((name, trials, workers))
            return Findings(name, ["a figure"], wrong)

        return run

    studies = {name: study(name, []) for name in ("means", "kills")}
    monkeypatch.setattr(disturbed_truth, "STUDIES", studies)
    assert disturbed_truth.main(["7", "--workers", "3", "--kills", "9"]) == 0
    assert asked == [("means", 7, 3), ("kills", 9, 3)]
    assert "means: a figure" in capsys.readouterr().out
    studies["kills"] = study("kills", ["paid twice"])
    assert disturbed_truth.main(["7", "--only", "means"]) == 0
    assert disturbed_truth.main(["7"]) == 1
    assert "kills: paid twice" in capsys.readouterr().out
