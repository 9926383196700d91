"""A system clock that really jumps, by hours and both ways, while programs run: for them, and for what they run in."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.faults.commands import QUICK, RUNS, TOML, Command, undisturbed

HOUR = 3600
JUMPS = (3 * HOUR, -5 * HOUR, 0, 400 * 24 * HOUR, -48 * HOUR)
LIMITS = "deadline = 600\ntimeout = 60\n"
SEES = "date +%s >> dates\n"
SLOW = '[ "$5" = 4 ] && sleep 2.5\n'  # longer than a worker may be silent

COMPILER = shutil.which("cc") or shutil.which("gcc") or ""
linux = sys.platform.startswith("linux")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not COMPILER, reason="no C compiler for a clock that can be set"),
    pytest.mark.skipif(not linux, reason="the clock of a process can be replaced on Linux only"),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = tmp_path_factory.mktemp("clock") / "clock.so"
    source = Path(__file__).with_name("clock.c")
    subprocess.run([COMPILER, "-shared", "-fPIC", "-Wall", "-Werror", "-o", made, source], check=True)
    return str(made)


class Clock:
    """The system clock of some processes."""

    def __init__(self, file: Path, library: str) -> None:
        self._file, self._jumps = file, itertools.cycle(JUMPS)
        self.env = {"LD_PRELOAD": library, "AUTOBCT_TEST_CLOCK": str(file)}

    def jump(self) -> None:
        fresh = self._file.with_suffix(".fresh")  # never half a file
        fresh.write_text(str(next(self._jumps)))
        fresh.rename(self._file)


def command(folder: Path, *options: str, slow: str = "") -> Command:
    return Command.new(folder, *options, toml=TOML + LIMITS, script=QUICK.replace("sleep", f"{SEES}{slow}sleep", 1))


def jumping(tuners: list[subprocess.Popen[str]], clocks: list[Clock], what: Command) -> list[str]:
    """Let the clocks jump whenever a program has started, until all tuners have ended; what these said."""
    seen = 0
    while any(tuner.poll() is None for tuner in tuners):
        if len(what.started()) > seen:
            seen += 1
            clocks[seen % len(clocks)].jump()
        time.sleep(0.02)
    said = [tuner.communicate()[0] for tuner in tuners]
    assert [tuner.returncode for tuner in tuners] == [4] * len(tuners), said
    return said


def check_nothing_happened(what: Command) -> None:
    """All runs were made, each once; and the clock has jumped, as the programs saw."""
    assert sorted(what.on_record()) == sorted(what.started()) == list(range(RUNS))
    assert all(error is None for _, _, error in what.on_record().values())
    dates = [int(line) for line in (what.folder / "dates").read_text().split()]
    assert sum(abs(b - a) > HOUR for a, b in itertools.pairwise(dates)) >= RUNS // 4


@pytest.mark.parametrize("where", ["folder", "sqlite"])
def test_a_clock_that_jumps_during_a_tuning(where: str, tmp_path: Path, library: str) -> None:
    options = {"folder": (), "sqlite": ("--storage", f"sqlite:///{tmp_path}/run.db", "--grace", "2")}
    what, clock = command(tmp_path, *options[where]), Clock(tmp_path / "clock", library)
    jumping([what.start(env=clock.env)], [clock], what)
    check_nothing_happened(what)
    assert what.decisions() == undisturbed()


def test_workers_whose_clocks_jump_apart_do_not_take_each_other_for_dead(tmp_path: Path, library: str) -> None:
    pytest.importorskip("optuna")
    what = command(tmp_path, "--storage", f"sqlite:///{tmp_path}/run.db", "--grace", "2", slow=SLOW)
    clocks = [Clock(tmp_path / f"clock-{k}", library) for k in range(2)]
    said = jumping([what.start(env=clock.env) for clock in clocks], clocks, what)
    check_nothing_happened(what)
    assert not any("not counted" in words for words in said)
