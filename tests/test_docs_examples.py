"""Every Python example in the README runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)


def test_the_readme_has_the_short_example() -> None:
    assert len(EXAMPLES) == 1


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_example_tunes_a_real_model_and_says_why_it_stopped(
    example: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sklearn")
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), names)
    assert "Stopped after" in capsys.readouterr().out
    assert names["result"].score > 0.9  # type: ignore[attr-defined]
