"""The command line: `autobct demo`, `run`, `init`, `report`, `reproduce`, `maps`, `new-key`, `sign` and `verify`.

Everything slow to import, and everything that is not always installed, is imported by the command that needs it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from autobct import maps_cli, reproduce_cli, run_cli, sign_cli
from autobct.console import fail

if TYPE_CHECKING:
    from rich.console import Console

    from autobct.paper.synthetic_forest import Calibration
    from autobct.tuning.history import Decision
    from autobct.tuning.tuner import Tuner

app = typer.Typer(
    name="autobct",
    help="Hyperparameter tuning that knows the price of training and when to stop.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # a wrong option is answered with one plain sentence
    pretty_exceptions_enable=False,
)
app.add_typer(maps_cli.app)
run_cli.add_to(app)
reproduce_cli.add_to(app)
sign_cli.add_to(app)

_LIBRARIES = {"sklearn": "scikit-learn", "matplotlib": "matplotlib"}
_INSTALL = "pip install 'autobct[sklearn,report]'"
_FIGURE = Path("autobct-demo.png")
_READABLE_WIDTH = 100


def _print_version(wanted: bool) -> None:
    if wanted:
        from autobct import __version__

        typer.echo(f"autobct {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Hyperparameter tuning that knows the price of training and when to stop."""


@app.command()
def demo(
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same data and forests.")] = 0,
    figure: Annotated[Path, typer.Option(help="File for a figure of the estimates, .png or .svg.")] = _FIGURE,
    recall: Annotated[
        bool, typer.Option("--recall/--last", help="Return the best forest, or the last one as in the paper.")
    ] = False,
    depth: Annotated[int, typer.Option(min=1, max=3, help="How many runs each decision looks ahead.")] = 2,
    quick: Annotated[bool, typer.Option("--quick", help="Use a tenth of the data.")] = False,
) -> None:
    """Tune the number of trees of a random forest, and see why it stops."""
    try:
        from autobct.paper import synthetic_forest
        from autobct.report import figures, runs_table
    except ImportError as error:
        _fail_import(error)
    try:
        figures.check_figure_path(figure)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="'--figure'") from None

    from rich.console import Console

    console = Console(highlight=False)
    sizes = synthetic_forest.QUICK_POINTS if quick else synthetic_forest.POINTS
    data = synthetic_forest.draw_data(seed, sizes)
    _print_question(console, sizes)
    with console.status("Timing a small forest"):
        calibration = synthetic_forest.calibrate(data, seed=seed)
    tuner = synthetic_forest.paper_tuner(calibration.cost_unit, depth=depth, recall=recall)
    _print_units(console, calibration, tuner.problem.price.per_cost)
    decisions = synthetic_forest.decisions(tuner, synthetic_forest.forest_trainer(data, seed=seed))
    decision = runs_table.watch(decisions, tuner, console, titles={"n_estimators": "trees"})
    _print_answer(console, tuner, decision)
    drawn = figures.belief_figure(tuner.problem, tuner.history, chosen=tuner.best, control_label="u  (1 + 99u trees)")
    try:
        figures.save_figure(drawn, figure)
    except OSError as error:
        fail(f"The figure '{figure}' could not be written ({error.strerror}); give another file with --figure.")
    console.print(f"{figure} shows the estimates before and after each run.", markup=False, soft_wrap=True)


def _print_question(console: Console, sizes: tuple[int, int]) -> None:
    console.print("How many trees should a random forest have?", style="bold")
    _paragraph(
        console,
        f"A forest of 1 to 100 trees learns a 10 x 10 checkerboard from {sizes[0]:,} points and is scored by its "
        f"accuracy on {sizes[1]:,} others. More trees tend to be more accurate but take longer. After each forest "
        "autobct updates its estimates for every number of trees, and trains another forest only if that is worth "
        "the time.",
    )


def _print_units(console: Console, calibration: Calibration, price: float) -> None:
    unit = calibration.cost_unit
    _paragraph(
        console,
        f"On this machine {calibration.trees} trees take {calibration.seconds:.2f} s, so one unit of cost is set to "
        f"{unit:.2f} s: 100 trees cost about 0.9, as in the paper. Price: one second of training is worth "
        f"{100 * price:.2f} percentage points of accuracy.",
    )
    _paragraph(
        console,
        f"h: score, 0 at 50 % accuracy and 1 at 100 %; t: cost, 1 at {unit:.2f} s; u: trees, 0 at 1 and 1 at 100; "
        "estimated score: of this forest, given all runs so far; continuing: expected final score minus the price of "
        "all further runs. Tuning stops once continuing is worth no more than the best so far.",
        style="dim",
    )


def _print_answer(console: Console, tuner: Tuner, decision: Decision) -> None:
    from autobct.tuning.history import Stop

    best = tuner.best
    assert best is not None
    assert best.score is not None
    console.print(decision.why, style="bold green", soft_wrap=True)
    if isinstance(decision, Stop) and decision.best_alternative is not None:
        console.print("Gain and cost are in accuracy: 0.01 is one percentage point.", style="dim", soft_wrap=True)
    console.print(
        f"The forest to use has {_count(best.params['n_estimators'], 'tree')} and is {100 * best.score:.2f} % "
        f"accurate; training took {tuner.total_cost:.2f} s in {_count(len(tuner.history), 'run')}.",
        soft_wrap=True,
    )


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _paragraph(console: Console, text: str, *, style: str = "") -> None:
    console.print(text, style=style, width=min(console.width, _READABLE_WIDTH))
    console.print()


def _fail_import(error: ImportError) -> NoReturn:
    library = _LIBRARIES.get((error.name or "").partition(".")[0])
    if library is None:
        raise error
    fail(f"The demo needs {library}, which is not installed; install it with: {_INSTALL}")
