"""What the shipped maps are worth: every map on every prior of the paper, at several prices and noises, beside depth 2.

    python benchmarks/judge_maps.py --out FILE [--maps DIR] [--device cuda] [--draws 20000] [--only NAME ..]
    python benchmarks/judge_maps.py --table --out FILE       the rows of FILE as markdown
    python benchmarks/judge_maps.py --note DIR --out FILE    write what the maps of DIR were found to be worth into them

Both policies play the same truths and noise; errors are standard errors of paired differences.  Rows are added to FILE
as they are found, and a row that is there already is not played again.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import autobct
from autobct.belief.prior import Prior
from autobct.build.layout import PAPER_NAMES, priors_of
from autobct.build.map_worth import DuelRow, row_of
from autobct.maps.container import SUFFIX, shipped
from autobct.maps.library import read_map, save_map, shipped_map
from autobct.value.maps.value_map import ValueMap

NOTES = ("build", "autobct", "numpy", "seconds")
"""Notes of a builder that stay as they are."""

MEMORYLESS_DRAWS = 5
"""So many times the draws for maps of the last model in 1-D at the paper's price: their differences vary most."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A price, and a noise of score and cost; None for the prior's own."""

    price: float
    noise: float | None = None

    def of(self, prior: Prior) -> Prior:
        if self.noise is None:
            return prior
        return replace(prior, model=replace(prior.model, score_noise=self.noise, cost_noise=self.noise))


SETTINGS = (Setting(0.16), Setting(0.04), Setting(0.64), Setting(0.16, 0.05), Setting(0.16, 0.15))


def maps_in(folder: Path | None) -> dict[str, ValueMap]:
    """The maps of a folder, or the shipped ones."""
    if folder is None:
        return {name: shipped_map(name) for name in shipped()}
    return {path.stem: autobct.load_map(path) for path in sorted(folder.glob(f"*{SUFFIX}"))}


def duels(maps: dict[str, ValueMap]) -> Iterator[tuple[str, str, Setting]]:
    """The paper's price for all maps first."""
    for setting in SETTINGS:
        for name, value_map in maps.items():
            for prior in PAPER_NAMES[value_map.spec.dim]:
                yield name, prior, setting


def judged(value_map: ValueMap, prior: str, setting: Setting, draws: int, device: str) -> DuelRow:
    """One row: a map against depth 2."""
    from autobct.build.networks.judged import torch_duel, values_of

    spec = value_map.spec
    first = setting.of(priors_of([prior], spec.dim, spec.cost_model)[0])
    many = draws * (MEMORYLESS_DRAWS if spec.dim == 1 and not spec.recall and setting == SETTINGS[0] else 1)
    duel = torch_duel(spec, values_of(value_map, device), first, setting.price, draws=many, seed=1, device=device)
    return row_of(prior, setting.price, duel)


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: one line for each prior, map and setting."""
    head = "| map | prior | price | noise | depth 2 | map | difference | where costs are positive | runs | at the cap |"
    lines = [head, "|---" * 10 + "|"]
    for row in rows:
        noise = "own" if row["noise"] is None else f"{row['noise']:g}"
        gap = f"{row['gap']:+.4f} ± {row['gap_error']:.4f}"
        positive = f"{row['positive_gap']:+.4f} ± {row['positive_gap_error']:.4f}"
        lines.append(
            f"| {row['map']} | {row['prior']} | {row['price']:g} | {noise} | {row['base_net']:.4f} | {row['net']:.4f} "
            f"| {gap} | {positive} | {row['runs']:.2f} | {100 * row['capped']:.2f} % |"
        )
    return "\n".join(lines)


def note(folder: Path, rows: list[dict[str, Any]]) -> None:
    """The rows at the paper's price and noise, into the notes of the maps."""
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        found = read_map(path)
        told = [row for row in rows if row["map"] == path.stem and Setting(row["price"], row["noise"]) == SETTINGS[0]]
        worth = [{name: row[name] for name in DuelRow.__slots__} for row in told]
        about = {name: text for name, text in found.about.items() if name in NOTES}
        save_map(path, found.value_map, about | {"policy": json.dumps(worth)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--maps", type=Path, help="folder of map files; the shipped ones if not given")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--draws", type=int, default=20_000)
    parser.add_argument("--only", nargs="*", default=[], help="names such as 1d-linear-last")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no further row after this time")
    parser.add_argument("--table", action="store_true", help="print the rows of --out as markdown, play nothing")
    parser.add_argument("--note", type=Path, help="a folder of maps to write the rows of --out into, play nothing")
    arguments = parser.parse_args()
    found = json.loads(arguments.out.read_text()) if arguments.out.exists() else {"rows": []}
    if arguments.table:
        print(table(found["rows"]))
        return
    if arguments.note:
        note(arguments.note, found["rows"])
        return
    maps = {name: one for name, one in maps_in(arguments.maps).items() if not arguments.only or name in arguments.only}
    began = time.perf_counter()
    known = {(row["map"], row["prior"], row["price"], row["noise"]) for row in found["rows"]}
    for name, prior, setting in duels(maps):
        if (name, prior, setting.price, setting.noise) in known:
            continue
        if time.perf_counter() - began > arguments.seconds:
            print("no time left; call again with the same --out to go on")
            break
        row = judged(maps[name], prior, setting, arguments.draws, arguments.device)
        found["rows"].append({"map": name, **asdict(setting), **row.as_dict()})
        found["about"] = _about(arguments)
        arguments.out.write_text(json.dumps(found, indent=1) + "\n")
        print(
            f"{time.perf_counter() - began:6.1f} s  {name:16s} {prior:10s} price {setting.price:<5g} noise "
            f"{setting.noise}  {row.net:.4f}  {row.gap:+.5f} ± {row.gap_error:.5f}  positive {row.positive_gap:+.5f} ± "
            f"{row.positive_gap_error:.5f}  runs {row.runs:.2f} / {row.base_runs:.2f}  capped {row.capped:.4f}",
            flush=True,
        )


def _about(arguments: argparse.Namespace) -> dict[str, object]:
    import torch

    name = torch.cuda.get_device_name() if arguments.device == "cuda" else platform.machine()
    return {"command": "benchmarks/judge_maps.py", "draws": arguments.draws, "device": name, "torch": torch.__version__}


if __name__ == "__main__":
    main()
