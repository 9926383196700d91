"""The public names: importable, documented, and light."""

import ast
import dataclasses
import inspect
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import autobct

HEAVY = ("optuna", "ray", "torch", "sklearn", "matplotlib", "rich", "typer", "pandas", "jinja2", "scipy.stats",
         "mlflow", "tensorboard", "wandb", "joblib")  # fmt: skip


@pytest.mark.parametrize("name", autobct.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    thing = getattr(autobct, name)
    doc = inspect.getdoc(thing)
    assert doc
    assert len(doc.split()) >= 3
    assert not doc.startswith(f"{name}(")  # the line that dataclass makes up
    assert thing.__module__.startswith("autobct.")


def members() -> list[tuple[str, str]]:
    return [
        (name, member)
        for name in autobct.__all__
        if inspect.isclass(getattr(autobct, name))
        for member, value in vars(getattr(autobct, name)).items()
        if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property | classmethod))
    ]


@pytest.mark.parametrize(("name", "member"), members())
def test_every_public_method_is_documented(name: str, member: str) -> None:
    assert inspect.getdoc(getattr(getattr(autobct, name), member))


@pytest.mark.parametrize("function", [autobct.tune, autobct.relaxed, autobct.exact, autobct.sampled])
def test_arguments_are_annotated(function: Any) -> None:
    parameters = inspect.signature(function).parameters.values()
    assert all(parameter.annotation is not inspect.Parameter.empty for parameter in parameters)


def test_the_list_of_names_is_complete_and_in_order() -> None:
    assert autobct.__all__ == sorted(autobct.__all__)
    tree = ast.parse(Path(autobct.__file__).read_text("utf-8"))
    typed = next(node for node in tree.body if isinstance(node, ast.If))  # what a type checker sees
    homes = {alias.name: node.module for node in typed.body for alias in node.names}  # type: ignore[attr-defined]
    assert homes.pop("plot") == "autobct"
    assert set(homes) == set(autobct.__all__) == set(dir(autobct)) - {"__version__", "plot"}
    assert all(getattr(import_module(home), name) is getattr(autobct, name) for name, home in homes.items())


def test_a_name_that_is_not_there_is_said_not_to_be() -> None:
    with pytest.raises(AttributeError, match="module 'autobct' has no attribute 'Tunr'"):
        autobct.Tunr  # noqa: B018
    assert {"tune", "plot", "__version__"} <= set(dir(autobct))


def test_the_version_is_a_version() -> None:
    assert [part.isdigit() for part in autobct.__version__.split(".")[:2]] == [True, True]


@pytest.mark.parametrize("name", ["Train", "Stop", "Run", "Result", "Belief", "Gaussian", "Model", "Prior", "Price"])
def test_what_is_handed_out_is_frozen(name: str) -> None:
    kind = getattr(autobct, name)
    assert dataclasses.is_dataclass(kind)
    assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]


def test_import_brings_in_nothing_heavy() -> None:
    loaded = modules_after("import autobct, autobct.__main__")  # so that Ctrl-C is answered by the command
    assert "autobct.version" in loaded
    assert not {name for name in loaded if name.partition(".")[0] in ("numpy", "scipy", "typer")}


def test_tuning_brings_in_nothing_heavy() -> None:
    loaded = modules_after("from autobct import *")
    assert "autobct.tuning.tune" in loaded
    assert not {heavy for heavy in HEAVY if heavy in loaded}
    assert not {name for name in loaded if name.startswith("autobct.value.bounds")}  # for certificates only


def modules_after(line: str) -> set[str]:
    code = f"import json, sys\n{line}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))
