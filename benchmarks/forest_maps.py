"""The paper's own maps, forests on the raw numbers, against depth 2: what each improvement of the network maps buys.

    python benchmarks/forest_maps.py --folder DIR --out FILE [--states 20000] [--draws 300]
    python benchmarks/forest_maps.py --out FILE --table

V_1 .. V_4 are built once (resumable, in DIR); relaxed use of V_2 and of V_4, damping 0 and 0.02, is played on the draws
of depth 2: last model, linear cost, price 0.16.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from autobct.belief.prior import Prior
from autobct.build.certificate import numpy_duel, row_of
from autobct.build.forest_builder import ForestRequest, build_forest
from autobct.build.forest_file import read_forest
from autobct.build.layout import PAPER_NAMES, priors_of
from autobct.maps.container import unpack
from autobct.maps.store import read_file

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="where the map is built, or has been")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--states", type=int, default=20_000, help="drawn from the paper's cloud of 156,000")
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--table", action="store_true", help="print the rows of --out as markdown, play nothing")
    arguments = parser.parse_args()
    if arguments.table:
        print(table(json.loads(arguments.out.read_text())["rows"]))
        return
    request = ForestRequest(states=arguments.states, runs=max(RUNS), draws=0)
    began = time.perf_counter()
    path = build_forest(request, arguments.folder, lambda done, total, text: print(text, flush=True))
    built, rows = read_forest(*unpack(read_file(path))), []
    shorter = {runs: replace(built, values=built.values[:runs]) for runs in RUNS}
    for name in PAPER_NAMES[1]:
        prior = Prior(built.model, priors_of([name], 1, "linear")[0].belief)
        for runs in RUNS:
            for damping in DAMPING:
                policy, rng = shorter[runs].relaxed(damping=damping), np.random.default_rng(1)
                duel = numpy_duel(policy, prior, built.terms, built.controls, draws=arguments.draws, rng=rng)
                row = row_of(name, built.terms.price, duel)
                rows.append({"N": runs, "damping": damping, **row.as_dict()})
                print(f"{time.perf_counter() - began:6.0f} s  {table(rows[-1:]).splitlines()[-1]}", flush=True)
                arguments.out.write_text(json.dumps({"states": arguments.states, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
