"""Every example in the README and the documentation runs as it stands, and prints what is said beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.docs_pages import PRINTS, ROOT, blocks, is_run, pages, same_text

RUN = [page for page in pages() if is_run(page)]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with `autobct` and `python3` on the path as a reader has them."""
    commands, folder = tmp_path / "bin", tmp_path / "desk"
    for made in (commands, folder):
        made.mkdir()
    for name, arguments in (("autobct", "-m autobct "), ("python3", ""), ("python", "")):
        (commands / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments}"$@"\n')
        (commands / name).chmod(0o755)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
    return folder


def test_there_are_pages_to_run() -> None:
    assert {"README.md", "tutorial.md", "price.md", "how-it-decides.md"} <= {page.name for page in RUN}
    assert len(RUN) >= 12


def _case(page: Path) -> object:
    """A page, with the tests that start Ray where it does: two that start it at a time may find each other's."""
    marks = [pytest.mark.xdist_group("ray")] if page.stem == "ray" else []
    return pytest.param(page, id=str(page.relative_to(ROOT)), marks=marks)


@pytest.mark.parametrize("page", [_case(page) for page in RUN])
@pytest.mark.slow
def test_what_stands_on_a_page_works(
    page: Path, desk: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    if page.stem == "ray" and find_spec("ray") is None:
        pytest.skip("Ray is not installed: pip install 'autobct[ray]'")
    names: dict[str, object] = {"__name__": "__main__"}
    printed = ""
    if page.stem == "ray":
        _without_ray(request)
    for block in blocks(page):
        where = f"{page.relative_to(ROOT)}:{block.line}"
        if block.kind == "file":
            (desk / block.title).parent.mkdir(parents=True, exist_ok=True)
            (desk / block.title).write_text(block.text, encoding="utf-8")
        elif block.kind == "run":
            capsys.readouterr()
            exec(compile("\n" * (block.line - 1) + block.text, where, "exec"), names)
            printed = capsys.readouterr().out
        elif block.kind == "shell":
            done = subprocess.run(["sh", "-e"], input=block.text, capture_output=True, text=True, timeout=100)
            assert done.returncode == 0, f"{where}: {done.stderr}"
            printed = done.stdout
        elif block.kind == "prints":
            assert same_text(block.text, printed), (
                f"{where} says\n{block.text}\nbut what is printed is\n{printed}\n(python -m tools.docs_prints)"
            )
    if page.name == "README.md":
        assert names["result"].score > 0.9  # type: ignore[attr-defined]


def _without_ray(request: pytest.FixtureRequest) -> None:
    """Ray is not running before this test, nor after it."""

    def shut_down() -> None:
        if "ray" in sys.modules:
            sys.modules["ray"].shutdown()

    shut_down()
    request.addfinalizer(shut_down)


def test_the_readme_begins_with_a_short_example() -> None:
    example = blocks(ROOT / "README.md")[0]
    assert example.kind == "run"
    assert len([line for line in example.text.splitlines() if line.strip()]) <= 14


def test_fences_are_told_apart(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        '```python\nx = 1\n```\n\n```toml title="tune.toml"\na = 1\n```\n\n```sh\nls\n```\n\n'
        f'```text title="{PRINTS}"\n1\n```\n\n```text\nwords\n```\n\n```python title="In a notebook"\ny\n```\n'
    )
    assert [block.kind for block in blocks(page)] == ["run", "file", "shell", "prints", "read", "read"]
    assert [block.line for block in blocks(page)][:2] == [2, 6]


@pytest.mark.parametrize(
    ("stated", "printed", "same"),
    [
        ("score 0.93, cost 12", "score 0.931,  cost 12.1\n", True),
        ("score 0.93", "score 0.95", False),
        ("score 0.93", "cost 0.93", False),
        ("gain 1e-05", "gain 1.001e-05", True),
        ("runs 3", "runs 4", False),
        ("{'x': 0.5}", "{'x': -0.5}", False),
    ],
)
def test_what_is_printed_is_held_against_what_is_said(stated: str, printed: str, same: bool) -> None:
    assert same_text(stated, printed) is same
