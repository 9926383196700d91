"""The command line, as a user types it."""

import os
import subprocess
import sys

import pytest
from matplotlib.image import imread
from typer.testing import CliRunner

import autobct
from autobct.cli import app

COLUMNS = ["n", "h_n", "t_n", "sum t", "u_{n-1}", "trees", "estimated score", "continuing"]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for variable in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, list(arguments), prog_name="autobct")


def table_of(output):
    """The rows of the table in the output, as lists of cells."""
    lines = output.splitlines()
    start = next(number for number, line in enumerate(lines) if "estimated score" in line and "u_{n-1}" in line)
    return [line.split() for line in lines[start + 1 : lines.index("", start)]]


def test_version():
    assert run("--version").output == f"autobct {autobct.__version__}\n"


def test_help_names_the_demo():
    assert "demo" in run("--help").output


@pytest.fixture(scope="module")
def quick_demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    return run("demo", "--quick", "--figure", str(folder / "beliefs.png")), folder / "beliefs.png"


def test_the_demo_shows_the_papers_columns(quick_demo):
    result, _ = quick_demo
    assert result.exit_code == 0, result.output
    header = next(line for line in result.output.splitlines() if "u_{n-1}" in line)
    assert header.split("  ")[0].strip() == "n"
    assert [column for column in COLUMNS if column not in header] == []
    rows = table_of(result.output)
    assert rows[0][:1] + rows[0][4:6] == ["1", "0.00", "1"]  # the paper's first control: one tree
    assert [int(row[0]) for row in rows] == list(range(1, len(rows) + 1))


def test_the_demo_says_what_it_does_and_why_it_stopped(quick_demo):
    output = " ".join(quick_demo[0].output.split())
    assert "How many trees should a random forest have?" in output
    assert "3,000 points" in output
    assert "one unit of cost is set to" in output
    assert "one second of training is worth" in output
    assert "Stopped after" in output
    assert "% accurate" in output


def test_the_demo_draws_its_figure(quick_demo):
    result, figure = quick_demo
    assert str(figure) in result.output
    assert imread(figure).std() > 0.05


@pytest.mark.slow
def test_the_same_seed_gives_the_same_first_forest():
    first, again = (table_of(run("demo", "--quick", "--depth", "1", "--seed", "7").output)[0] for _ in range(2))
    assert first[1] == again[1]  # the score; times vary


@pytest.mark.slow
def test_recall_and_an_svg_file(in_an_empty_folder):
    result = run("demo", "--quick", "--recall", "--figure", "beliefs.svg")
    assert result.exit_code == 0, result.output
    assert "Stopped after" in result.output
    assert "<svg" in (in_an_empty_folder / "beliefs.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["demo", "--depth", "4"], "--depth"),
        (["demo", "--depth", "0"], "--depth"),
        (["demo", "--depth", "two"], "--depth"),
        (["demo", "--seed", "-1"], "--seed"),
        (["demo", "--figure", "beliefs.jpg"], ".png or .svg"),
        (["demo", "--figure", "nowhere/beliefs.png"], "does not exist"),
        (["demo", "--nonsense"], "--nonsense"),
        (["dmeo"], "dmeo"),
    ],
)
def test_bad_options_get_a_sentence(arguments, named):
    result = run(*arguments)
    assert result.exit_code == 2
    assert named in result.output
    assert "Traceback" not in result.output


def test_a_figure_that_cannot_be_written_gets_a_sentence(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("autobct.report.figures.save_figure", full)
    result = run("demo", "--quick", "--depth", "1")
    assert result.exit_code == 2
    assert "could not be written (No space left on device)" in result.output
    assert "Stopped after" in result.output  # what was found is told all the same


def python(code, *arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("module", "library"), [("sklearn", "scikit-learn"), ("matplotlib", "matplotlib")])
def test_a_missing_library_gets_the_install_line(module, library):
    result = python(
        f"import sys; sys.modules[{module!r}] = None; sys.argv[0] = 'autobct'; from autobct.cli import app; app()",
        "demo",
    )
    assert result.returncode == 2
    assert result.stdout == ""
    assert library in result.stderr
    assert "pip install 'autobct[sklearn,report]'" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_the_command_line_starts_without_the_heavy_libraries():
    result = python(
        "import sys, autobct.cli; print(*sorted({'sklearn', 'matplotlib', 'scipy.stats'} & set(sys.modules)))"
    )
    assert result.stdout == "\n"
