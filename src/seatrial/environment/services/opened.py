"""The services of one world, open to the sandbox: rows, sockets, and what both need of the world."""

import contextlib
from dataclasses import dataclass

from seatrial.environment.confine.box import Mount
from seatrial.environment.services.http import ServiceServer
from seatrial.environment.services.services import Services
from seatrial.environment.services.stock import Stock
from seatrial.environment.state.overlay import remove_tree
from seatrial.environment.state.tracker import Tracker
from seatrial.journal.entries import State, is_row
from seatrial.journal.objects import ObjectStore

# Where the sockets are inside; the variable says where they really are, which differs without a sandbox.
SOCKETS, SOCKETS_VARIABLE = "/run/services", "SERVICE_SOCKETS"


@dataclass
class OpenServices:
    """What a world holds of its services.

    Attributes:
        services: takes calls.
        server: takes them by HTTP; whoever judges calls gives it a ``responder``.
        mounts: for the world's box.
        environment: for every command in it.
    """

    services: Services
    server: ServiceServer
    mounts: list[Mount]
    environment: dict[str, str]
    folder: str

    def settle_into(self, tracker: Tracker) -> None:
        """Let a tracker know of every row that was touched; its next report holds the changes.

        Raises:
            StateOverrun: the state has grown beyond its bound.
            Exception: what broke a call by HTTP, which nobody else was told of.
        """
        if self.server.broken is not None:
            raise self.server.broken
        tracker.put_rows(self.services.settle())

    def agree_with(self, tracker: Tracker) -> bool:
        """Whether the rows, read anew, are those that a tracker knows."""
        known = {path: entry.identity() for path, entry in tracker.state().items() if is_row(path)}
        return known == {path: entry.identity() for path, entry in self.services.entries().items()}

    def close(self) -> None:
        """Close sockets and databases and remove both."""
        self.server.close()
        self.services.close()
        remove_tree(self.folder)
        remove_tree(self.server.folder)


def open_services(
    stock: Stock | None, scratch: str, sockets: str, objects: ObjectStore, rows: State, confined: bool
) -> OpenServices | None:
    """Open the services of a world; null where the task has none.

    Args:
        stock: what they begin with.
        scratch: new folder for the databases.
        sockets: new folder for the sockets.
        objects: for rows.
        rows: the difference from the stock.
        confined: whether the sockets are mounted at ``SOCKETS``.

    Raises:
        OSError, EnvironmentFault: they cannot be opened.
    """
    if stock is None:
        return None
    with contextlib.ExitStack() as undo:
        undo.callback(remove_tree, scratch)
        services = Services(stock, scratch, objects, rows)
        undo.callback(services.close)
        server = ServiceServer(services.names, sockets)
        undo.pop_all()
    place = SOCKETS if confined else sockets
    return OpenServices(services, server, [Mount(sockets, SOCKETS)], {SOCKETS_VARIABLE: place}, scratch)
