"""A tuning in a database that several processes share, through Optuna's storage."""

try:
    import optuna as optuna
except ImportError:
    raise ImportError("a database needs Optuna: pip install 'autobct[storage]'") from None

from autobct.integrations.storage.shared import Interrupted, SharedTuner, shared

__all__ = ["Interrupted", "SharedTuner", "shared"]
