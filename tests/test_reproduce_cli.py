"""`autobct reproduce`, as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.paper.tables import made_folder
from typer.testing import CliRunner, Result

from autobct.cli import app
from autobct.paper.experiments import EXPERIMENTS


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)], prog_name="autobct")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_folder(tmp_path_factory.mktemp("tables"), list(EXPERIMENTS.values()))


def test_the_list_names_all_with_their_place_in_the_paper() -> None:
    done = run("--list")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(EXPERIMENTS)
    assert "VI/Map N=3, damping 0.02; section 4.2.3, tables 6 and 7; appendix D.4" in lines[5]


def test_one_experiment_prints_runs_seeds_mean_and_the_papers_row(folder: Path) -> None:
    done = run("higgs", "--tables", folder, "--seeds", 3)
    assert done.exit_code == 0, done.output
    text = done.stdout
    assert text.startswith("higgs: Higgs, share of the data for a random forest; VI/Map N=3, damping 0.02; section 4.3")
    assert "Recorded trainings on a made-up machine, 2026-01-01; 3 repeats." in text
    rows = [line.split() for line in text.splitlines()]
    assert ["n", "h_n", "t_n", "sum", "t", "u", "posterior", "V"] in rows
    assert sum(row[:1] == [str(seed)] and len(row) == 8 for row in rows for seed in range(3)) >= 3
    assert any(line.startswith("here, mean of 3") for line in text.splitlines())
    assert any(line.split()[:5] == ["paper,", "one", "run", "0.600", "0.960"] for line in text.splitlines())
    assert "Stopped after" in text


def test_one_seed_needs_no_line_for_each(folder: Path) -> None:
    done = run("cnn-2d-otf", "--tables", folder, "--seeds", 1)
    assert done.exit_code == 0, done.output
    assert "seed" not in done.stdout
    assert done.stdout.count("paper, run") == 3


def test_json_has_every_run_and_the_settings(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    done = run("cnn-batch", "--tables", folder, "--seeds", 2, "--ours", "--json", out)
    assert done.exit_code == 0, done.output
    assert "Our policy nets" in done.stdout
    (found,) = json.loads(out.read_text())["experiments"]
    assert found["experiment"] == "cnn-batch"
    assert found["settings"]["score_noise"] == 0.15
    assert found["settings"]["score_mean"] == [0.4, -0.1, -0.2, -0.1]
    assert found["recorded"]["device"] == "a made-up machine"
    assert len(found["tunings"]) == len(found["ours"]["tunings"]) == 2
    first = found["tunings"][0]["runs"]
    assert first[-1]["sum_t"] == pytest.approx(sum(line["t"] for line in first))
    assert first[0]["params"]["r"] == 0.0007
    assert first[0]["h"] == pytest.approx((first[0]["score"] - 0.45) / 0.35)
    assert found["published"]["paper, one run"]["h"]["mean"] == 0.806
    assert found["summary"]["h"]["mean"] == pytest.approx(sum(t["runs"][-1]["h"] for t in found["tunings"]) / 2)
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_all_of_them(folder: Path) -> None:
    done = run("all", "--tables", folder, "--seeds", 1)
    assert done.exit_code == 0, done.output
    assert [name for name in EXPERIMENTS if f"{name}: " in done.stdout] == list(EXPERIMENTS)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def other_column(path: Path) -> None:
    path.write_text(path.read_text().replace("seconds", "minutes"))


def lost_rows(path: Path) -> None:
    path.write_text("\n".join(path.read_text().splitlines()[:-2]) + "\n")


def coarser_at_one_place(path: Path) -> None:
    lines = path.read_text().splitlines()
    path.write_text("\n".join([line.replace("rows: 18", "rows: 17") for line in lines[:-1]]) + "\n")


def no_number(path: Path) -> None:
    text = path.read_text()
    path.write_text(text.replace(text.splitlines()[-1], "1.0,2,good,1.9"))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (Path.unlink, "there is no table"),
        (cut, "is truncated"),
        (other_column, "lacks the column 'seconds'"),
        (lost_rows, "truncated or was edited"),
        (coarser_at_one_place, "is not a complete grid: control (1) has 2 repeats, others 3"),
        (no_number, "'good' is not a number"),
        (lambda path: path.write_bytes(b"\xff\xfe\x00"), "is not a text file"),
    ],
)
def test_a_table_that_cannot_be_used_is_one_sentence_and_nothing_is_written(
    tmp_path: Path, spoil: object, words: str
) -> None:
    made_folder(tmp_path, [EXPERIMENTS["higgs"]])
    spoil(tmp_path / "higgs.csv")  # type: ignore[operator]
    done = run("higgs", "--tables", tmp_path, "--json", tmp_path / "out.json")
    assert done.exit_code == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out.json").exists()


def test_a_table_in_other_dimensions(tmp_path: Path) -> None:
    made_folder(tmp_path, [EXPERIMENTS["higgs"]])
    (tmp_path / "cnn-2d.csv").write_text((tmp_path / "higgs.csv").read_text().replace(": higgs", ": cnn-2d"))
    done = run("cnn-2d-map", "--tables", tmp_path)
    assert done.exit_code == 2
    assert "has 1 controls, but the experiment has 2" in done.stderr


def test_a_table_of_another_experiment(tmp_path: Path) -> None:
    made_folder(tmp_path, [EXPERIMENTS["higgs"]])
    (tmp_path / "higgs.csv").rename(tmp_path / "fraud.csv")
    done = run("fraud", "--tables", tmp_path)
    assert done.exit_code == 2
    assert "fraud.csv' holds the trainings of 'higgs', but those of 'fraud' are needed" in done.stderr


def test_a_place_for_json_is_looked_for_before_anything_is_played(tmp_path: Path) -> None:
    done = run("higgs", "--json", tmp_path)
    assert done.exit_code == 2
    assert "is a folder; give a file with --json." in done.stderr
    assert not done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "Give the name of an experiment, or all"),
        (("iris",), "no experiment is called 'iris'; there are: synthetic-map-2"),
        (("higgs", "--seeds", "many"), "--seeds"),
        (("higgs", "--seeds", "0"), "--seeds"),
        (("higgs", "--json", "no/such/folder/out.json"), "The folder of 'no/such/folder/out.json' does not exist."),
        (("higgs", "--forest", "none.safetensors"), "'none.safetensors'"),
    ],
)
def test_bad_arguments_end_with_two(arguments: tuple[str, ...], words: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert words in done.stderr
    assert "Traceback" not in done.output


def test_a_json_file_that_cannot_be_written(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("autobct.maps.container.write_file", full)
    done = run("higgs", "--tables", folder, "--seeds", 1, "--json", tmp_path / "out.json")
    assert done.exit_code == 2
    assert "could not be written" in done.stderr


@pytest.fixture(scope="module")
def forest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    from autobct.build.forests.forest_builder import ForestRequest, build_forest

    return build_forest(ForestRequest(runs=2, trees=5, states=120, draws=0), tmp_path_factory.mktemp("forest"))


def test_a_forest_of_the_papers_kind_can_decide(folder: Path, forest: Path) -> None:
    done = run("synthetic-map-2", "--tables", folder, "--seeds", 1, "--forest", forest)
    assert done.exit_code == 0, done.output
    networks = run("synthetic-map-2", "--tables", folder, "--seeds", 1)
    assert done.stdout.splitlines()[4] != networks.stdout.splitlines()[4]  # another first run, or another value of it


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cnn-r", "noise 0.05 and 0.1, linear cost, price 0.16, but cnn-r has basis cubic, noise 0.15"),
        ("synthetic-map-4", "has V_1 to V_2, but synthetic-map-4 needs V_4"),
    ],
)
def test_a_forest_for_another_game_is_refused(folder: Path, forest: Path, name: str, words: str) -> None:
    done = run(name, "--tables", folder, "--forest", forest)
    assert done.exit_code == 2
    assert words in done.stderr


def test_a_network_is_no_forest(folder: Path) -> None:
    done = run("higgs", "--tables", folder, "--forest", "1d-linear-last")
    assert done.exit_code == 2
    assert "'1d-linear-last' is not a forest map" in done.stderr
