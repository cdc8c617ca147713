"""What a perturbation changes: the ``change`` of ``task.toml`` as one struct for each form.

The first key of each form says which it is.
"""

from collections.abc import Mapping
from typing import Literal

from seatrial.spec.faults import Source, choose, shown
from seatrial.spec.reading import convert
from seatrial.spec.task import Perturbation, Strict

Service = Literal["deploy", "mail", "payments", "sql", "tickets", "web"]


class WriteFile(Strict, frozen=True, kw_only=True):
    """A file of the task (``write``) takes the place of a path of the state (``to``).

    Mode and owner stay those of the file that is there; a new one is the agent's unless ``owner`` says else.
    """

    write: str
    to: str
    owner: Literal["agent", "base"] | None = None


class DeletePaths(Strict, frozen=True, kw_only=True):
    """Everything that a ``files:`` pattern covers goes, folders with all below them."""

    delete: str


class RunScript(Strict, frozen=True, kw_only=True):
    """A script of the task runs in the sandbox as the agent; ``to`` names what it changes, for lint."""

    script: str
    to: str | None = None


class SetRows(Strict, frozen=True, kw_only=True):
    """Rows of a service become what a file of the task says (``set``): tables of tables of rows."""

    service: Service
    set: str


class RevokeApproval(Strict, frozen=True, kw_only=True):
    """An approval of the task holds no more."""

    revoke: str


class Pollute(Strict, frozen=True, kw_only=True):
    """Something untrue gets into one channel.

    Attributes:
        channel: ``memory`` and ``summary`` are kept outside the agent's process; ``workspace`` is a file;
            ``report`` is what another party says at the end of the next answer.
        source: what kind of untruth it is.
        key: of the memory; path of the file (``files:…``); name of the report.
        value: what is planted.
    """

    channel: Literal["memory", "summary", "workspace", "report"]
    source: Literal["own_error", "stale_fact", "other_agent", "partial_result"]
    key: str
    value: str


class Alteration(Strict, frozen=True, kw_only=True):
    """What alters actions one by one. ``tool`` narrows which, where the trigger does not name the action.

    Attributes:
        times: how many actions are altered, each a firing of its own.
    """

    times: int = 1
    tool: str | None = None


class Truncate(Alteration, frozen=True, kw_only=True):
    """Only so many bytes of an answer are shown, and nothing says that there was more."""

    truncate: int


class Delay(Alteration, frozen=True, kw_only=True):
    """An answer comes so many seconds late, on the trial clock."""

    delay: float


class FailOnce(Alteration, frozen=True, kw_only=True):
    """The action does not run and this text is the answer; the next try is not touched."""

    error: str


class Append(Alteration, frozen=True, kw_only=True):
    """The text of a file of the task stands at the end of the answer."""

    append: str


class NewGoal(Strict, frozen=True, kw_only=True):
    """Another version of the goal holds from now on, and the agent is told."""

    goal: int


FaultName = Literal["lost_ack", "delay", "rate_limit", "transient", "partial", "expired_credential", "partly"]
# Tools that run nothing in the world, so that neither their execution nor their answer is altered.
UNALTERABLE = (
    "finish", "give_up", "report_belief", "ask_human", "request_approval", "remember", "recall", "history",
)  # fmt: skip
SHELL_FAULTS = ("delay", "lost_ack", "partly", "transient")


class Fault(Alteration, frozen=True, kw_only=True):
    """The execution of an action goes wrong; ``seconds`` belongs to ``delay``."""

    fault: FaultName
    seconds: float | None = None


Change = (
    WriteFile | DeletePaths | RunScript | SetRows | RevokeApproval | Pollute | Truncate | Delay | FailOnce
    | Append | NewGoal | Fault
)  # fmt: skip
FORMS: Mapping[str, Mapping[str, type[Change]]] = {
    "state": {
        "write": WriteFile, "delete": DeletePaths, "script": RunScript, "service": SetRows,
        "revoke": RevokeApproval, "channel": Pollute,
    },
    "observation": {"truncate": Truncate, "delay": Delay, "error": FailOnce, "append": Append},
    "goal": {"goal": NewGoal},
    "execution": {"fault": Fault},
}  # fmt: skip
# Keys whose value is the path of a file of the task.
TASK_FILES = ("write", "script", "set", "append")


def read_change(source: Source, place: str, perturbation: Perturbation) -> Change | None:
    """The change a perturbation declares; null for a placebo.

    Raises:
        SpecError: no known form, or keys that do not belong to it.
    """
    change = perturbation.change
    if perturbation.kind == "placebo":
        if change:
            raise source.fault(place, f"{shown(change)} in a placebo, which changes nothing", "Remove it")
        return None
    forms = FORMS[perturbation.kind]
    if not change:
        raise source.fault(
            place, f"a perturbation of kind {shown(perturbation.kind)} changes nothing",
            f"Write what is changed: {', '.join(forms)}",
        )  # fmt: skip
    named = [key for key in change if key in forms]
    if len(named) != 1:
        odd = next((key for key in change if key not in forms), None)
        problem = f"{shown(change)} names {len(named)} of the changes of kind {shown(perturbation.kind)}"
        raise source.fault(place, problem, choose(odd, forms, "exactly one change"))
    return convert(source.within(place), change, forms[named[0]])


def change_of(perturbation: Perturbation) -> Change | None:
    """The change of a perturbation that was checked before."""
    return read_change(Source(f"perturbation {perturbation.id}"), "change", perturbation)
