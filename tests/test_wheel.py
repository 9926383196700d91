"""The wheel: typed, complete, and enough by itself in an environment that holds nothing but its dependencies."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import autobct

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
ALONE = """
import importlib.metadata, importlib.util, autobct
others = ("sklearn", "optuna", "ray", "torch", "matplotlib", "pandas")
assert not any(map(importlib.util.find_spec, others))
assert "site-packages" in autobct.__file__, autobct.__file__
result = autobct.tune(lambda p: (1 - (p["x"] - 0.3) ** 2, 1.0), {"x": autobct.Float(0, 1)}, price=0.001)
assert autobct.load_map
print(importlib.metadata.version("autobct"), abs(result.params["x"] - 0.3) < 0.1)
"""


def done(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run as in a shell that knows nothing of this checkout."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return subprocess.run([*map(str, command)], cwd=cwd, env=own, capture_output=True, text=True)


def pip(*arguments: str | Path, cwd: Path) -> None:
    """As the Makefile installs: from the same index, with the same versions."""
    made = done(sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments, cwd=cwd)
    assert made.returncode == 0, made.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "-qq", "--no-deps", "-w", folder, ROOT, cwd=folder)
    [path] = folder.iterdir()
    return path


def test_what_is_in_the_wheel(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    source = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "autobct").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "autobct/py.typed" in names
    assert {name for name in names if name.startswith("autobct/")} == source
    others = {name for name in names if not name.startswith("autobct/")}
    assert {name.partition("/")[0] for name in others} == {f"autobct-{autobct.__version__}.dist-info"}
    assert any(name.endswith("LICENSE") for name in others)


def test_it_works_alone_and_runs_the_demo_with_what_that_asks_for(wheel: Path, tmp_path: Path) -> None:
    done(sys.executable, "-m", "venv", "--without-pip", "bare", cwd=tmp_path)
    commands = tmp_path / "bare" / ("Scripts" if os.name == "nt" else "bin")
    install = ["--python", commands / "python", "install", "-qq", "--no-compile", "-c", ROOT / "constraints.txt"]
    pip(*install, wheel, cwd=tmp_path)
    alone = done(commands / "python", "-W", "error", "-c", ALONE, cwd=tmp_path)
    assert alone.stdout.split() == [autobct.__version__, "True"], alone.stderr
    assert autobct.__version__ in done(commands / "autobct", "--version", cwd=tmp_path).stdout
    demo = done(commands / "autobct", "demo", "--quick", cwd=tmp_path)
    [extras] = re.findall(r"pip install 'autobct\[([\w,]+)\]'", demo.stdout + demo.stderr)
    pip(*install, f"{wheel}[{extras}]", cwd=tmp_path)
    demo = done(commands / "autobct", "demo", "--quick", cwd=tmp_path)
    assert demo.returncode == 0, demo.stderr
    assert "Stopped after" in re.sub(r"\s+", " ", demo.stdout)
