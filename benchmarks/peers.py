"""Net utility on real tuning tasks, against the tuners people use: the table, its errors, pairs, families, a plot.

    python benchmarks/peers.py --tuners autobct --seeds 3 --quick         the loop while working on the tuner
    python benchmarks/peers.py --tuners autobct --seeds 3 --quick --tasks holdout
    python benchmarks/peers.py --seeds 3 --workers 2 --write              everything; goes on where it was interrupted
    python benchmarks/peers.py --write --only-table                       table and plot from what was played so far

The tasks need data that is not part of the project: --data FOLDER, or AUTOBCT_DATA.  --quick prints in two to four
minutes what autobct captures at each price and in each family, how it stands against the stored peers, and what limits
it (--oracle: the truth for its first run, its stopping, its belief); nothing is stored.
"""

from __future__ import annotations

import os

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"

import argparse
import multiprocessing
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path

import peer_report
from peer_cells import Cell, Key, append, cell_of, code, read
from peer_list import PEERS, environment
from peer_oracle import ORACLES
from peer_table import line_of
from surfaces import NoDataError
from tasks import LEVELS, Task, Tuner, everything, holdout, named, play, published

CELLS = Path(__file__).parent / "results" / "peers.cells.jsonl"
SETS: dict[str, Callable[..., list[Task]]] = {"published": published, "holdout": holdout, "all": everything}


def chosen_tasks(name: str, data: str | None) -> list[Task]:
    return SETS[name](data) if name in SETS else named(name.split(","), data)


def wanted(tuners: Sequence[str], tasks: Sequence[Task], seeds: int) -> Iterator[Key]:
    """All plays, every tuner's first seed before any second one."""
    for seed in range(seeds):
        for tuner in tuners:
            entry = PEERS[tuner]
            for task in tasks:
                for level in LEVELS if entry.priced else (None,):
                    yield tuner, task.name, level, seed, code() if entry.ours else ""


@cache
def _tuner(name: str) -> Tuner:
    return PEERS[name].make()


@cache
def _task(name: str, data: str | None) -> Task:
    return named([name], data)[0]


def played(key: Key, data: str | None) -> Cell:
    """One play; where the price does not matter, at any."""
    warnings.simplefilter("ignore")
    tuner, task, level, seed, _ = key
    price = LEVELS[0] if level is None else level
    return cell_of(key, play(_tuner(tuner), _task(task, data), price, seed, cap=PEERS[tuner].most))


def missing(keys: Sequence[Key], data: str | None, workers: int) -> Iterator[Cell]:
    """Play, one after the other or side by side."""
    if workers == 1:
        yield from (played(key, data) for key in keys)
        return
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawn) as pool:
        for done in as_completed([pool.submit(played, key, data) for key in keys]):
            yield done.result()


def all_played(keys: Sequence[Key], data: str | None, workers: int, *, store: Path | None) -> list[Cell]:
    """Cells for all keys: those that are stored, and the others played now."""
    known = {} if store is None else read(store)
    left, start = [key for key in keys if key not in known], time.perf_counter()
    for count, cell in enumerate(missing(left, data, workers), 1):
        known[cell.key] = cell
        if store is not None:
            append(store, [cell])
        if count % 20 == 0 or count == len(left):
            spent = time.perf_counter() - start
            print(f"\r{count} of {len(left)} plays, {spent:.0f} s ", end="", file=sys.stderr, flush=True)
    if left:
        print(file=sys.stderr)
    return [known[key] for key in keys]


def diagnosis(names: Sequence[str], tasks: Sequence[Task], seeds: int) -> dict[str, dict[float, float]]:
    """Mean captured when the truth is given for a part."""
    found: dict[str, dict[float, float]] = {}
    for name in names:
        each = {
            level: [ORACLES[name](task, level, seed) for task in tasks for seed in range(seeds)] for level in LEVELS
        }
        found[name] = {level: sum(values) / len(values) for level, values in each.items()}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tuners", default=",".join(PEERS), help=f"some of {', '.join(PEERS)}")
    parser.add_argument("--tasks", default="published", help="published, holdout, all, or names with commas")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data", help="the folder with hpo/ in it; AUTOBCT_DATA if not given")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--quick", action="store_true", help="store nothing; compare with the stored peers, and diagnose"
    )
    parser.add_argument("--oracle", default="all", help=f"with --quick: all, none, or some of {', '.join(ORACLES)}")
    parser.add_argument("--only-table", action="store_true", help="play nothing: what was played so far")
    parser.add_argument("--cells", type=Path, default=CELLS)
    parser.add_argument("--write", action="store_true", help="keep the table in results/ and docs/peers.md")
    asked = parser.parse_args()
    tuners = asked.tuners.split(",")
    if unknown := [name for name in tuners if name not in PEERS]:
        parser.error(f"there is no tuner {', '.join(unknown)}; write some of {', '.join(PEERS)}")
    oracles = {"all": list(ORACLES), "none": []}.get(asked.oracle, asked.oracle.split(","))
    if unknown := [name for name in oracles if name not in ORACLES]:
        parser.error(f"there is no oracle {', '.join(unknown)}; write all, none or some of {', '.join(ORACLES)}")
    if asked.write and (asked.quick or asked.tasks != "published"):
        parser.error("--write is for the whole table on the published tasks; leave out --quick and --tasks")
    try:
        tasks = chosen_tasks(asked.tasks, asked.data)
    except NoDataError as absent:
        sys.exit(str(absent))
    keys = list(wanted(tuners, tasks, asked.seeds))
    if asked.only_table:
        stored = read(asked.cells)
        keys = [key for key in keys if key in stored]
        tuners = [name for name in tuners if {key[1] for key in keys if key[0] == name} == {t.name for t in tasks}]
        keys = [key for key in keys if key[0] in tuners]
    for package in {PEERS[key[0]].package for key in keys} - {None}:
        environment(str(package))  # before several workers would make it at once
    cells = all_played(keys, asked.data, asked.workers, store=None if asked.quick else asked.cells)
    lines = {name: line_of(PEERS[name], [c for c in cells if c.tuner == name], tasks) for name in tuners}
    print(peer_report.table(lines))
    print(peer_report.families(lines, tasks, only=list(lines) if len(lines) < 3 else ["autobct"]))
    print(peer_report.standing(lines))
    if asked.quick and "autobct" in tuners and oracles:
        print(peer_report.limits(lines["autobct"], diagnosis(oracles, tasks, asked.seeds), asked.seeds))
    if asked.write:
        peer_report.write(lines, tasks)


if __name__ == "__main__":
    main()
