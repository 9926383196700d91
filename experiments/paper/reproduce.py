"""The experiments of the paper's section 4, trained anew: `autobct reproduce` replays what was recorded.

    python -m experiments.paper.reproduce higgs --data DIR
    python -m experiments.paper.reproduce cnn-batch --data DIR --device cuda --seeds 5 --json found.json

It runs in a checkout, with what `pip install 'autobct[paper]'` brings.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from experiments.paper import live
from experiments.paper.data.files import DataError

from autobct.belief.arrays import Array
from autobct.console import fail
from autobct.paper.experiment import Experiment, TrainingOutcome
from autobct.paper.play import Player, Trainer, opening
from autobct.paper.summary import Tunings
from autobct.reproduce_cli import Source, show_experiments

app = typer.Typer(add_completion=False)


@app.command()
def reproduce(
    name: Annotated[str, typer.Argument(metavar="NAME|all", help="One of `autobct reproduce --list`, or all.")],
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder of the data.  [default: AUTOBCT_DATA]")
    ] = None,
    device: Annotated[str, typer.Option(help="Where torch computes, cpu or cuda.")] = "cpu",
    seeds: Annotated[int, typer.Option(min=1, metavar="K", help="Number of tunings, with seeds 0 to K - 1.")] = 1,
    forest: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="VI/Map on a forest that autobct maps build --regression forest has made."),
    ] = None,
    ours: Annotated[
        bool, typer.Option("--ours", help="Also play the package's own policy: the best model is returned.")
    ] = False,
    json_: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write every run to this file.")] = None,
) -> None:
    """Train an experiment of the paper for real: its columns for every run, and the paper's row beneath."""
    try:
        show_experiments(
            name, lambda one: _trained(one, data, device), seeds=seeds, forest=forest, ours=ours, json_path=json_
        )
    except DataError as error:
        fail(str(error))


def _trained(experiment: Experiment, data: Path | None, device: str) -> Source:
    place = live.place_of(experiment.table, device)
    train = live.training(experiment.table, data, place)
    factor = live.live_factor(experiment, train)

    def play(player: Player, seeds: int) -> Tunings:
        start = opening(experiment, player)
        played = (
            start.play(_told(live.live_trainer(experiment, train, seed), seed), factor)[0] for seed in range(seeds)
        )
        return Tunings(tuple(played), None, experiment.price)

    return Source(f"Trained now, on {place}.", play, {"live": place, "cost_factor": factor})


def _told(train: Trainer, seed: int) -> Trainer:
    """Every run in a line on stderr when it is done: hours may lie before the tables, and then they are not lost."""

    def run(control: Array, params: Mapping[str, Any], number: int) -> TrainingOutcome:
        outcome = train(control, params, number)
        words = ", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in params.items())
        done = f"score {outcome.score:.4f} in {outcome.seconds:.3g} s"
        typer.echo(f"seed {seed}, run {number + 1}: {words}: {done}", err=True)
        return outcome

    return run


if __name__ == "__main__":
    app()
