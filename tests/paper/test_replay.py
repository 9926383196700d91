"""Replaying tables: interpolation by hand, noise from seed and run, grids that are none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from autobct.paper.play import TableReplay, median_weights, recorded, replay_of
from autobct.paper.recorded_table import RecordedRow, RecordedTable, TableError, table_of, write_table


def table(rows: list[tuple[tuple[float, ...], int, float, float]], name: str = "made") -> RecordedTable:
    return table_of(name, [RecordedRow(*row, {"accuracy": row[2] / 2}) for row in rows], {"device": "none"})


def line() -> TableReplay:
    """Two repeats at 0, 0.5 and 1; at 0.5 the second is the better one and the slower one."""
    return replay_of(
        table(
            [
                ((0.0,), 0, 0.2, 1.0),
                ((0.0,), 1, 0.1, 2.0),
                ((0.5,), 0, 0.5, 3.0),
                ((0.5,), 1, 0.7, 5.0),
                ((1.0,), 0, 0.4, 7.0),
                ((1.0,), 1, 0.4, 8.0),
            ]
        ),
        1,
    )


def at(*u: float) -> np.ndarray:
    return np.array(u)


def test_at_a_recorded_control_it_is_one_of_the_repeats() -> None:
    drawn = {(out.score, out.seconds) for run in range(40) if (out := line().run(at(0.5), 1, seed=0, run=run))}
    assert drawn == {(0.5, 3.0), (0.7, 5.0)}


def test_between_controls_repeats_of_the_same_rank_are_interpolated() -> None:
    drawn = {out.score: out for run in range(40) if (out := line().run(at(0.1), 1, seed=0, run=run))}
    low, high = (drawn[score] for score in sorted(drawn))
    assert (low.score, low.seconds) == pytest.approx((0.8 * 0.1 + 0.2 * 0.5, 0.8 * 2.0 + 0.2 * 3.0))
    assert (high.score, high.seconds) == pytest.approx((0.8 * 0.2 + 0.2 * 0.7, 0.8 * 1.0 + 0.2 * 5.0))
    assert low.extra["accuracy"] == pytest.approx(low.score / 2)


def test_in_two_dimensions_it_is_bilinear() -> None:
    def f(a: float, b: float) -> float:
        return 1 + 2 * a - b + 3 * a * b

    grid = [((a, b), 0, f(a, b), 2 * f(a, b)) for a in (0.0, 0.3, 1.0) for b in (0.0, 1.0)]
    replay = replay_of(table(grid), 2)
    for u in [(0.1, 0.9), (0.3, 0.5), (0.77, 0.0), (1.0, 1.0)]:
        out = replay.run(at(*u), 1, seed=0, run=0)
        # within a cell the function is bilinear, so that its interpolation is itself
        assert out.score == pytest.approx(f(*u))
        assert out.seconds == pytest.approx(2 * f(*u))


def test_the_median_of_five_and_their_total_time() -> None:
    replay = replay_of(table([((u,), r, float(r), 1.0 + r) for u in (0.0, 1.0) for r in range(9)]), 1)
    outs = [replay.run(at(0.3), 5, seed=3, run=run) for run in range(4000)]
    scores = np.array([out.score for out in outs])
    assert np.mean(scores) == pytest.approx(replay.mean_score(at(0.3), 5), abs=4 * scores.std() / 4000**0.5)
    assert np.mean([out.seconds for out in outs]) == pytest.approx(replay.mean_seconds(at(0.3), 5), rel=0.01)
    assert scores.std() < 0.75 * np.std(np.arange(9))  # a median varies less than one training


def test_weights_of_a_median_by_counting() -> None:
    draws = np.stack(np.meshgrid(*[np.arange(4)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    counted = np.bincount(np.median(draws, axis=1).astype(int), minlength=4) / len(draws)
    assert median_weights(4, 3) == pytest.approx(counted)
    assert median_weights(4, 1) == pytest.approx([0.25] * 4)
    with pytest.raises(ValueError, match="odd"):
        median_weights(4, 2)


def test_noise_comes_from_seed_and_run() -> None:
    def scores(seed: int) -> list[float]:
        return [line().run(at(0.5), 1, seed=seed, run=run).score for run in range(30)]

    assert scores(1) == scores(1)
    assert scores(1) != scores(2)
    assert len(set(scores(1))) == 2


def test_the_same_run_has_the_same_rank_everywhere() -> None:
    """So that two policies can be compared on the same random numbers."""
    for run in range(20):
        here, there = (line().run(at(u), 1, seed=0, run=run).score for u in (0.0, 0.5))
        assert (here == 0.2) == (there == 0.7)


@pytest.mark.parametrize(
    ("rows", "dim", "message"),
    [
        ([((0.0,), 0, 1.0, 1.0), ((1.0,), 0, 1.0, 1.0)], 2, "has 1 controls, but the experiment has 2"),
        ([((0.0,), 0, 1.0, 1.0), ((0.9,), 0, 1.0, 1.0)], 1, "u1 must go from 0 to 1, got 0 to 0.9"),
        ([((0.0,), 0, 1.0, 1.0)], 1, "u1 must go from 0 to 1, got 0 to 0"),
        (
            [((0.0,), 0, 1.0, 1.0), ((0.0,), 1, 1.0, 1.0), ((1.0,), 0, 1.0, 1.0)],
            1,
            r"not a complete grid: control \(1\) has 1 repeats, others 2",
        ),
        (
            [((a, b), 0, 1.0, 1.0) for a, b in [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0)]],
            2,
            r"not a complete grid: control \(1, 1\) has 0 repeats, others 1",
        ),
    ],
)
def test_what_is_no_grid_is_refused(rows: list[tuple[tuple[float, ...], int, float, float]], dim: int, message: str):
    with pytest.raises(TableError, match=message):
        replay_of(table(rows), dim)


def test_a_table_of_a_folder(tmp_path: Path) -> None:
    write_table(tmp_path / "made.csv", table([((0.0,), 0, 1.0, 2.0), ((1.0,), 0, 3.0, 4.0)]))
    assert recorded("made", 1, tmp_path).run(at(0.5), 1, seed=0, run=0).score == 2.0
    with pytest.raises(FileNotFoundError, match="there is no table"):
        recorded("other", 1, tmp_path)
