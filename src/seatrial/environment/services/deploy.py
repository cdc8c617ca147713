"""Deployment: which version of each service runs, and how it came to that."""

from typing import Any

from seatrial.environment.services.refusal import Refusal
from seatrial.environment.services.row import Row
from seatrial.environment.services.service import Service


class Deploy(Service):
    """No settings. A service runs one of its ``versions``, oldest first, or none yet."""

    name = "deploy"

    def do_release(self, given: dict[str, Any]) -> Any:
        """Write the release down, then let the version run."""
        service = self._known(given)
        if service["running"] == given["version"]:
            raise Refusal(409, f"version {given['version']!r} of {service['id']!r} runs already")
        return self._run(service, given["version"], "release")

    def do_rollback(self, given: dict[str, Any]) -> Any:
        """Bring back an earlier version; takes back the release of the one that runs."""
        service = self._known(given)
        versions, running = service["versions"], service["running"]
        if running not in versions or versions.index(given["version"]) >= versions.index(running):
            raise Refusal(409, f"version {given['version']!r} of {service['id']!r} is not before {running!r}")
        last = next(iter(self._history(service["id"])), None)
        if last is not None and last["kind"] == "release":
            self.compensates = last.get("ledger")
        return self._run(service, given["version"], "rollback")

    def do_status(self, given: dict[str, Any]) -> Any:
        """What runs, what could run, and the last changes, newest first."""
        service = self.need("services", given["service"], "service")
        history = [
            {name: row[name] for name in ("version", "was", "kind")} for row in self._history(service["id"])
        ]
        return {
            "service": service["id"], "running": service["running"], "versions": service["versions"],
            "history": history,
        }  # fmt: skip

    def _known(self, given: dict[str, Any]) -> Row:
        service = self.need("services", given["service"], "service")
        if given["version"] not in service["versions"]:
            raise Refusal(404, f"{service['id']!r} has no version {given['version']!r}")
        return service

    def _history(self, service: str) -> list[Row]:
        return self._store.newest(self.name, "releases", service)

    def _run(self, service: Row, version: str, kind: str) -> Any:
        release = {
            "service": service["id"], "version": version, "was": service["running"], "kind": kind,
            "ledger": self.number,
        }  # fmt: skip
        row = self.add("releases", release)
        self.put("services", {**service, "running": version})
        return {"id": row["id"], "service": service["id"], "running": version, "was": service["running"]}
