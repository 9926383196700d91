"""Programs with parameters that exist only under values of others."""

import json
from pathlib import Path

import pytest
from tests.run.cases import decided, tune, write_job

from autobct.run.config import parse
from autobct.run.program_settings import SettingsError
from autobct.run.recorded import read_run
from autobct.tuning.space.parameter import Float

TRAIN = """#!/bin/sh
# prints what it was given, and a score that does not like dart
echo "$# $* [$DROP]" > "$RUN_DIR/given.txt"
score=90
for word in "$@"; do case "$word" in
  --booster=dart) score=$((score - 60)) ;;
  --drop=0.0*) score=$((score - 5)) ;;
esac; done
echo "{\\"score\\": 0.$score, \\"cost\\": 1.0}"
"""

TOML = """
command = ["./train.sh", "--booster={booster}", "--drop={drop}", "--rate={rate}"]
price = 0.001
env = { DROP = "{drop}", RUN_DIR = "{run_dir}" }
[space]
booster = { type = "categorical", choices = ["gbtree", "dart"] }
drop = { type = "float", low = 0, high = 1, when = { booster = "dart" } }
rate = { type = "float", low = 0.001, high = 1, log = true }
[cost]
measure = "told"
[limits]
max_runs = 8
"""


def test_a_word_is_left_out_where_its_parameter_does_not_exist(tmp_path: Path) -> None:
    ending = tune(write_job(tmp_path, TOML, TRAIN))
    folder = tmp_path / "tune.run"
    boosters = set()
    for place in sorted((folder / "runs").iterdir()):
        params, given = json.loads((place / "params.json").read_text()), (place / "given.txt").read_text()
        boosters.add(params["booster"])
        assert ("drop" in params) == (params["booster"] == "dart")
        words = [f"--{name}={value}" for name, value in params.items()]
        assert given == f"{len(words)} {' '.join(words)} [{params.get('drop', '')}]\n"
    assert boosters == {"gbtree", "dart"}
    recorded = read_run(folder)
    assert [run.params for run in recorded.history] == [
        json.loads((place / "params.json").read_text()) for place in sorted((folder / "runs").iterdir())
    ]
    assert decided(tune(tmp_path / "tune.toml")) == decided(ending)


def test_what_a_file_says() -> None:
    several = TOML.replace('{ booster = "dart" }', '{ booster = ["dart", "gbtree"] }')
    assert parse(TOML).space["drop"] == Float(0, 1, when={"booster": "dart"})
    assert parse(several).space["drop"] == Float(0, 1, when={"booster": ["dart", "gbtree"]})
    assert parse(TOML).digest != parse(several).digest


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('{ booster = "dart" }', '"dart"', "space.drop.when: must be a table of names and values, got 'dart'"),
        ('{ booster = "dart" }', "{ booster = [] }", "space.drop.when: must be a list that is not empty"),
        ('{ booster = "dart" }', '{ booster = "x" }', "space['drop']: when['booster']: value must be one of"),
        ('{ booster = "dart" }', "{ boost = 1 }", "space['drop']: when refers to 'boost', which is not in the space"),
        ('"--drop={drop}"', '"--drop", "{drop}"', "command: {drop} is left out where drop does not exist; write it"),
        ('"./train.sh"', '"./train-{drop}"', "command: {drop} is left out where drop does not exist; write it"),
        ("[limits]", '[score]\nfile = "{drop}"\n[limits]', "score.file: has {drop}, which does not exist in every run"),
    ],
)
def test_one_sentence_for_a_mistake(old: str, new: str, sentence: str) -> None:
    assert old in TOML
    with pytest.raises(SettingsError) as error:
        parse(TOML.replace(old, new))
    assert str(error.value).startswith(sentence)
    assert "\n" not in str(error.value)
