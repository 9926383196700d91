"""`make test`: run the tests on all cores, say how far they are, and end in one line that says what to do next.

`python -m tools.run_tests` runs those that take seconds; with `--slow` the others, marked `slow`, or `heavy` for what
they need to have installed.  Other arguments go to pytest.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

LEAST = 95.0
"""Percent of the core packages' lines that the tests must run."""

_MOST_CORES = 8
_OFTEN = 15.0  # seconds between two lines of progress

_REASONS = 2  # for skipping, that the last line names
_QUICK = ("-m", "not slow and not heavy", "--cov", "--cov-report=term", f"--cov-fail-under={LEAST:g}")
_SLOW = ("-m", "slow or heavy", "--dist", "loadgroup")  # all that start Ray in one process, one after the other
_LEFT_OUT = "Slow tests, and those that need torch or Ray, were left out: make test-slow runs them."


@dataclass
class Progress:
    """A pytest plugin that replaces the dots by lines that say how far it is."""

    cores: int
    started: float = field(default_factory=time.monotonic)
    total: int = 0
    done: int = 0
    failed: set[str] = field(default_factory=set)
    stats: dict[str, list[Any]] = field(default_factory=dict)
    coverage: float | None = None
    _said: float = 0.0

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        """Every worker finds all tests; the first one to say so begins."""
        if not self.total:
            self.total = len(ids)
            self._say(f"Running {count(self.total, 'test')} on {count(self.cores, 'core')}.")

    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """No dots and letters: progress is a line now and then, and a failure one of its own."""
        if hasattr(report, "wasxfail") or (report.passed and report.when != "call"):
            return None
        broken = report.failed and report.when != "call"
        return "error" if broken else report.outcome, "", report.outcome.upper() if report.failed else ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count, and say so from time to time."""
        if report.failed and report.nodeid not in self.failed:
            self.failed.add(report.nodeid)
            self._say(f"FAILED {report.nodeid}")
        if report.when == "teardown":
            self.done += 1
            if time.monotonic() - self._said >= _OFTEN:
                self._say(self._how_far())

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        """Keep what the last line needs."""
        self.stats = terminalreporter.stats
        measured = config.pluginmanager.getplugin("_cov")
        self.coverage = getattr(measured, "cov_total", None)

    def _how_far(self) -> str:
        taken = time.monotonic() - self.started
        left = taken * (self.total - self.done) / self.done
        share = 100 * self.done // max(self.total, 1)
        return f"{share:3d} %  {self.done:,} of {self.total:,} tests; {minutes(taken)}, about {minutes(left)} left"

    def _say(self, line: str) -> None:
        self._said = time.monotonic()
        print(line, flush=True)


def count(number: int, what: str) -> str:
    """1 test; 2,345 tests."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def minutes(seconds: float) -> str:
    """45 s; 3 min 5 s."""
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"


def last_line(code: int, progress: Progress, seconds: float, *, slow: bool) -> str:
    """What came of it, and what to do next."""
    failed = len(progress.failed)
    again = f"{os.path.relpath(sys.executable)} -m pytest --last-failed"
    if code == pytest.ExitCode.INTERRUPTED and not failed:
        return "Interrupted: the tests were not all run."
    unread = {report.nodeid for report in progress.stats.get("error", ())} - progress.failed
    if unread:
        return f"{count(len(unread), 'test file')} could not be read; the reason is above."
    if failed:
        return f"{failed:,} of {count(progress.total, 'test')} FAILED, see above. To run only these again: {again}"
    missing = not slow and progress.coverage is not None and progress.coverage < LEAST
    if code and missing:
        return (
            f"All tests passed, but they run only {progress.coverage:.1f} % of the core packages, and {LEAST:g} % is "
            f"required: add tests for the lines listed above."
        )
    if code:
        return f"The tests could not be run (pytest's exit code {int(code)}); the reason is above."
    covered = "" if progress.coverage is None else f"; core packages covered to {progress.coverage:.1f} %"
    passed = len(progress.stats.get("passed", ()))
    skipped = _skipped(progress.stats.get("skipped", ()))
    return f"All {count(passed, 'test')} passed in {minutes(seconds)}{skipped}{covered}. {'' if slow else _LEFT_OUT}"


def _skipped(reports: Sequence[Any]) -> str:
    """` (3 skipped: Chromium is not installed)`; each reason once."""
    reasons = {(report.nodeid, _reason(report)) for report in reports}
    if not reasons:
        return ""
    counted = [reason for reason, _ in Counter(reason for _, reason in reasons).most_common()]
    if len(counted) > _REASONS:
        counted[_REASONS:] = [f"{len(counted) - _REASONS} other reasons"]
    return f" ({len(reasons)} skipped: {'; '.join(counted)})"


def _reason(report: Any) -> str:
    where = report.longrepr
    text = str(where[2] if isinstance(where, tuple) else where)
    return text.removeprefix("Skipped: ")


def cores() -> int:
    """Those this process may use, and not more than the tests make use of."""
    mine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(mine, _MOST_CORES)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run them; other arguments go to pytest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slow", action="store_true", help="the tests marked slow or heavy")
    options, rest = parser.parse_known_args(arguments)
    progress = Progress(cores())
    print("Collecting tests ...", flush=True)
    chosen = _SLOW if options.slow else _QUICK
    code = pytest.main(["-n", str(progress.cores), "--no-header", *chosen, *rest], plugins=[progress])
    print("\n" + last_line(code, progress, time.monotonic() - progress.started, slow=options.slow).strip())
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
