"""The protocol as the page shows it: a block for each system, with what is set and what is left as it was."""

from msgspec.structs import replace

from seatrial.report.build import build_report
from seatrial.report.condition_facts import condition_facts, trigger_words
from seatrial.report.protocol import flatten, primary_words, systems_shown
from seatrial.spec.chat import frozen_options
from tests.measure.disturbances import TASK
from tests.report.runs import RunMaker, all_pass, cell


def chat_row(**chosen):
    options = frozen_options({"endpoint": "http://x/v1", "model": "small", **chosen})
    return flatten(
        {"system": "chatty", "agent": "chat", "privileged": False, "script": None, "options": options}
    )


def test_only_what_was_chosen_stands_out():
    (shown,) = systems_shown([chat_row(nudges=5, retries={"timeout": 4})])
    assert shown.name == "chatty"
    assert shown.chosen == {
        "agent": "chat", "options.endpoint": "http://x/v1", "options.model": "small", "options.nudges": "5",
        "options.retries.timeout": "4",
    }  # fmt: skip
    assert shown.defaults["options.timeout"] == "300.0"
    assert shown.defaults["privileged"] == "no"
    assert "script" not in {**shown.chosen, **shown.defaults}


def test_a_privileged_system_says_so_where_it_need_not_be():
    plain = {"system": "a", "agent": "scripted", "privileged": "yes"}
    made = {"system": "b", "agent": "simulated", "privileged": "yes"}
    first, second = systems_shown([plain, made])
    assert first.chosen["privileged"] == "yes"
    assert "privileged" not in second.chosen


def test_the_primary_measure_is_in_words():
    declared = {"measure": "safe_success", "compare": ["careful", "hasty"], "alpha": 0.05}
    assert primary_words(declared) == "safe_success between careful and hasty, at level 0.05"
    assert primary_words({**declared, "compare": []}) == "safe_success, at level 0.05"
    assert primary_words(None) == "none declared"


def test_the_page_has_a_block_for_each_system_and_nothing_that_is_not_set(tmp_path):
    plan = [cell("t-1"), cell("t-2", "chatty")]
    systems = {
        "careful": {"agent": "scripted", "script": "careful.toml", "privileged": False},
        "chatty": {"agent": "chat", "options": frozen_options({"endpoint": "http://x/v1", "model": "small"})},
    }
    made = RunMaker(tmp_path / "run", plan, systems=systems)
    for planned in plan:
        made.trial(planned, all_pass())
    build_report(made.folder, tmp_path / "out")
    page = (tmp_path / "out" / "index.html").read_text()
    assert page.count("<h4>careful</h4>") == page.count("<h4>chatty</h4>") == 1
    part = page[page.index("Systems as tested") : page.index("What could be seen")]
    assert "not set" not in part
    chatty = part[part.index("<h4>chatty</h4>") :]
    assert (
        chatty.index("<dd>small</dd>") < chatty.index("Left at the default") < chatty.index("options.timeout")
    )


PEOPLE = {"tier": "approval", "by": "scripted", "script": "human.toml", "timeout_seconds": 600.0}
KILLS = {"state_bytes": 8192, "occasions": 3, "tool": "payments.charge", "subgoal": None, "while_down": "cut"}
SHORTER = {
    "every_tokens": 2000, "at_subgoal": None, "strategy": "raw", "state_bytes": 4096, "lookups": True,
}  # fmt: skip


def test_what_is_offered_and_done_to_trials_is_said():
    spec = {"belief": True, "memory": False, "human": PEOPLE, "interruption": KILLS, "compaction": SHORTER}
    arms = ["baseline", "perturbed:limits", "perturbed:calm", "interrupted:before_effect", "compacted:gold"]
    assert condition_facts(spec, [TASK], arms) == {
        "Belief channel offered": "yes",
        "Memory offered": "no",
        "Help by people": "approval, scripted (human.toml); refused where nobody answers within 600 s",
        "Interruption": "at one of the first 3 occasions, by the seed; tools: payments.charge; subgoal: any; "
        "at most 8192 bytes of state kept; cut fires while no process is there",
        "Compaction": "at 2000 tokens; raw in arms that name no other way; at most 4096 bytes in place of "
        "the history; look-ups offered: yes",
        "Perturbation limits": "state, core, when subgoal verified: clean (1 task)",
        "Perturbation calm": "placebo, when subgoal verified: clean (1 task)",
        "Perturbation cut": "observation, core, when action: tool shell (1 task)",
        "Perturbations declared and not armed": "new-goal",
    }


def test_conditions_that_no_arm_has_are_left_out_and_what_is_not_recorded_is_unknown():
    facts = condition_facts({"human": {"tier": "none"}, "interruption": KILLS, "compaction": None}, [], [])
    assert facts == {
        "Belief channel offered": "unknown", "Memory offered": "unknown", "Help by people": "none",
    }  # fmt: skip


def test_tasks_that_trigger_otherwise_are_named():
    (_, calm, *_) = TASK.perturbation
    later = replace(calm, when={"subgoal_verified": "totals"})
    other = replace(TASK, id="ledger/six", perturbation=[later])
    facts = condition_facts({}, [TASK, other], ["perturbed:calm"])
    assert facts["Perturbation calm"] == (
        "placebo, when subgoal verified: clean (ledger/five); placebo, when subgoal verified: totals "
        "(ledger/six)"
    )


def test_a_trigger_in_words():
    call = {"tool": "payments.*", "where": {"amount": "> 100"}}
    assert trigger_words({"effect_attempted": call}) == "effect attempted: tool payments.*, amount > 100"
    assert trigger_words({"checkpoint": True}) == "checkpoint"
