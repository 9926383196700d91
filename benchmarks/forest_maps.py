"""The paper's own maps, forests on the raw numbers, against depth 2: what each improvement of the network maps buys.

    python benchmarks/forest_maps.py --folder DIR --out FILE [--states 20000] [--draws 300] [--jobs 2]
    python benchmarks/forest_maps.py --out FILE --table

V_1 .. V_4 are built once (resumable, in DIR); relaxed use of V_2 and of V_4, damping 0 and 0.02, is played on the draws
of depth 2: last model, linear cost, price 0.16.  A row that FILE has already is not played again.
"""

from __future__ import annotations

import os

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from autobct.belief.prior import Prior
from autobct.build.forests.forest_builder import ForestRequest, build_forest
from autobct.build.forests.forest_map import read_forest
from autobct.build.layout import PAPER_NAMES, priors_of
from autobct.build.map_worth import numpy_duel, row_of
from autobct.maps.container import read_file, unpack

RUNS = (2, 4)
DAMPING = (0.0, 0.02)


def table(rows: list[dict[str, Any]]) -> str:
    lines = ["| prior | N | damping | depth 2 | forest | difference | runs | at the cap |", "|---" * 8 + "|"]
    lines += [
        f"| {row['prior']} | {row['N']} | {row['damping']:g} | {row['base_net']:.3f} | {row['net']:.3f} "
        f"| {row['gap']:+.3f} ± {row['gap_error']:.3f} | {row['runs']:.1f} | {100 * row['capped']:.0f} % |"
        for row in rows
    ]
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Cell:
    """One row: a prior by name, the value function used, and its damping."""

    prior: str
    runs: int
    damping: float

    def is_row(self, row: dict[str, Any]) -> bool:
        return (row["prior"], row["N"], row["damping"]) == (self.prior, self.runs, self.damping)


def played(cell: Cell, path: Path, draws: int) -> dict[str, Any]:
    built = read_forest(*unpack(read_file(path)))
    prior = Prior(built.model, priors_of([cell.prior], 1, "linear")[0].belief)
    policy = replace(built, values=built.values[: cell.runs]).relaxed(damping=cell.damping)
    duel = numpy_duel(policy, prior, built.terms, built.controls, draws=draws, rng=np.random.default_rng(1))
    return {"N": cell.runs, "damping": cell.damping, **row_of(cell.prior, built.terms.price, duel).as_dict()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="where the map is built, or has been")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--states", type=int, default=20_000, help="drawn from the paper's cloud of 156,000")
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--table", action="store_true", help="print the rows of --out as markdown, play nothing")
    arguments = parser.parse_args()
    found = json.loads(arguments.out.read_text()) if arguments.out.exists() else {"rows": []}
    if arguments.table:
        print(table(found["rows"]))
        return
    request = ForestRequest(states=arguments.states, runs=max(RUNS), draws=0)
    began = time.perf_counter()
    path = build_forest(request, arguments.folder, lambda done, total, text: print(text, flush=True))
    cells = [Cell(name, runs, damping) for name in PAPER_NAMES[1] for runs in RUNS for damping in DAMPING]
    missing = [cell for cell in cells if not any(cell.is_row(row) for row in found["rows"])]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for done in as_completed([pool.submit(played, cell, path, arguments.draws) for cell in missing]):
            rows = [*found["rows"], done.result()]
            found = {
                "states": arguments.states,
                "rows": [row for cell in cells for row in rows if cell.is_row(row)],
            }
            arguments.out.write_text(json.dumps(found, indent=1) + "\n")
            print(f"{time.perf_counter() - began:6.0f} s  {table([done.result()]).splitlines()[-1]}", flush=True)


if __name__ == "__main__":
    main()
