"""The work request, in the words of an original or of a variant."""

from seatrial.families.repair.build import Instance

ORIGINAL = """\
# Put the products right

The programs under {programs}/ work up the day's {items} from {trade}.
They run in this order from /workspace; each reads what the one before it wrote:

{commands}

They lean on the {library} library, whose source is vendored in {code}/. Since the last change to that copy
the products are wrong, although the programs themselves have not been touched and are right. In each line of
work, every program uses at least one function that no longer does what its documentation says.

Please

1. find the faults in the vendored source and repair them there, so that the library again behaves as
   documented for every input and not only for this one. No module of it may come to need another module of
   it that it does not need now;
2. run the programs in order, so that everything in {products}/ is made anew from the data.

Leave the programs, the files in {data}/, {licence} and the library's own tests in {tests}/ as they are:
they must not be changed, not even for a moment. There is no network here and no test runner, only Python's
standard library. Say when you are done.
"""

VARIANT = """\
# Wrong results in {products}/

We get wrong results for {trade}.
The {items} of the day go through these programs, one after the other, started in /workspace:

{commands}

Somebody changed our copy of {library} ({code}/), and since then some of its functions do not do what they
promise. The programs in {programs}/ are as they always were; every one of them meets a broken function.

What we need from you:

- Correct the functions where they stand in {code}/. They have to keep their promises for all inputs, not
  just for those of today. Do not let one of its modules import more of the others than it does today.
- Then start the programs again, in their order, and leave fresh results in {products}/.

Hands off, even for a moment: {programs}/, {data}/, {tests}/ and {licence}. You have Python's standard
library, no network, no test runner. Tell us when everything is in place.
"""


def instruction(instance: Instance) -> str:
    """The text that the agent is given."""
    world = instance.world
    layout = world.layout
    lines: list[str] = []
    for repair in instance.repairs:
        if repair.link.before is None and lines:
            lines.append("")
        lines += [f"    {command}" for command in repair.link.commands]
    return (VARIANT if layout.variant else ORIGINAL).format(
        **{key: layout.folders[key] for key in ("programs", "products", "data")},
        items=layout.vocabulary["items"],
        trade=layout.vocabulary["trade"],
        commands="\n".join(lines),
        library=world.code,
        code=world.code,
        tests=world.tests,
        licence=world.package.licence_file,
    )
