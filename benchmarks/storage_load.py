"""Many workers on one database: how many runs a second, how long a decision takes, and whether either grows.

    python benchmarks/storage_load.py --workers 8 --runs 500 --storage sqlite --write

Each worker is a process that asks and tells; a training takes no time, so that all time is the database's and the
tuner's.  `--runs` is per worker.  PostgreSQL is started from installed binaries.  Decisions are the default ones, the
learned surrogate included: a run's price is just high enough for it to be asked.
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
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
PRICE = 2e-4  # of a run, where scores are between 0 and 1: below 1e-4 the learned surrogate is not asked
RESULTS = ROOT / "benchmarks" / "results" / "storage_load.json"


def work(address: str, log: str, most: int) -> None:
    """Ask and tell until all stop; a line for each run: when, seconds to decide, wait and tell, memory, run, CPU."""
    from autobct import Float, Storage, Train, Tuner
    from autobct.integrations.storage import shared
    from autobct.tuning.decide import position
    from autobct.value.acquisition import pick

    position.RESOLUTION = 0.0  # never stop before so many runs are made, and decide as always
    position.picked = lambda _, found: (int(pick(found, -np.inf)[0]), True)
    tuner = Tuner({f"x{k}": Float(0, 1) for k in range(8)}, price=PRICE, max_runs=most)
    scores = np.random.default_rng(os.getpid())
    with open(log, "w") as file, shared(tuner, Storage(address, patience=600.0)) as worker:
        while True:
            began, waited, cpu = time.perf_counter(), worker.waited, time.process_time()
            decision = worker.ask()
            asked, waited, cpu = time.perf_counter(), worker.waited - waited, time.process_time() - cpu
            if not isinstance(decision, Train):
                break
            worker.tell(decision, scores.uniform(), 1.0)
            told = time.perf_counter()
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            entry = [time.time(), asked - began - waited, waited, told - asked, memory, decision.trial, cpu]
            print(json.dumps(entry), file=file, flush=True)


@contextlib.contextmanager
def address_of(kind: str, folder: str) -> Iterator[str]:
    if kind == "sqlite":
        yield f"sqlite:///{folder}/run.db"
        return
    from tests.faults.postgres import postgres

    with postgres(fsync=True) as server:
        yield server.address


def measured(kind: str, workers: int, runs: int) -> dict[str, Any]:
    total = workers * runs
    with tempfile.TemporaryDirectory() as folder, address_of(kind, folder) as address:
        context = multiprocessing.get_context("spawn")
        logs = [f"{folder}/log-{k}" for k in range(workers)]
        processes = [context.Process(target=work, args=(address, log, total)) for log in logs]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        codes = [process.exitcode for process in processes]
        lines = [[json.loads(line) for line in Path(log).read_text().splitlines()] for log in logs]
    entries = np.array(sorted(entry for each in lines for entry in each))
    grown = [each[-1][4] - each[len(each) // 4][4] for each in lines if len(each) > 8]
    quarter = len(entries) // 4
    return {
        "storage": kind,
        "workers": workers,
        "runs": len(entries),
        "exit_codes": codes,
        "all_once": sorted(entries[:, 5].astype(int).tolist()) == list(range(len(entries))),
        "runs_per_second": (len(entries) - 1) / (entries[-1, 0] - entries[0, 0]),
        "decision_ms": _quantiles(entries[:, 1]),
        "decision_ms_second_quarter": _quantiles(entries[quarter : 2 * quarter, 1]),
        "decision_ms_last_quarter": _quantiles(entries[-quarter:, 1]),
        "decision_cpu_ms_second_quarter": _quantiles(entries[quarter : 2 * quarter, 6]),
        "decision_cpu_ms_last_quarter": _quantiles(entries[-quarter:, 6]),
        "tell_ms": _quantiles(entries[:, 3]),
        "waiting_for_turn_ms": _quantiles(entries[:, 2]),
        "memory_mb": float(entries[-quarter:, 4].max()),
        "memory_grown_mb_after_first_quarter": float(max(grown, default=0.0)),
    }


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
