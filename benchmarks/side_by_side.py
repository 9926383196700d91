"""Runs side by side on the published tasks, on a clock that is simulated: what is captured, and how long one waits.

    AUTOBCT_DATA=FOLDER python benchmarks/side_by_side.py --jobs 1 4 8 --seeds 2
    AUTOBCT_DATA=FOLDER python benchmarks/side_by_side.py --jobs 4 --rules compute share waiting

A run starts when the tuner decides so and ends after its cost; runs are told in the order in which they end.

captured: as in docs/peers.md, with all computing paid for;  waited: with the wall clock paid for instead
rules:    what decisions are made by: the price of computing, that price shared by the jobs, or the rule of
          autobct.tuning.decide.waiting.  Docs: docs/decisions/waiting.md and docs/decisions/pending.md.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import heapq
import statistics
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

from tasks import LEVELS, PUBLISHED, Bench, Question, Task, named, outcome_of, seed_on, tuner_for

import autobct
from autobct.tuning.decide.waiting import waiting_for


@dataclass(frozen=True, slots=True)
class Played:
    """captured, waited: see above;  wall: over the cost of all runs;  runs: how many"""

    captured: float
    waited: float
    wall: float
    runs: int


def play(task: Task, level: float, seed: int, jobs: int, rule: str) -> Played:
    """One tuning with so many jobs, in simulated time."""
    bench = Bench(task, seed)
    price = task.price(level) / (jobs if rule == "share" else 1)
    question = Question(task.space, price, task.score_range, seed_on(task, seed), bench.cap)
    if hasattr(task.surface, "points"):  # a table: its rows are the candidates
        rows = [task.params(point) for point in task.surface.points]
        question = replace(question, rows=rows)
    tuner = tuner_for(question)
    running: list[tuple[float, int, float, autobct.Train, float, float]] = []
    now = 0.0
    while True:
        while len(running) < jobs:
            waiting = None
            if rule == "waiting" and jobs > 1:
                waiting = waiting_for([(began, train) for _, _, began, train, _, _ in running], now, jobs)
            decision = tuner.ask(None, waiting)
            if not isinstance(decision, autobct.Train):
                break
            score, cost = bench(decision.params)
            heapq.heappush(running, (now + cost, decision.trial, now, decision, score, cost))
        if not running:
            break
        now, _, _, decision, score, cost = heapq.heappop(running)
        tuner.tell(decision, score=score, cost=cost)
    best = tuner.best
    assert best is not None
    whole = outcome_of(task, level, bench.trials, best.trial)
    spent = sum(trial.cost for trial in bench.trials)
    utility = bench.trials[best.trial].true - task.price(level) * now
    return Played(whole.captured, task.yardstick.captured(utility, level), now / spent, len(bench.trials))


def _job(told: tuple[str, float, int, int, str]) -> tuple[tuple[int, str, float], Played]:
    name, level, seed, jobs, rule = told
    [task] = named([name])
    return (jobs, rule, level), play(task, level, seed, jobs, rule)


def main() -> None:
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("--jobs", type=int, nargs="+", default=[1, 4])
    told.add_argument("--rules", nargs="+", default=["compute"], choices=["compute", "share", "waiting"])
    told.add_argument("--seeds", type=int, default=1)
    told.add_argument("--workers", type=int, default=1)
    said = told.parse_args()
    cells = [
        (name, level, seed, jobs, rule)
        for jobs in said.jobs
        for rule in said.rules
        for level in LEVELS
        for name in PUBLISHED
        for seed in range(said.seeds)
    ]
    found: dict[tuple[int, str, float], list[Played]] = {}
    with ProcessPoolExecutor(said.workers) as pool:
        for key, played in pool.map(_job, cells, chunksize=4):
            found.setdefault(key, []).append(played)
    print("| jobs | rule | level | captured | waited | wall clock / cost | runs |\n|---|---|---|---|---|---|---|")
    for (jobs, rule, level), plays in found.items():
        means = [
            statistics.mean(getattr(one, name) for one in plays) for name in ("captured", "waited", "wall", "runs")
        ]
        print(f"| {jobs} | {rule} | {level} | {means[0]:.3f} | {means[1]:.3f} | {means[2]:.2f} | {means[3]:.1f} |")


if __name__ == "__main__":
    main()
