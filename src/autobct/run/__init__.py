"""Runs of any program: timed, limited, stored in a folder, and resumed after a crash."""

from autobct.run.ask_tell import StoredTuner, stored
from autobct.run.recorded import RecordedRun, read_run

__all__ = ["RecordedRun", "StoredTuner", "read_run", "stored"]
