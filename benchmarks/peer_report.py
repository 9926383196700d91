"""The table of the tuners, in words, in a file, on a page and as a plot."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from peer_cells import code
from peer_list import HERE, PEERS
from peer_table import Line, Row, by_family, paired
from tasks import LEVELS, Task

import autobct

RESULTS = HERE / "results" / "peers.json"
PAGE, FIGURE = HERE.parent / "docs" / "peers.md", HERE.parent / "docs" / "img" / "peers.png"
TARGETS = dict(zip(LEVELS, (0.85, 0.72, 0.55, 0.35), strict=True))
_OURS = "autobct"


def percent(level: float) -> str:
    return f"{100 * level:g} %"


def table(lines: Mapping[str, Line]) -> str:
    """Captured at every price, with standard errors; the other columns are means over prices."""
    head = ["tuner", *map(percent, LEVELS), "trials", "cost / c50", "score", "CPU s / decision"]
    return _grid(head, [_cells(line) for line in lines.values()])


def _cells(line: Line) -> list[str]:
    rows = [line.rows[level] for level in LEVELS]
    shown = [f"{r.captured:.3f} ± {r.error:.3f}" + (f" (k={r.k})" if r.k is not None else "") for r in rows]
    per_price = [
        " / ".join(f"{getattr(r, name):.{digits}f}" for r in rows)
        for name, digits in (("trials", 0), ("cost", 1), ("score", 2))
    ]
    return [line.label, *shown, *per_price, f"{line.seconds:.2g}"]


def families(lines: Mapping[str, Line], tasks: Sequence[Task], only: Sequence[str]) -> str:
    """Captured in each family."""
    body = [
        [lines[name].label, family, *(f"{values[level]:.3f}" for level in LEVELS)]
        for name in only
        if name in lines
        for family, values in by_family(lines[name], tasks).items()
    ]
    return _grid(["tuner", "family", *map(percent, LEVELS)], body) if body else ""


def standing(lines: Mapping[str, Line]) -> str:
    """Differences between autobct and every other line, those of now and those that are stored."""
    if _OURS not in lines:
        return ""
    ours = lines[_OURS].by_task
    theirs = {name: line for name, line in (stored() | dict(lines)).items() if name != _OURS}
    theirs = {name: line for name, line in theirs.items() if set(ours) & set(line.by_task)}
    if not theirs:
        return "(no peers are stored for these tasks)"
    body = [
        [line.label, *(_signed(*paired(ours, line.by_task, level)) for level in LEVELS)] for line in theirs.values()
    ]
    target = ["target", *(f"{lines[_OURS].rows[level].captured - TARGETS[level]:+.3f}" for level in LEVELS)]
    return _grid(["autobct minus", *map(percent, LEVELS)], [target, *body])


def limits(line: Line, given: Mapping[str, Mapping[float, float]], seeds: int) -> str:
    """What the truth for a part of its decisions is worth, on the first seeds."""
    own = {
        level: sum(sum(levels[level][:seeds]) / seeds for levels in line.by_task.values()) / len(line.by_task)
        for level in LEVELS
    }
    body = [[f"given {name}", *(f"{values[level]:.3f}" for level in LEVELS)] for name, values in given.items()]
    head = f"what limits autobct ({seeds} seed{'s' * (seeds > 1)})"
    return _grid([head, *map(percent, LEVELS)], [["as it is", *(f"{own[level]:.3f}" for level in LEVELS)], *body])


def stored() -> dict[str, Line]:
    """The lines of the results file."""
    if not RESULTS.is_file():
        return {}
    kept = json.loads(RESULTS.read_text())["lines"]
    return {name: _line(line) for name, line in kept.items()}


def _line(kept: Mapping[str, Any]) -> Line:
    rows = {float(level): Row(**row) for level, row in kept["rows"].items()}
    by_task = {task: {float(p): values for p, values in levels.items()} for task, levels in kept["by_task"].items()}
    return Line(kept["label"], kept["hindsight"], rows, by_task, kept["seconds"])


def write(lines: Mapping[str, Line], tasks: Sequence[Task]) -> None:
    """Results file, page and plot; lines that were stored and not played now stay."""
    RESULTS.parent.mkdir(exist_ok=True)
    both = stored() | dict(lines)
    lines = {name: both[name] for name in PEERS if name in both}
    kept = {name: _plain(line) for name, line in lines.items()}
    RESULTS.write_text(_compact(json.dumps({"about": _about(lines), "lines": kept}, indent=1)) + "\n")
    draw(lines)
    parts = {
        "table": table(lines),
        "families": families(lines, tasks, only=list(lines)),
        "pairs": standing(lines),
        "about": _about_words(lines),
    }
    text = PAGE.read_text()
    for name, part in parts.items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        inside = re.compile(f"{begin}.*?{end}", flags=re.DOTALL)
        text = f"{begin}\n{part}\n{end}".join(inside.split(text))
    PAGE.write_text(text)


def draw(lines: Mapping[str, Line]) -> None:
    """Captured against price, one line per tuner."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9.5, 5.2), layout="constrained")
    for name, line in lines.items():
        means = [line.rows[level].captured for level in LEVELS]
        errors = [line.rows[level].error for level in LEVELS]
        style: dict[str, Any] = {"linewidth": 3, "color": "black", "zorder": 5} if name == _OURS else {"linewidth": 1.2}
        style |= {"linestyle": "--"} if line.hindsight else {}
        axes.errorbar([100 * level for level in LEVELS], means, errors, capsize=2, label=line.label, **style)
    axes.plot([100 * level for level in LEVELS], list(TARGETS.values()), "k*", markersize=9, label="target")
    axes.set(xscale="log", ylim=(-0.6, 1.0), xlabel="price of a median training, % of the range of scores")
    axes.set_xticks([100 * level for level in LEVELS], [percent(level) for level in LEVELS])
    axes.set_ylabel("captured (0: one random training, 1: clairvoyant)")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=7.5, frameon=False)
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, dpi=110)
    pyplot.close(figure)


def _plain(line: Line) -> dict[str, Any]:
    rows = {
        str(level): {name: _short(getattr(row, name)) for name in ("captured", "error", "trials", "cost", "score", "k")}
        for level, row in line.rows.items()
    }
    by_task = {
        task: {str(level): [_short(value) for value in values] for level, values in levels.items()}
        for task, levels in line.by_task.items()
    }
    return {
        "label": line.label,
        "hindsight": line.hindsight,
        "seconds": float(f"{line.seconds:.3g}"),
        "rows": rows,
        "by_task": by_task,
    }


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _compact(text: str) -> str:
    """Lists of numbers on one line."""
    return re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda found: "[" + re.sub(r"\s+", " ", found[1]) + "]", text)


def _version(name: str) -> str:
    """Of an installed package; the page can be written from stored plays where the tasks cannot be played."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _about(lines: Mapping[str, Line]) -> dict[str, Any]:
    versions = {name: _version(name) for name in ("numpy", "scipy", "optuna", "torch", "onnxruntime")}
    pinned = {
        file.stem: next(row for row in file.read_text().splitlines() if row.lower().startswith(file.stem)).split("==")[
            1
        ]
        for file in sorted((HERE / "peer_requirements").glob("*.txt"))
    }
    return {
        "command": f"python benchmarks/peers.py --seeds {max(_seeds(lines).values())} --write",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "versions": {"autobct": autobct.__version__, **versions, **pinned},
        "commit": _commit(),
        "code": code(),
        "seeds": _seeds(lines),
    }


def _about_words(lines: Mapping[str, Line]) -> str:
    seeds = _seeds(lines)
    counts = "; ".join(
        f"{n}: {', '.join(name for name in seeds if seeds[name] == n)}" for n in sorted(set(seeds.values()))
    )
    return f"Seeds of each line: {counts}. Versions, machine and every seed are in `benchmarks/results/peers.json`."


def _seeds(lines: Mapping[str, Line]) -> dict[str, int]:
    """How often each tuner has played every task."""
    return {
        name: min(len(found) for levels in line.by_task.values() for found in levels.values())
        for name, line in lines.items()
    }


def _commit() -> str:
    found = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True, check=False
    )
    return found.stdout.strip() or "unknown"


def _signed(mean: float, error: float) -> str:
    mark = "" if abs(mean) <= 2 * error else " **" + ("ahead" if mean > 0 else "behind") + "**"
    return f"{mean:+.3f} ± {error:.3f}{mark}"


def _grid(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A table that reads well in a terminal and on a page."""
    widths = [max(len(row[k]) for row in [head, *body]) for k in range(len(head))]
    rule = ["-" * width for width in widths]
    return "\n" + "\n".join(
        "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |"
        for row in [head, rule, *body]
    )
