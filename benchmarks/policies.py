"""What each policy is worth where the model holds: simulated net utility from the paper's priors, same numbers.

    python benchmarks/policies.py [--draws 4000] [--prior synthetic ...] [--cost linear log-linear]

Differences to the first row are paired (common random numbers); the standard error is that of the difference.
Log-linear cost: `with_log_cost`, the prior's mean cost curve and relative spread carried over to log cost.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import time

import numpy as np

from autobct.belief.prior import Prior, paper_prior, with_log_cost
from autobct.value.acquisition import Assess, by_gittins_index
from autobct.value.lookahead.on_the_fly import on_the_fly
from autobct.value.lookahead.one_step import ByValue
from autobct.value.simulate import CommonRandomNumbers, Outcome, common_random_numbers, simulate
from autobct.value.state import State, Terms, view

PRICE, MAX_RUNS, CHUNK = 0.16, 40, 500


def controls_of(prior: Prior) -> np.ndarray:
    if prior.dim == 1:
        return np.linspace(0, 1, 26)[:, None]
    side = np.linspace(0, 1, 9)
    return np.stack(np.meshgrid(side, side, indexing="ij"), -1).reshape(-1, 2)


def depth(runs: int) -> Assess:
    return ByValue(lambda state, terms, made: on_the_fly(state, terms, depth=runs))


POLICIES: list[tuple[str, Assess, bool]] = [
    ("depth 2, best model (R2, the default)", depth(2), True),
    ("depth 1, best model (R1)", depth(1), True),
    ("Gittins index, best model", by_gittins_index, True),
    ("depth 1, last model", depth(1), False),
    ("depth 2, last model (the paper's OTF)", depth(2), False),
]


def played(policy: Assess, state: State, terms: Terms, common: CommonRandomNumbers) -> Outcome:
    parts = []
    for first in range(0, len(common.scores), CHUNK):
        some = CommonRandomNumbers(
            *(a[first : first + CHUNK] for a in (common.scores, common.costs, common.score_noise, common.cost_noise))
        )
        parts.append(simulate(policy, state, terms, some, tolerance=0.0 if terms.recall else 0.002))
    return Outcome(*(np.concatenate([getattr(p, name) for p in parts]) for name in Outcome.__slots__))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--prior", nargs="*", default=["synthetic", "cnn-r", "higgs", "fraud", "cnn-2d", "fraud-2d"])
    parser.add_argument("--cost", nargs="*", default=["linear", "log-linear"])
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for name in arguments.prior:
        for cost in arguments.cost:
            prior = paper_prior(name)
            controls = controls_of(prior)
            prior = with_log_cost(prior) if cost == "log-linear" else prior
            state = view(prior.belief, prior.model, controls)
            common = common_random_numbers(state, arguments.draws, MAX_RUNS, rng=np.random.default_rng(arguments.seed))
            print(f"\n{name}, {cost} cost, price {PRICE}, {arguments.draws} draws, seed {arguments.seed}")
            first = None
            for label, policy, recall in POLICIES:
                terms = Terms(PRICE, prior.model.cost_model, recall, overhead=0.002 if recall else 0.0)
                start = time.perf_counter()
                outcome = played(policy, state, terms, common)
                net = outcome.score - PRICE * outcome.cost
                first = net if first is None else first
                gap = net - first
                print(
                    f"  {label:40s} {net.mean():.4f}  difference {gap.mean():+.4f} +- {gap.std() / len(gap) ** 0.5:.4f}"
                    f"  runs {outcome.runs.mean():.2f}  at the cap {np.mean(outcome.runs == MAX_RUNS):.2%}"
                    f"  {time.perf_counter() - start:.0f} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
