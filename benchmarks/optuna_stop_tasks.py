"""TPE with our stop against TPE at its best number of trials in hindsight, on published tuning tasks.

    python benchmarks/optuna_stop_tasks.py --seeds 5 --data FOLDER        (or AUTOBCT_DATA)

Captured is the share of what could be had on a task at a price (tasks.py); 50 trials at most.  Three numbers of trials
to compare with: 50; the best one for a task and price, over all seeds; the best one for each single study.  Nobody
knows the latter two in advance.  Docs: docs/decisions/terminator.md.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
from dataclasses import dataclass

import numpy as np
import optuna
from tasks import CAP, LEVELS, Bench, Task, best_seen, named, outcome_of, seed_on

from autobct.integrations import _optuna_study
from autobct.integrations._optuna_trials import distributions_of
from autobct.integrations.optuna import AutoBCTTerminator
from autobct.tuning.space.space import Space

TASKS = ("lcbench-3945", "lcbench-167168", "rbv2_xgboost-16", "rbv2_xgboost-41164", "iaml_glmnet-1489")
"""Of three families with continuous spaces; a few, as a study of 50 trials asks the terminator 50 times."""


@dataclass(frozen=True, slots=True)
class Study:
    """captured: after each number of trials from 1, (CAP,);  stop: at how many the terminator ends it."""

    captured: np.ndarray
    stop: int


def studied(task: Task, seed: int) -> dict[float, Study]:
    """One study of TPE to the cap; where the terminator would have ended it at each price."""
    bench = Bench(task, seed)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed_on(task, seed)))
    space = Space.of(task.space)
    ends = {
        level: AutoBCTTerminator(space, price=task.price(level), score_range=task.score_range, seed=0)
        for level in LEVELS
    }
    stops = dict.fromkeys(LEVELS, CAP)
    for made in range(1, CAP + 1):
        trial = study.ask(distributions_of(space))
        score, cost = bench(trial.params)
        trial.set_user_attr("cost", cost)
        study.tell(trial, score)
        for level in [level for level, k in stops.items() if k == CAP and made < CAP]:
            if ends[level].should_stop(study):
                stops[level] = made
    firsts = [bench.trials[:made] for made in range(1, CAP + 1)]
    return {
        level: Study(np.array([outcome_of(task, level, so, best_seen(so)).captured for so in firsts]), stops[level])
        for level in LEVELS
    }


def row(name: str, studies: list[Study]) -> str:
    captured = np.stack([study.captured for study in studies])
    stopped = np.mean([study.captured[study.stop - 1] for study in studies])
    fixed = int(captured.mean(axis=0).argmax())
    best = captured.max(axis=1).mean()
    trials, hindsight = np.mean([study.stop for study in studies]), np.mean(captured.argmax(axis=1) + 1)
    return (
        f"| {name} | {stopped:.3f} | {trials:.1f} | {captured[:, fixed].mean():.3f} | {fixed + 1} | "
        f"{best:.3f} | {hindsight:.1f} | {captured[:, -1].mean():.3f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tasks", nargs="+", default=list(TASKS))
    parser.add_argument("--proposals", type=int, default=_optuna_study.PROPOSALS, help="suggestions that count")
    parser.add_argument("--data")
    said = parser.parse_args()
    _optuna_study.PROPOSALS = said.proposals
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    found: dict[tuple[str, float], list[Study]] = {}
    print("| task and price | our stop: captured | trials | best fixed k | k | best k of each | k | 50 trials |")
    print("|---|---|---|---|---|---|---|---|")
    for task in named(said.tasks, said.data):
        played = [studied(task, seed) for seed in range(said.seeds)]
        for level in LEVELS:
            found[task.name, level] = [of[level] for of in played]
            print(row(f"{task.name}, {level:g}", found[task.name, level]), flush=True)
    for level in LEVELS:
        print(row(f"all, {level:g}", [study for (_, at), of in found.items() if at == level for study in of]))


if __name__ == "__main__":
    main()
