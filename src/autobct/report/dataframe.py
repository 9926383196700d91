"""The runs of a tuning as a pandas DataFrame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

__all__ = ["dataframe_of"]


def dataframe_of(records: Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    """The records as a DataFrame, one row for each run."""
    try:
        import pandas
    except ImportError:
        raise ImportError(
            "to_dataframe() needs pandas, which is not installed; install it with: pip install pandas "
            "(or use to_records(), which needs nothing)",
            name="pandas",
        ) from None
    return pandas.DataFrame(records)
