"""How large a report is, how long it takes to make and to show, and what matplotlib's SVG would weigh.

python benchmarks/report_page.py
"""

from __future__ import annotations

import os

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import io
import math
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.chromium import browser, find_chromium

import autobct
from autobct.report.page import page_of
from autobct.report.plots import belief_slices, history_figure
from autobct.report.story import Story, other_prices, tell
from autobct.tuning.history import Decision

RUNS = 50
SPACES = {
    "1 number": {"x": autobct.Float(0, 1)},
    "2 numbers": {"x": autobct.Float(0, 1), "y": autobct.Float(0, 1)},
    "6 numbers, 1 choice": {f"p{k}": autobct.Float(0, 1) for k in range(6)}
    | {"c": autobct.Categorical(["a", "b", "c"])},
}


def played(space: dict[str, autobct.Float | autobct.Categorical]) -> tuple[autobct.Tuner, list[Decision]]:
    """A tuner after RUNS runs all over its candidates, some failed, and what it would have decided each time."""
    tuner = autobct.Tuner(space, price=0.001, score_range=(0, 1), cost_range=(1, 10))
    controls, decisions = tuner.problem.controls, [tuner.peek()]
    for number in range(RUNS):
        control = controls[(7 * number) % len(controls)]
        failed = number % 10 == 9
        score = None if failed else 0.7 + 0.2 * math.sin(number)
        error = "RuntimeError: out of memory" if failed else None
        params = tuner.problem.space.params(control)
        run = autobct.Run(number, params, control, score, 1.0 + number % 5, error, 0.7)
        tuner.replay([run])
        decisions.append(tuner.peek())
    return tuner, decisions


def drawn_by_matplotlib(story: Story) -> int:
    """Bytes of the same curves as matplotlib writes them; it has no maps."""
    size = 0
    for figure in (history_figure(story), belief_slices(story)):
        file = io.BytesIO()
        figure.savefig(file, format="svg")
        size += file.tell()
    return size


def shown(page: Path) -> float:
    """Milliseconds until a browser has loaded and painted it; NaN without one."""
    if find_chromium() is None:
        return float("nan")
    with browser() as opened:
        tab = opened.page()
        tab.look(width=1280)
        tab.open(page.as_uri())
        tab.evaluate("document.body.getBoundingClientRect().height")
        paints = "performance.getEntriesByType('paint').map(entry => entry.startTime)"
        loaded = "performance.getEntriesByType('navigation')[0].loadEventEnd"
        return float(tab.evaluate(f"Math.max({loaded}, ...{paints})"))


def imported() -> float:
    """Seconds of CPU time until matplotlib is ready to write SVG, NumPy being there."""
    code = (
        "import time, numpy; started = time.process_time(); import matplotlib.figure, matplotlib.backends.backend_svg; "
        "print(time.process_time() - started)"
    )
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def main() -> None:
    """One row for each space."""
    print(f"to import matplotlib takes {imported():.2f} s")
    print(f"{RUNS} runs               page kB   made in s   other prices s   shown in ms   matplotlib kB")
    for name, space in SPACES.items():
        tuner, decisions = played(space)
        page_of(tell(tuner))  # what is loaded once is not counted
        started = time.perf_counter()
        others = other_prices(tuner)
        prices = time.perf_counter() - started
        started = time.perf_counter()
        page = page_of(replace(tell(tuner, decisions=decisions), what_if=others))
        made = time.perf_counter() - started
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "page.html")
            path.write_text(page, encoding="utf-8")
            milliseconds = shown(path)
        weight = drawn_by_matplotlib(tell(tuner)) / 1000
        size = len(page.encode()) / 1000
        print(f"{name:<20}{size:9.0f}{made:12.2f}{prices:17.1f}{milliseconds:14.0f}{weight:16.0f}")


if __name__ == "__main__":
    main()
