"""Every library that is imported is declared, by the package or by the extras of whoever imports it.

A library that only some other library happens to bring goes missing when that one no longer needs it.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
NAMES = {
    "scikit-learn": "sklearn",
    "pillow": "PIL",
    "mlflow-skinny": "mlflow",
}  # called otherwise when they are imported
SCRIPTS = {path.stem for folder in ("benchmarks", "experiments") for path in (ROOT / folder).rglob("*.py")}
OURS = {"autobct", "tests", "tools", "benchmarks", "experiments", *SCRIPTS}
BESIDE = {"output", "processes"}  # src/autobct/run/keeper.py runs by its path, with these two beside it


def declared(*extras: str) -> set[str]:
    """Names to import from what the package and these extras ask for, of extras in extras too."""
    found: set[str] = set()
    asked = [*PROJECT["dependencies"], *(line for extra in extras for line in PROJECT["optional-dependencies"][extra])]
    for line in asked:
        name, inner = re.match(r"([\w.-]+)(?:\[([\w,]+)\])?", line).groups()  # type: ignore[union-attr]
        found |= declared(*inner.split(",")) if name == "autobct" else {NAMES.get(name, name.replace("-", "_"))}
    return found


def installed_by(environment: str) -> set[str]:
    """What is in an environment of the Makefile."""
    [extras] = re.findall(rf"^EXTRAS_{environment}\s*:= (\S+)$", MAKEFILE, re.MULTILINE)
    return declared(*extras.split(","))


def imports(tree: ast.AST) -> Iterator[str]:
    """First parts of the names of all modules that code imports, wherever it does, if only where they are there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [] if node.level else [node.module or ""]
        else:
            names = list(asked_for(node))
        yield from (name.partition(".")[0] for name in names)


def asked_for(node: ast.AST) -> Iterator[str]:
    """The module of pytest.importorskip("module")."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "importorskip":
        assert isinstance(node.args[0], ast.Constant)
        yield str(node.args[0].value)


def missing(code: ast.AST, there: set[str]) -> set[str]:
    return set(imports(code)) - there - OURS - set(sys.stdlib_module_names)


def sources(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def is_heavy(node: ast.AST) -> bool:
    """Whether a test, or a whole file by its pytestmark, is marked heavy."""
    marks = getattr(node, "decorator_list", [])
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
        marks = [node.value]
    return any("pytest.mark.heavy" in ast.unparse(mark) for mark in marks)


@pytest.mark.parametrize("path", sources("src"), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_package_imports_what_it_or_an_extra_declares(path: Path) -> None:
    extras = ("sklearn", "optuna", "storage", "ray", "report", "pandas", "jobs", "mlflow", "tensorboard", "wandb")
    there = declared(*extras, "sign", "build")
    assert missing(ast.parse(path.read_text("utf-8")), there | BESIDE) == set()


def test_without_an_extra_the_package_and_its_command_line_need_nothing_else() -> None:
    jobs = ROOT / "src/autobct/run/executors.py"  # which names the extra where joblib is missing
    for name in ("belief", "value", "tuning", "maps", "run"):
        for path in sources(f"src/autobct/{name}"):
            there = declared("jobs") if path == jobs else declared()
            assert missing(ast.parse(path.read_text("utf-8")), there | BESIDE) == set(), path


@pytest.mark.parametrize("path", sources("tests"), ids=lambda path: str(path.relative_to(ROOT)))
def test_make_test_installs_what_the_tests_import(path: Path) -> None:
    """All but heavy tests run with what `make test` installs, and those with what `make test-slow` does."""
    tree = ast.parse(path.read_text("utf-8"))
    assert missing(tree, installed_by("slow")) == set()
    if not any(map(is_heavy, tree.body)):
        tree.body = [node for node in tree.body if not is_heavy(node)]
        assert missing(tree, installed_by("test")) == set()


@pytest.mark.parametrize(
    ("environment", "folder"), [("bench", "benchmarks"), ("demo", "tools"), ("slow", "experiments")]
)
def test_other_targets_install_what_they_import(environment: str, folder: str) -> None:
    elsewhere = {"flaml", "smac", "ConfigSpace"}  # of peers, in environments of their own
    elsewhere |= {"lightgbm", "xgboost", "catboost"}  # in the extra `fresh`: only to train those families anew
    others = {"docstrings.py": installed_by("docs") | {"griffe"}, "run_tests.py": installed_by("test")}
    others["fuzz_guided.py"] = declared("fuzz")
    for path in sources(folder):
        there = others.get(path.name, installed_by(environment))
        assert missing(ast.parse(path.read_text("utf-8")), there | elsewhere) == set(), path


def test_what_only_another_library_brings_is_noticed() -> None:
    assert missing(ast.parse("from click.testing import Result\nimport numpy.linalg, os"), installed_by("test")) == {
        "click"
    }
    assert missing(ast.parse('pytest.importorskip("torch.nn")'), installed_by("test")) == {"torch"}


def test_every_version_that_is_installed_is_pinned() -> None:
    pinned = {re.split("==", line)[0].lower() for line in (ROOT / "constraints.txt").read_text().splitlines()}
    lines = [*PROJECT["dependencies"], *(line for extra in PROJECT["optional-dependencies"].values() for line in extra)]
    names = {re.match(r"[\w.-]+", line).group().lower() for line in lines}  # type: ignore[union-attr]
    assert names - {"autobct"} <= pinned
