"""Other tuners in the same state: at another price, from the start, or with few candidates for simulated tunings."""

from __future__ import annotations

from dataclasses import replace

from autobct.tuning.memory import Memory
from autobct.tuning.model.thinning import SEARCHED, with_few_candidates
from autobct.tuning.problem import at_price
from autobct.tuning.statement import Plan
from autobct.tuning.units.limits import Limits
from autobct.tuning.units.price import Price
from autobct.tuning.units.ranges import shown


def twin_of(plan: Plan, memory: Memory, price: Price | None, *, fresh: bool, fixed: bool) -> tuple[Plan, Memory]:
    """Plan and memory of a twin; the arguments are those of `Tuner.twin`."""
    problem = memory.problem
    if fixed:
        problem = replace(problem, stated=replace(problem.stated, fixed=(True, True)))
    if price is not None:
        problem, plan = at_price(problem, price), replace(plan, limits=Limits())
    if fresh:
        return plan, Memory.of(problem if fixed else shown(problem, ()))
    if problem is not memory.problem:
        memory = replace(memory, known=replace(memory.known, problem=problem))
    return plan, memory


def simulation_of(plan: Plan, memory: Memory) -> tuple[Plan, Memory]:
    """Plan and memory of a tuner with few candidates, some around the best."""
    return replace(plan, search=SEARCHED, second=False), with_few_candidates(memory)
