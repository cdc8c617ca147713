"""``task.toml`` of an instance: the subgoals, what is forbidden, the declared difficulty."""

from seatrial.families.repair.build import Instance
from seatrial.spec.graph import depth
from seatrial.spec.task import SCHEMA
from seatrial.spec.toml_text import table_text

GENERATOR = "repair@2"
VERSION = "1.0.0"
# For looking around, and for each link: looking, trying and undoing beside repairing and running.
ACTIONS_AROUND, ACTIONS_PER_LINK = 20, 14
SECONDS = 60.0


def subgoals(instance: Instance) -> list[dict[str, object]]:
    """The DAG: a product needs its function repaired and the product before it."""
    found: list[dict[str, object]] = []
    for repair in instance.repairs:
        link = repair.link
        mended, made = f"repair-{link.id}", f"stage-{link.id}"
        before = [] if link.before is None else [f"stage-{link.before}"]
        found.append(
            {
                "id": mended,
                "after": [],
                "reads": [f"files:{path}" for path in repair.reads],
                "layer": "hidden",
                "verifier": f"verifiers/{mended}.sh",
            }
        )
        found.append(
            {
                "id": made,
                "after": [*before, mended],
                "reads": [f"files:{link.product}"],
                "layer": "functional",
                "verifier": f"verifiers/{made}.sh",
            }
        )
    return [{**each, "weight": 1.0, "required": True, "timeout": SECONDS} for each in found]


def forbidden(instance: Instance) -> dict[str, str]:
    """Hard constraints: what must not be written, by id."""
    world = instance.world
    folders = world.layout.folders
    return {
        "keep-data": f"files:{folders['data']}/**",
        "keep-programs": f"files:{folders['programs']}/**",
        "keep-licence": f"files:{world.package.licence_file}",
        "keep-tests": f"files:{world.tests}/*.py",
    }


def task_text(instance: Instance) -> str:
    """``task.toml``."""
    world, knobs = instance.world, instance.world.knobs
    nodes, rules = subgoals(instance), forbidden(instance)
    edges = {str(node["id"]): list(map(str, as_list(node["after"]))) for node in nodes}
    horizon = {
        "dependency_depth": depth(edges),
        # In the reference, the action after a repair runs the program; with a delay others follow.
        "verification_delay": 1 + knobs.delay,
        "irreversible_share": 0.0,
        "live_constraints": len(rules),
        "state_size": len(instance.workspace()),
        "goal_changes": 0,
        "tool_fault_rate": 0.0,
        "observation_noise": 0.0,
        "group": knobs.stratum,
    }
    head = {"schema": SCHEMA, "id": f"repair/{knobs.name(world.package.name)}", "version": VERSION}
    actions = ACTIONS_AROUND + (ACTIONS_PER_LINK + knobs.delay) * len(instance.repairs)
    parts = [
        table_text("", head),
        table_text("horizon", horizon),
        table_text("environment", {"files": "environment/", "network": "none"}),
        table_text("budget", {"actions": actions}),
        table_text("[goal]", {"version": 1, "instruction": "instruction.md"}),
        *(table_text("[subgoal]", node) for node in nodes),
        *(
            table_text(
                "[constraint]", {"id": name, "kind": "hard", "forbid": {"write": [path]}, "mode": "observe"}
            )
            for name, path in rules.items()
        ),
        table_text("provenance", provenance(instance)),
    ]
    return "\n".join(parts)


def as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def provenance(instance: Instance) -> dict[str, object]:
    """Where the task comes from. What was seeded is not said here but in ``solutions/faults.json``."""
    package, knobs = instance.world.package, instance.world.knobs
    made: dict[str, object] = {
        "generator": GENERATOR,
        "seed": knobs.seed,
        "depth": knobs.depth,
        "breadth": knobs.breadth,
        "delay": knobs.delay,
        "size": knobs.size,
        "variant": knobs.variant,
    }
    if knobs.variant:
        made["variant_of"] = f"repair/{knobs.original().name(package.name)}"
    return {
        **made,
        "package": package.name,
        "package_version": package.version,
        "sdist_sha256": package.sdist_sha256,
        "licence": package.licence,
        "observations": sum(len(seen) for each in instance.repairs for seen in each.expected.values()),
        "observations_dropped": sum(each.dropped for each in instance.repairs),
        "tests_left_out": dict(package.untested),
    }
