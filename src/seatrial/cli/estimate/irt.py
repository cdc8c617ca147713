"""``seatrial estimate irt``: tasks and systems on one empirical scale of difficulty."""

from typing import Annotated, Any

import typer

from seatrial.cli.estimate.answer import Answer, Line, counts_of, name_of
from seatrial.cli.estimate.giving import estimated
from seatrial.cli.estimate.options import Asked, Outcome, Source
from seatrial.cli.estimate.trials import Chosen, comparable, outcome_measure, valid_by_task
from seatrial.cli.options import flat
from seatrial.estimate.estimate import Estimate

SHOWN_TASKS = 10


@flat
def irt(
    source: Source,
    asked: Asked,
    outcome: Outcome,
    two_parameters: Annotated[
        bool, typer.Option("--2pl", help="Discriminations too; refused below 100 systems.")
    ] = False,
) -> None:
    """Abilities of systems and difficulties of tasks from who solved what (one-parameter model, MAP).

    Labelled empirical: never use it to stratify the systems it was fitted on. --json lists every task, and
    where one more trial says most.
    """
    estimated(source, "irt", asked, lambda chosen: _answer(chosen, asked, outcome, two_parameters))


def _answer(chosen: Chosen, asked: Asked, outcome: Outcome, two_parameters: bool) -> Answer:
    # Loaded here, since numpy slows every start.
    from statistics import NormalDist

    from seatrial.estimate.difficulty import fit_difficulty, information

    chosen = comparable(chosen, asked.allow_mixed)
    measure, said = outcome_measure(chosen, outcome.measure, outcome.at_least)
    responses, lost = {}, 0
    for cell in chosen.cells:
        by_task = valid_by_task(cell, measure.read)
        lost += sum(value is None for trials in by_task.values() for value in trials)
        known = {task: [v for v in trials if v is not None] for task, trials in by_task.items()}
        responses[name_of(cell, chosen.cells)] = {task: trials for task, trials in known.items() if trials}
    if lost:
        said.append(f"{lost} valid trials of unknown outcome are left out: the scale takes known ones only.")
    scale = fit_difficulty(responses, "2PL" if two_parameters else "1PL")
    z = NormalDist().inv_cdf((1 + asked.level) / 2)
    lines = []
    for cell in chosen.cells:
        name = name_of(cell, chosen.cells)
        ability, error = scale.abilities[name], scale.ability_errors[name]
        where = {task: information(ability, item) for task, item in scale.tasks.items()}
        lines.append(
            Line(
                system=name,
                quantity="ability in logits",
                counts="logits",
                estimate=Estimate(
                    value=ability, low=ability - z * error, high=ability + z * error, level=asked.level,
                    method=f"{scale.model} by MAP, Laplace",
                    unit="trials, independent given ability and task",
                    n_tasks=len(responses[name]), n_trials=sum(map(len, responses[name].values())),
                ),
                denominators=counts_of(cell, [measure.read(r) for r in cell.valid], True),
                columns={"one more trial says most on": max(where, key=lambda task: where[task])},
                facts={"information": where},
            )
        )  # fmt: skip
    return Answer(
        title=f"Difficulty scale by {measure.name}",
        lines=lines,
        limits=[*said, *scale.notes, *_extremes(scale.tasks)],
        settings={"measure": measure.name, "model": scale.model, "tasks": scale.tasks},
    )


def _extremes(tasks: dict[str, Any]) -> list[str]:
    """The hardest and easiest tasks in words; JSON has all."""
    ranked = sorted(tasks, key=lambda task: (tasks[task].difficulty, task))
    bounded = sum(item.bounded_by_prior for item in tasks.values())
    said = [
        f"{word} tasks: " + ", ".join(f"{task} {tasks[task].difficulty:.3g}" for task in names)
        for word, names in (("easiest", ranked[:SHOWN_TASKS]), ("hardest", ranked[::-1][:SHOWN_TASKS]))
    ]
    if bounded:
        said.append(
            f"{bounded} of {len(tasks)} tasks were solved always or never: only the prior bounds them."
        )
    return said
