"""A web site: pages with links and forms, and what was sent by those forms."""

from typing import Any

from seatrial.environment.services.refusal import Refusal
from seatrial.environment.services.row import Row
from seatrial.environment.services.service import Service

# Lines of a page's text that are shown at once.
LINES = 40


class Web(Service):
    """Settings: ``lines`` of a page that are shown at once.

    A page may have a form ``{fields = [{name, required, choices}], adds_to, thanks}``, which is sent to the
    page's own path: what is sent must fit the fields; then a line with the values is added to the page
    ``adds_to``, if given.
    """

    name = "web"

    def do_get(self, given: dict[str, Any]) -> Any:
        """A part of a page."""
        page = self.need("pages", given["path"], "page")
        lines = str(page["text"]).split("\n")
        size = int(self.settings.get("lines", LINES))
        parts = max(1, -(-len(lines) // size))
        number = given.get("page") or 1
        if number not in range(1, parts + 1):
            raise Refusal(404, f"the page {page['id']!r} has {parts} parts")
        number = int(number)
        return {
            "path": page["id"], "title": page["title"], "page": number, "pages": parts,
            "text": "\n".join(lines[(number - 1) * size : number * size]),
            "links": page["links"], "form": page["form"] and {"fields": page["form"].get("fields", [])},
        }  # fmt: skip

    def do_submit(self, given: dict[str, Any]) -> Any:
        """Keep what was sent, then let it show."""
        form = self.need("pages", given["path"], "page")["form"]
        if form is None:
            raise Refusal(405, f"the page {given['path']!r} has no form")
        values = _fitting(form, given["form"])
        shows = None
        if form.get("adds_to") is not None:
            shows = self.need("pages", form["adds_to"], "page")
        sent = self.add("submissions", {"path": given["path"], "form": values})
        if shows is not None:
            line = ", ".join(f"{name}: {value}" for name, value in values.items())
            self.put("pages", {**shows, "text": f"{shows['text']}\n{line}" if shows["text"] else line})
        return {"id": sent["id"], "text": form.get("thanks", "Sent.")}


def _fitting(form: Row, given: Any) -> Row:
    """What was sent, in the order of the form's fields.

    Raises:
        Refusal: a field is unknown, missing or has another value than it offers.
    """
    if not isinstance(given, dict):
        raise Refusal(400, "the form must be an object: field to value")
    fields = {field["name"]: field for field in form.get("fields", [])}
    for name in given:
        if name not in fields:
            raise Refusal(400, f"the form has no field {name[:80]!r}; it has {', '.join(fields)}")
    for name, field in fields.items():
        value = given.get(name)
        if value in (None, "") and field.get("required", True):
            raise Refusal(400, f"the field {name!r} is missing")
        if value is not None and not isinstance(value, str | int | float):
            raise Refusal(400, f"the field {name!r} takes a text or a number")
        if value is not None and field.get("choices") and value not in field["choices"]:
            raise Refusal(400, f"the field {name!r} takes one of {', '.join(map(str, field['choices']))}")
    return {name: given[name] for name in fields if given.get(name) is not None}
