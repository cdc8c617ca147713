"""A person's session as the terminal's process sees it: what an answer says beside the observation."""

import os
import signal
import threading
import time
from pathlib import Path

from seatrial.journal.events import ConstraintViolated
from seatrial.journal.reader import read_journal
from seatrial.schedule.open_run import hold_run
from seatrial.spec.loading import load_task
from seatrial.spec.new_task import new_task
from seatrial.spec.person import person_experiment
from seatrial.trial.job import TrialJob
from seatrial.trial.sessions.session import Answer, Ask, Session

# Waits for the next action, and breaks the rule while that one runs.
LATER = "(while [ ! -e now ]; do sleep 0.01; done; echo x >> answers.txt; touch then) > /dev/null 2>&1 &"


def shell(command: str) -> Ask:
    return Ask(what="act", tool="shell", arguments={"command": command})


def broken(answer: Answer) -> list[tuple[str, str, int, bool]]:
    return [(one.constraint, one.actor, one.step, one.hard) for one in answer.broken]


def test_each_violation_is_told_once_with_the_answer_that_it_came_with(tmp_path: Path) -> None:
    new_task(tmp_path / "guests", "example/guests")
    with hold_run(person_experiment(load_task(tmp_path / "guests")), tmp_path / "run") as held:
        (planned,) = held.manifest.plan
        job = TrialJob(run=str(held.run.folder), trial=planned.trial, attempt=1)
        with Session(job) as session:
            assert session.start.broken == []
            assert broken(session.ask(shell("ls"))) == []
            assert broken(session.ask(shell("echo x >> answers.txt"))) == [("answers-stay", "human", 2, True)]
            assert broken(session.ask(Ask(what="look"))) == []
            assert broken(session.ask(shell(LATER))) == []
            told = broken(session.ask(shell("touch now; while [ ! -e then ]; do sleep 0.01; done")))
            assert [(constraint, step) for constraint, _, step, _ in told] == [("answers-stay", 4)]
            end = session.ask(Ask(what="act", tool="finish", arguments={}))
            assert (end.stop_reason, end.broken) == ("finished", [])
        events = read_journal(held.run.journal_path(planned.trial, 1)).events
    assert sum(isinstance(event, ConstraintViolated) for event in events) == 2


def interrupted_after(session: Session, seconds: float, command: str) -> Answer:
    """Ask for a command and interrupt this process so much later, wherever the request is by then."""
    own = signal.getsignal(signal.SIGINT)

    def interrupt() -> None:
        # Before the request begins an interrupt is for whoever asks, as at any other time.
        while signal.getsignal(signal.SIGINT) is own:
            time.sleep(1e-5)
        time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGINT)

    later = threading.Thread(target=interrupt)
    later.start()
    try:
        return session.ask(shell(command), interruptible=True)
    finally:
        later.join()


def test_an_interrupt_ends_its_own_command_however_early_it_comes_and_no_other(tmp_path: Path) -> None:
    new_task(tmp_path / "guests", "example/guests")
    with hold_run(person_experiment(load_task(tmp_path / "guests")), tmp_path / "run") as held:
        (planned,) = held.manifest.plan
        with Session(TrialJob(run=str(held.run.folder), trial=planned.trial, attempt=1)) as session:
            # An interrupt lost on the way from the terminal to the command would leave it asleep.
            for tenths_of_ms in range(1, 61, 5):
                answer = interrupted_after(session, tenths_of_ms / 10_000, "sleep 600")
                assert answer.observation is not None
                assert answer.observation.text == "\n[interrupted]"
                following = session.ask(shell("echo whole"), interruptible=True)
                assert following.observation is not None
                assert (following.observation.outcome, following.observation.text) == ("ok", "whole\n")
