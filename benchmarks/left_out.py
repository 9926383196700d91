"""Families left out: the default tuner on twelve families of tasks that its network has never seen.

    python benchmarks/left_out.py --data FOLDER [--each 8] [--seeds 1] [--settings '[{}, {"told": false}]'] [--fresh]

FOLDER holds hpo/ and families.jsonl, a copy of benchmarks/results/families.jsonl.  The shipped network has learned from
simulated tasks alone, so it plays everywhere; --weights is a folder of other networks, one for every fold of families
that it has not seen (train.py).  With --fresh it is the families of fresh_models.py, from fresh_families.jsonl in
FOLDER.  Settings are those of `autobct.Tuner`, e.g. {"prior": "ensemble"} for the ensemble alone; "told": false leaves
out the range of scores, "names": "hidden" what is usual by the names of parameters, "names": "mirrored" takes its
opposite, and {"peer": "logei-2"} plays one of the peers of peer_list.py that stop by themselves.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from peer_list import PEERS
from tasks import LEVELS, autobct_tuner, play

from autobct.belief.surrogate.network import Network
from autobct.maps.library import NAME, read_surrogate
from autobct.tuning import problem
from autobct.tuning.model import other_surrogates
from autobct.tuning.space.parameter import Categorical
from autobct.tuning.space.space import Space
from autobct.tuning.space.usual_values import usual_places

_HERE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(_HERE / "experiments" / "surrogate"))

Row = tuple[str, str, float, int, float, int, float]
"""Task, family, level, seed, captured, trials, CPU seconds per decision."""


@cache
def loaded(file: str) -> Network:
    """The network of a file."""
    return read_surrogate(Path(file).read_bytes())[0]


def network_for(family: str, weights: Path | None = None) -> str:
    """The file of the network that has never seen a family: the shipped one, or that of its fold in a folder."""
    from benchmark_tasks import FOLDS

    if weights is None:
        return str(resources.files("autobct.maps") / "files" / NAME)
    return str(weights / f"{next(fold for fold, families in FOLDS.items() if family in families)}.surrogate")


def using(network: Network) -> None:
    """From now on the learned surrogate of this process is another one."""
    other_surrogates.shipped_surrogate = lambda: network


def calling(names: str) -> None:
    """From now on what is usual by name is "known", "hidden", or "mirrored" in the range or the choices."""
    problem.usual_places = {"known": usual_places, "hidden": lambda space: (), "mirrored": _mirrored}[names]


def _mirrored(space: Space) -> tuple[tuple[int, float], ...]:
    tuned = [parameter for parameter in space.parameters if parameter.count != 1]
    return tuple(
        (which, (place + 1) % parameter.count if isinstance(parameter := tuned[which], Categorical) else 1.0 - place)
        for which, place in usual_places(space)
    )


def played(job: tuple[str, str, str, dict[str, Any], float, int]) -> Row:
    """One play."""
    name, data, weights, settings, level, seed = job
    from benchmark_tasks import named_task

    using(loaded(weights))
    task, told = named_task(name, data), dict(settings)
    calling(told.pop("names", "known"))
    if not told.pop("told", True):
        told["score_range"] = None
    tuner = PEERS[told["peer"]].make() if "peer" in told else autobct_tuner(**told)
    outcome = play(tuner, task, level, seed)
    return name, task.family, level, seed, outcome.captured, outcome.trials, outcome.seconds


def chosen_tasks(data: str, each: int, *, fresh: bool = False) -> dict[str, list[str]]:
    """So many tasks of each family, evenly over all there are."""
    from benchmark_tasks import all_names, fresh_names

    members: dict[str, list[str]] = {}
    for name in fresh_names(data) if fresh else all_names(data):
        members.setdefault(name.split("-")[0], []).append(name)
    return {family: names[:: max(1, len(names) // each)][:each] for family, names in members.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--weights", type=Path, help="networks of folds; the shipped one if not given")
    parser.add_argument("--settings", default="{}", help="JSON; several in a list")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--each", type=int, default=8, help="tasks per family")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=1e9, help="start no play after so long")
    parser.add_argument("--fresh", action="store_true", help="the thirteen fresh families")
    parser.add_argument("--out", type=Path, help="one line of JSON for every play is added")
    asked = parser.parse_args()
    tasks = chosen_tasks(asked.data, asked.each, fresh=asked.fresh)
    variants, begin = json.loads(asked.settings), time.monotonic()
    for settings in variants if isinstance(variants, list) else [variants]:
        jobs = [
            (name, asked.data, network_for(family, asked.weights), settings, level, seed)
            for seed in range(asked.seeds) for number in range(asked.each) for level in LEVELS
            for family, names in tasks.items() for name in names[number : number + 1]
        ]  # fmt: skip
        rows: list[Row] = []
        with multiprocessing.get_context("spawn").Pool(asked.workers) as pool:
            for row in pool.imap_unordered(played, jobs, chunksize=2):
                rows.append(row)
                if asked.out is not None:
                    with asked.out.open("a") as file:
                        file.write(json.dumps([settings, *row]) + "\n")
                if time.monotonic() - begin > asked.seconds:
                    pool.terminate()
                    break
        report(settings, rows)


def report(settings: Any, rows: Sequence[Row]) -> None:
    """Captured and trials of each family at each level, and the mean over families."""
    print(json.dumps(settings))
    means = []
    for family in dict.fromkeys(row[1] for row in rows):
        of = [[row for row in rows if row[1] == family and row[2] == level] for level in LEVELS]
        if not all(of):
            continue
        means.append([np.mean([r[4] for r in at]) for at in of])
        print(f"{family:14s} {len({r[0] for r in of[0]}):3d} " + " ".join(f"{m:6.3f}" for m in means[-1])
              + "   " + " ".join(f"{np.mean([r[5] for r in at]):5.1f}" for at in of), flush=True)  # fmt: skip
    errors = np.std(means, axis=0) / np.sqrt(max(len(means) - 1, 1))
    print(f"{'mean':14s}     " + " ".join(f"{m:6.3f}" for m in np.mean(means, axis=0))
          + "   +- " + " ".join(f"{e:.3f}" for e in errors), flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
