"""`autobct maps certify` with bounds, and priors from files."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.test_maps_cli import run, value_map

from autobct.belief.prior import paper_prior
from autobct.build.layout import PriorFileError, read_prior
from autobct.maps.library import save_map

TOLD = {
    "basis": "cubic",
    "cost_model": "linear",
    "score_noise": 0.05,
    "cost_noise": 0.1,
    "score": {"mean": [0.4, 0.1, -0.2, 0.1], "cov": [1.0, 1.0, 1.0, 1.0]},
    "cost": {"mean": [1.0, 1.0, 2.0, 2.0], "cov": np.diag([0.64, 4.0, 4.0, 4.0]).tolist()},
}
TOML = """
basis = "cubic"
cost_model = "linear"
score_noise = 0.05
cost_noise = 0.1
[score]
mean = [0.4, 0.1, -0.2, 0.1]
cov = [1, 1, 1, 1]
[cost]
mean = [1, 1, 2, 2]
cov = [0.64, 4, 4, 4]
"""


@pytest.fixture(scope="module")
def network_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("maps") / "own.safetensors"
    save_map(path, value_map(), {"seconds": "0.0"})
    return path


def written(folder: Path, change: dict | None = None, name: str = "prior.json") -> Path:
    path = folder / name
    path.write_text(json.dumps({**TOLD, **(change or {})}))
    return path


@pytest.mark.parametrize("name", ["prior.json", "prior.toml"])
def test_a_prior_file_is_the_papers_prior(name, tmp_path):
    path = tmp_path / name
    path.write_text(TOML if name.endswith("toml") else json.dumps(TOLD))
    found, expected = read_prior(path), paper_prior("synthetic")
    for part in ("score", "cost"):
        one, other = getattr(found.belief, part), getattr(expected.belief, part)
        np.testing.assert_allclose(one.mean, other.mean)
        np.testing.assert_allclose(one.cov, other.cov)
    assert (found.model.score_noise, found.model.cost_noise) == (0.05, 0.1)
    assert found.model.cost_model is expected.model.cost_model


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"basis": "quintic"}, "basis must be one of cubic, additive-quartic, got 'quintic'"),
        ({"cost_model": ["linear"]}, "cost_model must be one of linear, log-linear"),
        ({"score_noise": 0}, "score_noise must be positive"),
        ({"score_noise": True}, "score_noise must be a number"),
        ({"cost_noise": float("nan")}, "cost_noise must be finite"),
        ({"score": {"mean": [0.4], "cov": [1.0]}}, "has 1 weights but basis 'cubic' has 4"),
        ({"score": {"mean": "0.4", "cov": [1.0]}}, "score.mean must be a list of numbers"),
        ({"score": {"mean": [True] * 4, "cov": [1.0] * 4}}, "score.mean must be a list of numbers"),
        ({"score": {"mean": [0.4] * 4}}, "lacks cov"),
        ({"cost": {"mean": [0.4] * 4, "cov": [-1.0] * 4}}, "indefinite"),
        ({"cost": {"mean": [0.4] * 4, "cov": [[1.0, 2.0]] * 4}}, "covariance must be 4 x 4"),
        ({"price": 3}, "has 'price', which is not known"),
    ],
)
def test_a_bad_prior_file_gets_a_sentence(change, named, tmp_path, network_file):
    path = written(tmp_path, change)
    with pytest.raises(PriorFileError) as error:
        read_prior(path)
    assert named in str(error.value)
    result = run("certify", network_file, "--prior", path)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("prior.yaml", "basis: cubic", "must end in .toml or .json"),
        ("prior.json", "[1, 2]", "must be a table"),
        ("prior.json", '{"basis": "cubic", "basis": "cubic"}', "a key occurs twice"),
        ("prior.json", "{", "not valid JSON"),
        ("prior.toml", "basis = ", "not valid TOML"),
        ("prior.json", "[" * 50_000, "not valid JSON"),
        ("prior.json", " " * 65_537, "larger than"),
        ("prior.toml", b"\xff\xfe", "not UTF-8"),
    ],
)
def test_what_is_no_prior_at_all(name, text, named, tmp_path):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(PriorFileError, match=named):
        read_prior(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(PriorFileError, match="cannot be read"):
        read_prior(tmp_path / "none.toml")


@pytest.mark.slow
def test_bounds_for_a_prior_of_the_users(network_file, tmp_path):
    result = run("certify", network_file, "--prior", written(tmp_path), "--seconds", 1, "--seed", 4)
    assert result.exit_code == 0, result.output
    assert "price 0.16: This policy" in result.output
    for words in ("is worth at least", "no policy is worth more than", "41 candidates", "seed 4", " s"):
        assert words in result.output


@pytest.mark.slow
def test_bounds_follow_the_table(network_file):
    result = run("certify", network_file, "--prior", "fraud", "--draws", 10, "--seconds", 0.5)
    assert result.exit_code in (0, 1)
    assert "fraud, price 0.16: This policy" in result.output


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--price", "0"], "tuning would never stop"),
        (["--price", "1e6"], "map: price of a run 0.01 to 2"),
        (["--seconds", "0"], "--seconds above 0"),
        (["--seconds", "-3"], "--seconds"),
    ],
)
def test_bad_input_with_a_prior_file(network_file, arguments, named, tmp_path):
    result = run("certify", network_file, "--prior", written(tmp_path), *arguments)
    assert result.exit_code == 2
    assert named in result.output
