"""Every error the package raises on purpose, grouped by where the fault lies.

A message says what failed, shows the value and says what to do. Commands turn any of these into one
line on stderr and exit code 2; nothing else catches them wholesale.
"""

import errno

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class SeatrialError(Exception):
    """Base of all deliberate errors."""


class SpecError(SeatrialError):
    """A task, experiment, script or other input file is wrong.

    Args:
        file: the file as the user named it.
        place: where in it: a key path such as ``subgoal[2].after``, or ``line 3``; empty for the file itself.
        problem: what is wrong, with the offending value shown.
        remedy: what to do about it, one imperative sentence.
    """

    def __init__(self, file: str, place: str, problem: str, remedy: str) -> None:
        self.file, self.place, self.problem, self.remedy = file, place, problem, remedy
        where = f"{file}: {place}" if place else file
        super().__init__(f"{where}: {problem}. {remedy}")


class TaskFault(SpecError):
    """What a task brings along failed while a trial used it, such as a script: neither host nor agent did."""


class UsageError(SeatrialError):
    """A command was asked for something that does not exist or makes no sense."""


class JournalError(SeatrialError):
    """A journal, object or run folder is damaged or does not fit what is asked of it."""


class EnvironmentFault(SeatrialError):
    """The host could not provide or keep the environment; never the agent's doing."""


class StateOverrun(SeatrialError):
    """The agent's files passed what an environment records: the agent's doing, never the host's."""


class AgentFault(SeatrialError):
    """The agent's process broke the protocol or could not be started."""


class VerifierFault(SeatrialError):
    """A verifier could not be run at all (not the same as its verdict ``error``)."""


def out_of_room(fault: BaseException | None) -> bool:
    """Whether an error stands for a disk, a quota or an allowed file size that is used up."""
    while fault is not None:
        if isinstance(fault, OSError) and fault.errno in _NO_ROOM:
            return True
        fault = fault.__cause__
    return False
