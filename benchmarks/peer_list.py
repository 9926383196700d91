"""The tuners that are compared, each with its best reasonable settings.

A tuner that knows the price plays every price level.  One that does not plays once for all of them; where it has no
rule to stop either, the number of trials is chosen in hindsight, on the very table that it appears in.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import peer_plain
from peer_gp import gittins, gp_tuner, log_ei_per_cost
from peer_pipe import Peer
from tasks import CAP, Tuner, autobct_tuner

HERE = Path(__file__).resolve().parent
ENVIRONMENTS = HERE.parent / ".venv-peers"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the table.

    make:    makes the tuner;  priced: it knows the price;  hindsight: it cannot stop, and its k is chosen for it
    ours:    its cells hold for this state of the package only
    most:    trials that it plays; fewer where they are slow and k is chosen far below
    package: an environment of its own that it needs
    """

    label: str
    make: Callable[[], Tuner]
    priced: bool = False
    hindsight: bool = False
    ours: bool = False
    package: str | None = None
    most: int = CAP


def _optuna(**settings: Any) -> Tuner:
    return Peer(sys.executable, HERE / "peer_optuna.py", settings)


def _elsewhere(package: str) -> Tuner:
    return Peer(environment(package), HERE / f"peer_{package}.py", {})


def environment(package: str) -> Path:
    """The Python of an environment that has a package in its pinned version; made when it is not there."""
    place = ENVIRONMENTS / package
    python = place / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    pinned = HERE / "peer_requirements" / f"{package}.txt"
    stamp = place / "installed.txt"
    if not stamp.is_file() or stamp.read_text() != pinned.read_text():
        print(f"making {place} with {package}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
        install = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "-qq", "-r", str(pinned)]
        subprocess.run(install, check=True)
        stamp.write_text(pinned.read_text())
    return python


def _gp(acquisition: Any, initial: int, centre: bool = False, usual: bool = False) -> Callable[[], Tuner]:
    return partial(gp_tuner, acquisition, initial, centre=centre, usual=usual)


PEERS: dict[str, Entry] = {
    "autobct": Entry("autobct", autobct_tuner, priced=True, ours=True),
    "logei-2": Entry("GP + LogEI per cost and its stop, 2 initial", _gp(log_ei_per_cost, 2), priced=True),
    "logei-4": Entry("GP + LogEI per cost and its stop, 4 initial", _gp(log_ei_per_cost, 4), priced=True),
    "logei-centre": Entry(
        "GP + LogEI per cost and its stop, 2 from the centre", _gp(log_ei_per_cost, 2, True), priced=True
    ),
    "gittins-2": Entry("GP + Gittins index and its stop, 2 initial", _gp(gittins, 2), priced=True),
    "logei-usual": Entry(
        "GP + LogEI per cost and its stop, 2 from autobct's usual values",
        _gp(log_ei_per_cost, 2, True, usual=True),
        priced=True,
    ),
    "gittins-centre": Entry("GP + Gittins index and its stop, 2 from the centre", _gp(gittins, 2, True), priced=True),
    "flaml-cfo": Entry("FLAML CFO, its own early stop", partial(_elsewhere, "flaml"), package="flaml"),
    "random": Entry("random search, best k *", lambda: peer_plain.random, hindsight=True),
    "sobol": Entry("Sobol from the centre, best k *", lambda: peer_plain.sobol, hindsight=True),
    "tpe": Entry("Optuna TPE, best k *", partial(_optuna, sampler="TPESampler"), hindsight=True),
    "tpe-early": Entry(
        "Optuna TPE, multivariate, 3 startup trials, best k *",
        partial(_optuna, sampler="TPESampler", multivariate=True, n_startup_trials=3),
        hindsight=True,
    ),
    "gpsampler": Entry("Optuna GPSampler, best k *", partial(_optuna, sampler="GPSampler"), hindsight=True, most=25),
    "gpsampler-early": Entry(
        "Optuna GPSampler, 3 startup trials, best k *",
        partial(_optuna, sampler="GPSampler", n_startup_trials=3),
        hindsight=True,
        most=25,
    ),
    "smac": Entry("SMAC3 random forest, best k *", partial(_elsewhere, "smac"), hindsight=True, package="smac"),
}
