"""Signed files: sign, verify and load with pinned keys; whatever was changed is refused."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.value.map_cases import random_map
from tools.file_kinds import PRIOR_TOML, surrogate_bytes
from typer.testing import CliRunner

import autobct
from autobct.build.layout import read_prior
from autobct.cli import app
from autobct.maps.container import MapFileError
from autobct.maps.library import load_map, read_surrogate, save_map
from autobct.maps.signatures import SignatureError


def run(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def key(tmp_path: Path) -> tuple[Path, str]:
    """A secret key's file, and the public key."""
    done = run("new-key", tmp_path / "secret")
    assert done.exit_code == 0
    return tmp_path / "secret", done.output.split()[-1]


@pytest.fixture
def signed_map(tmp_path: Path, key: tuple[Path, str]) -> Path:
    path = tmp_path / "map.safetensors"
    save_map(path, random_map((1, "log-linear", True)), {})
    assert run("sign", path, "--key", key[0]).exit_code == 0
    return path


def test_a_signed_map_is_loaded_with_the_key_of_its_signer(signed_map: Path, key: tuple[Path, str]) -> None:
    assert load_map(signed_map, trusted_keys=["00" * 32, key[1]]).deepest == load_map(signed_map).deepest
    done = run("verify", signed_map, "--key", key[1])
    assert (done.exit_code, done.output) == (0, f"{signed_map} is as it was when {key[1]} signed it.\n")


def test_the_secret_key_is_secret(key: tuple[Path, str]) -> None:
    if os.name == "posix":
        assert stat.S_IMODE(key[0].stat().st_mode) == 0o600
    before = key[0].read_bytes()
    done = run("new-key", key[0])
    assert done.exit_code == 2
    assert "already exists" in done.output
    assert key[0].read_bytes() == before
    assert key[1] not in before.decode()


def test_another_key_is_not_enough(signed_map: Path, tmp_path: Path) -> None:
    other = run("new-key", tmp_path / "other").output.split()[-1]
    with pytest.raises(SignatureError, match="not a key you trust"):
        load_map(signed_map, trusted_keys=[other])
    assert run("verify", signed_map, "--key", other).exit_code == 1


def test_a_map_that_was_changed_is_refused_even_if_it_is_a_sound_one(signed_map: Path, key: tuple[Path, str]) -> None:
    signature = Path(f"{signed_map}.sig").read_bytes()
    save_map(signed_map, random_map((1, "log-linear", True)), {"note": "another"})
    Path(f"{signed_map}.sig").write_bytes(signature)
    assert load_map(signed_map)  # whole, and so accepted where no key is pinned
    with pytest.raises(SignatureError, match="altered after it was signed"):
        load_map(signed_map, trusted_keys=[key[1]])
    done = run("verify", signed_map, "--key", key[1])
    assert done.exit_code == 1
    assert "Traceback" not in done.output


def test_without_a_signature_or_with_something_else_in_its_place(signed_map: Path, key: tuple[Path, str]) -> None:
    beside = Path(f"{signed_map}.sig")
    good = beside.read_text()
    for text, says in (
        ("", "not an autobct signature"),
        (good + "\n", "not an autobct signature"),
        (good.upper(), "not an autobct signature"),
        (good.replace("1\n", "2\n", 1), "not an autobct signature"),
        ("x" * 5000, "not signed"),
        (None, "not signed"),
    ):
        beside.unlink()
        if text is not None:
            beside.write_text(text)
        with pytest.raises(SignatureError, match=says):
            load_map(signed_map, trusted_keys=[key[1]])
        beside.touch()
    with pytest.raises(SignatureError, match="give the path"):
        load_map(signed_map.read_bytes(), trusted_keys=[key[1]])


@pytest.mark.parametrize(
    ("keys", "error", "says"),
    [
        ([], ValueError, "is empty"),
        ("00" * 32, TypeError, "a list of keys"),
        (["00" * 31], ValueError, "64 hexadecimal digits"),
        (["zz" * 32], ValueError, "64 hexadecimal digits"),
        ([bytes(32)], ValueError, "64 hexadecimal digits"),
    ],
)
def test_keys_that_are_none(keys: Any, error: type[Exception], says: str, signed_map: Path) -> None:
    with pytest.raises(error, match=says):
        load_map(signed_map, trusted_keys=keys)


def test_priors_and_surrogates_are_signed_the_same_way(tmp_path: Path, key: tuple[Path, str]) -> None:
    prior, surrogate = tmp_path / "prior.toml", tmp_path / "one.surrogate"
    prior.write_text(PRIOR_TOML)
    surrogate.write_bytes(surrogate_bytes())
    for path, read in ((prior, read_prior), (surrogate, read_surrogate)):
        with pytest.raises(autobct.FileError, match="not signed"):
            read(path, trusted_keys=[key[1]])
        assert run("sign", path, "--key", key[0]).exit_code == 0
        assert read(path, trusted_keys=[key[1]])
        path.write_bytes(path.read_bytes() + b"\n")
        with pytest.raises(autobct.FileError, match="altered"):
            read(path, trusted_keys=[key[1]])


@pytest.mark.parametrize("text", ["", "abc", "zz" * 32, "00" * 31, "x" * 5000])
def test_a_key_file_that_is_none(text: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("data")
    (tmp_path / "key").write_text(text)
    done = run("sign", path, "--key", tmp_path / "key")
    assert done.exit_code == 2
    assert "Traceback" not in done.output
    assert not (tmp_path / "file.sig").exists()


def test_without_the_library_signing_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric", None)
    done = run("new-key", tmp_path / "secret")
    assert done.exit_code == 2
    assert "pip install 'autobct[sign]'" in done.output


def test_a_signature_error_is_a_file_error() -> None:
    assert issubclass(SignatureError, MapFileError)
    assert issubclass(MapFileError, autobct.FileError)
