"""`autobct maps`: list, look into, verify, build and certify value maps."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autobct.console import fail, one_sentence, say, shown_progress

if TYPE_CHECKING:
    from autobct.build.map_worth import DuelRow
    from autobct.build.opened import OpenedMap


app = typer.Typer(
    name="maps",
    help="Value maps: computed once, verified, reused for every problem of the same kind.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


class Cost(StrEnum):
    """How cost is modelled."""

    LINEAR = "linear"
    LOG_LINEAR = "log-linear"


class Regression(StrEnum):
    """What values are fitted with."""

    NETWORK = "network"
    FOREST = "forest"


class Device(StrEnum):
    """Where torch computes."""

    CPU = "cpu"
    CUDA = "cuda"


Named = Annotated[str, typer.Argument(metavar="FILE-or-name", help="A map file, or the name of a map in the package.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same numbers on the same device.")]


@app.command("list")
def list_maps() -> None:
    """List the maps in the package."""
    from autobct.build.opened import open_map
    from autobct.maps.container import shipped

    names = list(shipped())
    if not names:
        say("This package has no maps; build one with: autobct maps build OUT.safetensors")
    for name in names:
        with one_sentence(1):
            opened = open_map(name)
        say(f"{name}  {opened.size / 1024:.0f} KB  {opened.game}")


@app.command()
def info(name: Named) -> None:
    """Show what a map is for, how it was built, and what it is worth."""
    opened = _opened(name)
    say(f"{name}: {opened.kind} map, {opened.size / 1024:.0f} KB\n{opened.game}")
    for key, text in opened.about.items():
        if key not in ("build", "policy"):
            say(f"{key}: {text}")
    if "build" in opened.about:
        say("built with\n" + "\n".join(f"  {line}" for line in opened.about["build"].splitlines()))
    if opened.rows:
        say("evaluated when built")
        _print_rows(opened.rows)


@app.command()
def verify(name: Named) -> None:
    """Check that a map is intact and reproduces the values stored with it."""
    opened = _opened(name, damaged=1)
    with one_sentence(1):
        error = opened.check()
    say(f"{name} is intact and reproduces the values stored with it (largest difference {error:.1e}).")


@app.command()
def build(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write, ending in .safetensors.")],
    dim: Annotated[int, typer.Option(min=1, max=2, help="Number of hyperparameters.")] = 1,
    cost: Annotated[Cost, typer.Option(help="How cost is modelled.")] = Cost.LINEAR,
    recall: Annotated[bool, typer.Option("--recall/--last", help="Return the best model, or the last one.")] = False,
    regression: Annotated[
        Regression, typer.Option(help="Neural networks, or the paper's forests.")
    ] = Regression.NETWORK,
    runs: Annotated[int | None, typer.Option(min=1, help="Number of value functions to compute.")] = None,
    states: Annotated[int | None, typer.Option(min=1, help="Number of states to learn from.")] = None,
    seed: Seed = 0,
    device: Annotated[Device, typer.Option(help="Where torch computes.")] = Device.CPU,
    quick: Annotated[bool, typer.Option("--quick", help="Build a rough map in seconds.")] = False,
    ray: Annotated[
        bool, typer.Option("--ray", help="Spread the work over a Ray cluster; the map is the same.")
    ] = False,
) -> None:
    """Build a map; if interrupted, the same command continues."""
    work = _work_folder(out)
    if ray and device is Device.CUDA:
        fail("A Ray cluster builds on CPUs; leave out --ray or --device cuda.")
    if regression is Regression.FOREST and (recall or device is Device.CUDA):
        fail("A forest map follows the paper: it returns the last model (--last) and is built on the CPU.")
    with one_sentence(2), shown_progress() as progress, _interruptible(work):
        from autobct.build.on_ray import cut_by

        cut = cut_by(ray)
        if regression is Regression.FOREST:
            from autobct.build.forests.forest_builder import build_forest, quick_or_paper

            path = build_forest(quick_or_paper(dim, cost, runs, states, seed, quick=quick), work, progress, cut=cut)
        else:
            from autobct.build.networks.network_builder import build_map, request_for

            wanted = request_for(dim, cost, recall, runs, states, seed, device, quick=quick)
            path = build_map(wanted, work, progress, cut=cut)
        from autobct.build.checkpoints import clear_checkpoints

        os.replace(path, out)
        clear_checkpoints(work)
    say(f"Wrote {out}, {out.stat().st_size / 1024:.0f} KB.")


@app.command()
def certify(
    name: Named,
    prior: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="One of the paper's priors, or a .toml or .json file.  [default: all of the map's dimension]",
        ),
    ] = None,
    price: Annotated[float, typer.Option(help="What one unit of cost is worth in score.")] = 0.16,
    draws: Annotated[int, typer.Option(min=2, help="Number of simulated tunings per prior.")] = 20_000,
    seconds: Annotated[
        float, typer.Option(min=0, help="Seconds for the bounds of each prior: more is tighter, 0 skips them.")
    ] = 60.0,
    seed: Seed = 0,
    device: Annotated[Device, typer.Option(help="Where torch computes, if it is installed.")] = Device.CPU,
) -> None:
    """Compare the map's policy with depth-2 lookahead on common random numbers, and bound what any policy can reach."""
    opened = _opened(name)
    from autobct.build.opened import is_prior_file

    if prior is not None and is_prior_file(prior):
        if seconds == 0:
            fail("A prior from a file needs --seconds above 0, as only bounds are computed for it.")
        _print_bounds(opened, (prior,), price, seconds, seed)
        return
    started = time.perf_counter()
    rows: list[DuelRow] = []
    with one_sentence(2):
        trial = opened.trial(prior, price, draws, seed, device)
        say(trial.note, err=True)
        with shown_progress() as progress:
            for row in trial.rows(lambda done: progress(done, draws * len(trial.names), "")):
                rows.append(row)
    _print_rows(rows)
    took = time.perf_counter() - started
    say(f"seed {seed}, {draws:,} draws a prior, price {price:g}, {trial.library}, {took:.0f} s")
    if seconds > 0:
        _print_bounds(opened, trial.names, price, seconds, seed)
    problems = [f"{row.prior}: {row.problem}." for row in rows if row.problem is not None]
    if problems:
        say("\n".join(problems), err=True)
        raise typer.Exit(1)


def _print_bounds(opened: OpenedMap, priors: tuple[str, ...], price: float, seconds: float, seed: int) -> None:
    """The certificate of every prior, as it is found."""
    from autobct.build.opened import bounds_of, prior_for

    for prior in priors:
        with one_sentence(2), shown_progress() as progress:
            found = bounds_of(
                opened,
                prior_for(opened, prior),
                price,
                seconds=seconds,
                seed=seed,
                progress=lambda share, text: progress(round(100 * share), 100, ""),
            )
        say(f"{prior}, price {price:g}: {found}")


def _print_rows(rows: list[DuelRow]) -> None:
    say(
        f"{'prior':<12}{'net':>8}{'depth 2':>9}  {'difference':<18}{'costs positive':<18}"
        f"{'runs':>6}{'depth 2':>9}{'at 40':>8}"
    )
    for row in rows:
        say(
            f"{row.prior:<12}{row.net:8.4f}{row.base_net:9.4f}  {_paired(row.gap, row.gap_error)}"
            f"{_paired(row.positive_gap, row.positive_gap_error)}{row.runs:6.2f}{row.base_runs:9.2f}"
            f"{100 * row.capped:6.2f} %"
        )


def _paired(gap: float, error: float) -> str:
    return f"{gap:+.4f} ± {error:.4f}".ljust(18)


def _work_folder(out: Path) -> Path:
    """Where an unfinished build of `out` lives, once `out` is a file that can be written."""
    from autobct.maps.container import SUFFIX

    if out.suffix != SUFFIX:
        fail(f"'{out}' must end in {SUFFIX}.")
    if not out.absolute().parent.is_dir():
        fail(f"The folder of '{out}' does not exist.")
    if out.exists():
        fail(f"'{out}' already exists; remove it, or give another name.")
    return out.with_suffix(".build")


def _opened(name: str, *, damaged: int = 2) -> OpenedMap:
    from autobct.build.opened import exists, open_map

    if not exists(name):
        fail(f"There is no file '{name}' and no map of that name in the package; see: autobct maps list")
    with one_sentence(damaged):
        return open_map(name)


@contextlib.contextmanager
def _interruptible(work: Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        fail(f"Interrupted; the work so far is kept in {work}, and the same command continues from there.", 130)
