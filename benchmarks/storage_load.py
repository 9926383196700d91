"""Many workers on one database: how many runs a second, how long a decision takes, and whether either grows.

    python benchmarks/storage_load.py --workers 8 --runs 500 --storage sqlite --write

Each worker is a process that asks and tells; a training takes no time, so that all time is the database's and the
tuner's.  `--runs` is per worker.  PostgreSQL is started from installed binaries.  Decisions are the default ones, the
learned surrogate included: a run's price is just high enough for it to be asked.

A decision under load is split into waiting for the turn to decide, processor time, and the rest: disk, server, and
other processes on the same cores.  Since that rest, and processor time by way of shared caches, follow what else the
machine does, all workers but one pause four times, and that one makes `ALONE` runs: whether decisions get slower with
the number of runs is seen there.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse
import contextlib
import json
import multiprocessing
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
PRICE = 2e-4  # of a run, where scores are between 0 and 1: below 1e-4 the learned surrogate is not asked
RESULTS = ROOT / "benchmarks" / "results" / "storage_load.json"


ALONE = 20
"""Runs that one worker makes while the others pause, each time."""

PAUSES = (0.25, 0.5, 0.75, 0.95)
"""When, as a share of all runs."""

COLUMNS = ("at", "ask", "turn", "cpu", "tell", "peak", "memory", "run", "pause")
"""Of a line: when; seconds to ask, of them waiting for the turn, of the processor; to tell; MB; run; pause or -1."""


class Pauses:
    """Where workers meet; between two meetings only the first of them works."""

    def __init__(self, meet: Any, first: bool, total: int) -> None:
        self._meet, self._first = meet, first
        self._due = [int(share * total) for share in PAUSES]
        self._made = 0
        self.number, self._left = -1, 0  # of the pause that this worker works in, and runs left in it

    def after(self, run: int) -> None:
        """A run was told."""
        if self._left:
            self._left -= 1
            if not self._left:
                self.number = -1
                self._wait()
        elif self._made < len(self._due) and run >= self._due[self._made]:
            self._made += 1
            self._wait()
            if self._first:
                self.number, self._left = self._made - 1, ALONE
            else:
                self._wait()

    def end(self) -> None:
        """Nobody is to wait for this worker."""
        self._meet.abort()

    def _wait(self) -> None:
        with contextlib.suppress(threading.BrokenBarrierError):
            self._meet.wait()


def work(address: str, log: str, most: int, meet: Any, first: bool) -> None:
    """Ask and tell until all stop; a line for each run."""
    from autobct import Float, Storage, Train, Tuner
    from autobct.integrations.storage import shared
    from autobct.tuning.decide import position
    from autobct.value.acquisition import pick

    position.RESOLUTION = 0.0  # never stop before so many runs are made, and decide as always
    position.picked = lambda _, found: (int(pick(found, -np.inf)[0]), True)
    tuner = Tuner({f"x{k}": Float(0, 1) for k in range(8)}, price=PRICE, max_runs=most)
    scores, pauses = np.random.default_rng(os.getpid()), Pauses(meet, first, most)
    with open(log, "w") as file, shared(tuner, Storage(address, patience=600.0)) as worker:
        while True:
            began, waited, cpu = time.perf_counter(), worker.waited, time.process_time()
            decision = worker.ask()
            asked, waited, cpu = time.perf_counter(), worker.waited - waited, time.process_time() - cpu
            if not isinstance(decision, Train):
                break
            worker.tell(decision, scores.uniform(), 1.0)
            told = time.perf_counter()
            entry = [time.time(), asked - began, waited, cpu, told - asked, *_memory(), decision.trial, pauses.number]
            print(json.dumps(entry), file=file, flush=True)
            pauses.after(decision.trial)
    pauses.end()


def _memory() -> tuple[float, float]:
    """MB of this process, at most and now."""
    now = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, now / 2**20


@contextlib.contextmanager
def address_of(kind: str, folder: str) -> Iterator[str]:
    if kind == "sqlite":
        yield f"sqlite:///{folder}/run.db"
        return
    from tests.faults.postgres import postgres

    with postgres(fsync=True) as server:
        yield server.address


def measured(kind: str, workers: int, runs: int) -> dict[str, Any]:
    """What came of so many workers."""
    total = workers * runs
    with tempfile.TemporaryDirectory() as folder, address_of(kind, folder) as address:
        context = multiprocessing.get_context("spawn")
        meet = context.Barrier(workers)
        logs = [f"{folder}/log-{k}" for k in range(workers)]
        processes = [context.Process(target=work, args=(address, log, total, meet, log is logs[0])) for log in logs]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        codes = [process.exitcode for process in processes]
        lines = [[json.loads(line) for line in Path(log).read_text().splitlines()] for log in logs]
    found = {"storage": kind, "workers": workers, "exit_codes": codes, "cores": os.cpu_count()}
    return found | reported(lines)


def reported(lines: list[list[list[float]]]) -> dict[str, Any]:
    """The figures.  lines: of each worker, as in `COLUMNS`"""
    table = np.array(sorted(entry for each in lines for entry in each))
    column = dict(zip(COLUMNS, table.T, strict=True))
    under_load = table[column["pause"] < 0]
    quarters = np.array_split(under_load, 4)
    alone = {int(k): table[column["pause"] == k] for k in range(len(PAUSES)) if (column["pause"] == k).any()}
    memory = [_growth([row[6] for row in each], [row[7] for row in each]) for each in lines if len(each) > 8]
    peaks = [each[-1][5] - each[len(each) // 4][5] for each in lines if len(each) > 8]
    return {
        "runs": len(table),
        "all_once": sorted(column["run"].astype(int).tolist()) == list(range(len(table))),
        "runs_per_second": _pace(table, alone.values()),
        "decision_ms": [_parts(quarter) for quarter in quarters],
        "decision_alone_ms": [{"after_runs": int(rows[0, 7]), **_parts(rows)} for rows in alone.values()],
        "tell_ms": [_quantiles(quarter[:, 4]) for quarter in quarters],
        "memory_mb_at_the_end": round(max(each[-1][6] for each in lines if each), 1),
        "memory_growth_kb_per_run": round(1024 * max(memory, default=0.0), 2),
        "peak_memory_grown_mb_after_first_quarter": round(float(max(peaks, default=0.0)), 1),
    }


def _pace(table: Any, alone: Any) -> float:
    """Runs a second of all workers, without pauses."""
    paused = sum(float(np.ptp(rows[:, 0])) for rows in alone)
    made = len(table) - sum(len(rows) for rows in alone)
    return round(made / max(float(np.ptp(table[:, 0])) - paused, 1e-9), 1)


def _parts(rows: Any) -> dict[str, Any]:
    """A decision by the clock, and what it is made of."""
    ask, turn, cpu = rows[:, 1], rows[:, 2], rows[:, 3]
    parts = {"by_the_clock": ask, "waiting_for_turn": turn, "processor": cpu, "rest": np.maximum(ask - turn - cpu, 0.0)}
    return {name: _quantiles(part) for name, part in parts.items()}


def _growth(values: Any, runs: Any) -> float:
    """Slope over the runs after the first quarter."""
    values, runs = np.asarray(values)[len(values) // 4 :], np.asarray(runs)[len(runs) // 4 :]
    return float(np.polyfit(runs, values, 1)[0])


def _quantiles(seconds: Any) -> dict[str, float]:
    return {name: round(1000 * float(np.quantile(seconds, q)), 1) for name, q in (("median", 0.5), ("p95", 0.95))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--runs", type=int, default=500, help="per worker")
    parser.add_argument("--storage", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--write", action="store_true", help=f"into {RESULTS.relative_to(ROOT)}")
    options = parser.parse_args()
    found = measured(options.storage, options.workers, options.runs)
    print(json.dumps(found, indent=2))
    if options.write:
        before = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        RESULTS.write_text(json.dumps({**before, options.storage: found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
