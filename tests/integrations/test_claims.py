"""What a study amounts to, read step by step: the same as read at once, and only what may have changed is looked at."""

from __future__ import annotations

import copy
import gc
import math
import random
import weakref
from typing import Any

import numpy as np
import optuna
from optuna.trial import FrozenTrial, TrialState

import autobct
from autobct.integrations._optuna_trials import COST
from autobct.integrations.storage.claims import BEAT, CLAIM, ERROR, KILLED, RELEASED, ClaimReader, Snapshot
from autobct.run.journal import encoded
from autobct.tuning.space.space import Space

SPACE = Space.of({"x": autobct.Float(0, 1)})


class Study:
    """A study in memory, as some workers make it that finish, fail, die and give up at random."""

    def __init__(self, seed: int) -> None:
        self.draw, self.trials = random.Random(seed), list[FrozenTrial]()
        self.reader, self.read = reader(), list[weakref.ref[FrozenTrial]]()

    def look(self) -> Snapshot:
        """Read copies of the trials that may have changed since the last look, as a database gives them."""
        running, last = self.reader.unread
        news = [copy.deepcopy(t) for t in self.trials if t._trial_id > last or t._trial_id in running]
        self.read += [weakref.ref(trial) for trial in news]
        return self.reader.read(news)

    def step(self) -> None:
        """One worker looks and does something."""
        seen = self.look()
        if seen.lost and self.draw.random() < 0.7:
            lost = seen.lost[0].claim
            self.claim(lost.slot, lost.attempt + 1, ())
        elif len(seen.open) < 4 and self.draw.random() < 0.6:
            self.claim(seen.next_slot, 0, seen.unheard)
            if self.draw.random() < 0.2:  # somebody else at the same moment
                self.claim(seen.next_slot, 0, seen.unheard)
        elif seen.open and self.draw.random() < 0.1:  # its program was killed from outside and is started again
            self.trials[self.draw.choice(seen.open).trial.number].system_attrs[KILLED] = 0.7
        elif seen.made:
            self.end(self.draw.choice(seen.made).trial.number)

    def claim(self, slot: int, attempt: int, heard: Any) -> None:
        control = np.array([self.draw.random()])
        train = autobct.Train(
            trial=slot,
            params=SPACE.params(control),
            control=control,
            expected_gain=0.1,
            expected_cost=1.0,
            price_of_run=0.1,
            expected_score=0.5,
            value=0.5,
            stop_value=None,
        )
        data = {"slot": slot, "attempt": attempt, "token": str(len(self.trials)), "decision": encoded(train)}
        data |= {"heard": list(heard), "charge": self.draw.choice([0.0, 0.1]), "worker": {"host": "h"}, "problem": "p"}
        trial = optuna.trial.create_trial(state=TrialState.RUNNING, system_attrs={CLAIM: data})
        trial.number = trial._trial_id = len(self.trials)
        self.trials.append(trial)

    def end(self, number: int) -> None:
        """Another object, as a database gives it."""
        old, kind = self.trials[number], self.draw.choice(["score", "score", "error", "dead", "released"])
        state = {"score": TrialState.COMPLETE, "error": TrialState.FAIL}.get(kind, TrialState.PRUNED)
        trial = optuna.trial.create_trial(
            state=state,
            value=self.draw.random() if kind == "score" else None,
            user_attrs={COST: 0.1 * number, **({ERROR: "no"} if kind == "error" else {})},
            system_attrs={**old.system_attrs, **({RELEASED: 0.3} if kind == "released" else {})},
        )
        trial.number = trial._trial_id = number
        self.trials[number] = trial


def reader() -> ClaimReader:
    return ClaimReader(SPACE, "p", rerun=True, timed=True)


def told(seen: Snapshot) -> list[Any]:
    """Everything, as values."""
    runs = [(run.trial, run.score, run.cost, run.error, run.control.tolist()) for run in seen.trials.runs]
    of = [[claimed.claim.number for claimed in claims] for claims in (seen.made, seen.open, seen.lost)]
    holding = {slot: claim.number for slot, claim in seen.claims.items()}
    return [runs, of, holding, seen.unheard, seen.trials.outside, seen.charged, seen.trials.mended]


def at_once(trials: list[FrozenTrial]) -> list[Any]:
    """The same by the definition of a claim, from all trials: the lowest number of the highest attempt holds."""
    data = [trial.system_attrs[CLAIM] for trial in trials]
    first: dict[tuple[int, int], int] = {}
    for number, claim in enumerate(data):
        first.setdefault((claim["slot"], claim["attempt"]), number)
    holding = {slot: number for (slot, _), number in sorted(first.items())}
    ended = {slot: n for slot, n in holding.items() if trials[n].state in (TrialState.COMPLETE, TrialState.FAIL)}
    heard = [slot for (_, attempt), n in sorted(first.items()) if attempt == 0 for slot in data[n]["heard"]]
    unheard = tuple(slot for slot in sorted(ended) if slot not in heard)
    running = [n for n, trial in enumerate(trials) if trial.state == TrialState.RUNNING]
    rest = [n for slot, n in sorted(holding.items()) if slot not in ended]
    states = [running, [n for n in rest if n in running], [n for n in rest if n not in running]]
    outcomes = [(slot, trials[ended[slot]]) for slot in (*heard, *unheard)]
    runs = [
        (slot, trial.value, trial.user_attrs[COST], trial.user_attrs.get(ERROR), _control(trial))
        for slot, trial in outcomes
    ]
    charges = [data[n]["charge"] for n in first.values() if data[n]["charge"]]
    besides = math.fsum(trials[n].system_attrs.get(key, 0.0) for n in first.values() for key in (RELEASED, KILLED))
    return [runs, states, holding, unheard, (besides, 0), (math.fsum(charges), len(charges)), ()]


def _control(trial: FrozenTrial) -> list[float]:
    return list(trial.system_attrs[CLAIM]["decision"]["control"])


def test_read_step_by_step_is_read_at_once() -> None:
    for seed in range(5):
        study, whole = Study(seed), reader()
        for _ in range(150):
            study.step()
            assert told(study.look()) == told(whole.read(study.trials)) == at_once(study.trials)
        assert len(study.look().trials.runs) > 20


def test_time_until_a_program_was_killed_is_no_cost_of_the_run_whose_worker_died() -> None:
    study = Study(1)
    study.claim(0, 0, ())
    study.trials[0].system_attrs.update({BEAT: {"count": 2, "seconds": 9.0}, KILLED: 5.0})
    study.trials[0].state = TrialState.PRUNED
    seen = ClaimReader(SPACE, "p", rerun=False, timed=True).read(study.trials)
    assert [run.cost for run in seen.trials.runs] == [4.0]
    assert seen.trials.outside == (5.0, 0)


def test_few_trials_are_read_again() -> None:
    study = Study(7)
    for _ in range(300):
        study.step()
    seen, before = study.look(), len(study.read)
    study.look()
    assert len(study.read) - before == len(seen.made) < 10 < len(study.trials)


def test_a_trial_after_one_that_is_not_there_yet_waits_for_it() -> None:
    study = Study(3)
    while len(study.trials) < 12:
        study.step()
    part = reader()
    late = [trial for trial in study.trials if trial.number != 5]
    assert told(part.read(late)) == at_once(study.trials[:5])
    assert told(part.read(study.trials[5:])) == at_once(study.trials)


def test_of_a_trial_that_has_ended_nothing_is_kept_but_its_run() -> None:
    """Optuna's trial is 10 kB: what is shown of its parameters, and their distributions, for every one of them."""
    study = Study(11)
    for _ in range(300):
        study.step()
    seen = study.look()
    gc.collect()
    kept = {trial.number for each in study.read if (trial := each()) is not None}
    assert kept == {claimed.claim.number for claimed in (*seen.made, *seen.open, *seen.lost)}
    assert len(kept) < 10 < len(seen.trials.runs)
