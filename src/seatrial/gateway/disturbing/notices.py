"""How an agent is told that its goal has changed, or what another party reports."""

from dataclasses import dataclass

from seatrial.spec.task import Goal

NEW, OLD = "[New instruction]", "[Instruction]"


@dataclass(frozen=True)
class Notice:
    """What is added to an answer, above and below it; empty texts add nothing."""

    above: str
    below: str

    @property
    def text(self) -> str:
        """All that is added, as it is recorded."""
        return "\n\n".join(part for part in (self.above, self.below) if part)

    def around(self, answer: str) -> str:
        """An answer with the notice."""
        return "\n\n".join(part for part in (self.above, answer.rstrip("\n"), self.below) if part)


def goal_notice(goal: Goal, instruction: str, before: str) -> Notice:
    """The notice of a goal version.

    With ``prominent = "new"`` the new instruction stands below the answer under a heading. With ``"old"`` the
    earlier instruction is repeated whole above the answer under a heading, and the new one stands at the very
    end without any.

    Args:
        before: instruction of the version that held.
    """
    new, old = instruction.strip("\n"), before.strip("\n")
    if goal.prominent == "old":
        return Notice(f"{OLD}\n{old}", new)
    return Notice("", f"{NEW}\n{new}")


def report_notice(name: str, value: str) -> Notice:
    """What another party says, as it reaches the agent with an answer."""
    return Notice("", f"[report: {name}]\n{value}")
