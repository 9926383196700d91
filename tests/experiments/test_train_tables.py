"""The script that records the tables, on small generated data: whole repeats, resumed, never half-written."""

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")

from experiments.paper import train_tables
from tests.experiments import paper_data

from autobct.paper.recorded_table import read_table

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    np.savez(folder / "idc_50x50.npz", **paper_data.patches(rng, 6, 10))
    return folder


def record(monkeypatch: pytest.MonkeyPatch, folder: Path, out: Path, *more: str) -> None:
    arguments = ["--data", str(folder), "--out", str(out), "--only", "cnn-r", *more]
    monkeypatch.setattr(sys, "argv", ["train_tables.py", *arguments])
    train_tables.main()


def test_repeats_are_added_to_those_already_there(monkeypatch, folder: Path, tmp_path: Path) -> None:
    record(monkeypatch, folder, tmp_path, "--repeats", "1")
    first = read_table(tmp_path / "cnn-r.csv")
    assert first.u[:, 0].tolist() == pytest.approx(np.linspace(0, 1, 21))
    assert set(first.repeat) == {0}
    assert (first.seconds > 0).all()
    assert set(first.header) == {"command", "device", "versions", "wall seconds", "date", "data"}
    assert str(folder) not in first.header["command"]
    record(monkeypatch, folder, tmp_path, "--repeats", "2")
    both = read_table(tmp_path / "cnn-r.csv")
    assert both.rows[:21] == first.rows
    assert set(both.repeat) == {0, 1}
    assert float(both.header["wall seconds"]) >= float(first.header["wall seconds"])
    record(monkeypatch, folder, tmp_path, "--repeats", "2")
    assert read_table(tmp_path / "cnn-r.csv").rows == both.rows


def test_without_time_nothing_is_begun(monkeypatch, folder: Path, tmp_path: Path) -> None:
    record(monkeypatch, folder, tmp_path, "--seconds", "0")
    assert list(tmp_path.iterdir()) == []


def test_a_table_of_other_controls_is_left_as_it_is(monkeypatch, folder: Path, tmp_path: Path) -> None:
    other = "# experiment: cnn-r\n# rows: 1\nu1,repeat,score,seconds\n0.5,0,0.7,1.0\n"
    (tmp_path / "cnn-r.csv").write_text(other)
    with pytest.raises(SystemExit, match="are not those of 'cnn-r'"):
        record(monkeypatch, folder, tmp_path)
    assert (tmp_path / "cnn-r.csv").read_text() == other


def test_bad_input_ends_in_one_sentence(monkeypatch, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="error: none of idc_50x50"):
        record(monkeypatch, tmp_path, tmp_path / "out")
    with pytest.raises(SystemExit, match="error: device must be"):
        record(monkeypatch, folder, tmp_path / "out", "--device", "gpu")
    assert list((tmp_path / "out").iterdir()) == []


def test_every_table_has_enough_repeats_and_controls() -> None:
    wanted = {"cnn-batch": 15, "cnn-r": 10, "cnn-2d": 4, "fraud": 5, "fraud-2d": 3, "intel-plain": 4}
    wanted |= {"intel-resnet50": 3, "synthetic": 10, "higgs": 10}
    assert {name: plan.repeats for name, plan in train_tables.PLANS.items()} == wanted
