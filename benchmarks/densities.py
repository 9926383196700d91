"""Log predictive densities of the next score: ensemble, network, Gaussian process, and mixtures of them.

    python benchmarks/densities.py --data FOLDER [--each 4] [--runs 20]

The default tuner plays tasks of twelve families at the lowest price, on to the same number of runs where it would stop.
Before every run each surrogate says how likely the score is that the run then shows.  The network has learned from
simulated tasks alone, and is shown no guess.  Densities are in the task's ranges of scores, and families weigh alike.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import multiprocessing
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from left_out import chosen_tasks, loaded, network_for, using
from scipy.stats import norm
from tasks import LEVELS, Bench, Question, Task, seed_on, tuner_for

from autobct import Stop
from autobct.belief.surrogate.network_inputs import SCORE_EDGES
from autobct.belief.surrogate.predictive import NetworkPosterior, squash
from autobct.maps.library import shipped_surrogate
from autobct.tuning.decide.search import view
from autobct.tuning.memory import place_of
from autobct.tuning.model import other_surrogates

Density = Callable[[float], float]
"""Of a score in model units."""

SPANS = {"2 to 7": (1, 7), "8 to 20": (7, 20)}
"""Runs by how many went before; the process has a say from eight on in a tuning, here from three."""
MIXTURES: Mapping[str, tuple[str, ...]] = {
    "ensemble": ("ensemble",),
    "network": ("network",),
    "process": ("process",),
    "ensemble and network": ("ensemble", "network"),
    "all three": ("ensemble", "network", "process"),
}
_LEAST = 1e-6  # no density is below it: one surprise must not decide the mean


def of_ensemble(tuner: Any, control: np.ndarray) -> Density:
    """Normal in the units in which scores are learned."""
    memory = tuner.memory
    candidates = tuner.candidates.with_those(control[None])
    state = view(memory, candidates, memory.known.belief, np.array([candidates.places[place_of(control)]]))
    mean, sd = float(state.score.mean[0]), float(np.sqrt(state.score.variances[0] + state.score_noise[0] ** 2))
    compression = memory.known.compression

    def density(score: float) -> float:
        below = max(compression.middle - score, 0.0) / compression.unit
        return float(norm.pdf(float(compression(np.asarray(score))), mean, sd) / (1.0 + below))

    return density


def of_network(tuner: Any, control: np.ndarray) -> Density | None:
    """The histogram of the score that a run shows."""
    problem = tuner.memory.known.problem
    shown = other_surrogates._shown(problem, tuner.history)
    if shown is None:
        return None
    layout = other_surrogates.layout_of(problem.space, problem.stated.hints.growing)
    shares = NetworkPosterior.after(shipped_surrogate(), layout, shown).scores(control[None], observed=True)[0]
    best, unit, width = float(np.nanmax(shown.scores)), shown.unit, float(SCORE_EDGES[1] - SCORE_EDGES[0])

    def density(score: float) -> float:
        away = (score - best) / unit
        place = float(np.clip(squash(np.asarray(away)), SCORE_EDGES[0], SCORE_EDGES[-1] - 1e-9))
        return float(shares[int((place - SCORE_EDGES[0]) / width)] / width / (unit * (1.0 + abs(away))))

    return density


def of_process(tuner: Any, control: np.ndarray) -> Density | None:
    """Normal in the units in which the process learns scores."""
    shown = other_surrogates._shown(tuner.memory.known.problem, tuner.history)
    if shown is None or not shown.width:
        return None
    best, (process, unit) = float(np.nanmax(shown.scores)), other_surrogates.process_of(shown)
    (mean,), (sd,) = process(control[None])
    sd = float(np.hypot(sd, process.scale * np.exp(0.5 * process.logs[-1])))

    def density(score: float) -> float:
        away = (best - score) / unit
        value = -np.log1p(away) if away >= 0 else -away
        return float(norm.pdf(value, mean, sd) / (unit * (1.0 + max(away, 0.0))))

    return density


SURROGATES = {"ensemble": of_ensemble, "network": of_network, "process": of_process}


def played(job: tuple[str, str, int]) -> tuple[str, list[dict[str, float]]]:
    """The log densities of every run of one play, by surrogate and mixture."""
    from benchmark_tasks import named_task

    name, data, runs = job
    task: Task = named_task(name, data)
    using(loaded(network_for(task.family)))
    level = min(LEVELS)
    bench = Bench(task, 0, runs)
    tuner = tuner_for(Question(task.space, task.price(level), task.score_range, seed_on(task, 0), runs + 1))
    rows: list[dict[str, float]] = []
    for number in range(runs):
        decision = tuner.ask()
        if isinstance(decision, Stop):
            if decision.best_alternative is None:
                break
            decision = decision.best_alternative
            tuner.adopt(decision)
        found = {} if number == 0 else _densities(tuner, decision.control)
        problem = tuner.memory.known.problem
        score, cost = bench(decision.params)
        seen, unit = problem.score_observed(score), task.yardstick.range / problem.score_scale.unit
        known = {key: density(seen) * unit for key, density in found.items()}
        rows.append(
            {
                key: float(np.log(max(np.mean([known[part] for part in parts]), _LEAST)))
                for key, parts in MIXTURES.items()
                if all(part in known for part in parts)
            }
        )
        tuner.tell(decision, score=score, cost=cost)
    return task.family, rows


def _densities(tuner: Any, control: np.ndarray) -> dict[str, Density]:
    found = {name: of(tuner, control) for name, of in SURROGATES.items()}
    return {name: density for name, density in found.items() if density is not None}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--each", type=int, default=4, help="tasks per family")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    jobs = [(name, asked.data, asked.runs) for names in chosen_tasks(asked.data, asked.each).values() for name in names]
    with multiprocessing.get_context("spawn").Pool(asked.workers) as pool:
        plays = pool.map(played, jobs, chunksize=1)
    families = sorted({family for family, _ in plays})
    print(f"{'':14s} " + "  ".join(f"{name:>20s}" for name in MIXTURES))
    for span, (first, last) in SPANS.items():
        table = np.array([[_mean(plays, family, name, first, last) for name in MIXTURES] for family in families])
        for family, row in zip(families, table, strict=True):
            print(f"{family:14s} " + "  ".join(f"{value:20.2f}" for value in row) + f"   runs {span}")
        print(f"{'mean':14s} " + "  ".join(f"{value:20.2f}" for value in table.mean(axis=0)) + f"   runs {span}")


def _mean(plays: list[tuple[str, list[dict[str, float]]]], family: str, name: str, first: int, last: int) -> float:
    """Over the runs that all surrogates have said something of."""
    rows = [row for own, play in plays if own == family for row in play[first:last] if "all three" in row]
    return float(np.mean([row[name] for row in rows]))


if __name__ == "__main__":
    main()
