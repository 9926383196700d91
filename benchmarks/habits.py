"""What to expect of scores and costs before the first run: variants of the default belief on real tasks.

    python benchmarks/habits.py [--data FOLDER] [--held-out] [--seeds 2] [--only default "bump 0.15"]

Captured (see tasks.py) at four prices, one line for each variant, with the paired difference to the default and its
standard error over tasks.  The last lines leave one family out: the variant that is best on all other families, and
what it captures on the one that it was not chosen on.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from tasks import LEVELS, Task, autobct_tuner, holdout, play, published

from autobct.belief.arrays import Indices
from autobct.belief.gaussian import Gaussian
from autobct.belief.surrogate.learning import Habits
from autobct.tuning import statement
from autobct.tuning.decide import default_policy
from autobct.tuning.decide.policy import Policy, ei_per_cost, gittins, relaxed
from autobct.tuning.decide.search import AROUND, REFINEMENTS
from autobct.tuning.model import default_prior
from autobct.tuning.space.candidates import SPREAD
from autobct.tuning.statement import Plan
from autobct.value import acquisition
from autobct.value.acquisition import CHEAP, Assessment, by_ei_per_cost
from autobct.value.lookahead.on_the_fly import on_the_fly
from autobct.value.state import State, Terms, run_price, stop_value, variance

_SHORT = 12


def ahead_at_the_stop(state: State, terms: Terms, runs: int) -> Assessment:
    """As `ei_per_cost`; where it would stop, two runs of foresight on a short list have the last word."""
    found, stop = by_ei_per_cost(state, terms, runs), float(stop_value(state)) if state.kept.size else -np.inf
    if found.value.max() > stop:
        return found
    hopeful = state.score.mean + np.sqrt(variance(state.score))
    best = [np.argsort(-rank, kind="stable")[:_SHORT] for rank in (found.priority, hopeful)]
    chosen = np.unique(np.concatenate([*best, state.kept]))
    short = _only(state, chosen)
    ahead, prices = on_the_fly(short, terms, depth=2), run_price(short, terms)
    ahead[short.kept] = -np.inf
    value, priority = found.value.copy(), found.priority.copy()
    value[chosen] = np.maximum(value[chosen], ahead)
    priority[chosen] = np.where(ahead > stop, (ahead - stop) / prices, priority[chosen])
    return Assessment(value, priority)


def _only(state: State, chosen: Indices) -> State:
    """A state of some of the candidates, the trained ones among them."""
    score, cost = (
        Gaussian(belief.mean[chosen], np.ascontiguousarray(belief.rows(chosen)[:, chosen]))
        for belief in (state.score, state.cost)
    )
    kept = np.searchsorted(chosen, state.kept)
    return State(score, cost, state.score_noise[chosen], state.cost_noise[chosen], kept)


@dataclass(frozen=True, slots=True)
class Variant:
    """What is different.  on_top: of the price by which runs are ranked;  policy: instead of improvement per price."""

    habits: Habits = field(default_factory=Habits)
    settings: Mapping[str, Any] = field(default_factory=dict)
    refinements: int = REFINEMENTS
    on_top: float = CHEAP
    policy: Policy = field(default_factory=ei_per_cost)


DEFAULT = Habits()
VARIANTS: Mapping[str, Variant] = {
    "default": Variant(),
    "amplitude 0.05": Variant(replace(DEFAULT, amplitude=0.05)),
    "amplitude 0.1": Variant(replace(DEFAULT, amplitude=0.1)),
    "no bump": Variant(replace(DEFAULT, bump=0.0)),
    "bump 0.15": Variant(replace(DEFAULT, bump=0.15)),
    "bump 0.5": Variant(replace(DEFAULT, bump=0.5)),
    "more interactions": Variant(replace(DEFAULT, interactions=(0.2, 0.4))),
    "smoother": Variant(replace(DEFAULT, noises=(0.1, 0.25))),
    "wigglier": Variant(replace(DEFAULT, decays=(0.3, 0.6))),
    "6 members": Variant(replace(DEFAULT, members=6)),
    "48 members": Variant(replace(DEFAULT, members=48)),
    "overhead 0.001": Variant(settings={"overhead": 0.001}),
    "overhead 0.002": Variant(settings={"overhead": 0.002}),
    "ranked by price alone": Variant(on_top=0.0),
    "no search": Variant(refinements=0),
    "longer search": Variant(refinements=4),
    "depth 2 at the stop": Variant(policy=lambda controls, seed: ahead_at_the_stop),
    "depth 1": Variant(policy=relaxed(depth=1)),
    "Gittins": Variant(policy=gittins()),
    "even spread, per price": Variant(settings={"candidates": SPREAD}),
    "even spread, depth 2": Variant(settings={"policy": relaxed(depth=2), "candidates": SPREAD}),
}


def captured(tasks: list[Task], seeds: int, variant: Variant) -> np.ndarray:
    """(tasks, prices), mean over seeds."""
    default_prior.HABITS, acquisition.CHEAP = variant.habits, variant.on_top
    statement.Plan = partial(Plan, search=(AROUND, variant.refinements))  # type: ignore[misc, assignment]
    default_policy.ei_per_cost = lambda: variant.policy  # type: ignore[attr-defined]
    made = autobct_tuner(**variant.settings)
    return np.array(
        [[np.mean([play(made, task, p, s).captured for s in range(seeds)]) for p in LEVELS] for task in tasks]
    )


def left_out(found: Mapping[str, np.ndarray], families: np.ndarray) -> np.ndarray:
    """(tasks, prices) captured by the variant that is best on the other families, every family counting the same."""
    chosen = np.empty_like(found["default"])
    for family in np.unique(families):
        others = [other for other in np.unique(families) if other != family]
        best = max(found, key=lambda name: np.mean([found[name][families == other].mean() for other in others]))
        chosen[families == family] = found[best][families == family]
        print(f"without {family:14s} {best}")
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only", nargs="*", choices=list(VARIANTS), default=list(VARIANTS))
    told = parser.parse_args()
    tasks = holdout(told.data) if told.held_out else published(told.data)
    found: dict[str, np.ndarray] = {}
    print(f"{'':24s}" + "".join(f"{p:9.1%}" for p in LEVELS) + "     all, and the difference to the first")
    for name in told.only:
        found[name] = captured(tasks, told.seeds, VARIANTS[name])
        gap = (found[name] - found[told.only[0]]).mean(axis=1)
        cells = "".join(f"{value:9.3f}" for value in found[name].mean(axis=0))
        error = gap.std() / np.sqrt(len(tasks))
        print(f"{name:24s}{cells}   {found[name].mean():.3f}  {gap.mean():+.3f} +- {error:.3f}", flush=True)
    if "default" in found and len(found) > 2:
        honest = left_out(found, np.array([task.family for task in tasks]))
        print(f"{'one family left out':24s}" + "".join(f"{value:9.3f}" for value in honest.mean(axis=0)))


if __name__ == "__main__":
    main()
