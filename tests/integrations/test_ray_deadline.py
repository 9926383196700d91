"""A deadline of `tune_on_ray`: costs of the user's own become time at the pace of the runs; no cluster, no clock."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ray")

from ray.exceptions import WorkerCrashedError

from autobct import Float, Result, Train, Tuner
from autobct.integrations import _ray_tasks
from autobct.integrations._ray_tasks import _Cluster, _Done
from autobct.tuning.progress import Listeners
from autobct.tuning.training import Trained
from autobct.tuning.units.limits import Deadline, Left

pytestmark = pytest.mark.heavy

SECONDS, COST, UNTIL = 10.0, 2.0, 61.0


class Asked(Tuner):
    """A tuner that keeps what it was asked with."""

    lefts: tuple[Left | None, ...] = ()

    def ask(self, left: Left | None = None, waiting: Any = None) -> Any:
        self.lefts = (*self.lefts, left)
        return super().ask(left, waiting)


class Workers:
    """Every run takes ten seconds on a clock of their own, and costs two units; they end in their order.

    lost: runs whose worker dies after these ten seconds
    """

    def __init__(self, *, own_cost: bool = True, lost: tuple[int, ...] = ()) -> None:
        self.now, self.own_cost, self.lost = 0.0, own_cost, lost
        self.ends: dict[int, float] = {}

    def remote(self, decision: Train, own_cost: bool, known: bool) -> int:
        self.ends[decision.trial] = self.now + SECONDS
        return decision.trial

    def wait(self, running: list[int], num_returns: int) -> tuple[list[int], list[int]]:
        first = min(running, key=lambda trial: (self.ends[trial], trial))
        self.now = max(self.now, self.ends[first])
        return [first], [trial for trial in running if trial != first]

    def get(self, trial: int) -> _Done:
        if trial in self.lost:
            raise WorkerCrashedError
        cost = COST if self.own_cost else SECONDS
        return _Done(Trained(cost, score=0.5 + trial / 100), SECONDS, self.own_cost, True)

    def cancel(self, trial: int, force: bool) -> None:
        raise AssertionError("nothing runs any more")


@pytest.fixture
def tuned(monkeypatch: pytest.MonkeyPatch) -> Any:
    def until_it_stops(workers: Workers, price: Any, concurrent: int = 1, **told: Any) -> tuple[Result, Asked]:
        monkeypatch.setattr(_ray_tasks, "ray", workers)
        monkeypatch.setattr(_ray_tasks, "time", SimpleNamespace(perf_counter=lambda: workers.now))
        tuner = Asked({"x": Float(0, 1), "y": Float(0, 1)}, price=price, **told)
        clock = Deadline.of(UNTIL, lambda: workers.now)
        cluster = _Cluster(tuner, Listeners([]), clock, concurrent, "record")
        cluster.task, cluster.arguments = workers, ()
        return cluster.until_it_stops(), tuner

    return until_it_stops


def test_own_costs_are_time_at_the_pace_of_the_runs(tuned: Any) -> None:
    """Two units take ten seconds, so 51, 41, ... seconds are 10.2, 8.2, ... units; before a result all may start."""
    workers = Workers()
    found, tuner = tuned(workers, 1e-9, cost_range=(1.9, 2.1))
    amounts = [left.amount for left in tuner.lefts]
    assert amounts[0] == float("inf")
    assert amounts[1:] == pytest.approx([(UNTIL - SECONDS * k) * COST / SECONDS for k in range(1, len(amounts))])
    assert found.decisions[-1].reason == "deadline"
    assert UNTIL - 2 * SECONDS <= workers.now <= UNTIL  # one more might have taken too long


def test_side_by_side_the_pace_is_that_of_one_run(tuned: Any) -> None:
    found, tuner = tuned(Workers(), 1e-9, 3, cost_range=(1.9, 2.1))
    later = [left.amount for left in tuner.lefts if left.amount != float("inf")]
    rounds = [(UNTIL - SECONDS * k) * COST / SECONDS for k in range(1, 7)]
    assert later[0] == pytest.approx(rounds[0])
    assert all(min(abs(amount - one) for one in rounds) < 1e-9 for amount in later)
    assert found.decisions[-1].reason == "deadline"
    assert 6 < len(found.history) <= 18


def test_measured_costs_are_time_already(tuned: Any) -> None:
    _, tuner = tuned(Workers(own_cost=False), "0.000000001 per 1s", cost_range=(9.9, 10.1))
    assert [left.amount for left in tuner.lefts][:3] == pytest.approx([UNTIL, UNTIL - SECONDS, UNTIL - 2 * SECONDS])


def test_a_lost_run_has_taken_its_time(tuned: Any) -> None:
    """Its cost counts as expected, so its seconds count as well: otherwise all runs would look faster than they are."""
    found, tuner = tuned(Workers(lost=(1, 3)), 1e-9, cost_range=(1.9, 2.1))
    assert [run.error is None for run in found.history[:4]] == [True, False, True, False]
    spent = [sum(run.cost for run in found.history[:k]) for k in range(1, len(tuner.lefts))]
    paces = [SECONDS * k / cost for k, cost in enumerate(spent, start=1)]
    lefts = [(UNTIL - SECONDS * k) / pace for k, pace in enumerate(paces, start=1)]
    assert [left.amount for left in tuner.lefts[1:]] == pytest.approx(lefts)
