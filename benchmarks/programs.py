"""What it costs to keep a program: the time to start and end one, a flood of output, a line of the journal.

    python benchmarks/programs.py

The keeper's own time is not part of a run's cost; it is what a tuning of very short programs waits for.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from autobct.run import processes
from autobct.run.journal import Journal
from autobct.run.process import Order, run_program


def median(action: Callable[[], object], repeats: int) -> float:
    """Median seconds of an action."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def kept_megabytes() -> float:
    """Most memory that the keeper, our only child, has had so far (Linux)."""
    [keeper] = [process.pid for process in processes.family(os.getpid(), None) if process.parent == os.getpid()]
    [line] = [line for line in Path(f"/proc/{keeper}/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1000


def order(folder: Path, *argv: str, timeout: float | None = None, most_output: int = 1 << 24) -> Order:
    return Order(
        argv=argv,
        env=dict(os.environ),
        directory=str(folder),
        stdout=str(folder / "stdout.txt"),
        stderr=str(folder / "stderr.txt"),
        timeout=timeout,
        most_output=most_output,
    )


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    alone = median(lambda: subprocess.run(["true"], check=True), 50)
    print(f"a program that does nothing, by itself: {1e3 * alone:.1f} ms")
    kept = median(lambda: run_program(order(folder, "true")), 50)
    counted = statistics.median(run_program(order(folder, "true")).wall for _ in range(50))
    print(f"the same, kept: {1e3 * kept:.1f} ms, of which {1e3 * counted:.1f} ms count as its cost")

    seen: list[float] = []
    threading.Timer(1.5, lambda: seen.append(kept_megabytes())).start()
    [said] = run_program(order(folder, "yes", timeout=2.0)).notes
    size = (folder / "stdout.txt").stat().st_size
    print(f"two seconds of `yes`: {said}; {size / 1e6:.1f} MB on disk, {seen[0]:.0f} MB in the memory of its keeper")

    ended = median(lambda: run_program(order(folder, "sleep", "60", timeout=0.1)), 10)
    print(f"a hanging program with a timeout of 100 ms: over after {1e3 * ended:.0f} ms")

    journal = Journal.start(folder / "journal.jsonl", toml="")
    line = median(lambda: journal.add("told", score=0.5, cost=1.0, error=None), 100)
    print(f"a line of the journal, on disk: {1e3 * line:.2f} ms")


if __name__ == "__main__":
    main()
