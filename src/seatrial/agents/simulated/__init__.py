"""A simulated agent: standard library only, a folder of a few files, run in a sandbox like any Python agent.

It plays a task's plan with set faults and set ways to answer disturbances. Every decision is drawn from the
trial's seed by the name of the decision and not by its turn: changing one knob leaves all other draws alone,
and two systems with one seed meet the same luck.
"""

from .actions import Move
from .agent import SimulatedAgent, moves
from .chance import uniform

__all__ = ["Move", "SimulatedAgent", "moves", "uniform"]
