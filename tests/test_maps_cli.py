"""`autobct maps`, as a user types it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from autobct.build.layout import neighbour_pairs, reference_controls
from autobct.cli import app
from autobct.maps.library import save_map
from autobct.value.maps.map_spec import MapSpec
from autobct.value.maps.value_map import Perceptron, ValueMap


def run(*arguments):
    return CliRunner().invoke(app, ["maps", *map(str, arguments)], prog_name="autobct")


def python(code, *arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def autobct_without(module, *arguments):
    """The command line where a library is not installed."""
    hide = (
        "import sys\n"
        "class Hidden:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}:\n"
        f"            raise ModuleNotFoundError('No module named {module}', name=name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
        "sys.argv[0] = 'autobct'\n"
        "from autobct.cli import app\n"
        "app()\n"
    )
    return python(hide, "maps", *arguments)


def value_map(dim: int = 1) -> ValueMap:
    """V_2 = V_1, V_3 = V_1: networks that add nothing, so that nothing has to be trained."""
    spec = MapSpec(
        basis="cubic",
        dim=dim,
        cost_model="linear",
        recall=False,
        overhead=0.002,
        references=reference_controls(dim),
        neighbours=neighbour_pairs(dim),
        prices=(0.01, 2.0),
        noises=(0.01, 0.5),
    )
    layers = [(spec.inputs, 4), (4, 4), (4, 1)]
    zero = Perceptron(
        tuple(np.zeros(shape, dtype=np.float32) for shape in layers),
        tuple(np.zeros(shape[1], dtype=np.float32) for shape in layers),
    )
    return ValueMap(spec, (zero, zero))


@pytest.fixture(scope="module")
def network_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("maps") / "own.safetensors"
    save_map(path, value_map(), {"build": "seed: 7\nstates: 0", "seconds": "0.0", "policy": "[]"})
    return path


@pytest.fixture(scope="module")
def forest_file(tmp_path_factory) -> Path:
    pytest.importorskip("sklearn")
    path = tmp_path_factory.mktemp("maps") / "forest.safetensors"
    result = run("build", path, "--regression", "forest", "--quick", "--states", 100, "--runs", 1)
    assert result.exit_code == 0, result.output
    return path


def test_list_says_what_came_with_the_package():
    result = run("list")
    assert result.exit_code == 0
    assert result.output.strip()


def test_list_shows_the_maps_by_name(network_file, monkeypatch):
    monkeypatch.setattr("autobct.maps.container.shipped", lambda: {"1d-linear-last": network_file})
    monkeypatch.setattr("autobct.build.opened.read_shipped", lambda name: network_file.read_bytes())
    result = run("list")
    assert result.exit_code == 0
    assert "1d-linear-last" in result.output
    assert "1-D cubic, linear cost, last model, V_2 to V_3" in result.output


def test_info_tells_the_game_and_the_build(network_file):
    result = run("info", network_file)
    assert result.exit_code == 0
    assert "network map" in result.output
    assert "1-D cubic, linear cost, last model, V_2 to V_3" in result.output
    assert "  seed: 7" in result.output


def test_info_of_a_forest(forest_file):
    result = run("info", forest_file)
    assert result.exit_code == 0
    assert "forest map" in result.output
    assert "price 0.16, score noise 0.05" in result.output
    assert "synthetic" in result.output  # what it was judged on


@pytest.mark.parametrize("kind", ["network_file", "forest_file"])
def test_verify_of_a_whole_map(kind, request):
    result = run("verify", request.getfixturevalue(kind))
    assert result.exit_code == 0, result.output
    assert "is intact" in result.output


@pytest.mark.parametrize("kind", ["network_file", "forest_file"])
@pytest.mark.parametrize("damage", ["truncated", "altered", "empty"])
def test_verify_of_a_damaged_map(kind, damage, request, tmp_path):
    data = request.getfixturevalue(kind).read_bytes()
    path = tmp_path / "damaged.safetensors"
    path.write_bytes({"truncated": data[:-9], "altered": data[:-1] + bytes([data[-1] ^ 1]), "empty": b""}[damage])
    result = run("verify", path)
    assert result.exit_code == 1
    assert len(result.output.splitlines()) == 1
    assert "Traceback" not in result.output


@pytest.mark.parametrize("command", ["info", "verify", "certify"])
def test_a_map_that_is_not_there_gets_a_sentence(command):
    result = run(command, "atlantis")
    assert result.exit_code == 2
    assert "no file 'atlantis'" in result.output
    assert len(result.output.splitlines()) == 1


def test_a_folder_is_not_a_map(tmp_path):
    result = run("info", tmp_path)
    assert result.exit_code == 2
    assert "is not an ordinary file" in result.output


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["build", "map.npz"], ".safetensors"),
        (["build", "nowhere/map.safetensors"], "does not exist"),
        (["build", "map.safetensors", "--dim", "3"], "--dim"),
        (["build", "map.safetensors", "--cost", "free"], "--cost"),
        (["build", "map.safetensors", "--runs", "0"], "--runs"),
        (["build", "map.safetensors", "--seed", "-1"], "--seed"),
        (["build", "map.safetensors", "--device", "abacus"], "--device"),
        (["build", "map.safetensors", "--regression", "forest", "--recall"], "returns the last model"),
        (["build"], "OUT"),
        (["certify", "map.safetensors", "--draws", "1"], "--draws"),
        (["biuld"], "biuld"),
    ],
)
def test_bad_input_gets_a_sentence(arguments, named, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2
    assert named in result.output
    assert "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_exists_is_not_overwritten(tmp_path):
    path = tmp_path / "map.safetensors"
    path.write_text("precious")
    result = run("build", path, "--quick")
    assert result.exit_code == 2
    assert "already exists" in result.output
    assert path.read_text() == "precious"


@pytest.mark.slow
def test_a_forest_build_shows_plain_lines_and_leaves_only_the_map(tmp_path):
    pytest.importorskip("sklearn")
    path = tmp_path / "map.safetensors"
    result = run("build", path, "--regression", "forest", "--quick", "--states", 100)
    assert result.exit_code == 0, result.output
    assert "[1/2] V_1: 100 states" in result.output
    assert "\x1b" not in result.output
    assert list(tmp_path.iterdir()) == [path]


def test_an_interrupted_build_says_how_to_go_on(tmp_path, monkeypatch):
    pytest.importorskip("sklearn")

    def interrupted(request, folder, progress, *, cut):
        raise KeyboardInterrupt

    monkeypatch.setattr("autobct.build.forests.forest_builder.build_forest", interrupted)
    result = run("build", tmp_path / "map.safetensors", "--regression", "forest", "--quick")
    assert result.exit_code == 130
    assert "the same command continues from there" in result.output


@pytest.mark.slow
def test_another_build_under_the_same_name_is_refused(tmp_path, monkeypatch):
    pytest.importorskip("sklearn")
    path = tmp_path / "map.safetensors"
    small = ["--regression", "forest", "--quick", "--states", 100, "--runs", 1]

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("autobct.build.forests.forest_builder.save_forest", full)
    result = run("build", path, *small)
    assert result.exit_code == 2
    assert "could not be written (No space left on device); V_1 is kept in" in result.output
    monkeypatch.undo()
    result = run("build", path, *small, "--seed", 5)
    assert result.exit_code == 2
    assert "there: seed: 0\nasked: seed: 5" in result.output


@pytest.mark.heavy
def test_a_network_build_from_the_command_line(tmp_path):
    pytest.importorskip("torch")
    path = tmp_path / "map.safetensors"
    result = run("build", path, "--quick", "--states", 64, "--runs", 1)
    assert result.exit_code == 0, result.output
    assert "[1/7] V_2: error" in result.output
    assert list(tmp_path.iterdir()) == [path]
    assert "evaluated when built" in run("info", path).output


@pytest.mark.heavy
def test_certify_prints_a_table(network_file):
    pytest.importorskip("torch")
    result = run("certify", network_file, "--draws", 30, "--prior", "fraud", "--seed", 3, "--seconds", 0)
    assert result.exit_code in (0, 1)
    assert "fraud" in result.output
    assert "seed 3, 30 draws a prior, price 0.16, torch on cpu" in result.output


@pytest.mark.slow
def test_certify_without_torch_says_that_it_is_slow(network_file):
    result = autobct_without("torch", "certify", network_file, "--draws", 10, "--prior", "intel", "--seconds", 0)
    assert result.returncode in (0, 1), result.stderr
    assert "slow" in result.stderr
    assert "10 draws a prior, price 0.16, NumPy" in result.stdout


@pytest.mark.slow
def test_a_bad_forest_is_found_out(forest_file):
    result = run("certify", forest_file, "--draws", 60, "--prior", "synthetic", "--seconds", 0)
    assert result.exit_code == 1
    assert "synthetic: " in result.output.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--prior", "cnn-2d"], "prior must be one of synthetic"),
        (["--price", "-1"], "price must be positive"),
        (["--price", "1e6"], "map: price of a run 0.01 to 2"),
    ],
)
def test_a_trial_that_the_map_is_not_for_is_refused(network_file, arguments, named):
    result = run("certify", network_file, *arguments)
    assert result.exit_code == 2
    assert named in result.output


def test_a_forest_map_is_for_one_price(forest_file):
    result = run("certify", forest_file, "--price", 0.3)
    assert result.exit_code == 2
    assert "map: price 0.16\nasked: price 0.3" in result.output


@pytest.mark.parametrize(("module", "library"), [("torch", "torch"), ("sklearn", "scikit-learn")])
def test_a_missing_library_gets_the_install_line(module, library, tmp_path):
    kind = "network" if module == "torch" else "forest"
    result = autobct_without(module, "build", tmp_path / "map.safetensors", "--quick", "--regression", kind)
    assert result.returncode == 2
    assert f"needs {library}" in result.stderr
    assert "pip install 'autobct[build]'" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_the_command_line_starts_without_the_heavy_libraries():
    result = python("import sys, autobct.cli; print(*sorted({'torch', 'sklearn', 'rich.progress'} & set(sys.modules)))")
    assert result.stdout == "\n"
