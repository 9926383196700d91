"""`make paper`: the experiments of docs/paper.md, played 40 times each from the recorded tables, with their figures.

    python -m tools.paper_page [--seeds 40] [--tables DIR] [--check]

What stands between the markers of the page is written anew; `--check` only says whether it would change.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image
from tests.docs_pages import ROOT
from tools.paper_checked import checked, misfit

from autobct.belief.arrays import Array
from autobct.paper.experiment import Experiment
from autobct.paper.experiments import EXPERIMENTS
from autobct.paper.play import Player, TableReplay, default_player, opening, paper_player, recorded
from autobct.paper.summary import (
    Cells,
    Tunings,
    difference,
    markdown_lines,
    published_rows,
    published_run_cells,
    recorded_factor,
    replay_trainer,
    replayed,
    run_cells,
    summary_cells,
)
from autobct.report.figures import belief_figure
from autobct.tuning.tuner import Tuner

PAGE, IMAGES = ROOT / "docs" / "paper.md", ROOT / "docs" / "img"
BEGIN, END = "<!-- experiments -->", "<!-- end of experiments -->"
CNN_2D = ("cnn-2d-map", "cnn-2d-otf")
_DPI, _COLOURS = 80, 96
_SIDE = 41


def main() -> None:
    """Write the page and its figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--tables", type=Path, help="a folder of tables, if not the package's")
    parser.add_argument("--check", action="store_true", help="change nothing; end with 1 if the page would change")
    told = parser.parse_args()
    found: dict[str, Found] = {}
    for experiment in EXPERIMENTS.values():
        print(experiment.name, flush=True)
        if (one := found_of(experiment, told.seeds, told.tables)) is not None:
            found[experiment.name] = one
            if not told.check:
                draw_figure(experiment, one.replay)
    experiments = [section(one, found.get(one.name)) for one in EXPERIMENTS.values()]
    sections = [glance(found), *methods(found), *notes_once(experiments)]
    page = PAGE.read_text(encoding="utf-8")
    head, tail = page.split(BEGIN)[0], page.split(END)[1]
    new = f"{head}{BEGIN}\n\n{chr(10).join(sections)}\n{END}{tail}"
    if told.check:
        sys.exit(0 if new == page else "docs/paper.md is not what the tables give; run: make paper")
    PAGE.write_text(new, encoding="utf-8")


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The tunings of one experiment: with the paper's method and with our policy, with common random numbers."""

    replay: TableReplay
    theirs: Tunings
    ours: Tunings


def found_of(experiment: Experiment, seeds: int, tables: Path | None) -> Found | None:
    """Play one experiment; None if its table is not there."""
    try:
        replay = recorded(experiment.table, experiment.dim, tables)
    except FileNotFoundError:
        return None
    theirs = replayed(experiment, paper_player(experiment.method, experiment.dim), replay, seeds)
    return Found(replay, theirs, replayed(experiment, default_player(), replay, seeds))


def glance(found: dict[str, Found]) -> str:
    """All experiments in one table: the paper's last row, ours, and our policy's advantage."""
    head = ["", "runs", "final h", "sum t", "net", "paper: runs", "final h", "sum t", "net", "our policy, net"]
    rows = []
    for name, one in found.items():
        here, paper = one.theirs.summary, published_rows(EXPERIMENTS[name])[-1][1]
        cells = [spread for row in (here, paper) for spread in (row.runs, row.score, row.cost, row.net)]
        shown = [f"{spread.mean:.{2 if number % 4 == 0 else 3}f}" for number, spread in enumerate(cells)]
        rows.append([f"[{name}](#{name})", *shown, _gap(difference(one.ours.nets, one.theirs.nets))])
    return "\n".join([*markdown_lines([head, *rows]), ""]) if rows else ""


def methods(found: dict[str, Found]) -> Iterator[str]:
    """VI/Map against OTF on the same table with common random numbers."""
    for first, second in (("synthetic-map-2", "synthetic-otf"), ("synthetic-map-4", "synthetic-otf"), CNN_2D):
        if first in found and second in found:
            ours, theirs = found[first].theirs, found[second].theirs
            net = _gap(difference(ours.nets, theirs.nets))
            score = _gap(difference(*([one.model.score for one in each.played] for each in (ours, theirs))))
            assert ours.mean_nets is not None
            assert theirs.mean_nets is not None
            means = _gap(difference(ours.mean_nets, theirs.mean_nets))
            yield (
                f"`{first}` minus `{second}` with common random numbers: net {net} ({means} by the average score of "
                f"models trained like those returned), final h {score}; standard deviation of the "
                f"final h {ours.summary.score.sd or 0:.3f} against {theirs.summary.score.sd or 0:.3f}.\n"
            )


def section(experiment: Experiment, found: Found | None) -> str:
    """One experiment in markdown."""
    head = [f"### {experiment.name}", "", f"{experiment.title}. Paper: {experiment.source}. {experiment.method}.", ""]
    if found is None:
        return "\n".join([*head, "No table has been recorded yet.", ""])
    replay, theirs, ours = found.replay, found.theirs, found.ours
    seeds = len(theirs.played)
    rows = [
        (f"the paper's method here, mean of {seeds} (sd)", theirs.summary),
        (f"our policy here, mean of {seeds} (sd)", ours.summary),
        *published_rows(experiment),
    ]
    return "\n".join(
        [
            *head,
            f"    autobct reproduce {experiment.name} --seeds {seeds} --ours",
            "",
            *markdown_lines(rounded(summary_cells(rows))),
            "",
            compared(ours, theirs),
            "",
            *one_run(experiment, theirs),
            *readings(experiment, found),
            f"![Estimates before and after the tuning with seed 0](img/paper-{experiment.name}.png)",
            "",
            *(f"- {line}" for line in (*experiment.unlike, machine(experiment, replay), surface(experiment, replay))),
            "",
        ]
    )


def notes_once(sections: Sequence[str]) -> Iterator[str]:
    """The sections without notes that an earlier one has already; a link leads there."""
    first: dict[str, str] = {}
    for text in sections:
        name, lines = text.partition("\n")[0].removeprefix("### "), text.split("\n")
        repeated = [line for line in lines if line.startswith("- ") and line in first]
        links = ", ".join(f"[{at}](#{at})" for at in dict.fromkeys(first[line] for line in repeated))
        also = [f"- See also the notes on {links}."] if links else []
        first |= {line: name for line in lines if line.startswith("- ") and line not in first}
        yield "\n".join([*(line for line in lines[:-1] if line not in repeated), *also, lines[-1]])


def rounded(cells: Cells) -> Cells:
    """Without decimals that say nothing."""
    return [[re.sub(r"\.000(?!\d)", "", cell) for cell in row] for row in cells]


def compared(ours: Tunings, theirs: Tunings) -> str:
    """By how much our policy does better, or worse, with common random numbers."""
    assert ours.mean_nets is not None
    assert theirs.mean_nets is not None
    observed, means = difference(ours.nets, theirs.nets), difference(ours.mean_nets, theirs.mean_nets)
    return (
        f"Our policy minus the paper's method, net with common random numbers: {_gap(observed)} by the observed score "
        f"of the returned model, {_gap(means)} by the average score of models trained like it."
    )


def _gap(found: tuple[float, float | None]) -> str:
    return f"{found[0]:+.3f} ± {found[1] or 0.0:.3f}"


def one_run(experiment: Experiment, tunings: Tunings) -> list[str]:
    """The tuning with seed 0 line by line, and the paper's beside it where it is printed."""
    lines = ["Seed 0:", "", *markdown_lines(run_cells(tunings.played[0].lines)), ""]
    if experiment.published_run:
        lines += ["The paper's run, and our filter and values given its observations:", ""]
        lines += [*markdown_lines(checked_cells(experiment)), ""]
    return lines


def checked_cells(experiment: Experiment) -> Cells:
    """The paper's lines, with posterior and V as they come out here, and W_0, which no value can exceed."""
    head, *rows = published_run_cells(experiment.published_run)
    found = [
        [*row, *(f"{number:.3f}" for number in (line.believed, line.value, line.most))]
        for row, line in zip(rows, checked(experiment), strict=True)
    ]
    return [[*head, "posterior here", "V here", "no V above"], *found]


def readings(experiment: Experiment, found: Found) -> list[str]:
    """The paper's method from every reading of the prior, and how each meets the posterior column, if any."""
    if not experiment.readings:
        return []
    source = EXPERIMENTS[CNN_2D[0]] if experiment.name in CNN_2D else experiment
    player, seeds = paper_player(experiment.method, experiment.dim), len(found.theirs.played)
    rows = [_reading("formulas in u (used here)", source, found.theirs)]
    for label, prior in experiment.readings.items():
        tunings = replayed(replace(experiment, prior=prior), player, found.replay, seeds)
        rows.append(_reading(label, replace(source, prior=prior), tunings))
    head = [
        "prior",
        "largest error",
        "rms error",
        "runs",
        "final h",
        *(f"u{n + 1}" for n in range(experiment.dim)),
        "net",
    ]
    text = "Readings of the prior; errors are those of the posterior column of the paper's run, where it prints one:"
    return [text, "", *markdown_lines(rounded([head, *rows])), ""]


def _reading(label: str, source: Experiment, tunings: Tunings) -> list[str]:
    errors = [f"{error:.3f}" for error in misfit(source)] if source.published_run else ["-", "-"]
    summary = tunings.summary
    return [label, *errors, *map(str, (summary.runs, summary.score, *summary.control, summary.net))]


def machine(experiment: Experiment, replay: TableReplay) -> str:
    """Where the table comes from, and how seconds became costs."""
    header, factor = replay.header, recorded_factor(experiment, replay)
    control = ", ".join(f"{u:g}" for u in experiment.cost.control)
    return (
        f"Table: {' x '.join(str(len(axis)) for axis in replay.axes)} controls, {replay.repeats} repeats, on "
        f"{header.get('device', '?')} ({header.get('wall seconds', '?')} s of training, {header.get('date', '?')}); "
        f"{header.get('data', '?')}. Costs: one of its minutes counts as {factor:.3g} of the paper's, so that a run at "
        f"u = {control} costs {experiment.cost.cost:.3g} ({experiment.cost.source})."
    )


def surface(experiment: Experiment, replay: TableReplay) -> str:
    """What there is to find: mean score and cost at both ends and where the paper ended."""
    factor, final = recorded_factor(experiment, replay), experiment.published[-1].control
    ends = [tuple([end] * experiment.dim) for end in (0.0, 1.0)]

    def told(control: tuple[float, ...]) -> str:
        at, many = np.array(control), experiment.trainings
        score = experiment.score.to_model(replay.mean_score(at, many))
        cost = experiment.cost.to_model(replay.mean_seconds(at, many), factor)
        return f"h = {score:.2f}, t = {cost:.2f} at u = {', '.join(f'{u:g}' for u in control)}"

    places = list(dict.fromkeys([ends[0], final, ends[1]]))
    return f"Average score and cost: {'; '.join(map(told, places))}."


# figures ------------------------------------------------------------------------------------------------------------


def draw_figure(experiment: Experiment, replay: TableReplay) -> None:
    """The belief before and after the tuning with seed 0, and what was observed."""
    tuner = tuned(experiment, paper_player(experiment.method, experiment.dim), replay)
    names = ", ".join(experiment.space)
    if experiment.dim == 1:
        figure = belief_figure(tuner.problem, tuner.history, chosen=tuner.best, control_label=f"u ({names})")
    else:
        figure = surfaces(tuner, tuple(experiment.space))
    path = IMAGES / f"paper-{experiment.name}.png"
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=_DPI)
    Image.open(drawn).convert("RGB").quantize(_COLOURS).save(path, optimize=True)
    print(f"  {path.relative_to(ROOT)}  {path.stat().st_size / 1000:.0f} kB", flush=True)


def tuned(experiment: Experiment, player: Player, replay: TableReplay) -> Tuner:
    """The tuner at the end of the tuning with seed 0."""
    trainer = replay_trainer(experiment, replay, 0)
    return opening(experiment, player).play(trainer, recorded_factor(experiment, replay))[1]


def surfaces(tuner: Tuner, names: Sequence[str]) -> Figure:
    """Mean of score and cost over both controls: the prior, and the posterior with the runs, the last one ringed."""
    prior, runs = tuner.problem.prior, np.array([run.control for run in tuner.history])
    side = np.linspace(0.0, 1.0, _SIDE)
    grid = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1)
    figure = Figure(figsize=(7.2, 6.2), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True, sharey=True)
    for row, name in zip(panels, ("score", "cost"), strict=True):
        basis = prior.model.score_basis if name == "score" else prior.model.cost_basis
        means: list[Array] = [basis(grid) @ getattr(one, name).mean for one in (prior.belief, tuner.belief)]
        levels = np.linspace(min(mean.min() for mean in means), max(mean.max() for mean in means), 13)
        for panel, mean, when in zip(row, means, ("prior", "posterior"), strict=True):
            drawn = panel.contourf(side, side, mean.T, levels=levels, cmap="viridis")
            panel.set_title(f"{when} mean of the {name}", fontsize=10)
        row[1].plot(*runs.T, "x", color="black", markersize=8, markeredgewidth=2)
        row[1].plot(*runs[-1], "o", color="black", markersize=14, fillstyle="none", markeredgewidth=2)
        row[1].set(xlim=(-0.06, 1.06), ylim=(-0.06, 1.06))  # runs at an edge are not lost in the frame
        figure.colorbar(drawn, ax=row, format="%.2f")
    for panel in panels[1]:
        panel.set_xlabel(f"u1 ({names[0]})")
    for panel in panels[:, 0]:
        panel.set_ylabel(f"u2 ({names[1]})")
    return figure


if __name__ == "__main__":
    main()
