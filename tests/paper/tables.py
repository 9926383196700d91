"""Small tables of the shape of the recorded ones, made up for tests: a smooth score, a rising cost, some noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from autobct.paper.experiment import Experiment
from autobct.paper.recorded_table import RecordedRow, RecordedTable, table_of, write_table
from autobct.value.state import control_grid


def made_table(one: Experiment, *, repeats: int = 3, points: int = 6) -> RecordedTable:
    """Scores from bad to good on the experiment's scale, best at 0.6; a run at the known control takes about 2 s."""
    rng, rows = np.random.default_rng(0), []
    for control in control_grid(points, one.dim):
        for repeat in range(repeats):
            good = 0.9 - 2.0 * float(np.square(control - 0.6).mean()) + 0.02 * rng.normal()
            seconds = (1.0 + float(control.mean())) * (1.0 + 0.02 * rng.random())
            rows.append(RecordedRow(tuple(map(float, control)), repeat, float(one.score.to_raw(good)), seconds))
    return table_of(one.table, rows, {"device": "a made-up machine", "date": "2026-01-01"})


def made_folder(folder: Path, experiments: list[Experiment]) -> Path:
    """A folder with the made-up tables of these experiments."""
    for one in experiments:
        write_table(folder / f"{one.table}.csv", made_table(one))
    return folder
