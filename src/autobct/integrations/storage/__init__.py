"""A tuning in a database that several processes share, through Optuna's storage."""

from autobct.integrations.storage.shared import Interrupted, SharedTuner, shared

__all__ = ["Interrupted", "SharedTuner", "shared"]
