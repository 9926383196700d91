"""How close to optimal: every policy between a lower and an upper bound, and what happens when the model is wrong.

    make bench          (or: python benchmarks/optimality.py --write)
    python benchmarks/optimality.py --quick --only synthetic

For each prior of the paper, both cost models, three prices, with and without recall: net utility of the policies,
simulated on common random numbers with control variates, and the upper bound on every policy
(`autobct.value.bounds.dual`).
Then the same policies on truths the prior does not know.  Cells are added to the results as they are found, and a cell
that is there is not computed again.  Network maps are the shipped ones, or those of --maps DIR;
the paper's forests have a table of their own (`forest_maps.py`).
"""

from __future__ import annotations

import os

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"

import argparse
import json
import platform
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import autobct
from autobct.belief.normal import upsilon
from autobct.belief.prior import PAPER_PRIORS, Prior, paper_prior, with_log_cost
from autobct.maps.container import SUFFIX, shipped
from autobct.maps.library import shipped_map
from autobct.tuning.decide.policy import exact, mapped, relaxed
from autobct.value.acquisition import Assess, by_gittins_index
from autobct.value.bounds.certificate import upper_estimate
from autobct.value.bounds.simple_bounds import CAP, difference, joined, play, stage_of
from autobct.value.lookahead.one_step import ByValue
from autobct.value.maps.value_map import ValueMap, mismatches
from autobct.value.simulate import CommonRandomNumbers, common_random_numbers, simulate
from autobct.value.state import State, Terms, control_grid, price_of, run_price, score_gains, stop_value, view

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "optimality.json"
PAGE, FIGURE = HERE.parent / "docs" / "optimality.md", HERE.parent / "docs" / "img" / "optimality.png"
PRICES, OVERHEAD, SEED = (0.16, 0.04, 0.64), 0.002, 0
BASE, MAP = "depth 2", "network map"
FIXED = tuple(range(1, 9))
REPETITIONS = (4, 6)  # of the search for the upper bound, by dimension
COSTS = ("log-linear", "linear")


@dataclass(frozen=True, slots=True)
class Effort:
    """All by dimension (1-D, 2-D).

    draws:    simulated tunings of depth 2 and the network map;  some: of them for the other policies, deep: for depth 3
    fine:     effort of the upper bound at the paper's price;  coarse: at the others
    free:     at the paper's price where a first run may show that others cost nothing
    share:    of the draws that are simulated at the other prices
    """

    draws: tuple[int, int]
    some: tuple[int, int]
    deep: tuple[int, int]
    fine: tuple[float, float]
    coarse: tuple[float, float]
    free: float
    share: float = 1.0
    seed: int = SEED

    def at(self, cell: Cell) -> Effort:
        """For one cell: fewer draws at prices other than the paper's."""
        if cell.price == PRICES[0]:
            return self

        def fewer(counts: tuple[int, int]) -> tuple[int, int]:
            return max(int(self.share * counts[0]), 2), max(int(self.share * counts[1]), 2)

        return replace(self, draws=fewer(self.draws), some=fewer(self.some), deep=fewer(self.deep), share=1.0)

    def played(self, name: str, dim: int) -> int:
        """How many tunings a policy is simulated on."""
        if name == "depth 3":
            return self.deep[dim - 1]
        return self.draws[dim - 1] if name in (BASE, MAP) else self.some[dim - 1]

    def fineness(self, cell: Cell) -> float:
        """Effort of the upper bound."""
        if cell.price == PRICES[0] and cell.nearly_free:
            return self.free
        return (self.fine if cell.price == PRICES[0] else self.coarse)[paper_prior(cell.prior).dim - 1]


FULL = Effort((8000, 3000), (1000, 1000), (100, 20), (1e-4, 4e-4), (1e-3, 3e-3), free=2e-5, share=0.2)
QUICK = Effort((300, 60), (300, 60), (8, 2), (1e-2, 1e-2), (1e-2, 1e-2), free=1e-2)

SEARCH = 4
"""Of the upper bound; cells that were bounded by an earlier one are bounded again."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One game: a prior by name, its cost model, a price, and what may be returned."""

    prior: str
    cost: str
    price: float
    recall: bool

    @property
    def key(self) -> str:
        return f"{self.prior} {self.cost} {self.price:g} {'recall' if self.recall else 'last'}"

    def first_belief(self) -> Prior:
        prior = paper_prior(self.prior)
        return with_log_cost(prior) if self.cost == "log-linear" else prior

    @property
    def nearly_free(self) -> bool:
        """Whether after a first run others may cost next to nothing."""
        return self.cost == "linear" and self.prior in ("synthetic", "cnn-batch", "higgs")

    @property
    def map_name(self) -> str:
        dim = paper_prior(self.prior).dim
        return f"{dim}d-{self.cost.removesuffix('-linear')}-{'recall' if self.recall else 'last'}"

    @property
    def terms(self) -> Terms:
        return Terms(self.price, self.first_belief().model.cost_model, self.recall, OVERHEAD)


def controls_of(dim: int) -> np.ndarray:
    return control_grid(11 if dim == 1 else 5, dim)


# policies, all on the same belief -------------------------------------------------------------------------------------


def improvement(state: State, terms: Terms, made: int) -> np.ndarray:
    """EI minus price: the incumbent's score taken as certain, E[(m' - best)^+] against the price of the run."""
    moves = np.diagonal(score_gains(state), axis1=-2, axis2=-1)
    best = stop_value(state)[..., None]
    if made == 0:
        return np.asarray(state.score.mean - run_price(state, terms))
    return np.asarray(best + upsilon(state.score.mean - best, moves) - run_price(state, terms))


def random_trials(count: int) -> Assess:
    """So many runs at random controls, then stop."""

    def policy(state: State, terms: Terms, made: int) -> np.ndarray:
        if made >= count:
            return np.full(state.score.mean.shape, -np.inf)
        return 1e6 + np.random.default_rng((SEED, made)).random(state.score.mean.shape)

    return ByValue(policy)


def policies_of(cell: Cell, maps: dict[str, ValueMap]) -> dict[str, Assess]:
    prior, terms = cell.first_belief(), cell.terms
    controls = controls_of(prior.dim)
    found: dict[str, Assess] = {
        BASE: relaxed(2)(controls, SEED),
        "depth 1": relaxed(1)(controls, SEED),
        "depth 3": relaxed(3)(controls, SEED),
        "depth 2, damping 0.02": relaxed(2, damping=0.02)(controls, SEED),
        "exact, horizon 2": exact(2)(controls, SEED),
        "EI minus price": ByValue(improvement),
        "Gittins index": by_gittins_index,
    }
    value_map = maps.get(cell.map_name)
    if value_map is not None and not mismatches(value_map.spec, prior, terms):
        found[MAP] = mapped(value_map)(controls, SEED)
        found["network map, relaxed"] = relaxed(1, terminal=value_map)(controls, SEED)
        found["network map, relaxed, damping 0.02"] = relaxed(1, terminal=value_map, damping=0.02)(controls, SEED)
        found["network map, exact"] = exact(value_map.deepest + 1, value_map=value_map)(controls, SEED)
    return found


# one cell -------------------------------------------------------------------------------------------------------------


def played_cell(cell: Cell, maps_folder: str | None, effort: Effort) -> dict[str, Any]:
    began, effort = time.perf_counter(), effort.at(cell)
    prior, terms = cell.first_belief(), cell.terms
    start = view(prior.belief, prior.model, controls_of(prior.dim))
    maps = maps_in(maps_folder)
    policies = policies_of(cell, maps)
    draws = effort.draws[prior.dim - 1]
    common = common_random_numbers(start, draws, CAP, rng=np.random.default_rng((effort.seed, 7)))
    policies["random trials, best number"] = random_trials(fixed_best(start, terms, effort.some[prior.dim - 1]))
    rows, base = {}, None
    for name, policy in policies.items():
        stage = stage_of(policy, start, terms, rng=np.random.default_rng((effort.seed, 2)))
        some = effort.played(name, prior.dim)
        played = joined([play(policy, stage, part) for part in parts_of(common, some)])
        base = base or played
        short = replace(base, net=base.net[:some], controls=base.controls[:some], runs=base.runs[:some])
        gap = difference(played, short)
        found = played.estimate()
        if some < draws:  # few draws: the difference to the base, which is known better, tells more
            found = replace(base.estimate(), mean=base.estimate().mean + gap.mean, draws=some)
            found = replace(found, error=float(np.hypot(base.estimate().error, gap.error)))
        rows[name] = {**asdict(found), "gap": gap.mean, "gap_error": gap.error,
                      "runs": float(played.runs.mean()), "capped": played.capped}  # fmt: skip
    return {
        **asdict(cell), "policies": rows, **bound_of(cell, effort),
        "seed": effort.seed, "draws": draws, "seconds": time.perf_counter() - began,
    }  # fmt: skip


def bound_of(cell: Cell, effort: Effort) -> dict[str, Any]:
    """What no policy exceeds, and with what effort that was found."""
    prior = cell.first_belief()
    start = view(prior.belief, prior.model, controls_of(prior.dim))
    fineness, repetitions = effort.fineness(cell), REPETITIONS[prior.dim - 1]
    upper = upper_estimate(start, cell.terms, effort=fineness, repetitions=repetitions, seed=effort.seed)
    return {"upper": asdict(upper), "effort": fineness, "search": SEARCH}


def fixed_best(start: State, terms: Terms, draws: int) -> int:
    """The best fixed number of random trials, found on draws of its own."""
    common = common_random_numbers(start, draws, CAP, rng=np.random.default_rng((SEED, 8)))
    worth = [simulate(random_trials(count), start, terms, common).believed_net.mean() for count in FIXED]
    return FIXED[int(np.argmax(worth))]


def parts_of(common: CommonRandomNumbers, draws: int, size: int = 250) -> Iterator[CommonRandomNumbers]:
    for first in range(0, draws, size):
        yield CommonRandomNumbers(
            *(getattr(common, name)[first : min(first + size, draws)] for name in CommonRandomNumbers.__slots__)
        )


def maps_in(folder: str | None) -> dict[str, ValueMap]:
    if folder is None:
        return {name: shipped_map(name) for name in shipped()}
    return {path.stem: autobct.load_map(path) for path in sorted(Path(folder).glob(f"*{SUFFIX}"))}


# when the model is wrong ----------------------------------------------------------------------------------------------

Wrong = Callable[[CommonRandomNumbers, np.ndarray, np.random.Generator], CommonRandomNumbers]


def peaked(common: CommonRandomNumbers, controls: np.ndarray, rng: np.random.Generator) -> CommonRandomNumbers:
    """A narrow peak somewhere on a low level, as of a learning rate; no cubic can follow it."""
    where, width = rng.random((len(common.scores), 1)), 0.05 + 0.1 * rng.random((len(common.scores), 1))
    return replace(common, scores=0.1 + 0.8 * np.exp(-np.square((controls[:, 0] - where) / width)))


def plateaus(common: CommonRandomNumbers, controls: np.ndarray, rng: np.random.Generator) -> CommonRandomNumbers:
    """Two levels with a cliff between them."""
    where, levels = rng.random((len(common.scores), 1)), rng.random((2, len(common.scores), 1))
    return replace(common, scores=np.where(controls[:, 0] < where, levels[0], levels[1]))


def heavier_noise(common: CommonRandomNumbers, controls: np.ndarray, rng: np.random.Generator) -> CommonRandomNumbers:
    """Scores four times as noisy as believed."""
    return replace(common, score_noise=4 * common.score_noise)


def expensive(common: CommonRandomNumbers, controls: np.ndarray, rng: np.random.Generator) -> CommonRandomNumbers:
    """Costs ten times the guess."""
    return replace(common, costs=10 * np.maximum(common.costs, 0.05))


def as_believed(common: CommonRandomNumbers, controls: np.ndarray, rng: np.random.Generator) -> CommonRandomNumbers:
    """The prior's own truths, for comparison."""
    return common


TRUTHS: dict[str, Wrong] = {
    "as believed": as_believed,
    "peaked scores": peaked,
    "plateaus": plateaus,
    "noise x 4": heavier_noise,
    "costs x 10": expensive,
}


def wrong_cell(name: str, truth: str, maps_folder: str | None, effort: Effort) -> dict[str, Any]:
    """Loss of each policy against one who knows the truth and trains once: realised scores and costs."""
    cell = Cell(name, "linear", PRICES[0], True)
    prior, terms, controls = cell.first_belief(), cell.terms, controls_of(1)
    start = view(prior.belief, prior.model, controls)
    draws = effort.some[0]
    common = TRUTHS[truth](
        common_random_numbers(start, draws, CAP, rng=np.random.default_rng((SEED, 9))),
        controls,
        np.random.default_rng(SEED),
    )
    knowing = (common.scores - price_of(common.costs, start.cost_noise, terms)).max(axis=-1)
    rows = {}
    wanted = (BASE, "depth 1", "EI minus price", "Gittins index", MAP)
    policies = policies_of(cell, maps_in(maps_folder))
    policies["random trials, best number"] = random_trials(fixed_best(start, terms, draws))
    for label in (*wanted, "random trials, best number"):
        if label in policies:
            parts = [simulate(policies[label], start, terms, part) for part in parts_of(common, draws)]
            net = np.concatenate([part.net(terms) for part in parts])
            loss = knowing - net
            rows[label] = {"loss": float(loss.mean()), "error": float(loss.std(ddof=1) / np.sqrt(draws)),
                           "runs": float(np.concatenate([part.runs for part in parts]).mean())}  # fmt: skip
    return {"prior": name, "truth": truth, "knowing": float(knowing.mean()), "losses": rows, "draws": draws}


# all of it ------------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(PAPER_PRIORS), help="priors, by name")
    parser.add_argument("--prices", nargs="*", type=float, default=list(PRICES))
    parser.add_argument("--cost", nargs="*", default=list(COSTS), choices=COSTS)
    parser.add_argument("--maps", help="a folder of network maps; the shipped ones if not given")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="rough numbers in a few minutes, to see that it works")
    parser.add_argument("--effort", type=float, help="of the upper bound at the paper's price, e.g. 1e-4")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--write", action="store_true", help="write docs/optimality.md and its figure from the results")
    parser.add_argument("--seed", type=int, default=SEED, help="other draws, for a file of their own (--out)")
    told = parser.parse_args()
    if told.seed != SEED and told.out == RESULTS:  # cells that are there count as done, whatever their seed
        parser.error("--seed needs a file of its own: add --out FILE")
    effort = replace(QUICK if told.quick else FULL, seed=told.seed)
    if told.effort is not None:
        effort = replace(effort, fine=(told.effort, told.effort), free=told.effort)
    results = json.loads(told.out.read_text()) if told.out.exists() else {}
    results = {"cells": {}, "wrong": {}} | results
    results |= {
        "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "quick": told.quick,
    }
    compute(told, effort, results)
    print(tables(results))
    if told.write:
        draw(results, FIGURE)
        page = PAGE.read_text()
        head, rest = page.split("<!-- tables -->")[0], page.split("<!-- end of tables -->")[1]
        PAGE.write_text(f"{head}<!-- tables -->\n\n{tables(results)}\n<!-- end of tables -->{rest}")


def compute(told: argparse.Namespace, effort: Effort, results: dict[str, Any]) -> None:
    cells = [Cell(p, cost, g, r) for g in told.prices for cost in told.cost for p in told.only for r in (True, False)]
    with ProcessPoolExecutor(told.jobs) as pool:
        known = {c.key: results["cells"][c.key] for c in cells if c.key in results["cells"]}
        wanted = {("cells", c.key): pool.submit(bound_of, c, effort)  # played already, but bounded less tightly
                   for c in cells if c.key in known and not _done(known[c.key], effort.fineness(c))}  # fmt: skip
        wanted |= {("cells", c.key): pool.submit(played_cell, c, told.maps, effort)
                   for c in cells if c.key not in known}  # fmt: skip
        wrong = [(p, t) for p in ("synthetic", "cnn-r") if p in told.only for t in TRUTHS]
        wanted |= {("wrong", f"{p} {t}"): pool.submit(wrong_cell, p, t, told.maps, effort)
                   for p, t in wrong if f"{p} {t}" not in results["wrong"]}  # fmt: skip
        parts = {future: place for place, future in wanted.items()}
        for future in as_completed(parts):
            part, key = parts[future]
            results[part][key] = results[part].get(key, {}) | future.result()
            told.out.parent.mkdir(exist_ok=True)
            told.out.write_text(json.dumps(results, indent=1))
            print(key, f"{results[part][key].get('seconds', 0):.0f} s", flush=True)


def _done(found: dict[str, Any], fineness: float) -> bool:
    """Whether a cell has been bounded by the present search, finely enough."""
    return found.get("search") == SEARCH and found["effort"] <= 1.5 * fineness


# what is shown --------------------------------------------------------------------------------------------------------


def tables(results: dict[str, Any]) -> str:
    lines: list[str] = []
    for cost in COSTS:
        for recall in (True, False):
            cells = [c for c in results["cells"].values() if (c["cost"], c["recall"]) == (cost, recall)]
            if cells:
                returned = "the best model is returned" if recall else "the last model is returned"
                lines += [f"### {cost.capitalize()} cost, {returned}", "", *table_of(cells), ""]
    return "\n".join(lines + wrong_table(results))


def table_of(cells: list[dict[str, Any]]) -> list[str]:
    names = [name for name in dict.fromkeys(name for cell in cells for name in cell["policies"]) if name != MAP]
    names.insert(0, MAP)
    order = sorted(cells, key=lambda c: (list(PAPER_PRIORS).index(c["prior"]), c["price"]))
    head = ["| prior | price | upper bound | map / bound | " + " | ".join(names) + " |"]
    return [*head, "|---|---|---|---|" + "---|" * len(names), *(row_of(cell, names) for cell in order)]


def row_of(cell: dict[str, Any], names: list[str]) -> str:
    best = max(row["mean"] for row in cell["policies"].values() if row["draws"] == cell["draws"])
    upper, ours = cell["upper"], cell["policies"].get(MAP, cell["policies"][BASE])
    share = f"{ours['mean'] / upper['mean']:.3f}" if upper["mean"] > 0 else f"{ours['mean'] - upper['mean']:+.3f}"
    shown = [f"{cell['prior']}", f"{cell['price']:g}", f"{upper['mean']:.3f} ± {upper['error']:.3f}", share]
    for name in names:
        row = cell["policies"].get(name)
        text = "" if row is None else f"{row['mean']:.3f}"
        if row is not None and name == BASE:
            text += f" ± {row['error']:.3f}"
        elif row is not None:
            text += f" ({row['gap']:+.3f} ± {row['gap_error']:.3f})"
        shown.append(f"**{text}**" if row is not None and row["mean"] == best else text)
    return "| " + " | ".join(shown) + " |"


def wrong_table(results: dict[str, Any]) -> list[str]:
    if not results["wrong"]:
        return []
    rows = list(results["wrong"].values())
    names = list(dict.fromkeys(name for row in rows for name in row["losses"]))
    lines = ["### When the model is wrong: loss against knowing the truth", ""]
    lines += [
        "| prior | truth | knowing the truth | " + " | ".join(names) + " |",
        "|---|---|---|" + "---|" * len(names),
    ]
    for row in rows:
        losses = [row["losses"].get(name) for name in names]
        shown = [
            "" if loss is None else f"{loss['loss']:.3f} ± {loss['error']:.3f} ({loss['runs']:.1f} runs)"
            for loss in losses
        ]
        lines.append(f"| {row['prior']} | {row['truth']} | {row['knowing']:.3f} | " + " | ".join(shown) + " |")
    return [*lines, ""]


def draw(results: dict[str, Any], path: Path) -> None:
    """Policies as points between the best of them and the upper bound, as shares of it: log-linear cost, price 0.16."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shades: dict[str, int] = {}  # the same colour in both panels
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.2), sharey=True, layout="constrained")
    for panel, recall in zip(panels, (True, False), strict=True):
        cells = [
            c
            for c in results["cells"].values()
            if (c["cost"], c["recall"], c["price"]) == (COSTS[0], recall, PRICES[0])
        ]
        cells.sort(key=lambda c: list(PAPER_PRIORS).index(c["prior"]))
        names = [
            n for n in dict.fromkeys(n for c in cells for n in c["policies"]) if "damping" not in n and "exact" not in n
        ]
        colours = plt.get_cmap("tab20")
        for place, cell in enumerate(cells):
            panel.plot([place, place], [0, 1], color="0.85", linewidth=6, zorder=0, solid_capstyle="butt")
            for number, name in enumerate(names):
                row = cell["policies"].get(name)
                if row is not None:
                    x, most = place + 0.06 * (number - len(names) / 2), cell["upper"]["mean"]
                    style = {"fmt": "o", "markersize": 4, "color": colours(shades.setdefault(name, len(shades)) % 20)}
                    label = name if place == 0 else None
                    panel.errorbar(x, row["mean"] / most, row["error"] / most, label=label, **style)
        panel.axhline(1.0, color="black", linewidth=1)
        panel.set_xticks(range(len(cells)), [c["prior"] for c in cells], rotation=30, ha="right")
        panel.set_title("best model returned" if recall else "last model returned", fontsize=10)
        panel.set_ylim(0.4, 1.04)
    panels[0].set_ylabel("worth, as a share of what no policy exceeds")
    handles = {
        label: handle for panel in panels for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles, fontsize=8, loc="outside lower center", ncols=5)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    main()
