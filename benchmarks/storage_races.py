"""Two processes end the same trial at the same moment: how often do both believe that they have?

    python benchmarks/storage_races.py

Once with Optuna's storage as it comes, once with ours, on SQLite.  docs/decisions/storage.md.
"""

from __future__ import annotations

import multiprocessing
import tempfile
from typing import Any

import optuna
from optuna.exceptions import StorageInternalError, UpdateFinishedTrialError
from optuna.storages import RDBStorage
from optuna.trial import TrialState

from autobct import Storage
from autobct.integrations.storage.database import opened

TRIALS = 300


def ends(address: str, ours: bool, state: TrialState, start: Any, ended: Any) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = opened(Storage(address)) if ours else RDBStorage(address)
    trials = [trial._trial_id for trial in storage.get_all_trials(storage.get_study_id_from_name("races"))]
    done = []
    for trial_id in trials:
        start.wait()
        try:
            storage.set_trial_state_values(trial_id, state)
            done.append(trial_id)
        except (StorageInternalError, UpdateFinishedTrialError):
            continue
    ended.put(done)


def both(ours: bool) -> int:
    """Trials that both processes have ended."""
    with tempfile.TemporaryDirectory() as folder:
        address = f"sqlite:///{folder}/races.db"
        study = optuna.create_study(study_name="races", storage=address)
        for _ in range(TRIALS):
            study.ask()
        context = multiprocessing.get_context("spawn")
        start, ended = context.Barrier(2), context.Queue()
        states = (TrialState.COMPLETE, TrialState.PRUNED)
        processes = [context.Process(target=ends, args=(address, ours, state, start, ended)) for state in states]
        for process in processes:
            process.start()
        first, second = ended.get(), ended.get()
        for process in processes:
            process.join()
        assert set(first) | set(second) == set(range(1, TRIALS + 1))
        return len(set(first) & set(second))


if __name__ == "__main__":
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    for name, ours in (("Optuna's storage as it comes", False), ("every transaction immediate", True)):
        print(f"{name}: {both(ours)} of {TRIALS} trials were ended by both processes")
