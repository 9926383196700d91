"""The number a program has told, or one sentence why there is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from autobct.run.reading import NoNumberError, Reading, Stamp, check_written

SCORE = Reading("score")


def in_file(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "stdout.txt"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0.5", 0.5),
        ("noise\n0.25\n", 0.25),
        ("epoch 1: 0.9\n  -1e-3  \r\n\n\n", -0.001),
        ('{"score": 3}', 3.0),
        ('{"loss": 1, "score": 0.5}\n', 0.5),
        ("x" * 200_000 + "\n7\n", 7.0),
        (b"\xff\xfe\n2\n", 2.0),
    ],
)
def test_the_last_line(tmp_path: Path, text: str | bytes, number: float) -> None:
    assert SCORE.number(in_file(tmp_path, text)) == number


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "no score: the output is empty"),
        ("\n \n", "no score: the output is empty"),
        ("done", "no score: 'done' is not one number"),
        ("0.5 0.6", "no score: '0.5 0.6' is not one number"),
        ("[0.5, 0.6]", "no score: the last line of the output, '[0.5, 0.6]', is not one number"),
        ("nan", "no score: it is 'nan', which is not finite"),
        ("NaN", "no score: it is nan, which is not finite"),
        ("-inf", "no score: it is '-inf', which is not finite"),
        ("1e999", "no score: it is inf, which is not finite"),
        ("9" * 400, "no score: 9999"),
        ("true", "no score: the last line of the output, 'true', is not one number"),
        ('{"scor": 1}', "no score: the JSON of the output has no 'score', it has 'scor'"),
        ('{"score": "<b>high</b>"}', "no score: 'score' in the JSON of the output is '<b>high</b>', not a number"),
        ('{"score": NaN}', "no score: it is nan, which is not finite"),
        ("[" * 60_000, "no score: '[[[[["),
    ],
)
def test_no_score(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(NoNumberError) as error:
        SCORE.number(in_file(tmp_path, text))
    assert str(error.value).startswith(sentence)
    assert len(str(error.value)) < 200
    assert "\n" not in str(error.value)


def test_a_key_leads_through_json(tmp_path: Path) -> None:
    path = in_file(tmp_path, '{"metrics": {"accuracy": 0.75}, "a.b": 2}')
    assert Reading("score", key="metrics.accuracy").number(path) == 0.75
    assert Reading("score", key="a.b").number(path) == 2.0
    with pytest.raises(NoNumberError, match=r"has no 'metrics\.loss', it has 'accuracy'"):
        Reading("score", key="metrics.loss").number(path)
    with pytest.raises(NoNumberError, match="is not JSON with 'a'"):
        Reading("score", key="a").number(in_file(tmp_path, "0.5"))


def test_a_pattern_takes_the_last_match(tmp_path: Path) -> None:
    path = in_file(tmp_path, "epoch 1 acc=0.5 took 3 s\nepoch 2 acc=0.75 took 4 s\nbye\n")
    assert Reading("score", pattern=r"acc=([0-9.]+)").number(path) == 0.75
    assert Reading("cost", pattern=r"acc=([0-9.]+) took (?P<cost>\d+)").number(path) == 4.0
    with pytest.raises(NoNumberError, match="nothing in the output matches the pattern 'loss"):
        Reading("score", pattern="loss=(.*)").number(path)
    with pytest.raises(NoNumberError, match=r"'0\.75 took 4 s' is not one number"):
        Reading("score", pattern="acc=(.*)").number(path)


def test_a_file_may_be_json_over_several_lines(tmp_path: Path) -> None:
    path = in_file(tmp_path, '{\n  "score": 0.5\n}\n')
    assert Reading("score", file="x").number(path) == 0.5


def test_a_negative_cost_is_none(tmp_path: Path) -> None:
    with pytest.raises(NoNumberError, match="negative"):
        Reading("cost").number(in_file(tmp_path, "-1"))


def test_an_older_file_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "score.json"
    missing = Stamp.of(path)
    with pytest.raises(NoNumberError, match="did not write the file"):
        check_written(path, missing, "score")
    path.write_text("0.5")
    check_written(path, missing, "score")
    with pytest.raises(NoNumberError, match="is from before the run"):
        check_written(path, Stamp.of(path), "score")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NoNumberError, match="not an ordinary file"):
        check_written(tmp_path / "pipe", Stamp(None), "score")
