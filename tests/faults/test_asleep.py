"""A worker that sleeps past the grace period: another makes its run, and what it says on waking is refused."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import optuna
import pytest
from optuna.exceptions import UpdateFinishedTrialError
from optuna.trial import TrialState
from tests.faults import postgres
from tests.faults.work import SPACE, said, settings, start, trained, wait_for

from autobct import Storage, Train, Tuner
from autobct.integrations.storage import shared, workers
from autobct.integrations.storage.database import Turn, opened
from autobct.tuning.storage import LateError


def slept_through(address: str, log: Path) -> None:
    """One of two workers is stopped in a training until the other has made everything, and then goes on."""
    storage = Storage(address, grace=1.2)
    sleeper = start(storage, log, 4, 1.0)
    wait_for(log, "start")
    assert sleeper.pid is not None
    os.kill(sleeper.pid, signal.SIGSTOP)
    other = start(storage, log, 4)
    other.join()
    os.kill(sleeper.pid, signal.SIGCONT)
    sleeper.join()
    assert (other.exitcode, sleeper.exitcode) == (0, 0)
    first, second = said(log, "result")
    assert first == second
    assert sorted(run[0] for run in first[1]) == [0, 1, 2, 3]
    assert len(said(log, "start")) == 5
    assert Counter(map(str, said(log, "told"))).most_common(1)[0][1] == 1
    [note] = [text for text in said(log, "note") if "not counted" in text]
    assert note.startswith("Run 1 took longer than its worker gave signs of life")


def test_a_result_that_comes_too_late_is_refused(tmp_path: Path) -> None:
    slept_through(f"sqlite:///{tmp_path}/run.db", tmp_path / "log")


@pytest.mark.slow
@pytest.mark.skipif(bool(postgres.missing()), reason=postgres.missing() or "-")
def test_a_result_that_comes_too_late_is_refused_on_postgresql(tmp_path: Path) -> None:
    with postgres.postgres() as server:
        slept_through(server.address, tmp_path / "log")


def test_whoever_wakes_up_while_telling_counts_once(tmp_path: Path) -> None:
    """The same in one process, at the very last moment: the run is given up between its cost and its score."""
    storage = Storage(f"sqlite:///{tmp_path}/run.db", grace=5.0)
    with shared(Tuner(SPACE, **settings()), storage) as late:
        train = late.ask()
        assert isinstance(train, Train)
        study = optuna.load_study(study_name="autobct", storage=storage.address)
        study._storage.set_trial_state_values(study.trials[0]._trial_id, TrialState.PRUNED)
        score, cost = trained(dict(train.params))
        with pytest.raises(LateError, match=r"Run 1 .* is not counted"):
            late.tell(train, score, cost)
        again = late.ask()
        assert isinstance(again, Train)
        assert (again.trial, again.params) == (0, train.params)
        assert late.attempt(again) == 1
        assert late.tell(again, score, cost).score == score
        assert [run.trial for run in late.tuner.history] == [0]
        with pytest.raises(ValueError, match="not under way here"):
            late.tell(again, score, cost)


def test_a_sleeping_decider_holds_nobody_up_for_long(tmp_path: Path) -> None:
    storage = Storage(f"sqlite:///{tmp_path}/run.db", grace=0.5)
    tuners = [shared(Tuner(SPACE, **settings()), storage) for _ in range(2)]
    with tuners[0] as asleep, tuners[1] as awake:
        with asleep._turn.taken() as held:
            assert held
            first = awake.ask()
        second = asleep.ask()
    assert isinstance(first, Train)
    assert isinstance(second, Train)
    assert first.params != second.params


def test_of_two_decisions_at_the_same_moment_one_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the lock, and with another's claim made after the decision and before one's own."""
    monkeypatch.setattr(Turn, "_file", Turn._server)  # SQLite has no advisory locks: the turn cannot be had
    storage = Storage(f"sqlite:///{tmp_path}/run.db")
    with shared(Tuner(SPACE, **settings()), storage) as one, shared(Tuner(SPACE, **settings()), storage) as other:
        claim = type(one._study).claim
        faster: list[object] = []

        def overtaken(study: object, *arguments: object, **keywords: object) -> None:
            if not faster:
                faster.append(None)
                faster[0] = other.ask()
            claim(study, *arguments, **keywords)  # type: ignore[arg-type]

        monkeypatch.setattr(type(one._study), "claim", overtaken)
        mine = one.ask()
    assert isinstance(mine, Train)
    assert isinstance(faster[0], Train)
    assert (faster[0].trial, mine.trial) == (0, 1)
    assert mine.params != faster[0].params
    study = optuna.load_study(study_name="autobct", storage=storage.address)
    assert [trial.state for trial in study.trials] == [TrialState.PRUNED] * 3  # all were given up at the end


def test_a_clock_that_jumps_kills_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wall clocks, of the worker and of the database's library, go forward an hour and back two."""
    storage = Storage(f"sqlite:///{tmp_path}/run.db", grace=30.0)
    real, shift = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: real() + shift[0])

    class Jumping(optuna.storages._rdb.storage.datetime):  # type: ignore[misc,name-defined]
        @classmethod
        def now(cls, tz: object = None) -> object:
            return cls.fromtimestamp(real() + shift[0])

    monkeypatch.setattr(optuna.storages._rdb.storage, "datetime", Jumping)
    with shared(Tuner(SPACE, **settings()), storage) as one, shared(Tuner(SPACE, **settings()), storage) as other:
        running = one.ask()
        for shift[0] in (3600.0, -3600.0, 0.0):
            theirs = other.ask()
            assert isinstance(theirs, Train)
            assert isinstance(running, Train)
            assert theirs.trial != running.trial
            other.tell(theirs, *trained(dict(theirs.params)))
        assert isinstance(running, Train)
        one.tell(running, *trained(dict(running.params)))
        assert sorted(run.trial for run in one.tuner.history) == [0, 1, 2, 3]


def test_silence_counts_only_while_somebody_listens() -> None:
    """A gap, in which the observer slept or the database was away, is nobody's death."""

    class Trial:
        _trial_id = 7
        system_attrs: dict[str, object] = {}  # noqa: RUF012

    now = [100.0]
    listener = workers.Heart(None, 1.0, lambda: [])  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers.time, "monotonic", lambda: now[0])
        listener.look([Trial()])  # type: ignore[list-item]
        for passed, silent in ((1.0, 1.0), (1.0, 2.0), (3600.0, 4.0)):
            now[0] += passed
            listener.look([Trial()])  # type: ignore[list-item]
            assert listener.silence(7) == silent
        Trial.system_attrs = {"autobct:beat": {"count": 1}}
        listener.look([Trial()])  # type: ignore[list-item]
        assert listener.silence(7) == 0.0


def test_of_two_that_end_a_trial_at_the_same_moment_one_succeeds(tmp_path: Path) -> None:
    """Optuna's storage on SQLite, as it comes, lets both in one of five (benchmarks/storage_races.py)."""
    address, count = f"sqlite:///{tmp_path}/run.db", 60
    study = optuna.create_study(storage=address, study_name="races")
    for _ in range(count):
        study.ask()
    start, ended = threading.Barrier(2), {TrialState.COMPLETE: set[int](), TrialState.PRUNED: set[int]()}

    def end_all(state: TrialState) -> None:
        storage = opened(Storage(address))
        for trial_id in range(1, count + 1):
            start.wait()
            with contextlib.suppress(UpdateFinishedTrialError):
                storage.set_trial_state_values(trial_id, state)
                ended[state].add(trial_id)

    threads = [threading.Thread(target=end_all, args=(state,)) for state in ended]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first, second = ended.values()
    assert first & second == set()
    assert first | second == set(range(1, count + 1))
