"""The protocol as the page shows it: a block for each system, with what is set and what is left as it was."""

from seatrial.report.build import build_report
from seatrial.report.protocol import flatten, primary_words, systems_shown
from seatrial.spec.chat import frozen_options
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
