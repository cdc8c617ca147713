"""The command line, a file or folder a verb. Ctrl-C ends in one line, also while verbs are being loaded."""

import sys
from types import TracebackType


def _say_interrupted(kind: type[BaseException], fault: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        print("seatrial: interrupted.", file=sys.stderr)
    else:
        sys.__excepthook__(kind, fault, trace)


sys.excepthook = _say_interrupted
