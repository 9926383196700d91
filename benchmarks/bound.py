"""Upper bounds against the time they take, at one of the paper's one-dimensional priors: docs/decisions/bound.md.

    python benchmarks/bound.py [--prior synthetic] [--cost linear] [--candidates 11] [--efforts 1e-3 1e-4 3e-5]
        [--repetitions 4] [--search] [--no-parcels] [--maps DIR]

Information relaxation takes its penalty from V_1, and from a network map with recall where there is one.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from penalty import relaxed_information

import autobct
from autobct.belief.prior import paper_prior, with_log_cost
from autobct.build.forests.iteration import references_first
from autobct.maps.container import SUFFIX, shipped
from autobct.maps.library import shipped_map
from autobct.value.bounds import cheap_runs
from autobct.value.bounds.certificate import upper_estimate
from autobct.value.bounds.dual import clairvoyant_mean
from autobct.value.bounds.simple_bounds import Estimate
from autobct.value.lookahead.one_step import one_run_value
from autobct.value.maps.value_map import ValueMap
from autobct.value.state import Terms, control_grid, view

PRICE, OVERHEAD = 0.16, 0.002


def the_map(folder: str | None, cost: str) -> ValueMap | None:
    name = f"1d-{cost.removesuffix('-linear')}-recall"
    if folder is None:
        return shipped_map(name) if name in shipped() else None
    return autobct.load_map(Path(folder) / f"{name}{SUFFIX}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--maps")
    parser.add_argument("--efforts", nargs="*", type=float, default=[1e-2, 1e-3, 1e-4, 3e-5])
    parser.add_argument("--repetitions", type=int, default=4)
    parser.add_argument("--paths", type=int, default=200)
    parser.add_argument("--cost", default="linear", choices=["linear", "log-linear"])
    parser.add_argument("--prior", default="synthetic")
    parser.add_argument("--candidates", type=int, default=11)
    parser.add_argument("--no-parcels", action="store_true", help="the truth is told after cheap runs too")
    parser.add_argument("--search", action="store_true", help="the search alone, no information relaxation")
    told = parser.parse_args()
    if told.no_parcels:
        cheap_runs.TIERS = (0.0,)
    value_map, prior = the_map(told.maps, told.cost), paper_prior(told.prior)
    prior = with_log_cost(prior) if told.cost == "log-linear" else prior
    terms = Terms(PRICE, prior.model.cost_model, recall=True, overhead=OVERHEAD)
    controls = control_grid(told.candidates, 1)
    start = view(prior.belief, prior.model, controls)
    print("| bound | CPU seconds of one estimate | bound |\n|---|---|---|")
    print(f"| W_0 | | {clairvoyant_mean(start, terms, 65_536, rng=np.random.default_rng(0)):.4f} |")
    for effort in told.efforts:

        def search(effort: float = effort) -> Estimate:
            return upper_estimate(start, terms, effort=effort, repetitions=told.repetitions, seed=0)

        show(f"search, effort {effort:.0e}", search, told.repetitions)
    if told.search:
        return
    guesses = {"V_1": (start, one_run_value, None)}
    if value_map is not None:
        seen = view(prior.belief, prior.model, references_first(value_map.spec.references, controls))
        inner = np.arange(len(value_map.spec.references))
        guesses["a recall map"] = (seen, value_map.continuation(value_map.deepest), inner)
    for name, (state, value, inner) in guesses.items():
        for depth, paths in ((1, told.paths), (2, told.paths // 4)):

            def relax(state=state, value=value, inner=inner, depth=depth, paths=paths) -> Estimate:  # type: ignore[no-untyped-def]
                rng = np.random.default_rng(0)
                return relaxed_information(state, terms, value, depth=depth, paths=paths, rng=rng, inner=inner)

            show(f"information relaxation, penalty from {name}, {depth} of the runs followed, {paths} paths", relax, 1)


def show(name: str, estimate: Callable[[], Estimate], repetitions: int) -> None:
    began = time.process_time()
    found = estimate()
    took = (time.process_time() - began) / repetitions
    print(f"| {name} | {took:.1f} | {found.mean:.4f} ± {found.error:.4f} |", flush=True)


if __name__ == "__main__":
    main()
