"""The decisions of a shared study, made again by a plain tuner."""

from __future__ import annotations

from typing import Any

import optuna
from tests.faults.work import RUNS, SPACE, settings

import autobct
from autobct.integrations.storage.claims import CLAIM
from autobct.run.journal import encoded


def check_every_decision(address: str) -> None:
    """Every decision of all workers, made again by a plain tuner from what stands in the database."""
    trials = optuna.load_study(study_name="autobct", storage=address).trials
    claims: dict[int, dict[str, Any]] = {}
    for trial in trials:
        claim = trial.system_attrs[CLAIM]
        if claim["attempt"] == 0:
            claims.setdefault(claim["slot"], claim)
    outcomes = {t.system_attrs[CLAIM]["slot"]: t for t in trials if t.state == optuna.trial.TrialState.COMPLETE}
    made: dict[int, autobct.Train] = {}
    order: list[int] = []
    for slot, claim in sorted(claims.items()):
        order += claim["heard"]
        tuner = autobct.Tuner(SPACE, **settings(RUNS))
        for other in order:
            tuner.adopt(made[other])
            tuner.tell(other, outcomes[other].value, outcomes[other].user_attrs["cost"])
        for other in range(slot):
            if other not in order:
                tuner.adopt(made[other])
        decision = tuner.peek()
        assert isinstance(decision, autobct.Train)
        assert encoded(decision) | {"params": 0, "note": 0} == claim["decision"] | {"params": 0, "note": 0}
        made[slot] = decision
