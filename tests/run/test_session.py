"""Whole tunings of real programs: stored as they go, gone on with after anything, and nothing lost."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.run.cases import TOML, TRAIN, decided, told, tune, write_job

from autobct.run import read_run
from autobct.run.job import Ending
from autobct.run.journal import Journal, JournalError, read_journal
from autobct.run.lock import LockedError, locked
from autobct.run.process import Ended, Order
from autobct.run.program_settings import SettingsError


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ending]:
    """A tuning that nobody interrupted: its TOML file, and how it ended."""
    path = write_job(tmp_path_factory.mktemp("whole"))
    return path, tune(path)


def cli(path: Path, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "autobct", "run", str(path), *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command,
        env=environment,
        stdout=pipe,
        stderr=pipe,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def waited_for(path: Path) -> Path:
    until = time.monotonic() + 30
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert path.exists()
    return path


def test_a_tuning_from_start_to_end(whole: tuple[Path, Ending]) -> None:
    path, ending = whole
    folder = path.with_suffix(".run")
    assert ending.code == 0
    assert ending.stop is not None
    assert ending.stop.reason == "not worth it"
    assert len(ending.tuner.history) == len(told(folder)) >= 4
    result = json.loads((folder / "result.json").read_text())
    assert (result["params"], result["exit_code"]) == (dict(ending.tuner.best.params), 0)  # type: ignore[union-attr]
    for run in ending.tuner.history:
        place = folder / "runs" / f"{run.trial + 1:04d}"
        x, y = run.params["x"], run.params["y"]
        assert json.loads((place / "params.json").read_text()) == {"x": x, "y": y}
        assert (place / "stdout.txt").read_text().startswith(f"training {x} {y}\n")
        assert (place / "stderr.txt").read_text() == ""
        assert run.score == pytest.approx(1 - 0.002 * (x - 7) ** 2 - 0.002 * (y - 4) ** 2)
        assert run.cost == (10 + x) / 100


def test_the_same_again_says_the_same_and_runs_nothing(whole: tuple[Path, Ending]) -> None:
    path, ending = whole
    journal = path.with_suffix(".run") / "journal.jsonl"
    before = journal.read_bytes()
    assert decided(tune(path)) == decided(ending)
    assert journal.read_bytes() == before


def test_what_was_recorded_is_read_back(whole: tuple[Path, Ending]) -> None:
    path, ending = whole
    for given in (path, path.with_suffix(".run"), path.with_suffix(".run") / "journal.jsonl"):
        recorded = read_run(given)
        assert recorded.finished
        assert decided(Ending(recorded.tuner, recorded.decisions, None)) == decided(ending)
        assert [(run.score, run.estimated_score) for run in recorded.history] == [
            (run.score, run.estimated_score) for run in ending.tuner.history
        ]
        assert recorded.result().params == dict(ending.tuner.best.params)  # type: ignore[union-attr]
        assert json.loads(json.dumps(recorded.settings)) == recorded.settings
    with pytest.raises(JournalError, match="there is no recorded tuning"):
        read_run(path.parent / "none")


def test_every_beginning_of_a_journal_goes_on_to_the_same_end(whole: tuple[Path, Ending], tmp_path: Path) -> None:
    """Whatever a kill leaves, at a line's end or inside of the next: the decisions are the same to the last bit."""
    path, ending = whole
    lines = (path.with_suffix(".run") / "journal.jsonl").read_bytes().splitlines(keepends=True)
    for number in (1, 2, 3, 6, 7, len(lines) - 1):
        again = write_job(tmp_path)
        folder = tmp_path / "tune.run"
        folder.mkdir()
        (folder / "journal.jsonl").write_bytes(b"".join(lines[:number]) + lines[number][: 17 * (number % 2)])
        half = read_run(again)
        assert not half.finished
        assert half.why.startswith("Not finished")
        assert decided(tune(again)) == decided(ending)
        assert told(folder) == told(path.with_suffix(".run"))
        folder.rename(tmp_path / f"done-{number}")


@pytest.mark.slow
def test_killed_at_random_moments(whole: tuple[Path, Ending], tmp_path: Path) -> None:
    slow = TRAIN.replace('echo "training', 'sleep 0.1\necho "training')
    path, rng = write_job(tmp_path, script=slow), random.Random(6)
    folder, kills = path.with_suffix(".run"), 0
    for _ in range(4):
        with cli(path) as process:
            while process.poll() is None and str(process.pid) not in _text(folder / "lock"):
                time.sleep(0.01)  # from here on it is at work
            time.sleep(rng.uniform(0.0, 0.3))
            kills += process.poll() is None
            process.kill()
    assert kills >= 2  # five runs take at least half a second
    with cli(path) as process:
        output, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, ""), output
    recorded = read_run(path)
    assert decided(Ending(recorded.tuner, recorded.decisions, None)) == decided(whole[1])
    assert told(folder) == told(whole[0].with_suffix(".run"))


def test_an_interrupted_run_is_trained_again(tmp_path: Path) -> None:
    hangs_once = TRAIN.replace('echo "tr', '[ -e ready ] || { touch ready; echo half; sleep 60; }\necho "tr')
    path = write_job(tmp_path, TOML.replace("told", "wall"), script=hangs_once)
    with cli(path) as process:
        waited_for(tmp_path / "ready")
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.startswith("Interrupted; all results are in")
    folder = path.with_suffix(".run")
    recorded = read_run(path)
    assert (recorded.finished, recorded.history, len(recorded.decisions)) == (False, (), 1)
    ending = tune(path)
    assert ending.code == 0
    assert (folder / "runs" / "0001.interrupted-1" / "stdout.txt").read_text() == "half\n"
    assert (folder / "runs" / "0001" / "stdout.txt").read_text().startswith("training")
    assert ending.tuner.charged > 0  # what it had cost until then


def test_a_killed_tuning_keeps_the_folder_until_its_program_has_ended(tmp_path: Path) -> None:
    """A program that takes a second to end must not overlap with the next one."""
    stubborn = "#!/bin/sh\ntrap 'sleep 0.7; echo $$ >> ended; exit' TERM\necho $$ >> begun\nsleep 60 & wait\n"
    path = write_job(tmp_path, script=stubborn)
    with cli(path) as process:
        waited_for(tmp_path / "begun")
        process.kill()
    with cli(path) as again:
        until = time.monotonic() + 30
        while len((tmp_path / "begun").read_text().split()) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        assert (tmp_path / "ended").read_text().split() == (tmp_path / "begun").read_text().split()[:1]
        again.kill()


def test_one_at_a_time(whole: tuple[Path, Ending]) -> None:
    path, _ = whole
    with (
        locked(path.with_suffix(".run")),
        pytest.raises(LockedError, match=f"process {os.getpid()} is already tuning in"),
    ):
        tune(path)


def test_a_changed_problem_is_refused_and_fresh_keeps_the_old(tmp_path: Path) -> None:
    path = write_job(tmp_path, TOML + "[limits]\nmax_runs = 2\n")
    assert tune(path).code == 4
    before = (tmp_path / "tune.run" / "journal.jsonl").read_bytes()
    path.write_text(TOML.replace("0.004", "0.03").replace("low = 1, high = 20", "low = 2, high = 20"))
    with pytest.raises(SettingsError, match=r"space\.x, space\.y, price changed since .* start over with --fresh"):
        tune(path)
    assert (tmp_path / "tune.run" / "journal.jsonl").read_bytes() == before
    assert tune(path, fresh=True).code == 0
    [old] = tmp_path.glob("tune.run.*")
    assert (old / "journal.jsonl").read_bytes() == before
    assert (old / "runs" / "0002" / "stdout.txt").exists()


def test_other_limits_go_on(whole: tuple[Path, Ending], tmp_path: Path) -> None:
    path = write_job(tmp_path, TOML + "[limits]\nmax_runs = 2\n")
    assert tune(path).code == 4
    assert json.loads((tmp_path / "tune.run" / "result.json").read_text())["reason"] == "max_runs"
    path.write_text(TOML + "[limits]\ntimeout = 30\n")
    ending = tune(path)
    assert json.loads((tmp_path / "tune.run" / "result.json").read_text())["reason"] == "not worth it"
    assert ending.code == 0
    assert decided(tune(path)) == decided(ending)  # with the limits of each stretch, also when verified again
    path.write_text(TOML + "[limits]\nmax_runs = 3\n")  # fewer than were made
    assert tune(path).code == 4
    assert len(read_run(path).history) == len(ending.tuner.history)


def test_a_changed_journal_is_refused(tmp_path: Path) -> None:
    path = write_job(tmp_path, TOML + "[limits]\nmax_runs = 1\n")
    tune(path)
    journal = tmp_path / "tune.run" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"cost": 0.', b'"cost": 9.', 1))
    with pytest.raises(JournalError, match="was changed or damaged in line"):
        tune(path)
    with pytest.raises(JournalError, match="was changed or damaged in line"):
        read_run(path)


FAILING = [
    ("exit 3", "ended with exit code 3"),
    (
        "kill -KILL $$",
        "ended twice from outside, as the system does when memory runs out: killed by SIGKILL",
    ),
    ("sleep 60", "ended after 0.2 s by limits.timeout"),
    (":", "no score: the output is empty"),
    ("echo nan", "no score: it is 'nan', which is not finite"),
    ("echo 0.5 0.6", "no score: '0.5 0.6' is not one number"),
    ("echo '<script>alert(1)</script>'", "no score: '<script>alert(1)</script>' is not one number"),
]

BROKEN = ("the output is empty", "is not one number")


@pytest.mark.parametrize(("script", "sentence"), FAILING)
def test_failed_runs_are_recorded_and_no_run_finished(tmp_path: Path, script: str, sentence: str) -> None:
    limits = "[limits]\nmax_runs = 2\ntimeout = 0.2\n" if "sleep" in script else "[limits]\nmax_runs = 2\n"
    path = write_job(tmp_path, TOML.replace('measure = "told"', 'measure = "wall"') + limits, f"#!/bin/sh\n{script}\n")
    ending = tune(path)
    assert ending.code == 3
    errors = [run["error"] for run in told(tmp_path / "tune.run")]
    assert errors == ([sentence] if sentence.endswith(BROKEN) else [sentence] * 2)
    assert decided(Ending(read_run(path).tuner, read_run(path).decisions, None)) == decided(ending)


@pytest.mark.parametrize(
    ("script", "runs", "reason", "why"),
    [
        (
            "exit 3",
            2,
            "same failure",
            "the first runs failed with the same error, so the bug is probably in the program.",
        ),
        ("echo done", 1, "no score", "the program ended normally but printed no score."),
        ("sleep 60", 4, "max_runs", "max_runs is reached."),  # quicker params may well be in time
        ("echo nan", 4, "max_runs", "max_runs is reached."),
        ("echo $1 >> seen; exit $(wc -l < seen)", 4, "max_runs", "max_runs is reached."),
    ],
)
def test_a_program_that_cannot_work_is_given_up_at_once(
    tmp_path: Path, script: str, runs: int, reason: str, why: str
) -> None:
    limits = "[limits]\nmax_runs = 4\ntimeout = 0.2\n"
    path = write_job(tmp_path, TOML.replace('measure = "told"', 'measure = "wall"') + limits, f"#!/bin/sh\n{script}\n")
    ending = tune(path)
    assert ending.stop is not None
    assert (len(ending.tuner.history), ending.stop.reason, ending.code) == (runs, reason, 3)
    assert why in ending.stop.why
    assert decided(Ending(read_run(path).tuner, read_run(path).decisions, None)) == decided(ending)


def test_a_program_that_was_mended_goes_on(tmp_path: Path, whole: tuple[Path, Ending]) -> None:
    path = write_job(tmp_path, script="#!/bin/sh\nexit 3\n")
    assert tune(path).code == 3
    write_job(tmp_path)
    ending = tune(path)
    assert ending.code == 0
    assert [run.error is None for run in ending.tuner.history[:3]] == [False, False, True]


def test_a_full_disk_ends_the_tuning_and_not_the_run(
    whole: tuple[Path, Ending], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(order: Order, **_: object) -> Ended:
        Path(order.stdout).touch()
        return Ended(wall=1.0, cpu=1.0, failure=None, trouble="No space left on device")

    path = write_job(tmp_path)
    monkeypatch.setattr("autobct.run.trial.run_program", full)
    with pytest.raises(OSError, match="No space left on device"):
        tune(path)
    monkeypatch.undo()
    assert decided(tune(path)) == decided(whole[1])


def test_some_failures_lose_nothing(tmp_path: Path) -> None:
    path = write_job(tmp_path, script=TRAIN.replace("x=$1", "[ -e one ] || { touch one; exit 1; }\nx=$1"))
    ending = tune(path)
    assert ending.code == 0
    assert [run.error is None for run in ending.tuner.history[:2]] == [False, True]


def test_it_gives_up_on_a_program_that_has_come_to_fail(tmp_path: Path) -> None:
    cheap = TOML.replace("price = 0.004", "price = 0.0001")
    path = write_job(tmp_path, cheap, TRAIN.replace("x=$1", "mkdir one || exit 1\nx=$1"))
    ending = tune(path)
    assert ending.stop is not None
    assert (ending.stop.reason, ending.code) == ("failing", 1)
    assert ending.tuner.best is not None


NASTY = ["$(touch hacked)", "a b", "; touch hacked", "`touch hacked`", "\"'\n\\", "<b>&amp;", "{x}", "-n", ""]


def test_values_of_parameters_are_never_interpreted(tmp_path: Path) -> None:
    toml = f"""
    command = "./train.sh '{{what}}' '{{params_json}}'"
    price = 0.001
    env = {{ WHAT = "{{what}}" }}
    [space]
    what = {{ type = "categorical", choices = {json.dumps(NASTY)} }}
    "<i>" = {{ type = "int", low = 1, high = 1 }}
    [limits]
    max_runs = 12
    """
    script = '#!/bin/sh\nprintf %s "$1" > got-$$\nprintf %s "$WHAT" > env-$$\nprintf %s "$2" > json-$$\necho 0.5\n'
    path = write_job(tmp_path, toml, script)
    tried = {run.params["what"] for run in tune(path).tuner.history}
    assert len(tried) >= 3
    assert {file.read_text() for file in tmp_path.glob("got-*")} == tried
    assert {file.read_text() for file in tmp_path.glob("env-*")} == tried
    assert {json.loads(file.read_text())["what"] for file in tmp_path.glob("json-*")} == tried
    assert not (tmp_path / "hacked").exists()


def test_repeats_are_averaged_and_their_costs_added(tmp_path: Path) -> None:
    script = '#!/bin/sh\necho "{\\"score\\": 0.$1, \\"cost\\": $1}"\n'
    toml = TOML.replace('"{x}", "{y}"', '"{repeat}", "{x}", "{y}", "{seed}"') + "[limits]\nmax_runs = 1\n"
    [run] = tune(write_job(tmp_path, "repeats = 3\nseed = 5\n" + toml, script)).tuner.history
    assert run.score == pytest.approx(0.2)
    assert run.cost == 6.0
    assert (tmp_path / "tune.run" / "runs" / "0001" / "stdout.3.txt").exists()


def test_a_repeat_that_fails_is_only_paid_for(tmp_path: Path) -> None:
    script = '#!/bin/sh\n[ $1 = 2 ] && exit 1\necho "{\\"score\\": 0.$1, \\"cost\\": $1}"\n'
    toml = TOML.replace('"{x}", "{y}"', '"{repeat}", "{params_json}"') + "[limits]\nmax_runs = 1\n"
    [run] = tune(write_job(tmp_path, "repeats = 3\n" + toml, script)).tuner.history
    assert run.score == pytest.approx(0.2)
    assert run.cost > 4.0
    [record] = [record for record in read_journal(tmp_path / "tune.run" / "journal.jsonl") if record["kind"] == "told"]
    assert record["notes"] == ["1 of 3 repeats failed, the last one: ended with exit code 1"]


READINGS = [
    ("echo accuracy: 0.7; echo bye", "[score]\npattern = 'accuracy: (?P<score>\\S+)'\n"),
    ('echo 0.7 > "$1/score"', "[score]\nfile = '{run_dir}/score'\n"),
    ('echo "{\\"a\\": {\\"b\\": 0.7}}"', "[score]\nkey = 'a.b'\n"),
    ('echo "a=0.7" >&2', "[score]\nfile = '{run_dir}/stderr.txt'\npattern = 'a=(.*)'\n"),
]


@pytest.mark.parametrize(("script", "score"), READINGS)
def test_where_a_score_may_stand(tmp_path: Path, script: str, score: str) -> None:
    toml = TOML.replace('"{x}", "{y}"', '"{run_dir}"').replace('[cost]\nmeasure = "told"\n', score)
    [run] = tune(write_job(tmp_path, toml + "[limits]\nmax_runs = 1\n", f"#!/bin/sh\n{script}\n")).tuner.history
    assert (run.score, run.error) == (0.7, None)
    assert run.cost > 0


def test_an_old_score_file_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "score").write_text("0.9")
    toml = TOML.replace('[cost]\nmeasure = "told"\n', "[score]\nfile = 'score'\n") + "[limits]\nmax_runs = 1\n"
    [run] = tune(write_job(tmp_path, toml, "#!/bin/sh\n:\n")).tuner.history
    assert run.error is not None
    assert "is from before the run" in run.error


def test_processor_time_as_cost(tmp_path: Path) -> None:
    toml = TOML.replace('"told"', '"cpu"') + "[limits]\nmax_runs = 1\n"
    script = "#!/bin/sh\nsleep 0.5 &\ni=0; while [ $i -lt 20000 ]; do i=$((i+1)); done\nwait\necho 0.5\n"
    [run] = tune(write_job(tmp_path, toml, script)).tuner.history
    [record] = [record for record in read_journal(tmp_path / "tune.run" / "journal.jsonl") if record["kind"] == "told"]
    assert 0 < run.cost < record["wall"]


CAPS = [("wall", "max_cost = 2.0", "max_cost"), ("told", "deadline = 3.0", "deadline")]


@pytest.mark.parametrize(("measure", "limit", "reason"), CAPS)
def test_a_cap_ends_a_run_that_outgrows_it(tmp_path: Path, measure: str, limit: str, reason: str) -> None:
    """The second run hangs: it is ended when the budget is, costs what it did, and is not held against its params."""
    script = TRAIN.replace("x=$1", "mkdir one 2>/dev/null || sleep 60\nx=$1")
    path = write_job(tmp_path, TOML.replace('"told"', f'"{measure}"') + f"[limits]\n{limit}\n", script)
    ending = tune(path)
    assert ending.stop is not None
    assert (ending.stop.reason, ending.code) == (reason, 4)
    assert [run.error for run in ending.tuner.history] == [None]
    assert (ending.tuner.charged > 0.1) == (measure == "wall")  # what a run has cost that could not tell is not known
    path.write_text(TOML.replace('"told"', f'"{measure}"'))  # without the cap it goes on
    (tmp_path / "train.sh").write_text(TRAIN)
    assert tune(path).code == 0


def test_no_run_is_started_that_does_not_fit(tmp_path: Path) -> None:
    path = write_job(tmp_path, TOML + "[limits]\nmax_cost = 0.5\n")
    ending = tune(path)
    assert ending.code == 4
    assert ending.tuner.total_cost <= 0.5
    assert decided(tune(path)) == decided(ending)


def test_a_flood_is_told_and_bounded(tmp_path: Path) -> None:
    script = TRAIN.replace("x=$1", "head -c 3000000 /dev/zero | tr '\\\\0' x\necho\nx=$1")
    path = write_job(tmp_path, TOML + "[limits]\nmax_runs = 1\noutput = 100000\n", script)
    [run] = tune(path).tuner.history
    assert run.error is None
    assert (tmp_path / "tune.run" / "runs" / "0001" / "stdout.txt").stat().st_size < 101_000
    [record] = [record for record in read_journal(tmp_path / "tune.run" / "journal.jsonl") if record["kind"] == "told"]
    assert record["notes"][0].startswith("it printed more than is kept; ")


def test_a_journal_that_is_refused_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_job(tmp_path, TOML + "[limits]\nmax_runs = 1\n")
    tune(path)
    path.write_text(path.read_text().replace("0.004", "0.03"))
    closed: list[Journal] = []
    monkeypatch.setattr(Journal, "close", lambda journal: closed.append(journal))
    with pytest.raises(SettingsError, match="price changed since"):
        tune(path)
    assert len(closed) == 1
