"""What `benchmarks/storage_load.py` makes of the lines of its workers."""

from __future__ import annotations

import threading

import pytest
from storage_load import ALONE, PAUSES, Pauses, reported


def lines(workers: int, each: int, slower: float = 0.0, leak: float = 0.0) -> list[list[list[float]]]:
    """Runs of a tenth of a second; the last tenth of them in a pause, of the first worker alone."""
    found: list[list[list[float]]] = [[] for _ in range(workers)]
    total = workers * each
    for run in range(total):
        pause = 0.0 if run >= 0.9 * total else -1.0
        worker = 0 if pause >= 0.0 else run % workers
        cpu, memory = 0.03 + slower * run, 100.0 + leak * run
        found[worker].append([0.1 * run, cpu + 0.05, 0.04, cpu, 0.02, memory, memory, float(run), pause])
    return found


def test_the_parts_of_a_decision_add_up() -> None:
    found = reported(lines(4, 50))
    assert found["all_once"]
    assert found["runs"] == 200
    assert found["runs_per_second"] == pytest.approx(10.0, rel=0.02)
    for quarter in found["decision_ms"]:
        parts = {name: part["median"] for name, part in quarter.items()}
        assert parts == {"by_the_clock": 80.0, "waiting_for_turn": 40.0, "processor": 30.0, "rest": 10.0}
    assert found["memory_growth_kb_per_run"] == pytest.approx(0.0, abs=1e-6)


def test_growth_is_seen_and_a_run_that_is_missing_or_twice_is_too() -> None:
    found = reported(lines(4, 50, slower=1e-4, leak=0.01))
    processor = [quarter["processor"]["median"] for quarter in found["decision_ms"]]
    assert processor == sorted(set(processor))
    assert found["decision_alone_ms"][0]["processor"]["median"] > processor[-1]
    assert found["memory_growth_kb_per_run"] == pytest.approx(10.24)
    missing = lines(2, 20)
    missing[1][3][7] = 1.0
    assert not reported(missing)["all_once"]


def test_only_the_first_worker_works_while_the_others_pause() -> None:
    meet, told, lock, total = threading.Barrier(3), list[tuple[int, int]](), threading.Lock(), 1000

    def work(number: int) -> None:
        pauses = Pauses(meet, number == 0, total)
        while True:
            with lock:
                run = len(told)
                if run >= total:
                    break
                told.append((number, pauses.number))
            pauses.after(run)
        pauses.end()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for pause in range(len(PAUSES)):
        runs = [run for run, (_, at) in enumerate(told) if at == pause]
        assert len(runs) == ALONE
        assert {told[run][0] for run in range(runs[0], runs[-1] + 1)} == {0}
