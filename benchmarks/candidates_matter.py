"""Whether the number of candidates matters for what a policy is worth: depth 2 at the paper's one-dimensional priors.

python benchmarks/candidates_matter.py [--prior intel higgs] [--cost log-linear] [--draws 2000]
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse

import numpy as np

from autobct.belief.prior import paper_prior, with_log_cost
from autobct.tuning.decide.policy import relaxed
from autobct.value.bounds.simple_bounds import CAP, Estimate, joined, play, stage_of
from autobct.value.simulate import common_random_numbers
from autobct.value.state import Terms, control_grid, view

PRICE, OVERHEAD, SIDES = 0.16, 0.002, (5, 11, 26, 51)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prior", nargs="*", default=["synthetic", "cnn-r", "higgs", "intel"])
    parser.add_argument("--cost", default="log-linear", choices=["linear", "log-linear"])
    parser.add_argument("--draws", type=int, default=2000)
    told = parser.parse_args()
    print("| prior | " + " | ".join(f"{side} candidates" for side in SIDES) + " |")
    print("|---" * (len(SIDES) + 1) + "|")
    for name in told.prior:
        found = [worth(name, told.cost, side, told.draws) for side in SIDES]
        print(f"| {name} | " + " | ".join(f"{e.mean:.4f} ± {e.error:.4f}" for e in found) + " |", flush=True)


def worth(name: str, cost: str, side: int, draws: int) -> Estimate:
    prior = paper_prior(name)
    prior = with_log_cost(prior) if cost == "log-linear" else prior
    terms = Terms(PRICE, prior.model.cost_model, recall=True, overhead=OVERHEAD)
    controls = control_grid(side, prior.dim)
    start = view(prior.belief, prior.model, controls)
    policy = relaxed(2)(controls, 0)
    stage = stage_of(policy, start, terms, rng=np.random.default_rng(2))
    rng = np.random.default_rng(3)
    return joined(
        [play(policy, stage, common_random_numbers(start, 200, CAP, rng=rng)) for _ in range(draws // 200)]
    ).estimate()


if __name__ == "__main__":
    main()
