"""TOML and JSON from others: the work of reading them is bounded before it begins."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import autobct
from autobct.build.layout import PriorFileError, read_prior
from autobct.maps.container import MapFileError, read_file
from autobct.maps.ordinary import FileError, read_json, read_toml
from autobct.run.config import parse, read_text
from autobct.run.journal import JournalError, read_journal
from autobct.run.program_settings import SettingsError
from autobct.run.toml_space import read_lines

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")

TOO_MUCH = {
    "dotted": ("a." * 20_000 + "a = 1", "more than 4 dots"),
    "2,000 dots": ("a." * 2_000 + "a = 1", "more than 4 dots"),
    "dotted table": ("[" + "a." * 20_000 + "a]", "more than 4 dots"),
    "spaced": ("a . " * 20_000 + "a = 1", "more than 4 dots"),
    "quoted": ('"a.b".' * 20_000 + "a = 1", "more than 4 dots"),
    "inline": ("x = { " + "a." * 20_000 + "a = 1 }", "more than 4 dots"),
    "nested arrays": ("x = " + "[" * 100_000, "more than 16 deep"),
    "nested tables": ("x = " + "{ a = " * 100_000, "more than 16 deep"),
    "digits": ("x = " + "9" * 400, "more than 64 digits"),
    "hexadecimal": ("x = 0x" + "f" * 400, "more than 64 digits"),
    "fraction": ("x = 0." + "3" * 400, "more than 64 digits"),
}


def memory_of(read: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", TOO_MUCH)
def test_what_would_take_much_work_is_refused_before_it_is_done(name: str) -> None:
    text, says = TOO_MUCH[name]

    def read() -> None:
        with pytest.raises(SettingsError, match=says):
            parse(text)

    assert memory_of(read) < 20 * len(text) + (1 << 20)


@pytest.mark.parametrize("name", TOO_MUCH)
def test_a_prior_is_read_the_same_way(name: str, tmp_path: Path) -> None:
    path = tmp_path / "prior.toml"
    path.write_text(TOO_MUCH[name][0])
    with pytest.raises(PriorFileError, match=rf"{TOO_MUCH[name][1]}|larger than"):
        read_prior(path)


@pytest.mark.parametrize("text", ["9" * 400, "[" * 5_000, '{"a": 1, "a": 2}', "{", '["' + "\\" * 50_000])
def test_json_too(text: str) -> None:
    with pytest.raises(ValueError, match=r"digits|deep|twice|Expecting|Unterminated"):
        read_json(text)


def test_an_integer_of_400_digits_in_json_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "prior.json"
    path.write_text(json.dumps({"basis": "cubic"})[:-1] + ', "score_noise": ' + "9" * 400 + "}")
    with pytest.raises(PriorFileError, match="more than 64 digits"):
        read_prior(path)


@pytest.mark.parametrize("digits", [20, 60])
def test_an_integer_beyond_floats_or_64_bits_is_a_sentence(digits: int, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="beyond 64 bits"):
        parse(f"seed = {'9' * digits}")
    prior = tmp_path / "prior.toml"
    prior.write_text(
        'basis = "cubic"\ncost_model = "linear"\nscore_noise = 1e400\ncost_noise = 0.1\n[score]\nmean = []\ncov = []\n'
        "[cost]\nmean = []\ncov = []\n"
    )
    with pytest.raises(PriorFileError, match="score_noise must be finite"):
        read_prior(prior)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x = 'a.b.c.d.e.f.g.h'", {"x": "a.b.c.d.e.f.g.h"}),
        ('x = """\na.b.c.d.e.f\n[[[[[[[[[[[[[[[[[[[[[["""', {"x": "a.b.c.d.e.f\n" + "[" * 22}),
        ("x = 1 # a.b.c.d.e.f.g.h " + "9" * 100, {"x": 1}),
        ("x = '''it's [[[[ fine'''", {"x": "it's [[[[ fine"}),
        ('x = "a \\" # [[[[[[[[[[[[[[[[[["', {"x": 'a " # [[[[[[[[[[[[[[[[[['}),
        ("a.b.c.d.e = 1.5", {"a": {"b": {"c": {"d": {"e": 1.5}}}}}),
        ('"' + "9" * 100 + '" = 1', {"9" * 100: 1}),
        ("x = [[1, 2], [3.25, 4.5]]\r\ny = 1979-05-27T07:32:00Z", None),
    ],
)
def test_what_people_write_is_read(text: str, value: dict[str, Any] | None) -> None:
    found = read_toml(text)
    assert found == value if value is not None else set(found) == {"x", "y"}


def test_a_csv_file_of_very_many_columns_is_refused() -> None:
    with pytest.raises(SettingsError, match="more than 1000 names"):
        read_lines(",".join(f"c{k}" for k in range(200_000)) + "\n1\n")


READERS: list[tuple[Callable[[Path], Any], type[FileError], str]] = [
    (read_file, MapFileError, "map.safetensors"),
    (read_text, SettingsError, "tune.toml"),
    (lambda path: read_text(path, 1 << 23), SettingsError, "rows.csv"),
    (read_prior, PriorFileError, "prior.toml"),
    (read_prior, PriorFileError, "prior.json"),
    (read_journal, JournalError, "journal.jsonl"),
]


@posix
@pytest.mark.parametrize(("read", "error", "name"), READERS, ids=lambda value: value if isinstance(value, str) else "")
def test_pipes_devices_folders_and_links_to_them_are_refused(
    read: Callable[[Path], Any], error: type[FileError], name: str, tmp_path: Path
) -> None:
    pipe, path = tmp_path / "pipe", tmp_path / name
    os.mkfifo(pipe)
    for target in (pipe, Path("/dev/zero"), tmp_path, tmp_path / "nowhere", path):
        path.symlink_to(target)
        with pytest.raises(error, match=r"not an ordinary file|no such file|cannot be read|no journal") as refused:
            read(path)
        assert "\n" not in str(refused.value)
        assert isinstance(refused.value, autobct.FileError)
        path.unlink()


@pytest.mark.parametrize(("read", "error", "name"), READERS, ids=lambda value: value if isinstance(value, str) else "")
def test_a_large_file_is_refused_unread(
    read: Callable[[Path], Any], error: type[FileError], name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    with open(path, "wb") as file:
        file.truncate(1 << 30)  # takes no room on the disk

    def refused() -> None:
        with pytest.raises(error, match="larger than"):
            read(path)

    assert memory_of(refused) < 1 << 20


@pytest.mark.parametrize(
    ("mean", "cov", "says"),
    [
        ([0.0] * 5_000, [1.0] * 5_000, "too many numbers"),  # a covariance of 200 MB
        ([0.0] * 4, [[1.0] * 5_000] * 2, "too many numbers"),
        ([0.0] * 4, [1e308] * 4, r"one beyond 1e\+100"),
        ([1e200] * 4, [1.0] * 4, r"one beyond 1e\+100"),
    ],
)
def test_a_prior_of_very_many_or_very_large_numbers_is_refused(
    mean: list[float], cov: list[Any], says: str, tmp_path: Path
) -> None:
    half = {"mean": [0.0] * 4, "cov": [1.0] * 4}
    told = {"basis": "cubic", "cost_model": "linear", "score_noise": 0.1, "cost_noise": 0.1}
    path = tmp_path / "prior.json"
    path.write_text(json.dumps({**told, "score": {"mean": mean, "cov": cov}, "cost": half}))

    def refused() -> None:
        with pytest.raises(PriorFileError, match=says):
            read_prior(path)

    assert memory_of(refused) < 5 << 20


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("guess = { x = 1979-05-27T07:32:00Z }", "guess: must be strings, numbers"),
        ("score.pattern = '([[a]+)'", "score.pattern: is not a regular expression"),
    ],
)
def test_a_time_where_a_value_belongs_and_an_ambiguous_pattern_are_refused(line: str, says: str) -> None:
    space = 'space.x = { type = "int", low = 1, high = 9 }'
    with pytest.raises(SettingsError, match=says):
        parse(f'command = ["true", "{{x}}"]\nprice = 1\n{line}\n{space}\n')
