"""Commands with many options take them in dataclasses; each field is an option on the command line."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints


def flat(command: Callable[..., None]) -> Callable[..., None]:
    """A command as typer can read it, from one whose parameters may be dataclasses of options.

    Args:
        command: its dataclasses hold ``Annotated`` fields with defaults, like any typer option.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            parameters += _options(groups[name])
        else:
            parameters.append(parameter.replace(kind=_BY_NAME, annotation=hints[name]))

    @functools.wraps(command)
    def called(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{option.name: given.pop(option.name) for option in fields(kind)})
        command(**given)

    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    called.__dict__["__signature__"] = inspect.Signature(parameters)
    return called


_BY_NAME = inspect.Parameter.KEYWORD_ONLY


def _options(kind: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    return [
        inspect.Parameter(option.name, _BY_NAME, default=option.default, annotation=hints[option.name])
        for option in fields(kind)
    ]
