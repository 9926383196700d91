"""On-the-fly steps on top of a map: the second modification that the paper names and does not report.

    python benchmarks/steps_on_top.py [--draws 200] [--only synthetic cnn-r] [--cost log-linear]

One or two lookaheads on the same V_K at every run (relaxed), beside foresight that shrinks (`exact`) and the policy
that `tune` uses (`mapped`), on the same random numbers; differences are to depth 2 without a map.
Last model and best model, price 0.16.
"""

from __future__ import annotations

import os

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"

import argparse
import time

import numpy as np

from autobct.belief.prior import paper_prior, with_log_cost
from autobct.maps.library import shipped_map
from autobct.tuning.decide.policy import Policy, exact, mapped, relaxed
from autobct.value.bounds.simple_bounds import CAP, PlayedPolicy, difference, joined, play, stage_of
from autobct.value.maps.value_map import ValueMap
from autobct.value.simulate import common_random_numbers
from autobct.value.state import Terms, control_grid, view

PRICE, OVERHEAD, PART = 0.16, 0.002, 100


def policies(value_map: ValueMap) -> dict[str, Policy]:
    return {
        "depth 2": relaxed(2),
        "V_K, one step on top": relaxed(1, terminal=value_map),
        "V_K, two steps on top": relaxed(2, terminal=value_map),
        "V_K to V_1, one step on top": exact(value_map.deepest + 1, value_map=value_map),
        "as shipped: two steps first, then one": mapped(value_map),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--only", nargs="*", default=["synthetic", "cnn-r"])
    parser.add_argument("--cost", nargs="*", default=["linear", "log-linear"], choices=["linear", "log-linear"])
    told = parser.parse_args()
    print("| prior | cost | returned | policy | net | over depth 2 | runs | at the cap | time of a decision |")
    print("|---" * 9 + "|")
    for name in told.only:
        for cost in told.cost:
            for recall in (False, True):
                show(name, cost, recall, told.draws)


def show(name: str, cost: str, recall: bool, draws: int) -> None:
    prior = with_log_cost(paper_prior(name)) if cost == "log-linear" else paper_prior(name)
    terms = Terms(PRICE, prior.model.cost_model, recall, OVERHEAD)
    controls = control_grid(11, prior.dim)
    start, base = view(prior.belief, prior.model, controls), None
    value_map = shipped_map(f"{prior.dim}d-{cost.removesuffix('-linear')}-{'recall' if recall else 'last'}")
    for label, policy in policies(value_map).items():
        rng, values, began = np.random.default_rng(1), policy(controls, 0), time.process_time()
        stage = stage_of(values, start, terms, rng=np.random.default_rng(2))
        played: PlayedPolicy = joined(
            [play(values, stage, common_random_numbers(start, PART, CAP, rng=rng)) for _ in range(draws // PART)]
        )
        base = base or (played, time.process_time() - began)
        gap, took = difference(played, base[0]), (time.process_time() - began) / base[1]
        per_run = took * base[0].runs.mean() / played.runs.mean()
        print(
            f"| {name} | {cost} | {'best' if recall else 'last'} | {label} | {played.estimate().mean:.3f} "
            f"| {gap.mean:+.4f} ± {gap.error:.4f} | {played.runs.mean():.1f} | {100 * played.capped:.0f} % "
            f"| {per_run:.1f} x depth 2 |",
            flush=True,
        )


if __name__ == "__main__":
    main()
