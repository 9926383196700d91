"""`make docs-images`: what a user sees, drawn from a real tuning into docs/img.

The tuning is the README's own example, so that the pictures show what its reader gets.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from html import escape
from pathlib import Path

from rich.console import Console
from rich.text import Text
from tests.docs_pages import ROOT, blocks
from tools.chromium import browser
from tools.decisions_figure import decisions_figure

from autobct import plot
from autobct.report.live import LiveLine, table_of
from autobct.tuning.history import Stop
from autobct.tuning.result import Result

IMAGES = ROOT / "docs" / "img"

_COLUMNS = 100
_FRAME = (
    "<svg viewBox='0 0 {width} {terminal_height}' xmlns='http://www.w3.org/2000/svg'>"
    "<style>.{unique_id}-matrix{{font:{char_height}px/{line_height}px Menlo,Consolas,'DejaVu Sans Mono',monospace}}"
    "{styles}</style>"
    "<defs><clipPath id='{unique_id}-clip-terminal'><rect width='{terminal_width}' height='{terminal_height}'/>"
    "</clipPath>{lines}</defs><rect width='{width}' height='{terminal_height}' rx='8' fill='#191c20'/>"
    "<g transform='translate(9, 4)' clip-path='url(#{unique_id}-clip-terminal)'>"
    "{backgrounds}<g class='{unique_id}-matrix'>{matrix}</g></g></svg>"
)
_NOTEBOOK = """<!DOCTYPE html><meta charset="utf-8"><style>
body{{margin:0;padding:20px;background:#fff;font:14px/1.4 system-ui,sans-serif;width:860px}}
.cell{{display:grid;grid-template-columns:70px 1fr;margin-bottom:12px}}
.prompt{{color:#307fc1;font:13px monospace;padding-top:8px}}
pre{{margin:0;background:#f5f5f5;border:1px solid #e0e0e0;padding:8px;font:13px/1.45 monospace}}
</style><div class="cell"><div class="prompt">[1]:</div><pre>{code}</pre></div>
<div class="cell"><div class="prompt">[1]:</div><div>{shown}</div></div>"""


def main() -> None:
    """Tune, then draw the terminal, the page at two widths, the notebook, the plots, and how it decides."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    code = example()
    result = tuned(code)
    print(result)  # for the README, next to the picture of the same tuning
    (IMAGES / "terminal.svg").write_text(terminal(result), encoding="utf-8")
    draw_pages(result, code)
    draw_plots(result)
    for path in sorted(IMAGES.iterdir()):
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1000:.0f} kB")


def example() -> str:
    """The README's first Python example that tunes."""
    return next(block.text for block in blocks(ROOT / "README.md") if "autobct.tune(" in block.text)


def tuned(code: str) -> Result:
    """What the example calls result."""
    names: dict[str, Result] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # the example writes its page
        exec(compile(code, "README.md", "exec"), names)
    return names["result"]


def draw_plots(result: Result) -> None:
    """What autobct.plot draws of it, and the three decisions of docs/how-it-decides.md."""
    figures = {
        "plot-history": plot.history(result),
        "plot-belief": plot.belief(result),
        "plot-what-if": plot.what_if(result),
        "plot-forecast": plot.forecast(result.tuner.twin(fresh=True)),
        "decisions": decisions_figure(),
    }
    for name, figure in figures.items():
        figure.savefig(IMAGES / f"{name}.png", dpi=100)


def terminal(result: Result) -> str:
    """The live table as it stays on the screen, as an SVG without fonts from elsewhere."""
    console = Console(record=True, width=_COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text("$ python tune.py", style="dim"))
    console.print(table_of(lines_of(result), tuple(result.params), []))
    console.print(Text(result.why), style="bold green", highlight=False)
    console.print()
    return console.export_svg(title="autobct", code_format=_FRAME, unique_id="autobct")


def lines_of(result: Result) -> list[LiveLine]:
    """The rows of the live table once all is known."""
    lines, total = [], 0.0
    for run, decision in zip(result.history, result.decisions[1:], strict=True):
        total += run.cost
        going_on = decision.best_alternative if isinstance(decision, Stop) else decision
        word = "stop" if isinstance(decision, Stop) else "continue"
        lines.append(LiveLine(run, total, None if going_on is None else going_on.value, word))
    return lines


def draw_pages(result: Result, code: str) -> None:
    """The report on a desk and on a phone, light and dark, and the notebook display."""
    with tempfile.TemporaryDirectory() as folder, browser() as opened:
        report, notebook = Path(folder, "report.html"), Path(folder, "notebook.html")
        result.report(report)
        cell = code[: code.index("print(result)")] + "result"
        notebook.write_text(_NOTEBOOK.format(code=escape(cell), shown=result._repr_html_()), encoding="utf-8")
        tab = opened.page()
        for width, scheme in ((1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")):
            tab.look(width=width, scheme=scheme)
            tab.open(report.as_uri())
            tab.screenshot(IMAGES / f"page-{width}-{scheme}.png")
        tab.look(width=900, height=200)
        tab.open(notebook.as_uri())
        tab.screenshot(IMAGES / "notebook.png")
        if tab.troubles:
            sys.exit(f"the browser complains: {tab.troubles}")


if __name__ == "__main__":
    main()
