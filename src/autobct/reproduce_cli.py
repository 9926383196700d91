"""`autobct reproduce`: the experiments of the paper's section 4, replayed from recorded trainings."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autobct.console import fail, one_sentence, say

if TYPE_CHECKING:
    from autobct.paper.experiment import Experiment
    from autobct.paper.play import Player
    from autobct.paper.summary import Tunings

ALL = "all"
_INSTALL = "pip install 'autobct[paper]'"  # what experiments/paper trains with


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Where trainings come from.  words: in a line;  play: (player, seeds) -> tunings;  about: for JSON."""

    words: str
    play: Callable[[Player, int], Tunings]
    about: dict[str, Any]


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("reproduce")(reproduce)


def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME|all", help="An experiment, or all of them; see --list.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the experiments, with their place in the paper.")] = False,
    seeds: Annotated[int, typer.Option(min=1, metavar="K", help="Number of tunings, with seeds 0 to K - 1.")] = 40,
    tables: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Replay the tables in a folder instead of the package's.")
    ] = None,
    forest: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Use VI/Map on a forest made by autobct maps build --regression forest."),
    ] = None,
    ours: Annotated[
        bool, typer.Option("--ours", help="Also run the package's own policy, which returns the best model.")
    ] = False,
    json_: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write every run to this file.")] = None,
) -> None:
    """Repeat an experiment of the paper and print every run, the mean over seeds, and the paper's results."""
    from autobct.paper.experiments import EXPERIMENTS

    if list_:
        for one in EXPERIMENTS.values():
            say(f"{one.name:<17}{one.title}; {one.method}; {one.source}")
        return
    if name is None:
        fail("Give the name of an experiment, or all; see: autobct reproduce --list")
    show_experiments(name, lambda one: _recorded(one, tables), seeds=seeds, forest=forest, ours=ours, json_path=json_)


def show_experiments(
    name: str,
    source_of: Callable[[Experiment], Source],
    *,
    seeds: int,
    forest: Path | None,
    ours: bool,
    json_path: Path | None,
) -> None:
    """Play one experiment or all, print and write what came of them.  source_of: where trainings come from."""
    from autobct.paper.experiments import EXPERIMENTS, experiment

    if json_path is not None:
        _check_writable(json_path)
    found: list[dict[str, Any]] = []
    with _plain_errors():
        for one in EXPERIMENTS.values() if name == ALL else [experiment(name)]:
            found.append(_shown(one, _player(one, forest), source_of(one), seeds, ours))
    if json_path is not None:
        _write_json(json_path, found)


def _check_writable(path: Path) -> None:
    """Before anything is trained: what was found must have a place."""
    if not path.absolute().parent.is_dir():
        fail(f"The folder of '{path}' does not exist.")
    if path.is_dir():
        fail(f"'{path}' is a folder; give a file with --json.")
    if not os.access(path.absolute().parent, os.W_OK):
        fail(f"The folder of '{path}' cannot be written to; give another file with --json.")


def _recorded(experiment: Experiment, tables: Path | None) -> Source:
    from autobct.paper.play import recorded
    from autobct.paper.summary import recorded_factor, replayed

    replay = recorded(experiment.table, experiment.dim, tables)
    header = dict(replay.header)
    words = f"Recorded trainings on {header.get('device', 'an unnamed machine')}, {header.get('date', 'undated')}"
    return Source(
        f"{words}; {replay.repeats} repeats.",
        lambda player, seeds: replayed(experiment, player, replay, seeds),
        {"recorded": header, "cost_factor": recorded_factor(experiment, replay)},
    )


def _player(experiment: Experiment, forest: Path | None) -> Player:
    from autobct.paper.play import paper_player

    if forest is None or not experiment.method.map:
        return paper_player(experiment.method, experiment.dim)
    return _forest_player(experiment, forest)


def _forest_player(experiment: Experiment, path: Path) -> Player:
    """The paper's regression: V_N of a forest map, if it is for the experiment's game."""
    from dataclasses import replace

    from autobct.build.forests.forest_map import ForestMap
    from autobct.build.opened import open_map
    from autobct.paper.play import Player

    found, method = open_map(str(path)).value_map, experiment.method
    if not isinstance(found, ForestMap):
        raise ValueError(f"'{path}' is not a forest map; build one with: autobct maps build OUT --regression forest")
    model, own = found.model, experiment.prior.model
    ours = (model.score_basis.name, model.score_noise, model.cost_noise, model.cost_model.name, found.terms.price)
    theirs = (own.score_basis.name, own.score_noise, own.cost_noise, own.cost_model.name, experiment.price)
    if ours != theirs:
        raise ValueError(f"'{path}' is for {_game(*ours)}, but {experiment.name} has {_game(*theirs)}")
    if len(found.values) < method.depth:
        raise ValueError(f"'{path}' has V_1 to V_{len(found.values)}, but {experiment.name} needs V_{method.depth}")
    shorter = replace(found, values=found.values[: method.depth])
    return Player(
        lambda controls, seed: shorter.relaxed(damping=method.damping),
        recall=False,
        overhead=0.0,
        controls=found.controls,
    )


def _game(basis: str, score_noise: object, cost_noise: object, cost: str, price: float) -> str:
    return f"basis {basis}, noise {score_noise} and {cost_noise}, {cost} cost, price {price:g}"


def _shown(experiment: Experiment, player: Player, source: Source, seeds: int, ours: bool) -> dict[str, Any]:
    """Play, print, and return all of it as plain data."""
    from autobct.paper import summary
    from autobct.paper.play import default_player
    from autobct.paper.summary import difference

    say(f"{experiment.name}: {experiment.title}; {experiment.method}; {experiment.source}")
    say(source.words)
    tunings = source.play(player, seeds)
    first, rows = tunings.played[0], [(f"here, mean of {seeds}", tunings.summary)]
    _echo(summary.run_cells(first.lines))
    say(first.why)
    about: dict[str, Any] = {}
    if seeds > 1:
        _echo(summary.seed_cells(tunings.played, experiment.price))
    if ours:
        own = source.play(default_player(), seeds)
        rows.append((f"our policy, mean of {seeds}", own.summary))
        about["ours"] = summary.plain_tunings(own)
    _echo(summary.summary_cells([*rows, *summary.published_rows(experiment)]))
    if ours:
        gap, error = difference(own.nets, tunings.nets)
        more = f"{abs(gap):.3f} {'less' if gap < 0 else 'more'}"
        say(f"Our policy nets {more}{'' if error is None else f' (standard error {error:.3f})'}.")
    say("")
    return summary.plain(experiment, tunings, **source.about, **about)


def _echo(cells: list[list[str]]) -> None:
    from autobct.paper.summary import text_lines

    say("\n" + "\n".join(text_lines(cells)) + "\n")


def _write_json(path: Path, found: list[dict[str, Any]]) -> None:
    from autobct.maps.container import write_file
    from autobct.tuning.statement import versions

    document = {"versions": versions(), "experiments": found}
    try:
        write_file(path, (json.dumps(document, indent=1) + "\n").encode())
    except OSError as error:
        fail(f"'{path}' could not be written ({error.strerror}); give another file with --json.")
    say(f"Wrote {path}.")


@contextlib.contextmanager
def _plain_errors() -> Iterator[None]:
    """One sentence for missing libraries and files, and for tables and data that cannot be used."""
    try:
        with one_sentence(2):
            yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("torch", "sklearn", "pyarrow", "PIL"):
            raise
        fail(f"This needs {error.name}, which is not installed; install it with: {_INSTALL}")
    except ImportError as error:
        if error.name is not None:
            raise
        fail(f"{error}")
