"""Several programs at the same time, and trainings from Python: all in the journal, and continued after anything."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from tests.run.cases import TOML, TRAIN, told, write_job
from tests.run.test_session import cli, waited_for
from typer.testing import CliRunner

import autobct
from autobct.cli import app
from autobct.run import read_run, stored
from autobct.run.job import Ending, Job
from autobct.run.journal import read_journal
from autobct.run.program_settings import SettingsError
from autobct.run.session import tune_program
from autobct.tuning.progress import Listeners

MEETING = TRAIN.replace(
    'echo "tr',
    'touch here-$x-$y\nuntil [ -e met ]; do [ $(ls here-* | wc -l) -ge 3 ] && touch met; sleep 0.02; done\necho "tr',
)
"""The first programs wait until three have begun: only runs side by side ever get past this."""


def tune(path: Path, jobs: int = 3) -> Ending:
    return tune_program(Job.of(path), Listeners([]), jobs=jobs)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ending]:
    path = write_job(tmp_path_factory.mktemp("whole"), script=MEETING)
    return path, tune(path)


def test_three_programs_at_once(whole: tuple[Path, Ending]) -> None:
    path, ending = whole
    assert ending.code == 0
    assert len(ending.tuner.history) >= 3
    assert not ending.tuner.under_way
    kinds = [record["kind"] for record in read_journal(path.with_suffix(".run") / "journal.jsonl")]
    assert kinds[1:4] == ["asked"] * 3
    trials = [run.trial for run in ending.tuner.history]
    assert [made.trial for made in ending.decisions[:-1]] == trials  # type: ignore[union-attr]
    assert sorted(trials) == list(range(len(trials)))


def test_the_same_again_runs_nothing_with_any_number_of_several_jobs(whole: tuple[Path, Ending]) -> None:
    path, ending = whole
    journal = path.with_suffix(".run") / "journal.jsonl"
    before = journal.read_bytes()
    for jobs in (2, 3):
        assert tune(path, jobs).tuner.history[-1].trial == ending.tuner.history[-1].trial
        assert journal.read_bytes() == before
    recorded = read_run(path)
    assert recorded.finished
    assert recorded.result().params == dict(ending.tuner.best.params)  # type: ignore[union-attr]


def test_every_beginning_of_a_journal_is_continued(whole: tuple[Path, Ending], tmp_path: Path) -> None:
    """All decisions are made again and found the same; no run that was told is made again, and none is lost."""
    path, _ = whole
    lines = (path.with_suffix(".run") / "journal.jsonl").read_bytes().splitlines(keepends=True)
    for number in (2, 4, 5, len(lines) - 1):
        again = write_job(tmp_path)
        folder = tmp_path / "tune.run"
        folder.mkdir()
        (folder / "journal.jsonl").write_bytes(b"".join(lines[:number]))
        before = told(folder)
        ending = tune(again, jobs=2)
        assert ending.code == 0
        assert told(folder)[: len(before)] == before
        trials = [run.trial for run in ending.tuner.history]
        assert sorted(trials) == list(range(len(trials)))
        assert tune(again, jobs=2).code == 0  # and this journal can be read again
        folder.rename(tmp_path / f"done-{number}")


def test_an_interruption_ends_all_programs_and_they_are_made_again(tmp_path: Path) -> None:
    hangs = TRAIN.replace('echo "tr', '[ -e go ] || { touch began-$x-$y; sleep 600; }\necho "tr')
    path = write_job(tmp_path, script=hangs)
    with cli(path, "--jobs", "2") as process:
        until = time.monotonic() + 60
        while len(list(tmp_path.glob("began-*"))) < 2 and time.monotonic() < until:
            time.sleep(0.02)
        waited_for(path.with_suffix(".run") / "lock")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 130, errors
    kinds = [record["kind"] for record in read_journal(path.with_suffix(".run") / "journal.jsonl")]
    assert kinds[1:] == ["asked", "asked", "charged", "charged"]
    (tmp_path / "go").touch()
    ending = tune(path, jobs=2)
    assert ending.code == 0
    assert sorted(run.trial for run in ending.tuner.history) == list(range(len(ending.tuner.history)))


def test_a_cap_ends_them_all_and_the_same_command_says_so_again(tmp_path: Path) -> None:
    slow = "#!/bin/sh\nsleep 600\n"
    toml = TOML.replace('[cost]\nmeasure = "told"\n', "[limits]\nmax_cost = 0.5\n").replace(
        "price = 0.004", 'price = "0.01 per 1s"'
    )
    path = write_job(tmp_path, toml, slow)
    ending = tune(path, jobs=2)
    assert ending.stop is not None
    assert (ending.stop.reason, ending.code) == ("max_cost", 3)
    assert tune(path, jobs=2).stop.reason == "max_cost"  # type: ignore[union-attr]
    assert not list((tmp_path / "tune.run").glob("result.json.*"))


def test_a_price_of_waiting_in_the_file(tmp_path: Path) -> None:
    timed = TOML.replace('[cost]\nmeasure = "told"\n', "").replace(
        "price = 0.004", 'price = "0.02 per 1s"\nprice_of = "waiting"'
    )
    path = write_job(tmp_path, timed.replace("cost_range = [0.1, 0.3]\n", ""))
    assert tune(path, jobs=2).code == 0
    asked = [record for record in read_journal(path.with_suffix(".run") / "journal.jsonl") if record["kind"] == "asked"]
    assert asked[0]["waiting"] == {"covered": 0.0, "free": 2, "jobs": 2, "price_of": "waiting"}
    assert max(record["waiting"]["covered"] for record in asked) > 0.0
    assert tune(path, jobs=2).code == 0  # all decisions are found the same
    result = read_run(path).result()
    assert (result.n_jobs, result.price_of, len(result.waits)) == (2, "waiting", len(result.history))
    assert result.cost / 2 <= max(result.waits) < result.cost
    path.write_text(TOML.replace("price = 0.004", 'price = 0.004\nprice_of = "waiting"'))
    with pytest.raises(SettingsError, match=r'price_of: "waiting" counts seconds'):
        Job.of(path)


def test_the_command_line(tmp_path: Path) -> None:
    path = write_job(tmp_path)
    found = CliRunner().invoke(app, ["run", str(path), "--jobs", "3", "--quiet"])
    assert found.exit_code == 0, found.output
    refused = CliRunner().invoke(app, ["run", str(path), "--jobs", "0"])
    assert refused.exit_code == 2
    assert "--jobs must be at least 1" in refused.output


# ---- from Python


class Crash(BaseException):
    """As a power cut."""


SPACE = {"x": autobct.Float(0, 1), "y": autobct.Float(0, 1)}


def train(params: dict[str, Any]) -> tuple[float, float]:
    return 0.9 - (params["x"] - 0.3) ** 2 - (params["y"] - 0.6) ** 2, 1.0 + params["x"]


def test_a_stored_tuning_with_several_jobs_goes_on_after_a_crash(tmp_path: Path) -> None:
    made: list[int] = []

    def crashing(params: dict[str, Any]) -> tuple[float, float]:
        made.append(len(made))
        if len(made) == 5:
            raise Crash
        return train(params)

    settings: Any = {"price": 0.001, "n_jobs": 3, "backend": "threads", "storage": tmp_path}
    with pytest.raises(Crash):
        autobct.tune(crashing, SPACE, **settings)
    with stored(autobct.Tuner(SPACE, price=0.001), tmp_path) as between:
        before = len(between.tuner.history)
        assert before >= 2
        assert between.tuner.under_way
    result = autobct.tune(train, SPACE, **settings)
    assert len(result.history) > before
    assert result.n_jobs == 3
    again = autobct.tune(crashing, SPACE, **settings)
    assert again.params == result.params  # nothing is left to run
    assert len(again.history) == len(result.history)
    assert len(made) < 20
    lines = (tmp_path / "journal.jsonl").read_text().splitlines()
    told = [json.loads(line)["trial"] for line in lines if json.loads(line)["kind"] == "told"]
    assert sorted(told) == list(range(len(told)))


def test_several_jobs_of_one_worker_share_a_database(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    address = f"sqlite:///{tmp_path}/run.db"
    settings: Any = {"price": 0.001, "n_jobs": 3, "backend": "threads", "storage": address}
    first = autobct.tune(train, SPACE, max_runs=5, **settings)
    assert sorted(run.trial for run in first.history) == list(range(5))
    whole = autobct.tune(train, SPACE, **settings)
    assert [run.params for run in whole.history[:5]] == [run.params for run in first.history]
    assert len({tuple(run.params.values()) for run in whole.history}) == len(whole.history) > 5
