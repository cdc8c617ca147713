"""A person's session on a task, as an experiment of one trial: recorded like any, pooled with none."""

from pathlib import Path
from typing import Literal

from seatrial.spec.experiment import SCHEMA, Experiment, System
from seatrial.spec.loading import LoadedExperiment, LoadedTask
from seatrial.spec.people import people_beside

# The kind of agent, and the name its system has.
PERSON: Literal["human"] = "human"
PERSON_NAME = "person"


def person_experiment(task: LoadedTask) -> LoadedExperiment:
    """The experiment of one trial in which a person acts in an agent's place.

    The person may look at the task's files and ask for verdicts, so the system is marked privileged. Its
    kind is part of the experiment id: no report mixes it with trials of agents.
    """
    system = System(name=PERSON_NAME, agent=PERSON, privileged=True)
    human = people_beside(task.files)
    spec = Experiment(schema=SCHEMA, name="shell", tasks=[task.spec.id], system=[system], human=human)
    raw = {
        "schema": SCHEMA, "name": spec.name, "tasks": spec.tasks,
        "system": [{"name": PERSON_NAME, "agent": PERSON, "privileged": True}],
    }  # fmt: skip
    return LoadedExperiment(Path(task.file), spec, raw, [task], scripts={}, code={})
