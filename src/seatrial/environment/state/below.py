"""An index of paths by folder: what a state holds below a folder, without a look at all the rest."""

from collections.abc import Iterable


class Below:
    """Paths by their parents. Paths are as entries have them."""

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self._children: dict[str, set[str]] = {}
        for path in paths:
            self.add(path)

    def add(self, path: str) -> None:
        """Put a path in; its parents need not be there."""
        while True:
            parent = path.rpartition("/")[0]
            siblings = self._children.get(parent)
            if siblings is not None:
                siblings.add(path)
                return
            self._children[parent] = {path}
            if not parent:
                return
            path = parent

    def of(self, folder: str) -> set[str]:
        """Every path below a folder, including those put in only as somebody's parent."""
        found: set[str] = set()
        pending = [folder]
        while pending:
            children = self._children.get(pending.pop())
            if children:
                found |= children
                pending += children
        return found
