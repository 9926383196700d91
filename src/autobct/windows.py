"""Who draws what tuning does not know how to draw; each is imported when somebody looks."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from autobct.tuning.windows import register

if TYPE_CHECKING:
    import pandas

    from autobct.tuning.progress import Callback
    from autobct.tuning.result import Result
    from autobct.tuning.tuner import Tuner


def put_in() -> None:
    """Tell tuning of all of them."""
    register("screen", _screen)
    register("report", _report)
    register("result_html", _result_html)
    register("tuner_html", _tuner_html)
    register("dataframe", _dataframe)


def _screen(stream: TextIO) -> Callback | None:
    if not stream.isatty():
        return None
    from autobct.report.live import live

    return live(stream)


def _report(result: Result, path: str | os.PathLike[str]) -> None:
    from autobct.report.page import write_report

    write_report(result, path)


def _result_html(result: Result) -> str:
    from autobct.report.notebook import result_html

    return result_html(result)


def _tuner_html(tuner: Tuner) -> str:
    from autobct.report.notebook import tuner_html

    return tuner_html(tuner)


def _dataframe(records: Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    from autobct.report.dataframe import dataframe_of

    return dataframe_of(records)
