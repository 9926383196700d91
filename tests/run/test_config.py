"""TOML files: what is good is taken, and everything else is one sentence with the key in it."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from autobct.run.config import parse, read_text
from autobct.run.job import first_file
from autobct.run.journal_replay import tuner_of
from autobct.run.program_settings import SettingsError, differences
from autobct.tuning.space.space import Categorical, Float, Int

GOOD = """
command = ["train", "{x}"]
price = "0.01 per 30s"
[space]
x = { type = "float", low = 0, high = 1 }
"""


def test_the_least_one_has_to_say() -> None:
    settings = parse(GOOD)
    assert settings.program.command == ("train", "{x}")
    assert settings.space == {"x": Float(0, 1)}
    assert settings.measure == "wall"
    assert settings.tuning == {"price": "0.01 per 30s"}


def test_all_one_can_say() -> None:
    settings = parse(
        r"""
        command = "train '{a} b' --rate={r} {k} {p}"
        directory = "sub"
        env = { THREADS = "1", PARAMS = "{params_json}" }
        repeats = 3
        price = 0.5
        score_range = [0.5, 1]
        cost_range = [1, 60]
        direction = "minimize"
        recall = false
        seed = 7
        prior = "synthetic"
        [space]
        a = { type = "int", low = 1, high = 100, log = true }
        r = { type = "float", low = 0.0, high = 1.0, step = 0.25 }
        k = { type = "categorical", choices = ["x", 1, true, 0.5] }
        p = { type = "int", low = 3, high = 3 }
        [score]
        pattern = 'acc=(?P<score>\S+)'
        [cost]
        measure = "reported"
        key = "cost"
        file = "{run_dir}/cost.json"
        [limits]
        timeout = "10 min"
        max_cost = 12.5
        max_runs = 9
        deadline = 2030-01-31T18:00:00
        output = 4096
        """
    )
    assert settings.program.command == ("train", "{a} b", "--rate={r}", "{k}", "{p}")
    assert settings.space == {
        "a": Int(1, 100, log=True),
        "r": Float(0, 1, step=0.25),
        "k": Categorical(["x", 1, True, 0.5]),
        "p": Int(3, 3),
    }
    assert settings.program.repeats == 3
    assert settings.tuning["direction"] == "minimize"
    assert (settings.cost.key, settings.cost.file) == ("cost", "{run_dir}/cost.json")
    limits = settings.limits
    assert (limits.timeout, limits.max_cost, limits.max_runs, limits.output) == (600.0, 12.5, 9, 4096)
    assert limits.deadline == datetime(2030, 1, 31, 18)


def test_the_former_word_for_a_reported_cost_is_the_same_problem() -> None:
    former, now = (parse(f"{GOOD}[cost]\nmeasure = '{word}'\n") for word in ("told", "reported"))
    assert former.measure == now.measure == "reported"
    assert former.digest == now.digest


def test_the_first_file_is_good() -> None:
    settings = parse(first_file())
    assert list(settings.space) == ["depth", "rate"]
    uncommented = "\n".join(
        line.removeprefix("# ")
        if line.startswith(("# kind", "# max_cost", "# deadline", "# recall", "# seed"))
        else line
        for line in first_file().splitlines()
    )
    assert parse(uncommented.replace('"{rate}",', '"{rate}", "{kind}",')).limits.max_cost == 7200.0


BAD = [
    ("prise = 1\n" + GOOD, "prise is not a key of this file; did you mean price?"),
    ("max_runs = 3\n" + GOOD, "max_runs is not a key of this file; did you mean limits.max_runs?"),
    (GOOD.replace("price", "prices"), "prices is not a key of this file; did you mean price?"),
    (GOOD.replace("command", "comand"), "comand is not a key of this file; did you mean command?"),
    (GOOD.replace('command = ["train", "{x}"]', ""), "command is missing; write e.g. command = ["),
    (GOOD.replace('price = "0.01 per 30s"', ""), "price is missing; write e.g. price = "),
    ('command = ["a"]\nprice = 1\n', "space is missing; write e.g. [space] and in it"),
    ('command = ["a"]\nprice = 1\n[space]\n', "space has no parameter"),
    (GOOD.replace('["train", "{x}"]', "[]"), "command: is empty"),
    (GOOD.replace('["train", "{x}"]', '""'), "command: is empty"),
    (GOOD.replace('["train", "{x}"]', "3"), "command: must be a list of arguments or one string, got 3"),
    (GOOD.replace('["train", "{x}"]', '["train", 3]'), "command: must be a string, got 3"),
    (GOOD.replace('["train", "{x}"]', '"train \'{x}"'), "command: No closing quotation"),
    (GOOD.replace("{x}", "{y}"), "command: has {y}, which is not a parameter; there are {x}, {params_json}"),
    (GOOD.replace("{x}", "{x"), "command: has a single '{'"),
    (GOOD.replace('"{x}"', '"x"'), "space.x never reaches the program; write {x} (or {params_json}) in command"),
    (GOOD.replace('"{x}"', '"\\u0000{x}"'), "command: has a null character"),
    (GOOD.replace('"0.01 per 30s"', '"cheap"'), "price: price 'cheap' does not say per which cost"),
    (GOOD.replace('"0.01 per 30s"', "-1"), "price: price must be positive"),
    ("score_range = [1, 0]\n" + GOOD, "score_range: score_range is reversed"),
    ("score_range = 1\n" + GOOD, "score_range: must be two numbers, got 1"),
    ("cost_range = [-1, 0]\n" + GOOD, "cost_range: must not be negative"),
    ('direction = "minimise"\n' + GOOD, "direction: got 'minimise'; did you mean minimize?"),
    ('recall = "yes"\n' + GOOD, "recall: must be true or false, got 'yes'"),
    ("seed = -1\n" + GOOD, "seed: must be a whole number of at least 0, got -1"),
    ("repeats = 0\n" + GOOD, "repeats: must be a whole number of at least 1, got 0"),
    ('prior = "synthetc"\n' + GOOD, "prior: got 'synthetc'; did you mean synthetic?"),
    ("env = { A = 1 }\n" + GOOD, "env.A: must be a string, got 1"),
    ('env = { "A=B" = "1" }\n' + GOOD, "env.'A=B' cannot be the name of an environment variable"),
    ("env = 1\n" + GOOD, "env: must be a table, got 1"),
    (GOOD.replace('"float"', '"real"'), "space.x.type: got 'real'; there are int, float, categorical"),
    (GOOD.replace("low = 0, ", ""), "space.x.low is missing"),
    (GOOD.replace("low = 0", "low = 2"), "space.x: low is above high"),
    (GOOD.replace("low = 0", 'low = "0"'), "space.x.low: must be a number, got '0'"),
    (GOOD.replace("high = 1", "high = 1, log = true"), "space.x: low must be positive with log=True"),
    (GOOD.replace("high = 1", "hihg = 1"), "space.x.hihg is not a key of this file; did you mean high?"),
    (GOOD.replace("high = 1", "high = 1, sted = 0.1"), "space.x.sted is not a key of this file; did you mean step?"),
    (GOOD.replace("high = 1", "high = 0"), "space has nothing to tune"),
    (GOOD + "y = 3\n", "space.y: must be a table, got 3"),
    (GOOD + 'seed = { type = "int", low = 1, high = 2 }\n', "space.seed cannot be a parameter's name"),
    (GOOD + '"a{b" = { type = "int", low = 1, high = 2 }\n', "space.'a{b' cannot be a parameter's name"),
    (GOOD + 'y = { type = "categorical", choices = [] }\n', "space.y.choices: must be a list that is not empty"),
    (
        GOOD + 'y = { type = "categorical", choices = ["a", "a"] }\n',
        "space.y.choices: Categorical: choices has 'a' twice",
    ),
    (GOOD + 'y = { type = "categorical", choices = [[1]] }\n', "space.y.choices: must be strings, numbers"),
    (GOOD + 'y = { type = "categorical", choices = [nan] }\n', "space.y.choices: must be finite, got nan"),
    (GOOD + "[score]\nkey = 1\n", "score.key: must be a string, got 1"),
    (GOOD + "[score]\npattern = '('\n", "score.pattern: is not a regular expression"),
    (GOOD + "[score]\npattern = 'x'\n", "score.pattern: must have a group around the number"),
    (GOOD + "[score]\npattern = '(x)'\nkey = 'y'\n", "score has both a key and a pattern"),
    (GOOD + "[score]\nfile = '{z}'\n", "score.file: has {z}, which is not a parameter"),
    (GOOD + "[cost]\nmeasure = 'time'\n", "cost.measure: got 'time'; there are wall, cpu, reported"),
    (GOOD + "[cost]\nkey = 'cost'\n", 'cost.key is for a cost that the program reports; add measure = "reported"'),
    (GOOD + "[limits]\ntimeout = 'soon'\n", "limits.timeout: must be a time, got 'soon'"),
    (GOOD + "[limits]\ntimeout = 0\n", "limits.timeout: must be a time, got 0"),
    (GOOD + "[limits]\nmax_runs = 1.5\n", "limits.max_runs: must be a whole number of at least 1, got 1.5"),
    (GOOD + "[limits]\nmax_cost = inf\n", "limits.max_cost: must be a time, got inf"),
    (GOOD + "[cost]\nmeasure = 'told'\n[limits]\nmax_cost = '1h'\n", "limits.max_cost: must be a number, got '1h'"),
    (GOOD + "[limits]\ndeadline = true\n", "limits.deadline: must be a time, got True"),
    (GOOD + "[limits]\noutput = 3\n", "limits.output: must be a whole number of at least 1024, got 3"),
    (GOOD + "[limit]\n", "limit is not a key of this file; did you mean limits?"),
    ("command = [\n", "is not TOML: "),
    ("a = 1\na = 2\n", "is not TOML: "),
    ("", "command is missing"),
]


@pytest.mark.parametrize(("toml", "sentence"), BAD)
def test_one_sentence_for_a_mistake(toml: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as error:
        parse(toml)
    assert str(error.value).startswith(sentence)
    assert "\n" not in str(error.value)


FULL = [
    'command = ["train", "{a}", "{r}", "{k}"]',
    'directory = "."',
    'env = { A = "1" }',
    "repeats = 1",
    "price = 0.5",
    "score_range = [0.5, 1]",
    "cost_range = [1, 60]",
    'direction = "minimize"',
    "recall = true",
    "seed = 7",
    'prior = "synthetic"',
    "space.a.type = 'int'",
    "space.a.low = 1",
    "space.a.high = 9",
    "space.a.step = 2",
    "space.a.log = false",
    "space.r.type = 'float'",
    "space.r.low = 1",
    "space.r.high = 9",
    "space.r.step = 0.5",
    "space.k.type = 'categorical'",
    "space.k.choices = [1, 2]",
    "score.key = 'a'",
    "score.file = 'f'",
    "score.pattern = '(x)'",
    "cost.measure = 'told'",
    "limits.timeout = 1",
    "limits.max_cost = 1",
    "limits.max_runs = 1",
    "limits.deadline = 1",
    "limits.output = 5000",
]
LARGE = "9" * 400
VALUES = [
    *("true", "0", "1", "-1", "2.5", "1e400", "nan", "inf", "-inf", LARGE, f"-{LARGE}", "1e-320"),
    *('""', '"x"', '"{"', '"{a"', r'"\u0000"', '"0.01 per 30s"', '"1h"', '"("', '"\\n"', r'"\U0001F600"'),
    *("[]", "[1]", "[1, 2]", "[2, 1]", "[inf, nan]", '["a", "b"]', "[[1], [2]]", f"[{LARGE}, 1]", f"[1, {LARGE}]"),
    *("{}", "{ a = 1 }", "2030-01-31T18:00:00", "2030-01-31T18:00:00Z", "2030-01-31", "18:00:00", "[true, 1, 1.0]"),
]


@pytest.mark.parametrize("key", [line.partition(" =")[0] for line in FULL])
def test_every_value_in_every_place_is_good_or_one_sentence(key: str) -> None:
    """`prior` does not go with this space, nor `score.key` with a pattern, so they are there only for themselves."""
    others = [line for line in FULL if not line.startswith((f"{key} =", "prior", "score.key"))]
    said = []
    for value in VALUES:
        try:
            settings = parse("\n".join([f"{key} = {value}", *others]))
            tuner_of(settings)
            json.dumps(settings.defining)
        except (TypeError, ValueError) as error:  # what only the tuner can say is a sentence as well
            said.append(str(error))
    assert all(len(sentence) < 400 and "\n" not in sentence for sentence in said)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes("# ä".encode("latin-1"))
    (tmp_path / "big.toml").write_text("#" * (1 << 21))
    for name, words in (
        ("none", "autobct init"),
        ("latin", "cannot be read"),
        ("big", "larger than"),
        (".", "ordinary"),
    ):
        with pytest.raises(SettingsError, match=words):
            read_text(tmp_path if name == "." else tmp_path / f"{name}.toml")


def test_only_limits_leave_the_problem_as_it_is() -> None:
    first = parse(GOOD)
    assert parse(GOOD + "[limits]\nmax_runs = 2\ntimeout = 5\n").digest == first.digest
    changed = parse(GOOD.replace("high = 1", "high = 2").replace("30s", "60s") + "[env]\nA = '1'\n")
    assert sorted(differences(first.defining, changed.defining)) == ["env.A", "price", "space.x"]
    assert changed.digest != first.digest


@pytest.mark.parametrize(("said", "told"), [('"exact"', "exact"), ("0", 0.0), ("0.01", 0.01)])
def test_how_noisy_scores_are_can_be_said(said: str, told: object) -> None:
    settings = parse(f"score_noise = {said}\n{GOOD}")
    assert settings.tuning["score_noise"] == told
    assert tuner_of(settings).problem.stated.noise == (0.0 if told == "exact" else told)


@pytest.mark.parametrize("said", ['"none"', "-1", "true", "[1, 2]"])
def test_a_wrong_noise_is_refused(said: str) -> None:
    with pytest.raises(SettingsError, match="score_noise"):
        parse(f"score_noise = {said}\n{GOOD}")
